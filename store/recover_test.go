package store_test

import (
	"encoding/json"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/mneme/mneme/internal/testkit"
	"github.com/mneme/mneme/memory"
	"github.com/mneme/mneme/memory/proposals"
	"github.com/mneme/mneme/memory/revision"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/store/edit"
)

func (w *world) recoverInput(targets ...schema.Target) edit.RecoverInput {
	return edit.RecoverInput{Operation: w.modification(), Policy: w.policy, Now: w.now,
		Request: schema.RecoverRequest{Operation: schema.Operation{Principal: w.p, Reason: "deleted by mistake"},
			Targets: targets}}
}

func (w *world) recover(targets ...schema.Target) schema.RecoverResult {
	w.t.Helper()
	in := w.recoverInput(targets...)
	require.NoError(w.t, in.Request.Validate())
	out, err := w.Recover(ctx, in)
	require.NoError(w.t, err)
	require.Len(w.t, out.Items, len(targets))
	return out
}

func (w *world) recoverOne(id uuid.UUID) schema.RecoverItem {
	w.t.Helper()
	return w.recover(schema.Target{ID: id.String()}).Items[0]
}

func TestRecoverBringsBackWhatWasDeleted(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	id := w.explicit("Tea is served hot.")
	before := w.get(id)
	w.now = w.now.AddDate(0, 0, 10)
	w.softDelete(id)
	w.exec(`DELETE FROM index_outbox`)
	w.now = w.now.AddDate(0, 0, 20)
	out := w.recover(schema.Target{ID: id.String(), IfVersion: 2})
	require.Equal(t, []schema.RecoverItem{{ID: id.String(), Status: schema.RecoverRecovered, CurrentVersion: 2,
		NewVersion: 3}}, out.Items)
	require.Equal(t, "ok", out.Summary())

	m := w.get(id)
	require.Nil(t, m.DeletedAt)
	require.Equal(t, 3, m.Version)
	require.Equal(t, before.Salience, m.Salience)
	require.Equal(t, 20*24*time.Hour, m.SalienceAt.Sub(before.SalienceAt), "the days as a tombstone do not count")
	require.Equal(t, 20*24*time.Hour, m.Lifecycle.DecayDueAt.Sub(*before.Lifecycle.DecayDueAt))
	require.Equal(t, 1, w.count("index_outbox", "memory_id = $1 AND version = 3 AND op = 'upsert'", id))
	h := w.history(id)
	last := h[len(h)-1]
	require.Equal(t, []any{schema.EventRecovered, schema.AuditRecover, "agent:a", "deleted by mistake", 3,
		"Tea is served hot."},
		[]any{last.Event, last.Action, last.ChangedBy, last.Reason, last.Version, *last.NewContent})
	require.Nil(t, last.OldContent)
	w.requireExactStats()
}

func TestRecoverStatuses(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	deletedAt := w.now
	gone := func(content string) uuid.UUID {
		id := w.explicit(content)
		w.softDelete(id)
		return id
	}
	live, wrong, late, erased := w.explicit("Alive."), gone("Of another version."), gone("Late."), gone("Erased.")
	w.exec(`UPDATE memories SET erased_at = $2, content = '', normalized_content = '' WHERE id = $1`, erased, w.now)
	twin := gone("A twin.")
	again := w.explicit("a twin!")
	stranger := *w
	stranger.p.Agent = "b"
	theirs := stranger.explicit("Another's.")
	stranger.softDelete(theirs)
	frozen := gone("Frozen.")

	paris := w.claimed("Alice lives in Paris.", "Alice", "Paris")
	w.softDelete(paris)
	rome := w.claimed("Alice lives in Rome.", "alice", "Rome")

	w.now = deletedAt.Add(revision.RecoveryWindow - time.Microsecond)
	for _, test := range []struct {
		target schema.Target
		want   schema.RecoverItem
	}{
		{schema.Target{ID: uuid.Nil.String()},
			schema.RecoverItem{ID: uuid.Nil.String(), Status: schema.RecoverNotFound}},
		{schema.Target{ID: theirs.String()}, schema.RecoverItem{ID: theirs.String(), Status: schema.RecoverNotFound}},
		{schema.Target{ID: live.String()},
			schema.RecoverItem{ID: live.String(), Status: schema.RecoverNotDeleted, CurrentVersion: 1}},
		{schema.Target{ID: wrong.String(), IfVersion: 1},
			schema.RecoverItem{ID: wrong.String(), Status: schema.RecoverVersionConflict, CurrentVersion: 2}},
		{schema.Target{ID: erased.String()},
			schema.RecoverItem{ID: erased.String(), Status: schema.RecoverErased, CurrentVersion: 2}},
		{schema.Target{ID: twin.String()},
			schema.RecoverItem{ID: twin.String(), Status: schema.RecoverDuplicate, CurrentVersion: 2,
				ConflictID: again.String()}},
		{schema.Target{ID: paris.String()},
			schema.RecoverItem{ID: paris.String(), Status: schema.RecoverActiveFact, CurrentVersion: 2,
				ConflictID: rome.String()}},
	} {
		before := w.snapshot()
		require.Equal(t, []schema.RecoverItem{test.want}, w.recover(test.target).Items)
		after := w.snapshot()
		for table, digest := range before {
			if table != "operations" && table != "memory_history" {
				require.Equal(t, digest, after[table], "%s: %s", test.want.Status, table)
			}
		}
	}
	frost := *w
	frost.policy.Mode = schema.ModeFrozen
	require.Equal(t, schema.RecoverFrozen, frost.recoverOne(frozen).Status)
	require.Equal(t, schema.RecoverRecovered, w.recoverOne(frozen).Status, "the last instant of the window")
	w.now = deletedAt.Add(revision.RecoveryWindow)
	require.Equal(t, schema.RecoverExpired, w.recoverOne(late).Status)
	w.requireExactStats()
}

// Of two deleted memories with the same content, the first recovery succeeds.
func TestRecoverDuplicates(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	first := w.explicit("A twin.")
	w.softDelete(first)
	second := w.explicit("a twin")
	w.softDelete(second)
	out := w.recover(schema.Target{ID: second.String()}, schema.Target{ID: first.String()})
	require.Equal(t, schema.RecoverRecovered, out.Items[0].Status)
	require.Equal(t, schema.RecoverItem{ID: first.String(), Status: schema.RecoverDuplicate, CurrentVersion: 2,
		ConflictID: second.String()}, out.Items[1])
	require.Equal(t, "partial", out.Summary())
}

// With other conditions, a claim may be active together with the one that replaced it.
func TestRecoverWithOtherConditions(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	paris := w.claimed("Alice lives in Paris.", "Alice", "Paris")
	conditions := json.RawMessage(`{"season":"summer"}`)
	w.exec(`UPDATE memories SET validity = 'conditional', conditions = $2::jsonb, conditions_hash = $3 WHERE id = $1`,
		paris, string(conditions),
		memory.ConditionsHash(schema.Validity{Mode: schema.ValidConditional, Conditions: conditions}))
	w.softDelete(paris)
	w.claimed("Alice lives in Rome.", "Alice", "Rome")
	require.Equal(t, schema.RecoverRecovered, w.recoverOne(paris).Status)
}

// A memory that was not live before its deletion is not live after its recovery.
func TestRecoverRestoresThePreviousState(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	tea := w.explicit("Tea is served hot.")
	for name, set := range map[string]string{"superseded": "status = 'superseded'", "retracted": "status = 'retracted'",
		"archived": "archived_at = now()"} {
		id := w.explicit("This was " + name + ".")
		w.softDelete(id)
		w.exec(`UPDATE memories SET `+set+` WHERE id = $1`, id)
		twin := w.explicit("This was " + name)
		require.Equal(t, schema.RecoverRecovered, w.recoverOne(id).Status,
			"a live memory with the same content does not block it")
		require.Equal(t, 1, w.count("memories", "id = $1 AND deleted_at IS NULL AND NOT live", id))
		require.Equal(t, 1, w.count("index_outbox", "memory_id = $1 AND op = 'delete'", id))
		require.NotEqual(t, twin, id)
	}
	require.NotEqual(t, uuid.Nil, tea)
	w.requireExactStats()
}

func TestRecoverDeliveredAgainHasOneEffect(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	id := w.explicit("Tea is served hot.")
	w.softDelete(id)
	in := w.recoverInput(schema.Target{ID: id.String()})
	require.NoError(t, w.Accept(ctx, in.Operation, "recover", in.Request, w.now))
	results := make(chan schema.RecoverResult, 8)
	var wg sync.WaitGroup
	for range cap(results) {
		wg.Go(func() {
			out, err := w.Recover(ctx, in)
			if err != nil {
				t.Error(err)
			}
			results <- out
		})
	}
	wg.Wait()
	first := <-results
	require.Equal(t, schema.RecoverRecovered, first.Items[0].Status)
	for range cap(results) - 1 {
		require.Equal(t, first, <-results)
	}
	require.Equal(t, 3, w.get(id).Version)
	require.Equal(t, 1, w.count("memory_history", "event = 'recovered'"))
	require.Zero(t, w.count("staged_requests", "true"))
	w.requireExactStats()
}

// Two deleted facts that exclude each other are recovered concurrently: one becomes active.
func TestConcurrentRecoveriesOfOneClaim(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for range 10 {
		name := uuid.NewString()
		paris := w.claimed(name+" lives in Paris.", name, "Paris")
		w.softDelete(paris)
		rome := w.claimed(name+" lives in Rome.", name, "Rome")
		w.softDelete(rome)
		statuses := make(chan schema.RecoverStatus, 2)
		var wg sync.WaitGroup
		for _, id := range []uuid.UUID{paris, rome} {
			in := w.recoverInput(schema.Target{ID: id.String()})
			wg.Go(func() {
				out, err := w.Recover(ctx, in)
				if err != nil {
					t.Error(err)
					statuses <- ""
					return
				}
				statuses <- out.Items[0].Status
			})
		}
		wg.Wait()
		require.ElementsMatch(t, []schema.RecoverStatus{schema.RecoverRecovered, schema.RecoverActiveFact},
			[]schema.RecoverStatus{<-statuses, <-statuses})
	}
	w.requireExactStats()
}

func TestRecoverIsAtomic(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	id := w.explicit("Tea is served hot.")
	w.softDelete(id)
	in := w.recoverInput(schema.Target{ID: id.String()})
	require.NoError(t, w.Accept(ctx, in.Operation, "recover", in.Request, w.now))
	before := w.snapshot()
	for _, table := range []string{"memories", "memory_versions", "memory_history", "index_outbox", "operations",
		"staged_requests", "lexeme_stats", "corpus_stats"} {
		w.failing(table, func() {
			_, err := w.Recover(ctx, in)
			require.ErrorContains(t, err, "broken by the test", table)
		})
		require.Equal(t, before, w.snapshot(), table)
	}
	require.Equal(t, schema.RecoverRecovered, func() schema.RecoverStatus {
		out, err := w.Recover(ctx, in)
		require.NoError(t, err)
		return out.Items[0].Status
	}())
}

// Operations with several claims take their locks in one order: whichever lock another transaction holds, a put and a
// recovery have taken the same locks before it.
func TestClaimLocksHaveOneOrder(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	subjects := []string{"a_b", "aB", "a-b", "Zoë", "élan", "zz"}
	var records []schema.MemoryRecord
	var targets []schema.Target
	for _, subject := range subjects {
		records = append(records, claims(subject, "Porto", ""))
		id := w.keep(claims(subject, "Lisbon", ""))
		w.softDelete(id)
		targets = append(targets, schema.Target{ID: id.String()})
	}
	watcher := testkit.Owner(t, w.url)
	for _, held := range subjects {
		reached := map[string][]string{}
		for name, change := range map[string]func() error{
			"put": func() error {
				_, err := w.Put(ctx, edit.PutInput{Operation: w.modification(),
					Request: schema.PutRequest{Operation: schema.Operation{Principal: w.p}, Records: records},
					Policy:  proposals.WritePolicy{Mode: schema.ModeShadow}, Now: w.now})
				return err
			},
			"recover": func() error {
				in := w.recoverInput(targets...)
				in.Policy.Mode = schema.ModeFrozen
				_, err := w.Recover(ctx, in)
				return err
			},
		} {
			tx, err := w.owner.Begin(ctx)
			require.NoError(t, err)
			_, err = tx.Exec(ctx,
				`SELECT pg_advisory_xact_lock(hashtextextended(concat_ws(E'\x1f', 't', 'claim', '', 'private::a',
					lower($1), 'lives_in'), hashtext(current_schema())))`, held)
			require.NoError(t, err)
			done := make(chan error, 1)
			go func() { done <- change() }()
			waits := func(lock string) bool { return strings.HasSuffix(lock, " false") }
			for before := []string{"none yet"}; !slices.ContainsFunc(reached[name], waits) || !slices.Equal(before,
				reached[name]); {
				before = reached[name] // pg_locks is no snapshot: accept what two reads agree on
				reached[name] = testkit.Strings(t, watcher, `SELECT s.subject || ' ' || l.granted FROM pg_locks l
					JOIN (SELECT s, hashtextextended(concat_ws(E'\x1f', 't', 'claim', '', 'private::a', lower(s),
					'lives_in'), hashtext(current_schema())) FROM unnest($2::text[]) s) s(subject, key)
						ON (l.classid::bigint, l.objid::bigint) = ((s.key >> 32) & 4294967295, s.key & 4294967295)
					WHERE l.locktype = 'advisory' AND EXISTS (SELECT FROM pg_locks x WHERE x.pid = l.pid
					AND x.locktype = 'advisory' AND NOT x.granted
						AND $1 = ANY(pg_blocking_pids(x.pid))) ORDER BY 1`, int32(w.owner.PgConn().PID()), subjects)
			}
			require.NoError(t, tx.Commit(ctx))
			require.NoError(t, <-done)
		}
		require.Equal(t, reached["put"], reached["recover"], held)
	}
}
