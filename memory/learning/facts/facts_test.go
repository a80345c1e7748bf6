package facts_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/mneme/mneme/memory/learning/facts"
	"github.com/mneme/mneme/memory/learning/promote"
	"github.com/mneme/mneme/memory/learning/trace"
)

func said(n int, who, text, kind string) facts.Observation {
	o := facts.Observation{ID: fmt.Sprint("o", n), Text: text, Who: who, At: time.Unix(int64(n)*3600, 0),
		Source: trace.Source{Session: fmt.Sprint("s", n), Origin: who, Trust: 0.9, Witnessed: true}}
	if kind != "" {
		o.Context = map[string]string{"project_kind": kind, "build": fmt.Sprint(n)}
	}
	return o
}

func learn(known []facts.Fact, seen ...facts.Observation) []facts.Update {
	var l facts.Learner
	for _, f := range known {
		l.Know(f)
	}
	for _, o := range seen {
		l.Add(o)
	}
	return l.Updates()
}

func TestRepeatedStatementBecomesFact(t *testing.T) {
	got := learn(nil, said(1, "ana", "I prefer Go", ""), said(2, "ana", "I prefer Go", ""))
	require.Len(t, got, 1)
	require.Equal(t, facts.New, got[0].Action)
	require.Equal(t, 1, got[0].Sources, "one person counts as one source")
	require.Equal(t, []string{"o1", "o2"}, got[0].Evidence)
	require.Empty(t, learn(nil, said(1, "ana", "I prefer Go", "")), "once is not enough")
	one := []facts.Observation{said(1, "bot", "The staging server is in Berlin", ""),
		said(2, "bot", "The staging server is in Berlin", "")}
	require.Empty(t, learn(nil, one...), "a fact about others needs several sources")
	require.Len(t, learn(nil, append(one, said(3, "eva", "The staging server is in Berlin", ""))...), 1)
}

// What a source with little trust repeats is no evidence: it neither makes a statement of someone else a fact, nor
// helps it to replace a stored fact, nor reinforces one.
func TestSourcesWithLittleTrustDoNotCount(t *testing.T) {
	const berlin, oslo = "The staging server is in Berlin", "The staging server is in Oslo"
	doubtful := func(n int, who, text string) facts.Observation {
		o := said(n, who, text, "")
		o.Source.Trust = 0.1
		return o
	}
	require.Empty(t, learn(nil, said(1, "ana", berlin, ""), doubtful(2, "bot", berlin), doubtful(3, "bob", berlin)))
	known := []facts.Fact{{ID: "f", Text: oslo, Confidence: 0.9, Trust: 0.9, Sources: 1}}
	require.Empty(t, learn(known, said(1, "ana", berlin, ""), doubtful(2, "x", berlin), doubtful(3, "y", berlin),
		doubtful(4, "z", berlin)))
	require.Empty(t, learn(known, doubtful(2, "bot", oslo), doubtful(3, "bob", oslo)))
	require.Len(t, learn(nil, said(1, "ana", berlin, ""), said(2, "bob", berlin, ""), doubtful(3, "x", berlin)), 1)
}

func TestKnownFactIsReinforced(t *testing.T) {
	known := []facts.Fact{{ID: "f", Text: "I prefer Go", Who: "ana", Confidence: 0.8, Trust: 0.9, Sources: 1}}
	got := learn(known, said(1, "ana", "I prefer Go.", ""), said(2, "ana", "I prefer Go", ""))
	require.Len(t, got, 1)
	require.Equal(t, facts.Reinforce, got[0].Action)
	require.Equal(t, "f", got[0].Target)
	require.GreaterOrEqual(t, got[0].Confidence, 0.8)
}

func TestDifferentContextsFork(t *testing.T) {
	var seen []facts.Observation
	for i := range 3 {
		seen = append(seen, said(i, "ana", "I prefer Go", "backend_service"),
			said(10+i, "ana", "I prefer Python", "data_science"))
	}
	got := learn(nil, seen...)
	require.Len(t, got, 2)
	require.Equal(t, promote.Conditions{"project_kind": {"backend_service"}}, got[0].Conditions)
	require.Equal(t, promote.Conditions{"project_kind": {"data_science"}}, got[1].Conditions)
	for _, u := range got {
		require.Equal(t, facts.Fork, u.Action)
	}
	known := []facts.Fact{{ID: "f", Text: "I prefer Go", Who: "ana", Confidence: 0.8, Trust: 0.9, Sources: 1}}
	got = learn(known, seen...)
	require.Len(t, got, 2)
	require.Equal(t, facts.Reinforce, got[0].Action)
	require.Equal(t, "f", got[1].Target)
	require.Equal(t, promote.Conditions{"project_kind": {"data_science"}}, got[1].Conditions)
	require.Equal(t, promote.Conditions{"project_kind": {"backend_service"}}, got[1].TargetConditions)
}

// A fact that ingest has stored in the third person is the statement that its speaker makes in the first, or with another
// word that does not change it. Two stored facts stay two.
func TestFactInTheThirdPersonIsReinforced(t *testing.T) {
	known := []facts.Fact{{ID: "f", Text: "Maya lives in Porto.", Who: "Maya", Confidence: 0.8, Trust: 0.9, Sources: 1},
		{ID: "g", Text: "I live in Porto", Who: "Maya", Confidence: 0.8, Trust: 0.9, Sources: 1}}
	for _, text := range []string{"I live in Porto.", "Maya lives in Porto."} {
		got := learn(known[:1], said(1, "Maya", text, ""), said(2, "Maya", text, ""))
		require.Len(t, got, 1)
		require.Equal(t, facts.Reinforce, got[0].Action, "%+v", got[0])
		require.Len(t, learn(known, said(1, "Maya", text, ""), said(2, "Maya", text, "")), 1)
	}
	got := learn(known, said(1, "Ben", "I live in Porto.", ""), said(2, "Ben", "I live in Porto.", ""))
	require.Equal(t, facts.New, got[0].Action, "%+v", got[0])
}

// A speaker who is named in a statement is its only source, and a later one replaces it.
func TestStatementsOfTheSpeakerByName(t *testing.T) {
	for _, who := range []string{"Maya", "Maya Lindqvist"} {
		got := learn(nil, said(1, who, who+" lives in Porto.", ""), said(2, who, who+" lives in Porto.", ""))
		require.Len(t, got, 1, who)
		require.Equal(t, facts.New, got[0].Action)
		known := []facts.Fact{{ID: "f", Text: who + " lives in Porto.", Who: who, Confidence: 0.8, Trust: 0.9, Sources: 1}}
		got = learn(known, said(1, who, who+" lives in Lisbon now.", ""), said(2, who, who+" lives in Lisbon now.", ""))
		require.Len(t, got, 1, who)
		require.Equal(t, []any{facts.Replace, "f"}, []any{got[0].Action, got[0].Target})
	}
}

// If neither of two statements that contest each other is stored, the second contests the fact that the first becomes.
func TestContestHasATarget(t *testing.T) {
	got := learn(nil, said(1, "ana", "My editor is Vim", ""), said(2, "ana", "My editor is Emacs", ""),
		said(3, "ana", "My editor is Vim", ""), said(4, "ana", "My editor is Emacs", ""))
	require.Len(t, got, 2)
	require.Equal(t, []any{facts.New, "My editor is Vim", 0}, []any{got[0].Action, got[0].Text, got[0].Rival})
	require.Equal(t, []any{facts.Contest, "My editor is Emacs", 1}, []any{got[1].Action, got[1].Text, got[1].Rival})
	known := []facts.Fact{{ID: "f", Text: "My editor is Vim", Who: "ana", Confidence: 0.9, Trust: 0.9, Sources: 1}}
	got = learn(known, said(2, "ana", "My editor is Emacs", ""), said(4, "ana", "My editor is Emacs", ""))
	require.Len(t, got, 1)
	require.NotEmpty(t, got[0].Target)
	require.Zero(t, got[0].Rival)
}

func TestTwoPeopleMayDiffer(t *testing.T) {
	var seen []facts.Observation
	for i := range 3 {
		seen = append(seen, said(i, "ana", "I prefer Go", "a"), said(10+i, "bob", "I prefer Python", "b"))
	}
	for _, u := range learn(nil, seen...) {
		require.Equal(t, facts.New, u.Action)
		require.Empty(t, u.Conditions)
	}
}

func TestLaterValueReplacesEarlier(t *testing.T) {
	known := []facts.Fact{{ID: "f", Text: "I live in Porto", Who: "ana", Confidence: 0.8, Trust: 0.9, Sources: 1}}
	got := learn(known, said(1, "ana", "I live in Lisbon now", ""), said(2, "ana", "I live in Lisbon now", ""))
	require.Len(t, got, 1)
	require.Equal(t, facts.Replace, got[0].Action)
	require.Equal(t, "f", got[0].Target)
	known[0].Pinned = true
	got = learn(known, said(1, "ana", "I live in Lisbon now", ""), said(2, "ana", "I live in Lisbon now", ""))
	require.Equal(t, facts.Contest, got[0].Action)
}

// A correction stays, although earlier sessions said the opposite more often.
func TestEarlierStatementsDoNotUndoACorrection(t *testing.T) {
	for _, c := range [][2]string{{"I live in Lyon", "I moved from Lyon to Oslo"},
		{"My editor is Vim", "My editor is Emacs now"}, {"I like tabs", "I no longer like tabs"}} {
		fact := facts.Fact{ID: "f", Text: c[1], Who: "ana", Confidence: 0.9, Trust: 0.9, Sources: 1,
			At: time.Unix(100*3600, 0)}
		var seen []facts.Observation
		for i := range 6 {
			seen = append(seen, said(i, "ana", c[0], ""))
		}
		require.Empty(t, learn([]facts.Fact{fact}, seen...), c)
		require.Empty(t, learn([]facts.Fact{fact}, append(seen, said(100, "ana", c[1], ""))...), c)
		fact.At = time.Unix(3*3600, 0)
		require.Len(t, learn([]facts.Fact{fact}, seen...), 1, "it was said before and after")
	}
}

// What was superseded or retracted counts again only if it is said again.
func TestRetiredFactIsNotLearnedFromEarlierSessions(t *testing.T) {
	at := func(n int) time.Time { return time.Unix(int64(n)*3600, 0) }
	learned := func(r facts.Retired, known []facts.Fact, hours ...int) int {
		var l facts.Learner
		for _, f := range known {
			l.Know(f)
		}
		l.Retire(r)
		for _, n := range hours {
			o := said(n, "ana", "I like tabs", "")
			o.Stored = o.At
			require.True(t, l.Add(o))
		}
		return len(l.Updates())
	}
	retracted := facts.Retired{Text: "Ana likes tabs", Who: "ana", At: at(10)}
	require.Zero(t, learned(retracted, nil, 1, 2, 3, 10))
	require.Zero(t, learned(retracted, nil, 1, 2, 11), "once is not enough")
	require.Equal(t, 1, learned(retracted, nil, 1, 2, 11, 12))
	superseded := facts.Retired{Text: "Ana likes tabs", Who: "ana", Until: at(20), At: at(5)}
	require.Zero(t, learned(superseded, nil, 6, 7, 8), "said before the correction and stored after it")
	require.Equal(t, 1, learned(superseded, nil, 21, 22))
	live := []facts.Fact{{ID: "f", Text: "Ana likes tabs", Who: "ana", Confidence: 0.8, Trust: 0.9, Sources: 1}}
	require.Equal(t, 1, learned(retracted, live, 1, 2), "a duplicate was superseded by a fact that holds")
}

func TestRepeatedSourceDoesNotOutweighSeveral(t *testing.T) {
	known := []facts.Fact{{ID: "f", Text: "The staging server is in Berlin", Confidence: 0.9, Trust: 0.9, Sources: 5,
		At: time.Unix(30*3600, 0)}}
	var seen []facts.Observation
	for i := range 50 {
		seen = append(seen, said(i, "bot", "The staging server is in Paris", ""))
	}
	require.Empty(t, learn(known, seen...))
	got := learn(known, append(seen, said(60, "eva", "The staging server is in Paris", ""))...)
	require.Len(t, got, 1)
	require.Equal(t, facts.Contest, got[0].Action)
}

func TestEveryUpdateHasEvidence(t *testing.T) {
	texts := []string{"I prefer Go", "I prefer Python", "I live in Porto", "I live in Lisbon now", "The port is 80",
		"The port is 81", "why?", ""}
	rapid.Check(t, func(t *rapid.T) {
		var seen []facts.Observation
		ids := map[string]bool{}
		for i := range rapid.IntRange(0, 30).Draw(t, "n") {
			o := said(i, rapid.SampledFrom([]string{"ana", "bob"}).Draw(t, "who"),
				rapid.SampledFrom(texts).Draw(t, "text"),
				rapid.SampledFrom([]string{"", "a", "b"}).Draw(t, "kind"))
			seen, ids[o.ID] = append(seen, o), true
		}
		known := []facts.Fact{{ID: "f", Text: rapid.SampledFrom(texts).Draw(t, "fact"), Who: "ana", Confidence: 0.8,
			Trust: 0.9, Sources: 1, Pinned: rapid.Bool().Draw(t, "pinned")}}
		for _, u := range learn(known, seen...) {
			require.NotEmpty(t, u.Evidence)
			for _, id := range u.Evidence {
				require.True(t, ids[id])
			}
			require.False(t, u.Action == facts.Contest && u.Target == "" && u.Rival == 0)
			require.False(t, u.Action == facts.Replace && known[0].Pinned && u.Target == "f")
			require.LessOrEqual(t, u.Confidence, 0.95)
			if u.Action == facts.Fork && len(u.TargetConditions) > 0 && len(u.Conditions) > 0 {
				require.True(t, u.Conditions.Disjoint(u.TargetConditions))
			}
		}
	})
}
