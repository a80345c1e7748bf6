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

	"github.com/mneme/mneme/memory"
	"github.com/mneme/mneme/memory/lifecycle"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/store/pg"
	"github.com/mneme/mneme/store/pipeline"
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
	require.Equal(t, schema.ForgetReceipt{State: schema.ForgetDone, RunID: preview.RunID, Mode: schema.ForgetSoft,
		Total: 5, Forgotten: 1,
		Skipped: map[string]int{"version_conflict": 1, "deleted": 1, "pinned": 1, "not_found": 1},
		Removed: map[string]int{"memories": 1},
		IDs:     []string{gone.String()}}, receipt)
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

	// A few named memories need no confirmation if the request says so; force includes pinned ones.
	req := w.forgets("", named(kept))
	req.Execute = true
	require.Equal(t, schema.ForgetConfirmed, w.selects(req).State)
	req = w.forgets(schema.ForgetForce, named(pinned))
	req.Execute = true
	require.Equal(t, schema.ForgetPreviewed, w.selects(req).State, "force always needs confirmation")
	require.Equal(t, 1, w.forgetAll(req).Forgotten)
	require.Zero(t, w.count("memories", "id = $1", pinned))
	w.requireExactStats()
}

// insertMany inserts many memories directly.
func (w *world) insertMany(n int) {
	w.t.Helper()
	for from := 0; from < n; from += 500 {
		var candidates []schema.Candidate
		for i := from; i < min(n, from+500); i++ {
			candidates = append(candidates,
				schema.Candidate{Content: fmt.Sprintf("Machine %d stands in hall %d", i, i%7)})
		}
		w.stage(candidates...)
	}
}

// Batches delivered concurrently and repeatedly forget each row once.
func TestForgetBatchesDeliveredTwice(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.insertMany(1000)
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

// A batch that fails at any of its writes changes nothing.
func TestForgetBatchIsAtomic(t *testing.T) {
	t.Parallel()
	for _, mode := range []schema.ForgetMode{schema.ForgetSoft, schema.ForgetForce, schema.ForgetErase} {
		t.Run(string(mode), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			parent, r := w.linkedSource("XyzzyCanary knows Bob")
			_ = r
			preview := w.selects(w.forgets(mode, onlyNamed(parent)))
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
func (w *world) linkedSource(content string) (uuid.UUID, schema.Range) {
	w.t.Helper()
	ack, r := w.stage(say(content)...)
	id := uuid.MustParse(ack.MemoryIDs[0])
	f := fact("It is said that " + content)
	require.NoError(w.t, w.SaveExtractions(ctx, w.p.Tenant, []pipeline.Extracted{{CandidateID: id,
		Extraction: memory.Extraction{Facts: []memory.Fact{f},
			Triples: []memory.Triple{triple("XyzzyCanary", "knows", "Bob")}}}}, w.now))
	w.decide(r, id, idea{fact: f, action: schema.ActionAdd, vector: axis()})
	require.Equal(w.t, 1, w.write(r).Added)
	w.link(r)
	return id, r
}

// requireExactEdges recounts the edges from the memories.
func (w *world) requireExactEdges() {
	w.t.Helper()
	require.Zero(w.t, w.count("entity_relations r", `mentions <> (SELECT count(*) FROM entity_relation_sources m
		WHERE m.tenant = r.tenant AND (m.source_id, m.relationship, m.target_id) = (r.source_id, r.relationship, r.target_id))`))
	w.requireExactMentions()
}

func TestForgettingSubtractsExactlyItsMentions(t *testing.T) {
	t.Parallel()
	for _, mode := range []schema.ForgetMode{schema.ForgetForce, schema.ForgetErase} {
		t.Run(string(mode), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			one, r1 := w.linkable("Alice knows Bob and, as they say, the boss", triple("Alice", "knows", "Bob"),
				triple("Bob", "knows", "Alice"), triple("Alice", "fears", "the Director"))
			two, r2 := w.linkable("Alice knows Bob well", triple("alice", "knows", "Bob"),
				triple("Bob", "owns", "Acme Corp"))
			w.link(r1)
			w.link(r2)
			w.requireExactEdges()
			require.Equal(t, 2, w.mentions("alice"))
			require.Equal(t, 1, w.mentions("the director"),
				"an entity whose name is in no text is mentioned by its source only")
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

// Linking and forgetting run concurrently: nothing is counted twice, and no run fails.
func TestForgetWhileLinking(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var ids []uuid.UUID
	var ranges []schema.Range
	for i := range 24 {
		id, r := w.linkable(fmt.Sprintf("Alice, Bob and Carol met %d times", i), triple("Alice", "met", "Bob"),
			triple("Carol", "met", "Alice"), triple("Bob", "met", "Carol"))
		ids, ranges = append(ids, id), append(ranges, r)
	}
	var wg sync.WaitGroup
	errs := make(chan error, 200)
	retry := func(fn func() error) {
		var err error
		for range 10 { // retried as the activity is
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
				retry(func() error {
					_, err := w.ForgetBatch(ctx, "t", uuid.MustParse(preview.RunID), 2,
						w.now)
					return err
				})
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
	require.Zero(t, w.count("memory_entity_mentions x",
		"NOT EXISTS (SELECT FROM memories m WHERE m.id = x.memory_id AND m.erased_at IS NULL)"))
}

// A pipeline that is processing forgotten memories writes nothing more, in any phase.
func TestForgottenMemoriesLeaveThePipeline(t *testing.T) {
	t.Parallel()
	for _, mode := range []schema.ForgetMode{schema.ForgetSoft, schema.ForgetForce, schema.ForgetErase} {
		t.Run(string(mode), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			f := fact("XyzzyCanary lives here")
			extraction := memory.Extraction{Facts: []memory.Fact{f},
				Triples: []memory.Triple{triple("XyzzyCanary", "knows", "Bob")}}
			ack, r := w.stage(say("XyzzyCanary at the first step", "XyzzyCanary at the second",
				"XyzzyCanary at the third", "and another one stays")...)
			at := func(i int) uuid.UUID { return uuid.MustParse(ack.MemoryIDs[i]) }
			require.NoError(t, w.SaveExtractions(ctx, "t",
				[]pipeline.Extracted{{CandidateID: at(1), Extraction: extraction},
					{CandidateID: at(2), Extraction: extraction}}, w.now))
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

			// A model call that was in progress returns.
			before := w.snapshot()
			require.NoError(t, w.SaveExtractions(ctx, "t",
				[]pipeline.Extracted{{CandidateID: at(0), Extraction: extraction}}, w.now))
			w.decideQuietly(r, at(1), f)
			require.Equal(t, schema.WriteCounts{}, w.write(r))
			require.Equal(t, schema.LinkCounts{}, w.link(r))
			require.Equal(t, before, w.snapshot())
			left, err := w.LeaseExtract(ctx, r, w.now)
			require.NoError(t, err)
			require.Len(t, left, 1)
			require.Equal(t, at(3), left[0].CandidateID)
			if mode != schema.ForgetSoft {
				require.Empty(t, w.columnsWith("XyzzyCanary"))
			}

			// After the last memory the run has nothing left to do.
			last := w.selects(w.forgets(mode, named(at(3))))
			_, err = w.confirm(last, w.token(last))
			require.NoError(t, err)
			out, err = w.ForgetBatch(ctx, "t", uuid.MustParse(last.RunID), 2, w.now)
			require.NoError(t, err)
			require.Equal(t, []string{"wf"}, out.Stop)
		})
	}
}

// decideQuietly saves a decision that looked at no memories.
func (w *world) decideQuietly(r schema.Range, candidate uuid.UUID, f memory.Fact) {
	w.t.Helper()
	require.NoError(w.t, w.SaveDecisions(ctx, r, []uuid.UUID{candidate},
		[]pipeline.Decided{{CandidateID: candidate, Fact: f,
			Proposal: memory.Proposal{Action: schema.ActionAdd, Confidence: 0.8, Reason: "because of " + f.Content}}},
		w.now))
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
