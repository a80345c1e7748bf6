package memory_test

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/mneme/mneme/memory"
	"github.com/mneme/mneme/schema"
)

const day = 24 * time.Hour

var noon = time.Date(2026, 1, 28, 12, 0, 0, 0, time.UTC)

func TestSalience(t *testing.T) {
	t.Parallel()
	exponential := memory.Decay{Curve: schema.CurveExponential, HalfLife: 10 * day}
	linear := memory.Decay{Curve: schema.CurveLinear, HalfLife: 10 * day}
	custom := memory.Decay{Curve: schema.CurveCustom, HalfLife: 10 * day}
	floored := memory.Decay{Curve: schema.CurveExponential, HalfLife: 10 * day, Floor: 0.3}
	for name, tt := range map[string]struct {
		decay memory.Decay
		base  float64
		since time.Duration
		want  float64
	}{
		"exponential now":       {exponential, 0.8, 0, 0.8},
		"exponential half":      {exponential, 0.8, 10 * day, 0.4},
		"exponential quarter":   {exponential, 0.8, 20 * day, 0.2},
		"linear half":           {linear, 0.8, 10 * day, 0.4},
		"linear nothing":        {linear, 0.8, 20 * day, 0},
		"linear long after":     {linear, 0.8, 900 * day, 0},
		"custom as exponential": {custom, 0.8, 10 * day, 0.4},
		"clock skew":            {exponential, 0.8, -time.Hour, 0.8},
		"floor":                 {floored, 0.8, 100 * day, 0.3},
		"floor above base":      {floored, 0.1, 0, 0.3},
		"no half-life":          {memory.Decay{}, 0.8, 1000 * day, 0.8},
		"base too large":        {exponential, 7, 0, 1},
		"base negative":         {exponential, -7, 0, 0},
		"base not a number":     {exponential, math.NaN(), 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.InDelta(t, tt.want, tt.decay.Salience(tt.base, tt.since), 1e-12)
		})
	}
}

func TestDefaultDecay(t *testing.T) {
	t.Parallel()
	for memoryType, halfLife := range map[schema.MemoryType]time.Duration{
		schema.TypeWorking:    day,
		schema.TypeEpisodic:   7 * day,
		schema.TypeSemantic:   7776000 * time.Second, // the RFC's example preference
		schema.TypeCompetence: 2592000 * time.Second, // the RFC's example procedure
		schema.TypePlanGraph:  30 * day,
		"unheard of":          7 * day,
	} {
		d := memory.DefaultDecay(memoryType)
		require.Equal(t, schema.CurveExponential, d.Curve)
		require.Equal(t, halfLife, d.HalfLife, memoryType)
		require.Equal(t, 0.05, d.MinSalience)
		require.Zero(t, d.MaxAge)
	}
	due, ok := memory.DefaultDecay(schema.TypeEpisodic).DueAt(memory.ExperienceImportance, noon, noon, false)
	require.True(t, ok)
	require.WithinRange(t, due, noon.Add(21*day), noon.Add(28*day), "in its fourth week")
}

func TestDueAt(t *testing.T) {
	t.Parallel()
	d := memory.Decay{Curve: schema.CurveExponential, HalfLife: 10 * day, MinSalience: 0.1}
	with := func(change func(*memory.Decay)) memory.Decay {
		out := d
		change(&out)
		return out
	}
	created := noon.Add(-5 * day)
	for name, tt := range map[string]struct {
		decay  memory.Decay
		base   float64
		pinned bool
		want   time.Time // zero: never
	}{
		"three half-lives":     {d, 0.8, false, noon.Add(30 * day)},
		"pinned":               {d, 0.8, true, time.Time{}},
		"pinned, with max age": {with(func(d *memory.Decay) { d.MaxAge = day }), 0.8, true, time.Time{}},
		"already faded":        {d, 0.1, false, noon},
		"linear":               {with(func(d *memory.Decay) { d.Curve = schema.CurveLinear }), 0.8, false, noon.Add(20 * day * 7 / 8)},
		"linear, threshold 0":  {with(func(d *memory.Decay) { d.Curve, d.MinSalience = schema.CurveLinear, 0 }), 0.8, false, time.Time{}},
		"max age first":        {with(func(d *memory.Decay) { d.MaxAge = 10 * day }), 0.8, false, noon.Add(5 * day)},
		"max age last":         {with(func(d *memory.Decay) { d.MaxAge = 1000 * day }), 0.8, false, noon.Add(30 * day)},
		"max age alone":        {memory.Decay{MaxAge: 10 * day}, 0.8, false, noon.Add(5 * day)},
		"floor protects":       {with(func(d *memory.Decay) { d.Floor = 0.1 }), 0.8, false, time.Time{}},
		"floor below":          {with(func(d *memory.Decay) { d.Floor = 0.05 }), 0.8, false, noon.Add(30 * day)},
		"never fades":          {with(func(d *memory.Decay) { d.HalfLife = 0 }), 0.8, false, time.Time{}},
		"no limits":            {memory.Decay{HalfLife: day}, 0.8, false, time.Time{}},
		"beyond all dates":     {with(func(d *memory.Decay) { d.HalfLife = math.MaxInt64 }), 0.8, false, time.Time{}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			due, ok := tt.decay.DueAt(tt.base, noon, created, tt.pinned)
			require.Equal(t, !tt.want.IsZero(), ok)
			require.WithinDuration(t, tt.want, due, time.Millisecond)
		})
	}
}

// Without its last correction DueAt would name moments at which these are still a bit too salient.
func TestDueAtInTheLastBit(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		halfLife        time.Duration
		base, threshold float64
	}{
		{25 * time.Second, 1, 0.04},
		{19 * time.Second, 1, 0.01},
		{60 * day, 0.36, 0.04},
		{248 * day, 0.5, 0.03},
	} {
		d := memory.Decay{Curve: schema.CurveLinear, HalfLife: tt.halfLife, MinSalience: tt.threshold}
		due, ok := d.DueAt(tt.base, noon, noon, false)
		require.True(t, ok)
		require.LessOrEqual(t, d.Salience(tt.base, due.Sub(noon)), tt.threshold)
	}
}

// anyDecay draws decays from a second to centuries.
func anyDecay() *rapid.Generator[memory.Decay] {
	return rapid.Custom(func(t *rapid.T) memory.Decay {
		d := memory.Decay{
			Curve:             rapid.SampledFrom([]schema.DecayCurve{schema.CurveExponential, schema.CurveLinear, schema.CurveCustom}).Draw(t, "curve"),
			HalfLife:          time.Duration(rapid.Int64Range(0, math.MaxInt64/int64(time.Second)).Draw(t, "half-life")) * time.Second,
			MinSalience:       rapid.Float64Range(0, 1).Draw(t, "threshold"),
			ReinforcementGain: rapid.Float64Range(0, 1).Draw(t, "gain"),
		}
		if rapid.Bool().Draw(t, "with floor") {
			d.Floor = rapid.Float64Range(0, 1).Draw(t, "floor")
		}
		if rapid.Bool().Draw(t, "with max age") {
			d.MaxAge = time.Duration(rapid.Int64Range(1, 1e9).Draw(t, "max age")) * time.Second
		}
		return d
	})
}

func TestDueAtAgreesWithSalience(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		d := anyDecay().Draw(t, "decay")
		base := rapid.Float64Range(0, 1).Draw(t, "base")
		if rapid.Bool().Draw(t, "as people configure it") {
			// Round values land exactly on a tick, where the last bit of a float decides.
			d.HalfLife = time.Duration(rapid.Int64Range(1, 100).Draw(t, "units")) * rapid.SampledFrom([]time.Duration{time.Second, day}).Draw(t, "unit")
			d.MinSalience = float64(rapid.IntRange(1, 20).Draw(t, "threshold in percent")) / 100
			base = float64(rapid.IntRange(1, 100).Draw(t, "base in percent")) / 100
		}
		created := noon.Add(-time.Duration(rapid.Int64Range(0, 1e9).Draw(t, "age")) * time.Second)
		due, ok := d.DueAt(base, noon, created, false)
		if !ok {
			require.Zero(t, d.MaxAge)
			far := d.Salience(base, 100*365*day)
			require.True(t, d.MinSalience == 0 || far >= d.MinSalience, "never due, yet faded to %v", far)
			return
		}
		tooOld := d.MaxAge > 0 && due.Sub(created) >= d.MaxAge
		faded := d.MinSalience > 0 && d.Salience(base, due.Sub(noon)) <= d.MinSalience
		require.True(t, tooOld || faded, "at DueAt it is due")

		// A little before it was not. Coarse floats of centuries allow for some slack.
		if before := due.Add(-2 * time.Millisecond).Sub(noon); before > 0 {
			require.False(t, d.MaxAge > 0 && noon.Add(before).Sub(created) >= d.MaxAge)
			require.GreaterOrEqual(t, d.Salience(base, before), d.MinSalience-1e-12)
		}
		require.Equal(t, due.Truncate(time.Microsecond), due, "Postgres stores it as it is")
	})
}

func TestSalienceProperties(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		d := anyDecay().Draw(t, "decay")
		base := rapid.Float64().Draw(t, "base")
		early := time.Duration(rapid.Int64().Draw(t, "early"))
		late := time.Duration(rapid.Int64Range(int64(early), math.MaxInt64).Draw(t, "late"))
		first, second := d.Salience(base, early), d.Salience(base, late)
		require.GreaterOrEqual(t, first, second, "monotone")
		require.True(t, second >= d.Floor && first <= 1)
		require.Equal(t, d.Salience(base, 0), d.Salience(base, min(0, early)))

		// "Reversible via reinforcement" (§15A.7).
		up := d.Reinforce(second, rapid.Float64Range(0, 3).Draw(t, "weight"))
		require.True(t, up >= second && up <= 1)
		down := d.Reinforce(second, -1)
		require.True(t, down <= second && down >= d.Floor)
	})
}

func TestReinforce(t *testing.T) {
	t.Parallel()
	d := memory.Decay{ReinforcementGain: 0.25, Floor: 0.125}
	require.Equal(t, 0.75, d.Reinforce(0.5, 1))
	require.Equal(t, 0.25, d.Reinforce(0.5, -1))
	require.Equal(t, 0.4375, d.Reinforce(0.5, -0.25))
	require.Equal(t, 1.0, d.Reinforce(0.9, 1))
	require.Equal(t, 0.125, d.Reinforce(0.2, -1))
	require.Equal(t, 0.5, d.Reinforce(0.5, math.NaN()))
}

func TestImportance(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		base   float64
		since  time.Duration
		rate   float64
		pinned bool
		want   float64
	}{
		"now":          {0.8, 0, 0.95, false, 0.8},
		"one day":      {0.8, day, 0.95, false, 0.76},
		"half a day":   {1, 12 * time.Hour, 0.81, false, 0.9},
		"slow":         {1, 2 * day, 0.99, false, 0.9801},
		"fast":         {1, 2 * day, 0.90, false, 0.81},
		"rate one":     {0.8, 100 * day, 1, false, 0.8},
		"pinned":       {0.2, 100 * day, 0.95, true, 1},
		"clock skew":   {0.8, -day, 0.95, false, 0.8},
		"rate zero":    {1, day, 0, false, 0.95},
		"rate absurd":  {1, day, 1.5, false, 0.95},
		"rate no num":  {1, day, math.NaN(), false, 0.95},
		"base too big": {3, 0, 0.95, false, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.InDelta(t, tt.want, memory.Importance(tt.base, tt.since, tt.rate, tt.pinned), 1e-12)
		})
	}
	rapid.Check(t, func(t *rapid.T) {
		base, rate := rapid.Float64().Draw(t, "base"), rapid.Float64().Draw(t, "rate")
		early := time.Duration(rapid.Int64().Draw(t, "early"))
		late := time.Duration(rapid.Int64Range(int64(early), math.MaxInt64).Draw(t, "late"))
		first, second := memory.Importance(base, early, rate, false), memory.Importance(base, late, rate, false)
		require.True(t, first >= second && second >= 0 && first <= 1)
	})
}
