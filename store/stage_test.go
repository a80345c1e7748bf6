package store_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/require"

	"github.com/mneme/mneme/internal/testkit"
	"github.com/mneme/mneme/memory/intake"
	"github.com/mneme/mneme/memory/lifecycle"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/store"
	"github.com/mneme/mneme/store/pg"
	"github.com/mneme/mneme/store/pipeline"
)

func TestStageMakesCandidatesDurableAndRecallable(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.p = schema.Principal{Tenant: "t", Agent: "a", Project: "p", Scope: "s", PolicyGroup: "g"}
	w.vis = schema.VisibilityGroup
	at := time.Date(2024, 5, 6, 7, 8, 9, 0, time.FixedZone("", 3600))
	ack, r := w.stage(
		schema.Candidate{Content: "  critical: [Ops , infra]:  Never   deploy on Fridays. ",
			SourceKind: schema.SourceMemory, Tags: []string{"Friday"}},
		schema.Candidate{Content: "the build failed", SourceKind: schema.SourceToolOutput, Speaker: "ci",
			Session: "s-1", OccurredAt: &at, Sensitivity: schema.SensitivityHigh,
			Category: schema.CategoryIssue,
			Refs:     []schema.Ref{{Kind: "tool_call", Ref: "call-1", Hash: "h"}, {Kind: "event", Ref: "e"}}},
	)
	require.Empty(t, ack.Deduped)
	require.Empty(t, ack.Recalled)
	require.Equal(t, 2, r.To)

	saved := w.get(uuid.MustParse(ack.MemoryIDs[0]))
	require.Equal(t, "Never deploy on Fridays.", saved.Content)
	require.Equal(t, schema.TypeSemantic, saved.Type)
	require.Equal(t, schema.CategoryRule, saved.Category)
	require.True(t, saved.Lifecycle.Pinned)
	require.InDelta(t, 1, saved.Importance, 0)
	require.ElementsMatch(t, []string{"friday", "ops", "infra"}, saved.Tags)
	require.Nil(t, saved.Lifecycle.DecayDueAt, "what is pinned does not decay")
	require.Equal(t, "agent:a", saved.Provenance.CreatedBy)
	require.Equal(t, w.now, saved.OccurredAt.UTC())

	heard := w.get(uuid.MustParse(ack.MemoryIDs[1]))
	require.Equal(t, schema.TypeEpisodic, heard.Type)
	require.Equal(t, schema.SensitivityHigh, heard.Sensitivity)
	require.Equal(t, []string{"p", "s", "g", "group", "ci", "s-1"},
		[]string{heard.Project, heard.Scope, heard.PolicyGroup, string(heard.Visibility), heard.Who, heard.Session})
	require.True(t, at.Equal(heard.OccurredAt))
	require.Equal(t, []schema.Ref{{Kind: "tool_call", Ref: "call-1", Hash: "h"}, {Kind: "event", Ref: "e"}},
		heard.Provenance.Sources)
	require.NotNil(t, heard.Lifecycle.DecayDueAt)
	require.Equal(t, 1, heard.Version)
	require.Contains(t, string(heard.Payload), "tool_output")

	for _, id := range ack.MemoryIDs {
		h := w.history(uuid.MustParse(id))
		require.Len(t, h, 1)
		require.Equal(t, schema.EventCreated, h[0].Event)
		require.Nil(t, h[0].OldContent)
		require.NotNil(t, h[0].NewContent)
		require.Equal(t, "agent:a", h[0].ChangedBy)
		require.NotEmpty(t, h[0].Reason)
	}
	jobs, err := w.Jobs(ctx, "t", pipeline.JobFilter{BatchID: r.BatchID})
	require.NoError(t, err)
	require.Len(t, jobs, 2)
	for i, j := range jobs {
		require.Equal(t, schema.JobPending, j.State)
		require.Equal(t, ack.MemoryIDs[i], j.MemoryID)
		require.Equal(t, "wf", j.WorkflowID)
		require.Equal(t, 3, j.MaxAttempts)
	}
	require.Equal(t, 1, w.count("events", "true"), "an explicit memory has no event")
	require.Equal(t, 2, w.count("index_outbox", "op = 'upsert' AND version = 1"))
	hits, err := w.SearchText(ctx, pg.Filter{Principal: w.p, MaxSensitivity: schema.SensitivityHyper},
		"deploy on a friday", 10)
	require.NoError(t, err)
	require.Len(t, hits, 1)
	w.requireExactStats()
}

func TestStageFindsDuplicates(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	first := w.memory("The sky is blue.")
	ack, _ := w.stage(say("Grass is green", " the SKY  is blue!", "grass is GREEN.", "Roses are red",
		"The sky is blue")...)
	require.Equal(t, []int{1, 2, 4}, ack.Deduped)
	require.Equal(t, first.String(), ack.MemoryIDs[1])
	require.Equal(t, first.String(), ack.MemoryIDs[4])
	require.Equal(t, ack.MemoryIDs[0], ack.MemoryIDs[2], "a repetition within the batch has the id of the first")
	require.Equal(t, 3, w.count("memories", "true"))
	require.Equal(t, 3, w.count("jobs", "true"))
	require.Equal(t, 6, w.count("memory_candidates", "true"), "every candidate is recorded")
	h := w.history(first)
	require.Len(t, h, 3)
	require.Contains(t, h[1].Reason, "duplicate")
	require.Equal(t, schema.EventNone, h[1].Event)
	w.requireExactStats()

	w.forget(first)
	again := w.memory("The sky is blue.")
	require.NotEqual(t, first, again, "a forgotten text can be learned again")
}

func TestStageDeduplicatesWithinItsScopeOnly(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	seen := map[uuid.UUID]bool{w.memory("Shared words."): true}
	for _, change := range []func(*world){
		func(w *world) { w.p.Agent = "other" }, func(w *world) { w.p.Project = "p" }, func(w *world) {
			w.p.Scope = "s"
		},
		func(w *world) { w.vis = schema.VisibilityGlobal }, func(w *world) { w.p.Tenant = "t2" },
	} {
		other := *w
		change(&other)
		id := other.memory("shared words")
		require.False(t, seen[id])
		seen[id] = true
	}
	require.Equal(t, 6, w.count("memories", "live"))
}

// many is a batch whose candidates have no words in common.
func many() []schema.Candidate {
	var out []schema.Candidate
	for i := range 150 {
		out = append(out, schema.Candidate{Content: fmt.Sprintf("fact number%d of thing%d", i, 7*i)})
	}
	return out
}

func TestConcurrentStagesKeepOneRow(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	const clients = 8
	acks := make([]schema.IngestAck, clients)
	errs := make([]error, clients)
	var wg sync.WaitGroup
	for i := range clients {
		in := w.input(many()...)
		if i%2 == 1 { // in another order, which must not deadlock
			slices.Reverse(in.Request.Candidates)
		}
		wg.Go(func() { acks[i], errs[i] = w.Stage(ctx, in) })
	}
	wg.Wait()
	for i := range clients {
		require.NoError(t, errs[i])
		got := acks[i].MemoryIDs
		if i%2 == 1 {
			slices.Reverse(got)
		}
		require.Equal(t, acks[0].MemoryIDs, got, "all callers get the same ids")
	}
	n := len(many())
	require.Equal(t, n, w.count("memories", "true"))
	require.Equal(t, n, w.count("jobs", "true"))
	require.Equal(t, n, w.count("memory_history", "event = 'created'"))
	w.requireExactStats()
}

func TestStageReplaysAnOperation(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	in := w.input(say("one", "two", "one")...)
	first, err := w.Stage(ctx, in)
	require.NoError(t, err)
	before := w.snapshot()
	errs := make([]error, 4)
	acks := make([]schema.IngestAck, 4)
	var wg sync.WaitGroup
	for i := range errs {
		wg.Go(func() { acks[i], errs[i] = w.Stage(ctx, in) })
	}
	wg.Wait()
	for i := range errs {
		require.NoError(t, errs[i])
		require.Equal(t, first, acks[i])
	}
	require.Equal(t, before, w.snapshot(), "a replay writes nothing")

	other := in
	other.Request.Principal.Tenant = "t2"
	ack, err := w.Stage(ctx, other)
	require.NoError(t, err)
	require.NotEqual(t, first.BatchID, ack.BatchID, "operation ids are per tenant")
}

func TestStageHonoursCandidateKeys(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	keyed := func(key, content string) schema.Candidate {
		return schema.Candidate{Content: content, IdempotencyKey: key}
	}
	ack, _ := w.stage(keyed("k1", "first text"), keyed("k1", "the same key twice in one batch"))
	require.Equal(t, []int{1}, ack.Deduped)
	require.Equal(t, ack.MemoryIDs[0], ack.MemoryIDs[1])
	again, _ := w.stage(keyed("k1", "other words under the same key"))
	require.Equal(t, ack.MemoryIDs[:1], again.MemoryIDs)
	require.Equal(t, []int{0}, again.Deduped)
	require.Equal(t, 1, w.count("memories", "true"))
	h := w.history(uuid.MustParse(ack.MemoryIDs[0]))
	require.Contains(t, h[len(h)-1].Reason, "idempotency key")

	other := *w
	other.p.Agent = "b"
	fresh, _ := other.stage(keyed("k1", "keys belong to an agent"))
	require.Empty(t, fresh.Deduped)

	one, two := *w, *w
	one.p.Agent, two.p.Agent = "x", "x/y"
	one.stage(keyed("y/z", "key of agent x"))
	fresh, _ = two.stage(keyed("z", "key of agent x/y"))
	require.Empty(t, fresh.Deduped, "however agents and keys are spelt")
}

func TestStageKeepsTextThatOnlyAReplayedCandidateRepeats(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.stage(schema.Candidate{Content: "what came first", IdempotencyKey: "k"})
	// The candidate with the key is not written, so the next one with the same words must be.
	ack, _ := w.stage(schema.Candidate{Content: "words not seen yet", IdempotencyKey: "k"},
		schema.Candidate{Content: "words not seen yet"},
		schema.Candidate{Content: "Words not seen yet."})
	require.Equal(t, []int{0, 2}, ack.Deduped)
	require.Equal(t, "words not seen yet", w.get(uuid.MustParse(ack.MemoryIDs[1])).Content)
	require.Equal(t, ack.MemoryIDs[1], ack.MemoryIDs[2])

	ack, _ = w.stage(schema.Candidate{Content: "alpha", IdempotencyKey: "k2"},
		schema.Candidate{Content: "beta", IdempotencyKey: "k2"}, schema.Candidate{Content: "beta"})
	require.Equal(t, []int{1}, ack.Deduped)
	require.Equal(t, "beta", w.get(uuid.MustParse(ack.MemoryIDs[2])).Content)
}

func TestConcurrentStagesWithOneKeyHaveOneResult(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ids := make([]string, 8)
	var wg sync.WaitGroup
	errs := make([]error, len(ids))
	for i := range ids {
		in := w.input(schema.Candidate{Content: fmt.Sprintf("text of client %d", i), IdempotencyKey: "k"},
			schema.Candidate{Content: fmt.Sprintf("more of client %d", i), IdempotencyKey: "l"})
		if i%2 == 0 {
			in.Request.Candidates[0], in.Request.Candidates[1] = in.Request.Candidates[1], in.Request.Candidates[0]
		}
		wg.Go(func() {
			ack, err := w.Stage(ctx, in)
			if errs[i] = err; err == nil {
				ids[i] = ack.MemoryIDs[(i+1)%2]
			}
		})
	}
	wg.Wait()
	for i := range ids {
		require.NoError(t, errs[i])
		require.Equal(t, ids[0], ids[i])
	}
	require.Equal(t, 2, w.count("memories", "true"))
}

func TestStageDoesNotStoreRecalledText(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	wrapped := intake.WrapRecalled("r1", "Alice lives in Paris.")
	ack, _ := w.stage(
		schema.Candidate{Content: wrapped},
		schema.Candidate{Content: "an answer built on recall",
			Refs: []schema.Ref{{Kind: schema.RefRetrieval, Ref: "r1"}}},
		schema.Candidate{Content: wrapped + "\nBob moved to Rome."},
	)
	require.Equal(t, []int{0, 1}, ack.Recalled)
	require.Equal(t, 1, w.count("memories", "true"))
	require.Equal(t, "Bob moved to Rome.", w.get(uuid.MustParse(ack.MemoryIDs[2])).Content)
	require.Equal(t, 1, w.count("jobs", "true"))
	h := w.history(uuid.MustParse(ack.MemoryIDs[0]))
	require.Len(t, h, 1)
	require.Contains(t, h[0].Reason, "recall")
}

// Text that belongs to no memory could not be forgotten, and is not kept: neither text that recall returned nor a
// second delivery of a deleted memory.
func TestStageKeepsNoTextWithoutAMemory(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	said := func(content string) schema.Candidate {
		return schema.Candidate{Content: content, IdempotencyKey: content, Speaker: "Ana", Session: "s",
			Tags: []string{"home"}}
	}
	echo := said(intake.WrapRecalled("r1", "Alice lives in Paris."))
	told := said("an answer built on recall")
	told.Refs = []schema.Ref{{Kind: schema.RefRetrieval, Ref: "r1"}}
	plain := said("Bob moved to Rome.")
	ack, _ := w.stage(echo, told, plain, plain)
	again, _ := w.stage(echo, told, plain)
	require.Equal(t, ack.MemoryIDs[:3], again.MemoryIDs)
	require.Equal(t, ack.MemoryIDs[2], ack.MemoryIDs[3])
	const kept = `content <> '' OR speaker <> '' OR session <> '' OR tags <> '{}' OR refs <> '[]'`
	require.Equal(t, []int{7, 3}, []int{w.count("memory_candidates", "true"), w.count("memory_candidates", kept)})

	w.forgetAll(w.forgets(schema.ForgetSoft, named(uuid.MustParse(ack.MemoryIDs[2]))))
	w.exec(`UPDATE jobs SET state = 'completed', finished_at = $1`, w.now)
	w.now = w.now.Add(31 * day)
	require.Equal(t, 1, w.purge(500)[lifecycle.PurgeTombstones])
	w.keeps(schema.RetainHistory, 40)
	w.now = w.now.Add(50 * day) // its history is purged too, and the key is still known
	w.purge(500)
	w.stage(plain)
	require.Equal(t, []int{8, 0}, []int{w.count("memory_candidates", "true"), w.count("memory_candidates", kept)})
	require.Zero(t, w.count("memories", "true"))
	testkit.CheckInvariants(t, w.owner)
}

func TestStageInShadowModeWritesNoMemory(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	live := w.memory("already here")
	w.policy.Mode = schema.ModeShadow
	ack, r := w.stage(say("something new", "already here", "something new")...)
	require.Equal(t, []int{1, 2}, ack.Deduped)
	require.Equal(t, live.String(), ack.MemoryIDs[1])
	require.Equal(t, 1, w.count("memories", "true"))
	require.Equal(t, 1, w.count("index_outbox", "true"))
	left, err := w.LeaseExtract(ctx, r, w.now)
	require.NoError(t, err)
	require.Len(t, left, 1, "the pipeline continues")
	w.requireExactStats()
}

func TestStageInFrozenModeKeepsTheSource(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.policy.Mode = schema.ModeFrozen
	require.Equal(t, "kept", w.get(w.memory("kept")).Content)
}

func TestStageIsAtomic(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.memory("what was there")
	const canary = "XyzzyCanary words"
	for _, table := range []string{"memories", "memory_provenance", "memory_history", "index_outbox", "events",
		"memory_candidates",
		"ingest_batches", "jobs", "operations", "lexeme_stats", "corpus_stats"} {
		before := w.snapshot()
		w.breaking(table, func() {
			_, err := w.Stage(ctx, w.input(schema.Candidate{Content: canary, IdempotencyKey: "k",
				Refs: []schema.Ref{{Kind: "event", Ref: "r"}}}))
			require.Error(t, err, table)
			require.NotContains(t, err.Error(), "XyzzyCanary")
		})
		require.Equal(t, before, w.snapshot(), table)
	}
	ack, _ := w.stage(schema.Candidate{Content: canary, IdempotencyKey: "k"})
	require.Empty(t, ack.Deduped)
}

func TestStageAcceptsEveryValidRequest(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	longName := strings.Repeat("\U0001F9E0", schema.MaxNameLength)
	for name, content := range map[string]string{
		"many short words": distinct(schema.MaxContentBytes, func(i int) string { return fmt.Sprintf("%x ", i) }),
		"hyphenated": distinct(schema.MaxContentBytes, func(i int) string {
			return fmt.Sprintf("a%x-b%x ", i, i)
		}),
		"links": distinct(schema.MaxContentBytes, func(i int) string {
			return fmt.Sprintf("h%x.de/%x ", i, i)
		}),
		"one word":     strings.Repeat("x", schema.MaxContentBytes),
		"control":      "\x01\x1b[31m \\u0000 \ufffe \U0010ffff",
		"punctuation":  "!!!",
		"not a prefix": "critical:",
		"lone prefix":  "[a,b]:",
	} {
		in := w.input(schema.Candidate{Content: content})
		in.Request.Principal = schema.Principal{Tenant: "t", Agent: longName, Project: longName, Scope: longName,
			PolicyGroup: longName}
		require.NoError(t, in.Request.Validate(), name)
		_, err := w.Stage(ctx, in)
		require.NoError(t, err, name)
	}
}

func distinct(size int, word func(int) string) string {
	var b strings.Builder
	for i := 0; ; i++ {
		next := word(i)
		if b.Len()+len(next) > size {
			return b.String()
		}
		b.WriteString(next)
	}
}

func TestOpenErrorsContainNoPassword(t *testing.T) {
	t.Parallel()
	_, err := store.Open(ctx, pg.Config{URL: "postgres://u:hunter2secret@127.0.0.1:port/x"})
	require.Error(t, err)
	require.NotContains(t, err.Error(), "hunter2secret")
	_, err = store.Open(ctx, pg.Config{URL: "postgres://u:hunter2secret@127.0.0.1:1/x?connect_timeout=2"})
	require.Error(t, err)
	require.NotContains(t, err.Error(), "hunter2secret")
	require.True(t, pg.IsUnavailable(err))

	s := testkit.OpenStore(t, testkit.DatabaseURL(t))
	_, err = s.List(ctx, pg.Filter{}, pg.Page{})
	require.ErrorContains(t, err, "no tenant")
}

// A client that stops waiting does not end the statement at the server. The server's timeout must.
func TestStatementTimeoutEndsAtTheServer(t *testing.T) {
	t.Parallel()
	url := testkit.DatabaseURL(t)
	s, err := store.Open(ctx, pg.Config{URL: url, MaxConns: 1, StatementTimeout: 300 * time.Millisecond})
	require.NoError(t, err)
	defer s.Close()
	lock, err := testkit.Owner(t, url).Begin(ctx)
	require.NoError(t, err)
	_, err = lock.Exec(ctx, `LOCK TABLE corpus_stats`)
	require.NoError(t, err)

	_, err = s.LiveCount(ctx, "t")
	var pgErr *pgconn.PgError
	require.ErrorAs(t, err, &pgErr)
	require.Equal(t, "57014", pgErr.Code) // query_canceled
	require.NoError(t, lock.Rollback(ctx))
	_, err = s.LiveCount(ctx, "t")
	require.NoError(t, err)
}
