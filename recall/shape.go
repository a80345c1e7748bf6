package recall

import (
	"context"
	"time"

	"github.com/mneme/mneme/memory/layers"
	"github.com/mneme/mneme/memory/rank"
	"github.com/mneme/mneme/memory/timeexpr"
	"github.com/mneme/mneme/schema"
)

// shaped is the input and the result of a shaping stage. Each stage gets the result of the previous one, and the
// last result is that of shaping.
type shaped struct {
	evidence    []rank.Evidence
	solutions   []rank.Evidence    // procedures and plans, set apart by the solutions stage for selection
	selections  []schema.Selection // solutions that the selection stage chose
	relevance   relevance          // result of the relevance stage
	summaryTime time.Duration      // rest of the deadline of reranking; 0 if there was none
}

// relevance is how likely the candidates are to be about the question. The zero value means not computed.
type relevance struct {
	best    float64 // of the likeliest
	floor   float64 // lowest relevance of a known answer
	blend   float64 // the share of relevance in the ranking
	unknown bool    // none is likely enough
}

// stage is one step of shaping. Its input is authorised, and it reads content through the filter.
type stage struct {
	name string
	run  func(context.Context, shaped) (shaped, error)
}

// stages returns the steps in their order (document 002 Phase 4). They share one reader of texts.
func (q *query) stages(found collected, texts *reader) []stage {
	return []stage{
		{stageSolutions, func(_ context.Context, s shaped) (shaped, error) {
			s.evidence, s.solutions = q.keepSolutions(s.evidence)
			return s, nil
		}},
		{rank.StageNeighbourhood, onEvidence(q.neighbourhood)},
		{rank.StageSession, pure(func(e []rank.Evidence) []rank.Evidence { return rank.Sessions(e, found.weights) })},
		{rank.StageSpeaker, pure(func(e []rank.Evidence) []rank.Evidence { return rank.Speakers(e, q.req.Query) })},
		{rank.StageFirstHand, pure(func(e []rank.Evidence) []rank.Evidence { return rank.FirstHand(e, q.req.Query) })},
		{timeexpr.StageTime, pure(func(e []rank.Evidence) []rank.Evidence { return timeexpr.Timely(e, q.windows) })},
		{rank.StageConvolve, pure(func(e []rank.Evidence) []rank.Evidence { return rank.Convolve(e, found.trust) })},
		{rank.StagePrimary, pure(q.primary)},
		{rank.StageFacets, pure(rank.CoverFacets)},
		{rank.StageRehearse, onEvidence(q.rehearse)},
		{rank.StageRerank, func(ctx context.Context, s shaped) (_ shaped, err error) {
			s.evidence, s.summaryTime, err = q.rerank(ctx, s.evidence, texts)
			return s, err
		}},
		{rank.StageDampen, reading(q.dampen, texts)},
		{rank.StageCurrentness, reading(q.currentness, texts)},
		{rank.StageRelevance, func(ctx context.Context, s shaped) (_ shaped, err error) {
			s.evidence, s.relevance, err = q.relevance(ctx, s.evidence, texts)
			return s, err
		}},
		{rank.StageLatest, reading(q.latest, texts)},
		{"relevant", pure(rank.Relevant)},
		{rank.StageCollapse, pure(rank.CollapseDerived)},
		{rank.StageDuplicates, reading(q.duplicates, texts)},
		{layers.StageSelection, func(ctx context.Context, s shaped) (_ shaped, err error) {
			s.evidence, s.selections, err = q.selection(ctx, s.evidence, s.solutions)
			return s, err
		}},
	}
}

// onEvidence makes a stage of a step that uses only the evidence.
func onEvidence(
	step func(context.Context, []rank.Evidence) ([]rank.Evidence, error),
) func(context.Context, shaped) (shaped, error) {
	return func(ctx context.Context, s shaped) (_ shaped, err error) {
		s.evidence, err = step(ctx, s.evidence)
		return s, err
	}
}

// reading makes a stage of a step that reads texts.
func reading(
	step func(context.Context, []rank.Evidence, *reader) ([]rank.Evidence, error),
	texts *reader,
) func(context.Context, shaped) (shaped, error) {
	return func(ctx context.Context, s shaped) (_ shaped, err error) {
		s.evidence, err = step(ctx, s.evidence, texts)
		return s, err
	}
}

// pure makes a stage of a rule that does no I/O.
func pure(rule func([]rank.Evidence) []rank.Evidence) func(context.Context, shaped) (shaped, error) {
	return func(_ context.Context, s shaped) (shaped, error) {
		s.evidence = rule(s.evidence)
		return s, nil
	}
}

// shape reorders the authorised candidates and removes some. No failure is fatal: a stage that fails is named in
// meta.degraded, and the next stage gets its input unchanged.
func (q *query) shape(ctx context.Context, found collected) shaped {
	defer q.timed("shape")()
	s := shaped{evidence: found.evidence}
	for _, stage := range q.stages(found, &reader{query: q}) {
		if len(s.evidence) == 0 && len(s.solutions) == 0 {
			break // no stage adds results to an empty list
		}
		if q.off(stage.name) {
			continue
		}
		done := q.timed(stage.name)
		next, err := stage.run(ctx, s)
		done()
		if err != nil {
			q.degrade(stage.name, err)
			next.evidence = s.evidence
		}
		s = next
	}
	return s
}
