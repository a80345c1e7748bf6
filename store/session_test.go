package store_test

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/mneme/mneme/memory/rank"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/store/pg"
)

// talk stages turns of a session, all with the same time, and returns their ids in order.
func (w *world) talk(session string, turns ...string) []uuid.UUID {
	w.t.Helper()
	candidates := say(turns...)
	for i := range candidates {
		candidates[i].Session = session
	}
	ack, _ := w.stage(candidates...)
	out := make([]uuid.UUID, len(turns))
	for i, id := range ack.MemoryIDs {
		out[i] = uuid.MustParse(id)
	}
	return out
}

// around returns the turns near one memory, by their distance.
func (w *world) around(f pg.Filter, id, place uuid.UUID, radius int) map[int]uuid.UUID {
	w.t.Helper()
	turns, err := w.SessionTurns(ctx, f, []rank.Anchor{{ID: id, Place: place, Radius: radius}})
	require.NoError(w.t, err)
	out := map[int]uuid.UUID{}
	for _, turn := range turns {
		require.Equal(w.t, id, turn.Anchor)
		out[turn.Distance] = turn.ID
	}
	require.Len(w.t, out, len(turns))
	return out
}

func TestSessionTurns(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	isolated := pg.Filter{Principal: w.p}
	one := w.talk("one", "Where did you go?", "to the sea", "with whom", "with Ann", "nice", "yes")
	w.talk("two", "elsewhere", "another day")
	loose := w.memory("of no session")
	require.Equal(t, map[int]uuid.UUID{-2: one[0], -1: one[1], 1: one[3], 2: one[4]},
		w.around(isolated, one[2], one[2], 2), "in the order in which they were said")
	require.Equal(t, map[int]uuid.UUID{1: one[1], 2: one[2]}, w.around(isolated, one[0], one[0], 2), "at the beginning")
	require.Equal(t, map[int]uuid.UUID{-1: one[4]}, w.around(isolated, one[5], one[5], 1), "at the end")
	require.Empty(t, w.around(isolated, loose, loose, 3))
	require.Equal(t, map[int]uuid.UUID{-1: one[2], 1: one[4]}, w.around(isolated, loose, one[3], 1),
		"a fact has the position of its source")

	turns, err := w.SessionTurns(ctx, isolated,
		[]rank.Anchor{{ID: one[0], Place: one[0], Radius: 1}, {ID: one[4], Place: one[4], Radius: 2}})
	require.NoError(t, err)
	for _, turn := range turns {
		require.Equal(t, turn.Anchor == one[0], turn.AnchorAsks)
		require.Equal(t, "one", turn.Session)
		require.Equal(t, schema.TypeEpisodic, turn.Type)
	}
	require.Len(t, turns, 4, "each with its own radius")

	// A deleted or hidden memory is no neighbour, and has none.
	w.exec(`UPDATE memories SET deleted_at = now() WHERE id = $1`, one[1])
	w.exec(`UPDATE memories SET sensitivity = 'hyper' WHERE id = $1`, one[3])
	require.Equal(t, map[int]uuid.UUID{-1: one[0], 1: one[4]}, w.around(isolated, one[2], one[2], 1))
	require.Empty(t, w.around(isolated, one[1], one[1], 1), "a deleted anchor")
	require.Empty(t, w.around(isolated, one[3], one[3], 1), "a hidden anchor")
}

func TestSessionTurnsFollowTimeBeforeIDs(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	candidates := say("said last", "said first", "said second")
	for i, minute := range []int{9, 1, 2} {
		at := w.now.Add(time.Duration(minute) * time.Minute)
		candidates[i].Session, candidates[i].OccurredAt = "s", &at
	}
	ack, _ := w.stage(candidates...)
	id := func(i int) uuid.UUID { return uuid.MustParse(ack.MemoryIDs[i]) }
	require.Equal(t, map[int]uuid.UUID{-1: id(1), 1: id(0)}, w.around(pg.Filter{Principal: w.p}, id(2), id(2), 3))
}

// Two agents may use the same session name; a readable turn of the other agent is still not part of the session.
func TestSessionTurnsStayWithinOneAgent(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.vis = schema.VisibilityShared
	mine := w.talk("standup", "mine one", "mine two")
	w.p.Agent = "b"
	theirs := w.talk("standup", "theirs one", "theirs two", "theirs three")
	shared := pg.Filter{Principal: w.p, ReadPolicy: schema.ReadShared}
	require.Equal(t, map[int]uuid.UUID{1: mine[1]}, w.around(shared, mine[0], mine[0], 5),
		"a shared session is read as that of its agent")
	require.Len(t, w.around(shared, theirs[1], theirs[1], 5), 2)
	require.Empty(t, w.around(pg.Filter{Principal: w.p}, mine[0], mine[0], 5), "isolated")
}

// Compares with BM25 computed over the analyzed words.
func TestRankTextIsBM25(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	texts := []string{"kestrel", "kestrel kestrel kestrel heron", "kestrel heron finch wren robin crow", "heron heron",
		"finch wren robin", "crow crow crow crow crow crow kestrel"}
	ids := map[uuid.UUID]string{}
	for _, text := range texts {
		ids[w.memory(text)] = text
	}
	for _, query := range []string{"kestrel", "kestrel heron", "crow kestrel wren", "unknownword kestrel"} {
		ranking, err := w.RankText(ctx, pg.Filter{Principal: w.p}, question(t, w, pg.Filter{Principal: w.p}, query), 10)
		require.NoError(t, err)
		want := bm25(texts, query)
		require.Len(t, ranking.Hits, len(want), query)
		for _, hit := range ranking.Hits {
			require.InDelta(t, want[ids[hit.ID]], hit.Score, 1e-9, fmt.Sprintf("%q for %q", ids[hit.ID], query))
			require.NotZero(t, hit.Terms)
		}
	}
}

// A short statement of a person ranks above a long answer with the same words, whatever the length of the other
// texts.
func TestRankTextPrefersTheShortAmongLongTexts(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	long := strings.Repeat("The heron stands in shallow water and waits for fish. ", 60)
	for i := range 5 {
		w.memory(fmt.Sprintf("%d %s", i, long))
	}
	answer := w.memory(long + "The kestrel nests in the tower. A kestrel hovers. Every kestrel eats voles.")
	said := w.memory("I saw a kestrel today")
	hits := w.search("kestrel")
	require.Equal(t, []uuid.UUID{said, answer}, []uuid.UUID{hits[0].ID, hits[1].ID})
}

// bm25 is an independent implementation of the formula: k1 1.2, b 0.4, length in units of 250 bytes, as a share of
// the weight of all query words and of the maximum for one occurrence.
func bm25(texts []string, query string) map[string]float64 {
	const k1, b = 1.2, 0.4
	docs := make([]map[string]float64, len(texts))
	df := map[string]float64{}
	for i, text := range texts {
		docs[i] = map[string]float64{}
		for word := range strings.FieldsSeq(text) {
			docs[i][word]++
		}
		for word := range docs[i] {
			df[word]++
		}
	}
	n := float64(len(texts))
	idf := func(word string) float64 { return math.Log(1 + (n-df[word]+0.5)/(df[word]+0.5)) }
	total := 0.0
	for word := range strings.FieldsSeq(query) {
		total += idf(word)
	}
	out := map[string]float64{}
	for i, text := range texts {
		sum := 0.0
		for word := range strings.FieldsSeq(query) {
			if tf := docs[i][word]; tf > 0 {
				sum += idf(word) / total * tf * (k1 + 1) / (tf + k1*(1-b+b*float64(len(text))/250))
			}
		}
		if sum > 0 {
			out[text] = min(1, sum*(1+k1*(1-b))/(k1+1))
		}
	}
	return out
}
