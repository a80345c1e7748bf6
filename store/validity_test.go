package store_test

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/mneme/mneme/memory"
	"github.com/mneme/mneme/memory/policy"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/store/pg"
	"github.com/mneme/mneme/store/search"
)

// setValidity sets the validity of a memory directly in the database.
func (w *world) setValidity(id uuid.UUID, v schema.Validity) {
	w.t.Helper()
	var conditions any
	if len(v.Conditions) > 0 {
		conditions = string(v.Conditions)
	}
	w.exec(`UPDATE memories SET validity = $2, conditions = $3::jsonb, valid_from = $4, valid_until = $5 WHERE id = $1`,
		id, v.Mode, conditions, v.Start, v.End)
}

// For any validity, time and context, no channel and neither of the two later reads return a memory that is not
// valid, and all of them return one that is or may be valid.
func TestReadersReturnValidMemories(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	day := func(n int) time.Time { return w.now.AddDate(0, 0, n) }
	scalar := rapid.SampledFrom([]any{"a", "b", "1", 1, 1.0, 1.5, true, false, "true", "ü 🧠", "9007199254740993",
		json.Number("9007199254740993"), json.Number("9007199254740992")})
	key := rapid.SampledFrom([]string{"k", "l", "project kind", "x.y"})
	object := func(values *rapid.Generator[any]) *rapid.Generator[json.RawMessage] {
		return rapid.Custom(func(rt *rapid.T) json.RawMessage {
			encoded, err := json.Marshal(rapid.MapOfN(key, values, 1, 3).Draw(rt, "object"))
			require.NoError(t, err)
			return encoded
		})
	}
	condition := rapid.OneOf(scalar, rapid.Map(rapid.SliceOfN(scalar, 1, 3), func(list []any) any { return list }))
	validity := rapid.Custom(func(rt *rapid.T) schema.Validity {
		v := schema.Validity{Mode: rapid.SampledFrom([]schema.ValidityMode{schema.ValidGlobal, schema.ValidConditional,
			schema.ValidTimeboxed}).Draw(rt, "mode")}
		switch v.Mode {
		case schema.ValidConditional:
			v.Conditions = object(condition).Draw(rt, "conditions")
		case schema.ValidTimeboxed:
			from := rapid.IntRange(0, 4).Draw(rt, "from")
			start, end := day(from), day(from+rapid.IntRange(1, 3).Draw(rt, "days"))
			if bounds := rapid.IntRange(0, 2).Draw(rt, "bounds"); bounds != 1 {
				v.Start = &start
			} else {
				v.End = &end
			}
			if v.Start != nil && rapid.Bool().Draw(rt, "both") {
				v.End = &end
			}
		}
		return v
	})
	id := w.memory("the kestrel nests in the tower")
	v := embed(t, "the kestrel nests in the tower")
	vec := pg.Embedding{Model: hash, Vector: v}
	w.setVector(id, 0)
	rapid.Check(t, func(rt *rapid.T) {
		valid := validity.Draw(rt, "validity")
		w.setValidity(id, valid)
		at := day(rapid.IntRange(-1, 8).Draw(rt, "day"))
		req := schema.RecallRequest{Principal: w.p, Query: "kestrel", ValidAt: &at}
		var context map[string]json.RawMessage
		if rapid.Bool().Draw(rt, "with context") {
			req.Context = object(scalar).Draw(rt, "context")
			require.NoError(rt, json.Unmarshal(req.Context, &context))
		}
		require.NoError(rt, req.Validate())
		holds := memory.Holds(valid, at, context).Verdict != memory.AppliesNo
		f := pg.FilterOf(req, policy.Clearance{}, w.now, nil)
		want := 0
		if holds {
			want = 1
		}
		say := fmt.Sprintf("validity %+v conditions %s at %s in %s", valid, valid.Conditions, at, req.Context)
		hits, err := w.SearchText(ctx, f, "kestrel", 10)
		require.NoError(rt, err)
		require.Len(rt, hits, want, "text: "+say)
		hits, err = w.SearchVector(ctx, f, vec, 10)
		require.NoError(rt, err)
		require.Len(rt, hits, want, "vector: "+say)
		allowed, err := w.Authorize(ctx, f, []uuid.UUID{id})
		require.NoError(rt, err)
		require.Len(rt, allowed, want, "authorize: "+say)
		found, err := w.Hydrate(ctx, f, []uuid.UUID{id}, w.now)
		require.NoError(rt, err)
		require.Len(rt, found, want, "hydrate: "+say)
		if holds {
			shown := found[id].Validity
			require.Equal(rt, valid.Mode, shown.Mode)
			if valid.Mode == schema.ValidConditional {
				require.JSONEq(rt, string(valid.Conditions), string(shown.Conditions))
			}
		}
		listed, err := w.List(ctx, f, pg.Page{})
		require.NoError(rt, err)
		require.Len(rt, listed, want, "list: "+say)
	})
}

func TestAContextIsAnObjectOfScalars(t *testing.T) {
	t.Parallel()
	for context, ok := range map[string]bool{
		`{}`: true, `{"a":"b","c":1,"d":true}`: true, `null`: false, `[]`: false, `"a"`: false, `{`: false,
		`{"a":null}`: false, `{"a":[1]}`: false,
		`{"a":{"b":1}}`: false, `{"a":"\u0000"}`: false, `{"\u0000":"a"}`: false,
	} {
		r := schema.RecallRequest{Principal: schema.Principal{Tenant: "t", Agent: "a"}, Query: "q",
			Context: json.RawMessage(context)}
		require.Equal(t, ok, r.Validate() == nil, context)
	}
}

// Learned conditions are stored in the form in which values are compared, and agents write systems and versions in
// other ways.
func TestAContextMayNameASystemAndAVersionInOtherWords(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.created(record(t, `{"type": "competence", "confidence": 0.7, "payload": {"kind": "competence",
		"skill_name": "fix_kestrel", "triggers": [{"signal": "kestrel failed"}], "recipe": [{"step": "Clear the cache"}]}}`))
	w.sql(`UPDATE memories SET conditions = '{"os":"linux","go_version":["1.26.8"]}'`)
	for context, n := range map[string]int{
		`{"os":"linux","go_version":"1.26.8"}`: 1, `{"os":"Linux","go_version":"go1.26.8"}`: 1,
		`{"os":"Windows"}`: 0, `{"os":"Linux","go_version":"go1.25"}`: 0, `{"project":"Linux"}`: 1,
	} {
		r := schema.RecallRequest{Principal: w.p, Query: "kestrel", Context: json.RawMessage(context)}
		hits, err := w.SearchText(ctx, pg.FilterOf(r, policy.Clearance{}, w.now, nil), "kestrel", 5)
		require.NoError(t, err)
		require.Len(t, hits, n, context)
	}
}

// Go accepts half a surrogate pair in JSON; Postgres does not.
func TestAnyContextReachesPostgres(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.memory("a kestrel")
	r := schema.RecallRequest{Principal: w.p, Query: "kestrel", Context: json.RawMessage(`{"a\ud800":"\udc00 b"}`)}
	require.NoError(t, r.Validate())
	hits, err := w.SearchText(ctx, pg.FilterOf(r, policy.Clearance{}, w.now, nil), "kestrel", 5)
	require.NoError(t, err)
	require.Len(t, hits, 1)
}

// A fact whose validity is over is not used for a decision; one whose validity has not begun is.
func TestNeighborsHoldAtTheTimeOfTheDecision(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	id := w.memory("the kestrel nests in the tower")
	w.setVector(id, 0)
	start, end := w.now, w.now.AddDate(0, 0, 1)
	w.setValidity(id, schema.Validity{Mode: schema.ValidTimeboxed, Start: &start, End: &end})
	for at, want := range map[time.Time]int{start.AddDate(0, 0, -1): 1, start: 1, end.Add(-time.Microsecond): 1, end: 0,
		{}: 1} {
		out, err := w.Neighbors(ctx, w.p, []search.NeighborQuery{{Fact: fact("the kestrel nests in the tower"), At: at,
			Embedding: &pg.Embedding{Model: hash, Vector: embed(t, "the kestrel nests in the tower")}}})
		require.NoError(t, err)
		require.Len(t, out[0], want, at)
	}
}
