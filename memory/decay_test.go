package memory_test

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/mneme/mneme/memory"
	"github.com/mneme/mneme/memory/memorytest"
	"github.com/mneme/mneme/memory/normalize"
	"github.com/mneme/mneme/schema"
)

func TestSalience(t *testing.T) {
	t.Parallel()
	exponential := memory.Decay{Curve: schema.CurveExponential, HalfLife: 10 * memorytest.Day}
	linear := memory.Decay{Curve: schema.CurveLinear, HalfLife: 10 * memorytest.Day}
	custom := memory.Decay{Curve: schema.CurveCustom, HalfLife: 10 * memorytest.Day}
	drawn := memory.Decay{Curve: schema.CurveCustom, HalfLife: memorytest.Day,
		Points: []memory.DecayPoint{{After: 10 * memorytest.Day, Share: 1}, {After: 20 * memorytest.Day, Share: 0.5},
			{After: 40 * memorytest.Day, Share: 0.5}, {After: 50 * memorytest.Day, Share: 0.25}}}
	sloping := memory.Decay{Curve: schema.CurveCustom,
		Points: []memory.DecayPoint{{After: 10 * memorytest.Day, Share: 0}}}
	other := drawn
	other.Curve = schema.CurveExponential
	drawnFloored := drawn
	drawnFloored.Floor = 0.3
	floored := memory.Decay{Curve: schema.CurveExponential, HalfLife: 10 * memorytest.Day, Floor: 0.3}
	for name, tt := range map[string]struct {
		decay memory.Decay
		base  float64
		since time.Duration
		want  float64
	}{
		"exponential now":       {exponential, 0.8, 0, 0.8},
		"exponential half":      {exponential, 0.8, 10 * memorytest.Day, 0.4},
		"exponential quarter":   {exponential, 0.8, 20 * memorytest.Day, 0.2},
		"linear half":           {linear, 0.8, 10 * memorytest.Day, 0.4},
		"linear zero":           {linear, 0.8, 20 * memorytest.Day, 0},
		"linear long after":     {linear, 0.8, 900 * memorytest.Day, 0},
		"custom as exponential": {custom, 0.8, 10 * memorytest.Day, 0.4},
		"points, now":           {drawn, 0.8, 0, 0.8},
		"points, flat":          {drawn, 0.8, 10 * memorytest.Day, 0.8},
		"points, between":       {drawn, 0.8, 15 * memorytest.Day, 0.6},
		"points, plateau":       {drawn, 0.8, 30 * memorytest.Day, 0.4},
		"points, falling again": {drawn, 0.8, 45 * memorytest.Day, 0.3},
		"points, last":          {drawn, 0.8, 50 * memorytest.Day, 0.2},
		"points, long after":    {drawn, 0.8, 9000 * memorytest.Day, 0.2},
		"points, floor":         {drawnFloored, 0.8, 50 * memorytest.Day, 0.3},
		"points, clock skew":    {drawn, 0.8, -15 * memorytest.Day, 0.8},
		"implied first point":   {sloping, 0.8, 5 * memorytest.Day, 0.4},
		"implied first, end":    {sloping, 0.8, 11 * memorytest.Day, 0},
		"points of exponential": {other, 0.8, memorytest.Day, 0.4},
		"clock skew":            {exponential, 0.8, -time.Hour, 0.8},
		"floor":                 {floored, 0.8, 100 * memorytest.Day, 0.3},
		"floor above base":      {floored, 0.1, 0, 0.3},
		"no half-life":          {memory.Decay{}, 0.8, 1000 * memorytest.Day, 0.8},
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
		schema.TypeWorking:    memorytest.Day,
		schema.TypeEpisodic:   7 * memorytest.Day,
		schema.TypeSemantic:   7776000 * time.Second, // the preference in the RFC's example
		schema.TypeCompetence: 2592000 * time.Second, // the procedure in the RFC's example
		schema.TypePlanGraph:  30 * memorytest.Day,
		"unheard of":          7 * memorytest.Day,
	} {
		d := memory.DefaultDecay(memoryType)
		require.Equal(t, schema.CurveExponential, d.Curve)
		require.Equal(t, halfLife, d.HalfLife, memoryType)
		require.Equal(t, 0.05, d.MinSalience)
		require.Zero(t, d.MaxAge)
	}
	// A new memory has salience 1.
	due, ok := memory.DefaultDecay(schema.TypeEpisodic).DueAt(1, memorytest.Noon, memorytest.Noon, false)
	require.True(t, ok)
	require.WithinRange(t, due, memorytest.Noon.Add(28*memorytest.Day), memorytest.Noon.Add(35*memorytest.Day),
		"in its fifth week")
}

func TestDueAt(t *testing.T) {
	t.Parallel()
	d := memory.Decay{Curve: schema.CurveExponential, HalfLife: 10 * memorytest.Day, MinSalience: 0.1}
	with := func(change func(*memory.Decay)) memory.Decay {
		out := d
		change(&out)
		return out
	}
	curve := with(func(d *memory.Decay) {
		d.Curve, d.HalfLife = schema.CurveCustom, 0
		d.Points = []memory.DecayPoint{{After: 10 * memorytest.Day, Share: 0.5},
			{After: 20 * memorytest.Day, Share: 0.5}, {After: 30 * memorytest.Day, Share: 0.125},
			{After: 40 * memorytest.Day, Share: 0.0625}}
	})
	threshold := func(min float64) memory.Decay {
		out := curve
		out.MinSalience = min
		return out
	}
	created := memorytest.Noon.Add(-5 * memorytest.Day)
	for name, tt := range map[string]struct {
		decay  memory.Decay
		base   float64
		pinned bool
		want   time.Time // zero: never
	}{
		"three half-lives":     {d, 0.8, false, memorytest.Noon.Add(30 * memorytest.Day)},
		"pinned":               {d, 0.8, true, time.Time{}},
		"pinned, with max age": {with(func(d *memory.Decay) { d.MaxAge = memorytest.Day }), 0.8, true, time.Time{}},
		"already faded":        {d, 0.1, false, memorytest.Noon},
		"linear": {with(func(d *memory.Decay) { d.Curve = schema.CurveLinear }), 0.8, false,
			memorytest.Noon.Add(20 * memorytest.Day * 7 / 8)},
		"linear, threshold 0": {with(func(d *memory.Decay) { d.Curve, d.MinSalience = schema.CurveLinear, 0 }), 0.8,
			false, time.Time{}},
		"max age first": {with(func(d *memory.Decay) { d.MaxAge = 10 * memorytest.Day }), 0.8, false,
			memorytest.Noon.Add(5 * memorytest.Day)},
		"max age last": {with(func(d *memory.Decay) { d.MaxAge = 1000 * memorytest.Day }), 0.8, false,
			memorytest.Noon.Add(30 * memorytest.Day)},
		"max age alone": {memory.Decay{MaxAge: 10 * memorytest.Day}, 0.8, false,
			memorytest.Noon.Add(5 * memorytest.Day)},
		"floor protects": {with(func(d *memory.Decay) { d.Floor = 0.1 }), 0.8, false, time.Time{}},
		"floor below": {with(func(d *memory.Decay) { d.Floor = 0.05 }), 0.8, false,
			memorytest.Noon.Add(30 * memorytest.Day)},
		"never fades":          {with(func(d *memory.Decay) { d.HalfLife = 0 }), 0.8, false, time.Time{}},
		"points, at a point":   {threshold(0.1), 0.8, false, memorytest.Noon.Add(30 * memorytest.Day)},
		"points, on a plateau": {threshold(0.4), 0.8, false, memorytest.Noon.Add(10 * memorytest.Day)},
		"points, starts between": {threshold(0.1), 0.4, false,
			memorytest.Noon.Add(20*memorytest.Day + 10*memorytest.Day*2/3)},
		"points, threshold below all": {threshold(0.03), 0.8, false, time.Time{}},
		"points, last":                {threshold(0.05), 0.8, false, memorytest.Noon.Add(40 * memorytest.Day)},
		"points, at once": {with(func(d *memory.Decay) {
			d.Curve, d.Points = schema.CurveCustom, []memory.DecayPoint{{Share: 0.1}}
		}), 0.8, false, memorytest.Noon},
		"points, pinned":       {threshold(0.1), 0.8, true, time.Time{}},
		"no limits":            {memory.Decay{HalfLife: memorytest.Day}, 0.8, false, time.Time{}},
		"beyond the last date": {with(func(d *memory.Decay) { d.HalfLife = math.MaxInt64 }), 0.8, false, time.Time{}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			due, ok := tt.decay.DueAt(tt.base, memorytest.Noon, created, tt.pinned)
			require.Equal(t, !tt.want.IsZero(), ok)
			require.WithinDuration(t, tt.want, due, time.Millisecond)
		})
	}
}

// Without its last correction, DueAt returns times at which the salience is still slightly above the threshold.
func TestDueAtRounding(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		halfLife        time.Duration
		base, threshold float64
	}{
		{25 * time.Second, 1, 0.04},
		{19 * time.Second, 1, 0.01},
		{60 * memorytest.Day, 0.36, 0.04},
		{248 * memorytest.Day, 0.5, 0.03},
	} {
		d := memory.Decay{Curve: schema.CurveLinear, HalfLife: tt.halfLife, MinSalience: tt.threshold}
		due, ok := d.DueAt(tt.base, memorytest.Noon, memorytest.Noon, false)
		require.True(t, ok)
		require.LessOrEqual(t, d.Salience(tt.base, due.Sub(memorytest.Noon)), tt.threshold)
	}
}

func TestDueAtAgreesWithSalience(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		d := memorytest.AnyDecay().Draw(t, "decay")
		base := rapid.Float64Range(0, 1).Draw(t, "base")
		if rapid.Bool().Draw(t, "as people configure it") {
			// Round values land exactly on a tick, where the last bit of a float decides.
			d.HalfLife = time.Duration(rapid.Int64Range(1,
				100).Draw(t, "units")) * rapid.SampledFrom([]time.Duration{time.Second, memorytest.Day}).Draw(t, "unit")
			d.MinSalience = float64(rapid.IntRange(1, 20).Draw(t, "threshold in percent")) / 100
			base = float64(rapid.IntRange(1, 100).Draw(t, "base in percent")) / 100
		}
		created := memorytest.Noon.Add(-time.Duration(rapid.Int64Range(0, 1e9).Draw(t, "age")) * time.Second)
		due, ok := d.DueAt(base, memorytest.Noon, created, false)
		if !ok {
			require.Zero(t, d.MaxAge)
			far := d.Salience(base, 100*365*memorytest.Day)
			if len(d.Points) > 0 { // constant after the last point
				require.True(t, d.MinSalience == 0 || d.Floor >= d.MinSalience || d.Salience(base,
					math.MaxInt64) > d.MinSalience, "never due, yet faded")
				return
			}
			require.True(t, d.MinSalience == 0 || far >= d.MinSalience, "never due, yet faded to %v", far)
			return
		}
		tooOld := d.MaxAge > 0 && due.Sub(created) >= d.MaxAge
		faded := d.MinSalience > 0 && d.Salience(base, due.Sub(memorytest.Noon)) <= d.MinSalience
		require.True(t, tooOld || faded, "due at DueAt")

		// Shortly before, it was not due. The tolerance covers the rounding of times that are centuries away.
		if before := due.Add(-2 * time.Millisecond).Sub(memorytest.Noon); before > 0 {
			require.False(t, d.MaxAge > 0 && memorytest.Noon.Add(before).Sub(created) >= d.MaxAge)
			if len(d.Points) > 0 && d.MinSalience > d.Floor {
				require.Greater(t, d.Salience(base, before), d.MinSalience,
					"two ticks late, although the curve is exact")
			}
			require.GreaterOrEqual(t, d.Salience(base, before), d.MinSalience-1e-12)
		}
		require.Equal(t, due.Truncate(time.Microsecond), due, "Postgres stores it exactly")
	})
}

func TestSalienceProperties(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		d := memorytest.AnyDecay().Draw(t, "decay")
		base := rapid.Float64().Draw(t, "base")
		early := time.Duration(rapid.Int64().Draw(t, "early"))
		late := time.Duration(rapid.Int64Range(int64(early), math.MaxInt64).Draw(t, "late"))
		first, second := d.Salience(base, early), d.Salience(base, late)
		require.GreaterOrEqual(t, first, second, "monotone")
		require.True(t, second >= d.Floor && first <= 1, "floored, and a number") // comparisons with NaN are false
		require.Equal(t, d.Salience(base, 0), d.Salience(base, min(0, early)))

		// "Reversible via reinforcement" (§15A.7).
		up := d.Reinforce(second, rapid.Float64Range(0, 3).Draw(t, "weight"))
		require.True(t, up >= second && up <= 1)
		down := d.Reinforce(second, -1)
		require.True(t, down <= second && down >= d.Floor)
	})
}

// Near the end of a long segment, interpolation rounds to a value below the end point: 1 − 0.9 is less than 0.1.
func TestSalienceDoesNotRiseByRounding(t *testing.T) {
	t.Parallel()
	d := memory.Decay{Curve: schema.CurveCustom,
		Points: []memory.DecayPoint{{After: schema.MaxDurationSeconds * time.Second, Share: 0.1}}}
	at := d.Points[0].After
	require.GreaterOrEqual(t, d.Salience(1, at-1), d.Salience(1, at))
}

// Salience and DueAt keep their contracts for points that validation would refuse.
func TestDecayWithInvalidPoints(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		d := memory.Decay{Curve: schema.CurveCustom, MinSalience: rapid.Float64Range(0, 1).Draw(t, "threshold")}
		shares := rapid.OneOf(rapid.Float64Range(0, 1),
			rapid.SampledFrom([]float64{math.NaN(), math.Inf(1), math.Inf(-1), -1, 2}))
		times := rapid.OneOf(rapid.Int64(), rapid.Int64Range(-2, 2), rapid.Int64Range(0, 1e10),
			rapid.SampledFrom([]int64{math.MinInt64, math.MaxInt64}))
		for range rapid.IntRange(1, 4).Draw(t, "points") {
			d.Points = append(d.Points, memory.DecayPoint{After: time.Duration(times.Draw(t, "after")),
				Share: shares.Draw(t, "share")})
		}
		base := rapid.Float64Range(0, 1).Draw(t, "base")
		early := time.Duration(times.Draw(t, "early"))
		late := time.Duration(rapid.Int64Range(int64(early), math.MaxInt64).Draw(t, "late"))
		first, second := d.Salience(base, early), d.Salience(base, late)
		require.True(t, first >= second && second >= 0 && first <= base)
		if due, ok := d.DueAt(base, memorytest.Noon, memorytest.Noon, false); ok {
			require.LessOrEqual(t, d.Salience(base, due.Sub(memorytest.Noon)), d.MinSalience)
		} else if d.MinSalience > 0 { // or it is due after the last representable time
			require.Greater(t, d.Salience(base, math.MaxInt64/time.Millisecond*time.Millisecond), d.MinSalience)
		}
	})
}

// The decay profile of a record survives the conversion to a Decay and back.
func TestDecayOfRecord(t *testing.T) {
	t.Parallel()
	profile := schema.DecayProfile{Curve: schema.CurveCustom, HalfLifeSeconds: 60, MinSalience: 0.1,
		MaxAgeSeconds: 3600, Floor: 0.01, ReinforcementGain: 0.3,
		Points: []schema.DecayPoint{{AfterSeconds: 60, Share: 0.75}, {AfterSeconds: 90, Share: 0.25}}}
	d := memory.DecayOf(profile)
	require.Equal(t, memory.Decay{Curve: schema.CurveCustom, HalfLife: time.Minute, MinSalience: 0.1, MaxAge: time.Hour,
		Floor: 0.01, ReinforcementGain: 0.3,
		Points: []memory.DecayPoint{{After: time.Minute, Share: 0.75}, {After: 90 * time.Second, Share: 0.25}}}, d)
	require.Equal(t, profile, d.Profile())
	require.Equal(t, schema.CurveExponential, memory.DecayOf(schema.DecayProfile{}).Curve)
	require.Nil(t, memory.DecayOf(schema.DecayProfile{Points: []schema.DecayPoint{}}).Points)

	same := memory.DecayOf(profile)
	require.True(t, d.Equal(same))
	for name, change := range map[string]func(*memory.Decay){
		"curve":     func(d *memory.Decay) { d.Curve = schema.CurveLinear },
		"half-life": func(d *memory.Decay) { d.HalfLife++ },
		"threshold": func(d *memory.Decay) { d.MinSalience = 0 },
		"max age":   func(d *memory.Decay) { d.MaxAge = 0 },
		"floor":     func(d *memory.Decay) { d.Floor = 0 },
		"gain":      func(d *memory.Decay) { d.ReinforcementGain = 0 },
		"a point": func(d *memory.Decay) {
			d.Points = []memory.DecayPoint{d.Points[0], {After: 90 * time.Second, Share: 0.2}}
		},
		"no points": func(d *memory.Decay) { d.Points = nil },
	} {
		other := d
		change(&other)
		require.False(t, d.Equal(other), name)
	}

	// A record without a half-life gets the defaults of its type. If it has its own points, only the half-life
	// comes from the defaults.
	m := schema.MemoryRecord{Type: schema.TypeEpisodic}
	m.Lifecycle.Decay = profile
	m.Lifecycle.Decay.HalfLifeSeconds = 0
	want := d
	want.HalfLife = memory.DefaultDecay(schema.TypeEpisodic).HalfLife
	require.Equal(t, want, memory.ClassifyRecord(m, normalize.Normalized{}).Decay)
	m.Lifecycle.Decay.Points = nil
	require.Equal(t, memory.DefaultDecay(schema.TypeEpisodic), memory.ClassifyRecord(m, normalize.Normalized{}).Decay)
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
		"one day":      {0.8, memorytest.Day, 0.95, false, 0.76},
		"half a day":   {1, 12 * time.Hour, 0.81, false, 0.9},
		"slow":         {1, 2 * memorytest.Day, 0.99, false, 0.9801},
		"fast":         {1, 2 * memorytest.Day, 0.90, false, 0.81},
		"rate one":     {0.8, 100 * memorytest.Day, 1, false, 0.8},
		"pinned":       {0.2, 100 * memorytest.Day, 0.95, true, 1},
		"clock skew":   {0.8, -memorytest.Day, 0.95, false, 0.8},
		"rate zero":    {1, memorytest.Day, 0, false, 0.95},
		"rate above 1": {1, memorytest.Day, 1.5, false, 0.95},
		"rate NaN":     {1, memorytest.Day, math.NaN(), false, 0.95},
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
