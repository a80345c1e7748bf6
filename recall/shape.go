package recall

import (
	"context"

	"github.com/mneme/mneme/memory"
)

// stage is one step of shaping. What it gets is authorised; what it returns goes on to the next. Content
// that it needs it reads through the filter.
type stage struct {
	name string
	run  func(context.Context, []memory.Evidence) ([]memory.Evidence, error)
}

// stages are the steps in their order (document 002 Phase 4).
func (q *query) stages() []stage {
	return []stage{
		{stageSolutions, q.keepSolutions},
		{memory.StageNeighbourhood, q.neighbourhood},
		{memory.StageSession, q.session},
		{memory.StageSpeaker, q.speaker},
		{memory.StageTime, q.timely},
		{memory.StageConvolve, q.convolve},
		{memory.StagePrimary, q.primary},
		{memory.StageFacets, pure(memory.CoverFacets)},
		{memory.StageRehearse, q.rehearse},
		{memory.StageRerank, q.rerank},
		{memory.StageDampen, q.dampen},
		{memory.StageHubs, q.hubs},
		{memory.StageDecisions, pure(memory.BoostDecisions)},
		{memory.StageDated, q.dated},
		{memory.StageCurrentness, q.currentness},
		{memory.StageRelevance, q.relevance},
		{memory.StageLatest, q.latest},
		{"relevant", pure(memory.Relevant)},
		{memory.StageCollapse, pure(memory.CollapseDerived)},
		{memory.StageDuplicates, q.duplicates},
		{memory.StageSelection, q.selection},
	}
}

// pure makes a stage's step of a rule that needs nothing else.
func pure(rule func([]memory.Evidence) []memory.Evidence) func(context.Context, []memory.Evidence) ([]memory.Evidence, error) {
	return func(_ context.Context, evidence []memory.Evidence) ([]memory.Evidence, error) {
		return rule(evidence), nil
	}
}

// shape reorders and thins what is authorised. No stage is fatal: one that fails is named in
// meta.degraded, and what it got goes on.
func (q *query) shape(ctx context.Context, evidence []memory.Evidence) []memory.Evidence {
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
