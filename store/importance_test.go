package store_test

import (
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/mneme/mneme/memory"
	"github.com/mneme/mneme/memory/timeexpr"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/store/pg"
	"github.com/mneme/mneme/store/search"
)

// worth sets the values that a memory's importance is computed from, directly in the database. A zero access means
// none.
func (w *world) worth(id uuid.UUID, base float64, pinned bool, created, accessed time.Time) {
	w.t.Helper()
	w.exec(`UPDATE memories SET importance = $2, pinned = $3, created_at = $4, recorded_at = $4, updated_at = $4
		WHERE id = $1`, id, base, pinned, created)
	w.exec(`DELETE FROM memory_access WHERE memory_id = $1`, id)
	if !accessed.IsZero() {
		w.exec(`INSERT INTO memory_access (tenant, memory_id, access_count, last_accessed_at) VALUES ($1, $2, 1, $3)`,
			w.p.Tenant, id, accessed)
	}
}

// The filter in SQL and memory.Importance agree for all values.
func TestImportanceFadesInSQLAsInGo(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	id := w.memory("the kestrel nests in the tower")
	day := 24 * time.Hour
	age := rapid.Custom(func(rt *rapid.T) time.Duration {
		scale := rapid.SampledFrom([]time.Duration{0, time.Hour, 2 * day, 30 * day, 90 * day,
			200 * 365 * day}).Draw(rt, "scale")
		return time.Duration(rapid.Float64Range(0.1, 1).Draw(rt, "share") * float64(scale))
	})
	value := rapid.OneOf(rapid.Float64Range(0, 1),
		rapid.SampledFrom([]float64{0, math.SmallestNonzeroFloat64, 1e-200, 1e-101, 1e-9, 0.2, 0.5, 0.8, 1}))
	rapid.Check(t, func(rt *rapid.T) {
		base, pinned := value.Draw(rt, "base"), rapid.IntRange(0, 3).Draw(rt, "pinned") == 0
		if pinned {
			base = 1
		}
		created := w.now.Add(-age.Draw(rt, "created")).Truncate(time.Microsecond)
		last, accessed := created, time.Time{}
		if rapid.Bool().Draw(rt, "accessed") {
			// a clock may be ahead
			accessed = w.now.Add(-age.Draw(rt, "access") + time.Hour/2).Truncate(time.Microsecond)
			last = accessed
		}
		w.worth(id, base, pinned, created, accessed)
		rate := rapid.SampledFrom([]float64{0, 1e-300, 0.01, 0.5, 0.95, 0.999, 1}).Draw(rt, "rate")
		worth := memory.Importance(base, w.now.Sub(last), rate, pinned)
		least := value.Draw(rt, "least")
		if rapid.Bool().Draw(rt, "near") {
			least = min(1, worth*rapid.SampledFrom([]float64{0.5, 0.99, 1.01, 2}).Draw(rt, "times"))
		}
		if least < 1e-90 || math.Abs(worth-least) < 1e-9 {
			return // rounding differs between the two computations
		}
		f := pg.Filter{Principal: w.p, Now: w.now, DailyDecay: rate, ImportanceMin: least}
		say := fmt.Sprintf("%v of %v (pinned %v) after %v at %v", worth, base, pinned, w.now.Sub(last), rate)
		want := 0
		if worth >= least {
			want = 1
		}
		hits, err := w.SearchText(ctx, f, "kestrel", 10)
		require.NoError(rt, err, say)
		require.Len(rt, hits, want, "text: "+say)
		allowed, err := w.Authorize(ctx, f, []uuid.UUID{id})
		require.NoError(rt, err, say)
		require.Len(rt, allowed, want, "authorize: "+say)
		listed, err := w.List(ctx, f, pg.Page{})
		require.NoError(rt, err, say)
		require.Len(rt, listed, want, "list: "+say)
		_, err = w.SearchSignals(ctx, f, []string{"kestrel"}, 10)
		require.NoError(rt, err, "signals: "+say)
		shown, err := w.Hydrate(ctx, pg.Filter{Principal: w.p, DailyDecay: rate}, []uuid.UUID{id}, w.now)
		require.NoError(rt, err, say)
		require.InDelta(rt, worth, shown[id].ImportanceNow, 1e-9, say)
	})
}

// A listing as of a time uses the importance at that time.
func TestListAsOfUsesTheImportanceAtThatTime(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	id := w.memory("the kestrel nests in the tower")
	day := 24 * time.Hour
	w.worth(id, 0.8, false, w.now.Add(-40*day), w.now.Add(-time.Hour))
	then := w.now.Add(-20 * day) // 20 days after its creation; the access came later
	for least, want := range map[float64]int{0.3: 0, 0.25: 1} {
		listed, err := w.List(ctx, pg.Filter{Principal: w.p, Now: w.now, AsOf: &then, ImportanceMin: least}, pg.Page{})
		require.NoError(t, err)
		require.Len(t, listed, want)
	}
}

// Every channel and every card that ranks by importance uses the importance as of now.
func TestRankingsUseTheCurrentImportance(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	day := 24 * time.Hour
	faded, fresh := w.entity("Ana", "likes", "tea"), w.entity("Ana", "keeps", "bees")
	w.worth(faded, 0.9, false, w.now.Add(-60*day), time.Time{})
	w.worth(fresh, 0.5, false, w.now.Add(-60*day), w.now.Add(-day))
	w.exec(`INSERT INTO entities (tenant, id, canonical_name, name, mentions, created_at, updated_at)
		VALUES ('t', $1, 'ana', 'Ana', 2, now(), now())
		ON CONFLICT (tenant, canonical_name) DO NOTHING`, uuid.New())
	w.exec(`INSERT INTO memory_entity_mentions SELECT e.tenant, m.id, e.id, now() FROM entities e, memories m
		WHERE e.canonical_name = 'ana' AND m.id = ANY($1)
		ON CONFLICT DO NOTHING`, []uuid.UUID{faded, fresh})
	worth := map[uuid.UUID]float64{
		faded: memory.Importance(0.9, 60*day, 0, false), fresh: memory.Importance(0.5, day, 0, false),
	}
	f := pg.Filter{Principal: w.p, Now: w.now}
	q := question(t, w.Store, f, "what about Ana")
	windows := []timeexpr.TimeWindow{{Start: w.now.Add(-day), End: w.now.Add(day), Kind: timeexpr.WindowSpan}}
	for name, search := range map[string]func() ([]search.Hit, error){
		"claims": func() ([]search.Hit, error) { return w.SearchClaims(ctx, f, q, 10) },
		"graph":  func() ([]search.Hit, error) { return w.SearchGraph(ctx, f, q, 10) },
		"time":   func() ([]search.Hit, error) { return w.SearchTime(ctx, f, windows, 10) },
	} {
		t.Run(name, func(t *testing.T) {
			hits, err := search()
			require.NoError(t, err)
			score := map[uuid.UUID]float64{}
			for _, h := range hits {
				score[h.ID] = h.Score
			}
			require.Greater(t, score[fresh], score[faded], "%v", hits)
			require.Positive(t, score[faded])
		})
	}
	hits, err := w.SearchTime(ctx, f, windows, 10)
	require.NoError(t, err)
	for _, h := range hits {
		if want, ok := worth[h.ID]; ok {
			require.InDelta(t, timeexpr.TimeScore(want), h.Score, 1e-9)
		}
	}
	cards, err := w.Cards(ctx, f, []uuid.UUID{faded, fresh}, 1)
	require.NoError(t, err)
	require.Len(t, cards, 1)
	require.Equal(t, fresh, cards[0].Claims[0].Memory)
	f.DailyDecay = 1
	cards, err = w.Cards(ctx, f, []uuid.UUID{faded, fresh}, 1)
	require.NoError(t, err)
	require.Equal(t, faded, cards[0].Claims[0].Memory, "nothing fades at a rate of 1")
}

// entity puts a memory with a claim, linked to the entity that it is about.
func (w *world) entity(subject, predicate, object string) uuid.UUID {
	w.t.Helper()
	f := fact(subject + " " + predicate + " " + object)
	f.Claim = memory.Claim{Subject: subject, Predicate: predicate, Object: object}
	_, r := w.source("a talk about "+object, idea{fact: f, action: schema.ActionAdd})
	require.Equal(w.t, 1, w.write(r).Added)
	w.link(r)
	var id uuid.UUID
	require.NoError(w.t,
		w.owner.QueryRow(ctx, `SELECT memory_id FROM proposals WHERE batch_id = $1 AND state = 'applied'`,
			r.BatchID).Scan(&id))
	return id
}

// Session notes are also listed by their importance as of now.
func TestSessionNotesAreRankedByCurrentImportance(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	day := 24 * time.Hour
	turn := w.stageTurn("The office moves in spring.", "s1")
	note := func(subject string) uuid.UUID {
		return w.created(*with(semantic(subject+" is decided", subject, "is", "decided", always),
			func(m *schema.MemoryRecord) { m.Session = "s1" }))
	}
	faded, fresh := note("the desk"), note("the lamp")
	w.worth(faded, 0.9, false, w.now.Add(-60*day), time.Time{})
	w.worth(fresh, 0.5, false, w.now.Add(-60*day), w.now.Add(-day))
	for rate, want := range map[float64][]uuid.UUID{0: {fresh, faded}, 1: {faded, fresh}} {
		notes, err := w.SessionNotes(ctx, pg.Filter{Principal: w.p, Now: w.now, DailyDecay: rate}, []uuid.UUID{turn})
		require.NoError(t, err)
		require.Len(t, notes, 1)
		require.Equal(t, want, notes[0].IDs, "at a rate of %v", rate)
	}
}
