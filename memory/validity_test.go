package memory_test

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/mneme/mneme/internal/testkit"
	"github.com/mneme/mneme/memory"
	"github.com/mneme/mneme/memory/memorytest"
	"github.com/mneme/mneme/schema"
)

func TestGrounds(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		a, b           schema.Validity
		same, disjoint bool
	}{
		"both global": {memorytest.Global(), schema.Validity{Mode: schema.ValidGlobal}, true,
			false},
		"a rule and its exception": {memorytest.Global(), memorytest.When(`{"os":"linux"}`), false, false},
		"one condition, written differently": {memorytest.When(`{"a":1,"b":"x"}`),
			memorytest.When(` {"b" : "x", "a":1.0}`), true, false},
		"another value": {memorytest.When(`{"os":"linux"}`), memorytest.When(`{"os":"macos"}`),
			false, true},
		"another key": {memorytest.When(`{"os":"linux"}`), memorytest.When(`{"arch":"arm"}`),
			false, false},
		"one more key": {memorytest.When(`{"os":"linux"}`),
			memorytest.When(`{"os":"linux","arch":"arm"}`), false, false},
		"a value among several": {memorytest.When(`{"os":"linux"}`),
			memorytest.When(`{"os":["macos","linux"]}`), false, false},
		"lists without a common element": {memorytest.When(`{"os":["linux","bsd"]}`),
			memorytest.When(`{"os":["macos","windows"]}`), false, true},
		"lists with a common element": {memorytest.When(`{"os":["linux","bsd"]}`),
			memorytest.When(`{"os":["bsd","windows"]}`), false, false},
		"a number and its text": {memorytest.When(`{"n":1}`), memorytest.When(`{"n":"1"}`), false, true},
		"case matters": {memorytest.When(`{"os":"Linux"}`), memorytest.When(`{"os":"linux"}`),
			false, true},
		"null is a value": {memorytest.When(`{"os":null}`), memorytest.When(`{"os":"linux"}`),
			false, true},
		"windows that overlap": {memorytest.During(0, 4, ""), memorytest.During(2, 6, ""), true, false},
		"windows that touch":   {memorytest.During(0, 4, ""), memorytest.During(4, 6, ""), false, true},
		"disjoint windows":     {memorytest.During(0, 1, ""), memorytest.During(4, -1, ""), false, true},
		"open windows": {memorytest.During(-1, 4, ""), memorytest.During(2, -1, ""), true,
			false},
		"a window and no window": {memorytest.During(0, 4, ""), memorytest.Global(), false, false},
		"overlap under different conditions": {memorytest.During(0, 4, `{"os":"linux"}`),
			memorytest.During(2, 6, `{"os":"macos"}`), false, true},
		"overlap under the same conditions": {memorytest.During(0, 4, `{"os":"linux"}`),
			memorytest.During(2, 6, `{"os":"linux"}`), true, false},
		"a window with and one without": {memorytest.During(0, 4, ""), memorytest.During(2, 6, `{"os":"linux"}`),
			false, false},
		"conditional and timeboxed and equal": {memorytest.When(`{"os":"linux"}`),
			memorytest.During(0, 4, `{"os":"linux"}`), true, false},
		"conditional and timeboxed": {memorytest.When(`{"os":"linux"}`),
			memorytest.During(0, 4, `{"os":"bsd"}`), false, true},
		"a value and a list of it": {memorytest.When(`{"os":"linux"}`), memorytest.When(`{"os":["linux"]}`),
			true, false},
		"a value that is listed twice": {memorytest.When(`{"os":"linux"}`),
			memorytest.When(`{"os":["linux","linux"]}`), true, false},
		"lists in another order": {memorytest.When(`{"os":["linux","mac"]}`),
			memorytest.When(`{"os":["mac","linux"]}`), true, false},
		"a list and a list of it": {memorytest.When(`{"os":["linux"]}`),
			memorytest.When(`{"os":[["linux"]]}`), false, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, c.same, memory.SameGround(c.a, c.b), "same")
			require.Equal(t, c.disjoint, memory.Disjoint(c.a, c.b), "disjoint")
		})
	}
}

func TestCovers(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		outer, inner schema.Validity
		want         bool
	}{
		"global covers a condition": {memorytest.Global(), memorytest.When(`{"os":"linux"}`), true},
		"global covers a window":    {memorytest.Global(), memorytest.During(0, 1, ""), true},
		"a condition, not global":   {memorytest.When(`{"os":"linux"}`), memorytest.Global(), false},
		"more conditions are narrower": {memorytest.When(`{"os":"linux"}`),
			memorytest.When(`{"os":"linux","arch":"arm"}`), true},
		"fewer conditions are not": {memorytest.When(`{"os":"linux","arch":"arm"}`),
			memorytest.When(`{"os":"linux"}`), false},
		"one of several values": {memorytest.When(`{"os":["linux","bsd"]}`), memorytest.When(`{"os":"bsd"}`),
			true},
		"several values of one": {memorytest.When(`{"os":"bsd"}`), memorytest.When(`{"os":["linux","bsd"]}`),
			false},
		"a window within":              {memorytest.During(0, 4, ""), memorytest.During(1, 4, ""), true},
		"a window that begins earlier": {memorytest.During(1, 4, ""), memorytest.During(0, 4, ""), false},
		"a window that never ends":     {memorytest.During(1, 4, ""), memorytest.During(2, -1, ""), false},
		"a window without a start":     {memorytest.During(1, -1, ""), memorytest.During(-1, 4, ""), false},
		"a window within, other grounds": {memorytest.During(0, 4, `{"os":"bsd"}`),
			memorytest.During(1, 4, `{"os":"linux"}`), false},
		"a condition covers its timebox": {memorytest.When(`{"os":"bsd"}`), memorytest.During(1, 4, `{"os":"bsd"}`),
			true},
		"a timebox, not its condition alone": {memorytest.During(1, 4, `{"os":"bsd"}`), memorytest.When(`{"os":"bsd"}`),
			false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, c.want, memory.Covers(c.outer, c.inner))
		})
	}
}

func TestHolds(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		v       schema.Validity
		at      time.Time
		context string
		want    memory.Applicability
	}{
		"global": {memorytest.Global(), memorytest.Midday, `{"os":"linux"}`,
			memory.Applicability{Verdict: memory.AppliesYes}},
		"the condition holds": {memorytest.When(`{"os":"linux"}`), memorytest.Midday, `{"os":"linux","x":1}`,
			memory.Applicability{Verdict: memory.AppliesYes}},
		"the condition does not hold": {memorytest.When(`{"os":"linux"}`), memorytest.Midday, `{"os":"macos"}`,
			memory.Applicability{Verdict: memory.AppliesNo}},
		"one of a list": {memorytest.When(`{"os":["linux","bsd"]}`), memorytest.Midday, `{"os":"bsd"}`,
			memory.Applicability{Verdict: memory.AppliesYes}},
		"none of an empty list": {memorytest.When(`{"os":[]}`), memorytest.Midday, `{"os":"bsd"}`,
			memory.Applicability{Verdict: memory.AppliesNo}},
		"unknown": {memorytest.When(`{"os":"linux","arch":"arm"}`), memorytest.Midday, `{}`,
			memory.Applicability{Verdict: memory.AppliesUnknown, Missing: []string{"arch", "os"}}},
		"one known contradiction is enough": {memorytest.When(`{"os":"linux","arch":"arm"}`), memorytest.Midday,
			`{"os":"bsd"}`, memory.Applicability{Verdict: memory.AppliesNo}},
		"partly known": {memorytest.When(`{"os":"linux","arch":"arm"}`), memorytest.Midday,
			`{"os":"linux"}`, memory.Applicability{Verdict: memory.AppliesUnknown, Missing: []string{"arch"}}},
		"no context": {memorytest.When(`{"os":"linux"}`), memorytest.Midday, ``,
			memory.Applicability{Verdict: memory.AppliesYes}},
		"at its start": {memorytest.During(0, 1, ""), memorytest.Midday, ``,
			memory.Applicability{Verdict: memory.AppliesYes}},
		"at its end": {memorytest.During(0, 1, ""), memorytest.Midday.Add(time.Hour), ``,
			memory.Applicability{Verdict: memory.AppliesNo}},
		"before its start": {memorytest.During(1, 2, ""), memorytest.Midday, ``,
			memory.Applicability{Verdict: memory.AppliesNo}},
		"without a time": {memorytest.During(1, 2, ""), time.Time{}, ``,
			memory.Applicability{Verdict: memory.AppliesYes}},
		"in its window, else unknown": {memorytest.During(0, 2, `{"os":"linux"}`), memorytest.Midday, `{}`,
			memory.Applicability{Verdict: memory.AppliesUnknown, Missing: []string{"os"}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var situation map[string]json.RawMessage
			if c.context != "" {
				require.NoError(t, json.Unmarshal([]byte(c.context), &situation))
			}
			require.Equal(t, c.want, memory.Holds(c.v, c.at, situation))
		})
	}
}

func TestGroundsProperties(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		a, b := memorytest.Validity().Draw(t, "a"), memorytest.Validity().Draw(t, "b")
		require.Equal(t, memory.SameGround(a, b), memory.SameGround(b, a), "the order does not matter")
		require.Equal(t, memory.Disjoint(a, b), memory.Disjoint(b, a), "the order does not matter")
		require.True(t, memory.SameGround(a, a))
		require.False(t, memory.Disjoint(a, a))
		require.True(t, memory.Covers(a, a))
		if memory.Disjoint(a, b) {
			require.False(t, memory.SameGround(a, b))
		}
		if memory.ConditionsHash(a) == memory.ConditionsHash(b) {
			require.True(t, memory.SameGround(a, b))
		}
		if a.Mode == schema.ValidConditional && b.Mode == schema.ValidConditional && memory.SameGround(a, b) {
			require.Equal(t, memory.ConditionsHash(a), memory.ConditionsHash(b),
				"the unique key agrees with the rule")
		}

		// Disjoint grounds never hold at the same time. A ground that covers another holds wherever the other does.
		at := memorytest.Midday.Add(time.Duration(rapid.IntRange(-2, 8).Draw(t, "at")) * time.Hour)
		var situation map[string]json.RawMessage
		require.NoError(t, json.Unmarshal([]byte(memorytest.Conditions().Draw(t, "context")), &situation))
		holdsA, holdsB := memory.Holds(a, at, situation).Verdict, memory.Holds(b, at, situation).Verdict
		if memory.Disjoint(a, b) {
			require.False(t, holdsA == memory.AppliesYes && holdsB == memory.AppliesYes)
		}
		if memory.Covers(a, b) && holdsB == memory.AppliesYes {
			require.Equal(t, memory.AppliesYes, holdsA)
		}
	})
}

// Holds agrees with the SQL function that queries filter by.
func TestHoldsAgreesWithTheDatabase(t *testing.T) {
	t.Parallel()
	db := testkit.Owner(t, testkit.DatabaseURL(t))
	agree := func(t require.TestingT, with, about string) {
		var situation map[string]json.RawMessage
		require.NoError(t, json.Unmarshal([]byte(about), &situation))
		var applies bool
		require.NoError(t, db.QueryRow(context.Background(), `SELECT mneme_applies($1::text::jsonb, $2::text::jsonb)`,
			with, about).Scan(&applies))
		require.Equal(t, applies, memory.Holds(memorytest.When(with), time.Time{},
			situation).Verdict != memory.AppliesNo, fmt.Sprintf("%s in %s", with, about))
	}
	for _, c := range [][2]string{
		{`{"k":[["a"]]}`, `{"k":["a","b"]}`}, {`{"k":[["a","b"]]}`, `{"k":["a"]}`},
		{`{"k":[{"x":1,"y":2}]}`, `{"k":{"x":1}}`},
		{`{"k":"\u00e9"}`, `{"k":"é"}`}, {`{"k":"<&>"}`, `{"k":"<&>"}`}, {`{"k":1e3}`, `{"k":1000.00}`},
		{`{"k":[]}`, `{"k":[]}`},
		{`{"k":1,"k":2}`, `{"k":2}`}, {`{"k":1e300}`, `{"k":10e299}`},
	} {
		agree(t, c[0], c[1])
	}
	rapid.Check(t, func(t *rapid.T) {
		agree(t, memorytest.Conditions().Draw(t, "conditions"), memorytest.Conditions().Draw(t, "context"))
	})
}
