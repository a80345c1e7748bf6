package workflows_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	mneme "github.com/mneme/mneme/client"
	"github.com/mneme/mneme/internal/testkit"
	"github.com/mneme/mneme/internal/testkit/harness"
	"github.com/mneme/mneme/memory"
	"github.com/mneme/mneme/memory/proposals"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/workflows"
	"github.com/mneme/mneme/workflows/flow"
)

// Two requests of one scope decide at the same time, and both want to replace the same memory. The second detects the
// conflict and decides again.
func TestConcurrentWritersOfOneScope(t *testing.T) {
	t.Parallel()
	const old, successor = "Ana lives in Lisbon.", "Ana lives in Porto now."
	claim := memory.Claim{Subject: "Ana", Predicate: "lives_in", Object: "Porto"}
	both := make(chan struct{})
	var deciding atomic.Int32
	model := testkit.NewModel(t, func(ctx context.Context, call testkit.ModelCall) testkit.ModelReply {
		if call.Kind == testkit.Extraction {
			if strings.HasPrefix(call.Data, "Report") {
				return testkit.ExtractionOf([]memory.Fact{{Content: successor + " So says " + call.Data[:8] + ".",
					Claim: claim}})
			}
			return testkit.FactsOf()
		}
		if n := deciding.Add(1); n == 2 {
			close(both)
		}
		select { // wait until both have been asked before either writes
		case <-both:
		case <-ctx.Done():
		}
		for _, c := range call.Offered().Candidates {
			if c.Content == old {
				return testkit.DecisionOf(schema.ActionUpdate, c.ID)
			}
		}
		return testkit.DecisionOf(schema.ActionNone, "")
	})
	h := harness.New(t, func(d *workflows.Dependencies) { bold(d); d.Brain = model.Brain(t) })
	p := testkit.Principal()
	target := known(t, h, p, old)[0]
	started := atOnce(t, h, testkit.Request(p, schema.SourceObservation, "Report 1 from the moving company."),
		testkit.Request(p, schema.SourceObservation, "Report 2 from the post office."))

	db := testkit.Owner(t, h.DatabaseURL)
	batches := []string{started[0].Ack.BatchID, started[1].Ack.BatchID}
	require.Equal(t, []string{"1 applied update", "2 skipped none"}, testkit.Strings(t, db,
		`SELECT concat_ws(' ', rounds, state, action) FROM proposals WHERE batch_id = ANY($1) ORDER BY rounds`,
		batches))
	require.Equal(t, 1, testkit.Rows(t, db, "memories", "live AND content LIKE $1", successor+"%"))
	require.Equal(t, 1, testkit.Rows(t, db, "memories", "id = $1 AND status = 'superseded'", target))
	require.Equal(t, 1, testkit.Rows(t, db, "memory_links", "predicate = 'supersedes' AND target_id = $1", target))
	require.Len(t, model.Calls(testkit.Decision), 3)
	require.Zero(t, testkit.Rows(t, db, "jobs", "state <> 'completed'"))
	testkit.CheckInvariants(t, db)
}

// All operations that change a memory run at once, each request twice. Of those that name the current version one
// succeeds, unless the memory was forgotten first, and the others get a conflict.
func TestOperationsOnOneMemoryAtOnce(t *testing.T) {
	t.Parallel()
	h := harness.New(t, nil)
	p := testkit.Principal()
	id := putRecord(t, h.Temporal, h.TaskQueue, p, prefers("go", ""))
	target := schema.Target{ID: id, IfVersion: 1}
	rust, zig, who := prefers("rust", ""), prefers("zig", ""), "Ana"
	asks := func() schema.Operation {
		return schema.Operation{Principal: p, OperationID: uuid.NewString(), Reason: "all at once"}
	}
	supersede, contest, retract := reviseRequest(p, schema.ReviseSupersede, &rust,
		target), reviseRequest(p, schema.ReviseContest, &zig, target),
		reviseRequest(p, schema.ReviseRetract, nil, target)
	supersede.Operation, contest.Operation, retract.Operation = asks(), asks(), asks()
	modify := schema.ModifyRequest{Operation: asks(), Patches: []schema.Patch{{ID: id, IfVersion: 1, Who: &who}}}
	forget := schema.ForgetRequest{Operation: asks(), Selector: schema.Selector{IDs: []string{id}}, Execute: true}
	ctx, cancel := context.WithTimeout(context.Background(), harness.WaitLimit)
	defer cancel()
	var guarded, forgotten atomic.Int32
	ways := []func() (bool, error){
		func() (bool, error) {
			run, err := mneme.StartModify(ctx, h.Temporal, h.TaskQueue, modify)
			if err != nil {
				return false, err
			}
			r, err := mneme.Outcome[schema.ModifyResult](ctx, run)
			return r.Updated == 1, err
		},
		func() (bool, error) {
			run, err := mneme.StartForget(ctx, h.Temporal, h.TaskQueue, forget)
			if err != nil {
				return false, err
			}
			r, err := mneme.Outcome[schema.ForgetReceipt](ctx, run)
			if r.Forgotten == 1 {
				forgotten.Store(1)
			}
			return false, err
		},
	}
	for _, req := range []schema.ReviseRequest{supersede, contest, retract} {
		ways = append(ways, func() (bool, error) {
			run, err := mneme.StartRevise(ctx, h.Temporal, h.TaskQueue, req)
			if err != nil {
				return false, err
			}
			r, err := mneme.Outcome[schema.ReviseResult](ctx, run)
			return r.Status == schema.ReviseApplied, err
		})
	}
	var wg sync.WaitGroup
	for _, way := range ways {
		var done [2]bool
		var both sync.WaitGroup
		for i := range done {
			both.Add(1)
			wg.Go(func() {
				defer both.Done()
				var err error
				if done[i], err = way(); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Go(func() {
			both.Wait()
			if done[0] != done[1] {
				t.Error("one request, two results")
			}
			if done[0] {
				guarded.Add(1)
			}
		})
	}
	wg.Wait()
	require.LessOrEqual(t, guarded.Load(), int32(1))
	require.Positive(t, guarded.Load()+forgotten.Load())
	db := testkit.Owner(t, h.DatabaseURL)
	testkit.CheckInvariants(t, db)
	require.Zero(t, testkit.Rows(t, db, "staged_requests", ""))
}

// If the memory changes before every write, the decision is retried a bounded number of times and then waits for a
// person.
func TestMemoryThatKeepsChanging(t *testing.T) {
	t.Parallel()
	var h *harness.Harness
	model := testkit.NewModel(t, func(ctx context.Context, call testkit.ModelCall) testkit.ModelReply {
		if call.Kind == testkit.Extraction {
			if strings.HasPrefix(call.Data, "Report") {
				return testkit.FactsOf("Ana lives in Porto now.")
			}
			return testkit.FactsOf()
		}
		db := testkit.Owner(t, h.DatabaseURL)
		_, err := db.Exec(ctx, `UPDATE memories SET version = version + 1 WHERE content = 'Ana lives in Lisbon.'`)
		if err != nil {
			t.Error(err)
		}
		return testkit.DecisionOf(schema.ActionAdd, "")
	})
	h = harness.New(t, func(d *workflows.Dependencies) { d.Brain = model.Brain(t) })
	p := testkit.Principal()
	known(t, h, p, "Ana lives in Lisbon.")
	_, result := h.Ingest(t, testkit.Request(p, schema.SourceObservation, "Report from the moving company."))
	require.Equal(t, 1, result.Written.Blocked)
	require.Zero(t, result.Written.Added)
	db := testkit.Owner(t, h.DatabaseURL)
	require.Equal(t, []string{fmt.Sprintf("%d blocked candidates_changed true", flow.MaxDecideRounds)},
		testkit.Strings(t, db,
			`SELECT concat_ws(' ', rounds, state, outcome, CASE WHEN review_needed THEN 'true' END) FROM proposals`))
	require.Len(t, model.Calls(testkit.Decision), flow.MaxDecideRounds)
	require.Zero(t, testkit.Rows(t, db, "jobs", "state <> 'completed'"))
}

// A memory is forgotten while its facts are extracted or decided: no fact is written for it.
func TestForgottenWhileThePipelineRuns(t *testing.T) {
	t.Parallel()
	const seed = "Ana did something embarrassing once before."
	for _, phase := range []string{testkit.Extraction, testkit.Decision} {
		t.Run(phase, func(t *testing.T) {
			t.Parallel()
			asked, answer := make(chan struct{}, 10), make(chan struct{})
			model := testkit.NewModel(t, func(ctx context.Context, call testkit.ModelCall) testkit.ModelReply {
				if call.Kind == phase && !strings.HasPrefix(call.Data, seed) {
					asked <- struct{}{}
					select {
					case <-answer:
					case <-ctx.Done():
					}
				}
				switch {
				case call.Kind == testkit.Decision:
					return testkit.DecisionOf(schema.ActionAdd, "")
				case strings.HasPrefix(call.Data, "Something"):
					return testkit.ExtractionOf([]memory.Fact{{Content: "Ana did something embarrassing."}},
						memory.Triple{Source: "Ana", Relationship: "did", Target: "Something", Confidence: 0.9})
				default:
					return testkit.FactsOf()
				}
			})
			h := harness.New(t, func(d *workflows.Dependencies) { d.Brain = model.Brain(t) })
			p := testkit.Principal()
			known(t, h, p, seed)
			ctx, cancel := context.WithTimeout(context.Background(), harness.WaitLimit)
			defer cancel()
			started, err := mneme.StartIngest(ctx, h.Temporal, h.TaskQueue,
				testkit.Request(p, schema.SourceObservation, "Something embarrassing happened to Ana."))
			require.NoError(t, err)
			<-asked
			db := testkit.Owner(t, h.DatabaseURL)
			_, err = db.Exec(ctx, `UPDATE memories SET deleted_at = now(), version = version + 1 WHERE id = $1`,
				started.Ack.MemoryIDs[0])
			require.NoError(t, err)
			before := testkit.Digest(t, db, "memories", "true")
			close(answer)
			result := harness.Wait(t, started.Run)
			require.Zero(t, result.Written.Added)
			require.Equal(t, before, testkit.Digest(t, db, "memories", "true"))
			require.Equal(t, []string{"skipped parent_forgotten"},
				testkit.Strings(t, db, `SELECT state || ' ' || outcome FROM proposals WHERE batch_id = $1`,
					started.Ack.BatchID))
			require.Zero(t, testkit.Rows(t, db, "entities", ""))
			require.Zero(t, testkit.Rows(t, db, "entity_relations", ""))
			require.Zero(t, testkit.Rows(t, db, "memory_embeddings", "memory_id = $1", started.Ack.MemoryIDs[0]))
		})
	}
}

// In shadow mode a run makes all decisions but writes only the proposals, to history.
func TestModes(t *testing.T) {
	t.Parallel()
	seed := "Ana lives in Lisbon."
	model := testkit.NewModel(t, func(_ context.Context, call testkit.ModelCall) testkit.ModelReply {
		switch {
		case call.Kind == testkit.Extraction && strings.HasPrefix(call.Data, "Letter"):
			return testkit.FactsOf("Ana lives in Porto these days.", "The office has a green door.")
		case call.Kind == testkit.Extraction:
			return testkit.FactsOf()
		}
		offered := call.Offered()
		for _, c := range offered.Candidates {
			if c.Content == seed && strings.Contains(offered.Fact.Content, "Porto") {
				return testkit.DecisionOf(schema.ActionUpdate, c.ID)
			}
		}
		return testkit.DecisionOf(schema.ActionAdd, "")
	})
	for _, test := range []struct {
		name       string
		mode       schema.WriteMode
		allow      bool
		supersede  proposals.Supersede
		newRows    int // in addition to the seed
		outcomes   []string
		actor      string
		seedStatus string
	}{
		{"shadow", schema.ModeShadow, true, proposals.SupersedeAuto, 0, []string{"blocked add shadow_mode", "blocked update shadow_mode"},
			"pipeline-shadow", "active"},
		{"frozen", schema.ModeFrozen, true, proposals.SupersedeAuto, 1,
			[]string{"blocked add mutations_frozen", "blocked update mutations_frozen"}, "pipeline", "active"},
		{"controlled", schema.ModeControlled, false, proposals.SupersedeReview, 2,
			[]string{"applied add", "blocked update destructive_mutations_disabled"}, "pipeline", "active"},
		{"controlled with updates, but changes wait for a review", schema.ModeControlled, true,
			proposals.SupersedeReview, 2,
			[]string{"applied add", "blocked update destructive_mutations_disabled"}, "pipeline", "active"},
		{"controlled with updates", schema.ModeControlled, true, proposals.SupersedeAuto, 3,
			[]string{"applied add", "applied update"}, "pipeline", "superseded"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			h := harness.New(t, func(d *workflows.Dependencies) {
				d.Brain = model.Brain(t)
				d.Policy.AllowUpdateDelete, d.Policy.Supersede = test.allow, test.supersede
			})
			p := testkit.Principal()
			target := known(t, h, p, seed)[0]
			db := testkit.Owner(t, h.DatabaseURL)
			before := unharmed(t, db, []string{target})
			req := testkit.Request(p, schema.SourceObservation, "Letter from Ana about her new home.")
			req.Mode = test.mode
			started, result := h.Ingest(t, req)
			require.Zero(t, result.Dead)
			require.Equal(t, 1+test.newRows, testkit.Rows(t, db, "memories", ""))
			require.Equal(t, test.outcomes,
				testkit.Strings(t, db,
					`SELECT trim(concat_ws(' ', state, action, outcome)) FROM proposals WHERE batch_id = $1 ORDER BY 1`,
					started.Ack.BatchID))
			require.Equal(t, 2, testkit.Rows(t, db, "memory_history",
				"changed_by = $1 AND metadata->>'batchId' = $2 AND memory_id = $3 AND event = 'none'",
				test.actor, started.Ack.BatchID, started.Ack.MemoryIDs[0]))
			require.Equal(t, []string{test.seedStatus},
				testkit.Strings(t, db, `SELECT status FROM memories WHERE id = $1`, target))
			if test.seedStatus == "active" {
				require.Equal(t, before, unharmed(t, db, []string{target}))
			} else {
				require.Equal(t, 1, testkit.Rows(t, db, "memory_history", "memory_id = $1 AND event = 'modified'",
					target))
			}
			if test.mode == schema.ModeShadow {
				require.Zero(t, testkit.Rows(t, db, "memories", "id = $1", started.Ack.MemoryIDs[0]))
				require.Zero(t, testkit.Rows(t, db, "entities", ""))
				require.Zero(t, testkit.Rows(t, db, "memory_embeddings", "memory_id <> $1", target))
			}
			require.Zero(t, testkit.Rows(t, db, "jobs", "state <> 'completed'"))
		})
	}
}

// Many recalls run during a heavy ingest. None fails, and each returns what was stored before or reports a degraded
// channel.
func TestRecallsDuringAHeavyIngest(t *testing.T) {
	t.Parallel()
	h := harness.New(t, nil)
	p := testkit.Principal()
	before := known(t, h, p, "The lighthouse keeper of Skagen is called Ingrid.")[0]
	recaller := h.Recaller()
	var writing sync.WaitGroup
	var written atomic.Bool
	writing.Go(func() {
		defer written.Store(true)
		for part := range 2 {
			texts := make([]string, 60)
			for i := range texts {
				texts[i] = fmt.Sprintf("Ship %d of convoy %d passed the lighthouse of Skagen with %d sailors.", i, part,
					i%40)
			}
			h.Ingest(t, testkit.Request(p, schema.SourceObservation, texts...))
		}
	})
	const askers = 64
	errs := make(chan error, askers)
	var asking sync.WaitGroup
	for range askers {
		asking.Go(func() {
			for asked := 0; asked < 2 || !written.Load(); asked++ {
				// the first rounds make the load; later ones keep recalls running during the ingest
				if asked >= 2 {
					time.Sleep(4 * time.Second)
				}
				out, err := recaller.Recall(context.Background(),
					schema.RecallRequest{Principal: p, Query: "what is the lighthouse keeper called?"})
				if err == nil && len(out.Meta.Degraded) == 0 && !slices.ContainsFunc(out.Results,
					func(r schema.RecallResult) bool { return r.ID == before }) {
					err = fmt.Errorf("not found among %d results", len(out.Results))
				}
				if err != nil {
					errs <- err
					return
				}
			}
		})
	}
	asking.Wait()
	writing.Wait()
	close(errs)
	for err := range errs {
		require.NoError(t, err)
	}
	testkit.CheckInvariants(t, testkit.Owner(t, h.DatabaseURL))
}
