package main

import (
	"fmt"
	"slices"
	"strconv"
)

// Why a problem was not solved.
const (
	byChance    = "the right repair was tried and did not help"
	tooLong     = "the right repair was proposed, and others before it took the steps"
	unproposed  = "the right repair had helped in this situation, and was not proposed"
	fromAnother = "it had helped in another situation of the problem alone"
	searched    = "search for the first right repair"
	afterChange = "search after a change"
	oldProposed = "search after a change, the old repair was tried as well"
)

var reasons = []string{byChance, tooLong, unproposed, fromAnother, searched, afterChange, oldProposed}

// lost counts the reasons why problems of the last tasks of a run were not solved. A right repair counts as known if it
// had helped before.
func lost(r run) map[string]int {
	type at struct {
		where string
		which int
	}
	helped, anywhere := map[at]int{}, map[[2]int]int{}
	out := map[string]int{}
	since := len(r.results) - len(last(r))
	for n, result := range r.results {
		for _, f := range result.problems {
			if !f.solved && n >= since {
				out[f.lost(helped[at{f.where, f.which}], anywhere[[2]int{f.family, f.which}])]++
			}
			if f.solved && f.tried[len(f.tried)-1] == f.which {
				helped[at{f.where, f.which}]++
				anywhere[[2]int{f.family, f.which}]++
			}
		}
	}
	return out
}

func (f problemResult) lost(here, anywhere int) string {
	old := f.changed && slices.ContainsFunc(f.tried, func(n int) bool { return n == f.before })
	switch {
	case slices.Contains(f.tried, f.which):
		return byChance
	case slices.Contains(f.proposed, f.which):
		return tooLong
	case here > 0:
		return unproposed
	case anywhere > 0:
		return fromAnother
	case old:
		return oldProposed
	case f.changed:
		return afterChange
	}
	return searched
}

// losses prints why tasks of the last 200 were not solved.
func (b *bench) losses() error {
	var rows [][]string
	header := []string{"not solved, because"}
	counts := map[string][]string{}
	for _, name := range []string{"tentative advice", "Mneme", reader.name} {
		header = append(header, name)
		runs, err := b.runs(armNamed(name), b.tasks, false, nil)
		if err != nil {
			return err
		}
		total, problems := 0, 0
		sums := map[string]int{}
		for _, r := range runs {
			for _, result := range last(r) {
				problems += len(result.problems)
			}
			for why, n := range lost(r) {
				sums[why] += n
				total += n
			}
		}
		for _, why := range reasons {
			counts[why] = append(counts[why], strconv.Itoa(sums[why]))
		}
		counts["all"] = append(counts["all"], fmt.Sprintf("%d of %d", total, problems))
	}
	for _, why := range append(slices.Clone(reasons), "all") {
		rows = append(rows, append([]string{why}, counts[why]...))
	}
	table(b.w, "Problems of the last 200 tasks that were not solved", header, rows)
	return nil
}
