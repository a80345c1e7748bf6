package main

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/mneme/mneme/bench/tools/families"
)

// tally are the figures of some results.
type tally struct {
	all, first, solved, tries, steps, lost int
}

func count(results []result, of func(r result) bool) (out tally) {
	for _, r := range results {
		if !of(r) {
			continue
		}
		out.all++
		out.tries += r.tries
		out.steps += r.steps
		if r.lost {
			out.lost++
		}
		if r.first {
			out.first++
		}
		if r.solved {
			out.solved++
		}
	}
	return out
}

func share(n, all int) string { return fmt.Sprintf("%.1f %%", 100*float64(n)/float64(max(1, all))) }

func mean(n, all int) string { return fmt.Sprintf("%.2f", float64(n)/float64(max(1, all))) }

func later(r result) bool { return r.times > 0 }

// report prints the arms, and each family.
func report(w io.Writer, of []families.Family, all []measured) {
	var rows [][]string
	for _, m := range all {
		whole, again := count(m.results, func(result) bool { return true }), count(m.results, later)
		rows = append(rows, []string{m.name, fmt.Sprint(whole.all), share(whole.solved, whole.all),
			share(again.first, again.all), mean(again.tries, again.all), mean(again.steps, again.all),
			share(again.lost, again.all), m.took.Round(time.Second).String()})
	}
	table(w, "All families", []string{"arm", "tasks", "solved", "second and later: at the first repair",
		"repairs tried", "steps", "data lost", "took"}, rows)
	rows = nil
	header := []string{"family"}
	for _, m := range all {
		header = append(header, m.name)
	}
	for _, f := range of {
		row := []string{f.Name}
		for _, m := range all {
			c := count(m.results, func(r result) bool { return later(r) && r.family == f.Name })
			row = append(row, fmt.Sprintf("%d of %d; %s", c.first, c.all, mean(c.tries, c.all)))
		}
		rows = append(rows, row)
	}
	table(w, "Second and later occurrences: at the first repair, repairs tried", header, rows)
}

func table(w io.Writer, title string, header []string, rows [][]string) {
	_, _ = fmt.Fprintf(w, "\n## %s\n\n", title)
	t := tabwriter.NewWriter(w, 0, 0, 1, ' ', 0)
	line := func(cells []string) { _, _ = fmt.Fprintf(t, "| %s\t|\n", strings.Join(cells, "\t| ")) }
	line(header)
	line(slices.Repeat([]string{"---"}, len(header)))
	for _, r := range rows {
		line(r)
	}
	_ = t.Flush()
}
