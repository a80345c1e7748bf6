package workflows_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mneme/mneme/api"
	mneme "github.com/mneme/mneme/client"
	"github.com/mneme/mneme/internal/testkit"
	"github.com/mneme/mneme/store/events"
)

// BenchmarkSession appends events in each way, by four writers to one session, and reports events a second, and how
// many events and bytes of history there are for each.
func BenchmarkSession(b *testing.B) {
	h := testkit.NewHarness(b, nil)
	ctx := context.Background()
	append1 := func(req api.AppendRequest) error {
		_, err := mneme.AppendEvents(ctx, h.Temporal, h.TaskQueue, req)
		return err
	}
	signal := func(req api.AppendRequest) error { return mneme.SignalEvents(ctx, h.Temporal, h.TaskQueue, req) }
	bare := func(req api.AppendRequest) error {
		_, err := h.Store.Append(ctx, events.AppendInput{Tenant: req.Principal.Tenant,
			Events: req.Fill(req.Events, time.Now()), Now: time.Now()})
		return err
	}
	for _, way := range []struct {
		name string
		size int
		do   func(api.AppendRequest) error
	}{{"bare", 1, bare}, {"update", 1, append1}, {"signal", 1, signal}, {"bare", 1000, bare},
		{"update", 1000, append1}} {
		b.Run(fmt.Sprintf("%s/%d", way.name, way.size), func(b *testing.B) {
			ref := sessionRef(fmt.Sprintf("bench-%s-%d-%d", way.name, way.size, b.N))
			b.ResetTimer()
			var wg sync.WaitGroup
			next := make(chan int)
			for range 4 {
				wg.Go(func() {
					for i := range next {
						if err := way.do(api.AppendRequest{SessionRef: ref,
							Events: sessionThoughts("e", i*way.size, (i+1)*way.size)}); err != nil {
							b.Error(err)
						}
					}
				})
			}
			for i := range b.N {
				next <- i
			}
			close(next)
			wg.Wait()
			total := b.N * way.size
			for way.name == "signal" {
				working, err := mneme.SessionWorking(ctx, h.Temporal, ref)
				require.NoError(b, err)
				if working.Seq == int64(total) {
					break
				}
				time.Sleep(5 * time.Millisecond)
			}
			b.StopTimer()
			b.ReportMetric(float64(total)/b.Elapsed().Seconds(), "events/s")
			if way.name == "bare" {
				return
			}
			lengths, sizes := runsOf(b, h.Temporal, ref)
			long, bytes := int64(0), int64(0)
			for i := range lengths {
				long, bytes = long+lengths[i], bytes+sizes[i]
			}
			b.ReportMetric(float64(long)/float64(total), "history/event")
			b.ReportMetric(float64(bytes)/float64(total), "bytes/event")
		})
	}
}
