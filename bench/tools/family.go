package main

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
)

// family is one kind of failure.
type family struct {
	name  string
	needs []string // programs; the first is the one that fails
	// make writes a task's files into a place.
	make func(p *place, n *names) failure
}

// failure is a command that fails, and its repair.
type failure struct {
	command string
	right   plan
}

// task is one failure in a separate place. The same seed makes the same task.
type task struct {
	n      int
	family family
	set    string
	seed   uint64
	times  int // earlier occurrences of the family
}

// prepare writes the task and runs its command.
func (t task) prepare(root string, on tools) (p *place, f failure, output string, err error) {
	r := rand.New(rand.NewPCG(t.seed, uint64(t.n)))
	n := newNames(r, words[t.set])
	if p, err = newPlace(fmt.Sprintf("%s/task%d", root, t.n), n.dashed(), on); err != nil {
		return nil, f, "", err
	}
	defer func() {
		if failed, ok := recover().(preparation); ok {
			err = fmt.Errorf("prepare %s: %w", t.family.name, failed.error)
		}
	}()
	f = t.family.make(p, n)
	output, ok := p.run(f.command)
	if ok {
		return p, f, output, fmt.Errorf("prepare %s: %s does not fail", t.family.name, f.command)
	}
	return p, f, output, nil
}

// sets are the families for development, those for reports, and those written after the rules: the fresh ones showed
// what to change, the later ones were written after these changes. So it went on with the further, the unseen and the
// last ones, which are of other tools. The blind ones are by an author who did not know the rules.
var sets = map[string][]family{
	"dev":      devFamilies,
	"reported": concat(goFamilies, cFamilies, gitFamilies, scriptFamilies),
	"fresh":    freshFamilies,
	"later":    laterFamilies,
	"further":  furtherFamilies,
	"unseen":   unseenFamilies,
	"last":     lastFamilies,
	"blind":    concat(blindFirst, blindSecond),
}

func concat(lists ...[]family) (out []family) {
	for _, l := range lists {
		out = append(out, l...)
	}
	return out
}

// present returns the families whose programs are on this machine and fail here as they should, and the names of the
// others: other versions of a tool may not fail.
func present(families []family, root string, on tools) (out []family, left []string) {
	for _, f := range families {
		if !on.has(f.needs) {
			left = append(left, fmt.Sprintf("%s (needs %s)", f.name, strings.Join(f.needs, ", ")))
			continue
		}
		p, _, _, err := task{family: f, set: "dev"}.prepare(root, on)
		if p != nil {
			err = errors.Join(err, p.remove())
		}
		if err != nil {
			left = append(left, fmt.Sprintf("%s (%v)", f.name, err))
			continue
		}
		out = append(out, f)
	}
	return out, left
}

// stream returns tasks in which each family occurs equally often, in random order.
func stream(set string, families []family, times int, seed uint64) []task {
	var out []task
	for _, f := range families {
		for range times {
			out = append(out, task{family: f, set: set, seed: seed})
		}
	}
	r := rand.New(rand.NewPCG(seed, 1<<32))
	r.Shuffle(len(out), func(i, j int) { out[i], out[j] = out[j], out[i] })
	seen := map[string]int{}
	for i := range out {
		out[i].n, out[i].times = i, seen[out[i].family.name]
		seen[out[i].family.name]++
	}
	return out
}
