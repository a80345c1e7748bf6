package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/mneme/mneme/bench/tools/families"
	"github.com/mneme/mneme/bench/tools/place"
)

// config are the flags.
type config struct {
	set   string
	seeds string
	times int
	arms  string
	only  string
	trace bool
}

func main() {
	var c config
	flag.StringVar(&c.set, "set", "dev", "families: dev, reported, fresh, later, further, unseen, last, blind, "+
		"situations, third, fourth or fifth")
	flag.StringVar(&c.seeds, "seeds", "1,2", "comma-separated")
	flag.IntVar(&c.times, "times", 8, "how often each family occurs in a stream")
	flag.StringVar(&c.arms, "arms", "", "comma-separated: which arms to run; empty: all")
	flag.StringVar(&c.only, "only", "", "a part of the names of the families to run")
	flag.BoolVar(&c.trace, "trace", false, "print the first repairs that did not help")
	flag.Parse()
	if err := measure(os.Stdout, c); err != nil {
		fmt.Fprintln(os.Stderr, "tools:", err)
		os.Exit(1)
	}
}

// measured are the results of an arm over all seeds.
type measured struct {
	name    string
	results []result
	took    time.Duration
}

func measure(w io.Writer, c config) error {
	on := place.Find()
	root, err := os.MkdirTemp("", "mneme-tools-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(root) }()
	named := slices.DeleteFunc(slices.Clone(families.Sets[c.set]), func(f families.Family) bool {
		return !strings.Contains(f.Name, c.only)
	})
	found, left := families.Present(named, root, on)
	if len(found) == 0 {
		return fmt.Errorf("no families %q in the set %q", c.only, c.set)
	}
	_, _ = fmt.Fprintf(w, "# tools: %d families of %s, %d occurrences each, seeds %s, %s/%s, %s\n", len(found),
		c.set,
		c.times, c.seeds, runtime.GOOS, runtime.GOARCH, on)
	for _, name := range left {
		_, _ = fmt.Fprintf(w, "left out: %s\n", name)
	}
	var all []measured
	for _, a := range arms {
		if c.arms != "" && !slices.Contains(strings.Split(c.arms, ","), a.name) {
			continue
		}
		began := time.Now()
		m := measured{name: a.name}
		for seed := range strings.SplitSeq(c.seeds, ",") {
			n, err := strconv.ParseUint(seed, 10, 64)
			if err != nil {
				return fmt.Errorf("seed %q: %w", seed, err)
			}
			results, err := runArm(a, families.Stream(c.set, found, c.times, n), filepath.Join(root, seed), on)
			if err != nil {
				return fmt.Errorf("%s, seed %d: %w", a.name, n, err)
			}
			m.results = append(m.results, results...)
		}
		m.took = time.Since(began)
		all = append(all, m)
		if c.trace {
			wrong(w, m)
		}
	}
	report(w, found, all)
	return nil
}

// runArm lets an actor with a new advisor work on the tasks of a stream, in their order.
func runArm(a arm, tasks []families.Task, root string, on place.Tools) (out []result, err error) {
	m := a.advisor()
	for _, t := range tasks {
		r, err := work(t, root, on, m)
		if err != nil {
			return out, fmt.Errorf("task %d: %w", t.N, err)
		}
		out = append(out, r)
	}
	return out, nil
}

// wrong prints the first repairs that did not help although the family had occurred before.
func wrong(w io.Writer, m measured) {
	for _, r := range m.results {
		if r.times > 0 && !r.first {
			_, _ = fmt.Fprintf(w, "%s, %s, occurrence %d, proposed %v: %s\n", m.name, r.family, r.times+1, r.advised,
				r.wrong)
		}
	}
}
