package activities

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/mneme/mneme/activities/step"
	"github.com/mneme/mneme/inference"
	"github.com/mneme/mneme/inference/rules"
	"github.com/mneme/mneme/memory"
	"github.com/mneme/mneme/memory/intake"
	"github.com/mneme/mneme/memory/normalize"
	"github.com/mneme/mneme/memory/proposals"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/store"
	"github.com/mneme/mneme/store/pipeline"
)

// Extraction finds what is worth keeping in staged candidates.
type Extraction struct {
	Store       *store.Store
	Extractor   inference.Extractor
	Concurrency int  // model calls at once; 1 when not set
	Off         bool // nothing is extracted from candidates: they are only stored
	Now         func() time.Time
}

// notExtracted is the warning on a candidate that was stored while extraction was off.
const notExtracted = "extraction: is off; the source is stored and nothing was extracted from it"

// ExtractFacts runs the extractor over the candidates of a range that have no extraction yet, and stores results as
// they arrive. A candidate that fails permanently becomes a dead job and the others continue. If some may be retried,
// the activity fails with ErrTypeItemsPending and its retry runs only those.
func (a *Extraction) ExtractFacts(ctx context.Context, r schema.Range) (schema.ExtractCounts, error) {
	ctx, stop := step.Heartbeat(ctx)
	defer stop()
	todo, err := a.Store.LeaseExtract(ctx, r, step.Now(a.Now))
	if err != nil {
		return schema.ExtractCounts{}, step.Fail(err)
	}
	extractor := a.Extractor
	if a.Off {
		extractor = noExtractor{}
	}
	probe := func(ctx context.Context) error {
		_, _, err := a.Extractor.Extract(
			ctx,
			inference.Source{
				Content:    "Nothing happened.",
				Kind:       schema.SourceObservation,
				Category:   schema.CategoryFact,
				OccurredAt: step.Now(a.Now),
			},
		)
		return err
	}
	out := newOutcomes(a.Store, r.Tenant, a.Now, probe, func(ctx context.Context, done []pipeline.Extracted) error {
		return a.Store.SaveExtractions(ctx, r.Tenant, done, step.Now(a.Now))
	})
	more, err := each(ctx, todo, a.Concurrency, time.Now().Add(partialAfter),
		func(ctx context.Context, e pipeline.Extractable) error {
			text, truncated := normalize.TruncateForExtraction(e.Source.Content)
			e.Source.Content = text
			extraction, usage, err := extractor.Extract(ctx, e.Source)
			if err != nil {
				return out.failed(ctx, e.CandidateID, schema.PhaseExtract, err, usage)
			}
			out.answered()
			extraction = intake.CheckExtraction(extraction)
			if usage != (inference.Usage{}) { // a model was asked
				if extraction, err = usableExtraction(ctx, extraction, e.Source); err != nil {
					return err
				}
			}
			for i := range extraction.Facts {
				extraction.Facts[i].Speaker, extraction.Facts[i].SaidAt = e.Source.Speaker, e.Source.OccurredAt
			}
			if truncated {
				extraction.Warnings = append(extraction.Warnings,
					fmt.Sprintf("input: cut to %d characters", normalize.MaxExtractInput))
			}
			return out.done(ctx, pipeline.Extracted{CandidateID: e.CandidateID, Extraction: extraction, Usage: usage})
		})
	if err != nil && !errors.Is(err, errAway) {
		return schema.ExtractCounts{}, step.Fail(step.Stalled(ctx, err))
	}
	if err := out.close(ctx); err != nil {
		return schema.ExtractCounts{}, step.Stalled(ctx, err)
	}
	counts, err := a.Store.ExtractCounts(ctx, r)
	counts.More = more
	return counts, step.Fail(step.Stalled(ctx, err))
}

// noExtractor extracts nothing and adds a warning.
type noExtractor struct{}

func (noExtractor) Extract(context.Context, inference.Source) (memory.Extraction, inference.Usage, error) {
	return memory.Extraction{Warnings: []string{notExtracted}}, inference.Usage{}, nil
}

// usableExtraction returns the usable part of a model's extraction. If an answer had mistakes and nothing of it can be
// used, the rules read the source instead.
func usableExtraction(ctx context.Context, e memory.Extraction, src inference.Source) (memory.Extraction, error) {
	e = proposals.VouchRetractions(e, src.Content)
	if len(e.Facts) > 0 || len(e.Warnings) == 0 {
		return e, nil
	}
	byRules, _, err := rules.Extractor{}.Extract(ctx, src)
	if err != nil {
		return memory.Extraction{}, err
	}
	byRules = intake.CheckExtraction(byRules)
	byRules.Warnings = append(
		append(slices.Clone(e.Warnings), byRules.Warnings...),
		"answer: no fact of the model's could be used; the rules read the source",
	)
	return byRules, nil
}

// partialAfter is how long one attempt over a range works before it returns its results and leaves the rest to
// another attempt. It is far below the timeout of five minutes, so that the last item may take long.
var partialAfter = 2 * time.Minute

// each runs fn over items with bounded concurrency. After the given time it begins no further item, except the first.
// It reports whether items were skipped. A finished item is progress. The first error stops it; fn decides what is an
// error and what is only a failed item.
func each[T any](
	ctx context.Context,
	items []T,
	concurrency int,
	until time.Time,
	fn func(context.Context, T) error,
) (more bool, _ error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	work := make(chan T)
	var wg sync.WaitGroup
	for range max(1, min(concurrency, len(items))) {
		wg.Go(func() {
			for item := range work {
				if err := fn(ctx, item); err != nil {
					cancel(err)
					return
				}
				step.Advance(ctx)
			}
		})
	}
	for i, item := range items {
		if more = i > 0 && !time.Now().Before(until); more {
			break
		}
		select {
		case work <- item:
		case <-ctx.Done():
		}
		if ctx.Err() != nil {
			break
		}
	}
	close(work)
	wg.Wait()
	return more, context.Cause(ctx)
}
