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

// sessionEpisode is the episode of one session in which the user says something in an environment.
func sessionEpisode(t testing.TB, session, says, kind string, at time.Time) schema.MemoryRecord {
	t.Helper()
	payload, err := json.Marshal(map[string]any{"kind": "episodic", "outcome": "success",
		"environment": map[string]any{"context": map[string]any{"project_kind": kind}},
		"timeline": []map[string]any{{"t": at, "event_kind": "user.injected", "ref": "evt://" + session,
			"summary": "user: " + says}}})
	require.NoError(t, err)
	return schema.MemoryRecord{Type: schema.TypeEpisodic, Payload: payload, Session: session, Confidence: 1,
		Importance: 0.5, Salience: 1, SourceTrust: 1, Sensitivity: schema.SensitivityLow, OccurredAt: at}
}

// The preference of the RFC: in sessions of Go projects the user prefers one tool, and in Python projects another. Both
// become facts with their conditions, and a recall with a project's context returns the one that applies.
func TestPreferencesForkByProjectKind(t *testing.T) {
	t.Parallel()
	h := harness.New(t, nil)
	p := testkit.Principal()
	at := time.Now().Add(-time.Hour)
	for i := range 3 {
		insert(t, h, p, schema.VisibilityPrivate,
			sessionEpisode(t, fmt.Sprint("go-", i), "I prefer gofmt for formatting.", "go",
				at.Add(time.Duration(i)*time.Minute)),
			sessionEpisode(t, fmt.Sprint("py-", i), "I prefer black for formatting.", "python",
				at.Add(time.Duration(i)*time.Minute)))
	}
	in := privateOf(p)
	in.Shadow = true
	_, out := learnNow(t, h, learn.UpdateFacts, in)
	require.Equal(t, 2, out.Added)
	require.Empty(t, contents(t, h, "type = 'semantic'"))

	run, out := learnNow(t, h, learn.UpdateFacts, privateOf(p))
	require.Equal(t, 2, out.Added, "%+v", out)
	require.NotContains(t, historyText(t, h, run), "gofmt")
	db := testkit.Owner(t, h.DatabaseURL)
	require.Equal(t, []string{"I prefer black for formatting. python", "I prefer gofmt for formatting. go"},
		testkit.Strings(t, db, `SELECT content || ' ' || (conditions->>'project_kind') FROM memories
			WHERE live AND type = 'semantic' AND created_by = 'consolidation' ORDER BY 1`))
	require.Equal(t, 6, testkit.Rows(t, db, "memory_links", "predicate = 'derived_from'"))
	testkit.CheckInvariants(t, db)
	recaller := h.Recaller()
	for kind, want := range map[string]string{"go": "I prefer gofmt for formatting.",
		"python": "I prefer black for formatting."} {
		found, err := recaller.Recall(context.Background(), schema.RecallRequest{Principal: p,
			Query: "What does the user prefer for formatting?", Types: []schema.MemoryType{schema.TypeSemantic},
			Context: json.RawMessage(fmt.Sprintf(`{"project_kind": %q}`, kind))})
		require.NoError(t, err)
		require.Len(t, found.Results, 1)
		require.Equal(t, want, found.Results[0].Content)
	}

	before := testkit.Digest(t, db, "memories", "true")
	_, out = learnNow(t, h, learn.UpdateFacts, privateOf(p))
	require.Equal(t, api.LearnResult{Outcome: api.OutcomeOK}, out)
	full := privateOf(p)
	full.Full = true
	_, out = learnNow(t, h, learn.UpdateFacts, full)
	require.Zero(t, out.Added+out.Updated+out.Replaced+out.Contested, "%+v", out)
	require.Equal(t, before, testkit.Digest(t, db, "memories", "true"))

	insert(t, h, p, schema.VisibilityPrivate, sessionEpisode(t, "go-9", "I prefer gofmt for formatting.", "go", at))
	_, out = learnNow(t, h, learn.UpdateFacts, privateOf(p))
	require.Equal(t, 1, out.Updated, "%+v", out)
	require.Zero(t, out.Added)
}

// Two values that are said equally often are both contested, and what a run reports as contested is. A third one joins
// them.
func TestUpdateFactsCountsWhatItContests(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		said []string
		want api.LearnResult
	}{
		{[]string{"My editor is Vim.", "My editor is Emacs."}, api.LearnResult{Added: 1, Contested: 1}},
		{[]string{"My editor is Vim.", "My editor is Emacs.", "My editor is Helix."},
			api.LearnResult{Added: 1, Contested: 2}},
	} {
		h := harness.New(t, nil)
		p := testkit.Principal()
		at := time.Now().Add(-time.Hour)
		for i, text := range append(c.said, c.said...) {
			m := sessionEpisode(t, fmt.Sprint("s-", i), text, "go", at.Add(time.Duration(i)*time.Minute))
			m.Who = "Ana"
			insert(t, h, p, schema.VisibilityPrivate, m)
		}
		_, out := learnNow(t, h, learn.UpdateFacts, privateOf(p))
		require.Equal(t, []int{c.want.Added, c.want.Contested}, []int{out.Added, out.Contested}, "%+v", out)
		db := testkit.Owner(t, h.DatabaseURL)
		require.Equal(t, len(c.said), testkit.Rows(t, db, "memories", "type = 'semantic' AND status = 'contested'"))
		require.Equal(t, len(c.said), testkit.Rows(t, db, "memories", "type = 'semantic'"))
		testkit.CheckInvariants(t, db)

		full := privateOf(p)
		full.Full = true
		learnNow(t, h, learn.UpdateFacts, full)
		require.Equal(t, len(c.said), testkit.Rows(t, db, "memories", "type = 'semantic'"), "nothing is stored again")
	}
}

// What a person says about themselves is stored with their name, as ingest stores it, and reinforces what ingest has
// stored.
func TestUpdateFactsNamesTheSpeaker(t *testing.T) {
	t.Parallel()
	h := harness.New(t, nil)
	p := testkit.Principal()
	at := time.Now().Add(-time.Hour)
	held := states("Maya lives in Porto.", 0.9, "evt://1")
	held.Who = "Maya"
	insert(t, h, p, schema.VisibilityPrivate, held)
	say := func(text string, sessions ...string) {
		for i, session := range sessions {
			m := sessionEpisode(t, session, text, "go", at.Add(time.Duration(i)*time.Minute))
			m.Who = "Maya"
			insert(t, h, p, schema.VisibilityPrivate, m)
		}
	}
	say("I live in Porto.", "a-1", "a-2")
	say("I keep my notes in Obsidian.", "b-1", "b-2")
	_, out := learnNow(t, h, learn.UpdateFacts, privateOf(p))
	require.Equal(t, []int{1, 1}, []int{out.Added, out.Updated}, "%+v", out)
	stored := []string{"Maya keeps Maya's notes in Obsidian.", "Maya lives in Porto."}
	require.ElementsMatch(t, stored, contents(t, h, "type = 'semantic'"))
	say("I keep my notes in Obsidian.", "b-3")
	_, out = learnNow(t, h, learn.UpdateFacts, privateOf(p))
	require.Equal(t, []int{0, 1}, []int{out.Added, out.Updated}, "%+v", out)
	require.ElementsMatch(t, stored, contents(t, h, "type = 'semantic'"))
}

// What an agent heard in private does not replace a fact of its group with a text that the group reads.
func TestPrivateStatementsDoNotReachAGroup(t *testing.T) {
	t.Parallel()
	h := harness.New(t, nil)
	p := testkit.Principal()
	p.PolicyGroup = "team"
	held := states("My editor is Vim.", 0.9, "evt://1")
	held.Who, held.OccurredAt = "user", time.Now().Add(-48*time.Hour)
	insert(t, h, p, schema.VisibilityGroup, held)
	at := time.Now().Add(-time.Hour)
	for i := range 3 {
		insert(t, h, p, schema.VisibilityPrivate, sessionEpisode(t, fmt.Sprint("s-", i),
			"I switched: my editor is Emacs now.", "go", at.Add(time.Duration(i)*time.Minute)))
	}
	_, out := learnNow(t, h, learn.UpdateFacts, privateOf(p))
	require.Equal(t, 1, out.Added, "%+v", out)
	require.Equal(t, []string{"My editor is Vim."}, contents(t, h, "type = 'semantic' AND visibility = 'group'"))
	require.Equal(t, []string{"I switched: my editor is Emacs now."},
		contents(t, h, "type = 'semantic' AND visibility = 'private'"))
	in := privateOf(p)
	in.Full = true
	_, out = learnNow(t, h, learn.UpdateFacts, in)
	require.Zero(t, out.Added+out.Updated+out.Replaced+out.Contested, "%+v", out)
}

// A speaker who repeats a statement fifty times is one source, in any number of sessions. Two other speakers make it a
// fact.
func TestRepetitionByOneSpeakerIsNoFact(t *testing.T) {
	t.Parallel()
	h := harness.New(t, nil)
	p := testkit.Principal()
	said := func(who, session string) schema.MemoryRecord {
		m := sessionEpisode(t, session, "The billing service runs on Oracle.", "go", time.Now().Add(-time.Hour))
		m.Who = who
		return m
	}
	for i := range 50 {
		insert(t, h, p, schema.VisibilityPrivate, said("Mallory", fmt.Sprint("m-", i)))
	}
	_, out := learnNow(t, h, learn.UpdateFacts, privateOf(p))
	require.Equal(t, api.LearnResult{Read: 1, Outcome: api.OutcomeOK}, out)
	insert(t, h, p, schema.VisibilityPrivate, said("Ana", "a-1"), said("Bea", "b-1"))
	_, out = learnNow(t, h, learn.UpdateFacts, privateOf(p))
	require.Equal(t, 1, out.Added)
}

// What was corrected or taken back stays so, although earlier sessions said it more often. Said again later, in two
// sessions, it counts.
func TestUpdateFactsKeepsACorrection(t *testing.T) {
	t.Parallel()
	h := harness.New(t, nil)
	o := onlooker{t, h, testkit.Principal()}
	day := func(n int) time.Time { return time.Date(2026, 2, n, 9, 0, 0, 0, time.UTC) }
	say := func(text string, days ...int) {
		for _, n := range days {
			m := sessionEpisode(t, fmt.Sprint(text, n), text, "go", day(n))
			m.Who = "Maya"
			insert(t, h, o.p, schema.VisibilityPrivate, m)
		}
	}
	say("I live in Lyon.", 2, 3, 4, 5, 6, 7)
	say("I like tabs.", 2, 3, 4, 5, 6, 7)
	say("I drive a Skoda.", 2, 3)
	old := told(t, o, day(1), "I live in Lyon.", nil)
	tabs := told(t, o, day(1), "I like tabs.", nil)
	moved := told(t, o, day(10), "I moved from Lyon to Oslo.", nil)
	told(t, o, day(11), "Forget that I like tabs.", nil)
	told(t, o, day(12), "I drive a Volvo now.", nil)
	require.Equal(t, schema.StatusSuperseded, o.get(old.MemoryID).Status)
	require.Equal(t, schema.StatusRetracted, o.get(tabs.MemoryID).Status)

	facts := func() []string { return contents(t, h, "type = 'semantic' AND status = 'active'") }
	held := facts()
	_, out := learnNow(t, h, learn.UpdateFacts, privateOf(o.p))
	require.Equal(t, held, facts(), "%+v", out)
	require.Equal(t, schema.StatusActive, o.get(moved.MemoryID).Status)

	say("I like tabs.", 20, 21)
	_, out = learnNow(t, h, learn.UpdateFacts, privateOf(o.p))
	require.Equal(t, 1, out.Added, "%+v", out)
	require.Len(t, facts(), len(held)+1)
}

// A run does not begin again because the newest episode was forgotten.
func TestUpdateFactsAfterTheNewestEpisodeIsForgotten(t *testing.T) {
	t.Parallel()
	h := harness.New(t, nil)
	p := testkit.Principal()
	at := time.Now().Add(-time.Hour)
	var ids []uuid.UUID
	for i := range 3 {
		ids = append(ids, insert(t, h, p, schema.VisibilityPrivate, sessionEpisode(t, fmt.Sprint("s-", i),
			"I prefer gofmt for formatting.", "go", at.Add(time.Duration(i)*time.Minute)))...)
	}
	_, out := learnNow(t, h, learn.UpdateFacts, privateOf(p))
	require.Equal(t, 1, out.Read)
	forgetNow(t, h, p, ids[2].String())
	_, out = learnNow(t, h, learn.UpdateFacts, privateOf(p))
	require.Equal(t, api.LearnResult{Outcome: api.OutcomeOK}, out)
}
