package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"time"

	"github.com/mneme/mneme/internal/telemetry"
	"github.com/mneme/mneme/recall"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/store"
	"github.com/mneme/mneme/store/pg"
	"github.com/mneme/mneme/store/vector"
)

// metrics measures the cost of metrics for a recall. It sends the same questions to a recaller without metrics, to one
// with metrics, and to one with metrics while they are scraped and read from Postgres without a pause. It also measures
// reading the numbers of the tenant, and a scrape.
func (b *bench) metrics(ctx context.Context) error {
	var rows, reads [][]string
	for field := range strings.SplitSeq(b.sizes, ",") {
		size, err := strconv.Atoi(field)
		if err != nil {
			return errors.New("-sizes must be numbers")
		}
		more, read, err := b.metricsOver(ctx, size)
		if err != nil {
			return err
		}
		rows, reads = append(rows, more...), append(reads, read)
	}
	table("Recall without and with metrics, one client, the same questions in turn",
		[]string{"memories", "recall", "p50", "p95", "p99"}, rows)
	table("Reading a tenant's numbers", []string{"memories", "p50", "p95", "scrape of what was read, p50"}, reads)
	return nil
}

func (b *bench) metricsOver(ctx context.Context, size int) (rows [][]string, read []string, err error) {
	s, drop, err := b.newSite(ctx)
	if err != nil {
		return nil, nil, err
	}
	defer drop()
	if err := b.load(ctx, s, inSessions(observations(size)), 1); err != nil {
		return nil, nil, err
	}
	m, err := telemetry.NewMetrics("bench")
	if err != nil {
		return nil, nil, err
	}
	stop, err := m.Open(ctx, pg.Config{URL: s.url}, telemetry.Reading{Tenants: telemetry.DefaultTenants})
	if err != nil {
		return nil, nil, err
	}
	defer stop()
	alone := &recall.Recaller{Store: s.Store, Index: vector.PGVector{Store: s.Store}, Embedder: b.brain.Embedder}
	observed := *alone
	observed.Observe = m.ObserveRecall
	r := rand.New(rand.NewPCG(3, 4))
	timeRecall := func(by *recall.Recaller, query string) (time.Duration, error) {
		start := time.Now()
		_, err := by.Recall(ctx, schema.RecallRequest{Principal: principal, Query: query})
		return time.Since(start), err
	}
	things := []struct {
		name    string
		by      *recall.Recaller
		reading bool
	}{{"not observed", alone, false}, {"observed", &observed, false},
		{"observed, while metrics are read all the time", &observed, true}}
	took := make([]durations, len(things))
	// The two that are compared alternate, and each is first equally often. The third runs alone, because it leaves
	// connections and caches in another state.
	for _, round := range [][]int{{0, 1}, {2}} {
		for i := range 20 + b.queries { // the first ones warm up
			query := question(r, size)
			for n := range round {
				at := round[(i+n)%len(round)]
				end := func() error { return nil }
				if things[at].reading {
					end = busy(ctx, s.Store)
				}
				d, err := timeRecall(things[at].by, query)
				if stopped := end(); err == nil {
					err = stopped
				}
				if err != nil {
					return nil, nil, err
				}
				if i >= 20 {
					took[at] = append(took[at], d)
				}
			}
		}
	}
	for i, thing := range things {
		rows = append(rows, []string{fmt.Sprint(size), thing.name, ms(took[i].at(.5)), ms(took[i].at(.95)),
			ms(took[i].at(.99))})
	}
	numbers, _, err := measure(1, 40, func(int) error {
		_, err := s.TenantMetrics(ctx, principal.Tenant, time.Now())
		return err
	})
	if err != nil {
		return nil, nil, err
	}
	scrapes, _, err := measure(1, 40, func(int) error {
		_, err := m.Gatherer().Gather()
		return err
	})
	if err != nil {
		return nil, nil, err
	}
	return rows, []string{fmt.Sprint(size), ms(numbers.at(.5)), ms(numbers.at(.95)), ms(scrapes.at(.5))}, nil
}

// busy reads the tenant's numbers repeatedly until the function that it returns is called.
func busy(ctx context.Context, st *store.Store) (end func() error) {
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() {
		for ctx.Err() == nil {
			if _, err := st.TenantMetrics(ctx, principal.Tenant, time.Now()); err != nil && ctx.Err() == nil {
				ended <- err
				return
			}
		}
		ended <- nil
	}()
	return func() error {
		cancel()
		return <-ended
	}
}
