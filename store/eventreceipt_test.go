package store_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/schema/ledger"
	"github.com/mneme/mneme/store/sessions"
)

// An erased event has a receipt that says who erased it and why, and so has a belief that was erased with it. The
// first receipt stays, also through an export, and only erasing sets one.
func TestErasedEventsHaveReceipts(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	belief := said("b", "run/x", "ann", ledger.KindAgentReflected)
	belief.Payload = json.RawMessage(`{"belief":"The miller lies.","based_on":["a"]}`)
	w.append(time.Now(), said("a", "run/x", "ann", ledger.KindAgentSpoke), belief,
		said("c", "run/x", "ann", ledger.KindAgentSpoke), said("d", "run/x", "ann", ledger.KindAgentSpoke))
	erase := func(r ledger.Receipt, ids ...string) int {
		erased, err := w.Store.EraseEvents(ctx, sessions.EraseInput{Tenant: "t", IDs: ids, Receipt: r, Now: time.Now()})
		require.NoError(t, err)
		return erased.Events
	}
	first := ledger.Receipt{By: "person:mia", Reason: "asked for", Run: "erase/t/1"}
	require.Equal(t, 2, erase(first, "a"), "including the belief")
	require.Zero(t, erase(ledger.Receipt{By: "person:bo", Reason: "again"}, "a"))
	require.Equal(t, 1, erase(ledger.Receipt{}, "c"))

	receipts := func(w *world) map[string]ledger.Receipt {
		out, err := w.Store.Receipts(ctx, "t", []string{"a", "b", "c", "d", "nothing"})
		require.NoError(t, err)
		for id, r := range out {
			require.WithinDuration(t, time.Now(), r.At, time.Minute)
			r.At = time.Time{}
			out[id] = r
		}
		return out
	}
	want := map[string]ledger.Receipt{"a": first, "b": first, "c": {}}
	require.Equal(t, want, receipts(w), "d was not erased")
	_, err := w.owner.Exec(ctx, `UPDATE events SET receipt = '{"by": "somebody else"}' WHERE id = 'a'`)
	require.ErrorContains(t, err, "append-only")

	to := newWorld(t)
	to.restore("t", w.export(w.whole()), 10)
	require.Equal(t, want, receipts(to))
}

// The events of an erased memory have the receipt of the run that erased it.
func TestEventsOfAnErasedMemoryHaveItsReceipt(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	id := w.stageTurn("The pump leaks.", "s1")
	var event string
	require.NoError(t, w.owner.QueryRow(ctx, `SELECT id FROM events WHERE memory_id = $1`, id).Scan(&event))
	receipt := w.forgetAll(w.forgets(schema.ForgetErase, named(id)))
	got, err := w.Store.Receipts(ctx, "t", []string{event})
	require.NoError(t, err)
	require.Equal(t, receipt.RunID, got[event].Run)
	require.Equal(t, "no longer wanted", got[event].Reason)
	require.NotEmpty(t, got[event].By)
}
