package signature

import "slices"

// Limits of otherValues.
const (
	maxTelling = 12 // lines that say error
	maxSilent  = 6  // other lines
)

// otherValues returns the paths, names and addresses of the lines other than the given one, which have those of values.
// What a repair needs is often in a line that does not name the problem. Lines that say error come first.
func otherValues(text, line string, values []Value) (out []Value) {
	var telling, silent []string
	for l := range lines(text) {
		switch {
		case l == line:
		case scoreOf(l) >= says && len(telling) < maxTelling:
			telling = append(telling, l)
		case len(silent) < maxSilent:
			silent = append(silent, l)
		}
	}
	for _, l := range slices.Concat(telling, silent) {
		for _, v := range read(l).Values {
			named := v.Kind == Path || v.Kind == Name || v.Kind == URL || v.Kind == Address
			if named && len(out) < maxValues && !slices.Contains(values, v) && !slices.Contains(out, v) {
				out = append(out, v)
			}
		}
	}
	return out
}
