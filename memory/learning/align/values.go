package align

import (
	"cmp"
	"maps"
	"path"
	"slices"
	"strings"
	"unicode"

	"github.com/mneme/mneme/memory/learning/signature"
	"github.com/mneme/mneme/memory/learning/trace"
)

// of returns the value of a parameter: that of its first binding which the situation has and whose value has the shape
// of earlier ones. The place of a value in an error text may differ from one occurrence to the next. If none has that
// shape, it returns the only value of its kind or, if there are several or none, the value of the first binding.
func (k Known) of(q Param) (value string, ok bool) {
	if q.From == FromCaller {
		return k.only(q)
	}
	for _, from := range append([]string{q.From}, q.Or...) {
		v, known := k[from]
		switch {
		case known && shaped(v, q.Examples):
			return v, true
		case known && !ok:
			value, ok = v, true
		}
	}
	if only, found := k.only(q); found {
		return only, true
	}
	return value, ok
}

// only returns the only file in the situation with the extension that all earlier values of a parameter had: a tool
// names a file in its error or not, depending on how it was given to it. It returns false if there are several. If
// there is none, and tools prescribe the name that all earlier values had, it returns that name: the file is in the
// working directory.
func (k Known) only(q Param) (value string, ok bool) {
	if len(q.Examples) == 0 || sourceOf(q.From) == inSteps {
		return "", false
	}
	extension := path.Ext(q.Examples[0])
	if extension == "" || !shaped(q.Examples[0], q.Examples) || partOf(q.From) != "" {
		return "", false
	}
	for _, name := range slices.SortedFunc(maps.Keys(k), func(a, b string) int {
		return cmp.Or(rank(a)-rank(b), strings.Compare(a, b))
	}) {
		v := k[name]
		if sourceOf(name) == inSteps || partOf(name) != "" || path.Ext(v) != extension || !shaped(v, q.Examples) ||
			strings.ContainsAny(v, " \t\n") {
			continue
		}
		if ok && !strings.HasSuffix(value, "/"+v) && !strings.HasSuffix(v, "/"+value) && v != value {
			return "", false
		}
		if !ok {
			value, ok = v, true
		}
	}
	if name := path.Base(q.Examples[0]); !ok && signature.IsKnownFile(name) && !slices.ContainsFunc(q.Examples,
		func(e string) bool { return path.Base(e) != name }) {
		return name, true
	}
	return value, ok
}

// Placed returns the path of the only file with a name that the situation has in another directory than the working
// directory.
func (k Known) Placed(name string) (file string, ok bool) {
	for binding, value := range k {
		v := strings.TrimPrefix(value, "./")
		if path.Base(v) != name || !strings.Contains(v, "/") || strings.HasPrefix(v, "/") ||
			strings.ContainsAny(v, " \t\n") || sourceOf(binding) == inSteps {
			continue
		}
		if ok && v != file {
			return "", false
		}
		file, ok = v, true
	}
	return file, ok
}

// Named reports whether the situation has the path of a file with a name.
func (k Known) Named(name string) bool {
	for _, v := range k {
		if path.Base(v) == name {
			return true
		}
	}
	return false
}

// Moved returns the procedure for a situation that has files with prescribed names in other directories: where a step
// has such a name alone, it gets the path that the situation has. The first situation is that of the procedure, which
// must not have named the file.
func (p Procedure) Moved(then, now Known) Procedure {
	out := p
	out.Steps = slices.Clone(p.Steps)
	for i, s := range p.Steps {
		out.Steps[i].Args = maps.Clone(s.Args)
		for arg, t := range s.Args {
			parts := slices.Clone(t.Parts)
			for n, part := range parts {
				for _, word := range tokens(part.Text) {
					if !signature.IsKnownFile(word) || then.Named(word) {
						continue
					}
					file, ok := now.Placed(word)
					if !ok {
						continue
					}
					if at := wordIn(part.Text, word); at >= 0 && (at == 0 || part.Text[at-1] != '/') &&
						(at > 0 || n == 0) {
						parts[n].Text = part.Text[:at] + file + part.Text[at+len(word):]
					}
				}
			}
			out.Steps[i].Args[arg] = Template{Type: t.Type, Parts: parts}
		}
	}
	return out
}

// shaped reports whether a value has the shape of earlier values: their extension, if they all have the same one, and
// no punctuation that none of them has.
func shaped(value string, examples []string) bool {
	if len(examples) == 0 {
		return true
	}
	extension := path.Ext(examples[0])
	for _, e := range examples {
		if path.Ext(e) != extension {
			extension = ""
		}
	}
	if extension != "" && path.Ext(value) != extension {
		return false
	}
	return !strings.ContainsFunc(value, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("_-./", r) &&
			!slices.ContainsFunc(examples, func(e string) bool { return strings.ContainsRune(e, r) })
	})
}

// Unlike reports whether the situation gives a parameter a value of another kind than earlier ones: a path instead of
// the name of something else, or the reverse.
func (p Procedure) Unlike(known Known) bool {
	return slices.ContainsFunc(p.Params, func(q Param) bool {
		value, ok := known.of(q)
		return ok && len(q.Examples) > 0 && !slices.ContainsFunc(q.Examples, func(e string) bool {
			return pathLike(e) == pathLike(value)
		})
	})
}

func pathLike(value string) bool {
	return strings.Contains(value, "/") || path.Ext(value) != "" && !numberForm.MatchString(value)
}

// HasForm reports whether a call has as many words in each argument as a step of the procedure had with earlier values.
func (p Procedure) HasForm(s Step, call trace.Step) bool {
	for at, t := range s.Args {
		arg, ok := call.Args[at]
		if !ok || !slices.Contains(p.lengths(t), len(Words(arg.Text))) {
			return false
		}
	}
	return s.Tool == call.Tool && len(s.Args) == len(call.Args)
}

// lengths returns the numbers of words of a template with the examples of its parameters.
func (p Procedure) lengths(t Template) (out []int) {
	for n := range maxExamples {
		values := map[string]string{}
		for _, part := range t.Parts {
			if examples := p.param(part.Param).Examples; part.Param != "" {
				values[part.Param] = "value"
				if len(examples) > 0 {
					values[part.Param] = examples[min(n, len(examples)-1)]
				}
			}
		}
		text, _ := t.Fill(values)
		out = append(out, len(Words(text)))
	}
	return out
}

// Guessed returns the number of parameters that the caller must give.
func (p Procedure) Guessed() int {
	n := 0
	for _, q := range p.Params {
		if q.From == FromCaller {
			n++
		}
	}
	return n
}

// Values returns the values of the parameters, and the names of those without one. Parameters bound to the result of a
// step are in neither: their values are known after that step has run.
func (p Procedure) Values(known Known) (values map[string]string, missing []string) {
	values = map[string]string{}
	for _, q := range p.Params {
		switch v, ok := known.of(q); {
		case ok:
			values[q.Name] = v
		case !strings.HasPrefix(q.From, "step."):
			missing = append(missing, q.Name)
		}
	}
	return values, missing
}
