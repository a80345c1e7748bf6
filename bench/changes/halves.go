package changes

import (
	"fmt"
	"slices"
	"strings"

	"github.com/mneme/mneme/bench/changes/texts/dev"
	"github.com/mneme/mneme/bench/changes/texts/heldout"
	"github.com/mneme/mneme/bench/changes/texts/second"
	"github.com/mneme/mneme/bench/changes/texts/third"
)

// halves reads the corpus, which is part of the program. It panics on text that cannot be read.
func halves() []half {
	return []half{devHalf(), heldoutHalf(), secondHalf(), thirdHalf()}
}

func devHalf() half {
	h := half{name: "dev", together: must(parseTogether(dev.Coexisting)), distractors: parseLines(dev.Distractors),
		unheard: parseLines(dev.Unheard), foreign: parseLines(dev.Foreign), names: devNames, frames: devFrames}
	for _, a := range devAttributes() {
		h.changes = append(h.changes, a.changes...)
	}
	return h
}

func devAttributes() []*attribute {
	return must(parseAttributes(strings.Join([]string{dev.People, dev.Teams, dev.Software, dev.Single}, "\n")))
}

// heldoutHalf has the held-out attributes in all wordings, and those of the development half in wordings that
// occur nowhere there.
func heldoutHalf() half {
	h := half{name: "heldout", heldOut: true, together: must(parseTogether(heldout.Coexisting)),
		distractors: parseLines(heldout.Distractors), unheard: parseLines(heldout.Unheard),
		foreign: parseLines(heldout.Foreign),
		names:   heldoutNames, frames: heldoutFrames}
	known, wordings := map[string]*attribute{}, map[string]bool{}
	for _, a := range devAttributes() {
		known[a.name] = a
	}
	for _, c := range devHalf().changes {
		wordings[c.wording] = true
	}
	add := func(a *attribute, changes []change) {
		a.changes = nil
		for _, c := range changes {
			c.attr, c.heldOut = a, !wordings[c.wording]
			c.corrects = c.corrects || heldout.Corrections[c.wording]
			a.changes = append(a.changes, c)
		}
		h.changes = append(h.changes, a.changes...)
	}
	for _, more := range must(parseAttributes(heldout.Wordings)) {
		a := known[more.name]
		a.olds, a.asks = append(slices.Clone(a.olds), more.olds...), append(slices.Clone(a.asks), more.asks...)
		add(a, more.changes)
	}
	own := strings.Join([]string{heldout.People, heldout.Teams, heldout.Software, heldout.Single}, "\n")
	for _, a := range must(parseAttributes(own)) {
		a.heldOut = true
		add(a, a.changes)
	}
	return h
}

// secondHalf and thirdHalf have more development data, by authors who did not know the rules. They show which rules
// fit only the first half. The second half uses unusual wordings, the third plain ones.
func secondHalf() half {
	return another("second", []string{second.People, second.Work}, second.Coexisting,
		half{distractors: parseLines(second.Distractors), unheard: parseLines(second.Unheard),
			foreign: parseLines(second.Foreign),
			names:   second.Names, frames: second.Frames})
}

func thirdHalf() half {
	return another("third", []string{third.People, third.Work}, third.Coexisting,
		half{distractors: parseLines(third.Distractors), unheard: parseLines(third.Unheard),
			foreign: parseLines(third.Foreign),
			names:   third.Names, frames: third.Frames})
}

func another(name string, attributes []string, coexisting string, h half) half {
	h.name, h.together = name, must(parseTogether(coexisting))
	for _, a := range must(parseAttributes(strings.Join(attributes, "\n"))) {
		h.changes = append(h.changes, a.changes...)
	}
	return h
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(fmt.Sprintf("corpus of changes: %v", err))
	}
	return v
}
