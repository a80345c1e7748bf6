package workflows_test

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/client"

	"github.com/mneme/mneme/api"
	"github.com/mneme/mneme/internal/testkit"
	"github.com/mneme/mneme/internal/testkit/harness"
	"github.com/mneme/mneme/memory/proposals"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/store/edit"
	"github.com/mneme/mneme/workflows"
	"github.com/mneme/mneme/workflows/learn"
)

// learnNow runs one learning workflow over a principal's private memories.
func learnNow(t testing.TB, h *harness.Harness, workflow any, in api.LearnInput) (client.WorkflowRun, api.LearnResult) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), harness.WaitLimit)
	defer cancel()
	run, err := h.Temporal.ExecuteWorkflow(ctx, client.StartWorkflowOptions{ID: "learn/" + uuid.NewString(),
		TaskQueue: h.TaskQueue}, workflow, in)
	require.NoError(t, err)
	var out api.LearnResult
	require.NoError(t, run.Get(ctx, &out))
	return run, out
}

func privateOf(p schema.Principal) api.LearnInput {
	return api.LearnInput{LearnScope: api.LearnScope{Tenant: p.Tenant, Agent: p.Agent, Project: p.Project,
		Scope: p.Scope}}
}

// states returns a statement as a semantic record.
func states(content string, confidence float64, source string) schema.MemoryRecord {
	object, _ := json.Marshal(content)
	payload := fmt.Sprintf(`{"kind":"semantic","subject":"Ana","predicate":"states","object":%s,
		"validity":{"mode":"global"},"cardinality":"many","evidence":[{"kind":"event","ref":%q}]}`, object, source)
	return schema.MemoryRecord{Type: schema.TypeSemantic, Content: content, Who: "Ana", Confidence: confidence,
		Importance: 0.5, Salience: 1, SourceTrust: 1, Sensitivity: schema.SensitivityLow,
		Payload:    json.RawMessage(payload),
		Provenance: schema.Provenance{Sources: []schema.Ref{{Kind: "event", Ref: source}}}}
}

func insert(t testing.TB, h *harness.Harness, p schema.Principal, v schema.Visibility, records ...schema.MemoryRecord,
) []uuid.UUID {
	t.Helper()
	var out []uuid.UUID
	for _, m := range records {
		result, err := h.Store.Put(context.Background(), edit.PutInput{
			Operation: schema.OperationRef{Tenant: p.Tenant, ID: uuid.NewString(), WorkflowID: "test"},
			Request: schema.PutRequest{Operation: schema.Operation{Principal: p}, Visibility: v,
				Records: []schema.MemoryRecord{m}}, Policy: proposals.DefaultWritePolicy(), Now: time.Now()})
		require.NoError(t, err)
		require.Equal(t, schema.PutCreated, result.Items[0].Status)
		out = append(out, uuid.MustParse(result.Items[0].ID))
	}
	return out
}

func contents(t testing.TB, h *harness.Harness, where string) []string {
	t.Helper()
	return testkit.Strings(t, testkit.Owner(t, h.DatabaseURL),
		`SELECT content FROM memories m WHERE live AND `+where+` ORDER BY 1`)
}

// Records with the same meaning become one, with the best confidence and the evidence of all. Shadow mode changes
// nothing, and a second run does nothing.
func TestResolveDuplicates(t *testing.T) {
	t.Parallel()
	h := harness.New(t, nil)
	p := testkit.Principal()
	ids := insert(t, h, p, schema.VisibilityPrivate,
		states("The xyzzycanary service runs on Postgres.", 0.6, "evt://1"),
		states("xyzzycanary service runs on Postgres", 0.9, "evt://2"),
		states("The xyzzycanary service really runs on Postgres!", 0.5, "evt://3"),
		states("Tea is served at noon.", 0.9, "evt://4"))
	other := testkit.Principal()
	other.Tenant = p.Tenant
	other.Agent = "another"
	insert(t, h, other, schema.VisibilityPrivate, states("xyzzycanary service runs on Postgres", 0.9, "evt://5"))
	db := testkit.Owner(t, h.DatabaseURL)

	in := privateOf(p)
	in.Shadow = true
	_, out := learnNow(t, h, learn.ResolveDuplicates, in)
	require.Equal(t, 2, out.Merged)
	require.Equal(t, 5, testkit.Rows(t, db, "memories", "live"), "shadow mode changes nothing")

	run, out := learnNow(t, h, learn.ResolveDuplicates, privateOf(p))
	require.Equal(t, api.LearnResult{Groups: 1, Updated: 1, Replaced: 2, Merged: 2, Outcome: api.OutcomeOK,
		Read: out.Read},
		out)
	require.NotContains(t, historyText(t, h, run), "xyzzycanary")
	require.Equal(t, []string{"Tea is served at noon.", "xyzzycanary service runs on Postgres"},
		contents(t, h, "agent_id <> 'another'"))
	require.Equal(t, 2, testkit.Rows(t, db, "memories", "status = 'superseded' AND superseded_by = $1", ids[1]))
	require.Equal(t, 2, testkit.Rows(t, db, "memory_links", "source_id = $1 AND predicate = 'derived_from'", ids[1]))
	require.Equal(t, []string{"evt://1", "evt://2", "evt://3"}, testkit.Strings(t, db,
		`SELECT ref FROM memory_provenance WHERE memory_id = $1 AND kind = 'event' ORDER BY 1`, ids[1]))
	require.Equal(t, 3, testkit.Rows(t, db, "memory_history", "changed_by = 'consolidation' AND action = 'merge'"))
	testkit.CheckInvariants(t, db)

	before := testkit.Digest(t, db, "memories", "true")
	_, out = learnNow(t, h, learn.ResolveDuplicates, privateOf(p))
	require.Zero(t, out.Groups)
	_, out = learnNow(t, h, learn.ResolveDuplicates, privateOf(p))
	require.Zero(t, out.Read, "no pair is read twice")
	require.Equal(t, before, testkit.Digest(t, db, "memories", "true"))
}

// Records with times of their own, as from an import, are compared although a run has read later ones.
func TestDuplicatesFromAnImport(t *testing.T) {
	t.Parallel()
	h := harness.New(t, nil)
	p := testkit.Principal()
	insert(t, h, p, schema.VisibilityPrivate, states("Tea is served at noon.", 0.6, "evt://1"))
	_, out := learnNow(t, h, learn.ResolveDuplicates, privateOf(p))
	require.Equal(t, 1, out.Read)
	for i, content := range []string{"The cache runs on Redis.", "cache runs on Redis"} {
		m := states(content, 0.9-0.1*float64(i), fmt.Sprintf("evt://%d", i+2))
		m.CreatedAt = time.Now().AddDate(-2, 0, i)
		m.UpdatedAt = m.CreatedAt.AddDate(0, 1, 0)
		insert(t, h, p, schema.VisibilityPrivate, m)
	}
	_, out = learnNow(t, h, learn.ResolveDuplicates, privateOf(p))
	require.Equal(t, 1, out.Merged)
	require.Equal(t, []string{"Tea is served at noon.", "The cache runs on Redis."}, contents(t, h, "true"))
}

// Records that differ in a negation, a number, a name, a date, a condition or a person are never merged.
func TestAdversarialPairsAreNotMerged(t *testing.T) {
	t.Parallel()
	h := harness.New(t, nil)
	p := testkit.Principal()
	pairs := [][2]string{
		{"Deploy on Fridays.", "Do not deploy on Fridays."},
		{"The cache can be cleared.", "The cache can't be cleared."},
		{"The timeout is 30 seconds.", "The timeout is 300 seconds."},
		{"Ana owns the billing service.", "Anna owns the billing service."},
		{"The review is on 2026-03-01.", "The review is on 2026-03-02."},
		{"Use Postgres.", "Use Postgres in staging."},
		{"Restart the server before the migration.", "Restart the server after the migration."},
		{"Only admins may delete.", "Admins may delete."},
		{"Version 1.2 is supported.", "Version 1.20 is supported."},
		{"Alice reports to Bob.", "Bob reports to Alice."},
		{"The invoices service is owned by Cleo.", "Dora owns the invoices service."},
		{"Eve lives in Porto.", "Eve's home was Porto."},
		{"We use Redis in staging.", "In production, we use Redis."},
		{"We use Kafka in staging.", "In staging, we do not use Kafka."},
		{"The lease is 5 minutes.", "The lease is six minutes."},
		{"The worker listens on port 8080.", "Port 8081 is what the worker listens on."},
		{"The audit is on 1 March 2026.", "The audit is on 2026-03-02."},
		{"After the freeze, Finn is on call.", "Before the freeze, Finn is on call."},
	}
	for i, pair := range pairs {
		insert(t, h, p, schema.VisibilityPrivate, states(pair[0], 0.9, fmt.Sprint("evt://a", i)),
			states(pair[1], 0.9, fmt.Sprint("evt://b", i)))
	}
	conditional := states("The build uses clang.", 0.9, "evt://c")
	conditional.Payload = json.RawMessage(`{"kind":"semantic","subject":"Ana","predicate":"states",
		"object":"The build uses clang.","validity":{"mode":"conditional","conditions":{"os":"macos"}},
		"cardinality":"many","evidence":[{"kind":"event","ref":"evt://c"}]}`)
	insert(t, h, p, schema.VisibilityPrivate, conditional, states("The build uses clang", 0.9, "evt://d"))
	mine, yours := states("My editor is Vim.", 0.9, "evt://e"), states("my editor is really vim", 0.9, "evt://f")
	yours.Who = "Bea"
	insert(t, h, p, schema.VisibilityPrivate, mine, yours)
	insert(t, h, p, schema.VisibilityShared, states("Use Postgres", 0.9, "evt://g"))
	about := func(subject string) schema.MemoryRecord {
		m := states(map[string]string{"Ana": "She prefers tea", "Bea": "She really prefers tea"}[subject], 0.9,
			"evt://"+subject)
		m.Payload = json.RawMessage(fmt.Sprintf(`{"kind":"semantic","subject":%q,"predicate":"prefers","object":"tea",
			"validity":{"mode":"global"},"evidence":[{"kind":"event","ref":"evt://h"}]}`, subject))
		return m
	}
	insert(t, h, p, schema.VisibilityPrivate, about("Ana"), about("Bea"))

	before := contents(t, h, "true")
	_, out := learnNow(t, h, learn.ResolveDuplicates, privateOf(p))
	require.Zero(t, out.Merged)
	require.NotZero(t, out.Read)
	require.Equal(t, before, contents(t, h, "true"))
}

// Facts with the same meaning in another form are merged: those of one agent, from any session, and those of several
// agents if all of them may read both. Private facts of one agent are not merged with those of others.
func TestRestatedFactsAreMerged(t *testing.T) {
	t.Parallel()
	h := harness.New(t, nil)
	p := testkit.Principal()
	b := p
	b.Agent = "second"
	ids := insert(t, h, p, schema.VisibilityPrivate,
		states("The xyzzycanary service is owned by Bea.", 0.6, "evt://1"),
		states("Bea owns the xyzzycanary service.", 0.9, "evt://2"),
		states("Cem owns the xyzzycanary service.", 0.9, "evt://3"),
		states("Bea owns the billing service.", 0.9, "evt://4"))
	insert(t, h, b, schema.VisibilityPrivate, states("The xyzzycanary service is owned by Bea", 0.9, "evt://5"))
	insert(t, h, p, schema.VisibilityShared, states("We use Postgres in staging.", 0.8, "evt://6"))
	insert(t, h, b, schema.VisibilityShared, states("In staging, we use Postgres.", 0.9, "evt://7"))
	insert(t, h, b, schema.VisibilityShared, states("In production, we use Postgres.", 0.9, "evt://8"))

	in := privateOf(p)
	in.Shadow = true
	_, out := learnNow(t, h, learn.ResolveDuplicates, in)
	require.Equal(t, 1, out.Merged)
	run, out := learnNow(t, h, learn.ResolveDuplicates, privateOf(p))
	require.Equal(t, []int{1, 1, 1, 0}, []int{out.Groups, out.Merged, out.Replaced, out.Dropped})
	require.NotContains(t, historyText(t, h, run), "xyzzycanary")
	require.Equal(t, []string{"Bea owns the billing service.", "Bea owns the xyzzycanary service.",
		"Cem owns the xyzzycanary service."}, contents(t, h, "visibility = 'private' AND agent_id <> 'second'"))
	db := testkit.Owner(t, h.DatabaseURL)
	require.Equal(t, []string{"evt://1", "evt://2"}, testkit.Strings(t, db,
		`SELECT ref FROM memory_provenance WHERE memory_id = $1 AND kind = 'event' ORDER BY 1`, ids[1]))
	require.Equal(t, 1, testkit.Rows(t, db, "memory_history", "reason = 'says the same (restated)' AND memory_id = $1",
		ids[0]))
	_, out = learnNow(t, h, learn.ResolveDuplicates, privateOf(b))
	require.Zero(t, out.Merged)

	in = privateOf(p)
	in.Agent = ""
	_, out = learnNow(t, h, learn.ResolveDuplicates, in)
	require.Equal(t, 1, out.Merged)
	require.Equal(t, []string{"In production, we use Postgres.", "In staging, we use Postgres."},
		contents(t, h, "visibility = 'shared'"))
	_, out = learnNow(t, h, learn.ResolveDuplicates, in)
	require.Zero(t, out.Merged+out.Groups)
	testkit.CheckInvariants(t, db)
}

// A pinned record is kept. A less trusted record is not merged into another. Records of several agents are merged only
// if all of them may read both.
func TestDuplicatesThatAreNotMerged(t *testing.T) {
	t.Parallel()
	h := harness.New(t, nil)
	p := testkit.Principal()
	pinned := states("The office opens at 8.", 0.5, "evt://1")
	pinned.Lifecycle.Pinned = true
	doubtful := states("The office really opens at 8.", 1, "evt://3")
	doubtful.SourceTrust = 0.3
	insert(t, h, p, schema.VisibilityPrivate, pinned, states("office opens at 8", 0.9, "evt://2"), doubtful)
	b := p
	b.Agent = "second"
	insert(t, h, p, schema.VisibilityShared, states("Lunch is at noon.", 0.8, "evt://4"))
	insert(t, h, b, schema.VisibilityShared, states("The lunch is at noon", 0.9, "evt://5"))

	_, out := learnNow(t, h, learn.ResolveDuplicates, privateOf(p))
	require.Equal(t, 1, out.Merged)
	require.Equal(t, map[string]int{"less_trusted": 1}, out.Refused)
	require.Equal(t, []string{"The office opens at 8.", "The office really opens at 8."},
		contents(t, h, "visibility = 'private'"))
	require.Equal(t, []string{"0.9 1"}, testkit.Strings(t, testkit.Owner(t, h.DatabaseURL),
		`SELECT confidence || ' ' || source_trust FROM memories WHERE live AND pinned`))

	in := privateOf(p)
	in.Agent = ""
	_, out = learnNow(t, h, learn.ResolveDuplicates, in)
	require.Equal(t, 1, out.Merged)
	require.Equal(t, []string{"The lunch is at noon"}, contents(t, h, "visibility = 'shared'"))
}

// Old turns of a thread become a summary that keeps names and numbers. The turns are unchanged but decay faster.
// Erasing one of them with its derivations erases the summary, and the next run summarizes the remaining turns.
func TestCompressEpisodes(t *testing.T) {
	t.Parallel()
	h := harness.New(t, func(d *workflows.Dependencies) { d.NoPipeline = true })
	p := testkit.Principal()
	req := testkit.Request(p, schema.SourceUserInput)
	long := time.Now().Add(-30 * 24 * time.Hour)
	for i := range 8 {
		at := long.Add(time.Duration(i) * time.Hour)
		req.Candidates = append(req.Candidates,
			schema.Candidate{Session: "s-1", Speaker: "Ana", SourceKind: schema.SourceUserInput,
				OccurredAt: &at, Content: fmt.Sprintf("The xyzzycanary build %d failed on Lisbon after %d minutes.",
					4000+i,
					20+i)})
	}
	h.Ingest(t, req)
	db := testkit.Owner(t, h.DatabaseURL)
	require.Equal(t, 8, testkit.Rows(t, db, "memories", "live AND type = 'episodic'"))
	_, err := db.Exec(context.Background(), `UPDATE memories
		SET created_at = created_at - interval '30 days', recorded_at = recorded_at - interval '30 days'`)
	require.NoError(t, err)
	texts := contents(t, h, "type = 'episodic'")

	in := privateOf(p)
	in.Shadow = true
	_, out := learnNow(t, h, learn.CompressEpisodes, in)
	require.Equal(t, 1, out.Added, "%+v", out)
	require.Zero(t, testkit.Rows(t, db, "memories", "type = 'semantic'"))

	run, out := learnNow(t, h, learn.CompressEpisodes, privateOf(p))
	require.Equal(t, api.LearnResult{Read: 8, Groups: 1, Added: 1, Updated: 6, Outcome: api.OutcomeOK}, out)
	require.NotContains(t, historyText(t, h, run), "xyzzycanary")
	summary := contents(t, h, "type = 'semantic'")
	require.Len(t, summary, 1)
	for i := range 6 {
		require.Contains(t, summary[0], fmt.Sprint(4000+i))
	}
	require.NotContains(t, summary[0], "4006", "the newest two stay")
	require.Equal(t, texts, contents(t, h, "type = 'episodic'"), "episodes are not edited")
	require.Equal(t, 6, testkit.Rows(t, db, "memory_links", "predicate = 'derived_from'"))
	require.Equal(t, 6, testkit.Rows(t, db, "memories",
		"type = 'episodic' AND half_life < (SELECT max(half_life) FROM memories WHERE type = 'episodic')"))
	require.Equal(t, 7, testkit.Rows(t, db, "memory_history", "changed_by = 'consolidation'"))
	testkit.CheckInvariants(t, db)

	for range 2 { // nothing is compressed twice
		again := privateOf(p)
		again.Full = true
		_, out = learnNow(t, h, learn.CompressEpisodes, again)
		require.Zero(t, out.Added)
		_, out = learnNow(t, h, learn.CompressEpisodes, privateOf(p))
		require.Zero(t, out.Groups)
	}

	ids := testkit.Strings(t, db, `SELECT id::text FROM memories WHERE type = 'episodic' ORDER BY occurred_at LIMIT 1`)
	forget, preview := startForget(t, h, forgetRequest(p, schema.ForgetErase, schema.Selector{IDs: ids}))
	if preview.State == schema.ForgetPreviewed {
		confirmForget(t, h, p, preview)
	}
	receiptOf(t, forget)
	require.Empty(t, contents(t, h, "type = 'semantic'"), "the summary repeats what was erased")
	again := privateOf(p)
	again.Full = true
	_, out = learnNow(t, h, learn.CompressEpisodes, again)
	require.Equal(t, 1, out.Added)
	require.NotContains(t, contents(t, h, "type = 'semantic'")[0], "4000")
}
