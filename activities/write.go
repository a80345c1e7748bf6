package activities

import (
	"context"
	"math"
	"time"

	"github.com/google/uuid"

	"github.com/mneme/mneme/activities/step"
	"github.com/mneme/mneme/inference"
	"github.com/mneme/mneme/memory/policy"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/store"
	"github.com/mneme/mneme/store/pg"
	"github.com/mneme/mneme/store/pipeline"
)

// Writing commits proposals.
type Writing struct {
	Store    *store.Store
	Embedder inference.Embedder
	Rules    func() *policy.Policy // classification rules in force; may be nil
	// Redecide decides on stale proposals at once, instead of in another round of the workflow. It is for deciders that
	// call no model, and may be nil.
	Redecide *Decision
	Now      func() time.Time
}

// WriteRequest is a range to write, with the number of times that a proposal is decided before it waits for a review.
type WriteRequest struct {
	Range     schema.Range `json:"range"`
	MaxRounds int          `json:"max_rounds"`
	// Last reports that the workflow will not write the range again: what is still stale then waits for a review.
	Last bool `json:"last,omitempty"`
	// Before counts what was written of the range before (DecideResult.Written). Then the result counts what all
	// attempts have written since. Without it, the result counts what this attempt has written.
	Before *pipeline.WrittenCounts `json:"before,omitempty"`
}

// WriteProposals embeds the source memories of a range that have no embedding and then commits the range's proposals
// in one transaction, or in several if one takes too long. If the embedder fails, only the embeddings are delayed:
// the outbox still requests them. Stale proposals are decided and written again here, if Redecide may, and otherwise
// left to the workflow. Here, MaxRounds limits only the rounds in a row that change no memory: each statement of a
// batch about one value is compared with the one before it, so that ten statements need ten rounds.
func (a *Writing) WriteProposals(ctx context.Context, in WriteRequest) (schema.WriteCounts, error) {
	pace, ctx := step.StartPace(ctx, 0, in.Range.To-in.Range.From)
	defer pace.Stop()
	sources, err := a.embedSources(ctx, in.Range)
	if err != nil {
		return schema.WriteCounts{}, step.Fail(err)
	}
	step.Advance(ctx)
	var counts schema.WriteCounts
	until := time.Now().Add(partialAfter)
	for idle := 0; ; { // rounds since the last one that changed a memory
		before, limit := counts.Changes(), in.MaxRounds
		if a.Redecide.atOnce() && idle < in.MaxRounds-1 && !in.Last {
			limit = math.MaxInt
		}
		err = pace.Through(ctx, in.Range, func(part schema.Range) error {
			written, err := a.Store.Write(ctx, pipeline.WriteInput{Range: part, MaxRounds: limit,
				Now: step.Now(a.Now), Sources: sources, Rules: step.RulesInForce(a.Rules)})
			if err == nil {
				written.Decided = counts.Decided
				counts = counts.Add(written)
				step.Advance(ctx)
			}
			return err
		})
		if err == nil { // includes proposals that an interrupted attempt has marked to be decided again
			counts.Stale, err = a.Store.StaleProposals(ctx, in.Range)
		}
		if err != nil {
			return counts, step.Fail(step.Stalled(ctx, err))
		}
		if idle++; counts.Changes() > before {
			idle = 0
		}
		if counts.Stale == 0 || !a.Redecide.atOnce() || idle >= in.MaxRounds || !time.Now().Before(until) {
			return a.ofAllAttempts(ctx, in, counts)
		}
		decided, err := a.Redecide.DecideFacts(ctx, DecideRequest{Range: in.Range})
		if ctx.Err() != nil {
			return counts, step.Fail(context.Cause(ctx))
		}
		if err != nil || decided.More { // the workflow's next round does the rest
			return a.ofAllAttempts(ctx, in, counts)
		}
		step.Advance(ctx)
		counts.Decided, sources = &decided.DecideCounts, nil
	}
}

// ofAllAttempts adds to the counts of this attempt what earlier attempts have written, whose results did not reach the
// workflow. A concurrent run of the same range counts, too.
func (a *Writing) ofAllAttempts(ctx context.Context, in WriteRequest, counts schema.WriteCounts) (schema.WriteCounts,
	error) {
	if in.Before == nil {
		return counts, nil
	}
	_, written, err := a.Store.DecideCounts(ctx, in.Range)
	if err != nil {
		return counts, step.Fail(step.Stalled(ctx, err))
	}
	all := written.Since(*in.Before)
	all.Added, all.Updated = max(all.Added, counts.Added), max(all.Updated, counts.Updated)
	all.Deleted, all.Skipped = max(all.Deleted, counts.Deleted), max(all.Skipped, counts.Skipped)
	all.Blocked, all.Stale, all.Decided = max(all.Blocked, counts.Blocked), counts.Stale, counts.Decided
	return all, nil
}

// embedSources fetches embeddings before the transaction, so that no lock is held during a call.
func (a *Writing) embedSources(ctx context.Context, r schema.Range) (map[uuid.UUID]pg.Embedding, error) {
	model := a.Embedder.Model()
	missing, err := a.Store.Unembedded(ctx, r, model)
	if err != nil {
		return nil, err
	}
	out := make(map[uuid.UUID]pg.Embedding, len(missing))
	var texts []string
	var asked []pipeline.Unembedded
	for _, m := range missing {
		if m.Vector != nil {
			out[m.MemoryID] = pg.Embedding{Model: model, Vector: m.Vector, Hash: m.Hash, Speaker: &m.Speaker}
			continue
		}
		texts, asked = append(texts, model.Passage(m.Speaker, m.Content)), append(asked, m)
	}
	if len(texts) == 0 {
		return out, nil
	}
	made, err := step.Embeddings(ctx, a.Embedder, texts...)
	if err != nil {
		return nil, err
	}
	for i, embedding := range made { // none when the embedder failed
		embedding.Hash, embedding.Speaker = asked[i].Hash, &asked[i].Speaker
		out[asked[i].MemoryID] = *embedding
	}
	return out, nil
}
