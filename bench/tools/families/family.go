package families

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"

	"github.com/mneme/mneme/bench/tools/place"
)

// Family is one kind of failure.
type Family struct {
	Name  string
	Needs []string // programs; the first is the one that fails
	// make writes a task's files into a place.
	make func(p *place.Place, n *names) Failure
}

// Failure is a command that fails, and its repair.
type Failure struct {
	Command string
	Right   Plan
	// Keeps is a command that passes as long as no data is lost. If it is empty, no repair of the actor loses data.
	Keeps string
	// Context has more fields of the situation, as an agent records it: a branch, for instance.
	Context map[string]string
}

// Task is one failure in a separate place. The same seed makes the same task.
type Task struct {
	N      int
	Family Family
	Set    string
	Seed   uint64
	Times  int // earlier occurrences of the family
}

// Prepare writes the task and runs its command.
func (t Task) Prepare(root string, on place.Tools) (p *place.Place, f Failure, output string, err error) {
	r := rand.New(rand.NewPCG(t.Seed, uint64(t.N)))
	n := newNames(r, words[t.Set])
	if p, err = place.New(fmt.Sprintf("%s/task%d", root, t.N), n.dashed(), on); err != nil {
		return nil, f, "", err
	}
	if err := place.Try(func() { f = t.Family.make(p, n) }); err != nil {
		return p, f, "", fmt.Errorf("prepare %s: %w", t.Family.Name, err)
	}
	output, ok := p.Run(f.Command)
	if ok {
		return p, f, output, fmt.Errorf("prepare %s: %s does not fail", t.Family.Name, f.Command)
	}
	return p, f, output, nil
}

// Sets are the families for development, those for reports, and those written after the rules: the fresh ones showed
// what to change, the later ones were written after these changes. So it went on with the further, the unseen and the
// last ones, which are of other tools. The blind ones are by an author who did not know the rules. Those of
// situations need repairs whose arguments depend on the situation. Those of third, of fourth and of fifth are by
// three other authors who had not read the rules.
var Sets = map[string][]Family{
	"dev":        devFamilies,
	"reported":   concat(goFamilies, cFamilies, gitFamilies, scriptFamilies),
	"fresh":      freshFamilies,
	"later":      laterFamilies,
	"further":    furtherFamilies,
	"unseen":     unseenFamilies,
	"last":       lastFamilies,
	"blind":      concat(blindFirst, blindSecond),
	"situations": concat(situationsFirst, situationsSecond),
	"third":      thirdFamilies,
	"fourth":     concat(fourthFirst, fourthSecond),
	"fifth":      concat(fifthFirst, fifthSecond),
}

func concat(lists ...[]Family) (out []Family) {
	for _, l := range lists {
		out = append(out, l...)
	}
	return out
}

// Present returns the families whose programs are on this machine and fail here as they should, and the names of the
// others: other versions of a tool may not fail.
func Present(families []Family, root string, on place.Tools) (out []Family, left []string) {
	for _, f := range families {
		if !on.Has(f.Needs) {
			left = append(left, fmt.Sprintf("%s (needs %s)", f.Name, strings.Join(f.Needs, ", ")))
			continue
		}
		p, _, _, err := Task{Family: f, Set: "dev"}.Prepare(root, on)
		if p != nil {
			err = errors.Join(err, p.Remove())
		}
		if err != nil {
			left = append(left, fmt.Sprintf("%s (%v)", f.Name, err))
			continue
		}
		out = append(out, f)
	}
	return out, left
}

// Stream returns tasks in which each family occurs equally often, in random order.
func Stream(set string, families []Family, times int, seed uint64) []Task {
	var out []Task
	for _, f := range families {
		for range times {
			out = append(out, Task{Family: f, Set: set, Seed: seed})
		}
	}
	r := rand.New(rand.NewPCG(seed, 1<<32))
	r.Shuffle(len(out), func(i, j int) { out[i], out[j] = out[j], out[i] })
	seen := map[string]int{}
	for i := range out {
		out[i].N, out[i].Times = i, seen[out[i].Family.Name]
		seen[out[i].Family.Name]++
	}
	return out
}
