package recall_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/mneme/mneme/inference"
	"github.com/mneme/mneme/memory/rank"
	"github.com/mneme/mneme/recall"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/store"
	"github.com/mneme/mneme/store/pg"
)

// reranker is a reranker defined by a function.
type reranker func(ctx context.Context, texts []string) (map[int]float64, error)

func (r reranker) Rerank(ctx context.Context, _ string, texts []string) (map[int]float64, inference.Usage, error) {
	scores, err := r(ctx, texts)
	return scores, inference.Usage{}, err
}

// recallWith recalls the answers to one question, with a changed request.
func (w *world) recallWith(change func(*schema.RecallRequest)) schema.RecallResponse {
	w.t.Helper()
	req := schema.RecallRequest{Principal: w.p, Query: "where does Ana live"}
	change(&req)
	out, err := w.Recall(ctx, req)
	require.NoError(w.t, err)
	return out
}

// supersede makes one memory the successor of another.
func (w *world) supersede(old, successor uuid.UUID) {
	w.t.Helper()
	w.exec(`UPDATE memories SET status = 'superseded', superseded_by = $2, superseded_at = now() WHERE id = $1`, old,
		successor)
}

func resultOf(t *testing.T, r schema.RecallResponse, id uuid.UUID) schema.RecallResult {
	t.Helper()
	i := slices.IndexFunc(r.Results, func(x schema.RecallResult) bool { return x.ID == id.String() })
	require.GreaterOrEqual(t, i, 0, "%s is not among %v", id, ids(r))
	return r.Results[i]
}

func TestEveryStageHasASwitch(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	id := w.remember("Ana lives in Oslo and decided on 3 May 2024 to stay")
	w.remember("Ana lives in Oslo, she says")
	for _, name := range recall.Stages() {
		on := w.recallWith(func(r *schema.RecallRequest) { r.With = []string{name} })
		require.Contains(t, on.Meta.TimingsMS, name)
		require.Empty(t, on.Meta.Degraded, name)
		require.Contains(t, ids(on), id.String(), name)
		off := w.recallWith(func(r *schema.RecallRequest) { r.Without = []string{name}; r.With = []string{name} })
		require.NotContains(t, off.Meta.TimingsMS, name, "off wins")
		byDefault := w.recallWith(func(*schema.RecallRequest) {})
		require.Equal(t, !recall.OffByDefault(name), slices.Contains(keys(byDefault.Meta.TimingsMS), name), name)
	}
	all := w.recallWith(func(r *schema.RecallRequest) { r.With, r.Explain = recall.Stages(), true })
	require.Contains(t, ids(all), id.String())
	for _, r := range all.Results {
		require.Equal(t, r.Score, r.Explain[len(r.Explain)-1].Score)
	}
	require.Subset(t, recall.Channels(), []string{rank.ChannelText, rank.ChannelVector})
}

func keys(m map[string]float64) []string {
	var out []string
	for k := range m {
		out = append(out, k)
	}
	return out
}

// A stage that cannot read its data is named and left out.
func TestAFailingStageOnlyDegrades(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var lines []uuid.UUID
	for _, text := range []string{"Ana lives in Oslo", "Bo lives in Rome", "Cy lives in Lima", "Di lives in Graz",
		"Ed lives in Nara"} {
		lines = append(lines, w.remember(text))
	}
	w.exec(`INSERT INTO entities (tenant, id, canonical_name, name, mentions, created_at, updated_at)
		SELECT 't', gen_random_uuid(), 'e' || n, 'e' || n, CASE WHEN n > 17 THEN 90 ELSE 1 END, now(), now()
			FROM generate_series(1, 20) n`)
	w.exec(`DROP TABLE memory_entity_mentions CASCADE`)
	got := w.recallWith(func(r *schema.RecallRequest) { r.With = []string{rank.StageDampen} })
	require.Contains(t, ids(got), lines[0].String())
	require.ElementsMatch(t, []string{rank.ChannelGraph, rank.StageDampen}, got.Meta.Degraded,
		"the graph also reads the mentions of an entity")
}

func TestDampen(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	hub, other := w.remember("Ana lives in the city"), w.remember("Ana lives in the town")
	dated := w.remember("Ana lives in the village since 3 May 2024")
	w.exec(`INSERT INTO entities (tenant, id, canonical_name, name, mentions, created_at, updated_at)
		SELECT 't', gen_random_uuid(), 'e' || n, 'e' || n, CASE WHEN n > 17 THEN 90 ELSE 1 END, now(), now()
			FROM generate_series(1, 20) n`)
	w.exec(`INSERT INTO memory_entity_mentions (tenant, memory_id, entity_id, created_at) SELECT 't', $1, id, now()
		FROM entities WHERE canonical_name = 'e20'`, hub)
	w.exec(`INSERT INTO memory_entity_mentions (tenant, memory_id, entity_id, created_at) SELECT 't', $1, id, now()
		FROM entities WHERE canonical_name IN ('e20', 'e1')`, other)
	blind := []string{rank.StageRelevance, rank.StageLatest} // they depend on the words
	const query = "where does Ana live, zyzzyva?"            // an unknown word keeps scores below their maximum
	plain := w.recallWith(func(r *schema.RecallRequest) { r.Query, r.Without = query, blind })
	dampened := w.recallWith(func(r *schema.RecallRequest) {
		r.Query, r.With, r.Without = query, []string{rank.StageDampen}, blind
	})
	require.InDelta(t, 0.7*resultOf(t, plain, hub).Score, resultOf(t, dampened, hub).Score, 1e-9)
	require.InDelta(t, resultOf(t, plain, other).Score, resultOf(t, dampened, other).Score, 1e-9,
		"it also links to a rare entity")
	require.InDelta(t, 1.1*resultOf(t, plain, dated).Score, resultOf(t, dampened, dated).Score, 1e-9, "a date")
	require.Less(t, resultOf(t, dampened, hub).Score, resultOf(t, dampened, other).Score)
}

func TestTheRerankerOrdersTheBest(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	second, first := w.remember("Ana does live broadcasts for a big old radio"), w.remember("Ana lives at home")
	stranger := w.put(schema.Principal{Tenant: "t", Agent: "someone else"}, schema.VisibilityPrivate,
		schema.Candidate{Content: "Ana does live in a secret place"})
	w.Index = hitting(stranger, second)
	require.Equal(t, first.String(), ids(w.recallWith(func(*schema.RecallRequest) {}))[0])

	var read []string
	w.Reranking = inference.Reranking{Blend: 1,
		Reranker: reranker(func(_ context.Context, texts []string) (map[int]float64, error) {
			read = slices.Clone(texts)
			out := map[int]float64{}
			for i, text := range texts {
				if text == "Ana does live broadcasts for a big old radio" {
					out[i] = 1
				} else {
					out[i] = 0.1
				}
			}
			return out, nil
		})}
	got := w.recallWith(func(*schema.RecallRequest) {})
	require.Equal(t, []string{second.String(), first.String()}, ids(got))
	require.Empty(t, got.Meta.Degraded)
	require.Len(t, read, 2, "hidden memories are not sent to the model")
	require.NotContains(t, ids(w.recallWith(func(r *schema.RecallRequest) { r.Without = []string{rank.StageRerank} }))[:1],
		second.String())

	w.Reranking.Top = 1
	w.recallWith(func(*schema.RecallRequest) {})
	require.Len(t, read, 1)
}

func TestFailingRerankerIsLeftOut(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	t.Cleanup(func() { close(release) })
	for name, r := range map[string]reranker{
		"it fails": func(context.Context, []string) (map[int]float64, error) {
			return nil, errors.New("down")
		},
		"it scores texts that it did not get": func(context.Context, []string) (map[int]float64, error) {
			return map[int]float64{7: 1}, nil
		},
		"it waits for its context": func(ctx context.Context, _ []string) (map[int]float64, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		},
		"it returns no scores": func(context.Context, []string) (map[int]float64, error) {
			<-release
			return map[int]float64{}, nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			id := w.remember("Ana lives in Oslo")
			w.Reranking = inference.Reranking{Reranker: r, Blend: 1, Deadline: 50 * time.Millisecond}
			got := w.recallWith(func(*schema.RecallRequest) {})
			require.Equal(t, []string{id.String()}, ids(got))
			require.Equal(t, []string{rank.StageRerank}, got.Meta.Degraded)
		})
	}
}

// Superseded memories are returned on request, marked, below their successors, and only if the caller may see them.
func TestSupersededIsMarkedAndDemoted(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	oldest, older, now := w.remember("Ana lives in Lyon"), w.remember("Ana lives in Rome"), w.remember("Ana "+
		"lives in Oslo")
	stranger := w.put(schema.Principal{Tenant: "t", Agent: "someone else"}, schema.VisibilityPrivate,
		schema.Candidate{Content: "Ana lives in secret"})
	gone := w.remember("Ana lives in Graz")
	w.supersede(oldest, older)
	w.supersede(older, now)
	w.supersede(stranger, now)
	w.supersede(gone, now)
	w.exec(`UPDATE memories SET deleted_at = now() WHERE id = $1`, gone)

	got := w.recallWith(func(*schema.RecallRequest) {})
	require.Equal(t, []string{now.String()}, ids(got), "superseded memories were not requested")
	require.Equal(t, schema.CurrentnessCurrent, got.Results[0].Currentness)

	got = w.recallWith(func(r *schema.RecallRequest) { r.Superseded, r.Explain = true, true })
	require.Equal(t, now.String(), got.Results[0].ID)
	require.ElementsMatch(t, []string{now.String(), older.String(), oldest.String()}, ids(got))
	require.Empty(t, got.Meta.Degraded)
	was := resultOf(t, got, older)
	require.Equal(t, schema.CurrentnessSuperseded, was.Currentness)
	require.Equal(t, now.String(), was.SupersededBy)
	require.Equal(t, schema.StatusSuperseded, was.Status)
	require.Equal(t, "Ana lives in Rome", was.Content)
	require.Equal(t, older.String(), resultOf(t, got, oldest).SupersededBy)
	require.Less(t, was.Score, got.Results[0].Score)
	require.Empty(t, resultOf(t, got, now).SupersededBy)

	ended := w.recallWith(func(r *schema.RecallRequest) {
		r.Superseded, r.Types = true, []schema.MemoryType{schema.TypeCompetence}
	})
	require.Empty(t, ended.Results, "other filters apply to them too")
	require.NotContains(t, ids(w.recallWith(func(r *schema.RecallRequest) {
		r.Superseded, r.Without = true, []string{rank.StageCurrentness}
	})), older.String())

	// A successor that the caller may not see is not named.
	hidden := w.put(schema.Principal{Tenant: "t", Agent: "someone else"}, schema.VisibilityPrivate,
		schema.Candidate{Content: "Ana lives in hiding"})
	w.exec(`UPDATE memories SET superseded_by = $2 WHERE id = $1`, oldest, hidden)
	w.exec(`UPDATE memories SET status = 'active', superseded_by = NULL WHERE id = $1`, older)
	require.NotContains(t, ids(w.recallWith(func(r *schema.RecallRequest) { r.Superseded = true })), oldest.String())
}

// An episode is marked as outdated if a fact learned from it is superseded and the caller may know that.
func TestEpisodeIsMarkedWithItsFacts(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	episode, old, fact := w.remember("I live in Lyon, said Ana"), w.remember("Lyon is the home of "+
		"A."), w.remember("Oslo is the home of A.")
	stranger := w.put(schema.Principal{Tenant: "t", Agent: "someone else"}, schema.VisibilityPrivate,
		schema.Candidate{Content: "Ana was in Lyon"})
	w.exec(`ALTER TABLE memories DISABLE TRIGGER USER`) // so that the type of an episode can be changed
	w.exec(`UPDATE memories SET type = 'semantic', tier = 'persistent', typology = 'semantic',
		payload = payload || '{"kind": "semantic"}' WHERE id = ANY($1)`, []uuid.UUID{old, fact, stranger})
	drawn := func(fact uuid.UUID) {
		w.exec(`INSERT INTO memory_links (tenant, source_id, predicate, target_id, created_at)
			VALUES ('t', $1, 'derived_from', $2, now())`, fact, episode)
	}
	of := func() schema.Currentness {
		return resultOf(t, w.recallWith(func(*schema.RecallRequest) {}), episode).Currentness
	}
	require.Equal(t, schema.CurrentnessCurrent, of())
	drawn(stranger)
	w.supersede(stranger, fact)
	require.Equal(t, schema.CurrentnessCurrent, of(), "facts of other agents do not count")
	drawn(old)
	require.Equal(t, schema.CurrentnessCurrent, of())
	w.supersede(old, fact)
	require.Equal(t, schema.CurrentnessSuperseded, of())
	drawn(fact)
	require.Equal(t, schema.CurrentnessMixed, of())
}

func TestNearDuplicatesTakeOnePlace(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	at := time.Date(2026, 5, 1, 9, 0, 0, 0, time.UTC)
	say := func(text string) uuid.UUID {
		return w.put(w.p, schema.VisibilityPrivate, schema.Candidate{Content: text, OccurredAt: &at, Speaker: "Bo"})
	}
	one, again, other := say("well, Ana does live in the old town of Oslo"), say("Ana does live in an old town of "+
		"Oslo"), say("Ana does live in an old town of Rome")
	got := ids(w.recallWith(func(*schema.RecallRequest) {}))
	require.Len(t, got, 2)
	require.Contains(t, got, other.String())
	require.NotEqual(t, slices.Contains(got, one.String()), slices.Contains(got, again.String()))
	require.Len(t, ids(w.recallWith(func(r *schema.RecallRequest) { r.Without = []string{rank.StageDuplicates} })), 3)
}

// The stages compare the same candidates for any small limit, so the first results and their scores do not depend on
// it. Here an episode ranks low before it is compared with the question, and the fact extracted from it was superseded.
func TestTheFirstResultsDoNotDependOnTheLimit(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	episode, old := w.remember("Ana lives in Oslo, in a red house near the park"), w.remember("Oslo is the home of A.")
	for _, other := range []string{"Bob lives near Ana", "Carla lives with Ana", "Dan lives above Ana",
		"Eve lives below Ana", "Fred lives beside Ana"} {
		w.remember(other)
	}
	successor := w.remember("Moved to Bergen")
	w.exec(`ALTER TABLE memories DISABLE TRIGGER USER`) // so that the type of an episode can be changed
	w.exec(`UPDATE memories SET type = 'semantic', tier = 'persistent', typology = 'semantic',
		payload = payload || '{"kind": "semantic"}' WHERE id = ANY($1)`, []uuid.UUID{old, successor})
	w.exec(`INSERT INTO memory_links (tenant, source_id, predicate, target_id, created_at)
		VALUES ('t', $1, 'derived_from', $2, now())`, old, episode)
	w.supersede(old, successor)
	best := func(limit int) (out []string) {
		for _, r := range w.recallWith(func(r *schema.RecallRequest) { r.Limit = limit }).Results {
			out = append(out, fmt.Sprintf("%.3f %s %s", r.Score, r.Currentness, r.Content))
		}
		return out
	}
	ten := best(10)
	require.Contains(t, strings.Join(ten, "\n"), "superseded Ana lives in Oslo")
	for _, limit := range []int{1, 2, 3} {
		require.Equal(t, ten[:limit], best(limit), "limit %d", limit)
	}
}

// A stage that fails halfway has no effect.
func TestAStageThatFailsHalfwayChangesNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	old, successor := w.remember("Ana lives in Oslo, where does she live"), w.remember("Ana moved to Bergen")
	w.exec(`UPDATE memories SET superseded_by = $2 WHERE id = $1`, old, successor)
	broken := w.breaking(false)
	whole := func(r *schema.RecallRequest) { r.Explain, r.Superseded, r.Without = true, true, []string{"relevance"} }
	require.Contains(t, fmt.Sprint(resultOf(t, w.recallWith(whole), successor).Explain), "replaces a memory")
	w.Recaller.Store = broken
	out := w.recallWith(whole)
	require.Equal(t, []string{rank.StageCurrentness}, out.Meta.Degraded)
	for _, r := range out.Results {
		require.NotContains(t, fmt.Sprint(r.Explain), "replaces a memory")
	}
}

// breaking returns a store in which the read of predecessors fails or hangs.
func (w *world) breaking(hangs bool) *store.Store {
	w.t.Helper()
	s, err := store.Open(ctx, pg.Config{URL: w.owner.Config().ConnString(), MaxConns: 10,
		Configure: func(pc *pgxpool.Config) {
			pc.ConnConfig.Tracer = faultTracer{"WITH RECURSIVE chain(id, successor, depth) AS ( SELECT m.id", hangs}
		}})
	require.NoError(w.t, err)
	w.t.Cleanup(s.Close)
	return s
}

// The relevance of a memory that replaced another includes the other's text, which is read in time or not at all.
func TestRelevanceHasADeadline(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	old, successor := w.remember("Ana lives in Oslo"), w.remember("Ana lives in Bergen now")
	w.supersede(old, successor)
	w.Recaller.Store, w.TimeoutFactor = w.breaking(true), 3
	limited, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	out, err := w.Recall(limited, schema.RecallRequest{Principal: w.p, Query: "where does Ana live"})
	require.NoError(t, err)
	require.Equal(t, []string{rank.StageRelevance}, out.Meta.Degraded)
	require.Equal(t, []string{successor.String()}, ids(out))
}
