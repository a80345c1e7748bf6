package workflows_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/temporal"

	mneme "github.com/mneme/mneme/client"
	"github.com/mneme/mneme/inference"
	"github.com/mneme/mneme/internal/testkit"
	"github.com/mneme/mneme/internal/testkit/harness"
	"github.com/mneme/mneme/memory"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/workflows"
)

// gated blocks an extraction until it is released or cancelled.
type gated struct {
	inference.Extractor
	reached chan struct{}
	release chan struct{}
	stopped chan struct{}
}

func (g gated) Extract(ctx context.Context, src inference.Source) (memory.Extraction, inference.Usage, error) {
	if !strings.Contains(src.Content, canary) {
		return g.Extractor.Extract(ctx, src)
	}
	close(g.reached)
	select {
	case <-g.release:
	case <-ctx.Done():
		close(g.stopped)
	}
	return memory.Extraction{Facts: []memory.Fact{{Content: "The " + canary + " was seen",
		Category: schema.CategoryFact, Confidence: 0.9}}}, inference.Usage{}, nil
}

// A batch that fails after its first transaction stops the pipelines of that transaction. The next attempt would not,
// because it does not forget their memories again.
func TestForgetStopsThePipelinesOfAFailedBatch(t *testing.T) {
	t.Parallel()
	g := gated{reached: make(chan struct{}), release: make(chan struct{}), stopped: make(chan struct{})}
	h := harness.New(t, func(d *workflows.Dependencies) {
		g.Extractor = d.Brain.Extractor
		d.Brain.Extractor = g
	})
	p := testkit.Principal()
	ctx, cancel := context.WithTimeout(context.Background(), harness.WaitLimit)
	defer cancel()
	started, err := mneme.StartIngest(ctx, h.Temporal, h.TaskQueue,
		testkit.Request(p, schema.SourceUserInput, "The "+canary+" came by."))
	require.NoError(t, err)
	<-g.reached
	other, _ := h.Ingest(t, testkit.Request(p, schema.SourceUserInput, "It rained."))
	// Two memories at once time out, so each has a transaction. The second one fails until the trigger is dropped.
	db := testkit.Owner(t, h.DatabaseURL)
	_, err = db.Exec(ctx, `CREATE FUNCTION fail() RETURNS trigger LANGUAGE plpgsql AS $$
		BEGIN
			IF (SELECT count(*) FROM changed WHERE deleted_at IS NOT NULL) > 1 THEN
				RAISE EXCEPTION 'too many' USING ERRCODE = 'query_canceled';
			ELSIF (SELECT count(*) FROM memories WHERE deleted_at IS NOT NULL) > 1 THEN
				RAISE EXCEPTION 'broken';
			END IF;
			RETURN NULL;
		END $$;
		CREATE TRIGGER fail AFTER UPDATE ON memories REFERENCING NEW TABLE AS changed
			FOR EACH STATEMENT EXECUTE FUNCTION fail()`)
	require.NoError(t, err)
	req := forgetRequest(p, "", schema.Selector{IDs: []string{started.Ack.MemoryIDs[0], other.Ack.MemoryIDs[0]}})
	req.Execute = true
	run, preview := startForget(t, h, req)
	require.Equal(t, started.Ack.MemoryIDs[0], preview.Sample[0], "it is forgotten first")
	var cancelled *temporal.CanceledError
	require.ErrorAs(t, started.Run.Get(ctx, nil), &cancelled)
	require.Equal(t, 1, testkit.Rows(t, db, "memories", "deleted_at IS NOT NULL"))
	_, err = db.Exec(ctx, `DROP TRIGGER fail ON memories`)
	require.NoError(t, err)
	receipt := receiptOf(t, run)
	require.Equal(t, 2, receipt.Forgotten)
	require.Equal(t, 1, receipt.Stopped)
}

// The pipeline that processes a memory stops when the memory is forgotten, and a later answer of its model is not
// written.
func TestForgetStopsARunningPipeline(t *testing.T) {
	t.Parallel()
	for _, alone := range []bool{true, false} {
		t.Run(fmt.Sprintf("alone %v", alone), func(t *testing.T) {
			t.Parallel()
			g := gated{reached: make(chan struct{}), release: make(chan struct{}), stopped: make(chan struct{})}
			h := harness.New(t, func(d *workflows.Dependencies) {
				g.Extractor = d.Brain.Extractor
				d.Brain.Extractor = g
			})
			p := testkit.Principal()
			ctx, cancel := context.WithTimeout(context.Background(), harness.WaitLimit)
			defer cancel()
			texts := []string{"The " + canary + " came by."}
			if !alone {
				texts = append(texts, "I prefer tabs over spaces. I live in Porto.")
			}
			started, err := mneme.StartIngest(ctx, h.Temporal, h.TaskQueue,
				testkit.Request(p, schema.SourceUserInput, texts...))
			require.NoError(t, err)
			<-g.reached
			req := forgetRequest(p, "", schema.Selector{IDs: started.Ack.MemoryIDs[:1]})
			req.Execute = true
			run, _ := startForget(t, h, req)
			receipt := receiptOf(t, run)
			require.Equal(t, 1, receipt.Forgotten)
			if alone {
				require.Equal(t, 1, receipt.Stopped)
				var cancelled *temporal.CanceledError
				require.ErrorAs(t, started.Run.Get(ctx, nil), &cancelled)
				<-g.stopped // the run does not wait for the model
			} else {
				require.Zero(t, receipt.Stopped, "the run continues with the other candidate")
				close(g.release)
				result := harness.Wait(t, started.Run)
				require.NotZero(t, result.Written.Added)
				require.Zero(t, result.Dead)
			}
			h.StopWorker()
			db := testkit.Owner(t, h.DatabaseURL)
			require.Zero(t, testkit.Rows(t, db, "memories", "live AND content LIKE '%"+canary+"%'"))
			require.Zero(t, testkit.Rows(t, db, "proposals", "fact::text LIKE '%"+canary+"%'"))
			require.Zero(t, testkit.Rows(t, db, "memory_candidates", "extraction::text LIKE '%"+canary+"%'"))
			require.Equal(t, 1, testkit.Rows(t, db, "jobs", "state = 'dead' AND last_error = 'forgotten'"))
			require.Zero(t, testkit.Rows(t, db, "jobs", "state IN ('pending', 'leased', 'failed')"))
		})
	}
}
