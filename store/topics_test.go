package store_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/mneme/mneme/internal/testkit"
	"github.com/mneme/mneme/memory/budget"
	rules "github.com/mneme/mneme/memory/topics"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/schema/topics"
	"github.com/mneme/mneme/store/budgets"
	"github.com/mneme/mneme/store/pg"
	storetopics "github.com/mneme/mneme/store/topics"
	"github.com/mneme/mneme/store/transfer"
)

// topicFilter is the filter of a topic's principal without clearance.
func topicFilter(t topics.Topic) pg.Filter {
	return pg.Filter{Principal: t.Principal, ReadPolicy: t.ReadPolicy}
}

// storeMemory stores a memory of the principal.
func (w *world) storeMemory(p schema.Principal, v schema.Visibility, content string) uuid.UUID {
	w.t.Helper()
	id, err := w.Insert(ctx, p, v, semantic(content, "Billing", "states", content, `{"mode":"global"}`), w.now)
	require.NoError(w.t, err)
	return id
}

func (w *world) asks(p schema.Principal, question string) topics.Topic {
	w.t.Helper()
	t, err := w.AddTopic(ctx, topics.TopicRequest{Principal: p, Question: question, ReadPolicy: schema.ReadShared},
		w.now)
	require.NoError(w.t, err)
	return t
}

// drafts saves the extract of memories as the draft of a topic, and returns the hash of the evidence.
func (w *world) drafts(t topics.Topic, ids ...uuid.UUID) (string, storetopics.Outcome) {
	w.t.Helper()
	evidence, err := w.Evidence(ctx, topicFilter(t), ids)
	require.NoError(w.t, err)
	refs := rules.Refs(evidence)
	out, err := w.SaveDraft(ctx, storetopics.Draft{Tenant: w.p.Tenant, Topic: uuid.MustParse(t.ID),
		Filter: topicFilter(t),
		Parts:  rules.Extract(evidence), Evidence: refs, WrittenBy: "rules", AsOf: w.now}, w.now)
	require.NoError(w.t, err)
	return rules.Hash(refs), out
}

func (w *world) publishes(t topics.Topic, hash string) (storetopics.Outcome, int) {
	w.t.Helper()
	out, number, err := w.PublishDraft(ctx, w.p.Tenant, uuid.MustParse(t.ID), topicFilter(t), hash, w.now)
	require.NoError(w.t, err)
	return out, number
}

func (w *world) topic(t topics.Topic) topics.Topic {
	w.t.Helper()
	out, err := w.Topic(ctx, t.Principal, uuid.MustParse(t.ID), topicFilter)
	require.NoError(w.t, err)
	return out
}

func TestTopicIsOpenedOnceAndAnsweredWithHistory(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	topic := w.asks(w.p, "What do we know about billing?")
	require.Equal(t, topic, w.asks(w.p, "What do we know about billing?"))
	require.Equal(t, topics.NeverAnswered, w.topic(topic).Freshness)

	one := w.storeMemory(w.p, schema.VisibilityPrivate, "Billing runs on Postgres.")
	hash, out := w.drafts(topic, one)
	require.Equal(t, storetopics.Written, out)
	require.Equal(t, topics.NeverAnswered, w.topic(topic).Freshness, "a draft is not shown")
	out, number := w.publishes(topic, hash)
	require.Equal(t, storetopics.Written, out)
	require.Equal(t, 1, number)
	out, number = w.publishes(topic, hash) // the acknowledgement was lost
	require.Equal(t, storetopics.Unchanged, out)
	require.Equal(t, 1, number)
	shown := w.topic(topic)
	require.Equal(t, topics.Fresh, shown.Freshness)
	require.Equal(t, []topics.Part{{Text: "Billing runs on Postgres.", Memories: []string{one.String()}}},
		shown.Answer.Parts)

	two := w.storeMemory(w.p, schema.VisibilityPrivate, "Billing is owned by payments.")
	for i := range topics.KeptAnswers + 3 {
		hash, _ = w.drafts(topic, one, two)
		if i%2 == 0 {
			hash, _ = w.drafts(topic, two)
		}
		out, _ = w.publishes(topic, hash)
		require.Equal(t, storetopics.Written, out)
	}
	history, err := w.Answers(ctx, topic.Principal, uuid.MustParse(topic.ID), topicFilter)
	require.NoError(t, err)
	require.Len(t, history, topics.KeptAnswers)
	require.Equal(t, topics.KeptAnswers+4, history[0].Number)

	another := schema.Operation{Principal: schema.Principal{Tenant: "t", Agent: "another"}}
	require.ErrorIs(t, w.RemoveTopic(ctx, another, uuid.MustParse(topic.ID), w.now), pg.ErrNotFound)
	require.NoError(t, w.RemoveTopic(ctx, w.by(), uuid.MustParse(topic.ID), w.now))
	_, err = w.Topic(ctx, w.p, uuid.MustParse(topic.ID), topicFilter)
	require.ErrorIs(t, err, pg.ErrNotFound)
	require.Zero(t, w.count("topic_answers", "true"))
}

// An answer or draft that quotes a memory is removed in the same transaction, in any mode of forgetting.
func TestForgettingBlanksAnswersAndDropsDrafts(t *testing.T) {
	t.Parallel()
	for _, mode := range []schema.ForgetMode{schema.ForgetSoft, schema.ForgetForce, schema.ForgetErase} {
		t.Run(string(mode), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			topic, other := w.asks(w.p, "What about billing?"), w.asks(w.p, "What about parking?")
			gone := w.storeMemory(w.p, schema.VisibilityPrivate, "Billing uses the xyzzycanary vault.")
			kept := w.storeMemory(w.p, schema.VisibilityPrivate, "Billing is in Lisbon.")
			hash, _ := w.drafts(topic, gone, kept)
			w.publishes(topic, hash)
			hash, _ = w.drafts(other, kept)
			w.publishes(other, hash)
			pending, out := w.drafts(topic, gone)
			require.Equal(t, storetopics.Written, out)

			w.forgetAll(w.forgets(mode, named(gone)))
			require.Zero(t, w.count("topic_answers", "parts::text LIKE '%xyzzycanary%'"))
			require.Zero(t, w.count("topic_drafts", "true"))
			shown := w.topic(topic)
			require.Equal(t, topics.Stale, shown.Freshness)
			require.Positive(t, shown.Changed)
			require.NotNil(t, shown.Answer.BlankedAt)
			require.Empty(t, shown.Answer.Parts)
			require.False(t, shown.Answer.Unknown())
			require.Equal(t, topics.Fresh, w.topic(other).Freshness, "an answer that does not use it stays")
			out, _ = w.publishes(topic, pending)
			require.Equal(t, storetopics.NotDrafted, out, "a draft that uses a forgotten memory is not published")
		})
	}
}

// If a memory changes, or is hidden from the principal, between reading and publishing, the answer is not published.
func TestOutdatedDraftIsDropped(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	bob := schema.Principal{Tenant: w.p.Tenant, Agent: "bob", Project: w.p.Project}
	topic := w.asks(bob, "What about billing?")
	id := w.storeMemory(w.p, schema.VisibilityGlobal, "Billing is in Lisbon.")
	hash, out := w.drafts(topic, id)
	require.Equal(t, storetopics.Written, out)
	_, err := w.owner.Exec(ctx, `UPDATE memories SET visibility = 'private' WHERE id = $1`, id)
	require.NoError(t, err)
	out, _ = w.publishes(topic, hash)
	require.Equal(t, storetopics.Outdated, out)
	require.Zero(t, w.count("topic_drafts", "true"))
	require.Zero(t, w.count("topic_answers", "true"))

	_, err = w.owner.Exec(ctx, `UPDATE memories SET visibility = 'global', version = version + 1 WHERE id = $1`, id)
	require.NoError(t, err)
	state, err := w.TopicState(ctx, bob.Tenant, uuid.MustParse(topic.ID))
	require.NoError(t, err)
	require.Equal(t, storetopics.State{Refs: []rules.Ref{}}, state)
}

// Concurrent forgetting and publishing, in either order, leave no answer that quotes the memory.
func TestPublishWhileForgetting(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for i := range 12 {
		topic := w.asks(w.p, fmt.Sprintf("What about billing %d?", i))
		id := w.storeMemory(w.p, schema.VisibilityPrivate, fmt.Sprintf("Billing %d uses the xyzzycanary vault.", i))
		hash, _ := w.drafts(topic, id)
		preview := w.selects(w.forgets(schema.ForgetErase, named(id)))
		_, err := w.confirm(preview, w.token(preview))
		require.NoError(t, err)
		var both sync.WaitGroup
		var published, forgot error
		both.Go(func() {
			_, _, published = w.PublishDraft(ctx, w.p.Tenant, uuid.MustParse(topic.ID), topicFilter(topic), hash, w.now)
		})
		both.Go(func() {
			_, forgot = w.ForgetBatch(ctx, w.p.Tenant, uuid.MustParse(preview.RunID), 3, w.now)
		})
		both.Wait()
		require.NoError(t, published)
		require.NoError(t, forgot)
		require.Zero(t, w.count("topic_answers", "parts::text LIKE '%xyzzycanary%'"))
		require.Zero(t, w.count("topic_drafts", "true"))
	}
}

// A topic never shows a memory that its principal may not see, neither when it is answered nor after the visibility
// or the sensitivity of a memory has changed.
func TestTopicShowsOnlyWhatItsPrincipalMaySee(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	owners := []schema.Principal{{Tenant: "t", Agent: "a", Project: "p", PolicyGroup: "g"},
		{Tenant: "t", Agent: "b", Project: "p"}, {Tenant: "t", Agent: "a", Project: "p", User: "maya"},
		{Tenant: "t", Agent: "b", Project: "q", PolicyGroup: "g"}}
	n := 0
	rapid.Check(t, func(r *rapid.T) {
		n++
		asker := rapid.SampledFrom(owners).Draw(r, "asker")
		topic := w.asks(asker, fmt.Sprintf("Question %d?", n))
		var ids []uuid.UUID
		for i := range rapid.IntRange(1, 4).Draw(r, "memories") {
			owner := rapid.SampledFrom(owners).Draw(r, "owner")
			v := rapid.SampledFrom([]schema.Visibility{schema.VisibilityPrivate, schema.VisibilityShared,
				schema.VisibilityGlobal}).Draw(r, "visibility")
			ids = append(ids, w.storeMemory(owner, v, fmt.Sprintf("Statement %d of case %d.", i, n)))
		}
		visible := func() map[uuid.UUID]bool {
			seen, err := w.Evidence(ctx, topicFilter(topic), ids)
			require.NoError(r, err)
			out := map[uuid.UUID]bool{}
			for _, e := range seen {
				out[uuid.MustParse(e.ID)] = true
			}
			return out
		}
		hash, _ := w.drafts(topic, ids...)
		w.publishes(topic, hash)
		for _, id := range ids {
			change := rapid.SampledFrom([]string{"", "visibility = 'private'", "sensitivity = 'hyper'",
				"agent_id = 'zoe'"}).Draw(r, "change")
			if change != "" {
				_, err := w.owner.Exec(ctx, `UPDATE memories SET `+change+` WHERE id = $1`, id)
				require.NoError(r, err)
			}
		}
		may := visible()
		history, err := w.Answers(ctx, topic.Principal, uuid.MustParse(topic.ID), topicFilter)
		require.NoError(r, err)
		for _, answer := range append(history, *w.topic(topic).Answer) {
			for _, part := range answer.Parts {
				for _, id := range part.Memories {
					require.True(r, may[uuid.MustParse(id)], "%s is shown and may not be seen", id)
				}
			}
		}
		for _, other := range owners {
			if other != asker {
				_, err := w.Topic(ctx, other, uuid.MustParse(topic.ID), topicFilter)
				require.ErrorIs(r, err, pg.ErrNotFound, "a topic is visible to its owner only")
			}
		}
	})
}

func TestTenantsWithTopics(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, tenant := range []string{"ten-b", "ten-a", "ten-c"} {
		w.asks(schema.Principal{Tenant: tenant, Agent: "a"}, "What?")
		w.asks(schema.Principal{Tenant: tenant, Agent: "b"}, "What?")
	}
	names, err := w.TopicTenants(ctx, "ten-a", 10)
	require.NoError(t, err)
	require.Equal(t, []string{"ten-b", "ten-c"}, names)
	all, err := w.OpenTopics(ctx, "ten-a", uuid.Nil, 1)
	require.NoError(t, err)
	require.Len(t, all, 1)
	rest, err := w.OpenTopics(ctx, "ten-a", all[0], 10)
	require.NoError(t, err)
	require.Len(t, rest, 1)
	_, err = w.AddTopic(ctx, topics.TopicRequest{Principal: w.p, Question: ""}, w.now)
	var invalid *schema.ValidationError
	require.ErrorAs(t, err, &invalid)
	require.Equal(t, "question", invalid.Fields[0].Field)
}

// Concurrent reservations never exceed the day's limit. A reservation that is never settled keeps counting. The next
// day begins with nothing used.
func TestTokenBudget(t *testing.T) {
	t.Parallel()
	s := testkit.Store(t)
	now := time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)
	reserve := func(key string, tokens int64, at time.Time) error {
		return s.ReserveTokens(ctx, budgets.Reservation{Tenant: "t", Key: key, Purpose: "topic", Tokens: tokens,
			Limit: 100}, at)
	}
	var wg sync.WaitGroup
	failed := make([]error, 20)
	for i := range failed {
		wg.Go(func() { failed[i] = reserve(fmt.Sprint("call ", i), 30, now) })
	}
	wg.Wait()
	refused, admitted := 0, ""
	for i, err := range failed {
		var exceeded *budget.ExceededError
		switch {
		case errors.As(err, &exceeded):
			refused++
			require.EqualValues(t, 100, exceeded.Limit)
		default:
			require.NoError(t, err)
			admitted = fmt.Sprint("call ", i)
		}
	}
	require.Equal(t, 17, refused)
	require.NoError(t, reserve(admitted, 30, now), "the same attempt reserves once")
	require.NoError(t, s.SettleTokens(ctx, "t", admitted, 5, now))
	require.NoError(t, s.SettleTokens(ctx, "t", admitted, 5, now))
	require.Equal(t, budget.Day{Settled: 5, Reserved: 60}, testkit.TokenDay(t, s, "t", now))
	require.NoError(t, reserve("next", 35, now))
	require.Error(t, reserve("over", 1, now))
	require.NoError(t, reserve("tomorrow", 100, now.Add(12*time.Hour)))
	require.NoError(t, s.ReserveTokens(ctx, budgets.Reservation{Tenant: "t", Key: "no limit", Purpose: "topic",
		Tokens: 1 << 40}, now))
	require.Zero(t, testkit.TokenDay(t, s, "another", now).Used())
}

// An export contains the open topics of its owners without their answers. Restored topics wait for a refresh.
func TestTopicsAreExportedWithoutAnswers(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	topic, other := w.asks(w.p, "What about billing?"), w.asks(schema.Principal{Tenant: w.p.Tenant, Agent: "zoe"},
		"What about zoe?")
	id := w.storeMemory(w.p, schema.VisibilityPrivate, "Billing uses the xyzzycanary vault.")
	hash, _ := w.drafts(topic, id)
	w.publishes(topic, hash)
	for all, want := range map[bool]int{false: 1, true: 2} {
		var lines []transfer.ExportLine
		counts, err := w.Export(ctx, transfer.ExportSelection{Filter: pg.Filter{Principal: w.p}, AllAgents: all}, w.now,
			func(line transfer.ExportLine) error {
				if line.Kind == transfer.LineTopic {
					require.NotContains(t, string(line.Topic), "xyzzycanary")
					encoded, err := json.Marshal(line)
					require.NoError(t, err)
					line, err = transfer.DecodeExportLine(encoded)
					require.NoError(t, err)
					lines = append(lines, line)
				}
				return nil
			})
		require.NoError(t, err)
		require.Equal(t, want, counts.Topics)
		require.Len(t, lines, want)
		for range 2 {
			_, err = w.Restore(ctx, "another", lines, w.now)
			require.NoError(t, err)
		}
	}
	require.Equal(t, 2, w.count("topics", "tenant = 'another'"))
	moved := other
	moved.Principal.Tenant = "another"
	require.Equal(t, topics.NeverAnswered, w.topic(moved).Freshness)
	filtered, err := w.Export(ctx, transfer.ExportSelection{Filter: pg.Filter{Principal: w.p, Tags: []string{"x"}}},
		w.now,
		func(transfer.ExportLine) error { return nil })
	require.NoError(t, err)
	require.Zero(t, filtered.Topics)
}
