package activities_test

import (
	"context"
	"slices"
	"sync"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/mneme/mneme/activities"
	"github.com/mneme/mneme/activities/indexing"
	"github.com/mneme/mneme/inference"
	"github.com/mneme/mneme/inference/rules"
	"github.com/mneme/mneme/memory/proposals"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/store/edit"
	"github.com/mneme/mneme/store/vector"
)

// heard is an embedder of a space with speakers. It records the texts that it gets.
type heard struct {
	inference.Embedder
	mu    sync.Mutex
	texts []string
}

func (e *heard) Embed(ctx context.Context, texts []string) ([][]float32, inference.Usage, error) {
	e.mu.Lock()
	e.texts = append(e.texts, texts...)
	e.mu.Unlock()
	return e.Embedder.Embed(ctx, texts)
}

// taken returns the recorded texts, sorted, and forgets them.
func (e *heard) taken() []string {
	e.mu.Lock()
	defer e.mu.Unlock()
	out := e.texts
	e.texts = nil
	slices.Sort(out)
	return slices.Compact(out)
}

// A memory is embedded after the name of its speaker, by every path. If the speaker changes, so does the vector.
func TestVectorsIncludeTheSpeaker(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	e := &heard{Embedder: inference.WithSpeakers(rules.New().Embedder)}
	ack, r := w.stageRequest(schema.IngestRequest{Principal: schema.Principal{Tenant: "t", Agent: "a"},
		Candidates: []schema.Candidate{
			{Content: "The blue house is finally ours.", Speaker: "Maya", SourceKind: schema.SourceMemory},
			{Content: "The red boat is in the harbour.", Speaker: "user", SourceKind: schema.SourceMemory},
		}})
	_, err := run[schema.ExtractCounts](w, (&activities.Extraction{Store: w.store,
		Extractor: rules.New().Extractor}).ExtractFacts, r)
	require.NoError(t, err)
	_, err = run[schema.DecideCounts](w, (&activities.Decision{Store: w.store, Decider: rules.New().Decider,
		Embedder: e}).DecideFacts, activities.DecideRequest{Range: r})
	require.NoError(t, err)
	_, err = run[schema.WriteCounts](w, (&activities.Writing{Store: w.store, Embedder: e}).WriteProposals,
		activities.WriteRequest{Range: r, MaxRounds: 3})
	require.NoError(t, err)
	said := e.taken()
	require.Contains(t, said, "Maya: The blue house is finally ours.")
	require.Contains(t, said, "The red boat is in the harbour.", "a role is not a name")
	require.NotContains(t, said, "The blue house is finally ours.")
	require.Equal(t, w.count("memories", "live"), w.count("memory_embeddings", "model = 'hash-v1+speaker'"))

	index := &indexing.Indexing{Store: w.store, Embedder: e, Index: vector.PGVector{Store: w.store}}
	_, err = w.drain(index)
	require.NoError(t, err)
	require.Empty(t, e.taken(), "every memory has its vector")

	id, lena := ack.MemoryIDs[0], "Lena"
	_, err = w.store.Modify(ctx, edit.ModifyInput{Now: w.now(), Policy: proposals.DefaultWritePolicy(),
		Operation: schema.OperationRef{Tenant: "t", ID: uuid.NewString(), WorkflowID: "modify/t/a/1"},
		Request: schema.ModifyRequest{Operation: schema.Operation{Principal: schema.Principal{Tenant: "t", Agent: "a"},
			Actor: "person:mia", Reason: "it was Lena"}, Patches: []schema.Patch{{ID: id, IfVersion: 1, Who: &lena}}}})
	require.NoError(t, err)
	require.Zero(t, w.count("memory_embeddings", "memory_id = '"+id+"'"), "the vector with the old name is gone")
	_, err = w.drain(index)
	require.NoError(t, err)
	require.Equal(t, []string{"Lena: The blue house is finally ours."}, e.taken())
	require.Equal(t, 1, w.count("memory_embeddings", "memory_id = '"+id+"'"))
}
