package store_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/mneme/mneme/internal/testkit"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/store/edit"
	"github.com/mneme/mneme/store/pg"
)

// The same operation delivered again returns the first result, even at the same time.
func TestPutIsDeliveredOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	in := w.putInput(likes(t, "", "go", always), task(t, uuid.NewString(), "planning", "x"),
		likes(t, "", "rust", always))
	require.NoError(t, w.Accept(ctx, in.Operation, "put", in.Request, w.now))
	var request schema.PutRequest
	waiting, err := w.Accepted(ctx, in.Operation, &request)
	require.NoError(t, err)
	require.True(t, waiting)
	in.Request = request
	first, err := w.Put(ctx, in)
	require.NoError(t, err)
	require.Equal(t, []schema.PutStatus{schema.PutCreated, schema.PutCreated, schema.PutConflict},
		statuses(first.Items))
	before := w.snapshot()
	for range 3 {
		again, err := w.Put(ctx, in)
		require.NoError(t, err)
		require.Equal(t, first, again)
	}
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			again, err := w.Put(ctx, in)
			if err != nil || len(again.Items) != len(first.Items) || again.Items[0] != first.Items[0] {
				t.Errorf("another result: %v", err)
			}
		})
	}
	wg.Wait()
	require.Equal(t, before, w.snapshot())
	require.Equal(t, 0, w.count("staged_requests", "true"))

	in.Operation.ID = "swept"
	in.Request = schema.PutRequest{}
	_, err = w.Put(ctx, in)
	require.ErrorIs(t, err, pg.ErrNotFound)
}

// Eight concurrent first deliveries have one effect.
func TestConcurrentFirstDeliveriesOfOnePut(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	in := w.putInput(likes(t, "", "go", always))
	var wg sync.WaitGroup
	ids := make([]string, 8)
	for i := range ids {
		wg.Go(func() {
			result, err := w.Put(ctx, in)
			if err != nil {
				t.Error(err)
				return
			}
			ids[i] = result.Items[0].ID
		})
	}
	wg.Wait()
	require.Len(t, slices.Compact(ids), 1)
	require.Equal(t, 1, w.count("memories", "true"))
	require.Equal(t, 1, w.count("memory_history", "true"))
}

// Two runs carry the same operation under two keys, as during a deployment that changes how ids are made. One carries
// it out, the other returns the same result, and no body is left.
func TestAPutIsDeliveredOnceUnderTwoKeys(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	long := w.putInput(likes(t, "", "go", always))
	short := long
	long.Operation.Others, short.Operation.ID, short.Operation.Others = []string{"short"}, "short", []string{long.Operation.ID}
	other := w.putInput(likes(t, "", "rust", always)).Request
	var invalid *schema.ValidationError
	for _, in := range []edit.PutInput{long, short} {
		require.NoError(t, w.Accept(ctx, in.Operation, "put", in.Request, w.now))
		require.ErrorAs(t, w.Accept(ctx, in.Operation, "put", other, w.now), &invalid)
	}
	require.Equal(t, 2, w.count("staged_requests", "true"), "each run finds its own body")
	results := make([]schema.PutResult, 2)
	var wg sync.WaitGroup
	for i, in := range []edit.PutInput{long, short} {
		wg.Go(func() {
			var err error
			if results[i], err = w.Put(ctx, in); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	require.Equal(t, results[0], results[1])
	require.Equal(t, 1, w.count("memories", "true"))
	require.Equal(t, 1, w.count("operations", "true"))
	require.Zero(t, w.count("staged_requests", "true"))
	require.NoError(t, w.Accept(ctx, short.Operation, "put", short.Request, w.now))
	require.Zero(t, w.count("staged_requests", "true"), "the bodies are removed")
	require.ErrorAs(t, w.Accept(ctx, short.Operation, "put", other, w.now), &invalid)
}

// If any statement of a put fails, no part of it remains.
func TestPutIsAllOrNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	working, ep := uuid.NewString(), uuid.NewString()
	w.putAll(task(t, working, "planning", "before"), episode(t, ep, "one"))
	source := w.created(episode(t, "source", "zero"))
	artifact, err := w.PutArtifact(ctx, w.p, strings.NewReader("a log"), "text/plain", "", w.now)
	require.NoError(t, err)
	fresh := likes(t, "", "go", always)
	fresh.Relations = []schema.Relation{{Predicate: "derived_from", TargetID: source.String(), Weight: 1}}
	fresh.Provenance.Sources = []schema.Ref{{Kind: "artifact", Ref: artifact.Address}}
	done := task(t, working, "done", "after")
	in := w.putInput(fresh, done, episode(t, ep, "one", "two"))
	vector := embed(t, "go")
	in.Embeddings = []*pg.Embedding{{Model: hash, Vector: vector}, nil, nil}
	before := w.snapshot()
	for _, table := range []string{"memories", "memory_versions", "memory_links", "memory_provenance",
		"memory_artifacts", "memory_history", "memory_embeddings",
		"entity_claims", "index_outbox", "lexeme_stats", "corpus_stats", "operations"} {
		w.breaking(table, func() {
			_, err := w.Put(ctx, in)
			require.Error(t, err, table)
		})
		require.Equal(t, before, w.snapshot(), table)
	}
	result, err := w.Put(ctx, in)
	require.NoError(t, err)
	require.Equal(t, []schema.PutStatus{schema.PutCreated, schema.PutDiscarded, schema.PutUpdated},
		statuses(result.Items))
	require.Equal(t, 1, w.count("memory_embeddings", "true"))
	require.Equal(t, 1, w.count("memory_artifacts", "true"))
	testkit.CheckInvariants(t, w.owner)
}

// Many concurrent writers put the same claim from projects that do not wait for each other. One of them succeeds, and
// the others are told the memory that has the claim.
func TestConcurrentPutsOfOneClaim(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var wg sync.WaitGroup
	items := make([][]schema.PutItem, 8)
	w.vis = schema.VisibilityGlobal
	for i := range items {
		w.p.Project = fmt.Sprintf("project %d", i)
		in := w.putInput(likes(t, "", fmt.Sprintf("language %d", i), always),
			likes(t, "", fmt.Sprintf("language %d", i),
				fmt.Sprintf(`{"mode": "timeboxed", "start": "2026-01-%02dT00:00:00Z", "end": "2026-03-01T00:00:00Z"}`,
					i+1)))
		if i%2 == 1 {
			slices.Reverse(in.Request.Records)
		}
		wg.Go(func() {
			result, err := w.Put(ctx, in)
			if err != nil {
				t.Error(err)
				return
			}
			items[i] = result.Items
		})
	}
	wg.Wait()
	created, refused := map[string]int{}, map[string]int{}
	for _, list := range items {
		for _, item := range list {
			switch item.Status {
			case schema.PutCreated:
				created[item.ID]++
			case schema.PutConflict:
				refused[item.ID]++
			default:
				t.Errorf("status %s", item.Status)
			}
		}
	}
	require.Len(t, created, 2, "one that is always valid and one with a window")
	require.Equal(t, 14, refused[keysOf(created)[0]]+refused[keysOf(created)[1]])
	require.Equal(t, 2, w.count("memories", "true"))
	testkit.CheckInvariants(t, w.owner)
}

func keysOf(m map[string]int) []string {
	out := []string{}
	for k := range m {
		out = append(out, k)
	}
	return out
}

// An ingest does not wait for the lock of the scope: a memory that it stages between the read and the insert is found
// at the insert.
func TestPutDuringAnIngestOfTheSameContent(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	texts := []string{}
	for i := range 30 {
		texts = append(texts, fmt.Sprintf("Thing number %d is noted.", i))
	}
	records := []schema.MemoryRecord{}
	for _, text := range texts {
		m := episode(t, "", "x")
		m.Content = text
		records = append(records, m)
	}
	for i := range records[1:] { // each refers to the preceding record, whether that is written now or was stored
		records[i+1].Relations = []schema.Relation{{Predicate: "supports", TargetID: fmt.Sprintf("n%d", i), Weight: 1}}
	}
	for i := range records {
		records[i].ExternalID = fmt.Sprintf("n%d", i)
	}
	in := w.putInput(records...)
	stage := w.input(say(texts...)...)
	var wg sync.WaitGroup
	wg.Go(func() {
		if _, err := w.Stage(ctx, stage); err != nil {
			t.Error(err)
		}
	})
	wg.Go(func() {
		if _, err := w.Put(ctx, in); err != nil {
			t.Error(err)
		}
	})
	wg.Wait()
	require.Equal(t, len(texts), w.count("memories", "live"))
	testkit.CheckInvariants(t, w.owner)
}
