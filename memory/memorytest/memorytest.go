package memorytest

import (
	"encoding/json"
	"math"
	"strings"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/mneme/mneme/memory"
	"github.com/mneme/mneme/schema"
)

// AnyText draws text in which characters that need special handling are frequent.
func AnyText() *rapid.Generator[string] {
	return rapid.Custom(func(t *rapid.T) string {
		parts := rapid.SliceOfN(rapid.OneOf(
			rapid.SampledFrom(
				[]string{
					" ",
					"\t",
					"\r\n",
					"\u00A0",
					"\u3000",
					"\uFEFF",
					"\u0085",
					"\u200B",
					".",
					"?!",
					":",
					"İ",
					"Σ",
					"ς",
					"ß",
					"e\u0301",
					"🚀",
					"\x00",
					"\xff",
					"\xc3",
					"don’t",
					"never",
					"user",
					"critical:",
					"[a,B]:",
				},
			),
			rapid.StringN(0, 6, -1),
		), 0, 12).Draw(t, "parts")
		return strings.Join(parts, "")
	})
}

// Noon is the time at which tests of decay and retention take place.
var Noon = time.Date(2026, 1, 28, 12, 0, 0, 0, time.UTC)

// Day is 24 hours.
const Day = 24 * time.Hour

// Principal is the agent that tests act as.
var Principal = schema.Principal{Tenant: "t", Agent: "a"}

// When holds under conditions, a JSON object.
func When(conditions string) schema.Validity {
	return schema.Validity{Mode: schema.ValidConditional, Conditions: json.RawMessage(conditions)}
}

// Validity draws a valid Validity of any mode.
func Validity() *rapid.Generator[schema.Validity] {
	return rapid.Custom(func(t *rapid.T) schema.Validity {
		switch rapid.IntRange(0, 2).Draw(t, "mode") {
		case 0:
			return Global()
		case 1:
			return When(Conditions().Draw(t, "conditions"))
		}
		from := rapid.IntRange(-1, 4).Draw(t, "from")
		until := rapid.IntRange(max(from, 0)+1, 6).Draw(t, "until")
		if from >= 0 && rapid.Bool().Draw(t, "open") {
			until = -1
		}
		with := ""
		if rapid.Bool().Draw(t, "with conditions") {
			with = Conditions().Draw(t, "conditions")
		}
		return During(from, until, with)
	})
}

// Global holds always and everywhere.
func Global() schema.Validity { return schema.Validity{} }

// During returns a window in hours from midday; a negative bound is open.
func During(from, until int, conditions string) schema.Validity {
	v := schema.Validity{Mode: schema.ValidTimeboxed, Conditions: json.RawMessage(conditions)}
	if from >= 0 {
		at := Midday.Add(time.Duration(from) * time.Hour)
		v.Start = &at
	}
	if until >= 0 {
		at := Midday.Add(time.Duration(until) * time.Hour)
		v.End = &at
	}
	return v
}

// Fact returns a fact with a confidence that is high enough to be written.
func Fact(content string) memory.Fact {
	return memory.Fact{Content: content, Category: schema.CategoryFact, Confidence: 0.9}
}

// AnyDecay draws decays from a second to centuries.
func AnyDecay() *rapid.Generator[memory.Decay] {
	return rapid.Custom(func(t *rapid.T) memory.Decay {
		d := memory.Decay{
			Curve: rapid.SampledFrom(
				[]schema.DecayCurve{schema.CurveExponential, schema.CurveLinear, schema.CurveCustom},
			).Draw(
				t,
				"curve",
			),
			HalfLife: time.Duration(
				rapid.Int64Range(0, math.MaxInt64/int64(time.Second)).Draw(t, "half-life"),
			) * time.Second,
			MinSalience:       rapid.Float64Range(0, 1).Draw(t, "threshold"),
			ReinforcementGain: rapid.Float64Range(0, 1).Draw(t, "gain"),
		}
		if d.Curve == schema.CurveCustom && rapid.Bool().Draw(t, "with points") {
			d.Points = anyPoints().Draw(t, "points")
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

// At returns the time d after now.
func At(now time.Time, d time.Duration) *time.Time {
	t := now.Add(d)
	return &t
}

// Midday is the time from which During counts.
var Midday = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// anyPoints draws valid curves that last from a second to centuries, with plateaus, drops within a second, very
// small slopes, and last shares of zero and above.
func anyPoints() *rapid.Generator[[]memory.DecayPoint] {
	return rapid.Custom(func(t *rapid.T) []memory.DecayPoint {
		var points []memory.DecayPoint
		after, share := time.Duration(0), 1.0
		longest := rapid.SampledFrom([]int64{2, 1e3, 1e7, 9e9 / schema.MaxDecayPoints}).Draw(t, "longest")
		for i := range rapid.IntRange(1, schema.MaxDecayPoints).Draw(t, "points") {
			if i > 0 || rapid.Bool().Draw(t, "later than 0") {
				after += time.Duration(rapid.Int64Range(1, longest).Draw(t, "seconds")) * time.Second
				switch rapid.IntRange(0, 3).Draw(t, "step") {
				case 0: // a plateau
				case 1:
					share -= share * rapid.Float64Range(0, 1).Draw(t, "off")
				case 2:
					share = min(share, float64(rapid.IntRange(0, 20).Draw(t, "share in twentieths"))/20)
				default:
					share = math.Nextafter(share, 0)
				}
			}
			points = append(points, memory.DecayPoint{After: after, Share: share})
		}
		return points
	})
}

// Conditions draws a JSON object of conditions.
func Conditions() *rapid.Generator[string] {
	return rapid.Custom(func(t *rapid.T) string {
		all := map[string]json.RawMessage{}
		for _, key := range rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"k", "l", "m"}),
			1, 3, rapid.ID).Draw(t, "keys") {
			v := value().Draw(t, "value")
			if rapid.Bool().Draw(t, "list") {
				v = "[" + v
				for _, more := range rapid.SliceOfN(value(), 0, 2).Draw(t, "more") {
					v += "," + more
				}
				v += "]"
			}
			all[key] = json.RawMessage(v)
		}
		encoded, err := json.Marshal(all)
		require.NoError(t, err)
		return string(encoded)
	})
}

// value draws a JSON value from a small set, so that equal values are likely.
func value() *rapid.Generator[string] {
	return rapid.SampledFrom(
		[]string{
			`"a"`,
			`"b"`,
			`1`,
			`1.0`,
			`10e-1`,
			`0.1`,
			`-0`,
			`0`,
			`1e2`,
			`100`,
			`true`,
			`null`,
			`{"x":1,"y":[2]}`,
			`{"y":[2.0],"x":1}`,
			`["a"]`,
			`[]`,
		},
	)
}
