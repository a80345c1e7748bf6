package recall

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/mneme/mneme/memory/layers"
	"github.com/mneme/mneme/memory/normalize"
	"github.com/mneme/mneme/memory/rank"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/store/search"
)

// supplementDeadline is the deadline of each kind of supplement and of each fallback search. One that misses it is
// omitted and named in meta.degraded.
const supplementDeadline = 500 * time.Millisecond

// Stages of supplements and rescue, as timings, switches and meta.degraded name them.
const (
	stageExpand            = "expand" // all supplements
	stageSources           = "expand_sources"
	stageRationale         = "expand_rationale"
	stageTranscripts       = "expand_transcripts"
	stageArtifacts         = "expand_artifacts"
	stageCards             = "expand_cards"
	stageSessions          = "expand_sessions"
	stageSummary           = "expand_summary"
	stageRescue            = "rescue" // all ways
	stageRescueTranscripts = "rescue_transcripts"
	stageRescueArtifacts   = "rescue_artifacts"
)

// optionally runs a step with a deadline, unless it is switched off. A step that fails degrades the answer.
func (q *query) optionally(ctx context.Context, name string, step func(context.Context) error) {
	if q.off(name) {
		return
	}
	defer q.timed(name)()
	ctx, cancel := q.within(ctx, supplementDeadline)
	defer cancel()
	if err := step(ctx); err != nil {
		q.degrade(name, err)
	}
}

// supplementing holds the results to find supplements for, and the room left.
type supplementing struct {
	results     []schema.RecallResult
	selections  []schema.Selection // solutions selected for the task are never dropped
	budget      int                // tokens that texts may use; 0: no bound
	summaryTime time.Duration      // for a model's summary
}

// expand adds supplementary rows to the results, which are sorted best first (document 002 Phase 5). Results and
// supplements together stay within the limit and the token budget. If the page is full, the weakest results are
// dropped for up to rank.ReservedPlaces supplements. It returns the remaining results and the supplements.
//
// Supplements pass the request's filter, as results do.
func (q *query) expand(ctx context.Context, in supplementing) (kept, extra []schema.RecallResult) {
	results := in.results
	if !q.req.Expand || q.off(stageExpand) || len(results) == 0 {
		return results, nil
	}
	defer q.timed(stageExpand)()
	reserved := rank.ReservedPlaces(q.limit)
	e := &expansion{query: q, known: map[uuid.UUID]bool{}, of: map[string]int{}, summaryTime: in.summaryTime}
	for _, r := range results {
		if id, err := uuid.Parse(r.ID); err == nil {
			e.known[id] = true
		}
	}
	for _, r := range drop(results, in.selections, len(results)-(q.limit-reserved)) { // results that are never dropped
		if r.Redacted == "" {
			e.of[r.ID] = len(e.results)
			e.results = append(e.results, r)
		}
	}
	found := e.find(ctx)
	kept = results
	most := max(reserved, q.limit-len(results))
	tokens := tokensOf(results)
	for _, row := range found {
		if len(extra) == most {
			break
		}
		next := drop(kept, in.selections, len(kept)+len(extra)+1-q.limit)
		if len(next)+len(extra)+1 > q.limit {
			break // selected solutions are never dropped
		}
		left := tokens + tokensOf([]schema.RecallResult{row})
		if len(next) < len(kept) {
			left += tokensOf(next) - tokensOf(kept)
		}
		if in.budget > 0 && left > in.budget {
			continue
		}
		tokens, kept, extra = left, next, append(extra, row)
	}
	lowest := 1.0
	for _, r := range kept {
		lowest = min(lowest, r.Score)
	}
	for i, score := range rank.SupplementScores(lowest, len(extra)) {
		extra[i].Score = score
	}
	return kept, extra
}

// drop removes the last n results, but none that was selected for the task.
func drop(results []schema.RecallResult, selections []schema.Selection, n int) []schema.RecallResult {
	out := slices.Clone(results)
	for i := len(out) - 1; i >= 0 && n > 0; i-- {
		if !isSelected(selections, out[i].ID) {
			out = slices.Delete(out, i, i+1)
			n--
		}
	}
	return out
}

func tokensOf(results []schema.RecallResult) int {
	total := 0
	for _, r := range results {
		tokens, _ := layers.ResultTokens(r)
		total += tokens
	}
	return total
}

// expansion is the search for supplements of some results.
type expansion struct {
	*query
	results []schema.RecallResult
	known   map[uuid.UUID]bool // memories among the results, including those that may be dropped
	of      map[string]int     // places in results by id
	sources []search.Linked

	summaryTime time.Duration // for a model's summary
}

// find searches for all kinds of supplements concurrently, and takes one of each kind in turn: a model's summary,
// reasons, turns around a result and notes of its session, sources, texts, cards.
func (e *expansion) find(ctx context.Context) []schema.RecallResult {
	e.optionally(ctx, stageSources, func(ctx context.Context) error {
		var err error
		e.sources, err = e.Store.Sources(
			ctx,
			e.filter,
			e.ids(func(r schema.RecallResult) bool { return r.Type != schema.TypeEpisodic }),
		)
		return err
	})
	kinds := []struct {
		stage string
		find  func(context.Context) ([]schema.RecallResult, error)
	}{{stageRationale, e.rationale}, {stageTranscripts, e.transcripts}, {stageArtifacts, e.artifacts},
		{stageCards, e.cards}, {stageSessions, e.sessions}}
	found := make([][]schema.RecallResult, len(kinds))
	var sources []schema.RecallResult
	var wg sync.WaitGroup
	for i, kind := range kinds {
		wg.Go(func() {
			e.optionally(ctx, kind.stage, func(ctx context.Context) (err error) {
				found[i], err = kind.find(ctx)
				return err
			})
		})
	}
	var summary []schema.RecallResult
	wg.Go(func() { summary = e.summary(ctx) })
	wg.Go(func() {
		if len(e.sources) > 0 {
			e.optionally(ctx, stageSources, func(ctx context.Context) (err error) {
				sources, err = e.linked(ctx, schema.SupplementSource, e.sources)
				return err
			})
		}
	})
	wg.Wait()
	quoted := map[string]bool{} // a quoted memory needs no separate row
	for _, excerpt := range found[1] {
		for _, id := range excerpt.Supplement.Members {
			quoted[id] = true
		}
	}
	sources = slices.DeleteFunc(sources, func(r schema.RecallResult) bool { return quoted[r.ID] })
	found[0] = slices.DeleteFunc(found[0], func(r schema.RecallResult) bool {
		return quoted[r.ID] && slices.ContainsFunc(e.sources, func(l search.Linked) bool {
			return l.ID.String() == r.ID
		})
	})
	seen := map[string]bool{}
	return slices.DeleteFunc(
		rank.TakeTurns(summary, found[0], found[1], found[4], sources, found[2], found[3]),
		func(r schema.RecallResult) bool {
			again := seen[r.ID]
			seen[r.ID] = true
			return again
		},
	)
}

// ids returns the ids of the results for which is reports true.
func (e *expansion) ids(is func(schema.RecallResult) bool) []uuid.UUID {
	var out []uuid.UUID
	for _, r := range e.results {
		if id, err := uuid.Parse(r.ID); err == nil && is(r) {
			out = append(out, id)
		}
	}
	return out
}

// linked returns linked memories as supplements, in the order of the results. Memories among the results are left
// out.
func (e *expansion) linked(
	ctx context.Context,
	kind schema.SupplementKind,
	links []search.Linked,
) ([]schema.RecallResult, error) {
	of := map[uuid.UUID][]string{}
	var ids []uuid.UUID
	for _, l := range e.byResult(links) {
		if e.known[l.ID] {
			continue
		}
		if of[l.ID] == nil {
			ids = append(ids, l.ID)
		}
		of[l.ID] = append(of[l.ID], l.Of.String())
	}
	if len(ids) == 0 {
		return nil, nil
	}
	rows, err := e.Store.Hydrate(ctx, e.filter, ids, e.now())
	if err != nil {
		return nil, err
	}
	var out []schema.RecallResult
	for _, id := range ids {
		if row, ok := rows[id]; ok {
			out = append(out, supplementary(row, kind, of[id], id))
		}
	}
	return out, nil
}

func (e *expansion) byResult(links []search.Linked) []search.Linked {
	out := slices.Clone(links)
	slices.SortStableFunc(out, func(a, b search.Linked) int { return e.of[a.Of.String()] - e.of[b.Of.String()] })
	return out
}

// supplementary makes a row a supplement. It cuts and marks a text that is too long.
func supplementary(
	row schema.RecallResult,
	kind schema.SupplementKind,
	of []string,
	members ...uuid.UUID,
) schema.RecallResult {
	row.Supplementary, row.Supplement = true, &schema.Supplement{Kind: kind, Of: of}
	for _, id := range members {
		row.Supplement.Members = append(row.Supplement.Members, id.String())
	}
	var cut bool
	row.Content, cut = normalize.CutChars(row.Content, rank.MaxSupplementChars)
	row.Truncated = row.Truncated || cut
	if row.Tags == nil {
		row.Tags = []string{}
	}
	if row.Channels == nil {
		row.Channels = map[string]float64{}
	}
	return row
}

// made returns a supplement that is not a memory. Its id is computed from its kind and its inputs.
func made(id string, t schema.MemoryType, content string, at time.Time) schema.RecallResult {
	return schema.RecallResult{
		ID:         id,
		Content:    content,
		Type:       t,
		Category:   schema.CategoryFact,
		CreatedAt:  at,
		OccurredAt: at,
		Validity:   schema.Validity{Mode: schema.ValidGlobal},
		Status:     schema.StatusActive,
	}
}

// rationale returns the memories that give the reasons of decisions.
func (e *expansion) rationale(ctx context.Context) ([]schema.RecallResult, error) {
	decisions := e.ids(func(r schema.RecallResult) bool { return r.Category == schema.CategoryDecision })
	if len(decisions) == 0 {
		return nil, nil
	}
	links, err := e.Store.Rationale(ctx, e.filter, decisions)
	if err != nil {
		return nil, err
	}
	return e.linked(ctx, schema.SupplementRationale, links)
}

// transcripts returns excerpts of the sessions around results, or around the sources of facts.
func (e *expansion) transcripts(ctx context.Context) ([]schema.RecallResult, error) {
	places := map[uuid.UUID][]string{} // of excerpts, with the results that they belong to
	var anchors []rank.Anchor
	add := func(of, place uuid.UUID) {
		if places[place] == nil {
			anchors = append(anchors, rank.Anchor{ID: place, Place: place, Radius: rank.ExcerptRadius})
		}
		places[place] = append(places[place], of.String())
	}
	sources := e.byResult(e.sources)
	for _, r := range e.results {
		id, err := uuid.Parse(r.ID)
		if err != nil {
			continue
		}
		if r.Type == schema.TypeEpisodic {
			add(id, id)
		}
		for _, l := range sources {
			if l.Of == id {
				add(id, l.ID)
			}
		}
	}
	if len(anchors) == 0 {
		return nil, nil
	}
	turns, err := e.Store.SessionTurns(ctx, e.filter, anchors)
	if err != nil || len(turns) == 0 {
		return nil, err
	}
	around := map[uuid.UUID][]rank.Turn{}
	ids := make([]uuid.UUID, 0, len(turns)+len(anchors))
	for _, t := range turns {
		around[t.Anchor] = append(around[t.Anchor], t)
		ids = append(ids, t.ID)
	}
	for _, a := range anchors {
		ids = append(ids, a.Place)
	}
	rows, err := e.Store.Hydrate(ctx, e.filter, ids, e.now())
	if err != nil {
		return nil, err
	}
	var out []schema.RecallResult
	shownBefore := map[uuid.UUID]bool{}
	for _, a := range anchors {
		centre, ok := rows[a.Place]
		if !ok || len(around[a.ID]) == 0 {
			continue
		}
		said := []rank.Utterance{{ID: a.Place, Speaker: centre.Who, Text: centre.Content}}
		for _, t := range around[a.ID] {
			if row, ok := rows[t.ID]; ok {
				said = append(said, rank.Utterance{ID: t.ID, Speaker: row.Who, Text: row.Content, Distance: t.Distance})
			}
		}
		text, shown, cut := rank.Excerpt(said)
		if !slices.ContainsFunc(shown, func(id uuid.UUID) bool { return !e.known[id] && !shownBefore[id] }) {
			continue // it adds nothing new
		}
		for _, id := range shown {
			shownBefore[id] = true
		}
		row := made(string(schema.SupplementTranscript)+":"+a.Place.String(), schema.TypeEpisodic, text,
			centre.OccurredAt)
		row.Session, row.Ref, row.Truncated = centre.Session, centre.Ref, cut
		out = append(out, supplementary(row, schema.SupplementTranscript, places[a.Place], shown...))
	}
	return out, nil
}

// artifacts returns passages that fit the query, from texts that results or the sources of facts refer to.
func (e *expansion) artifacts(ctx context.Context) ([]schema.RecallResult, error) {
	of := map[uuid.UUID][]string{}
	var ids []uuid.UUID
	add := func(id uuid.UUID, result string) {
		if of[id] == nil {
			ids = append(ids, id)
		}
		of[id] = append(of[id], result)
	}
	for _, id := range e.ids(func(schema.RecallResult) bool { return true }) {
		add(id, id.String())
	}
	for _, l := range e.byResult(e.sources) {
		add(l.ID, l.Of.String())
	}
	found, err := e.Store.Artifacts(ctx, e.filter, ids)
	if err != nil {
		return nil, err
	}
	slices.SortStableFunc(
		found,
		func(a, b search.TextArtifact) int { return slices.Index(ids, a.Of) - slices.Index(ids, b.Of) },
	)
	found = found[:min(len(found), e.limit)]
	var out []schema.RecallResult
	wanted := e.beginnings()
	for _, a := range found {
		passage, cut := rank.Passage(a.Text, wanted)
		row := made(string(schema.SupplementArtifact)+":"+a.Address, schema.TypeEpisodic, passage, a.OccurredAt)
		row.Ref, row.Truncated = a.Address, cut || int64(len(a.Text)) < a.Size
		out = append(out, supplementary(row, schema.SupplementArtifact, of[a.Of], a.Of))
	}
	return out, nil
}

// cards returns the facts about entities that the results name, if the results do not state them already.
func (e *expansion) cards(ctx context.Context) ([]schema.RecallResult, error) {
	most := rank.MaxCards(e.limit)
	found, err := e.Store.Cards(ctx, e.filter, e.ids(func(schema.RecallResult) bool { return true }), 2*most)
	if err != nil {
		return nil, err
	}
	var out []schema.RecallResult
	for _, entity := range found {
		text, shown := rank.Card(entity.Claims)
		if len(out) == most || !slices.ContainsFunc(shown, func(id uuid.UUID) bool { return !e.known[id] }) {
			continue
		}
		of := make([]string, len(entity.Of))
		for i, id := range entity.Of {
			of[i] = id.String()
		}
		row := made(
			string(schema.SupplementCard)+":"+shown[0].String(),
			schema.TypeSemantic,
			text,
			e.results[e.of[of[0]]].OccurredAt,
		)
		out = append(out, supplementary(row, schema.SupplementCard, of, shown...))
	}
	return out, nil
}
