package main

import (
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
)

// interval is a mean with its 95 % interval over seeds.
type interval struct{ Mean, Half float64 }

// student are the quantiles of Student's t for 95 %, by degrees of freedom.
var student = []float64{0, 12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262}

func over(values []float64) interval {
	n := float64(len(values))
	mean, squares := 0.0, 0.0
	for _, v := range values {
		mean += v / n
	}
	for _, v := range values {
		squares += (v - mean) * (v - mean)
	}
	if len(values) < 2 {
		return interval{Mean: mean}
	}
	return interval{mean, student[min(len(values)-1, len(student)-1)] * math.Sqrt(squares/(n-1)/n)}
}

func (i interval) above(o interval) bool { return i.Mean-i.Half > o.Mean+o.Half }

func (i interval) percent() string { return fmt.Sprintf("%.1f ± %.1f %%", 100*i.Mean, 100*i.Half) }

func (i interval) figure() string { return fmt.Sprintf("%.2f ± %.2f", i.Mean, i.Half) }

// each applies a figure to the runs of an arm, one for each seed.
func each(runs []run, figure func(run) float64) interval {
	var values []float64
	for _, r := range runs {
		values = append(values, figure(r))
	}
	return over(values)
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

// Curve is a figure over the tasks of a stream, for the plots: means over a window of tasks, with intervals over seeds.
type Curve struct {
	Arm    string    `json:"arm"`
	Task   []int     `json:"task"`
	Mean   []float64 `json:"mean"`
	Low    []float64 `json:"low"`
	High   []float64 `json:"high"`
	window int
}

// Plot is one picture.
type Plot struct {
	Name   string  `json:"name"`
	Title  string  `json:"title"`
	X      string  `json:"x"`
	Y      string  `json:"y"`
	Curves []Curve `json:"curves"`
}

const window = 40

func curve(name string, runs []run, figure func([]result) float64) Curve {
	out := Curve{Arm: name, window: window}
	for end := window; end <= len(runs[0].results); end += window / 4 {
		i := each(runs, func(r run) float64 { return figure(r.results[end-window : end]) })
		out.Task = append(out.Task, end)
		out.Mean = append(out.Mean, i.Mean)
		out.Low, out.High = append(out.Low, i.Mean-i.Half), append(out.High, i.Mean+i.Half)
	}
	return out
}

// recovery is the result of an arm after changes, by the number of occurrences of the problem in the situation since.
type recovery struct {
	within   []int // by changed situation: the occurrence at which the first repair tried was the new right one
	censored int   // situations without recovery that did not occur ten times
	solved   [2][]bool
}

const (
	soon  = 10            // occurrences within which an agent should have recovered
	never = math.MaxInt32 // the number of occurrences for an agent that did not recover
)

func recoveries(runs []run) (out recovery, byFamily map[string][]int) {
	byFamily = map[string][]int{}
	for seed, r := range runs {
		at, last := map[string]int{}, map[string]int{}
		for _, result := range r.results {
			for _, f := range result.problems {
				if !f.changed {
					continue
				}
				last[f.where] = max(last[f.where], f.since)
				if f.knew && at[f.where] == 0 {
					at[f.where] = f.since
				}
				late := 0
				if f.since > soon {
					late = 1
				}
				out.solved[late] = append(out.solved[late], f.solved)
			}
		}
		for where, n := range last {
			switch {
			case at[where] > 0:
				out.within = append(out.within, at[where])
				name := fmt.Sprintf("%d/%s", seed, strings.Fields(where)[0])
				byFamily[name] = append(byFamily[name], at[where])
			case n <= soon:
				out.censored++
			default:
				out.within = append(out.within, never)
			}
		}
	}
	slices.Sort(out.within)
	return out, byFamily
}

func (r recovery) share(n int) float64 {
	k := 0
	for _, w := range r.within {
		if w <= n {
			k++
		}
	}
	return float64(k) / float64(max(1, len(r.within)))
}

func rate(list []bool) float64 {
	n := 0
	for _, ok := range list {
		if ok {
			n++
		}
	}
	return float64(n) / float64(max(1, len(list)))
}

// families prints the recovery of Mneme by changed family.
func (b *bench) families(by map[string][]int) {
	var rows [][]string
	for _, name := range slices.Sorted(maps.Keys(by)) {
		seed, family, _ := strings.Cut(name, "/")
		at, _ := strconv.Atoi(seed)
		rows = append(rows, []string{strconv.FormatUint(b.seeds[at], 10), family,
			strings.Trim(fmt.Sprint(by[name]), "[]")})
	}
	table(b.w, "Mneme, by changed family", []string{"seed", "family", "occurrences until recovery, each situation"},
		rows)
}
