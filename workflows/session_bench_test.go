package workflows_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/mneme/mneme/api"
	mneme "github.com/mneme/mneme/client"
	"github.com/mneme/mneme/internal/testkit/harness"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/store/events"
)

// BenchmarkSession appends events in each way, with four writers to one session, and reports events per second, and
// history events and bytes per event. An insert is a plain one into the table of events: without a sequence number of
// the ledger, an entry in the index of ids, or a check. A record is a whole session in one request, which becomes an
// episode.
func BenchmarkSession(b *testing.B) {
	h := harness.New(b, nil)
	ctx := context.Background()
	pool, err := pgxpool.New(ctx, h.DatabaseURL)
	require.NoError(b, err)
	b.Cleanup(pool.Close)
	var numbers atomic.Int64
	insert := func(req api.AppendRequest) error {
		var seqs []int64
		var ids, payloads []string
		for _, e := range req.Events {
			seqs, ids = append(seqs, numbers.Add(1)), append(ids, e.ID)
			payloads = append(payloads, string(e.Payload))
		}
		_, err := pool.Exec(ctx, `
			INSERT INTO events (tenant, stream, seq, id, agent_id, kind, visibility, sensitivity, payload, occurred_at,
				recorded_at)
			SELECT $1, $2, seq, id, $3, 'agent.thought', 'private', 'low', payload::jsonb, now(), now()
			FROM unnest($4::bigint[], $5::text[], $6::text[]) AS e(seq, id, payload)`,
			req.Principal.Tenant, req.StreamName(), req.Principal.Agent, seqs, ids, payloads)
		return err
	}
	record := func(req api.AppendRequest) error {
		req.Session += req.Events[0].ID
		_, err := mneme.RecordSession(ctx, h.Temporal, h.TaskQueue, api.RecordRequest{SessionRef: req.SessionRef,
			Events: req.Events, Outcome: schema.OutcomeSuccess})
		return err
	}
	append1 := func(req api.AppendRequest) error {
		_, err := mneme.AppendEvents(ctx, h.Temporal, h.TaskQueue, req)
		return err
	}
	signal := func(req api.AppendRequest) error { return mneme.SignalEvents(ctx, h.Temporal, h.TaskQueue, req) }
	stored := func(req api.AppendRequest) error {
		_, err := h.Store.Append(ctx, events.AppendInput{Tenant: req.Principal.Tenant,
			Events: req.Fill(req.Events, time.Now()), Now: time.Now()})
		return err
	}
	for _, way := range []struct {
		name string
		size int
		do   func(api.AppendRequest) error
	}{{"insert", 1, insert}, {"store", 1, stored}, {"update", 1, append1}, {"signal", 1, signal},
		{"insert", 1000, insert}, {"store", 1000, stored}, {"update", 1000, append1}, {"signal", 1000, signal},
		{"record", 1000, record}} {
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
			var long, bytes int64
			switch way.name {
			case "insert", "store":
				return
			case "record":
				one := ref
				one.Session += "e-000000"
				found, err := h.Temporal.DescribeWorkflowExecution(ctx, api.RecordWorkflowID(one), "")
				require.NoError(b, err)
				info := found.GetWorkflowExecutionInfo()
				long, bytes, total = info.GetHistoryLength(), info.GetHistorySizeBytes(), way.size
			default:
				lengths, sizes := runsOf(b, h.Temporal, ref)
				for i := range lengths {
					long, bytes = long+lengths[i], bytes+sizes[i]
				}
			}
			b.ReportMetric(float64(long)/float64(total), "history/event")
			b.ReportMetric(float64(bytes)/float64(total), "bytes/event")
		})
	}
}
