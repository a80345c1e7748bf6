package changes

import (
	"fmt"
	"strings"
)

// halves reads both halves of the corpus. It is text of the program: what cannot be read is a bug.
func halves() []half {
	return []half{devHalf()}
}

func devHalf() half {
	h := half{name: "dev", together: must(parseTogether(devCoexisting)), distractors: parseLines(devDistractors),
		unheard: parseLines(devUnheard), foreign: parseLines(devForeign), names: devNames}
	for _, a := range devAttributes() {
		h.changes = append(h.changes, a.changes...)
	}
	return h
}

func devAttributes() []*attribute {
	return must(parseAttributes(strings.Join([]string{devPeople, devTeams, devSoftware}, "\n")))
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(fmt.Sprintf("corpus of changes: %v", err))
	}
	return v
}
