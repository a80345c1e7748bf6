package schema_test

import (
	"encoding/json"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/mneme/mneme/schema"
)

func TestFeedbackRequestValidate(t *testing.T) {
	t.Parallel()
	one, two := uuid.NewString(), uuid.NewString()
	many := func(n int) (out []schema.FeedbackItem) {
		for range n {
			out = append(out, schema.FeedbackItem{MemoryID: uuid.NewString(), Verdict: schema.VerdictUnused})
		}
		return out
	}
	for name, test := range map[string]struct {
		change func(*schema.FeedbackRequest)
		fields []string
	}{
		"good": {nil, nil},
		"no tenant": {func(r *schema.FeedbackRequest) { r.Principal.Tenant = "" },
			[]string{"principal.tenant"}},
		"no retrieval": {func(r *schema.FeedbackRequest) { r.RetrievalID = "" }, []string{"retrieval_id"}},
		"an odd retrieval": {func(r *schema.FeedbackRequest) { r.RetrievalID = "{" + r.RetrievalID + "}" },
			[]string{"retrieval_id"}},
		"no items": {func(r *schema.FeedbackRequest) { r.Items = nil }, []string{"items"}},
		"too many": {func(r *schema.FeedbackRequest) { r.Items = many(schema.MaxRecallLimit + 1) },
			[]string{"items"}},
		"maximum": {func(r *schema.FeedbackRequest) { r.Items = many(schema.MaxRecallLimit) }, nil},
		"an odd id": {func(r *schema.FeedbackRequest) { r.Items[1].MemoryID = "x" },
			[]string{"items[1].memory_id"}},
		"an id twice": {func(r *schema.FeedbackRequest) { r.Items[1].MemoryID = one },
			[]string{"items[1].memory_id"}},
		"an unknown verdict": {func(r *schema.FeedbackRequest) { r.Items[0].Verdict = "liked" },
			[]string{"items[0].verdict"}},
		"no verdict": {func(r *schema.FeedbackRequest) { r.Items[0].Verdict = "" },
			[]string{"items[0].verdict"}},
		"used instead of a verdict": {func(r *schema.FeedbackRequest) {
			r.Items[0].Verdict, r.Items[0].Used = "", ptr(true)
		}, nil},
		"used and a verdict": {func(r *schema.FeedbackRequest) { r.Items[0].Used = ptr(false) },
			[]string{"items[0].used"}},
		"an outcome for all": {func(r *schema.FeedbackRequest) { r.Items, r.Outcome = nil, schema.OutcomePartial },
			nil},
		"an outcome for items": {func(r *schema.FeedbackRequest) {
			r.Items[0].Verdict, r.Outcome = "", schema.OutcomeFailure
		}, nil},
		"an unknown outcome": {func(r *schema.FeedbackRequest) { r.Outcome = "draw" }, []string{"outcome"}},
		"nothing was used":   {func(r *schema.FeedbackRequest) { r.Items, r.AllOthersUnused = nil, true }, nil},
		"outcome for all and all others unused": {func(r *schema.FeedbackRequest) {
			r.Items, r.AllOthersUnused, r.Outcome = nil, true, "success"
		}, []string{"all_others_unused"}},
		"several problems": {func(r *schema.FeedbackRequest) {
			r.RetrievalID, r.Outcome, r.Items[1].Verdict = "x", "y", "z"
		},
			[]string{"retrieval_id", "outcome", "items[1].verdict"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := schema.FeedbackRequest{Operation: schema.Operation{Principal: schema.Principal{Tenant: "t",
				Agent: "a"}}, RetrievalID: uuid.NewString(),
				Items: []schema.FeedbackItem{{MemoryID: one, Verdict: schema.VerdictSucceeded},
					{MemoryID: two, Verdict: schema.VerdictUnused}}}
			if test.change != nil {
				test.change(&r)
			}
			require.Equal(t, test.fields, fieldsOf(t, r.Validate()))
		})
	}
	var odd schema.FeedbackRequest
	require.NoError(t, json.Unmarshal([]byte(`{"items":[{"memory_id":"x","verdict":"failed","score":3}]}`), &odd))
	require.Equal(t, []string{"items[0].score"}, fieldsOf(t, odd.Validate()))
}

func TestFeedbackSummary(t *testing.T) {
	t.Parallel()
	of := func(statuses ...schema.FeedbackStatus) (r schema.FeedbackResult) {
		for _, s := range statuses {
			r.Items = append(r.Items, schema.FeedbackResultItem{Status: s})
		}
		return r
	}
	require.Equal(t, "ok", of(schema.FeedbackReinforced, schema.FeedbackPenalised, schema.FeedbackCorrected,
		schema.FeedbackUnchanged).Summary())
	require.Equal(t, "ok", of().Summary(), "nothing was returned, and nothing is said of it")
	require.Equal(t, "partial", of(schema.FeedbackReinforced, schema.FeedbackGone).Summary())
	require.Equal(t, "refused", of(schema.FeedbackNotRetrieved, schema.FeedbackFrozen).Summary())
	require.Empty(t, of(schema.FeedbackReinforced).Changed())
}
