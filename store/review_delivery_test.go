package store_test

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/store/pg"
	"github.com/mneme/mneme/store/pipeline"
)

func TestConcurrentReviewersDecideOnce(t *testing.T) {
	t.Parallel()
	w := reviewWorld(t)
	target := w.memory("the sky is blue")
	_, item := w.proposed("about the sky",
		idea{fact: fact("the sky is rather green"), action: schema.ActionUpdate, target: target})
	results := make([]schema.ReviewResult, 8)
	errs := make([]error, 8)
	var wg sync.WaitGroup
	for i := range results {
		in := w.decision(item, []schema.Decision{schema.DecisionApprove, schema.DecisionReject}[i%2])
		in.By = fmt.Sprintf("operator:%d", i)
		wg.Go(func() { results[i], errs[i] = w.DecideProposal(ctx, w.decisionKey(), in) })
	}
	wg.Wait()
	first, decided := -1, 0
	for i, r := range results {
		require.NoError(t, errs[i])
		switch r.Status {
		case schema.ReviewApplied, schema.ReviewRejected:
			require.Equal(t, -1, first, "two decided")
			first = i
		case schema.ReviewDecided:
			decided++
		}
	}
	require.Equal(t, 7, decided)
	for i, r := range results {
		if i != first {
			require.Equal(t, fmt.Sprintf("%s by operator:%d", r.State, first), r.Why)
		}
	}
	require.Equal(t, 1, w.count("memory_history", "metadata->>'reviewed' = 'true' AND event = 'none'"))
}

// Reviewers of one claim and the pipeline run concurrently: one fact is active at the end, and no call fails.
func TestConcurrentApprovalsOfOneClaim(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	_, r := w.source("first talk",
		idea{fact: lives("Alice lives in Paris", "Alice", "Paris"), action: schema.ActionAdd})
	w.write(r)
	var items []schema.ReviewItem
	for i := range 8 {
		_, item := w.proposed(fmt.Sprintf("talk %d", i),
			idea{fact: lives(fmt.Sprintf("Alice lives in town %d", i), "Alice", fmt.Sprint("town ", i)),
				action: schema.ActionAdd})
		items = append(items, item)
	}
	errs := make([]error, len(items))
	results := make([]schema.ReviewResult, len(items))
	var wg sync.WaitGroup
	for i, item := range items {
		wg.Go(func() {
			results[i], errs[i] = w.DecideProposal(ctx, w.decisionKey(), w.decision(item, schema.DecisionApprove))
		})
	}
	wg.Wait()
	for i := range items {
		require.NoError(t, errs[i])
		require.Equal(t, schema.ReviewApplied, results[i].Status)
		require.Len(t, results[i].Superseded, 1)
	}
	require.Equal(t, 1, w.count("memories", "functional AND live AND status = 'active'"))
	w.requireExactStats()
}

func TestADecisionIsDeliveredOnce(t *testing.T) {
	t.Parallel()
	w := reviewWorld(t)
	target := w.memory("the sky is blue")
	_, item := w.proposed("about the sky",
		idea{fact: fact("the sky is rather green"), action: schema.ActionUpdate, target: target})
	op := w.decisionKey()
	first, err := w.DecideProposal(ctx, op, w.decision(item, schema.DecisionApprove))
	require.NoError(t, err)
	before := w.snapshot()
	again, err := w.DecideProposal(ctx, op, pipeline.DecideInput{Now: w.now.Add(time.Hour)})
	require.NoError(t, err)
	require.Equal(t, first, again)
	require.Equal(t, before, w.snapshot())
}

func TestADecisionIsAtomic(t *testing.T) {
	t.Parallel()
	w := reviewWorld(t)
	_, r := w.source("first talk",
		idea{fact: lives("Alice lives in Paris", "Alice", "Paris"), action: schema.ActionAdd})
	w.write(r)
	other := w.memory("critical: Alice was seen in Rome, XyzzyCanary")
	_, item := w.proposed("second talk",
		idea{fact: lives("Alice dwells in Rome, XyzzyCanary", "Alice", "Rome"), action: schema.ActionUpdate,
			target: other})
	for _, table := range []string{"memories", "memory_versions", "memory_links", "memory_embeddings", "entity_claims",
		"memory_history", "index_outbox", "proposals",
		"operations", "lexeme_stats", "corpus_stats"} {
		for _, decision := range []schema.Decision{schema.DecisionApprove, schema.DecisionReject} {
			if decision == schema.DecisionReject && table != "memory_history" && table != "proposals" &&
				table != "operations" {
				continue
			}
			in := w.decision(item, decision)
			in.Embedding = &pg.Embedding{Model: hash, Vector: embed(t, "x")}
			before := w.snapshot()
			w.breaking(table, func() {
				_, err := w.DecideProposal(ctx, w.decisionKey(), in)
				require.Error(t, err, table)
				require.NotContains(t, err.Error(), "XyzzyCanary", "errors never quote content")
			})
			require.Equal(t, before, w.snapshot(), table)
		}
	}
	require.Equal(t, schema.ReviewApplied, w.settle(item, schema.DecisionApprove).Status)
}
