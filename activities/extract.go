package activities

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"go.temporal.io/sdk/activity"

	"github.com/mneme/mneme/inference"
	"github.com/mneme/mneme/inference/rules"
	"github.com/mneme/mneme/memory"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/store"
)

// Extraction finds what is worth keeping in staged candidates.
type Extraction struct {
	Store       *store.Store
	Extractor   inference.Extractor
	Concurrency int // model calls at once; 1 when not set
	Now         func() time.Time
}

// ExtractResult counts what a range yielded, over all attempts.
type ExtractResult struct {
	Candidates int `json:"candidates"`
	Facts      int `json:"facts"`
	Triples    int `json:"triples"`
	Warnings   int `json:"warnings"`
	Dead       int `json:"dead"`
}

// Add returns the sum of two results.
func (r ExtractResult) Add(o ExtractResult) ExtractResult {
	return ExtractResult{Candidates: r.Candidates + o.Candidates, Facts: r.Facts + o.Facts, Triples: r.Triples + o.Triples,
		Warnings: r.Warnings + o.Warnings, Dead: r.Dead + o.Dead}
}

// ExtractFacts runs the extractor over the candidates of a range that have no extraction yet, and
// stores each result as it comes. A candidate that fails for good goes to the dead jobs and the rest
// go on; when some may be tried again, the activity fails with ErrTypeItemsPending and its retry
// takes up only those.
func (a *Extraction) ExtractFacts(ctx context.Context, r Range) (ExtractResult, error) {
	sr, err := r.store()
	if err != nil {
		return ExtractResult{}, err
	}
	defer beat(ctx)()
	todo, err := a.Store.LeaseExtract(ctx, sr, now(a.Now))
	if err != nil {
		return ExtractResult{}, fail(err)
	}
	probe := func(ctx context.Context) error {
		_, _, err := a.Extractor.Extract(
			ctx,
			inference.Source{
				Content:    "Nothing happened.",
				Kind:       schema.SourceObservation,
				Category:   schema.CategoryFact,
				OccurredAt: now(a.Now),
			},
		)
		return err
	}
	out := newOutcomes(a.Store, r.Tenant, a.Now, probe, func(ctx context.Context, done []store.Extracted) error {
		return a.Store.SaveExtractions(ctx, r.Tenant, done, now(a.Now))
	})
	err = each(ctx, todo, a.Concurrency, func(ctx context.Context, e store.Extractable) error {
		text, truncated := memory.TruncateForExtraction(e.Source.Content)
		e.Source.Content = text
		extraction, usage, err := a.Extractor.Extract(ctx, e.Source)
		if err != nil {
			return out.failed(ctx, e.CandidateID, "extract", err, usage)
		}
		out.answered()
		extraction = memory.CheckExtraction(extraction)
		if usage != (inference.Usage{}) { // a model was asked
			if extraction, err = believed(ctx, extraction, e.Source); err != nil {
				return err
			}
		}
		for i := range extraction.Facts {
			extraction.Facts[i].Speaker, extraction.Facts[i].SaidAt = e.Source.Speaker, e.Source.OccurredAt
		}
		if truncated {
			extraction.Warnings = append(extraction.Warnings, "input: cut to 12000 characters")
		}
		return out.done(ctx, store.Extracted{CandidateID: e.CandidateID, Extraction: extraction, Usage: usage})
	})
	if err != nil && !errors.Is(err, errAway) {
		return ExtractResult{}, fail(err)
	}
	if err := out.close(ctx); err != nil {
		return ExtractResult{}, err
	}
	totals, err := a.Store.ExtractTotals(ctx, sr)
	return ExtractResult(totals), fail(err)
}

// believed is what is kept of a model's extraction. Where nothing is left of an answer that was not as it should
// be, the rules read the source: nothing that was said is lost because a model answered badly.
func believed(ctx context.Context, e memory.Extraction, src inference.Source) (memory.Extraction, error) {
	e = memory.VouchRetractions(e, src.Content)
	if len(e.Facts) > 0 || len(e.Warnings) == 0 {
		return e, nil
	}
	byRules, _, err := rules.Extractor{}.Extract(ctx, src)
	if err != nil {
		return memory.Extraction{}, err
	}
	byRules = memory.CheckExtraction(byRules)
	byRules.Warnings = append(
		append(slices.Clone(e.Warnings), byRules.Warnings...),
		"answer: no fact of the model's could be used; the rules read the source",
	)
	return byRules, nil
}

// each runs fn over items with bounded concurrency and reports progress by heartbeat. The first
// error stops it; fn decides what is an error and what is only a failed item.
func each[T any](ctx context.Context, items []T, concurrency int, fn func(context.Context, T) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	if activity.IsActivity(ctx) {
		ctx = inference.WithWaiting(ctx, func() { recordHeartbeat(ctx) })
	}
	work := make(chan T)
	var wg sync.WaitGroup
	for range max(1, min(concurrency, len(items))) {
		wg.Go(func() {
			for item := range work {
				if err := fn(ctx, item); err != nil {
					cancel(err)
					return
				}
			}
		})
	}
	for i, item := range items {
		select {
		case work <- item:
			if activity.IsActivity(ctx) {
				activity.RecordHeartbeat(ctx, i)
			}
		case <-ctx.Done():
		}
		if ctx.Err() != nil {
			break
		}
	}
	close(work)
	wg.Wait()
	return context.Cause(ctx)
}
