package store_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/mneme/mneme/internal/testkit"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/store"
)

// between calls do once, before the first statement that contains a text.
type between struct {
	text string
	do   func()
	once sync.Once
}

func (b *between) met(sql string) {
	if strings.Contains(sql, b.text) {
		b.once.Do(b.do)
	}
}

func (b *between) TraceQueryStart(ctx context.Context, _ *pgx.Conn, d pgx.TraceQueryStartData) context.Context {
	b.met(d.SQL)
	return ctx
}
func (b *between) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}
func (b *between) TraceBatchStart(ctx context.Context, _ *pgx.Conn, d pgx.TraceBatchStartData) context.Context {
	for _, q := range d.Batch.QueuedQueries {
		b.met(q.SQL)
	}
	return ctx
}
func (b *between) TraceBatchQuery(context.Context, *pgx.Conn, pgx.TraceBatchQueryData) {}
func (b *between) TraceBatchEnd(context.Context, *pgx.Conn, pgx.TraceBatchEndData)     {}

// interrupted returns a store that calls do before its first statement that contains text, and goes on once do has
// returned or waits for a lock. done waits until do has returned and returns its error.
func (w *world) interrupted(text string, do func() error) (s *store.Store, done func() error) {
	w.t.Helper()
	watch, ended := testkit.Owner(w.t, w.url), make(chan error, 1)
	b := &between{text: text, do: func() {
		var mu sync.Mutex
		over := false
		go func() {
			err := do()
			mu.Lock()
			defer mu.Unlock()
			over = true
			ended <- err
		}()
		waiting, cancel := context.WithTimeout(ctx, 30*time.Second)
		defer cancel()
		if err := testkit.Eventually(waiting, func() error {
			mu.Lock()
			defer mu.Unlock()
			if over {
				return nil
			}
			var held bool
			err := watch.QueryRow(waiting,
				`SELECT EXISTS (SELECT FROM pg_locks l JOIN pg_class c ON c.oid = l.relation
					JOIN pg_stat_activity a ON a.pid = l.pid
				WHERE l.database = (SELECT oid FROM pg_database WHERE datname = current_database())
				AND c.relnamespace = current_schema()::regnamespace
					AND a.wait_event_type = 'Lock' AND cardinality(pg_blocking_pids(l.pid)) > 0)`).Scan(&held)
			if err == nil && !held {
				err = errors.New("it neither ends nor waits")
			}
			return err
		}); err != nil {
			w.t.Error(err)
		}
	}}
	s, err := store.OpenTraced(ctx, w.url, b)
	require.NoError(w.t, err)
	w.t.Cleanup(s.Close)
	return s, func() error { return <-ended }
}

// erasing starts an erasure and returns its batch.
func (w *world) erasing(ids ...uuid.UUID) func() error {
	w.t.Helper()
	preview := w.selects(w.forgets(schema.ForgetErase, named(ids...)))
	_, err := w.confirm(preview, w.token(preview))
	require.NoError(w.t, err)
	return func() error {
		_, err := w.ForgetBatch(ctx, w.p.Tenant, uuid.MustParse(preview.RunID), 10, w.now)
		return err
	}
}

// A text is staged while the memory with the same text is being erased. The erasure waits and removes the new text
// too, so that no copy remains next to an empty row.
func TestStageDuringAnErasureOfTheSameText(t *testing.T) {
	t.Parallel()
	for _, mode := range []schema.WriteMode{schema.ModeControlled, schema.ModeShadow} {
		w := newWorld(t)
		id := w.memory("The first of its kind")
		s, done := w.interrupted("INSERT INTO ingest_batches", w.erasing(id))
		in := w.input(say("The first of its kind")...)
		in.Policy.Mode = mode
		ack, err := s.Stage(ctx, in)
		require.NoError(t, err)
		require.Equal(t, []string{id.String()}, ack.MemoryIDs)
		require.NoError(t, done())
		require.Zero(t, w.count("memory_candidates", "content <> ''"))
		testkit.CheckInvariants(t, w.owner)
	}
}

// An entity loses its last mention between two statements of a link that mentions it.
func TestLinkDuringTheRemovalOfAnEntity(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	id, r := w.linkable("Ana knows Bob", triple("Ana", "knows", "Bob"))
	w.link(r)
	_, again := w.linkable("Bob knows Ana", triple("Bob", "knows", "Ana"))
	s, done := w.interrupted("SELECT canonical_name, id FROM entities", w.erasing(id))
	_, err := s.Link(ctx, again, w.now)
	require.NoError(t, err)
	require.NoError(t, done())
	require.Equal(t, 2, w.count("entities", "mentions = 1"))
	testkit.CheckInvariants(t, w.owner)
}

// A fact is erased while the graph of its source is written. It is not added to the graph.
func TestLinkDuringAnErasureOfAFact(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	source, r := w.linkable("Ana wrote a letter", triple("Ana", "knows", "Bob"))
	w.decide(r, source, idea{fact: fact("Ana knows Bob well."), action: schema.ActionAdd})
	require.Equal(t, 1, w.write(r).Added)
	written := uuid.MustParse(w.outcomes(r)[0].MemoryID)
	s, done := w.interrupted("INSERT INTO entities", w.erasing(written))
	_, err := s.Link(ctx, r, w.now)
	require.NoError(t, err)
	require.NoError(t, done())
	require.Zero(t, w.count("memory_entity_mentions", "memory_id = $1", written))
	testkit.CheckInvariants(t, w.owner)
}

// A request repeated after its memory was erased contains the text again. It is answered as before, and the text is
// not stored.
func TestReplayedKeyOfAForgottenMemory(t *testing.T) {
	t.Parallel()
	for _, mode := range []schema.ForgetMode{schema.ForgetErase, schema.ForgetForce} {
		w := newWorld(t)
		keyed := schema.Candidate{Content: "Ana likes tea", IdempotencyKey: "key", Speaker: "Ana",
			Tags: []string{"tea"}, Refs: []schema.Ref{{Kind: "event", Ref: "evt://tea"}}}
		first, _ := w.stage(keyed)
		w.forgetAll(w.forgets(mode, named(uuid.MustParse(first.MemoryIDs[0]))))
		again, _ := w.stage(keyed)
		require.Equal(t, first.MemoryIDs, again.MemoryIDs)
		require.Equal(t, 2, w.count("memory_candidates",
			"content = '' AND speaker = '' AND tags = '{}' AND refs = '[]'"))
		testkit.CheckInvariants(t, w.owner)
	}
}

// The history of an id ends when its memory is forgotten by force. No other record can be put under the id.
func TestIDForgottenByForceIsNotReused(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	record, other := claims("Ana", "Rome", ""), w.keep(claims("Ana", "Lisbon", ""))
	record.ID = uuid.NewString()
	id := w.created(*with(record, func(m *schema.MemoryRecord) { m.Payload = claims("Bob", "Rome", "").Payload }))
	w.forgetAll(w.forgets(schema.ForgetForce, named(id)))
	item := w.putAll(record)[0]
	require.Equal(t, schema.PutExists, item.Status)
	w.refused(schema.ReviseExists, w.revision(schema.ReviseSupersede, &record, w.as(other)...))
	testkit.CheckInvariants(t, w.owner)
}

// Concurrent writers in different scopes put records with the same id. One succeeds, and the others get a conflict.
func TestConcurrentPutsOfOneID(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	id := uuid.NewString()
	count := map[schema.PutStatus]int{}
	for _, item := range inParallel(t, 8, func(i int) (schema.PutItem, error) {
		x := *w
		x.p.Scope = fmt.Sprintf("scope %d", i)
		record := claims("Ana", places[i%len(places)], "")
		record.ID, record.ExternalID = id, "elsewhere/1"
		result, err := w.Put(ctx, x.putInput(record))
		if err != nil {
			return schema.PutItem{}, err
		}
		return result.Items[0], nil
	}) {
		count[item.Status]++
	}
	require.Equal(t, map[schema.PutStatus]int{schema.PutCreated: 1, schema.PutExists: 7}, count)
	testkit.CheckInvariants(t, w.owner)
}
