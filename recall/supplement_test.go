package recall_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/mneme/mneme/memory/layers"
	"github.com/mneme/mneme/memory/normalize"
	"github.com/mneme/mneme/memory/rank"
	"github.com/mneme/mneme/schema"
)

// talk records turns in a session, each with its speaker, and returns their ids.
func (w *world) talk(p schema.Principal, session string, turns ...string) []uuid.UUID {
	w.t.Helper()
	at := time.Now().Add(-time.Hour)
	var out []uuid.UUID
	for i, turn := range turns {
		speaker, text, _ := strings.Cut(turn, ": ")
		when := at.Add(time.Duration(i) * time.Minute)
		out = append(out, w.put(p, schema.VisibilityPrivate,
			schema.Candidate{Content: text, Speaker: speaker, Session: session, SourceKind: schema.SourceUserInput,
				OccurredAt: &when}))
	}
	return out
}

func factRecord(content, subject, predicate, object string, relations ...schema.Relation) schema.MemoryRecord {
	return schema.MemoryRecord{Type: schema.TypeSemantic, Content: content, Relations: relations,
		Payload: json.RawMessage(fmt.Sprintf(`{"kind":"semantic","evidence":[{"kind":"event","ref":"evt://told"}],"subject":%q,"predicate":%q,"object":%q,"validity":{"mode":"global"}}`, subject, predicate, object))}
}

func from(predicate string, target uuid.UUID) schema.Relation {
	return schema.Relation{Predicate: predicate, TargetID: target.String(), Weight: 1}
}

// split divides an answer into results and the supplements after them.
func split(t *testing.T, out schema.RecallResponse) (results, extra []schema.RecallResult) {
	t.Helper()
	for i, r := range out.Results {
		require.Equal(t, r.Supplementary, r.Supplement != nil)
		if r.Supplementary {
			extra = append(extra, r)
			continue
		}
		require.Empty(t, extra, "no supplement ranks above a result")
		results = append(results, out.Results[i])
	}
	for i, x := range extra {
		for _, r := range results {
			require.Less(t, x.Score, r.Score)
		}
		if i > 0 {
			require.LessOrEqual(t, x.Score, extra[i-1].Score)
		}
	}
	return results, extra
}

func kinds(extra []schema.RecallResult) map[schema.SupplementKind]schema.RecallResult {
	out := map[schema.SupplementKind]schema.RecallResult{}
	for _, x := range extra {
		if _, ok := out[x.Supplement.Kind]; !ok {
			out[x.Supplement.Kind] = x
		}
	}
	return out
}

// supplemented is a world with every kind of supplement to the decision, which is the only result for "copper kettle".
type supplemented struct {
	*world
	turns                    []uuid.UUID
	decision, reason, source uuid.UUID
	lone, log                uuid.UUID
}

func newSupplemented(t *testing.T) *supplemented {
	w := &supplemented{world: newWorld(t)}
	w.Without = append(wordsAlone(), rank.StageNeighbourhood, rank.StageSession)
	w.turns = w.talk(w.p, "s1", "Ana: The gas bill was dreadful again.", "Bo: Induction, then?",
		"Ana: Fine by me, let us do that.", "Bo: I measure the counter tomorrow.", "Ana: Bring a tape.", "Bo: Will do.")
	w.reason = w.keep(w.p, schema.VisibilityPrivate, factRecord("Flames cost them 90 a month.", "flames", "cost", "90"))
	w.decision = w.keep(w.p, schema.VisibilityPrivate,
		factRecord("They chose a copper kettle.", "household", "chose", "copper kettle",
			from("derived_from", w.turns[2])))
	w.exec(`UPDATE memories SET category = 'decision' WHERE id = $1`, w.decision)
	w.exec(`INSERT INTO memory_links (tenant, source_id, predicate, target_id, created_at)
		VALUES ('t', $1, 'supports', $2, now())`, w.reason, w.decision)
	w.source = w.put(w.p, schema.VisibilityPrivate,
		schema.Candidate{Content: "A note without a session says what was drawn from it.",
			SourceKind: schema.SourceUserInput})
	w.lone = w.keep(w.p, schema.VisibilityPrivate,
		factRecord("The household likes its copper kettle loud.", "household", "likes", "loud kettles",
			from("derived_from", w.source)))
	w.keep(w.p, schema.VisibilityPrivate, factRecord("They are five.", "Household", "counts", "five heads"))
	for _, id := range []uuid.UUID{w.decision, w.lone} {
		w.exec(`INSERT INTO entity_claims (tenant, memory_id, subject, predicate, object, functional, created_at)
			SELECT tenant, id, subject, predicate, object #>> '{}', functional, now() FROM memories WHERE id = $1
				ON CONFLICT DO NOTHING`, id)
	}
	w.exec(`INSERT INTO entity_claims (tenant, memory_id, subject, predicate, object, functional, created_at)
		SELECT tenant, id, subject, predicate, object #>> '{}', functional, now() FROM memories
			WHERE predicate = 'counts' ON CONFLICT DO NOTHING`)
	artifact, err := w.Store.PutArtifact(ctx, w.p,
		strings.NewReader("warranty: ten years\n"+strings.Repeat("terms and conditions ", 300)),
		"text/plain; charset=utf-8", "", time.Now())
	require.NoError(t, err)
	picture, err := w.Store.PutArtifact(ctx, w.p, strings.NewReader("warranty in pixels"), "image/png", "", time.Now())
	require.NoError(t, err)
	w.log = w.keep(w.p, schema.VisibilityPrivate,
		schema.MemoryRecord{Type: schema.TypeEpisodic, Content: "The copper kettle came with papers.",
			Payload: json.RawMessage(fmt.Sprintf(`{"kind":"episodic","timeline":[{"t":"2026-05-01T00:00:00Z","event_kind":"delivery","ref":"e1"}],"artifacts":[%q,%q]}`, artifact.Address, picture.Address))})
	return w
}

func (w *supplemented) request() schema.RecallRequest {
	return schema.RecallRequest{Principal: w.p, Query: "copper kettle", Expand: true, Limit: 20}
}

func TestExpandAddsSupplementsToResults(t *testing.T) {
	t.Parallel()
	w := newSupplemented(t)
	req := w.request()
	req.Expand = false
	plain := w.answer(req)
	require.ElementsMatch(t, []string{w.decision.String(), w.lone.String(), w.log.String()}, ids(plain))

	results, extra := split(t, w.answer(w.request()))
	require.Equal(t, ids(plain), ids(schema.RecallResponse{Results: results}),
		"with room for all, the results do not change")
	by := kinds(extra)
	require.Equal(t, w.reason.String(), by[schema.SupplementRationale].ID)
	require.Equal(t, []string{w.decision.String()}, by[schema.SupplementRationale].Supplement.Of)
	require.Equal(t, w.source.String(), by[schema.SupplementSource].ID)
	require.Equal(t, "A note without a session says what was drawn from it.", by[schema.SupplementSource].Content)
	excerpt := by[schema.SupplementTranscript]
	require.Equal(t,
		"Ana: The gas bill was dreadful again.\nBo: Induction, then?\nAna: Fine by me, let us do that.\nBo: I "+
			"measure the counter tomorrow.\nAna: Bring a tape.", excerpt.Content)
	require.Equal(t, []string{w.decision.String()}, excerpt.Supplement.Of)
	require.Len(t, excerpt.Supplement.Members, 5)
	text := by[schema.SupplementArtifact]
	require.True(t, strings.HasPrefix(text.Content, "warranty: ten years") && strings.HasSuffix(text.Content,
		normalize.CutMark) && text.Truncated)
	require.LessOrEqual(t, len([]rune(text.Content)), rank.MaxSupplementChars)
	card := by[schema.SupplementCard]
	require.Contains(t, card.Content, "counts five heads")
	require.Contains(t, strings.ToLower(card.Content), "household: ")
	require.Len(t, extra, 5, "the picture is not a text, and a source that is in the transcript gets no separate row")

	// Supplements are not tracked, and the retrieval contains only results.
	var tracked, retrieved []string
	require.NoError(t, w.owner.QueryRow(ctx, `SELECT array_agg(memory_id::text) FROM memory_access`).Scan(&tracked))
	require.NoError(t, w.owner.QueryRow(ctx,
		`SELECT memory_ids::text[] FROM retrievals ORDER BY id DESC LIMIT 1`).Scan(&retrieved))
	require.ElementsMatch(t, ids(plain), tracked)
	require.ElementsMatch(t, ids(plain), retrieved)

	req = w.request()
	req.IDsOnly = true
	bare, err := json.Marshal(w.answer(req))
	require.NoError(t, err)
	for _, word := range []string{"gas bill", "warranty", "heads", "note", "kettle"} {
		require.NotContains(t, string(bare), word)
	}
	require.Contains(t, string(bare), `"supplementary":true`)
}

func TestSupplementsFitTheLimitAndTheBudget(t *testing.T) {
	t.Parallel()
	w := newSupplemented(t)
	for limit := 1; limit <= 8; limit++ {
		req := w.request()
		req.Limit = limit
		req.Expand = false
		plain := ids(w.answer(req))
		req.Expand = true
		out := w.answer(req)
		results, extra := split(t, out)
		require.LessOrEqual(t, len(out.Results), limit)
		require.Equal(t, plain[:len(results)], ids(schema.RecallResponse{Results: results}), "the last are dropped")
		require.LessOrEqual(t, len(plain)-len(results), rank.ReservedPlaces(limit))
		if limit > 1 {
			require.NotEmpty(t, extra)
		}
		for _, budget := range []int{30, 80, 200} {
			req.Task = &schema.Task{BudgetTokens: budget}
			used := 0
			for _, r := range w.answer(req).Results {
				tokens, _ := layers.ResultTokens(r)
				used += tokens
			}
			require.LessOrEqual(t, used, budget)
		}
	}
}

func TestSupplementsAreAuthorised(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*supplemented) schema.RecallRequest{
		"another agent's": func(w *supplemented) schema.RecallRequest {
			w.exec(`UPDATE memories SET agent_id = 'b' WHERE id <> ALL($1)`, []uuid.UUID{w.decision, w.lone, w.log})
			return w.request()
		},
		"more sensitive": func(w *supplemented) schema.RecallRequest {
			w.exec(`UPDATE memories SET sensitivity = 'high' WHERE id <> ALL($1)`,
				[]uuid.UUID{w.decision, w.lone, w.log})
			return w.request()
		},
		"forgotten": func(w *supplemented) schema.RecallRequest {
			w.exec(`UPDATE memories SET deleted_at = now() WHERE id <> ALL($1)`, []uuid.UUID{w.decision, w.lone, w.log})
			return w.request()
		},
		"of another scope": func(w *supplemented) schema.RecallRequest {
			w.exec(`UPDATE memories SET scope = 's' WHERE id <> ALL($1)`, []uuid.UUID{w.decision, w.lone, w.log})
			return w.request()
		},
		"of another project": func(w *supplemented) schema.RecallRequest {
			w.exec(`UPDATE memories SET project = CASE WHEN id = ANY($1) THEN 'p' ELSE 'q' END`,
				[]uuid.UUID{w.decision, w.lone, w.log})
			req := w.request()
			req.Principal.Project = "p"
			return req
		},
		"without the requested tag": func(w *supplemented) schema.RecallRequest {
			w.exec(`UPDATE memories SET tags = '{x}' WHERE id = ANY($1)`, []uuid.UUID{w.decision, w.lone, w.log})
			req := w.request()
			req.Tags = []string{"x"}
			return req
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newSupplemented(t)
			req := change(w)
			results, extra := split(t, w.answer(req))
			require.Len(t, results, 3)
			require.Len(t, extra, 1, "%+v", extra)
			require.Equal(t, schema.SupplementArtifact, extra[0].Supplement.Kind,
				"a text that a result itself refers to")
		})
	}
}

func TestSupplementsOnlyDegrade(t *testing.T) {
	t.Parallel()
	for table, want := range map[string]struct {
		degraded []string
		without  schema.SupplementKind
	}{
		"artifacts": {[]string{"expand_artifacts"}, schema.SupplementArtifact},
		"entities":  {[]string{"expand_cards"}, schema.SupplementCard},
	} {
		t.Run(table, func(t *testing.T) {
			t.Parallel()
			w := newSupplemented(t)
			w.exec(`REVOKE SELECT ON ` + table + ` FROM mneme_app`)
			out := w.answer(w.request())
			require.Equal(t, want.degraded, out.Meta.Degraded)
			results, extra := split(t, out)
			require.Len(t, results, 3)
			require.NotContains(t, kinds(extra), want.without)
			require.Contains(t, kinds(extra), schema.SupplementTranscript)
		})
	}
	w := newSupplemented(t)
	req := w.request()
	req.Without = []string{"expand_cards", "expand_sources", "expand_rationale"}
	_, extra := split(t, w.answer(req))
	require.ElementsMatch(t, []schema.SupplementKind{schema.SupplementArtifact}, slicesOf(kinds(extra)))
	req.Without = []string{"expand"}
	_, extra = split(t, w.answer(req))
	require.Empty(t, extra)
}

func slicesOf(m map[schema.SupplementKind]schema.RecallResult) []schema.SupplementKind {
	var out []schema.SupplementKind
	for k := range m {
		out = append(out, k)
	}
	slices.Sort(out)
	return out
}

func TestRescue(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.Index = failing(errors.New("down"))
	said := w.put(w.p, schema.VisibilityPrivate,
		schema.Candidate{Content: "The photosynthesizer of the greenhouse hums.", SourceKind: schema.SourceUserInput})
	other := schema.Principal{Tenant: "t", Agent: "b"}
	hidden := w.put(other, schema.VisibilityPrivate,
		schema.Candidate{Content: "The photosynthesizer of the neighbours hums.", SourceKind: schema.SourceUserInput})
	artifact, err := w.Store.PutArtifact(ctx, w.p,
		strings.NewReader(strings.Repeat("lorem ipsum ",
			100)+"the quixotic windmill turned at noon "+strings.Repeat("dolor sit ", 200)), "text/plain", "",
		time.Now())
	require.NoError(t, err)
	secret, err := w.Store.PutArtifact(ctx, other, strings.NewReader("another quixotic windmill"), "text/plain", "",
		time.Now())
	require.NoError(t, err)
	episode := func(p schema.Principal, address string) uuid.UUID {
		return w.keep(p, schema.VisibilityPrivate,
			schema.MemoryRecord{Type: schema.TypeEpisodic, Content: "A file came in " + address[7:12],
				Payload: json.RawMessage(fmt.Sprintf(`{"kind":"episodic","timeline":[{"t":"2026-05-01T00:00:00Z","event_kind":"file","ref":"e1"}],"artifacts":[%q]}`, address))})
	}
	filed := episode(w.p, artifact.Address)
	episode(other, secret.Address)

	// The stems of the query's word and of the stored word differ.
	out := w.recall("photosynthetic")
	require.Equal(t, []string{rank.ChannelVector}, out.Meta.Degraded)
	require.Equal(t, []string{said.String()}, ids(out))
	row := out.Results[0]
	require.True(t, row.Supplementary)
	require.Equal(t, schema.SupplementRescue, row.Supplement.Kind)
	require.Positive(t, row.Score)
	require.NotContains(t, ids(out), hidden.String())

	for i := range 60 { // more than a fallback search reads
		newer, err := w.Store.PutArtifact(ctx, w.p,
			strings.NewReader(fmt.Sprintf("invoice number %d of the windmill", i)), "text/plain", "", time.Now())
		require.NoError(t, err)
		episode(w.p, newer.Address)
	}
	out = w.recall("quixotic windmills")
	require.NotEmpty(t, out.Results)
	require.Equal(t, artifact.Address, out.Results[0].Ref)
	require.Contains(t, out.Results[0].Content, "quixotic windmill turned at noon")
	require.True(t, out.Results[0].Truncated)
	require.Equal(t, []string{filed.String()}, out.Results[0].Supplement.Members)

	var tracked int
	require.NoError(t, w.owner.QueryRow(ctx, `SELECT count(*) FROM memory_access`).Scan(&tracked))
	require.Zero(t, tracked)

	for _, query := range []string{"zyzzyva", "???", "what was it about", "the quixotic zebra of the yellow xylophone",
		"photosynthetic' | !:* ("} {
		out = w.recall(query)
		require.NotNil(t, out.Results)
		require.NotContains(t, out.Meta.Degraded, "rescue_transcripts")
		if !strings.HasPrefix(query, "photo") {
			require.Empty(t, out.Results, query)
		}
	}
	require.Empty(t, w.answer(schema.RecallRequest{Query: "photosynthetic", Tags: []string{"x"}}).Results,
		"it has the same filters as the search")
	require.Empty(t, w.answer(schema.RecallRequest{Query: "photosynthetic", Without: []string{"rescue"}}).Results)
	w.exec(`REVOKE SELECT ON artifacts FROM mneme_app`)
	out = w.recall("photosynthetic")
	require.Equal(t, []string{said.String()}, ids(out))
	require.Contains(t, out.Meta.Degraded, "rescue_artifacts")
}

// An excerpt shows the relevant part of a long text that a result refers to.
func TestArtifactsAreShownWhereTheyFit(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.Without = append(wordsAlone(), rank.StageNeighbourhood, rank.StageSession)
	filler := strings.Repeat("terms and conditions ", 300)
	artifact, err := w.Store.PutArtifact(ctx, w.p,
		strings.NewReader(filler+"The spout of the kettle leaks after a year. "+filler), "text/plain; charset=utf-8",
		"", time.Now())
	require.NoError(t, err)
	w.keep(w.p, schema.VisibilityPrivate,
		schema.MemoryRecord{Type: schema.TypeEpisodic, Content: "The kettle came with papers about its spout.",
			Payload: json.RawMessage(fmt.Sprintf(`{"kind":"episodic","timeline":[{"t":"2026-05-01T00:00:00Z","event_kind":"delivery","ref":"e1"}],"artifacts":[%q]}`, artifact.Address))})
	_, extra := split(t, w.answer(schema.RecallRequest{Principal: w.p, Query: "why does the spout of the kettle leak",
		Expand: true}))
	text := kinds(extra)[schema.SupplementArtifact]
	require.Contains(t, text.Content, "The spout of the kettle leaks after a year.")
	require.True(t, text.Truncated)
}
