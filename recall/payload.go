package recall

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"

	"github.com/google/uuid"

	"github.com/mneme/mneme/memory/layers"
	"github.com/mneme/mneme/schema"
)

// stagePayload is the stage that reads structured payloads.
const stagePayload = "payload"

// readPayloads reads the structured payloads of results, if the request asks for them. Payloads of the solutions
// selected for the task get a separate part of the token budget, at most half: the steps of a procedure are worth
// more to the caller than another turn of a conversation.
//
// It returns the payloads and the budget left for texts; 0 means no bound.
func (q *query) readPayloads(
	ctx context.Context,
	results []schema.RecallResult,
	selections []schema.Selection,
) (payloads map[uuid.UUID]json.RawMessage, left int) {
	budget := q.task().BudgetTokens
	if !q.req.Payload || len(results) == 0 {
		return nil, max(budget, 0)
	}
	defer q.timed(stagePayload)()
	ids := make([]uuid.UUID, len(results))
	for i, row := range results {
		ids[i] = uuid.MustParse(row.ID)
	}
	ctx, cancel := q.within(ctx, readDeadline)
	defer cancel()
	payloads, err := q.Store.Payloads(ctx, q.readable(), ids)
	if err != nil {
		q.degrade(stagePayload, err)
		return nil, max(budget, 0)
	}
	reserved := 0
	for _, id := range ids {
		tokens := layers.EstimateTokens(string(payloads[id]))
		if isSelected(selections, id.String()) && reserved+tokens <= budget/2 {
			reserved += tokens
		}
	}
	return payloads, max(budget-reserved, 0) // at least half is left
}

// addPayloads adds payloads to the results until the token budget is used: first to the selected solutions, then to
// the best results. Redacted results get none.
func (q *query) addPayloads(
	results, extra []schema.RecallResult,
	selections []schema.Selection,
	payloads map[uuid.UUID]json.RawMessage,
) {
	if len(payloads) == 0 {
		return
	}
	order := make([]int, len(results))
	for i := range order {
		order[i] = i
	}
	rank := func(i int) int {
		if isSelected(selections, results[i].ID) {
			return 0
		}
		return 1
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(rank(a), rank(b)) })
	used, budget := tokensOf(results)+tokensOf(extra), q.task().BudgetTokens
	for _, i := range order {
		row := &results[i]
		id, err := uuid.Parse(row.ID)
		payload := payloads[id]
		if err != nil || row.Redacted != "" || len(payload) == 0 {
			continue
		}
		tokens := layers.EstimateTokens(string(payload))
		if budget > 0 && used+tokens > budget {
			row.PayloadLeftOut = true
			continue
		}
		used += tokens
		row.Payload = payload
	}
}
