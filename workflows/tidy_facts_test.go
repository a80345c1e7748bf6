package workflows_test

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mneme/mneme/api"
	"github.com/mneme/mneme/internal/testkit"
	"github.com/mneme/mneme/internal/testkit/harness"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/workflows/learn"
)

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
