package recall

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/mneme/mneme/memory/layers"
	"github.com/mneme/mneme/memory/rank"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/store/pg"
	"github.com/mneme/mneme/store/search"
)

// Limits of the shaping stages. A stage that misses its deadline is skipped and named in meta.degraded.
const (
	readDeadline = 500 * time.Millisecond // for a stage that reads from Postgres

	// Stages that read more than features use only the best candidates, three for each requested result, but at least
	// those that are compared with the question. So the first result does not depend on the limit.
	shapedPerResult = 3
	minShaped       = rank.MaxLatest
)

// offByDefault holds the stages that did not help on the evaluation conversations, or cost more than they gained;
// docs/recall.md has the figures. A request or a deployment switches them on by name in its field With.
var offByDefault = map[string]bool{
	rank.StageConvolve: true, rank.StageFacets: true, rank.StageRehearse: true, rank.StageDampen: true,
}

// optional reports whether a stage is off by default and was not switched on.
func (q *query) optional(name string) bool {
	return offByDefault[name] && !slices.Contains(q.With, name) && !slices.Contains(q.req.With, name)
}

// Channels returns the names of the channels.
func Channels() []string {
	var out []string
	for _, c := range (&query{Recaller: &Recaller{}}).channels() {
		out = append(out, c.name)
	}
	return out
}

// Stages returns the names of the shaping stages in their order, including those that are off by default.
func Stages() []string {
	var out []string
	for _, s := range (&query{Recaller: &Recaller{}}).stages(collected{}, nil) {
		out = append(out, s.name)
	}
	return out
}

// switches holds the names that a request may switch off or on.
var switches = sync.OnceValue(func() map[string]bool {
	out := map[string]bool{
		layers.ChannelSignals:  true,
		rank.StageExpand:       true,
		stageRedact:            true,
		stageExpand:            true,
		stageSources:           true,
		stageRationale:         true,
		stageTranscripts:       true,
		stageArtifacts:         true,
		stageCards:             true,
		stageSessions:          true,
		stageSummary:           true,
		stageRescue:            true,
		stageRescueTranscripts: true,
		stageRescueArtifacts:   true,
	}
	for _, name := range slices.Concat(Channels(), Stages()) {
		out[name] = true
	}
	return out
})

// IsSwitch reports whether name is that of a channel or stage. With and Without accept no other names.
func IsSwitch(name string) bool { return switches()[name] }

// Switches lists the names of all channels and stages, sorted.
func Switches() []string { return slices.Sorted(maps.Keys(switches())) }

// checkSwitches returns an error for names that switch nothing, so that a misspelt name is noticed.
func checkSwitches(req schema.RecallRequest) error {
	var wrong schema.ValidationError
	check := func(field string, names []string) {
		for i, name := range names {
			if !IsSwitch(name) {
				wrong.Fields = append(
					wrong.Fields,
					schema.FieldError{Field: fmt.Sprintf("%s[%d]", field, i), Problem: notASwitch()},
				)
			}
		}
	}
	check("without", req.Without)
	check("with", req.With)
	if len(wrong.Fields) == 0 {
		return nil
	}
	return &wrong
}

// notASwitch returns the error text for a name that is not in Switches.
func notASwitch() string {
	return "not a channel or stage; choose from " + strings.Join(Switches(), ", ")
}

// OffByDefault reports whether a stage runs only on request.
func OffByDefault(name string) bool { return offByDefault[name] }

// best returns the candidates for stages that read more than features.
func (q *query) best(evidence []rank.Evidence) []rank.Evidence {
	return evidence[:min(len(evidence), max(minShaped, shapedPerResult*q.limit))]
}

// superseded reports whether superseded memories are wanted, because the request asks for them or the question is
// about the past.
func (q *query) superseded() bool { return q.req.Superseded || q.asked.Past }

// readable returns the filter for reading by id. It admits superseded memories if they are wanted.
func (q *query) readable() pg.Filter {
	f := q.filter
	f.Superseded = q.superseded()
	return f
}

func (q *query) rehearse(ctx context.Context, evidence []rank.Evidence) ([]rank.Evidence, error) {
	ctx, cancel := q.within(ctx, readDeadline)
	defer cancel()
	accesses, err := q.Store.Accesses(ctx, q.readable(), idsOf(evidence))
	if err != nil {
		return nil, err
	}
	evidence = slices.Clone(evidence)
	for i := range evidence {
		a := accesses[evidence[i].ID]
		evidence[i].Accesses, evidence[i].LastAccessed = a.Times, a.Last
	}
	return rank.Rehearse(evidence, q.now()), nil
}

// rerank scores the best candidates with the reranker, which sees the query and contents that passed the filter. It
// returns the evidence and the time left until the reranker's deadline. If the reranker fails, it returns only the time
// left and the error.
func (q *query) rerank(
	ctx context.Context,
	evidence []rank.Evidence,
	reader *reader,
) (_ []rank.Evidence, left time.Duration, err error) {
	if q.Reranking.Reranker == nil || len(evidence) == 0 {
		return evidence, 0, nil
	}
	top, deadline := q.Reranking.Top, q.Reranking.Deadline
	if top <= 0 {
		top = rank.DefaultRerankTop
	}
	if deadline <= 0 {
		deadline = rank.DefaultRerankDeadline
	}
	ctx, cancel := context.WithTimeout(ctx, deadline)
	defer cancel()
	read := evidence[:min(len(evidence), top)]
	contents, err := reader.contents(ctx, read)
	if err != nil {
		return nil, 0, err
	}
	var ids []uuid.UUID
	var texts []string
	for _, e := range read {
		if text := contents[e.ID]; text != "" {
			ids, texts = append(ids, e.ID), append(texts, text)
		}
	}
	if len(ids) == 0 {
		return evidence, 0, nil
	}
	asked := q.now()
	given, err := unlessDone(ctx, func() (map[int]float64, error) {
		scores, _, err := q.Reranking.Reranker.Rerank(ctx, q.req.Query, texts)
		return scores, err
	})
	left = deadline - q.now().Sub(asked)
	if err != nil {
		return nil, left, err
	}
	scores := make(map[uuid.UUID]float64, len(ids))
	for i, score := range given {
		if i < 0 || i >= len(ids) {
			return nil, left, errors.New("the reranker scored a text that it was not given")
		}
		scores[ids[i]] = score
	}
	return rank.Rerank(evidence, scores, q.Reranking.Blend), left, nil
}

// unlessDone calls a model and returns when ctx is done, even if the model ignores its context. A later answer is
// dropped, so that the recall keeps its deadline.
func unlessDone[T any](ctx context.Context, call func() (T, error)) (T, error) {
	type answer struct {
		value T
		err   error
	}
	answered := make(chan answer, 1)
	go func() {
		value, err := call()
		answered <- answer{value, err}
	}()
	select {
	case a := <-answered:
		return a.value, a.err
	case <-ctx.Done():
		var none T
		return none, ctx.Err()
	}
}

// dampen applies the four rules of dampening in order. It reads the contents and the entities of the best
// candidates.
func (q *query) dampen(
	ctx context.Context,
	evidence []rank.Evidence,
	texts *reader,
) ([]rank.Evidence, error) {
	contents, err := texts.contents(ctx, q.best(evidence))
	if err != nil {
		return nil, err
	}
	evidence = rank.DampenVectorOnly(evidence, func(id uuid.UUID) bool {
		text, read := contents[id]
		return !read || rank.SharesWord(q.req.Query, text)
	})
	if evidence, err = q.dampenHubs(ctx, evidence); err != nil {
		return nil, err
	}
	evidence = rank.BoostDecisions(evidence)
	if contents, err = texts.contents(ctx, q.best(evidence)); err != nil { // the best candidates may have changed
		return nil, err
	}
	return rank.BoostDated(evidence, contents), nil
}

func (q *query) dampenHubs(ctx context.Context, evidence []rank.Evidence) ([]rank.Evidence, error) {
	ctx, cancel := q.within(ctx, readDeadline)
	defer cancel()
	hub, err := q.Store.HubDegree(ctx, q.filter.Principal.Tenant, q.now())
	if err != nil || hub == 0 {
		return evidence, err
	}
	lowest, err := q.Store.LowestDegrees(ctx, q.readable(), idsOf(q.best(evidence)))
	if err != nil {
		return nil, err
	}
	return rank.DampenHubs(evidence, lowest, hub), nil
}

// currentness adds the successors of the best candidates and, if superseded memories are wanted, the predecessors.
// Each predecessor gets the score of its successor. It then marks all candidates and changes their scores.
func (q *query) currentness(ctx context.Context, evidence []rank.Evidence, texts *reader) ([]rank.Evidence, error) {
	ctx, cancel := q.within(ctx, readDeadline)
	defer cancel()
	best := slices.Clone(q.best(evidence))
	// The stages that follow read the texts of the same candidates.
	read := !q.off(rank.StageRelevance) || !q.off(rank.StageLatest) || !q.off(rank.StageDuplicates)
	found, err := q.Store.Currentness(ctx, q.readable(), idsOf(best), read)
	if err != nil {
		return nil, err
	}
	texts.keep(found.Contents)
	supersessions := found.Supersessions
	if len(found.Successors) > 0 {
		evidence = slices.Clone(evidence) // a later read may fail, and then the input is unchanged
	}
	successors, err := q.successors(ctx, found.Successors, evidence)
	if err != nil {
		return nil, err
	}
	known := len(best) // number of candidates whose supersessions are known
	best, evidence = append(best, successors...), append(evidence, successors...)
	if q.superseded() {
		older, err := q.predecessors(ctx, best, evidence)
		if err != nil {
			return nil, err
		}
		best, evidence = append(best, older...), append(evidence, older...)
	}
	if more := best[known:]; len(more) > 0 {
		found, err := q.Store.Supersessions(ctx, q.readable(), idsOf(more))
		if err != nil {
			return nil, err
		}
		maps.Copy(supersessions, found)
	}
	return rank.Current(evidence, supersessions), nil
}

// successors raises the successors of the best candidates to the scores of their predecessors, because often only
// the older statement has the words of the question. It returns the successors that are not yet in evidence; it
// changes the scores of the others in evidence.
func (q *query) successors(ctx context.Context, chain []search.Succession, evidence []rank.Evidence) ([]rank.Evidence,
	error) {
	if len(chain) == 0 {
		return nil, nil
	}
	at := make(map[uuid.UUID]int, len(evidence))
	for i, e := range evidence {
		at[e.ID] = i
	}
	scores := map[uuid.UUID]float64{}
	for _, link := range chain {
		score := evidence[at[link.ID]].Score
		if i, known := at[link.Successor]; known {
			if evidence[i].Score < score {
				evidence[i].Set(rank.StageCurrentness, score, "replaces a memory that was found")
			}
			continue
		}
		scores[link.Successor] = max(scores[link.Successor], score)
	}
	missing := slices.Collect(maps.Keys(scores))
	features, err := q.Store.Authorize(ctx, q.filter, missing)
	if err != nil {
		return nil, err
	}
	var out []rank.Evidence
	for _, id := range missing {
		if known, ok := features[id]; ok {
			e := rank.Evidence{ID: id, Channels: map[string]float64{}, Features: known}
			e.Set(rank.StageCurrentness, scores[id], "replaces a memory that was found")
			out = append(out, e)
		}
	}
	return out, nil
}

// predecessors returns the memories that the best candidates superseded and that are not in evidence yet.
func (q *query) predecessors(ctx context.Context, best, evidence []rank.Evidence) ([]rank.Evidence, error) {
	chain, err := q.Store.Predecessors(ctx, q.readable(), idsOf(best))
	if err != nil || len(chain) == 0 {
		return nil, err
	}
	scores := make(map[uuid.UUID]float64, len(evidence)+len(chain))
	for _, e := range evidence {
		scores[e.ID] = e.Score
	}
	var older []uuid.UUID
	for _, link := range chain {
		if _, known := scores[link.ID]; !known {
			scores[link.ID] = scores[link.Successor]
			older = append(older, link.ID)
		}
	}
	features, err := q.Store.Authorize(ctx, q.readable(), older)
	if err != nil {
		return nil, err
	}
	var out []rank.Evidence
	for _, id := range older {
		if known, ok := features[id]; ok {
			e := rank.Evidence{ID: id, Channels: map[string]float64{}, Features: known}
			e.Set(rank.StageCurrentness, scores[id], "the score of its successor")
			out = append(out, e)
		}
	}
	return out, nil
}

func (q *query) duplicates(
	ctx context.Context,
	evidence []rank.Evidence,
	texts *reader,
) ([]rank.Evidence, error) {
	contents, err := texts.contents(ctx, q.best(evidence))
	if err != nil {
		return nil, err
	}
	return rank.CollapseDuplicates(evidence, contents), nil
}
