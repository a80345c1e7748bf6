package recall

import (
	"context"

	"github.com/mneme/mneme/memory/layers"
	"github.com/mneme/mneme/memory/rank"
	"github.com/mneme/mneme/memory/timeexpr"
)

// stage is one step of shaping. What it gets is authorised; what it returns goes on to the next. Content
// that it needs it reads through the filter.
type stage struct {
	name string
	run  func(context.Context, []rank.Evidence) ([]rank.Evidence, error)
}

// stages are the steps in their order (document 002 Phase 4).
func (q *query) stages() []stage {
	return []stage{
		{stageSolutions, q.keepSolutions},
		{rank.StageNeighbourhood, q.neighbourhood},
		{rank.StageSession, q.session},
		{rank.StageSpeaker, q.speaker},
		{timeexpr.StageTime, q.timely},
		{rank.StageConvolve, q.convolve},
		{rank.StagePrimary, q.primary},
		{rank.StageFacets, pure(rank.CoverFacets)},
		{rank.StageRehearse, q.rehearse},
		{rank.StageRerank, q.rerank},
		{rank.StageDampen, q.dampen},
		{rank.StageCurrentness, q.currentness},
		{rank.StageRelevance, q.relevance},
		{rank.StageLatest, q.latest},
		{"relevant", pure(rank.Relevant)},
		{rank.StageCollapse, pure(rank.CollapseDerived)},
		{rank.StageDuplicates, q.duplicates},
		{layers.StageSelection, q.selection},
	}
}

// pure makes a stage's step of a rule that needs nothing else.
func pure(rule func([]rank.Evidence) []rank.Evidence) func(context.Context, []rank.Evidence) ([]rank.Evidence, error) {
	return func(_ context.Context, evidence []rank.Evidence) ([]rank.Evidence, error) {
		return rule(evidence), nil
	}
}

// shape reorders and thins what is authorised. No stage is fatal: one that fails is named in
// meta.degraded, and what it got goes on.
func (q *query) shape(ctx context.Context, evidence []rank.Evidence) []rank.Evidence {
	defer q.timed("shape")()
	for _, s := range q.stages() {
		if len(evidence) == 0 && len(q.solutions) == 0 {
			break // no stage makes something of nothing
		}
		if q.off(s.name) {
			continue
		}
		done := q.timed(s.name)
		shaped, err := s.run(ctx, evidence)
		done()
		if err != nil {
			q.degrade(s.name, err)
			continue
		}
		evidence = shaped
	}
	return evidence
}
