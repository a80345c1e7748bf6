package evidence_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/mneme/mneme/memory/learning/evidence"
	"github.com/mneme/mneme/memory/learning/trace"
	"github.com/mneme/mneme/schema"
)

func attempt(n int, s trace.Source) trace.Attempt {
	return trace.Attempt{ID: fmt.Sprint(n), Episode: fmt.Sprint(n), Source: s, Intent: fmt.Sprintf("task %d", n)}
}

func witnessed(agent string, n int) trace.Attempt {
	return attempt(n, trace.Source{Agent: agent, Session: fmt.Sprint(n), Witnessed: true, Trust: 1})
}

func TestIndependent(t *testing.T) {
	policy := evidence.Default()
	count := evidence.Independent([]trace.Attempt{witnessed("a", 1), witnessed("a", 2), witnessed("b", 3)}, policy)
	require.True(t, count.Enough(policy))
	require.Equal(t, []string{"a", "b"}, count.Agents)

	t.Run("one origin that submits fifty accounts", func(t *testing.T) {
		var many []trace.Attempt
		for i := range 50 {
			many = append(many, attempt(i, trace.Source{Agent: fmt.Sprint("agent", i), Session: fmt.Sprint(i),
				Origin: "import:evil", Trust: 1}))
		}
		count := evidence.Independent(many, policy)
		require.Len(t, count.Independent, 1)
		require.Equal(t, 49, count.LeftOut[evidence.SameOrigin])
		require.False(t, count.Enough(policy))
	})
	t.Run("accounts of many origins without a witness", func(t *testing.T) {
		var many []trace.Attempt
		for i := range 50 {
			many = append(many, attempt(i, trace.Source{Origin: fmt.Sprint("o", i), Trust: 1}))
		}
		require.False(t, evidence.Independent(many, policy).Enough(policy))
	})
	t.Run("a repeated session, a repeated text and low trust", func(t *testing.T) {
		again, same, distrusted := witnessed("a", 1), witnessed("b", 7), witnessed("c", 8)
		again.Intent = "another"
		same.Intent = "task 1"
		distrusted.Source.Trust = 0.2
		count := evidence.Independent([]trace.Attempt{witnessed("a", 1), again, same, distrusted}, policy)
		require.Equal(t, []int{0}, count.Independent)
		require.Equal(t, map[string]int{evidence.SameSession: 1, evidence.Repetition: 1, evidence.NotTrusted: 1},
			count.LeftOut)
	})
	t.Run("an account of a session that counts already", func(t *testing.T) {
		told := attempt(3, trace.Source{Agent: "a", Session: "2", Origin: "a", Trust: 1})
		count := evidence.Independent([]trace.Attempt{told, witnessed("a", 1), witnessed("a", 2)}, policy)
		require.Equal(t, []int{1, 2}, count.Independent)
		require.Equal(t, map[string]int{evidence.SameSession: 1}, count.LeftOut)
		require.False(t, count.Enough(policy))
	})
	t.Run("if the policy requires several agents", func(t *testing.T) {
		policy := policy
		policy.PerAgent = 2
		require.False(t, evidence.Independent([]trace.Attempt{witnessed("a", 1), witnessed("a", 2), witnessed("a", 3)},
			policy).Enough(policy))
	})
}

func TestRepeatingNeverAddsEvidence(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var attempts []trace.Attempt
		for i := range rapid.IntRange(1, 12).Draw(t, "n") {
			attempts = append(attempts, attempt(i, trace.Source{
				Agent:     rapid.SampledFrom([]string{"a", "b"}).Draw(t, "agent"),
				Session:   fmt.Sprint(rapid.IntRange(0, 5).Draw(t, "session")),
				Origin:    rapid.SampledFrom([]string{"", "x", "y"}).Draw(t, "origin"),
				Witnessed: rapid.Bool().Draw(t, "witnessed"), Trust: rapid.Float64Range(0, 1).Draw(t, "trust")}))
		}
		policy := evidence.Default()
		once := evidence.Independent(attempts, policy)
		twice := evidence.Independent(slices.Concat(attempts, attempts), policy)
		require.Len(t, twice.Independent, len(once.Independent))
		require.Equal(t, once.Witnessed, twice.Witnessed)
	})
}

func TestTrack(t *testing.T) {
	var track evidence.Track
	require.Equal(t, evidence.Prior, track.Chance())
	at := time.Unix(0, 0)
	for range 50 {
		track.Observe(true, at)
	}
	for n, want := range []float64{0.89, 0.76, 0.46, 0.22, 0.13} {
		require.InDelta(t, want, track.Chance(), 0.01)
		require.Equal(t, n < 3, track.InPlace(), "lost after the third failure in a row")
		track.Observe(false, at)
	}
	for range 50 {
		track.Observe(false, at)
	}
	tried := track
	for range 2 {
		require.False(t, tried.InPlace())
		tried.Observe(true, at)
	}
	require.True(t, tried.InPlace(), "back after two successes")
	occurrences := 0
	for ; !track.InPlace(); occurrences++ {
		track.Idle()
	}
	require.LessOrEqual(t, occurrences, 20)
	track.Observe(false, at)
	require.False(t, track.InPlace(), "lost again after one more failure")
}

func TestIntermittentSuccessKeepsPlace(t *testing.T) {
	for name, outcomes := range map[string]string{"three of four": "1110111011101110",
		"two of three": "110110110110110"} {
		var track evidence.Track
		for _, o := range outcomes {
			track.Observe(o == '1', time.Unix(0, 0))
		}
		require.True(t, track.InPlace(), name)
		track.Observe(false, time.Unix(0, 0))
		require.InDelta(t, track.Rate(), track.Chance(), 0.2, name)
	}
}

func TestTrackOfEarlierReleases(t *testing.T) {
	var stored evidence.Track
	require.NoError(t, json.Unmarshal([]byte(`{"good": 3.36, "bad": 0, "successes": 5, "failures": 0}`), &stored))
	require.Greater(t, stored.Chance(), 0.8, "stored outcomes count")
	stored.Observe(false, time.Unix(0, 0))
	require.True(t, stored.InPlace())
	stored.Observe(false, time.Unix(0, 0))
	stored.Observe(false, time.Unix(0, 0))
	require.False(t, stored.InPlace())
}

func TestChanceIsProbability(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var track evidence.Track
		for _, o := range rapid.SliceOfN(rapid.IntRange(0, 2), 0, 200).Draw(t, "outcomes") {
			if o == 2 {
				track.Idle()
			} else {
				track.Observe(o == 1, time.Unix(0, 0))
			}
		}
		chance := track.Chance()
		require.GreaterOrEqual(t, chance, 0.0)
		require.LessOrEqual(t, chance, 1.0)
		better, worse := track, track
		better.Observe(true, time.Unix(0, 0))
		worse.Observe(false, time.Unix(0, 0))
		require.Greater(t, better.Chance(), worse.Chance())
	})
}

func TestSituationsDiffer(t *testing.T) {
	var stats evidence.Stats
	for range 5 {
		stats.Observe("linux", true, time.Unix(0, 0))
		stats.Observe("macos", false, time.Unix(0, 0))
	}
	require.True(t, stats.InPlace("linux"))
	require.False(t, stats.InPlace("macos"))
	for i := range 1_000 {
		stats.Observe(fmt.Sprint(i), true, time.Unix(0, 0))
	}
	require.LessOrEqual(t, len(stats.In), 64)
}

func TestHashOfSet(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ids := rapid.SliceOfDistinct(rapid.StringN(1, 8, 16), func(s string) string { return s }).Draw(t, "ids")
		shuffled := rapid.Permutation(ids).Draw(t, "shuffled")
		require.Equal(t, evidence.HashOf(ids), evidence.HashOf(shuffled))
		require.NotEqual(t, evidence.HashOf(ids), evidence.HashOf(append(slices.Clone(ids), "one more thing more")))
	})
}

func TestClaimedOutcomes(t *testing.T) {
	many := evidence.Claimed(&schema.Performance{SuccessCount: 1_000_000})
	require.InDelta(t, 0.86, many.Chance(""), 0.01, "like a long row of successes")
	for range 4 {
		many.Observe("", false, time.Unix(0, 0))
	}
	require.False(t, many.InPlace(""), "four failures outweigh any claim")
	half := 0.5
	require.InDelta(t, 0.5, evidence.Claimed(&schema.Performance{SuccessRate: &half}).Chance(""), 1e-9)
	require.Equal(t, evidence.Stats{}, evidence.Claimed(nil))
}

func TestRelevantKeyIsLearned(t *testing.T) {
	var stats evidence.Stats
	shells := []string{"bash", "zsh"}
	for i := range 16 { // it helps for services with any shell
		kind := []string{"service", "library"}[i%2]
		stats.ObserveIn(map[string]string{"project_kind": kind, "shell": shells[i/2%2], "build": fmt.Sprint(i)},
			kind == "service", time.Unix(0, 0))
	}
	in := func(kind, shell string) float64 {
		return stats.ChanceIn(map[string]string{"project_kind": kind, "shell": shell, "build": "99"})
	}
	for _, shell := range shells {
		require.Greater(t, in("service", shell), 0.7)
		require.Less(t, in("library", shell), 0.3)
	}
	require.InDelta(t, 0.5, stats.ChanceIn(nil), 0.1, "an unknown situation")
	require.LessOrEqual(t, len(stats.In), 2+2+8, "a key whose values never recur is not tracked")
}

func TestIrrelevantKeyHasLittleEffect(t *testing.T) {
	var stats evidence.Stats
	for i := range 12 {
		stats.ObserveIn(map[string]string{"shell": []string{"bash", "zsh"}[i%2]}, i%3 != 0, time.Unix(0, 0))
	}
	bash, zsh := stats.ChanceIn(map[string]string{"shell": "bash"}), stats.ChanceIn(map[string]string{"shell": "zsh"})
	require.InDelta(t, bash, zsh, 0.15)
}

// A change in one situation may also affect others, so fewer failures are needed there.
func TestChangeInOneSituationAffectsOthers(t *testing.T) {
	var stats evidence.Stats
	for range 10 {
		stats.Observe("linux", true, time.Unix(0, 0))
		stats.Observe("macos", true, time.Unix(0, 0))
	}
	before := stats.Of("macos")
	stats.Observe("linux", false, time.Unix(0, 0))
	stats.Observe("linux", false, time.Unix(0, 0))
	require.Less(t, stats.Of("macos"), before-0.2)
	require.Greater(t, stats.Of("macos"), stats.Of("linux"))
	once := stats.Clone()
	once.Observe("macos", true, time.Unix(0, 0))
	require.Greater(t, once.Of("macos"), 0.75, "one success removes the doubt")

	for range 10 { // expected failures do not affect other situations
		stats.Observe("macos", true, time.Unix(0, 0))
		stats.Observe("linux", false, time.Unix(0, 0))
	}
	require.Greater(t, stats.Of("macos"), 0.8)
}

func TestRelevantKeysAreSharedBetweenSolutions(t *testing.T) {
	var known, fresh evidence.Stats
	for i := range 16 {
		os := []string{"linux", "macos"}[i%2]
		known.ObserveIn(map[string]string{"os": os, "shell": "zsh"}, os == "linux", time.Unix(0, 0))
	}
	for i := range 4 {
		fresh.ObserveIn(map[string]string{"os": []string{"linux", "macos"}[i%2], "shell": "zsh"}, i%2 == 1,
			time.Unix(0, 0))
	}
	on := map[string]string{"os": "macos", "shell": "zsh"}
	earned := evidence.Earned([]evidence.Stats{known, fresh})
	require.Greater(t, fresh.ChanceWith(on, earned), fresh.ChanceIn(on))
	require.Equal(t, fresh.ChanceIn(on), fresh.ChanceWith(on, evidence.Earned([]evidence.Stats{fresh})))
}

func TestUnusedSolutionRecoversSlowly(t *testing.T) {
	var waits, passes evidence.Stats
	for _, s := range []*evidence.Stats{&waits, &passes} {
		s.Observe("linux", false, time.Unix(0, 0))
		s.Observe("linux", false, time.Unix(0, 0))
	}
	for range 10 {
		waits.Idle("linux")
		passes.PassIn(map[string]string{"os": "linux"})
	}
	require.Less(t, passes.Chance("linux"), waits.Chance("linux"))
	require.Less(t, passes.Chance("linux"), evidence.Prior)
}
