package store_test

import (
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/mneme/mneme/memory/lifecycle"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/store/pg"
)

// forgets returns a request of the world's principal.
func (w *world) forgets(mode schema.ForgetMode, sel schema.Selector) schema.ForgetRequest {
	return schema.ForgetRequest{Operation: schema.Operation{Principal: w.p, Reason: "no longer wanted",
		Actor: "operator:ana"}, Mode: mode, Selector: sel}
}

func named(ids ...uuid.UUID) schema.Selector {
	var s schema.Selector
	for _, id := range ids {
		s.IDs = append(s.IDs, id.String())
	}
	return s
}

func (w *world) selects(req schema.ForgetRequest) schema.ForgetPreview {
	w.t.Helper()
	preview, err := w.SelectForget(ctx, schema.OperationRef{Tenant: w.p.Tenant, ID: uuid.NewString(),
		WorkflowID: "forget/wf"}, req, w.now)
	require.NoError(w.t, err)
	return preview
}

// chosen lists the memories that a run has selected, in its order.
func (w *world) chosen(preview schema.ForgetPreview) []uuid.UUID {
	w.t.Helper()
	rows, err := w.owner.Query(ctx,
		`SELECT memory_id FROM forget_items WHERE run_id = $1 AND outcome = '' ORDER BY ordinal`, preview.RunID)
	require.NoError(w.t, err)
	out := []uuid.UUID{}
	for rows.Next() {
		var id uuid.UUID
		require.NoError(w.t, rows.Scan(&id))
		out = append(out, id)
	}
	require.NoError(w.t, rows.Err())
	return out
}

func (w *world) token(preview schema.ForgetPreview) string {
	w.t.Helper()
	token, err := w.ForgetToken(ctx, w.p, uuid.MustParse(preview.RunID), w.now)
	require.NoError(w.t, err)
	require.NotEmpty(w.t, token)
	return token
}

func (w *world) confirm(preview schema.ForgetPreview, token string) (schema.ForgetApproval, error) {
	return w.ConfirmForget(ctx, w.p.Tenant, uuid.MustParse(preview.RunID),
		schema.ForgetConfirmation{Token: token, Actor: "operator:bob"}, w.now)
}

// forgetAll carries out a request to its end.
func (w *world) forgetAll(req schema.ForgetRequest) schema.ForgetReceipt {
	w.t.Helper()
	preview := w.selects(req)
	if preview.State == schema.ForgetPreviewed {
		_, err := w.confirm(preview, w.token(preview))
		require.NoError(w.t, err)
	}
	run := uuid.MustParse(preview.RunID)
	for range 100 {
		out, err := w.ForgetBatch(ctx, w.p.Tenant, run, 3, w.now.Add(time.Minute))
		require.NoError(w.t, err)
		if out.Receipt.Remaining == 0 {
			receipt, err := w.CloseForget(ctx, w.p.Tenant, run, schema.ForgetDone, w.now.Add(time.Minute))
			require.NoError(w.t, err)
			return receipt
		}
	}
	require.FailNow(w.t, "the run does not end")
	return schema.ForgetReceipt{}
}

func TestForgetSelectsWhatAReferenceFilterSelects(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	at := func(day int) *time.Time { v := w.now.AddDate(0, 0, day); return &v }
	mine := []schema.Candidate{
		{Content: "The deploy token of the vault is long", SourceKind: schema.SourceUserInput, Speaker: "Dana",
			Session: "s1", Tags: []string{"ops", "vault"}, OccurredAt: at(-9)},
		{Content: "Deploys of the vault run on Mondays", SourceKind: schema.SourceMemory,
			Category: schema.CategoryDecision, Tags: []string{"ops"}, OccurredAt: at(-5),
			Sensitivity: schema.SensitivityHyper},
		{Content: "The vault has a door", SourceKind: schema.SourceToolOutput, Speaker: "dana", Session: "s2",
			OccurredAt: at(-1)},
		{Content: "Cats like boxes", SourceKind: schema.SourceUserInput, Tags: []string{"Pets"}, OccurredAt: at(-3)},
	}
	ack, _ := w.stage(mine...)
	ids := make([]uuid.UUID, len(mine))
	for i, id := range ack.MemoryIDs {
		ids[i] = uuid.MustParse(id)
	}
	// The same words of another agent, in another scope and in another tenant; and a deleted memory.
	for _, p := range []schema.Principal{{Tenant: "t", Agent: "b"}, {Tenant: "t", Agent: "a", Scope: "s"},
		{Tenant: "t2", Agent: "a"}} {
		other := *w
		other.p = p
		other.stage(mine...)
	}
	deleted := w.memory("The vault was sold, deploy nothing there")
	w.forget(deleted)

	for name, c := range map[string]struct {
		sel  schema.Selector
		want []int // nil: none
	}{
		"all":             {schema.Selector{All: true}, []int{0, 1, 2, 3}},
		"one word":        {schema.Selector{Query: "vault"}, []int{0, 1, 2}},
		"every word":      {schema.Selector{Query: "deploy vault"}, []int{0, 1}},
		"either":          {schema.Selector{Query: "door OR cats"}, []int{2, 3}},
		"not":             {schema.Selector{Query: "vault -deploy"}, []int{2}},
		"phrase":          {schema.Selector{Query: `"deploy token"`}, []int{0}},
		"stop words":      {schema.Selector{Query: "the of"}, nil},
		"unknown":         {schema.Selector{Query: "zebra"}, nil},
		"syntax":          {schema.Selector{Query: `)' | & !( "vault`}, []int{0, 1, 2}},
		"tag":             {schema.Selector{Tags: []string{"OPS"}}, []int{0, 1}},
		"tags":            {schema.Selector{Tags: []string{"ops", "vault"}}, []int{0}},
		"who":             {schema.Selector{Who: "DANA"}, []int{0, 2}},
		"session":         {schema.Selector{Session: "s1"}, []int{0}},
		"source kind":     {schema.Selector{SourceKind: schema.SourceUserInput}, []int{0, 3}},
		"type":            {schema.Selector{Types: []schema.MemoryType{schema.TypeSemantic}}, []int{1}},
		"category":        {schema.Selector{Categories: []schema.Category{schema.CategoryDecision}}, []int{1}},
		"since":           {schema.Selector{Since: at(-5)}, []int{1, 2, 3}},
		"until":           {schema.Selector{Until: at(-5)}, []int{0}},
		"window and text": {schema.Selector{Query: "vault", Since: at(-6), Until: at(-2)}, []int{1}},
		"ids and filter":  {schema.Selector{IDs: []string{ids[0].String(), ids[3].String()}, Who: "dana"}, []int{0}},
	} {
		req := w.forgets("", c.sel)
		require.NoError(t, req.Validate(), name)
		preview := w.selects(req)
		var want []uuid.UUID
		for _, i := range c.want {
			want = append(want, ids[i])
		}
		require.ElementsMatch(t, want, w.chosen(preview), name)
		require.Equal(t, len(want), preview.Total, name)
		if len(want) == 0 {
			require.Equal(t, schema.ForgetConfirmed, preview.State, "nothing to confirm")
		} else {
			require.Equal(t, schema.ForgetPreviewed, preview.State)
		}
	}
	require.Contains(t, w.chosen(w.selects(w.forgets(schema.ForgetErase, schema.Selector{All: true}))), deleted,
		"a tombstone still has its text")
	require.Len(t, w.chosen(w.selects(w.forgets("", schema.Selector{Query: "vault", Limit: 2}))), 2)

	// Ids select memories in any state, and memories of others only if they are shared.
	stranger := *w
	stranger.p = schema.Principal{Tenant: "t", Agent: "stranger"}
	preview := stranger.selects(stranger.forgets("", named(append(ids, uuid.New())...)))
	require.Equal(t, 5, preview.NotFound)
	require.Empty(t, preview.Sample)
	preview = w.selects(w.forgets("", named(deleted, ids[0], ids[0])))
	require.ElementsMatch(t, []uuid.UUID{deleted, ids[0]}, w.chosen(preview))
	for _, table := range []string{"memories", "memory_history", "index_outbox"} {
		before := w.snapshot()[table]
		w.selects(w.forgets("", schema.Selector{All: true}))
		require.Equal(t, before, w.snapshot()[table], "a preview changes nothing")
	}
}

func TestForgetDigestMatchesTheRules(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	one, two := w.memory("the first"), w.memory("the second")
	w.touch(two)
	preview := w.selects(w.forgets("", named(two, one)))
	rows := []lifecycle.SelectedRow{}
	for _, id := range w.chosen(preview) {
		rows = append(rows, lifecycle.SelectedRow{ID: id, Version: int32(w.get(id).Version)})
	}
	require.Len(t, rows, 2)
	require.Equal(t, 1, w.count("forget_runs", "id = $1 AND digest = $2", preview.RunID, lifecycle.ForgetDigest(rows)))
}

func TestSelectForgetIsIdempotent(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.memory("the first")
	op := schema.OperationRef{Tenant: "t", ID: "op", WorkflowID: "wf"}
	first, err := w.SelectForget(ctx, op, w.forgets("", schema.Selector{All: true}), w.now)
	require.NoError(t, err)
	w.memory("the second")
	again, err := w.SelectForget(ctx, op, schema.ForgetRequest{}, w.now.Add(time.Hour))
	require.NoError(t, err)
	require.Equal(t, first, again)
	require.Equal(t, 1, w.count("forget_runs", "true"))

	_, err = w.SelectForget(ctx, schema.OperationRef{Tenant: "t", ID: "lost", WorkflowID: "wf"}, schema.ForgetRequest{},
		w.now)
	var invalid *schema.ValidationError
	require.ErrorAs(t, err, &invalid, "a request whose body was lost selects nothing, not everything")
	require.Equal(t, 1, w.count("forget_runs", "true"))
}

func TestForgetIncludesWhatWasDerived(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	parent, r := w.source("Ana moved to Lisbon and likes it",
		idea{fact: fact("Ana lives in Lisbon"), action: schema.ActionAdd})
	w.write(r)
	preview := w.selects(w.forgets("", named(parent)))
	require.Equal(t, []string{parent.String()}, preview.Sample)
	require.Equal(t, 1, preview.Derived)
	sel := named(parent)
	sel.IncludeDerived = true
	preview = w.selects(w.forgets("", sel))
	require.Equal(t, 2, preview.Total)
	require.Zero(t, preview.Derived)
	require.Equal(t, schema.ForgetPreviewed, preview.State, "memories that are not named need confirmation")
}

func TestForgetTokenConfirmsOneRunOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.memory("the first")
	w.memory("the second")
	all := w.forgets("", schema.Selector{All: true})
	one, two := w.selects(all), w.selects(all)
	token := w.token(one)

	_, err := w.confirm(two, token)
	require.ErrorIs(t, err, schema.ErrTokenOther, "not even for the same rows in another run")
	require.NotContains(t, err.Error(), token[5:20])
	other := *w
	other.p.Tenant = "t2"
	_, err = other.confirm(one, token)
	require.ErrorIs(t, err, pg.ErrNotFound)
	_, err = w.confirm(one, "fgt1.nonsense")
	require.ErrorIs(t, err, schema.ErrTokenMalformed)
	w.exec(`UPDATE forget_items SET version = version + 1 WHERE run_id = $1`, one.RunID)
	stranger := w.p
	stranger.Agent = "stranger"
	_, err = w.ForgetToken(ctx, stranger, uuid.MustParse(one.RunID), w.now)
	require.ErrorIs(t, err, pg.ErrNotFound)

	got, err := w.confirm(one, token)
	require.NoError(t, err)
	require.Equal(t, schema.ForgetApproval{State: schema.ForgetConfirmed}, got)
	before := w.snapshot()
	got, err = w.confirm(one, token)
	require.NoError(t, err)
	require.True(t, got.Already)
	require.Equal(t, before, w.snapshot(), "the second time does nothing")
	_, err = w.confirm(one, w.token(two))
	require.ErrorIs(t, err, schema.ErrTokenOther, "a wrong token is wrong after the right one too")

	late := w.token(two)
	w.now = w.now.Add(25 * time.Hour)
	_, err = w.confirm(two, late)
	require.ErrorIs(t, err, schema.ErrTokenExpired)
	_, err = w.ForgetToken(ctx, w.p, uuid.MustParse(two.RunID), w.now)
	require.ErrorIs(t, err, schema.ErrTokenExpired)
	receipt, err := w.CloseForget(ctx, "t", uuid.MustParse(two.RunID), schema.ForgetExpired, w.now)
	require.NoError(t, err)
	require.Equal(t, schema.ForgetExpired, receipt.State)
	out, err := w.ForgetBatch(ctx, "t", uuid.MustParse(two.RunID), 10, w.now)
	require.NoError(t, err)
	require.Equal(t, schema.ForgetExpired, out.Receipt.State)
	require.Empty(t, out.Forgotten, "without confirmation nothing is forgotten")
	receipt, err = w.CloseForget(ctx, "t", uuid.MustParse(one.RunID), schema.ForgetExpired, w.now)
	require.NoError(t, err)
	require.Equal(t, schema.ForgetConfirmed, receipt.State, "a confirmed run does not expire")
}

func TestForgetKeyIsMadeOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.memory("the first")
	preview := w.selects(w.forgets("", schema.Selector{All: true}))
	var wg sync.WaitGroup
	tokens := make([]string, 8)
	for i := range tokens {
		wg.Go(func() { tokens[i], _ = w.ForgetToken(ctx, w.p, uuid.MustParse(preview.RunID), w.now) })
	}
	other := newWorldAt(w, "t2")
	other.memory("the first")
	theirs := other.selects(other.forgets("", schema.Selector{All: true}))
	wg.Wait()
	require.Len(t, slices.Compact(tokens), 1)
	require.NotEmpty(t, tokens[0])
	require.Equal(t, 1, w.count("tenant_secrets", "tenant = 't'"))
	other.token(theirs)
	require.Equal(t, 2, w.count("tenant_secrets", "true"), "one per tenant")
}

// newWorldAt returns the world for another tenant.
func newWorldAt(w *world, tenant string) *world {
	other := *w
	other.p.Tenant = tenant
	return &other
}

func TestCancelledForgetKeepsWhatIsLeft(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.insertMany(10)
	preview := w.selects(w.forgets("", schema.Selector{All: true}))
	run := uuid.MustParse(preview.RunID)
	_, err := w.confirm(preview, w.token(preview))
	require.NoError(t, err)
	_, err = w.ForgetBatch(ctx, "t", run, 4, w.now)
	require.NoError(t, err)
	receipt, err := w.CloseForget(ctx, "t", run, schema.ForgetCancelled, w.now)
	require.NoError(t, err)
	require.Equal(t, []int{4, 6}, []int{receipt.Forgotten, receipt.Remaining})
	out, err := w.ForgetBatch(ctx, "t", run, 4, w.now)
	require.NoError(t, err)
	require.Equal(t, receipt, out.Receipt, "a late batch changes nothing")
	status, err := w.ForgetStatus(ctx, w.p, run)
	require.NoError(t, err)
	require.Equal(t, receipt, status.ForgetReceipt)
	_, err = w.confirm(preview, "fgt1."+strings.Repeat("A", 54))
	require.True(t, errors.Is(err, schema.ErrTokenOther))
	_, err = w.ForgetToken(ctx, w.p, run, w.now)
	require.ErrorIs(t, err, schema.ErrForgetClosed)
}
