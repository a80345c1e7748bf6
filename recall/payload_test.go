package recall_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mneme/mneme/memory/layers"
	"github.com/mneme/mneme/schema"
)

func payloadsOf(out schema.RecallResponse) map[string]string {
	found := map[string]string{}
	for _, r := range out.Results {
		if len(r.Payload) > 0 {
			found[r.ID] = string(r.Payload)
		}
	}
	return found
}

func TestResultsCarryTheirPayloadsOnRequest(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	skill := procedure(1, "ld: cache mismatch", `{"os":"linux"}`, 10, 0)
	id := w.keep(w.p, schema.VisibilityPrivate, skill)
	w.remember("A note about the handbook")
	out := w.answer(schema.RecallRequest{Query: "handbook"})
	require.Empty(t, payloadsOf(out), "not requested")
	out = w.answer(schema.RecallRequest{Query: "handbook", Payload: true})
	require.Len(t, payloadsOf(out), 2)
	var want, got map[string]any
	require.NoError(t, json.Unmarshal(skill.Payload, &want))
	require.NoError(t, json.Unmarshal([]byte(payloadsOf(out)[id.String()]), &got))
	require.Equal(t, want["recipe"], got["recipe"])
	require.Contains(t, out.Meta.TimingsMS, "payload")
	require.Empty(t, payloadsOf(w.answer(schema.RecallRequest{Query: "handbook", Payload: true, IDsOnly: true})))
}

// Payloads count against the budget. Those of the memories selected for the task come first, and use at most half of
// the remaining budget.
func TestPayloadsFitTheBudget(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	skill := procedure(1, "ld: cache mismatch", `{"os":"linux"}`, 10, 0)
	skill.Payload = json.RawMessage(strings.Replace(string(skill.Payload), `{"step":"wipe it"}`,
		`{"step":"wipe `+strings.Repeat("it again and ", 40)+`"}`, 1))
	id := w.keep(w.p, schema.VisibilityPrivate, skill)
	for i := range 30 {
		w.remember(fmt.Sprintf("Turn %d speaks of the cache of the linker at some length, and of little else", i))
	}
	req := schema.RecallRequest{Query: "cache of the linker", Limit: 40, Payload: true,
		Context: json.RawMessage(`{"os":"linux"}`),
		Task:    &schema.Task{ErrorSignature: "ld: cache mismatch"}}
	whole := w.answer(req)
	require.Equal(t, id.String(), selectionOf(whole, schema.LayerCompetence).Selected)
	require.Len(t, payloadsOf(whole), len(whole.Results), "no bound")
	tokens := layers.EstimateTokens(payloadsOf(whole)[id.String()])
	for _, budget := range []int{2*tokens + 20, 4 * tokens, tokens} {
		req.Task.BudgetTokens = budget
		out := w.answer(req)
		used := 0
		for _, r := range out.Results {
			n, _ := layers.ResultTokens(r)
			used += n
			require.NotEqual(t, len(r.Payload) > 0, r.PayloadLeftOut, "present, or reported as left out")
		}
		require.LessOrEqual(t, used, budget)
		layers := 0
		for _, l := range out.Layers {
			layers += l.Tokens
		}
		require.Equal(t, used, layers, "layers count what they show")
		if budget > 2*tokens {
			require.Contains(t, payloadsOf(out), id.String(), "of %d", budget)
		} else {
			require.NotContains(t, payloadsOf(out), id.String())
		}
		require.NotEmpty(t, out.Results)
	}
}

func TestRedactedResultsHaveNoPayload(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.remember("Salary reviews are in May")
	high := w.keepSecret("Dana earns ninety thousand", schema.SensitivityHigh, "Dana's salary is on record")
	w.obey("trust: {above_limit: {high: summary}}")
	out := w.asked(func(r *schema.RecallRequest) { r.Payload = true })
	require.Contains(t, ids(out), high.String())
	require.NotContains(t, payloadsOf(out), high.String())
	encoded, err := json.Marshal(out)
	require.NoError(t, err)
	require.NotContains(t, string(encoded), "ninety")

	read, err := w.Get(ctx, schema.GetRequest{Principal: w.p, IDs: []string{high.String()}})
	require.NoError(t, err)
	require.Empty(t, read.Records, "nor by its id")
	read, err = w.Get(ctx, schema.GetRequest{Principal: w.p, IDs: []string{high.String()},
		MaxSensitivity: schema.SensitivityHigh,
		Trust:          &schema.TrustContext{Authenticated: true}})
	require.NoError(t, err)
	require.Len(t, read.Records, 1)
	require.Contains(t, string(read.Records[0].Payload), "ninety")
}

// A record names other records only if the caller may see them, and reading it does not count as an access.
func TestReadByIDHidesReferencesToHiddenRecords(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	secret := w.keepSecret("Dana earns ninety thousand", schema.SensitivityHigh, "")
	open := w.remember("Salary reviews are in May")
	w.exec(`INSERT INTO memory_links (tenant, source_id, predicate, target_id, reason, created_at)
		VALUES ('t', $1, 'supports', $2, 'ninety', now())`, open, secret)
	w.exec(`UPDATE memories SET superseded_by = $2, supersedes = $2 WHERE id = $1`, open, secret)
	read := func(trusted bool) string {
		req := schema.GetRequest{Principal: w.p, IDs: []string{open.String(), open.String()}}
		if trusted {
			req.MaxSensitivity, req.Trust = schema.SensitivityHigh, &schema.TrustContext{Authenticated: true}
		}
		out, err := w.Get(ctx, req)
		require.NoError(t, err)
		require.Len(t, out.Records, 1, "each id is returned once")
		encoded, err := json.Marshal(out)
		require.NoError(t, err)
		return string(encoded)
	}
	require.NotContains(t, read(false), secret.String())
	require.NotContains(t, read(false), "ninety")
	require.Contains(t, read(true), secret.String())
	var accesses int
	require.NoError(t, w.owner.QueryRow(ctx, `SELECT count(*) FROM memory_access`).Scan(&accesses))
	require.Zero(t, accesses)
}
