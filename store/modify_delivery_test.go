package store_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/mneme/mneme/internal/testkit"
	"github.com/mneme/mneme/memory/normalize"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/store"
	"github.com/mneme/mneme/store/pg"
	"github.com/mneme/mneme/store/pipeline"
)

func TestModifyDeliveredAgainHasOneEffect(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	id := w.explicit("Tea is served hot.")
	in := w.modifyInput(schema.Patch{ID: id.String(), Content: ptr("Tea is served cold.")},
		schema.Patch{ID: uuid.NewString(), Who: ptr("x")})
	require.NoError(t, w.Accept(ctx, in.Operation, "modify", in.Request, w.now))
	results := make(chan schema.ModifyResult, 8)
	var wg sync.WaitGroup
	for range cap(results) {
		wg.Go(func() {
			out, err := w.Modify(ctx, in)
			if err != nil {
				t.Error(err)
			}
			results <- out
		})
	}
	wg.Wait()
	first := <-results
	require.Equal(t, 1, first.Updated)
	for range cap(results) - 1 {
		require.Equal(t, first, <-results)
	}
	before := w.snapshot()
	in.Request.Patches = nil // the body was removed by now
	again, err := w.Modify(ctx, in)
	require.NoError(t, err)
	require.Equal(t, first, again)
	require.Equal(t, before, w.snapshot())
	require.Equal(t, 2, w.get(id).Version)
	require.Len(t, w.history(id), 2)
	require.Zero(t, w.count("staged_requests", "true"))
	w.requireExactStats()

	in.Operation.ID = "never accepted"
	_, err = w.Modify(ctx, in)
	require.ErrorIs(t, err, pg.ErrNotFound)
}

// Of two patches for the same version, one is applied and the other is told the current version.
func TestConcurrentModifications(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for round := range 20 {
		id := w.explicit(fmt.Sprintf("Tea number %d is served hot.", round))
		results := make(chan schema.PatchResult, 2)
		var wg sync.WaitGroup
		for i := range cap(results) {
			in := w.modifyInput(schema.Patch{ID: id.String(), IfVersion: 1,
				Content: ptr(fmt.Sprintf("Tea number %d is served by %d.", round, i))})
			wg.Go(func() {
				out, err := w.Modify(ctx, in)
				if err != nil {
					t.Error(err)
					results <- schema.PatchResult{}
					return
				}
				results <- out.Results[0]
			})
		}
		wg.Wait()
		a, b := <-results, <-results
		if a.Status != schema.PatchUpdated {
			a, b = b, a
		}
		require.Equal(t, schema.PatchResult{ID: id.String(), Status: schema.PatchUpdated, CurrentVersion: 1,
			NewVersion: 2, ContentChanged: true}, a)
		require.Equal(t, schema.PatchResult{ID: id.String(), Status: schema.PatchVersionConflict, CurrentVersion: 2}, b)
		require.Equal(t, 2, w.get(id).Version)
	}
	w.requireExactStats()
}

// Modifications, new memories and the pipeline run concurrently: no change is lost, and no operation waits forever.
func TestModifyConcurrentlyWithOtherOperations(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	const n = 12
	ids := make([]uuid.UUID, n)
	for i := range ids {
		ids[i] = w.explicit(fmt.Sprintf("Item %d is in stock.", i))
	}
	_, r := w.source("a report on the stock",
		idea{fact: fact("Nothing is in stock."), action: schema.ActionUpdate, target: ids[0]},
		idea{fact: fact("Items are sold out by noon."), action: schema.ActionDelete, target: ids[1]})
	var jobs []func() error
	for worker := range 6 {
		var patches []schema.Patch
		for i := range ids {
			at := (i*5 + worker*7) % n // each worker in another order
			patches = append(patches, schema.Patch{ID: ids[at].String(),
				Content: ptr(fmt.Sprintf("Item %d is in place.", (at+worker)%n))})
		}
		in := w.modifyInput(patches...)
		jobs = append(jobs, func() error { _, err := w.Modify(ctx, in); return err })
		var texts []string
		for i := range n {
			texts = append(texts, fmt.Sprintf("Item %d is in place.", (i*7+worker)%n),
				fmt.Sprintf("Item %d is in stock.", (i*5+worker)%n))
		}
		candidates := say(texts...)
		for i := range candidates {
			candidates[i].SourceKind = []schema.SourceKind{schema.SourceMemory, schema.SourceObservation}[i%3%2]
		}
		staged := w.input(candidates...)
		jobs = append(jobs, func() error { _, err := w.Stage(ctx, staged); return err })
	}
	jobs = append(jobs, func() error {
		_, err := w.Write(ctx, pipeline.WriteInput{Range: r, MaxRounds: 3, Now: w.now})
		return err
	})
	errs := make(chan error, len(jobs))
	for _, job := range jobs {
		go func() {
			err := job()
			for pg.IsUnavailable(err) { // a deadlock, which the retry policy repeats
				err = job()
			}
			errs <- err
		}()
	}
	for range jobs {
		require.NoError(t, <-errs)
	}
	require.Zero(t,
		w.count("(SELECT content_hash FROM memories WHERE live GROUP BY content_hash, type HAVING count(*) > 1) twice",
			"true"))
	require.Zero(t, w.count("memories m",
		"version <> 1 + (SELECT count(*) FROM memory_versions v WHERE v.memory_id = m.id)"))
	w.requireExactStats()
}

// A content that another transaction writes at the same time is a duplicate, not a failure.
func TestModifyDuringAWriteOfTheSameContent(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	id := w.explicit("Tea is served hot.")
	tx, err := w.owner.Begin(ctx)
	require.NoError(t, err)
	taken := uuid.New()
	_, err = tx.Exec(ctx,
		`INSERT INTO memories (tenant, id, agent_id, type, category, tier, typology, content, normalized_content,
			content_hash, payload,
			confidence, importance, salience, salience_at, decay_curve, half_life, min_salience, reinforcement_gain,
			last_reinforced_at, deletion_policy,
			occurred_at, created_at, updated_at, created_by)
		SELECT tenant, $2, agent_id, type, category, tier, typology, 'Tea is served cold.', 'tea is served cold', $3,
		payload,
			confidence, importance, salience, salience_at, decay_curve, half_life, min_salience, reinforcement_gain,
			last_reinforced_at, deletion_policy,
			occurred_at, created_at, updated_at, created_by FROM memories WHERE id = $1`, id, taken,
		normalize.Normalize("Tea is served cold.").Hash)
	require.NoError(t, err)
	result := make(chan schema.ModifyResult, 1)
	in := w.modifyInput(schema.Patch{ID: id.String(), Content: ptr("Tea is served cold.")})
	go func() {
		out, err := w.Modify(ctx, in)
		if err != nil {
			t.Error(err)
		}
		result <- out
	}()
	w.awaitWaiter()
	require.NoError(t, tx.Commit(ctx))
	out := <-result
	require.Equal(t, []schema.PatchResult{{ID: id.String(), Status: schema.PatchDuplicate, CurrentVersion: 1,
		DuplicateID: taken.String()}}, out.Results)
	require.Equal(t, "Tea is served hot.", w.get(id).Content)
}

// A crash between any two statements changes nothing. Afterwards the same operation can be carried out.
func TestModifyIsAtomic(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	id, other := w.claimed("Alice lives in Paris.", "Alice", "Paris"), w.explicit("Tea is served hot.")
	in := w.modifyInput(schema.Patch{ID: other.String(), Tags: &[]string{"tea"}},
		schema.Patch{ID: id.String(), Content: ptr("Alice lives in Rome.")},
		schema.Patch{ID: uuid.NewString(), Who: ptr("x")})
	in.Embeddings = []*pg.Embedding{nil, {Model: hash, Vector: embed(t, "Alice lives in Rome.")}, nil}
	require.NoError(t, w.Accept(ctx, in.Operation, "modify", in.Request, w.now))
	before := w.snapshot()
	for _, table := range []string{"memories", "memory_versions", "memory_history", "memory_embeddings",
		"memory_provenance", "entity_claims",
		"index_outbox", "operations", "staged_requests", "lexeme_stats", "corpus_stats"} {
		w.failing(table, func() {
			_, err := w.Modify(ctx, in)
			require.ErrorContains(t, err, "broken by the test", table)
			require.NotContains(t, err.Error(), "Rome")
		})
		require.Equal(t, before, w.snapshot(), table)
	}
	out, err := w.Modify(ctx, in)
	require.NoError(t, err)
	require.Equal(t, 2, out.Updated)
	w.requireExactStats()
}

// Modify and Recover are cancelled before each of their statements, including the commit.
func TestModifyAndRecoverCutShort(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	cut := &cutter{}
	cutStore, err := store.OpenTraced(ctx, w.url, cut)
	require.NoError(t, err)
	t.Cleanup(cutStore.Close)
	alice, tea, gone, rome := w.claimed("Alice lives in Paris.", "Alice",
		"Paris"), w.explicit("Tea is served hot."), w.explicit("The kettle hums."),
		w.claimed("Bob lives in Rome.", "Bob", "Rome")
	w.softDelete(gone)
	w.softDelete(rome)
	modify := w.modifyInput(schema.Patch{ID: alice.String(), Content: ptr("Alice lives in Rome.")},
		schema.Patch{ID: tea.String(), Pinned: ptr(true), Who: ptr("ana")},
		schema.Patch{ID: gone.String(), Who: ptr("x")})
	modify.Embeddings = []*pg.Embedding{{Model: hash, Vector: embed(t, "Alice lives in Rome.")}}
	back := w.recoverInput(schema.Target{ID: gone.String()}, schema.Target{ID: rome.String()},
		schema.Target{ID: tea.String()})
	require.NoError(t, w.Accept(ctx, modify.Operation, "modify", modify.Request, w.now))
	require.NoError(t, w.Accept(ctx, back.Operation, "recover", back.Request, w.now))
	for _, c := range []struct {
		name  string
		carry func() (int, error)
	}{
		{"modify", func() (int, error) { out, err := cutStore.Modify(ctx, modify); return out.Updated, err }},
		{"recover", func() (int, error) { out, err := cutStore.Recover(ctx, back); return len(out.Changed()), err }},
	} {
		before := w.snapshot()
		for at := 1; ; at++ {
			cut.at, cut.seen = at, 0
			done, err := c.carry()
			if err == nil {
				require.Less(t, cut.seen, at, "the error was ignored")
				require.Greater(t, at, 10, c.name)
				require.Equal(t, 2, done)
				break
			}
			require.Equal(t, before, w.snapshot(), "%s, cut before statement %d", c.name, at)
		}
	}
	testkit.CheckInvariants(t, w.owner)
	w.requireExactStats()
}

// racer runs a function when a statement begins.
type racer struct {
	statement string
	once      sync.Once
	do        func()
}

func (r *racer) TraceQueryStart(ctx context.Context, _ *pgx.Conn, q pgx.TraceQueryStartData) context.Context {
	if strings.HasPrefix(q.SQL, r.statement) {
		r.once.Do(r.do)
	}
	return ctx
}

func (*racer) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}

// A new memory finds its content in the database, and the content is changed before the memory is read: the candidate
// is then a new memory.
func TestStageDuringAChangeOfTheSameContent(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	id := w.explicit("Tea is served hot.")
	race := &racer{statement: "SELECT id FROM memories", do: func() {
		w.modifyOne(schema.Patch{ID: id.String(), Content: ptr("Tea is served cold.")})
	}}
	racing, err := store.OpenTraced(ctx, w.url, race)
	require.NoError(t, err)
	t.Cleanup(racing.Close)
	ack, err := racing.Stage(ctx, w.input(schema.Candidate{Content: "Tea is served hot.",
		SourceKind: schema.SourceMemory}))
	require.NoError(t, err)
	require.Empty(t, ack.Deduped)
	require.Equal(t, "Tea is served hot.", w.get(uuid.MustParse(ack.MemoryIDs[0])).Content)
	require.Equal(t, "Tea is served cold.", w.get(id).Content)
	w.requireExactStats()
}
