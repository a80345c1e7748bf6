package recall

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/mneme/mneme/memory/layers"
	"github.com/mneme/mneme/memory/rank"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/store/search"
)

const (
	signalsDeadline = 500 * time.Millisecond

	// layersWidth multiplies the number of candidates of a channel if the answer has layers. There are more turns
	// than facts and more facts than procedures, so each layer needs enough to choose from.
	layersWidth = 3

	// stageSolutions is the stage that separates procedures and plans before ranking removes some of them.
	stageSolutions = "solutions"
	// maxSolutions is the number of procedures and plans that are considered.
	maxSolutions = 100
)

// layered reports whether the answer has layers.
func (q *query) layered() bool { return q.req.Layers || q.req.Task != nil }

// task is the request's task descriptor; the zero value where it has none.
func (q *query) task() schema.Task {
	if q.req.Task == nil {
		return schema.Task{}
	}
	return *q.req.Task
}

// searchSignals finds procedures and plans by their triggers, intent and name, even if the query shares no word
// with them.
func (q *query) searchSignals(ctx context.Context) ([]search.Hit, error) {
	task := q.task()
	return q.Store.SearchSignals(ctx, q.filter, []string{task.ErrorSignature, task.Intent, q.req.Query}, q.width())
}

// keepSolutions separates procedures and plans for selection. Those found only by signals leave the ranking until
// then, because they have no evidence for the words of the query.
func (q *query) keepSolutions(evidence []rank.Evidence) (rest, solutions []rank.Evidence) {
	if !q.layered() {
		return evidence, nil
	}
	rest = make([]rank.Evidence, 0, len(evidence))
	for _, e := range evidence {
		if isSolution(e) {
			solutions = append(solutions, e)
		}
		if e.Score > 0 || e.Channels[layers.ChannelSignals] == 0 {
			rest = append(rest, e)
		}
	}
	slices.SortStableFunc(solutions, func(a, b rank.Evidence) int {
		return cmp.Compare(max(b.Channels[layers.ChannelSignals], b.Score),
			max(a.Channels[layers.ChannelSignals], a.Score))
	})
	return rest, solutions[:min(len(solutions), maxSolutions)]
}

func isSolution(e rank.Evidence) bool {
	layer := schema.LayerOf(e.Type)
	return layer == schema.LayerCompetence || layer == schema.LayerPlan
}

// selection chooses among the procedures, and among the plans, for the task (document 004 §15A.11).
func (q *query) selection(
	ctx context.Context,
	evidence, solutions []rank.Evidence,
) ([]rank.Evidence, []schema.Selection, error) {
	if !q.layered() || len(solutions) == 0 {
		return evidence, nil, nil
	}
	ctx, cancel := q.within(ctx, readDeadline)
	defer cancel()
	found, err := q.Store.Solutions(ctx, q.filter, idsOf(solutions))
	if err != nil {
		return nil, nil, err
	}
	scores := make(map[uuid.UUID]float64, len(solutions))
	for _, e := range slices.Concat(solutions, evidence) { // in the order of the final ranking
		scores[e.ID] = e.Score
	}
	byLayer := map[schema.LayerName][]layers.Solution{}
	for _, s := range found {
		s.Evidence = scores[s.ID]
		byLayer[schema.LayerOf(s.Type)] = append(byLayer[schema.LayerOf(s.Type)], s)
	}
	task := q.task()
	situation := layers.Situation{
		Query:          q.req.Query,
		Intent:         task.Intent,
		ErrorSignature: task.ErrorSignature,
		Context:        q.req.Context,
		Now:            q.now(),
	}
	var selections []schema.Selection
	var ruledOut []uuid.UUID
	for _, layer := range []schema.LayerName{schema.LayerCompetence, schema.LayerPlan} {
		selection, out := layers.Select(situation, layer, byLayer[layer])
		ruledOut = append(ruledOut, out...)
		if len(selection.Candidates) > 0 {
			selections = append(selections, selection)
		}
	}
	evidence = layers.ApplySelections(evidence, solutions, selections, ruledOut)
	var shown []schema.Selection
	for _, s := range selections {
		shown = append(shown, layers.TrimSelection(s))
	}
	return evidence, shown, nil
}

// page returns the candidates to read in full next, and the rest. It takes the best, or in a layered answer the
// best of each layer, so that no layer is crowded out before the budget is shared. It returns a few more than the
// limit, to replace rows that were deleted since they were authorised.
func (q *query) page(evidence []rank.Evidence, selections []schema.Selection) (page, rest []rank.Evidence) {
	most := q.limit + q.limit/4 + 1
	if !q.layered() {
		most = min(most, len(evidence))
		return evidence[:most], evidence[most:]
	}
	taken := map[schema.LayerName]int{}
	for _, e := range evidence {
		layer := schema.LayerOf(e.Type)
		if taken[layer]++; taken[layer] <= most || isSelected(selections, e.ID.String()) {
			page = append(page, e)
		} else {
			rest = append(rest, e)
		}
	}
	return page, rest
}

// isSelected reports whether a memory was selected for the task.
func isSelected(selections []schema.Selection, id string) bool {
	return slices.ContainsFunc(selections, func(s schema.Selection) bool { return s.Selected == id })
}

// fit cuts the results, sorted best first, to the limit. A layered answer is also cut to its token budget, each
// layer to its share; other answers have no budget.
func (q *query) fit(
	results []schema.RecallResult,
	selections []schema.Selection,
	budget int,
) []schema.RecallResult {
	if !q.layered() {
		return results
	}
	items := make([]layers.Item, len(results))
	for i, r := range results {
		items[i] = itemOf(r)
		items[i].Selected = isSelected(selections, r.ID)
	}
	placed := layers.Fill(items, q.limit, budget)
	out := make([]schema.RecallResult, 0, len(placed))
	for _, p := range placed {
		row := results[p.Index]
		if p.Cut {
			row = cutTo(row, p.Tokens-items[p.Index].Shell)
		}
		out = append(out, row)
	}
	return out
}

// layers groups the results, which are sorted best first, by layer (document 004 §15.8).
func (q *query) layers(results []schema.RecallResult, selections []schema.Selection) []schema.Layer {
	if !q.layered() {
		return nil
	}
	out := make([]schema.Layer, 0, len(schema.Layers()))
	for _, name := range schema.Layers() {
		layer := schema.Layer{Name: name, IDs: []string{}}
		for _, r := range results {
			if schema.LayerOf(r.Type) == name {
				tokens, _ := layers.ResultTokens(r)
				layer.IDs = append(layer.IDs, r.ID)
				layer.Tokens += tokens
			}
		}
		layer.IDs = layers.SelectedFirst(layer.IDs, selections)
		out = append(out, layer)
	}
	return out
}
