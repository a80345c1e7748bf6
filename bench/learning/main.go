package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
)

// options are those of the command line.
type options struct {
	set   string
	seeds string
	tasks int
	out   string
	parts string
}

func main() {
	var o options
	flag.StringVar(&o.set, "set", "dev", "families: dev or reported")
	flag.StringVar(&o.seeds, "seeds", "1,2,3,4,5", "comma-separated")
	flag.IntVar(&o.tasks, "tasks", 500, "tasks of a stream")
	flag.StringVar(&o.out, "curves", "", "file to write the curves to, as JSON")
	flag.StringVar(&o.parts, "parts", "streams,forgetting,poison,changes",
		"comma-separated: what to measure; streams are single and composed, losses are the tasks not solved")
	flag.Parse()
	if err := measure(os.Stdout, o); err != nil {
		fmt.Fprintln(os.Stderr, "learning:", err)
		os.Exit(1)
	}
}

const lastTasks = 200

func last(r run) []result { return r.results[max(0, len(r.results)-lastTasks):] }

// bench is one measurement.
type bench struct {
	w     io.Writer
	name  string // of the families
	from  set
	seeds []uint64
	tasks int
	plots []Plot
	clean map[string][]run // those without poison, by arm and stream
}

func measure(w io.Writer, o options) error {
	b := &bench{w: w, name: o.set, tasks: o.tasks}
	var ok bool
	if b.from, ok = sets[o.set]; !ok {
		return fmt.Errorf("no set of families %q", o.set)
	}
	for s := range strings.SplitSeq(o.seeds, ",") {
		seed, err := strconv.ParseUint(s, 10, 64)
		if err != nil {
			return fmt.Errorf("seed %q: %w", s, err)
		}
		b.seeds = append(b.seeds, seed)
	}
	began := time.Now()
	_, _ = fmt.Fprintf(w, "# learning: families %s, seeds %s, %d tasks, %s/%s, %d cores\n", o.set, o.seeds, o.tasks,
		runtime.GOOS, runtime.GOARCH, runtime.NumCPU())
	parts := map[string]func() error{"streams": b.streams, "single": func() error { return b.stream(false) },
		"composed": func() error { return b.stream(true) }, "forgetting": b.forgetting, "poison": b.poisoned,
		"changes": b.changes, "losses": b.losses}
	for name := range strings.SplitSeq(o.parts, ",") {
		part, ok := parts[name]
		if !ok {
			return fmt.Errorf("no part %q", name)
		}
		if err := part(); err != nil {
			return err
		}
	}
	_, _ = fmt.Fprintf(w, "\ntook %s\n", time.Since(began).Round(100*time.Millisecond))
	if o.out == "" {
		return nil
	}
	encoded, err := json.Marshal(b.plots)
	if err != nil {
		return err
	}
	return os.WriteFile(o.out, encoded, 0o600)
}

// runs returns the runs of an arm for all seeds.
func (b *bench) runs(a arm, tasks int, composes bool, p *poison) ([]run, error) {
	key := fmt.Sprintf("%s %d %v", a.name, tasks, composes)
	if done, ok := b.clean[key]; ok && p == nil {
		return done, nil
	}
	out := make([]run, len(b.seeds))
	if b.clean == nil {
		b.clean = map[string][]run{}
	}
	if p == nil {
		b.clean[key] = out
	}
	var g errgroup.Group
	g.SetLimit(runtime.GOMAXPROCS(0))
	for i, seed := range b.seeds {
		g.Go(func() (err error) {
			if out[i], err = runArm(a, stream(b.from, seed, tasks, composes), p); err != nil {
				return fmt.Errorf("%s, seed %d: %w", a.name, seed, err)
			}
			return nil
		})
	}
	return out, g.Wait()
}

var header = []string{"arm", "solved, last 200", "× no memory", "first repair right, last 200",
	"steps a task, last 200",
	"solved, first 100"}

// streams compares the arms on tasks with one problem, and with several.
func (b *bench) streams() error {
	if err := b.stream(false); err != nil {
		return err
	}
	return b.stream(true)
}

func (b *bench) stream(composes bool) error {
	title, name := "One problem a task", "single"
	if composes {
		title, name = "Compositional stream: up to three problems a task", "composed"
	}
	solved := Plot{Name: "learning-" + name, Title: title + ", families " + b.name, X: "tasks", Y: "solved"}
	needed := Plot{Name: "learning-" + name + "-steps", Title: title + ", families " + b.name,
		X: "tasks", Y: "steps a task"}
	byName := map[string]interval{}
	var rows [][]string
	for _, a := range arms {
		runs, err := b.runs(a, b.tasks, composes, nil)
		if err != nil {
			return err
		}
		i := each(runs, func(r run) float64 { return success(last(r)) })
		byName[a.name] = i
		rows = append(rows, []string{a.name, i.percent(), fmt.Sprintf("%.2f", i.Mean/byName["no memory"].Mean),
			each(runs, func(r run) float64 { return knew(last(r)) }).percent(),
			each(runs, func(r run) float64 { return steps(last(r)) }).figure(),
			each(runs, func(r run) float64 { return success(r.results[:min(100, len(r.results))]) }).percent()})
		solved.Curves = append(solved.Curves, curve(a.name, runs, success))
		needed.Curves = append(needed.Curves, curve(a.name, runs, steps))
	}
	table(b.w, title, header, rows)
	m := byName["Mneme"]
	_, _ = fmt.Fprintf(b.w, "\nMneme above %s: %v; above %s: %v; above %s: %v; at least 1.5 × no memory: %v\n",
		arms[2].name, m.above(byName[arms[2].name]), arms[3].name, m.above(byName[arms[3].name]), arms[4].name,
		m.above(byName[arms[4].name]), m.Mean >= 1.5*byName["no memory"].Mean)
	b.plots = append(b.plots, solved, needed)
	return nil
}

func (b *bench) forgetting() error {
	var rows [][]string
	for _, a := range []arm{armNamed("Mneme"), forgetful} {
		runs, err := b.runs(a, b.tasks, false, nil)
		if err != nil {
			return err
		}
		m := func(r run) *byRules { return r.advisor.(*byRules) }
		rows = append(rows, []string{a.name, each(runs, func(r run) float64 { return success(last(r)) }).percent(),
			each(runs, func(r run) float64 { return steps(last(r)) }).figure(),
			each(runs, func(r run) float64 { return float64(m(r).rules().Attempts()) }).figure(),
			each(runs, func(r run) float64 { return float64(len(m(r).rules().Procedures())) }).figure()})
	}
	table(b.w, fmt.Sprintf("Forgetting: %d tasks, one every %s", b.tasks, between),
		[]string{"arm", "solved, last 200", "steps a task, last 200", "attempts kept", "procedures"}, rows)
	return nil
}

func (b *bench) poisoned() error {
	for _, p := range poisons {
		var rows [][]string
		for _, name := range []string{"top-3 episodes", "single episodes", "tentative advice", "Mneme"} {
			a := armNamed(name)
			clean, err := b.runs(a, b.tasks, false, nil)
			if err != nil {
				return err
			}
			runs, err := b.runs(a, b.tasks, false, &p)
			if err != nil {
				return err
			}
			clean = slices.Clone(clean)
			for i := range clean {
				clean[i].ofPlants = runs[i].ofPlants
			}
			targeted := func(r run) float64 {
				var of []result
				for _, n := range r.ofPlants {
					of = append(of, r.results[n])
				}
				return success(of)
			}
			promoted, proposed := "-", "-"
			if _, ok := runs[0].advisor.(*byRules); ok {
				n, visible, said := 0, 0, 0
				for _, r := range runs {
					m := r.advisor.(*byRules)
					all, seen := m.planted()
					n, visible, said = n+all, visible+seen, said+m.evil
				}
				promoted, proposed = fmt.Sprintf("%d, visible to the agent %d", n, visible), strconv.Itoa(said)
			}
			rows = append(rows, []string{name, each(clean, targeted).percent(), each(runs, targeted).percent(),
				promoted, proposed})
		}
		table(b.w, "Poison: "+p.name, []string{"arm", "targeted families: solved without it", "solved with it",
			"planted procedures promoted", "times proposed"}, rows)
	}
	return nil
}

// changes measures how soon an agent finds the right repair after a change, in streams twice as long.
func (b *bench) changes() error {
	var rows [][]string
	for _, a := range arms[2:6] {
		runs, err := b.runs(a, 2*b.tasks, false, nil)
		if err != nil {
			return err
		}
		r, byFamily := recoveries(runs)
		median := "-"
		if len(r.within) > 0 {
			median = strconv.Itoa(r.within[len(r.within)/2])
			if r.within[len(r.within)/2] == never {
				median = "never"
			}
		}
		rows = append(rows, []string{a.name, strconv.Itoa(len(r.within)), median,
			fmt.Sprintf("%.0f %%", 100*r.share(5)),
			fmt.Sprintf("%.0f %%", 100*r.share(soon)), fmt.Sprintf("%.0f %%", 100*rate(r.solved[0])),
			fmt.Sprintf("%.0f %%", 100*rate(r.solved[1])), strconv.Itoa(r.censored)})
		if a.name == "Mneme" {
			defer b.families(byFamily)
		}
	}
	table(b.w, fmt.Sprintf("After a change, %d tasks", 2*b.tasks), []string{"arm", "changed situations",
		"occurrences until the first repair tried is the new right one, median", "within 5", "within 10",
		"solved, occurrences 1–10", "solved, later ones", "left out: too few occurrences"}, rows)
	return nil
}
