package store_test

import (
	"encoding/json"
	"testing"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/mneme/mneme/internal/testkit"
	"github.com/mneme/mneme/memory/intake"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/store/pg"
	"github.com/mneme/mneme/store/transfer"
)

// ledger lists the kind and the session of each event, and whether it refers to a candidate and a memory.
func (w *world) ledger() []string {
	w.t.Helper()
	rows, err := w.owner.Query(ctx,
		`SELECT concat_ws(' ', kind, nullif(session, ''), CASE WHEN candidate_id IS NOT NULL THEN 'candidate' END,
			CASE WHEN memory_id IS NOT NULL THEN 'memory' END)
		FROM events ORDER BY seq`)
	require.NoError(w.t, err)
	out, err := pgx.CollectRows(rows, pgx.RowTo[string])
	require.NoError(w.t, err)
	return out
}

// stageTurn stages a turn of a session and completes its job.
func (w *world) stageTurn(content, session string) uuid.UUID {
	w.t.Helper()
	ack, r := w.stage(schema.Candidate{Content: content, SourceKind: schema.SourceUserInput, Session: session})
	require.NoError(w.t, w.CompleteJobs(ctx, r, w.now))
	return uuid.MustParse(ack.MemoryIDs[0])
}

// Erasing a memory, or forgetting it by force, removes the session and the references of every event that it came
// from, even if the candidates were purged long before. The ledger keeps the kind and the time of each event.
func TestErasureReachesTheLedger(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		mode  schema.ForgetMode
		after int // days
	}{{schema.ForgetErase, 0}, {schema.ForgetForce, 0}, {schema.ForgetErase, 100}, {schema.ForgetForce, 100}} {
		w := newWorld(t)
		secret := w.stageTurn("My locker is 14.", "clinic-visit")
		require.Equal(t, secret, w.stageTurn("My locker is 14.", "second-visit"))
		w.stageTurn("The bus was late.", "bus")
		w.now = w.now.AddDate(0, 0, c.after)
		w.purge(500)
		require.Equal(t, []string{"user_input clinic-visit candidate memory",
			"user_input second-visit candidate memory",
			"user_input bus candidate memory"}, w.ledger())

		receipt := w.forgetAll(w.forgets(c.mode, named(secret)))
		require.Equal(t, 1, receipt.Forgotten)
		require.Equal(t, []string{"user_input", "user_input", "user_input bus candidate memory"}, w.ledger(),
			"%s after %d days", c.mode, c.after)
		require.Equal(t, 2, receipt.Removed["events"])
		require.NotContains(t, w.columnsWith("clinic-visit"), "events.session")
		testkit.CheckInvariants(t, w.owner)
	}
}

// A deletion that can be undone does not change the ledger; the purge of its tombstone does.
func TestPurgeOfATombstoneReachesTheLedger(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	id := w.stageTurn("The kettle is loud.", "kitchen")
	for range 4 {
		w.stageTurn("The kettle is loud.", "kitchen")
	}
	w.forgetAll(w.forgets(schema.ForgetSoft, named(id)))
	require.Equal(t, "user_input kitchen candidate memory", w.ledger()[4])
	w.now = w.now.Add(31 * day)
	w.purge(2)
	require.Equal(t, []string{"user_input", "user_input", "user_input", "user_input", "user_input"}, w.ledger())
}

// An export contains the events of the exported memories, and a restore adds them. It does not bring back what was
// erased.
func TestEventsAreExportedAndRestored(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	_, erased := w.stageTurn("The pump leaks.", "s1"), w.stageTurn("The tap drips.", "s2")
	other := *w
	other.p = schema.Principal{Tenant: "t", Agent: "b"}
	other.stageTurn("The roof is new.", "s3")
	_, err := w.Stage(ctx, w.input(schema.Candidate{Content: intake.WrapRecalled(uuid.NewString(), "The pump leaks."),
		SourceKind: schema.SourceToolOutput, Session: "s4"}))
	require.NoError(t, err)

	events := func(lines [][]byte) (out []string) {
		for _, line := range parsed(t, lines...) {
			if line.Kind == transfer.LineEvent {
				var e struct{ Session string }
				require.NoError(t, json.Unmarshal(line.Event, &e))
				out = append(out, e.Session)
			}
		}
		return out
	}
	own, whole := w.export(transfer.ExportSelection{Filter: pg.Filter{Principal: w.p}}), w.export(w.whole())
	require.Subset(t, events(own), []string{"s1", "s2"})
	require.NotContains(t, events(own), "s3", "another agent's")
	require.Len(t, events(whole), 4)

	to := newWorld(t)
	require.Equal(t, 4, to.restore("t", whole, 2).Events)
	require.Equal(t, w.ledger(), to.ledger())
	require.Zero(t, to.restore("t", whole, 2).Events, "a second restore changes nothing")

	w.forgetAll(w.forgets(schema.ForgetErase, named(erased)))
	ledger := w.ledger()
	w.restore("t", whole, 100)
	require.Equal(t, ledger, w.ledger(), "the session is still in the file")
	elsewhere := newWorld(t)
	elsewhere.explicit("The tap drips.")
	elsewhere.exec(`UPDATE memories SET type = 'episodic', payload = '{"kind": "episodic", "timeline": []}'
		WHERE content = 'The tap drips.'`)
	elsewhere.restore("t", own, 100)
	require.Contains(t, elsewhere.ledger(), "user_input", "its memory was not restored")
	require.Contains(t, elsewhere.ledger(), "user_input s1 candidate memory")
}

// The application and the owner can only append to the ledger, except through the functions of erasure and purge.
func TestTheLedgerRefusesOtherChanges(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.stageTurn("The pump leaks.", "s1")
	for _, sql := range []string{`UPDATE events SET session = 's2'`,
		`UPDATE events SET session = '', candidate_id = NULL, memory_id = NULL, kind = 'x'`,
		`UPDATE events SET session = 's2', candidate_id = NULL, memory_id = NULL`, `UPDATE events SET session = ''`,
		`UPDATE events SET session = '', candidate_id = NULL, memory_id = NULL, occurred_at = now()`,
		`DELETE FROM events`} {
		_, err := w.owner.Exec(ctx, sql)
		require.ErrorContains(t, err, "append-only", sql)
	}
	var n int
	require.NoError(t, w.owner.QueryRow(ctx, `SELECT set_config('mneme.tenant', 't', false) IS NULL,
		mneme_purge_events(array(SELECT stream FROM events), array(SELECT seq
			FROM events), now() - interval '100 years')`).Scan(nil, &n))
	require.Zero(t, n)
}
