package store_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/mneme/mneme/internal/testkit"
	"github.com/mneme/mneme/memory"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/store"
)

// forgets is a request of the world's principal.
func (w *world) forgets(mode schema.ForgetMode, sel schema.Selector) schema.ForgetRequest {
	return schema.ForgetRequest{Operation: schema.Operation{Principal: w.p, Reason: "no longer wanted", Actor: "operator:ana"}, Mode: mode, Selector: sel}
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
	preview, err := w.SelectForget(ctx, store.Operation{Tenant: w.p.Tenant, ID: uuid.NewString(), WorkflowID: "forget/wf"}, req, w.now)
	require.NoError(w.t, err)
	return preview
}

// chosen lists what a run has selected, in its order.
func (w *world) chosen(preview schema.ForgetPreview) []uuid.UUID {
	w.t.Helper()
	rows, err := w.owner.Query(ctx, `SELECT memory_id FROM forget_items WHERE run_id = $1 AND outcome = '' ORDER BY ordinal`, preview.RunID)
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
	return w.ConfirmForget(ctx, w.p.Tenant, uuid.MustParse(preview.RunID), schema.ForgetConfirmation{Token: token, Actor: "operator:bob"}, w.now)
}

// forgetAll takes a request all the way.
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
	require.FailNow(w.t, "it never ends")
	return schema.ForgetReceipt{}
}

func TestForgetSelectsWhatAReferenceFilterSelects(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	at := func(day int) *time.Time { v := w.now.AddDate(0, 0, day); return &v }
	mine := []schema.Candidate{
		{Content: "The deploy token of the vault is long", SourceKind: schema.SourceUserInput, Speaker: "Dana", Session: "s1", Tags: []string{"ops", "vault"}, OccurredAt: at(-9)},
		{Content: "Deploys of the vault run on Mondays", SourceKind: schema.SourceMemory, Category: schema.CategoryDecision, Tags: []string{"ops"}, OccurredAt: at(-5), Sensitivity: schema.SensitivityHyper},
		{Content: "The vault has a door", SourceKind: schema.SourceToolOutput, Speaker: "dana", Session: "s2", OccurredAt: at(-1)},
		{Content: "Cats like boxes", SourceKind: schema.SourceUserInput, Tags: []string{"Pets"}, OccurredAt: at(-3)},
	}
	ack, _ := w.stage(mine...)
	ids := make([]uuid.UUID, len(mine))
	for i, id := range ack.MemoryIDs {
		ids[i] = uuid.MustParse(id)
	}
	// The same words of others: another agent, another scope, another tenant; and one that is gone.
	for _, p := range []schema.Principal{{Tenant: "t", Agent: "b"}, {Tenant: "t", Agent: "a", Scope: "s"}, {Tenant: "t2", Agent: "a"}} {
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
	require.Contains(t, w.chosen(w.selects(w.forgets(schema.ForgetErase, schema.Selector{All: true}))), deleted, "a tombstone still has its text")
	require.Len(t, w.chosen(w.selects(w.forgets("", schema.Selector{Query: "vault", Limit: 2}))), 2)

	// Ids: whatever state, and of others only what is shared.
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

func TestForgetDigestIsThatOfTheRules(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	one, two := w.memory("the first"), w.memory("the second")
	w.touch(two)
	preview := w.selects(w.forgets("", named(two, one)))
	rows := []memory.SelectedRow{}
	for _, id := range w.chosen(preview) {
		rows = append(rows, memory.SelectedRow{ID: id, Version: int32(w.get(id).Version)})
	}
	require.Len(t, rows, 2)
	require.Equal(t, 1, w.count("forget_runs", "id = $1 AND digest = $2", preview.RunID, memory.ForgetDigest(rows)))
}

func TestSelectForgetAnswersTwiceWithTheFirst(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.memory("the first")
	op := store.Operation{Tenant: "t", ID: "op", WorkflowID: "wf"}
	first, err := w.SelectForget(ctx, op, w.forgets("", schema.Selector{All: true}), w.now)
	require.NoError(t, err)
	w.memory("the second")
	again, err := w.SelectForget(ctx, op, schema.ForgetRequest{}, w.now.Add(time.Hour))
	require.NoError(t, err)
	require.Equal(t, first, again)
	require.Equal(t, 1, w.count("forget_runs", "true"))

	_, err = w.SelectForget(ctx, store.Operation{Tenant: "t", ID: "lost", WorkflowID: "wf"}, schema.ForgetRequest{}, w.now)
	var invalid *schema.ValidationError
	require.ErrorAs(t, err, &invalid, "a request that is lost selects nothing, not everything")
	require.Equal(t, 1, w.count("forget_runs", "true"))
}

func TestForgetIncludesWhatWasDerived(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	parent, r := w.source("Ana moved to Lisbon and likes it", idea{fact: fact("Ana lives in Lisbon"), action: schema.ActionAdd})
	w.write(r)
	preview := w.selects(w.forgets("", named(parent)))
	require.Equal(t, []string{parent.String()}, preview.Sample)
	require.Equal(t, 1, preview.Derived)
	sel := named(parent)
	sel.IncludeDerived = true
	preview = w.selects(w.forgets("", sel))
	require.Equal(t, 2, preview.Total)
	require.Zero(t, preview.Derived)
	require.Equal(t, schema.ForgetPreviewed, preview.State, "what is not named is confirmed")
}

func TestForgetTokenIsGoodForOneRunAndOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.memory("the first")
	w.memory("the second")
	all := w.forgets("", schema.Selector{All: true})
	one, two := w.selects(all), w.selects(all)
	token := w.token(one)

	_, err := w.confirm(two, token)
	require.ErrorIs(t, err, memory.ErrTokenOther, "not even for the same rows in another run")
	require.NotContains(t, err.Error(), token[5:20])
	other := *w
	other.p.Tenant = "t2"
	_, err = other.confirm(one, token)
	require.ErrorIs(t, err, store.ErrNotFound)
	_, err = w.confirm(one, "fgt1.nonsense")
	require.ErrorIs(t, err, memory.ErrTokenMalformed)
	w.exec(`UPDATE forget_items SET version = version + 1 WHERE run_id = $1`, one.RunID)
	stranger := w.p
	stranger.Agent = "stranger"
	_, err = w.ForgetToken(ctx, stranger, uuid.MustParse(one.RunID), w.now)
	require.ErrorIs(t, err, store.ErrNotFound)

	got, err := w.confirm(one, token)
	require.NoError(t, err)
	require.Equal(t, schema.ForgetApproval{State: schema.ForgetConfirmed}, got)
	before := w.snapshot()
	got, err = w.confirm(one, token)
	require.NoError(t, err)
	require.True(t, got.Already)
	require.Equal(t, before, w.snapshot(), "the second time does nothing")
	_, err = w.confirm(one, w.token(two))
	require.ErrorIs(t, err, memory.ErrTokenOther, "a wrong token is wrong after the right one, too")

	late := w.token(two)
	w.now = w.now.Add(25 * time.Hour)
	_, err = w.confirm(two, late)
	require.ErrorIs(t, err, memory.ErrTokenExpired)
	_, err = w.ForgetToken(ctx, w.p, uuid.MustParse(two.RunID), w.now)
	require.ErrorIs(t, err, memory.ErrTokenExpired)
	receipt, err := w.CloseForget(ctx, "t", uuid.MustParse(two.RunID), schema.ForgetExpired, w.now)
	require.NoError(t, err)
	require.Equal(t, schema.ForgetExpired, receipt.State)
	out, err := w.ForgetBatch(ctx, "t", uuid.MustParse(two.RunID), 10, w.now)
	require.NoError(t, err)
	require.Equal(t, schema.ForgetExpired, out.Receipt.State)
	require.Empty(t, out.Forgotten, "what is not confirmed is not forgotten")
	receipt, err = w.CloseForget(ctx, "t", uuid.MustParse(one.RunID), schema.ForgetExpired, w.now)
	require.NoError(t, err)
	require.Equal(t, schema.ForgetConfirmed, receipt.State, "what is confirmed does not expire")
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
	require.Equal(t, 2, w.count("tenant_secrets", "true"), "one a tenant")
}

// newWorldAt is the world as another tenant sees it.
func newWorldAt(w *world, tenant string) *world {
	other := *w
	other.p.Tenant = tenant
	return &other
}

func TestForgetSoftly(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	gone, changed, deleted := w.memory("Ana likes tea"), w.memory("Ana likes coffee"), w.memory("Ana likes milk")
	ack, _ := w.stage(schema.Candidate{Content: "critical: Never deploy on Fridays", SourceKind: schema.SourceMemory})
	pinned := uuid.MustParse(ack.MemoryIDs[0])
	kept := w.memory("Ana likes water")
	preview := w.selects(w.forgets("", named(gone, changed, deleted, pinned, uuid.New())))
	require.Equal(t, 1, preview.Pinned)
	require.Equal(t, 5, preview.Total)
	w.touch(changed)
	w.forgetAll(w.forgets("", named(deleted)))
	_, err := w.confirm(preview, w.token(preview))
	require.NoError(t, err)
	run := uuid.MustParse(preview.RunID)
	for range 3 {
		_, err = w.ForgetBatch(ctx, "t", run, 2, w.now.Add(time.Hour))
		require.NoError(t, err)
	}
	receipt, err := w.CloseForget(ctx, "t", run, schema.ForgetDone, w.now.Add(time.Hour))
	require.NoError(t, err)
	require.Equal(t, schema.ForgetReceipt{State: schema.ForgetDone, RunID: preview.RunID, Mode: schema.ForgetSoft, Total: 5, Forgotten: 1,
		Skipped: map[string]int{"version_conflict": 1, "deleted": 1, "pinned": 1, "not_found": 1}, Removed: map[string]int{"memories": 1}}, receipt)
	require.Equal(t, 5, receipt.Processed())

	m := w.get(gone)
	require.NotNil(t, m.DeletedAt)
	require.Equal(t, 2, m.Version)
	require.Equal(t, "Ana likes tea", m.Content, "it can be recovered")
	h := w.history(gone)
	last := h[len(h)-1]
	require.Equal(t, schema.EventDeleted, last.Event)
	require.Equal(t, schema.AuditDelete, last.Action)
	require.Equal(t, "Ana likes tea", *last.OldContent)
	require.Nil(t, last.NewContent)
	require.Equal(t, "operator:bob", last.ChangedBy)
	require.Equal(t, "no longer wanted", last.Reason)
	require.Equal(t, 2, last.Version)
	for _, id := range []uuid.UUID{changed, pinned, kept} {
		require.Nil(t, w.get(id).DeletedAt)
	}
	require.Equal(t, 1, w.count("index_outbox", "memory_id = $1 AND op = 'delete' AND version = 2", gone))
	w.requireExactStats()

	// Few named ones go ahead at once when asked to; force takes pinned ones.
	req := w.forgets("", named(kept))
	req.Execute = true
	require.Equal(t, schema.ForgetConfirmed, w.selects(req).State)
	req = w.forgets(schema.ForgetForce, named(pinned))
	req.Execute = true
	require.Equal(t, schema.ForgetPreviewed, w.selects(req).State, "force is confirmed always")
	require.Equal(t, 1, w.forgetAll(req).Forgotten)
	require.Zero(t, w.count("memories", "id = $1", pinned))
	w.requireExactStats()
}

// crowd makes many memories past the pipeline.
func (w *world) crowd(n int) {
	w.t.Helper()
	for from := 0; from < n; from += 500 {
		var candidates []schema.Candidate
		for i := from; i < min(n, from+500); i++ {
			candidates = append(candidates, schema.Candidate{Content: fmt.Sprintf("Machine %d stands in hall %d", i, i%7)})
		}
		w.stage(candidates...)
	}
}

// Deliveries of batches that come at once, and again, forget each row once.
func TestForgetBatchesDeliveredTwice(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.crowd(1000)
	preview := w.selects(w.forgets("", schema.Selector{All: true}))
	_, err := w.confirm(preview, w.token(preview))
	require.NoError(t, err)
	var wg sync.WaitGroup
	failures := make(chan error, 64)
	var mu sync.Mutex
	forgotten := 0
	for range 4 {
		wg.Go(func() {
			for {
				out, err := w.ForgetBatch(ctx, "t", uuid.MustParse(preview.RunID), 70, w.now)
				if err != nil {
					failures <- err
					return
				}
				mu.Lock()
				forgotten += len(out.Forgotten)
				mu.Unlock()
				if out.Receipt.Remaining == 0 {
					return
				}
			}
		})
	}
	wg.Wait()
	close(failures)
	for err := range failures {
		require.NoError(t, err)
	}
	require.Equal(t, 1000, forgotten)
	require.Equal(t, 1000, w.count("memory_history", "event = 'deleted'"))
	require.Equal(t, 1000, w.count("memories", "deleted_at IS NOT NULL AND version = 2"))
	require.Equal(t, 1000, w.count("memory_versions", "version = 1"))
	require.Equal(t, 1000, w.count("jobs", "state = 'dead' AND last_error = 'forgotten'"))
	w.requireExactStats()
}

// A batch that fails at any of its writes leaves nothing behind.
func TestForgetBatchIsWholeOrNotAtAll(t *testing.T) {
	t.Parallel()
	for _, mode := range []schema.ForgetMode{schema.ForgetSoft, schema.ForgetForce, schema.ForgetErase} {
		t.Run(string(mode), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			parent, r := w.linkedSource("XyzzyCanary knows Bob")
			_ = r
			preview := w.selects(w.forgets(mode, named(parent)))
			_, err := w.confirm(preview, w.token(preview))
			require.NoError(t, err)
			tables := []string{"memory_history", "index_outbox", "forget_items", "forget_runs", "jobs", "lexeme_stats"}
			if mode == schema.ForgetErase {
				tables = append(tables, "memories", "memory_candidates", "proposals")
			}
			for _, table := range tables {
				before := w.snapshot()
				w.breaking(table, func() {
					_, err := w.ForgetBatch(ctx, "t", uuid.MustParse(preview.RunID), 10, w.now)
					require.Error(t, err, table)
					require.NotContains(t, err.Error(), "XyzzyCanary")
				})
				require.Equal(t, before, w.snapshot(), table)
			}
			out, err := w.ForgetBatch(ctx, "t", uuid.MustParse(preview.RunID), 10, w.now)
			require.NoError(t, err)
			require.Equal(t, 1, out.Receipt.Forgotten)
		})
	}
}

// linkedSource is a source with a fact, an edge and an open job.
func (w *world) linkedSource(content string) (uuid.UUID, store.Range) {
	w.t.Helper()
	ack, r := w.stage(say(content)...)
	id := uuid.MustParse(ack.MemoryIDs[0])
	f := fact("It is said that " + content)
	require.NoError(w.t, w.SaveExtractions(ctx, w.p.Tenant, []store.Extracted{{CandidateID: id,
		Extraction: memory.Extraction{Facts: []memory.Fact{f}, Triples: []memory.Triple{triple("XyzzyCanary", "knows", "Bob")}}}}, w.now))
	w.decide(r, id, idea{fact: f, action: schema.ActionAdd, vector: axis()})
	require.Equal(w.t, 1, w.write(r).Added)
	w.link(r)
	return id, r
}

// requireExactEdges recounts the edges from what memories say.
func (w *world) requireExactEdges() {
	w.t.Helper()
	require.Zero(w.t, w.count("entity_relations r", `mentions <> (SELECT count(*) FROM memory_entity_relations m
		WHERE m.tenant = r.tenant AND (m.source_id, m.relationship, m.target_id) = (r.source_id, r.relationship, r.target_id))`))
	w.requireExactMentions()
}

func TestForgettingTakesExactlyItsMentionsBack(t *testing.T) {
	t.Parallel()
	for _, mode := range []schema.ForgetMode{schema.ForgetForce, schema.ForgetErase} {
		t.Run(string(mode), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			one, r1 := w.linkable("Alice knows Bob and, as they say, the boss", triple("Alice", "knows", "Bob"), triple("Bob", "knows", "Alice"), triple("Alice", "fears", "the Director"))
			two, r2 := w.linkable("Alice knows Bob well", triple("alice", "knows", "Bob"), triple("Bob", "owns", "Acme Corp"))
			w.link(r1)
			w.link(r2)
			w.requireExactEdges()
			require.Equal(t, 2, w.mentions("alice"))
			require.Equal(t, 1, w.mentions("the director"), "an entity that no text names word for word is its source's")
			require.Equal(t, 1, w.count("entity_relations", "mentions = 2"))

			receipt := w.forgetAll(w.forgets(mode, named(one)))
			require.Equal(t, 1, receipt.Removed["entities"])
			require.Equal(t, 2, receipt.Removed["entity_relations"])
			require.Equal(t, 3, receipt.Removed["memory_entity_mentions"])
			w.requireExactEdges()
			require.Equal(t, 1, w.mentions("alice"))
			require.Zero(t, w.count("entities", "canonical_name = 'the director'"))
			require.Equal(t, 2, w.count("entity_relations", "mentions = 1"))
			w.forgetAll(w.forgets(mode, named(two)))
			require.Zero(t, w.count("entities", "true"))
			require.Zero(t, w.count("entity_relations", "true"))
			w.requireExactStats()
		})
	}
}

// Links and forgetting at once: nothing counts twice, and nothing fails for good.
func TestForgetWhileLinking(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var ids []uuid.UUID
	var ranges []store.Range
	for i := range 24 {
		id, r := w.linkable(fmt.Sprintf("Alice, Bob and Carol met %d times", i), triple("Alice", "met", "Bob"), triple("Carol", "met", "Alice"), triple("Bob", "met", "Carol"))
		ids, ranges = append(ids, id), append(ranges, r)
	}
	var wg sync.WaitGroup
	errs := make(chan error, 200)
	retry := func(fn func() error) {
		var err error
		for range 10 { // as the activity is
			if err = fn(); err == nil {
				return
			}
		}
		errs <- err
	}
	for i := range ranges {
		wg.Go(func() { retry(func() error { _, err := w.Link(ctx, ranges[i], w.now); return err }) })
	}
	previews := []schema.ForgetPreview{}
	for i := range 3 {
		mode := []schema.ForgetMode{schema.ForgetForce, schema.ForgetErase, schema.ForgetSoft}[i]
		preview := w.selects(w.forgets(mode, named(ids[i*8:i*8+8]...)))
		_, err := w.confirm(preview, w.token(preview))
		require.NoError(t, err)
		previews = append(previews, preview)
	}
	for _, preview := range previews {
		wg.Go(func() {
			for range 4 {
				retry(func() error { _, err := w.ForgetBatch(ctx, "t", uuid.MustParse(preview.RunID), 2, w.now); return err })
			}
		})
	}
	wg.Wait()
	close(errs)
	for err := range errs {
		require.NoError(t, err)
	}
	w.requireExactEdges()
	w.requireExactStats()
	require.Equal(t, 24, w.count("memory_history", "event = 'deleted'"))
	require.Zero(t, w.count("memory_entity_mentions x", "NOT EXISTS (SELECT FROM memories m WHERE m.id = x.memory_id AND m.erased_at IS NULL)"))
}

// A pipeline that is at work on what is forgotten writes nothing any more, at whatever step it is.
func TestForgottenMemoriesLeaveThePipeline(t *testing.T) {
	t.Parallel()
	for _, mode := range []schema.ForgetMode{schema.ForgetSoft, schema.ForgetForce, schema.ForgetErase} {
		t.Run(string(mode), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			f := fact("XyzzyCanary lives here")
			extraction := memory.Extraction{Facts: []memory.Fact{f}, Triples: []memory.Triple{triple("XyzzyCanary", "knows", "Bob")}}
			ack, r := w.stage(say("XyzzyCanary at the first step", "XyzzyCanary at the second", "XyzzyCanary at the third", "and another one stays")...)
			at := func(i int) uuid.UUID { return uuid.MustParse(ack.MemoryIDs[i]) }
			require.NoError(t, w.SaveExtractions(ctx, "t", []store.Extracted{{CandidateID: at(1), Extraction: extraction}, {CandidateID: at(2), Extraction: extraction}}, w.now))
			w.decide(r, at(2), idea{fact: f, action: schema.ActionAdd})

			preview := w.selects(w.forgets(mode, named(at(0), at(1), at(2))))
			_, err := w.confirm(preview, w.token(preview))
			require.NoError(t, err)
			out, err := w.ForgetBatch(ctx, "t", uuid.MustParse(preview.RunID), 2, w.now)
			require.NoError(t, err)
			require.Empty(t, out.Stop, "the run has work left")
			out, err = w.ForgetBatch(ctx, "t", uuid.MustParse(preview.RunID), 2, w.now)
			require.NoError(t, err)
			require.Empty(t, out.Stop)
			require.Equal(t, 3, w.count("memory_candidates", "state = 'dead'"))

			// What was under way comes back from the model.
			before := w.snapshot()
			require.NoError(t, w.SaveExtractions(ctx, "t", []store.Extracted{{CandidateID: at(0), Extraction: extraction}}, w.now))
			w.decideQuietly(r, at(1), f)
			require.Equal(t, store.WriteCounts{}, w.write(r))
			require.Equal(t, store.LinkCounts{}, w.link(r))
			require.Equal(t, before, w.snapshot())
			left, err := w.LeaseExtract(ctx, r, w.now)
			require.NoError(t, err)
			require.Len(t, left, 1)
			require.Equal(t, at(3), left[0].CandidateID)
			if mode != schema.ForgetSoft {
				require.Empty(t, w.holding("XyzzyCanary"))
			}

			// The last one: now the run has nothing left to do.
			last := w.selects(w.forgets(mode, named(at(3))))
			_, err = w.confirm(last, w.token(last))
			require.NoError(t, err)
			out, err = w.ForgetBatch(ctx, "t", uuid.MustParse(last.RunID), 2, w.now)
			require.NoError(t, err)
			require.Equal(t, []string{"wf"}, out.Stop)
		})
	}
}

// decideQuietly saves a decision without looking at the memories.
func (w *world) decideQuietly(r store.Range, candidate uuid.UUID, f memory.Fact) {
	w.t.Helper()
	require.NoError(w.t, w.SaveDecisions(ctx, r, []uuid.UUID{candidate}, []store.Decided{{CandidateID: candidate, Fact: f,
		Proposal: memory.Proposal{Action: schema.ActionAdd, Confidence: 0.8, Reason: "because of " + f.Content}}}, w.now))
}

// holding lists the columns of the schema in which some row holds the word, whatever their type.
func (w *world) holding(word string) []string {
	w.t.Helper()
	rows, err := w.owner.Query(ctx, `SELECT c.relname::text, a.attname::text FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid
		WHERE c.relnamespace = current_schema()::regnamespace AND c.relkind = 'r' AND a.attnum > 0 AND NOT a.attisdropped`)
	require.NoError(w.t, err)
	var columns [][2]string
	for rows.Next() {
		var c [2]string
		require.NoError(w.t, rows.Scan(&c[0], &c[1]))
		columns = append(columns, c)
	}
	require.NoError(w.t, rows.Err())
	require.Greater(w.t, len(columns), 200)
	out := []string{}
	for _, c := range columns {
		var n int
		require.NoError(w.t, w.owner.QueryRow(ctx, `SELECT count(*) FROM "`+c[0]+`" WHERE lower("`+c[1]+`"::text) LIKE ANY($1)`,
			[]string{"%" + strings.ToLower(word) + "%", fmt.Sprintf("%%%x%%", word), fmt.Sprintf("%%%x%%", strings.ToLower(word))}).Scan(&n)) // bytea shows as hex
		if n > 0 {
			out = append(out, c[0]+"."+c[1])
		}
	}
	return out
}

func TestEraseLeavesNoWordAndKeepsTheAudit(t *testing.T) {
	t.Parallel()
	for _, mode := range []schema.ForgetMode{schema.ForgetForce, schema.ForgetErase} {
		t.Run(string(mode), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			claim := memory.Fact{Content: "The XyzzyCanary lives in Lisbon now", Category: schema.CategoryFact, Confidence: 0.9,
				Claim: memory.Claim{Subject: "XyzzyCanary", Predicate: "lives_in", Object: "Lisbon", Functional: true}}
			ack, r := w.stage(schema.Candidate{Content: "I am the XyzzyCanary of Lisbon", SourceKind: schema.SourceUserInput, Speaker: "XyzzyCanary", Tags: []string{"XyzzyCanary"},
				Refs: []schema.Ref{{Kind: "event", Ref: "ref-XyzzyCanary"}}}, schema.Candidate{Content: "Bob lives in Porto"})
			parent, bystander := uuid.MustParse(ack.MemoryIDs[0]), uuid.MustParse(ack.MemoryIDs[1])
			require.NoError(t, w.SaveExtractions(ctx, "t", []store.Extracted{{CandidateID: parent,
				Extraction: memory.Extraction{Facts: []memory.Fact{claim}, Triples: []memory.Triple{triple("XyzzyCanary", "knows", "Bob"), triple("XyzzyCanary", "is", "XyzzyCanary")}}}}, w.now))
			w.decide(r, parent, idea{fact: claim, action: schema.ActionAdd, vector: axis()})
			require.Equal(t, 1, w.write(r).Added)
			w.link(r)
			w.exec(`UPDATE memory_relations SET reason = 'because of XyzzyCanary'`)
			// A proposal about it, from another source, that waits for review; its reason quotes.
			derived := w.derived(parent)
			w.policy.AllowUpdateDelete = false
			_, r2 := w.source("Somebody moved to Faro", idea{fact: fact("Somebody lives in Faro"), action: schema.ActionUpdate, target: derived})
			w.exec(`UPDATE proposals SET reason = 'replaces what XyzzyCanary said' WHERE batch_id = $1`, r2.BatchID)
			w.write(r2)
			w.exec(`INSERT INTO artifacts (tenant, sha256, media_type, size, content, agent_id, created_at) SELECT 't', sha256(b), 'text/plain', octet_length(b), b, 'a', now()
				FROM (VALUES ('XyzzyCanary in bytes'::bytea), ('shared bytes'::bytea)) v(b)`)
			w.exec(`INSERT INTO memory_artifacts SELECT 't', $1, sha256 FROM artifacts`, parent)
			w.exec(`INSERT INTO memory_artifacts VALUES ('t', $1, sha256('shared bytes'))`, bystander)
			w.exec(`INSERT INTO staged_requests VALUES ('t', 'old', 'modify', jsonb_build_object('id', $1::text, 'content', 'XyzzyCanary'), $2)`, parent.String(), w.now.Add(-2*time.Hour))
			w.exec(`UPDATE memories SET payload = payload || '{"environment": {"note": "XyzzyCanary"}}', external_id = 'XyzzyCanary-1', version = version + 1 WHERE id = $1`, parent)
			require.Greater(t, len(w.holding("XyzzyCanary")), 15, "it is everywhere")

			sel := named(parent)
			sel.IncludeDerived = true
			receipt := w.forgetAll(w.forgets(mode, sel))
			require.Equal(t, 2, receipt.Forgotten)
			_, err := w.SweepLexemes(ctx, "t", w.now)
			require.NoError(t, err)
			require.Empty(t, w.holding("XyzzyCanary"))
			for _, place := range []string{"memories", "memory_history", "memory_candidates", "proposals", "memory_embeddings", "memory_provenance", "memory_versions",
				"entities", "entity_claims", "artifacts", "staged_requests", "memory_relations"} {
				require.NotZero(t, receipt.Removed[place], place)
			}
			require.Equal(t, 1, receipt.Removed["artifacts"], "what another memory refers to stays")
			w.requireExactStats()
			w.requireExactEdges()

			// What happened, and who did it, is still told.
			for _, id := range []uuid.UUID{parent, derived} {
				rows := w.count("memory_history", "memory_id = $1 AND event = 'deleted' AND changed_by = 'operator:bob' AND reason = 'no longer wanted' AND old_content IS NULL", id)
				require.Equal(t, 1, rows)
				require.Equal(t, 1, w.count("memory_history", "memory_id = $1 AND event = 'created' AND erased_at IS NOT NULL AND changed_by <> ''", id))
			}
			require.Equal(t, "Bob lives in Porto", w.get(bystander).Content)
			require.Equal(t, 1, w.count("proposals", "state = 'skipped' AND outcome = 'forgotten'"), "nothing waits to replace what is gone")
			if mode == schema.ForgetForce {
				require.Zero(t, w.count("memories", "id IN ($1, $2)", parent, derived))
				return
			}
			m := w.get(parent)
			require.NotNil(t, m.ErasedAt)
			require.NotNil(t, m.DeletedAt)
			require.Empty(t, m.Content)
			require.JSONEq(t, "{}", string(m.Payload))
			require.Equal(t, 1, w.count("memory_relations", "predicate = 'derived_from' AND source_id = $1 AND target_id = $2 AND reason = ''", derived, parent), "lineage stays")
			require.Zero(t, w.count("memories", "content_hash = $2 AND id = $1", parent, memory.Normalize("I am the XyzzyCanary of Lisbon").Hash))
			require.Zero(t, w.count("memories", "content_hash = $2 AND id = $1", parent, memory.Normalize("").Hash))

			// It can be learned anew, and be erased no second time.
			again := w.memory("I am the XyzzyCanary of Lisbon")
			require.NotEqual(t, parent, again)
			receipt = w.forgetAll(w.forgets(mode, named(parent)))
			require.Equal(t, map[string]int{"erased": 1}, receipt.Skipped)
		})
	}
}

// derived returns the one memory that was derived from another.
func (w *world) derived(parent uuid.UUID) uuid.UUID {
	w.t.Helper()
	var id uuid.UUID
	require.NoError(w.t, w.owner.QueryRow(ctx, `SELECT source_id FROM memory_relations WHERE predicate = 'derived_from' AND target_id = $1`, parent).Scan(&id))
	return id
}

// Of a fact that is erased without its source, the source's extraction loses the words and keeps the
// place.
func TestEraseOfAFactAlone(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	parent, r := w.source("Somebody said two things", idea{fact: fact("The XyzzyCanary sings"), action: schema.ActionAdd}, idea{fact: fact("Bob is asleep"), action: schema.ActionAdd})
	require.Equal(t, 2, w.write(r).Added)
	var id uuid.UUID
	require.NoError(t, w.owner.QueryRow(ctx, `SELECT id FROM memories WHERE content = 'The XyzzyCanary sings'`).Scan(&id))
	w.forgetAll(w.forgets(schema.ForgetErase, named(id)))
	_, err := w.SweepLexemes(ctx, "t", w.now)
	require.NoError(t, err)
	require.Empty(t, w.holding("XyzzyCanary"))
	require.Equal(t, "Somebody said two things", w.get(parent).Content)
	out := w.outcomes(r)
	require.Len(t, out, 2)
	require.Empty(t, out[0].Content)
	require.Equal(t, "Bob is asleep", out[1].Content)
}

// An embedding that was being made while its memory was erased does not come back.
func TestLateEmbeddingOfAnErasedMemory(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	id := w.memory("the first")
	entries, err := w.Outbox(ctx, "t", hash, nil, 10)
	require.NoError(t, err)
	tx, err := w.owner.Begin(ctx) // as an erasure that has not committed yet
	require.NoError(t, err)
	_, err = tx.Exec(ctx, `UPDATE memories SET deleted_at = now(), erased_at = now(), content = '', version = 2 WHERE id = $1`, id)
	require.NoError(t, err)
	settled := make(chan error, 1)
	go func() {
		settled <- w.SettleOutbox(ctx, "t", hash, entries, map[uuid.UUID][]float32{id: axis()}, w.now)
	}()
	watcher := testkit.Owner(t, w.url)
	for {
		var waiting bool
		require.NoError(t, watcher.QueryRow(ctx, `SELECT EXISTS (SELECT FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE '%memory_embeddings%'
			AND pg_blocking_pids(pid) @> ARRAY[$1::int])`, int(w.owner.PgConn().PID())).Scan(&waiting))
		if waiting {
			break
		}
	}
	require.NoError(t, tx.Commit(ctx))
	require.NoError(t, <-settled)
	require.Zero(t, w.count("memory_embeddings", "true"))
}

func TestCancelledForgetKeepsWhatIsLeft(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.crowd(10)
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
	require.True(t, errors.Is(err, memory.ErrTokenOther))
	_, err = w.ForgetToken(ctx, w.p, run, w.now)
	require.ErrorIs(t, err, store.ErrForgetClosed)
}

// A sweep goes through a vocabulary of any size, and takes only what nothing holds.
func TestSweepOfManyLexemes(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.memory("Tea is served hot.")
	held := w.count("lexeme_stats", "true")
	w.exec(`INSERT INTO lexeme_stats SELECT 't', 'unused' || g, 0 FROM generate_series(1, 12345) g`)
	w.exec(`INSERT INTO lexeme_stats VALUES ('t2', 'unused', 0)`)
	n, err := w.SweepLexemes(ctx, "t", w.now)
	require.NoError(t, err)
	require.Equal(t, 12345, n)
	require.Equal(t, held, w.count("lexeme_stats", "tenant = 't'"))
	require.Equal(t, 1, w.count("lexeme_stats", "tenant = 't2'"))
	n, err = w.SweepLexemes(ctx, "t", w.now)
	require.NoError(t, err)
	require.Zero(t, n)
	w.requireExactStats()
}

func TestWhatIsBuriedKeepsItsWords(t *testing.T) {
	t.Parallel()
	for mode, want := range map[schema.ForgetMode]bool{schema.ForgetSoft: false, schema.ForgetErase: true, schema.ForgetForce: true} {
		t.Run(string(mode), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			preview := w.selects(w.forgets(mode, named(w.memory("Tea is served hot."))))
			run := uuid.MustParse(preview.RunID)
			removed, err := w.ForgetRemoved(ctx, "t", run)
			require.NoError(t, err)
			require.False(t, removed, "nothing has gone yet")
			_, err = w.confirm(preview, w.token(preview))
			require.NoError(t, err)
			_, err = w.ForgetBatch(ctx, "t", run, 10, w.now)
			require.NoError(t, err)
			removed, err = w.ForgetRemoved(ctx, "t", run)
			require.NoError(t, err)
			require.Equal(t, want, removed)
		})
	}
}
