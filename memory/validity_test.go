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
	"github.com/mneme/mneme/schema"
)

func TestGrounds(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		a, b           schema.Validity
		same, disjoint bool
	}{
		"both global":                         {global(), schema.Validity{Mode: schema.ValidGlobal}, true, false},
		"a rule and its exception":            {global(), when(`{"os":"linux"}`), false, false},
		"one condition, written differently":  {when(`{"a":1,"b":"x"}`), when(` {"b" : "x", "a":1.0}`), true, false},
		"another value":                       {when(`{"os":"linux"}`), when(`{"os":"macos"}`), false, true},
		"another key":                         {when(`{"os":"linux"}`), when(`{"arch":"arm"}`), false, false},
		"one more key":                        {when(`{"os":"linux"}`), when(`{"os":"linux","arch":"arm"}`), false, false},
		"a value among several":               {when(`{"os":"linux"}`), when(`{"os":["macos","linux"]}`), false, false},
		"lists without a common element":      {when(`{"os":["linux","bsd"]}`), when(`{"os":["macos","windows"]}`), false, true},
		"lists with a common element":         {when(`{"os":["linux","bsd"]}`), when(`{"os":["bsd","windows"]}`), false, false},
		"a number and its text":               {when(`{"n":1}`), when(`{"n":"1"}`), false, true},
		"case matters":                        {when(`{"os":"Linux"}`), when(`{"os":"linux"}`), false, true},
		"null is a value":                     {when(`{"os":null}`), when(`{"os":"linux"}`), false, true},
		"windows that overlap":                {during(0, 4, ""), during(2, 6, ""), true, false},
		"windows that touch":                  {during(0, 4, ""), during(4, 6, ""), false, true},
		"windows apart":                       {during(0, 1, ""), during(4, -1, ""), false, true},
		"open windows":                        {during(-1, 4, ""), during(2, -1, ""), true, false},
		"a window and no window":              {during(0, 4, ""), global(), false, false},
		"overlap under different conditions":  {during(0, 4, `{"os":"linux"}`), during(2, 6, `{"os":"macos"}`), false, true},
		"overlap under the same conditions":   {during(0, 4, `{"os":"linux"}`), during(2, 6, `{"os":"linux"}`), true, false},
		"a window with and one without":       {during(0, 4, ""), during(2, 6, `{"os":"linux"}`), false, false},
		"conditional and timeboxed and equal": {when(`{"os":"linux"}`), during(0, 4, `{"os":"linux"}`), true, false},
		"conditional and timeboxed":           {when(`{"os":"linux"}`), during(0, 4, `{"os":"bsd"}`), false, true},
		"a value and a list of it":            {when(`{"os":"linux"}`), when(`{"os":["linux"]}`), true, false},
		"a value that is listed twice":        {when(`{"os":"linux"}`), when(`{"os":["linux","linux"]}`), true, false},
		"lists in another order":              {when(`{"os":["linux","mac"]}`), when(`{"os":["mac","linux"]}`), true, false},
		"a list and a list of it":             {when(`{"os":["linux"]}`), when(`{"os":[["linux"]]}`), false, true},
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
		"global covers a condition":        {global(), when(`{"os":"linux"}`), true},
		"global covers a window":           {global(), during(0, 1, ""), true},
		"a condition not the rest":         {when(`{"os":"linux"}`), global(), false},
		"more conditions are narrower":     {when(`{"os":"linux"}`), when(`{"os":"linux","arch":"arm"}`), true},
		"fewer are not":                    {when(`{"os":"linux","arch":"arm"}`), when(`{"os":"linux"}`), false},
		"one of several values":            {when(`{"os":["linux","bsd"]}`), when(`{"os":"bsd"}`), true},
		"several of one":                   {when(`{"os":"bsd"}`), when(`{"os":["linux","bsd"]}`), false},
		"a window within":                  {during(0, 4, ""), during(1, 4, ""), true},
		"a window that begins earlier":     {during(1, 4, ""), during(0, 4, ""), false},
		"a window that never ends":         {during(1, 4, ""), during(2, -1, ""), false},
		"a window that always was":         {during(1, -1, ""), during(-1, 4, ""), false},
		"a window within, other grounds":   {during(0, 4, `{"os":"bsd"}`), during(1, 4, `{"os":"linux"}`), false},
		"a condition covers its timebox":   {when(`{"os":"bsd"}`), during(1, 4, `{"os":"bsd"}`), true},
		"a timebox not the bare condition": {during(1, 4, `{"os":"bsd"}`), when(`{"os":"bsd"}`), false},
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
		"global":                      {global(), midday, `{"os":"linux"}`, memory.Applicability{Verdict: memory.AppliesYes}},
		"the condition holds":         {when(`{"os":"linux"}`), midday, `{"os":"linux","x":1}`, memory.Applicability{Verdict: memory.AppliesYes}},
		"it does not":                 {when(`{"os":"linux"}`), midday, `{"os":"macos"}`, memory.Applicability{Verdict: memory.AppliesNo}},
		"one of a list":               {when(`{"os":["linux","bsd"]}`), midday, `{"os":"bsd"}`, memory.Applicability{Verdict: memory.AppliesYes}},
		"none of an empty list":       {when(`{"os":[]}`), midday, `{"os":"bsd"}`, memory.Applicability{Verdict: memory.AppliesNo}},
		"nobody knows":                {when(`{"os":"linux","arch":"arm"}`), midday, `{}`, memory.Applicability{Verdict: memory.AppliesUnknown, Missing: []string{"arch", "os"}}},
		"a contradiction decides":     {when(`{"os":"linux","arch":"arm"}`), midday, `{"os":"bsd"}`, memory.Applicability{Verdict: memory.AppliesNo}},
		"part of it is known":         {when(`{"os":"linux","arch":"arm"}`), midday, `{"os":"linux"}`, memory.Applicability{Verdict: memory.AppliesUnknown, Missing: []string{"arch"}}},
		"no context asks nothing":     {when(`{"os":"linux"}`), midday, ``, memory.Applicability{Verdict: memory.AppliesYes}},
		"at its start":                {during(0, 1, ""), midday, ``, memory.Applicability{Verdict: memory.AppliesYes}},
		"at its end":                  {during(0, 1, ""), midday.Add(time.Hour), ``, memory.Applicability{Verdict: memory.AppliesNo}},
		"before its start":            {during(1, 2, ""), midday, ``, memory.Applicability{Verdict: memory.AppliesNo}},
		"at no time in particular":    {during(1, 2, ""), time.Time{}, ``, memory.Applicability{Verdict: memory.AppliesYes}},
		"in its window, else unknown": {during(0, 2, `{"os":"linux"}`), midday, `{}`, memory.Applicability{Verdict: memory.AppliesUnknown, Missing: []string{"os"}}},
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
		a, b := validity().Draw(t, "a"), validity().Draw(t, "b")
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
			require.Equal(t, memory.ConditionsHash(a), memory.ConditionsHash(b), "the unique key sees what the rule sees")
		}

		// Disjoint grounds never hold at once; what covers another holds wherever that does.
		at := midday.Add(time.Duration(rapid.IntRange(-2, 8).Draw(t, "at")) * time.Hour)
		var situation map[string]json.RawMessage
		require.NoError(t, json.Unmarshal([]byte(conditions().Draw(t, "context")), &situation))
		holdsA, holdsB := memory.Holds(a, at, situation).Verdict, memory.Holds(b, at, situation).Verdict
		if memory.Disjoint(a, b) {
			require.False(t, holdsA == memory.AppliesYes && holdsB == memory.AppliesYes)
		}
		if memory.Covers(a, b) && holdsB == memory.AppliesYes {
			require.Equal(t, memory.AppliesYes, holdsA)
		}
	})
}

// TestHoldsAgreesWithTheDatabase draws conditions and contexts and compares Holds with the function
// by which queries filter.
func TestHoldsAgreesWithTheDatabase(t *testing.T) {
	t.Parallel()
	db := testkit.Owner(t, testkit.DatabaseURL(t))
	agree := func(t require.TestingT, with, about string) {
		var situation map[string]json.RawMessage
		require.NoError(t, json.Unmarshal([]byte(about), &situation))
		var applies bool
		require.NoError(t, db.QueryRow(context.Background(), `SELECT mneme_applies($1::text::jsonb, $2::text::jsonb)`, with, about).Scan(&applies))
		require.Equal(t, applies, memory.Holds(when(with), time.Time{}, situation).Verdict != memory.AppliesNo, fmt.Sprintf("%s in %s", with, about))
	}
	for _, c := range [][2]string{
		{`{"k":[["a"]]}`, `{"k":["a","b"]}`}, {`{"k":[["a","b"]]}`, `{"k":["a"]}`}, {`{"k":[{"x":1,"y":2}]}`, `{"k":{"x":1}}`},
		{`{"k":"\u00e9"}`, `{"k":"é"}`}, {`{"k":"<&>"}`, `{"k":"<&>"}`}, {`{"k":1e3}`, `{"k":1000.00}`}, {`{"k":[]}`, `{"k":[]}`},
		{`{"k":1,"k":2}`, `{"k":2}`}, {`{"k":1e300}`, `{"k":10e299}`},
	} {
		agree(t, c[0], c[1])
	}
	rapid.Check(t, func(t *rapid.T) {
		agree(t, conditions().Draw(t, "conditions"), conditions().Draw(t, "context"))
	})
}
