package recall_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/mneme/mneme/memory/policy"
	"github.com/mneme/mneme/memory/proposals"
	"github.com/mneme/mneme/memory/rank"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/store/edit"
)

// keepSecret puts a statement with a sensitivity and a safe summary.
func (w *world) keepSecret(content string, s schema.Sensitivity, summary string) uuid.UUID {
	w.t.Helper()
	record := schema.MemoryRecord{Type: schema.TypeSemantic, Category: schema.CategoryDecision, Content: content,
		Confidence: 0.9, Importance: 0.5, Salience: 1, SourceTrust: 1, Sensitivity: s,
		SafeSummary: summary, Tags: []string{"secret-tag"}, Who: "Mallory",
		Payload: json.RawMessage(fmt.Sprintf(`{"kind":"semantic","evidence":[{"kind":"event","ref":"evt://told"}],"subject":"x","predicate":"states","object":%q,"validity":{"mode":"global"}}`, content))}
	out, err := w.Store.Put(ctx, edit.PutInput{Operation: schema.OperationRef{Tenant: w.p.Tenant, ID: uuid.NewString(),
		WorkflowID: "wf"}, Policy: proposals.DefaultWritePolicy(), Now: time.Now(),
		Request: schema.PutRequest{Operation: schema.Operation{Principal: w.p},
			Records: []schema.MemoryRecord{record}}})
	require.NoError(w.t, err)
	require.Equal(w.t, schema.PutCreated, out.Items[0].Status, out.Items[0].Problem)
	return uuid.MustParse(out.Items[0].ID)
}

func (w *world) obey(text string) {
	w.t.Helper()
	p, err := policy.Parse([]byte(text))
	require.NoError(w.t, err)
	w.Policy = func() *policy.Policy { return p }
}

func (w *world) asked(change func(*schema.RecallRequest)) schema.RecallResponse {
	w.t.Helper()
	req := schema.RecallRequest{Principal: w.p, Query: "salary"}
	change(&req)
	out, err := w.Recall(ctx, req)
	require.NoError(w.t, err)
	return out
}

func TestResultsAboveTheLimitAreRedacted(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	open := w.remember("Salary reviews are in May")
	high := w.keepSecret("Dana earns ninety thousand", schema.SensitivityHigh, "Dana's salary is on record")
	hyper := w.keepSecret("The payroll password is in the safe", schema.SensitivityHyper,
		"How the salary is paid is on record")
	w.keepSecret("Nothing is told of this", schema.SensitivityHigh, "")
	before := w.state()

	require.Equal(t, []string{open.String()}, ids(w.asked(func(*schema.RecallRequest) {})), "withheld without a policy")
	w.obey("trust: {above_limit: {high: summary, hyper: summary}}")
	out := w.asked(func(*schema.RecallRequest) {})
	require.ElementsMatch(t, []string{open.String(), high.String()}, ids(out),
		"hyper is hidden from callers who are not authenticated")
	require.Equal(t, map[schema.Redaction]int{schema.RedactedSummary: 1}, out.Meta.Redacted)
	for _, r := range out.Results {
		if r.ID != high.String() {
			require.Empty(t, r.Redacted)
			continue
		}
		require.Equal(t, schema.RecallResult{ID: r.ID, Content: "Dana's salary is on record", Type: schema.TypeSemantic,
			Category: schema.CategoryDecision, Score: r.Score, Channels: map[string]float64{},
			CreatedAt: r.CreatedAt, OccurredAt: r.OccurredAt, Tags: []string{}, Redacted: schema.RedactedSummary,
			Sensitivity: schema.SensitivityHigh}, r)
	}
	authenticated := func(r *schema.RecallRequest) { r.Trust = &schema.TrustContext{Authenticated: true} }
	require.Contains(t, ids(w.asked(authenticated)), hyper.String())
	require.Contains(t, ids(w.asked(func(r *schema.RecallRequest) {
		authenticated(r)
		r.MaxSensitivity = schema.SensitivityHyper
		r.Query = "earns"
	})), high.String())
	require.Empty(t, w.asked(func(r *schema.RecallRequest) { r.Limit = 1; r.IDsOnly = true }).Results[0].Content)
	require.Len(t, w.asked(func(r *schema.RecallRequest) { r.Limit = 1 }).Results, 1)

	w.obey("trust: {above_limit: {high: metadata}}")
	require.Equal(t, []string{open.String()}, ids(w.asked(func(*schema.RecallRequest) {})),
		"no query finds a hidden memory")
	out = w.asked(func(r *schema.RecallRequest) { r.Categories = []schema.Category{schema.CategoryDecision} })
	require.Equal(t, map[schema.Redaction]int{schema.RedactedMetadata: 2}, out.Meta.Redacted)
	require.Len(t, out.Results, 2)
	for _, r := range out.Results {
		require.Equal(t, schema.RecallResult{ID: r.ID, Type: schema.TypeSemantic, Category: schema.CategoryDecision,
			Channels: map[string]float64{}, CreatedAt: r.CreatedAt, OccurredAt: r.OccurredAt,
			Tags: []string{}, Redacted: schema.RedactedMetadata, Sensitivity: schema.SensitivityHigh}, r)
	}
	require.Equal(t, before, w.state(), "trust changes nothing that is stored")
	var tracked int
	require.NoError(t, w.owner.QueryRow(ctx,
		`SELECT count(*) FROM memory_access WHERE memory_id = $1 AND access_count > 1`, hyper).Scan(&tracked))
	require.Zero(t, tracked)
	require.NoError(t, w.owner.QueryRow(ctx,
		`SELECT coalesce(sum(access_count), 0) FROM memory_access WHERE memory_id = $1`, high).Scan(&tracked))
	require.Equal(t, 1, tracked, "a redacted result does not count as an access")
}

// The least relevance of a request applies to redacted results too: to what is shown of them.
func TestRedactedResultsHaveTheRelevanceAsked(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.remember("Boris likes tea")
	high := w.keepSecret("Dana earns ninety thousand", schema.SensitivityHigh, "Dana's salary is on record")
	w.obey("trust: {above_limit: {high: summary}}")
	least := func(query string, score float64) []string {
		return ids(w.asked(func(r *schema.RecallRequest) { r.Query, r.MinScore = query, &score }))
	}
	require.Contains(t, least("Dana's salary", 0.5), high.String())
	require.Contains(t, least("which record has Boris broken", 0), high.String())
	require.NotContains(t, least("which record has Boris broken", 0.5), high.String())
	w.obey("trust: {above_limit: {high: metadata}}")
	facts := func(score float64) []string {
		return ids(w.asked(func(r *schema.RecallRequest) {
			r.MinScore, r.Types = &score, []schema.MemoryType{schema.TypeSemantic}
		}))
	}
	require.Equal(t, []string{high.String()}, facts(0))
	require.Empty(t, facts(0.5), "metadata has no relevance")
}

func (w *world) state() (v string) {
	w.t.Helper()
	require.NoError(w.t,
		w.owner.QueryRow(ctx,
			`SELECT string_agg(xmin::text || ctid || version, ',' ORDER BY id) || (SELECT count(*) FROM memory_history)
				FROM memories`).Scan(&v))
	return v
}

// A query cannot reveal whether a memory above the limit contains a word: the answer is the same for a word of its
// content and for a word that no memory contains. The lexicon contains neither.
func TestNoQueryRevealsHiddenContent(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.remember("The salary of a gardener is low")
	w.keepSecret("Dana earns ninety thousand at Quuxotic", schema.SensitivityHigh, "Dana's salary is on record")
	w.keepSecret("Boris owes a debt to Quuxotic", schema.SensitivityHigh, "")
	for _, policy := range []string{"rules: []", "trust: {above_limit: {high: summary}}",
		"trust: {above_limit: {high: metadata}}"} {
		w.obey(policy)
		for _, narrow := range []func(*schema.RecallRequest){
			func(*schema.RecallRequest) {}, func(r *schema.RecallRequest) {
				r.Types = []schema.MemoryType{schema.TypeSemantic}
			},
			func(r *schema.RecallRequest) { r.Expand, r.Layers, r.Explain = true, true, true },
		} {
			answers := func(query string) []string {
				return ids(w.asked(func(r *schema.RecallRequest) { narrow(r); r.Query = query }))
			}
			require.Equal(t, answers("zyzzyva"), answers("Quuxotic"), policy)
			require.Equal(t, answers("salary Zyzzyva"), answers("salary Quuxotic"), policy)
			require.Equal(t, answers("zyzzyva zyzzyvas zyzzyvan"),
				answers("Dana earns ninety thousand")[:len(answers("zyzzyva"))], policy)
		}
		// Filters on hidden fields do not match it either.
		for _, narrow := range []func(*schema.RecallRequest){
			func(r *schema.RecallRequest) { r.Tags = []string{"secret-tag"} }, func(r *schema.RecallRequest) {
				r.Who = "Mallory"
			},
			func(r *schema.RecallRequest) { pinned := false; r.Pinned = &pinned }, func(r *schema.RecallRequest) {
				r.ImportanceMin = 0.4
				r.Query = "Dana"
			},
		} {
			for _, r := range w.asked(narrow).Results {
				require.Empty(t, r.Redacted, policy)
			}
		}
	}
}

// A safe summary is found by its own words, regardless of the contents of other memories: if it were found only when
// some content has the word too, the result would reveal that content.
func TestASummaryIsFoundByItsOwnWordsAlone(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.obey("trust: {above_limit: {high: summary, hyper: summary}}")
	w.keepSecret("the vault is behind the mirror", schema.SensitivityHigh, "an appointment with the notary")
	found := func() []schema.RecallResult {
		return w.answer(schema.RecallRequest{Query: "notary"}).Results
	}
	require.Len(t, found(), 1)
	w.keepSecret("the notary keeps the second key", schema.SensitivityHyper, "something else")
	require.Len(t, found(), 1)
}

func TestExtraScopesAreRead(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	in := func(scope string) uuid.UUID {
		p := w.p
		p.Scope = scope
		return w.put(p, schema.VisibilityPrivate, schema.Candidate{Content: "a salary of the scope " + scope})
	}
	own, ops, hr := in(""), in("ops"), in("hr")
	scoped := func(scopes ...string) []string {
		return ids(w.asked(func(r *schema.RecallRequest) { r.Trust = &schema.TrustContext{Scopes: scopes} }))
	}
	require.ElementsMatch(t, []string{own.String()}, scoped())
	require.ElementsMatch(t, []string{own.String(), ops.String()}, scoped("ops"))
	require.ElementsMatch(t, []string{own.String(), ops.String(), hr.String()}, scoped("ops", "hr"))
	w.TrustKey = []byte(strings.Repeat("k", policy.MinTrustKey))
	require.Equal(t, []string{own.String()}, scoped("ops", "hr"), "a caller cannot grant itself scopes")
	token, err := policy.SignTrust(w.TrustKey, w.p, schema.TrustContext{Scopes: []string{"hr"}},
		time.Now().Add(time.Minute))
	require.NoError(t, err)
	out := w.asked(func(r *schema.RecallRequest) { r.Trust = &schema.TrustContext{Token: token} })
	require.ElementsMatch(t, []string{own.String(), hr.String()}, ids(out))
	require.Equal(t, []string{"hr"}, out.Meta.Trust.Scopes)
}

// Hidden results of a channel are not counted either.
func TestMetaCountsNothingHidden(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	seen := w.remember("a salary")
	other := w.p
	other.Agent = "b"
	hidden := []uuid.UUID{seen}
	for i := range 9 {
		hidden = append(hidden, w.put(other, schema.VisibilityPrivate,
			schema.Candidate{Content: fmt.Sprintf("salary %d", i)}))
	}
	w.Index = hitting(hidden...)
	require.Equal(t, 1, w.recall("salary").Meta.Channels[rank.ChannelVector])
}
