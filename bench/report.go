package main

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"text/tabwriter"
	"time"
)

// table prints rows under a title, in Markdown.
func table(title string, header []string, rows [][]string) {
	fmt.Printf("\n## %s\n\n", title)
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 1, ' ', 0)
	line := func(cells []string) { _, _ = fmt.Fprintf(w, "| %s\t|\n", strings.Join(cells, "\t| ")) }
	line(header)
	rule := make([]string, len(header))
	for i := range rule {
		rule[i] = "---"
	}
	line(rule)
	for _, r := range rows {
		line(r)
	}
	_ = w.Flush()
}

// durations are the times of repeated calls.
type durations []time.Duration

// at returns the q-quantile, 0 < q <= 1.
func (d durations) at(q float64) time.Duration {
	if len(d) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(d))
	return sorted[min(len(sorted)-1, int(q*float64(len(sorted))))]
}

func ms(d time.Duration) string { return fmt.Sprintf("%.1f ms", float64(d.Microseconds())/1000) }

// measure calls fn n times from a number of clients, and returns the time of every call and the total time.
func measure(clients, n int, fn func(i int) error) (durations, time.Duration, error) {
	var mu sync.Mutex
	var out durations
	var firstErr error
	next := 0
	start := time.Now()
	var wg sync.WaitGroup
	for range clients {
		wg.Go(func() {
			for {
				mu.Lock()
				i := next
				next++
				stop := i >= n || firstErr != nil
				mu.Unlock()
				if stop {
					return
				}
				began := time.Now()
				err := fn(i)
				took := time.Since(began)
				mu.Lock()
				out = append(out, took)
				if err != nil && firstErr == nil {
					firstErr = err
				}
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	return out, time.Since(start), firstErr
}
