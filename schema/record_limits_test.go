package schema_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/mneme/mneme/internal/testkit"
	"github.com/mneme/mneme/schema"
)

func TestDecayPoints(t *testing.T) {
	t.Parallel()
	const most = schema.MaxDurationSeconds
	type points = []schema.DecayPoint
	line := func(n int) (out points) {
		for i := range n {
			out = append(out, schema.DecayPoint{AfterSeconds: int64(i), Share: 1})
		}
		return out
	}
	for name, c := range map[string]struct {
		points points
		wrong  string // path under lifecycle.decay.points; "ok" for none
	}{
		"one":            {points{{AfterSeconds: 5, Share: 0.5}}, "ok"},
		"from the start": {points{{Share: 1}, {AfterSeconds: 5, Share: 0.5}}, "ok"},
		"flat, to zero": {points{{AfterSeconds: 5, Share: 0.5}, {AfterSeconds: 6, Share: 0.5}, {AfterSeconds: most}},
			"ok"},
		"maximum":          {line(schema.MaxDecayPoints), "ok"},
		"one too many":     {line(schema.MaxDecayPoints + 1), ""},
		"before the start": {points{{AfterSeconds: -1, Share: 1}}, "[0].after_seconds"},
		"too late":         {points{{AfterSeconds: most + 1, Share: 1}}, "[0].after_seconds"},
		"at once":          {points{{AfterSeconds: 0, Share: 0.9}}, "[0].share"},
		"twice":            {points{{AfterSeconds: 5, Share: 1}, {AfterSeconds: 5, Share: 0.5}}, "[1].after_seconds"},
		"backwards":        {points{{AfterSeconds: 5, Share: 1}, {AfterSeconds: 4, Share: 0.5}}, "[1].after_seconds"},
		"rising":           {points{{AfterSeconds: 5, Share: 0.5}, {AfterSeconds: 6, Share: 0.6}}, "[1].share"},
		"share above 1":    {points{{AfterSeconds: 5, Share: 1.1}}, "[0].share"},
		"negative share":   {points{{AfterSeconds: 5, Share: -0.1}}, "[0].share"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := testkit.RecordGen(schema.TypeWorking).Example(3)
			m.Lifecycle.Decay.Curve, m.Lifecycle.Decay.Points = schema.CurveCustom, c.points
			if c.wrong == "ok" {
				require.NoError(t, m.Validate())
				for _, shape := range []schema.Shape{schema.ShapeAppendix, schema.ShapeCanonical} {
					encoded, err := schema.EncodeRecord(m, shape)
					require.NoError(t, err)
					again, err := schema.DecodeRecord(encoded)
					require.NoError(t, err, "%s", encoded)
					require.Equal(t, m, again)
				}
				m.Lifecycle.Decay.Curve = schema.CurveLinear
				requireFields(t, m.Validate(), "lifecycle.decay.points")
				return
			}
			requireFields(t, m.Validate(), "lifecycle.decay.points"+c.wrong)
		})
	}

	// The canonical shape, and missing fields: a missing share must not count as 0.
	for text, field := range map[string]string{
		`[{"after_seconds": 5, "share": 0.5}]`:  "",
		`[]`:                                    "",
		`null`:                                  "",
		`[{"after_seconds": 5}]`:                "decay_profile.points[0].share",
		`[{"after_seconds": 5, "share": null}]`: "decay_profile.points[0].share",
		`[{"share": 0.5}]`:                      "decay_profile.points[0].after_seconds",
		`[{"after_seconds": "P1D", "share": 0.5}]`:          "decay_profile.points[0].after_seconds",
		`[{"after_seconds": 5, "share": 0.5, "colour": 1}]`: "decay_profile.points[0].colour",
		`[5]`: "decay_profile.points[0]",
		`{}`:  "decay_profile.points",
		`[{"after_seconds": 5, "share": 1}, {"after_seconds": 4, "share": 1}]`: "decay_profile.points[1].after_seconds",
	} {
		record := tree(t, "testdata/canonical_semantic.json")
		profile := record["decay_profile"].(map[string]any) //nolint:forcetypeassert // the file has it
		profile["function"], profile["points"] = "custom", json.RawMessage(text)
		encoded, err := json.Marshal(record)
		require.NoError(t, err)
		m, err := schema.DecodeRecord(encoded)
		if field == "" {
			require.NoError(t, err, text)
			continue
		}
		requireFields(t, err, field)
		require.Empty(t, m.ID)
	}
}

func TestDurations(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int64{"P7D": 604800, "PT1H30M": 5400, "P2W": 1209600, "PT45S": 45,
		"P1DT1S": 86401, "36h": 129600, "90m0s": 5400} {
		record := tree(t, "testdata/canonical_semantic.json")
		record["decay_profile"].(map[string]any)["half_life"] = text //nolint:forcetypeassert // the file has it
		encoded, err := json.Marshal(record)
		require.NoError(t, err)
		m, err := schema.DecodeRecord(encoded)
		require.NoError(t, err, text)
		require.Equal(t, want, m.Lifecycle.Decay.HalfLifeSeconds, text)
	}
	for _, text := range []string{"P", "PT", "P1Y", "P1M", "1500ms", "-5h", "P1DT", "forever", "P99999999999999999999W",
		strings.Repeat("9", 100) + "h", "PT0S"} {
		record := tree(t, "testdata/canonical_semantic.json")
		record["decay_profile"].(map[string]any)["half_life"] = text //nolint:forcetypeassert // the file has it
		requireProblem(t, decodeTree(t, record), "decay_profile.half_life")
	}
}

// bomb returns a semantic record with the given JSON as its object.
func bomb(object string) []byte {
	return []byte(`{"id":"7b1f8a52-8c0a-4f2e-9f33-0a2d5a6f1c03","type":"semantic","sensitivity":"low","confidence":0.8,"salience":0.5,"created_at":"2026-01-28T00:00:00Z",
		"updated_at":"2026-01-28T00:00:00Z","lifecycle":{"decay":{"curve":"linear","half_life_seconds":1},"last_reinforced_at":"2026-01-28T00:00:00Z"},"provenance":{"sources":[]},
		"payload":{"kind":"semantic","subject":"s","predicate":"p","validity":{"mode":"global"},"object":` + object +
		`}}`)
}

func TestPayloadBombsAreRefused(t *testing.T) {
	t.Parallel()
	nested := func(n int) string { return strings.Repeat("[", n) + strings.Repeat("]", n) }
	many := func(n int, of string) string { return strings.TrimSuffix(strings.Repeat(of+",", n), ",") }
	var names strings.Builder
	for i := range schema.MaxPayloadItems + 1 {
		fmt.Fprintf(&names, `"k%d":0,`, i)
	}
	cases := map[string]struct{ object, field string }{
		"deep":           {nested(1_000_000), "payload.object" + strings.Repeat("[0]", schema.MaxPayloadDepth-1)},
		"deep, unclosed": {strings.Repeat(`[{"a":`, 500_000), ""},
		"one too deep": {nested(schema.MaxPayloadDepth),
			"payload.object" + strings.Repeat("[0]", schema.MaxPayloadDepth-1)},
		"long":               {"[" + many(schema.MaxPayloadItems+1, "0") + "]", "payload.object"},
		"wide":               {"{" + strings.TrimSuffix(names.String(), ",") + "}", "payload.object"},
		"large":              {`"` + strings.Repeat("x", schema.MaxPayloadBytes) + `"`, "payload"},
		"huge":               {`"` + strings.Repeat("x", schema.MaxRecordBytes) + `"`, "(json)"},
		"NUL":                {`"` + canary + `\u0000"`, "payload.object"},
		"NUL in a name":      {`{"a":{"` + canary + `\u0000":1}}`, "payload.object.a"},
		"half surrogate":     {`"` + canary + `\ud83d"`, "payload.object"},
		"other half":         {`"` + canary + `\ude00\ud83d"`, "payload.object"},
		"not UTF-8":          {`"` + canary + "\xff" + `"`, "payload.object"},
		"name twice":         {`{"a":1,"a":2}`, "payload.object.a"},
		"same name, escaped": {`{"a":1,"\u0061":2}`, "payload.object.a"},
		"too large":          {`[1,1e999]`, "payload.object[1]"},
		"too small":          {`[1e-999]`, "payload.object[0]"},
		"too many digits":    {strings.Repeat("9", 1000), "payload.object"},
		"exponent":           {`1e999999999999999999999`, "payload.object"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := schema.DecodeRecord(bomb(c.object))
			var invalid *schema.ValidationError
			require.ErrorAs(t, err, &invalid)
			require.NotContains(t, err.Error(), canary)
			if c.field != "" {
				requireProblem(t, err, c.field)
			}
			payload := json.RawMessage(`{"kind":"semantic","subject":"s","predicate":"p","validity":{"mode":"global"},"object":` + c.object + `}`)
			require.ErrorAs(t, schema.ValidatePayload(schema.TypeSemantic, payload), &invalid)
			require.NotContains(t, invalid.Error(), canary)
			_, err = schema.PayloadOf[schema.SemanticPayload](payload)
			if err != nil {
				require.ErrorAs(t, err, &invalid)
			}
		})
	}
	for _, ok := range []string{nested(schema.MaxPayloadDepth - 1), "[" + many(schema.MaxPayloadItems, "0") + "]",
		`"\ud83d\ude00 \\ud83d \ufffd"`, `0e-999`, `1e308`, `-0.0`,
		`"` + strings.Repeat("x", schema.MaxContentBytes) + `"`} {
		_, err := schema.DecodeRecord(bomb(ok))
		require.NoError(t, err)
	}
}

func TestPayloadBombsAreNotDecoded(t *testing.T) {
	// Not parallel, because it counts allocations.
	data := bomb(strings.Repeat("[", 1_000_000) + strings.Repeat("]", 1_000_000))
	deep := testing.Benchmark(func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			_, _ = schema.DecodeRecord(data)
		}
	})
	require.Less(t, deep.AllocedBytesPerOp(), int64(64<<10), "reading stops where it is too deep")
}

func TestDecodingNeverPanicsAndNeverQuotes(t *testing.T) {
	t.Parallel()
	const hidden = "Xyzzy Canary" // a space, so that it is not a plain name
	rapid.Check(t, func(t *rapid.T) {
		kind := rapid.SampledFrom(testkit.MemoryTypes).Draw(t, "type")
		m := testkit.WithAudit(testkit.RecordGen(kind)).Draw(t, "record")
		shape := rapid.SampledFrom([]schema.Shape{schema.ShapeAppendix, schema.ShapeCanonical}).Draw(t, "shape")
		encoded, err := schema.EncodeRecord(m, shape)
		require.NoError(t, err)
		var tree any
		require.NoError(t, json.Unmarshal(encoded, &tree))
		encoded, err = json.Marshal(poison(tree, hidden))
		require.NoError(t, err)
		for range rapid.IntRange(0, 4).Draw(t, "edits") {
			at := rapid.IntRange(0, len(encoded)-1).Draw(t, "at")
			switch rapid.IntRange(0, 2).Draw(t, "edit") {
			case 0:
				encoded[at] = rapid.SampledFrom([]byte(`"{}[]:,0ae\-.`)).Draw(t, "byte")
			case 1:
				to := min(len(encoded), at+rapid.IntRange(1, 40).Draw(t, "cut"))
				encoded = append(bytes.Clone(encoded[:at]), encoded[to:]...)
			default:
				encoded = bytes.Replace(encoded, []byte(`"`+hidden+`"`),
					rapid.SampledFrom([][]byte{[]byte(`null`), []byte(`[]`), []byte(`{}`), []byte(`-1`),
						[]byte(`1e400`)}).Draw(t, "value"), at%5+1)
			}
			if len(encoded) == 0 {
				return
			}
		}
		_, err = schema.DecodeRecord(encoded)
		if err != nil {
			var invalid *schema.ValidationError
			if !errors.As(err, &invalid) {
				t.Fatalf("%T: %v", err, err)
			}
			for _, f := range invalid.Fields {
				if strings.Contains(f.Field+f.Problem, "yzzy") {
					t.Fatalf("quotes a value: %v", f)
				}
			}
		}
		var loose schema.MemoryRecord
		if json.Valid(encoded) {
			require.NoError(t, json.Unmarshal(encoded, &loose))
			if err := loose.Validate(); err != nil {
				require.NotContains(t, err.Error(), "yzzy")
			}
			_, _ = schema.EncodeRecord(loose, schema.ShapeCanonical)
		}
	})
}

// poison replaces every text of a tree.
func poison(v any, with string) any {
	switch v := v.(type) {
	case map[string]any:
		for k := range v {
			v[k] = poison(v[k], with)
		}
	case []any:
		for i := range v {
			v[i] = poison(v[i], with)
		}
	case string:
		return with
	}
	return v
}
