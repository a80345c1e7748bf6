package lifecycle_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/mneme/mneme/memory"
	"github.com/mneme/mneme/memory/lifecycle"
	"github.com/mneme/mneme/memory/memorytest"
	"github.com/mneme/mneme/schema"
)

// jury is a memory that several sources judge, each by a name.
type jury struct {
	t    require.TestingT
	m    lifecycle.Rated
	said map[string]lifecycle.SourceVerdicts
	now  time.Time
}

func newJury(t require.TestingT, m lifecycle.Rated) *jury {
	return &jury{t: t, m: m, said: map[string]lifecycle.SourceVerdicts{}, now: memorytest.Noon}
}

// says is a verdict of a source on another retrieval.
func (j *jury) says(source string, v schema.Verdict) lifecycle.Reinforcement {
	return j.corrects(source, v, "")
}

// corrects is a verdict of a source in place of its earlier one on the same retrieval.
func (j *jury) corrects(source string, v, earlier schema.Verdict) lifecycle.Reinforcement {
	agreed := 0
	for other, said := range j.said {
		if of := said.Of(v); other != source && of.Verdict == v {
			agreed = max(agreed, of.Days)
		}
	}
	var prior *lifecycle.PriorVerdict
	if earlier != "" {
		prior = &lifecycle.PriorVerdict{Verdict: earlier, At: j.now, BySource: true, Moved: 0.5, Counted: "success"}
	}
	r, now, err := lifecycle.ReinforceFrom(j.m, v, prior, j.said[source], agreed, j.now)
	require.NoError(j.t, err)
	if j.said[source] = now; r.Status != schema.FeedbackUnchanged {
		j.m, _ = after(j.m, v, r)
	}
	return r
}

func (j *jury) outcomes() lifecycle.Outcomes {
	var p struct{ Performance schema.Performance }
	require.NoError(j.t, json.Unmarshal(j.m.Payload, &p))
	return lifecycle.Outcomes{Successes: p.Performance.SuccessCount, Failures: p.Performance.FailureCount}
}

func (j *jury) salience() float64 {
	return j.m.Decay.SalienceOf(j.m.Salience, j.now.Sub(j.m.SalienceAt), j.m.Pinned)
}

func aProcedure(change func(*lifecycle.Rated)) lifecycle.Rated {
	return fadingFact(func(m *lifecycle.Rated) {
		m.Type, m.Payload = schema.TypeCompetence, json.RawMessage(`{"kind":"competence"}`)
		m.SalienceAt = memorytest.Noon
		if change != nil {
			change(m)
		}
	})
}

func TestVerdictsOfSources(t *testing.T) {
	t.Parallel()
	type say struct {
		source  string
		verdict schema.Verdict
		day     int
		held    schema.ReportHeld
	}
	const (
		worked, partly, failed, unused = schema.VerdictSucceeded, schema.VerdictPartly, schema.VerdictFailed,
			schema.VerdictUnused
		one, again = schema.HeldOneSource, schema.HeldRepeated
	)
	for name, tt := range map[string]struct {
		said []say
		want lifecycle.Outcomes
	}{
		"one source counts once": {[]say{{"a", failed, 0, ""}, {"a", failed, 1, one}, {"a", failed, 2, one}},
			lifecycle.Outcomes{Failures: 1}},
		"so does a day": {[]say{{"a", failed, 0, ""}, {"a", failed, 0, again}, {"b", failed, 0, ""},
			{"b", failed, 0, again}, {"a", failed, 0, again}}, lifecycle.Outcomes{Failures: 2}},
		"two sources that agree": {[]say{{"a", failed, 0, ""}, {"a", failed, 1, one}, {"b", failed, 1, ""},
			{"b", failed, 2, ""}, {"b", failed, 3, one}, {"a", failed, 3, ""}}, lifecycle.Outcomes{Failures: 5}},
		"a change of mind": {[]say{{"a", failed, 0, ""}, {"a", failed, 1, one}, {"a", worked, 1, ""},
			{"a", failed, 1, ""}, {"a", worked, 2, ""}}, lifecycle.Outcomes{Successes: 1}},
		"several, as one takes back all of its own": {[]say{{"a", failed, 0, ""}, {"b", failed, 0, ""},
			{"a", failed, 1, one}, {"b", failed, 1, ""}, {"a", failed, 2, ""}, {"a", worked, 3, ""}},
			lifecycle.Outcomes{Successes: 1, Failures: 2}},
		"in part is no outcome": {[]say{{"a", partly, 0, ""}, {"a", worked, 0, ""}, {"a", worked, 1, one},
			{"b", partly, 1, ""}}, lifecycle.Outcomes{Successes: 1}},
		"not used says nothing of a use": {[]say{{"a", worked, 0, ""}, {"a", unused, 0, ""}, {"a", unused, 1, one},
			{"a", worked, 1, one}}, lifecycle.Outcomes{Successes: 1}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			j := newJury(t, aProcedure(nil))
			for i, s := range tt.said {
				j.now = memorytest.Noon.Add(time.Duration(s.day) * memorytest.Day)
				require.Equal(t, s.held, j.says(s.source, s.verdict).Held, i)
			}
			require.Equal(t, tt.want, j.outcomes())
			require.InDelta(t, (3*0.7+float64(tt.want.Successes))/float64(3+tt.want.Successes+tt.want.Failures),
				j.m.Confidence, 1e-9)
		})
	}
}

// A verdict that is held moves nothing down. If the memory helped, it restores what has faded.
func TestHeldVerdictsKeepAMemory(t *testing.T) {
	t.Parallel()
	j := newJury(t, aProcedure(nil)) // a half-life of ten days and a gain of 0.2
	require.InDelta(t, 0.6, j.says("a", schema.VerdictFailed).After, 1e-9)
	j.now = j.now.Add(memorytest.Day)
	faded := j.salience()
	r := j.says("a", schema.VerdictFailed)
	require.Equal(t, []any{faded, faded, 0.0}, []any{r.Before, r.After, r.Moved})
	require.True(t, r.SalienceAt.Equal(memorytest.Noon), "the curve continues")

	j.says("a", schema.VerdictSucceeded)
	level := j.salience()
	require.InDelta(t, 0.8*j.m.Decay.Share(memorytest.Day)+0.2, level, 1e-9, "the failure is taken back")
	for range 300 {
		j.now = j.now.Add(memorytest.Day)
		r = j.says("a", schema.VerdictSucceeded)
		require.Equal(t, schema.HeldOneSource, r.Held)
		require.True(t, r.Reinforced)
		require.InDelta(t, level, j.salience(), 1e-9, "it neither fades nor rises")
	}
	// What others have lowered is not restored.
	for _, other := range []string{"b", "c"} {
		before := j.salience()
		require.InDelta(t, before-0.2, j.says(other, schema.VerdictFailed).After, 1e-9)
	}
	lowered := j.salience()
	require.InDelta(t, lowered, j.says("a", schema.VerdictSucceeded).After, 1e-9)

	j.now = j.now.Add(40 * memorytest.Day)
	faded = j.salience()
	require.InDelta(t, faded+0.2, j.says("a", schema.VerdictSucceeded).After, 1e-9, "at most one gain")
}

// A correction of the same retrieval replaces what the source says. The effect of a verdict from before others read the
// memory is undone as well.
func TestCorrectionOfASource(t *testing.T) {
	t.Parallel()
	m := aProcedure(nil)
	before, private := after(m, schema.VerdictFailed, reinforce(t, m, schema.VerdictFailed, nil, memorytest.Noon))
	r, said, err := lifecycle.ReinforceFrom(before, schema.VerdictSucceeded, private, lifecycle.SourceVerdicts{}, 0,
		memorytest.Noon)
	require.NoError(t, err)
	require.Equal(t, schema.FeedbackCorrected, r.Status)
	require.Equal(t, lifecycle.Outcomes{Successes: 1}, *r.Outcomes)
	require.InDelta(t, 1, r.After, 1e-9)
	shared, _ := after(before, schema.VerdictSucceeded, r)

	// From now on the effect is with the source.
	earlier := &lifecycle.PriorVerdict{Verdict: schema.VerdictSucceeded, At: memorytest.Noon, BySource: true, Moved: 0.2,
		Counted: lifecycle.CountedSuccess}
	same, unchanged, err := lifecycle.ReinforceFrom(shared, schema.VerdictSucceeded, earlier, said, 0, memorytest.Noon)
	require.NoError(t, err)
	require.Equal(t, []any{schema.FeedbackUnchanged, said}, []any{same.Status, unchanged})
	r, said, err = lifecycle.ReinforceFrom(shared, schema.VerdictFailed, earlier, said, 0, memorytest.Noon)
	require.NoError(t, err)
	require.Equal(t, schema.FeedbackCorrected, r.Status)
	require.Equal(t, lifecycle.Outcomes{Failures: 1}, *r.Outcomes)
	require.InDelta(t, 0.6, r.After, 1e-9)
	want := lifecycle.VerdictStreak{Verdict: schema.VerdictFailed, Times: 1, Days: 1, Counted: 1, Moved: r.Moved,
		At: memorytest.Noon}
	require.Equal(t, lifecycle.SourceVerdicts{OfUses: want}, said)
	_, _, err = lifecycle.ReinforceFrom(shared, "liked", nil, said, 0, memorytest.Noon)
	require.Error(t, err)
}

// A correction between a use and an unused result takes the other one back, unless the source has said something else
// since.
func TestCorrectionBetweenUsedAndUnused(t *testing.T) {
	t.Parallel()
	const worked, failed, unused = schema.VerdictSucceeded, schema.VerdictFailed, schema.VerdictUnused
	j := newJury(t, aProcedure(nil))
	j.says("a", unused)
	r := j.corrects("a", failed, unused)
	require.InDelta(t, 0.6, r.After, 1e-9)
	require.Equal(t, lifecycle.VerdictStreak{}, j.said["a"].OfUnused)
	r = j.corrects("a", unused, failed)
	require.InDelta(t, 0.75, r.After, 1e-9)
	require.Equal(t, lifecycle.Outcomes{}, j.outcomes())
	require.InDelta(t, 0.7, j.m.Confidence, 1e-9)
	require.Equal(t, lifecycle.VerdictStreak{}, j.said["a"].OfUses)

	// Of several equal verdicts, one is withdrawn.
	j = newJury(t, aProcedure(nil))
	j.says("b", failed)
	j.now = j.now.Add(memorytest.Day)
	j.says("b", failed)
	j.says("a", failed)
	j.now = j.now.Add(memorytest.Day)
	j.says("a", failed)
	require.Equal(t, lifecycle.Outcomes{Failures: 3}, j.outcomes())
	require.Equal(t, 2, j.said["a"].OfUses.Counted)
	want := j.salience() - j.said["a"].OfUses.Moved/2 - 0.05
	require.InDelta(t, want, j.corrects("a", unused, failed).After, 1e-9)
	require.Equal(t, lifecycle.Outcomes{Failures: 2}, j.outcomes())
	j.says("a", worked)
	r = j.corrects("a", unused, failed)
	require.Equal(t, schema.HeldRepeated, r.Held)
	require.Equal(t, lifecycle.Outcomes{Successes: 1, Failures: 1}, j.outcomes(), "it has said something else since")
}

// However often a source gives its verdict, it moves the salience by at most one gain for uses and a quarter of one for
// results that were not used, and it has one outcome, that of its last verdict on a use. The verdicts of others all
// count.
func TestOneSourceIsBounded(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		m := aProcedure(func(m *lifecycle.Rated) {
			m.Decay.ReinforcementGain = rapid.Float64Range(0, 0.1).Draw(t, "gain")
			m.Salience, m.Pinned = 0.5, rapid.Bool().Draw(t, "pinned")
		})
		j, alone := newJury(t, m), newJury(t, m)
		last, other := schema.Verdict(""), rapid.SampledFrom(allVerdicts).Draw(t, "verdict of another")
		highest := 0.5
		for n := range rapid.IntRange(1, 40).Draw(t, "verdicts") {
			j.now = j.now.Add(time.Duration(rapid.Int64Range(0, 30).Draw(t, "hours")) * time.Hour)
			alone.now = j.now
			v := rapid.SampledFrom(allVerdicts).Draw(t, "verdict")
			r := j.says("a", v)
			if v != schema.VerdictUnused {
				last = v
			}
			if n == 5 && v != other {
				before := j.salience()
				r = j.says("b", other)
				require.Empty(t, r.Held)
				alone.says("b", other)
				require.InDelta(t, map[schema.Verdict]float64{"succeeded": 1, "partly": 0.5, "failed": -1,
					"unused": -0.25}[other]*m.Decay.ReinforcementGain, r.After-before, 1e-9)
				highest = max(highest, highest+r.Moved)
			}
			require.LessOrEqual(t, r.After, highest+m.Decay.ReinforcementGain+1e-9)
			require.GreaterOrEqual(t, r.After, alone.salience()-1.25*m.Decay.ReinforcementGain-1e-9)
			require.InDelta(t, r.After, j.salience(), 1e-9)
			sayings := j.said["a"]
			said := *sayings.Of(v)
			require.True(t, 1 <= said.Days && said.Days <= said.Times && said.Times <= lifecycle.MaxTimes &&
				0 <= said.Counted && said.Counted <= said.Days && -1 <= said.Moved && said.Moved <= 1, said)
		}
		want := alone.outcomes()
		switch last {
		case schema.VerdictSucceeded:
			want.Successes++
		case schema.VerdictFailed:
			want.Failures++
		}
		if a := j.said["a"].OfUses; a.Counted > 1 {
			require.Equal(t, other, a.Verdict, "only another source confirms it")
			return
		}
		require.Equal(t, want, j.outcomes())
		require.InDelta(t, (3*0.7+float64(want.Successes))/float64(3+want.Successes+want.Failures), j.m.Confidence, 1e-9)
	})
}

// With corrections, too, the outcomes are those that the sayings of the sources count, and a source alone has at most
// one.
func TestCorrectionsOfSourcesAreBounded(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		m := aProcedure(func(m *lifecycle.Rated) { m.Decay.ReinforcementGain, m.Salience = 0.02, 0.5 })
		j := newJury(t, m)
		sources := rapid.SampledFrom([][]string{{"a"}, {"a", "b"}}).Draw(t, "sources")
		given := map[string]schema.Verdict{}
		for range rapid.IntRange(1, 40).Draw(t, "verdicts") {
			j.now = j.now.Add(time.Duration(rapid.Int64Range(0, 10).Draw(t, "hours")) * time.Hour)
			source := rapid.SampledFrom(sources).Draw(t, "source")
			retrieval := source + rapid.SampledFrom([]string{"1", "2", "3"}).Draw(t, "retrieval")
			v := rapid.SampledFrom(allVerdicts).Draw(t, "verdict")
			r := j.corrects(source, v, given[retrieval])
			require.Equal(t, v == given[retrieval], r.Status == schema.FeedbackUnchanged)
			given[retrieval] = v
			want, counted := lifecycle.Outcomes{}, 0
			for _, said := range j.said {
				switch of := said.OfUses; of.Verdict {
				case schema.VerdictSucceeded:
					want.Successes += int64(of.Counted)
				case schema.VerdictFailed:
					want.Failures += int64(of.Counted)
				}
				counted = max(counted, said.OfUses.Counted, said.OfUnused.Counted)
			}
			require.Equal(t, want, j.outcomes())
			require.InDelta(t, (3*0.7+float64(want.Successes))/float64(3+want.Successes+want.Failures), j.m.Confidence, 1e-9)
			if len(sources) == 1 {
				require.LessOrEqual(t, counted, 1)
				require.LessOrEqual(t, j.salience(), 0.5+0.02+1e-9)
				require.GreaterOrEqual(t, j.salience(), 0.5*m.Decay.Share(j.now.Sub(memorytest.Noon))-1.25*0.02-1e-9)
			}
		}
	})
}

// On every curve, what is stored agrees with the result, and a verdict that is held does not raise a memory above what
// it was at the source's last verdict, nor lower it.
func TestHeldVerdictsOnEveryCurve(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		m := anyRated().Draw(t, "memory")
		var said lifecycle.SourceVerdicts
		now, last := memorytest.Noon, m.Salience
		v := rapid.SampledFrom(allVerdicts).Draw(t, "verdict")
		for n := range rapid.IntRange(2, 12).Draw(t, "steps") {
			now = now.Add(time.Duration(rapid.Int64Range(-5, 20).Draw(t, "days")) * memorytest.Day) // clocks jump
			r, next, err := lifecycle.ReinforceFrom(m, v, nil, said, 0, now)
			require.NoError(t, err)
			require.Equal(t, n > 0, r.Held != "")
			require.True(t, r.After >= m.Decay.Floor && r.After <= 1, "in [floor,1]")
			require.InDelta(t, r.After, salience(m, r, r.At), 1e-9, "the stored values agree")
			require.False(t, r.SalienceAt.Before(m.SalienceAt), "time does not go back")
			due, falls := m.Decay.DueAt(r.Salience, r.SalienceAt, m.CreatedAt, m.Pinned)
			require.Equal(t, falls, r.DueAt != nil)
			if falls && due.Before(now) {
				due = now
			}
			require.True(t, !falls || due.Equal(*r.DueAt), "due is exact")
			if n > 0 {
				require.Equal(t, 0.0, r.Moved)
				require.GreaterOrEqual(t, r.After, r.Before)
				require.LessOrEqual(t, r.After, max(last, r.Before)+1e-9)
				require.True(t, r.Weight > 0 || r.After == r.Before)
			}
			m, _ = after(m, v, r)
			said, last = next, r.After
		}
	})
}

// The first verdict of a source counts like one on a memory that no one else reads.
func TestTheFirstVerdictOfASourceCounts(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		m := anyRated().Draw(t, "memory")
		v := rapid.SampledFrom(allVerdicts).Draw(t, "verdict")
		now := memorytest.Noon.Add(time.Duration(rapid.Int64Range(-5, 20).Draw(t, "days")) * memorytest.Day)
		r, said, err := lifecycle.ReinforceFrom(m, v, nil, lifecycle.SourceVerdicts{}, 0, now)
		require.NoError(t, err)
		require.Equal(t, reinforce(t, m, v, nil, now), r)
		require.Equal(t, lifecycle.VerdictStreak{Verdict: v, Times: 1, Days: 1, Counted: memory.Agreed(1, 0), Moved: r.Moved,
			At: r.At}, *said.Of(v))
	})
}
