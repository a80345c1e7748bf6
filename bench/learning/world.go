package main

import (
	"fmt"
	"math/rand/v2"
	"path"
	"slices"
	"strings"
	"time"
)

// Figures of the stream.
const (
	families  = 20
	repairs   = 8    // one of them is right in a situation
	misfires  = 0.08 // how often the right repair does not help
	vanishing = 0.04 // probability that a problem disappears without a repair
	composed  = 3    // problems of a task of the compositional stream at most

	between = 6 * time.Hour // two tasks: 500 of them are four months
)

var start = time.Date(2026, 1, 5, 9, 0, 0, 0, time.UTC)

// context has the keys that differ between situations. Only some keys matter, and only to some families.
var context = []struct {
	key    string
	values []string
}{
	{"os", []string{"linux", "macos"}}, {"project_kind", []string{"service", "library", "site"}},
	{"tool_version", []string{"1.8", "2.4"}},
	{"shell", []string{"bash", "zsh", "fish"}}, {"editor", []string{"vim", "code"}}, {"ci", []string{"true", "false"}},
}

// family is one kind of problem.
type family struct {
	problem string
	repairs [][]string // commands, with what they are about
	key     string     // the key on whose value the right repair depends; empty: none
	right   map[string]int
	later   map[string]int // from changesAt on
	changes int            // number of the task from which later applies; 0: never
}

// problem is one occurrence.
type problem struct {
	family  int
	text    string
	right   []string
	which   int // the number of the right repair
	before  int // the number of the one that was right at the beginning
	repairs [][]string
	order   []int  // the order in which an agent without knowledge tries them
	misfire []bool // by number of the try: the right repair does not help
	vanish  int    // the try after which the problem disappears without a repair; -1: never
	changed bool   // the right repair differs from the one at the beginning
	since   int    // occurrences of the family in such a situation since the change
	where   string // family and situation
}

// task has one problem, or several that appear one after the other.
type task struct {
	n        int
	at       time.Time
	context  map[string]string
	dir      string
	problems []problem
}

// stream makes the tasks of a seed. Every arm gets the same ones.
func stream(from set, seed uint64, tasks int, composes bool) []task {
	r := rand.New(rand.NewPCG(seed, 11))
	all := newFamilies(from, r, tasks)
	since := map[string]int{}
	out := make([]task, tasks)
	for n := range out {
		t := task{n: n, at: start.Add(time.Duration(n) * between), context: map[string]string{},
			dir: fmt.Sprintf("/home/dev/w%d", r.IntN(50))}
		for _, c := range context {
			t.context[c.key] = c.values[r.IntN(len(c.values))]
		}
		count := 1
		if composes {
			count = 1 + r.IntN(composed)
		}
		for _, f := range r.Perm(families)[:count] {
			p := all[f].occurrence(f, t, r)
			if p.changed {
				since[p.where]++
				p.since = since[p.where]
			}
			t.problems = append(t.problems, p)
		}
		out[n] = t
	}
	return out
}

func newFamilies(from set, r *rand.Rand, tasks int) []family {
	out := make([]family, families)
	for i := range out {
		f := family{problem: from.problems[i], right: map[string]int{}, later: map[string]int{}}
		verbs := r.Perm(len(from.verbs))
		for range repairs {
			n := 1 + r.IntN(3)
			var commands []string
			for _, v := range verbs[:n] {
				commands = append(commands, from.verbs[v])
			}
			verbs = verbs[n:]
			f.repairs = append(f.repairs, commands)
		}
		values := []string{""}
		if i%3 != 0 { // two of three families depend on the context
			c := context[r.IntN(3)]
			f.key, values = c.key, c.values
		}
		picks := r.Perm(repairs)
		for k, v := range values {
			f.right[v] = picks[min(k, 1)] // one value is special, or the first one is
			f.later[v] = f.right[v]
		}
		if i%4 == 1 { // and one of four changes
			f.changes = tasks/3 + r.IntN(tasks/6)
			for k, v := range values {
				f.later[v] = picks[2+min(k, 1)]
			}
		}
		out[i] = f
	}
	return out
}

func (f family) occurrence(number int, t task, r *rand.Rand) problem {
	value := t.context[f.key]
	name := fmt.Sprintf("%s-%d", []string{"core", "web", "billing", "search", "mail"}[r.IntN(5)], r.IntN(1_000))
	file := fmt.Sprintf("/srv/v%d/d%d/f%d.dat", r.IntN(30), t.n, r.IntN(1_000))
	fill := func(commands []string) (out []string) {
		for _, c := range commands {
			filled := fmt.Sprintf(c, file, name, path.Dir(file), t.context["tool_version"])
			filled, _, _ = strings.Cut(filled, "%!(EXTRA") // arguments that a command does not take
			out = append(out, filled)
		}
		return out
	}
	text := fmt.Sprintf(f.problem, file, name)
	right := f.right[value]
	p := problem{family: number, text: text, where: fmt.Sprintf("%d %s", number, value)}
	p.before = right
	if f.changes > 0 && t.n >= f.changes {
		p.changed = f.later[value] != right
		right = f.later[value]
	}
	for _, commands := range f.repairs {
		p.repairs = append(p.repairs, fill(commands))
	}
	p.right, p.which, p.order, p.vanish = p.repairs[right], right, r.Perm(repairs), -1
	for range repairs {
		p.misfire = append(p.misfire, r.Float64() < misfires)
	}
	if r.Float64() < vanishing {
		p.vanish = r.IntN(2)
	}
	return p
}

// helps reports whether commands include those of the right repair in their order.
func (p problem) helps(commands []string) bool {
	rest := p.right
	for _, c := range commands {
		if len(rest) > 0 && c == rest[0] {
			rest = rest[1:]
		}
	}
	return len(rest) == 0
}

func same(a, b []string) bool { return slices.Equal(a, b) }
