package evidence_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/mneme/mneme/memory/learning/evidence"
)

// said returns reports of agents in their order: "a- b+ a~" are a failure of a, a success of b, and an occurrence in
// which a tried something else. Each has a session of its own; "a.user-" is a user of a, and "a-s" is in session s.
func said(text string) []evidence.Outcome {
	var out []evidence.Outcome
	for n, word := range strings.Fields(text) {
		at := strings.IndexAny(word, "+-~")
		o := evidence.Outcome{Context: map[string]string{"os": "linux"}, OK: word[at] == '+', Idle: word[at] == '~',
			Session: word[at+1:], At: time.Unix(int64(60*n), 0).UTC()}
		if o.Session == "" {
			o.Session = fmt.Sprint("session", n)
		}
		o.Agent, o.User, _ = strings.Cut(word[:at], ".")
		out = append(out, o)
	}
	return out
}

func times(n int, text string) string { return strings.Repeat(text+" ", n) }

// worked returns the outcomes of a solution that has worked n times.
func worked(n int) (out evidence.Stats) {
	for range n {
		out.Observe("linux", true, time.Unix(0, 0))
	}
	return out
}

func shared(base evidence.Stats, text string) evidence.Reports {
	return evidence.Reports{List: said(text), Shared: true}.On(base)
}

func countedOf(counts []bool) (n int) {
	for _, c := range counts {
		if c {
			n++
		}
	}
	return n
}

func TestReportsOnASharedSolution(t *testing.T) {
	established, fresh, unknown := worked(50), worked(3), evidence.Stats{}
	for _, c := range []struct {
		name, said string
		base       evidence.Stats
		counted    int
		inPlace    bool
	}{
		{"nothing is reported", "", fresh, 0, true},
		{"one agent fails often", times(50, "a-"), established, 1, true},
		{"one agent fails often, and nothing else is known", times(50, "a-"), unknown, 0, true},
		{"one agent in one session", times(5, "a-s"), fresh, 1, true},
		{"many users of one agent", "a.u- a.v- a.w- a.u- a.v- a.w-", fresh, 1, true},
		{"one agent always tries something else", times(50, "a~"), established, 1, true},
		{"one agent alternates", times(20, "a+ a-"), established, 1, true},
		{"two agents fail twice", "a- b- a- b-", established, 4, false},
		{"two agents fail once", "a- b-", fresh, 2, false},
		{"three agents fail once", "a- b- c-", established, 3, false},
		{"two agents in one session each", "a-s a-s a-s b-t b-t b-t", established, 2, true},
		{"the other one has failed once", times(50, "a-") + "b-", established, 2, true},
		{"the other one has failed once, long ago", times(9, "b+") + "b- " + times(9, "b+") + times(20, "a-"),
			established, 3, true},
		{"the other one succeeds", times(10, "a- b+"), established, 2, true},
		{"one agent says that it works again", times(3, "a- b- c-") + times(9, "a+"), established, 8, false},
		{"two agents say that it works again", times(3, "a- b- c-") + times(3, "a+ b+"), established, 13, true},
		{"both agree on a share of successes", times(3, "a+ b+ a+ b+ a- b-"), fresh, 18, true},
	} {
		r := shared(c.base, c.said)
		counts := r.Public()
		require.Equal(t, c.counted, countedOf(counts), c.name)
		stats := r.Counted(counts)
		require.Equal(t, c.inPlace, stats.InPlace("linux"), "%s: %.2f", c.name, stats.Chance("linux"))
	}
}

// The reports of one agent, whatever their sessions and users, never decide whether a shared solution is in place.
func TestOneAgentNeverDecides(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var base evidence.Stats
		for _, ok := range rapid.SliceOfN(rapid.Bool(), 0, 12).Draw(t, "base") {
			base.Observe("linux", ok, time.Unix(0, 0))
		}
		word := rapid.StringMatching(`a(\.[uv])?[-+~][st]?`)
		r := shared(base, strings.Join(rapid.SliceOfN(word, 1, 30).Draw(t, "reports"), " "))
		counts := r.Public()
		require.LessOrEqual(t, countedOf(counts), 2, "one result, and one occurrence without a trial")
		stats := r.Counted(counts)
		require.Equal(t, base.InPlace("linux"), stats.InPlace("linux"))
		require.Equal(t, base.All.InPlace(), stats.All.InPlace())
	})
}

// The reports of an agent on a solution that only it follows all count, and so do those of a reader in its own advice.
// A report never counts for everyone and not for a reader.
func TestOwnReportsCount(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		word := rapid.StringMatching(`[abc](\.[uv])?[-+~][st]?`)
		text := strings.Join(rapid.SliceOfN(word, 1, 30).Draw(t, "reports"), " ")
		r := shared(worked(3), text)
		public, own := r.Public(), r.For(evidence.Reader{Agent: "a", User: "u"})
		for i, o := range r.List {
			require.False(t, public[i] && !own[i])
			if o.Agent == "a" && o.User == "u" {
				require.True(t, own[i])
			}
		}
		alone := evidence.Reports{List: said(strings.NewReplacer(".u", "", ".v", "").Replace(text))}.On(worked(3))
		require.Equal(t, len(alone.List), countedOf(alone.Public()))
	})
}

// A solution of an agent is followed by the agent and its users. The agent's own reports count at once, and those of
// one user only for that user.
func TestReportsOfUsers(t *testing.T) {
	of := func(text string) (evidence.Stats, evidence.Stats) {
		r := evidence.Reports{List: said(text)}.On(worked(50))
		return r.Counted(r.Public()), r.Counted(r.For(evidence.Reader{Agent: "a", User: "u"}))
	}
	all, own := of(times(9, "a.u-"))
	require.True(t, all.InPlace("linux"))
	require.False(t, own.InPlace("linux"))
	all, _ = of(times(2, "a.u- a.v-"))
	require.False(t, all.InPlace("linux"))
	all, own = of(times(3, "a-"))
	require.False(t, all.InPlace("linux"))
	require.False(t, own.InPlace("linux"))
}

// One agent that always reports failures does not hide that a solution works four times in five for another one.
func TestAFailingAgentDoesNotHideSuccesses(t *testing.T) {
	text := ""
	for n := range 60 {
		text += "evil- b" + map[bool]string{true: "-", false: "+"}[n%5 == 4] + " "
		r := shared(worked(5), text)
		stats := r.Counted(r.Public())
		if n%5 != 4 {
			require.True(t, stats.InPlace("linux"), "%d: %.2f", n, stats.Chance("linux"))
		}
	}
}

// Without a session, the reports of a source on one day are one occasion.
func TestReportsWithoutASession(t *testing.T) {
	list := said(times(2, "a- b-"))
	for i := range list {
		list[i].Session = ""
	}
	r := evidence.Reports{List: list, Shared: true}.On(worked(50))
	require.Equal(t, []bool{true, true, false, false}, r.Public())
	require.True(t, r.Repeats(2))
	require.False(t, r.Repeats(1))
	list[2].At = list[2].At.Add(24 * time.Hour)
	list[3].At = list[3].At.Add(24 * time.Hour)
	require.Equal(t, []bool{true, true, true, true}, r.Public())
	require.False(t, r.Repeats(2))
}

func TestRepeatingAReportNeverAddsEvidence(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		words := rapid.SliceOfN(rapid.StringMatching(`[abc][-+][stu]`), 1, 20).Draw(t, "reports")
		var twice []string
		for _, w := range words {
			twice = append(twice, w, w)
		}
		once, again := shared(worked(3), strings.Join(words, " ")), shared(worked(3), strings.Join(twice, " "))
		require.Equal(t, countedOf(once.Public()), countedOf(again.Public()))
	})
}

// Reports that a run has counted are not added to its figures again. One that was held then is added when another agent
// has reported the same.
func TestBasedReportsAreNotAddedTwice(t *testing.T) {
	r := shared(worked(5), times(4, "a-")+"c+")
	counts := r.Public()
	base := r.Counted(counts)
	for i := range counts {
		r.List[i].Based = counts[i]
	}
	r = r.On(base)
	require.Equal(t, base, r.Counted(r.Public()))
	own := r.Counted(r.For(evidence.Reader{Agent: "a"}))
	require.Equal(t, base.All.Failures+3, own.All.Failures)
	r.List = append(r.List, said(times(5, "a~") + "b- b-")[5:]...)
	all := r.Counted(r.Public())
	require.Equal(t, base.All.Failures+3, all.All.Failures, "two of b, and the second one of a")
}
