package store_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/mneme/mneme/internal/testkit"
	"github.com/mneme/mneme/memory/proposals"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/store"
	"github.com/mneme/mneme/store/edit"
	"github.com/mneme/mneme/store/pg"
)

// TestConcurrentRevisions has eight writers revise the same fact: one succeeds, the others are told the current
// version.
func TestConcurrentRevisions(t *testing.T) {
	t.Parallel()
	for _, action := range []schema.ReviseAction{schema.ReviseSupersede, schema.ReviseContest, schema.ReviseRetract,
		schema.ReviseReconcile} {
		t.Run(string(action), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			id := w.keep(claims("Ana", "Lisbon", ""))
			targets := w.as(id)
			results := inParallel(t, 8, func(i int) (schema.ReviseResult, error) {
				var record *schema.MemoryRecord
				if action != schema.ReviseRetract {
					record = same(claims("Ana", fmt.Sprintf("Town %d", i), ""))
				}
				return w.Revise(ctx, w.reviseInput(w.revision(action, record, targets...)))
			})
			count := map[schema.ReviseStatus]int{}
			for _, r := range results {
				count[r.Status]++
			}
			require.Equal(t, map[schema.ReviseStatus]int{schema.ReviseApplied: 1, schema.ReviseVersionConflict: 7},
				count)
			testkit.CheckInvariants(t, w.owner)
			testkit.CheckOutbox(t, w.owner)
			require.Equal(t, 2, w.get(id).Version)
		})
	}
}

func inParallel[R any](t *testing.T, n int, fn func(int) (R, error)) []R {
	t.Helper()
	out, errs := make([]R, n), make([]error, n)
	var wg sync.WaitGroup
	begin := make(chan struct{})
	for i := range n {
		wg.Go(func() {
			<-begin
			out[i], errs[i] = fn(i)
		})
	}
	close(begin)
	wg.Wait()
	for _, err := range errs {
		require.NoError(t, err)
	}
	return out
}

// everyRevision returns a request of each kind, each for its own memories.
func everyRevision(w *world) map[string]schema.ReviseRequest {
	w.t.Helper()
	contested := func(who string) []uuid.UUID {
		id := w.keep(claims(who, "Lisbon", ""))
		r := w.applied(w.revision(schema.ReviseContest, same(claims(who, "Porto", "")), w.as(id)...))
		return []uuid.UUID{id, uuid.MustParse(r.Created[0])}
	}
	out := map[string]schema.ReviseRequest{
		"supersede": w.revision(schema.ReviseSupersede, same(claims("A", "Porto", "")),
			w.as(w.keep(claims("A", "Lisbon", "")))...),
		"retract": w.revision(schema.ReviseRetract, nil, w.as(w.keep(claims("B", "Lisbon", "")))...),
		"merge": w.revision(schema.ReviseMerge, same(claims("C", "Porto", "")),
			w.as(w.keep(claims("C", "Lisbon", "")), w.keep(claims("D", "Lisbon", "")))...),
		"contest": w.revision(schema.ReviseContest, same(claims("E", "Porto", "")),
			w.as(w.keep(claims("E", "Lisbon", "")))...),
		"reconcile": w.revision(schema.ReviseReconcile, same(claims("F", "Porto", "")),
			w.as(w.keep(claims("F", "Lisbon", "")))...),
		"fork": w.revision(schema.ReviseFork, same(claims("G", "Porto", `{"s":1}`)),
			w.as(w.keep(claims("G", "Lisbon", `{"s":2}`)))...),
		"narrow": w.revision(schema.ReviseFork, same(claims("H", "Porto", `{"s":1}`)),
			w.as(w.keep(claims("H", "Lisbon", "")))...),
		"by an existing memory": w.revision(schema.ReviseSupersede,
			&schema.MemoryRecord{ID: w.keep(claims("I", "Porto", "")).String()},
			w.as(w.keep(claims("J", "Lisbon", "")))...),
		"resolve": w.revision(schema.ReviseResolve, nil, w.as(contested("K")...)...),
		"resolve by record": w.revision(schema.ReviseResolve, same(claims("L", "Faro", "")),
			w.as(contested("L")...)...),
	}
	narrow := out["narrow"]
	narrow.TargetConditions = &schema.Validity{Mode: schema.ValidConditional, Conditions: json.RawMessage(`{"s":2}`)}
	out["narrow"] = narrow
	resolve := out["resolve"]
	resolve.Winner = resolve.Targets[0].ID
	out["resolve"] = resolve
	for name, req := range out {
		require.NoError(w.t, req.Validate(), name)
	}
	return out
}

// TestReviseIsDeliveredOnce delivers each kind of revision twice, and eight times concurrently: it has one effect and
// one result.
func TestReviseIsDeliveredOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	revisions := everyRevision(w)
	for _, name := range slices.Sorted(maps.Keys(revisions)) {
		in := w.reviseInput(revisions[name])
		require.NoError(t, w.Accept(ctx, in.Operation, "revise", in.Request, w.now))
		results := inParallel(t, 8, func(int) (schema.ReviseResult, error) { return w.Revise(ctx, in) })
		require.Equal(t, schema.ReviseApplied, results[0].Status, "%s: %s", name, results[0].Why)
		for _, r := range results {
			require.Equal(t, results[0], r, name)
		}
		before := w.snapshot()
		// the body was removed by now
		again, err := w.Revise(ctx, edit.ReviseInput{Operation: in.Operation, Policy: w.policy,
			Now: w.now.Add(time.Hour)})
		require.NoError(t, err)
		require.Equal(t, results[0], again, name)
		require.Equal(t, before, w.snapshot(), name)
	}
	testkit.CheckInvariants(t, w.owner)
	testkit.CheckOutbox(t, w.owner)
	_, err := w.Revise(ctx, edit.ReviseInput{Operation: schema.OperationRef{Tenant: w.p.Tenant, ID: "never accepted"},
		Policy: w.policy, Now: w.now})
	require.ErrorIs(t, err, pg.ErrNotFound)
}

// cutter makes the statement or the batch at a position of the transaction fail.
type cutter struct{ at, seen int }

var errCut = errors.New("cut")

func (c *cutter) next(ctx context.Context) context.Context {
	c.seen++
	if c.seen != c.at {
		return ctx
	}
	cut, cancel := context.WithCancelCause(ctx)
	cancel(errCut)
	return cut
}

func (c *cutter) TraceQueryStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceQueryStartData) context.Context {
	return c.next(ctx)
}
func (c *cutter) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}
func (c *cutter) TraceBatchStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceBatchStartData) context.Context {
	return c.next(ctx)
}
func (c *cutter) TraceBatchQuery(context.Context, *pgx.Conn, pgx.TraceBatchQueryData) {}
func (c *cutter) TraceBatchEnd(context.Context, *pgx.Conn, pgx.TraceBatchEndData)     {}

// TestReviseCutShort cancels each kind of revision before each of its statements, including the commit, and makes
// each table that it writes fail: nothing changes, and the revision can be carried out afterwards.
func TestReviseCutShort(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	revisions := everyRevision(w)
	cut := &cutter{}
	cutStore, err := store.OpenTraced(ctx, w.url, cut)
	require.NoError(t, err)
	t.Cleanup(cutStore.Close)
	for _, name := range slices.Sorted(maps.Keys(revisions)) {
		in := w.reviseInput(revisions[name])
		require.NoError(t, w.Accept(ctx, in.Operation, "revise", in.Request, w.now))
		before := w.snapshot()
		for at := 1; ; at++ {
			cut.at, cut.seen = at, 0
			result, err := cutStore.Revise(ctx, in)
			if err == nil {
				require.Less(t, cut.seen, at, "the error was ignored")
				require.Greater(t, at, 8, name)
				require.Equal(t, schema.ReviseApplied, result.Status, "%s: %s", name, result.Why)
				break
			}
			require.Equal(t, before, w.snapshot(), "%s, cut before statement %d", name, at)
		}
		testkit.CheckInvariants(t, w.owner)
	}
	testkit.CheckOutbox(t, w.owner)
}

func TestReviseIsAtomic(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	revisions := everyRevision(w)
	tables := []string{"memories", "memory_history", "memory_versions", "memory_links", "memory_provenance",
		"index_outbox", "operations", "lexeme_stats", "corpus_stats"}
	for _, name := range slices.Sorted(maps.Keys(revisions)) {
		in := w.reviseInput(revisions[name])
		failed := 0
		for _, table := range tables {
			if name == "fork" && table == "memory_provenance" { // one of each is enough for the others
				continue
			}
			before := w.snapshot()
			w.breaking(table, func() {
				_, err := w.Revise(ctx, in)
				if err == nil {
					return // it does not write this table
				}
				failed++
				require.Equal(t, before, w.snapshot(), "%s without %s", name, table)
			})
		}
		require.GreaterOrEqual(t, failed, 3, name)
	}
	testkit.CheckInvariants(t, w.owner)
}

// TestReviseAnyOrder draws random concurrent revisions and checks the invariants.
func TestReviseAnyOrder(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.policy.AllowUpdateDelete = true
	rapid.Check(t, func(rt *rapid.T) {
		conn := w.owner
		writers := rapid.IntRange(1, 6).Draw(rt, "writers")
		plans := make([][]draw, writers)
		for i := range plans {
			plans[i] = rapid.SliceOfN(drawn(), 1, 6).Draw(rt, "steps")
		}
		w.p.Tenant = uuid.NewString() // each case has its own tenant
		principal := w.p
		var wg sync.WaitGroup
		errs := make(chan error, 64)
		for _, plan := range plans {
			wg.Go(func() {
				for _, d := range plan {
					if err := d.run(w, principal); err != nil {
						errs <- err
					}
				}
			})
		}
		wg.Wait()
		close(errs)
		for err := range errs {
			require.NoError(rt, err)
		}
		testkit.CheckInvariants(rt, conn)
		testkit.CheckOutbox(rt, conn)
	})
}

// draw is one step of a writer.
type draw struct {
	action     schema.ReviseAction // empty: insert
	who, where string
	ground     string // validity
	picks      [2]int
	stale      bool
	winner     bool
	left       bool
}

func drawn() *rapid.Generator[draw] {
	grounds := []string{`{"mode":"global"}`, `{"mode":"conditional","conditions":{"k":1}}`,
		`{"mode":"conditional","conditions":{"k":2}}`,
		`{"mode":"conditional","conditions":{"k":[1,2]}}`,
		`{"mode":"timeboxed","start":"2026-01-01T00:00:00Z","end":"2026-03-01T00:00:00Z"}`,
		`{"mode":"timeboxed","start":"2026-02-01T00:00:00Z"}`,
		`{"mode":"timeboxed","end":"2026-02-01T00:00:00Z","conditions":{"k":1}}`}
	return rapid.Custom(func(t *rapid.T) draw {
		return draw{action: rapid.SampledFrom([]schema.ReviseAction{"", "", schema.ReviseSupersede, schema.ReviseFork,
			schema.ReviseRetract, schema.ReviseMerge,
			schema.ReviseContest, schema.ReviseContest, schema.ReviseResolve,
			schema.ReviseReconcile}).Draw(t, "action"),
			who:    rapid.SampledFrom([]string{"Ana", "ana", "Bob"}).Draw(t, "who"),
			where:  rapid.SampledFrom([]string{"Rome", "Oslo", "Faro", "Bonn"}).Draw(t, "where"),
			ground: rapid.SampledFrom(grounds).Draw(t, "ground"),
			picks:  [2]int{rapid.IntRange(0, 99).Draw(t, "pick"), rapid.IntRange(0, 99).Draw(t, "pick")},
			stale:  rapid.IntRange(0, 9).Draw(t, "stale") == 0, winner: rapid.Bool().Draw(t, "winner"),
			left: rapid.Bool().Draw(t, "left")}
	})
}

// run takes the step. It returns only errors that no writer should see.
func (d draw) run(w *world, p schema.Principal) error {
	record := semantic(d.who+" lives in "+d.where+".", d.who, "lives_in", d.where, d.ground)
	if d.action == "" {
		_, err := w.Put(ctx, edit.PutInput{Operation: schema.OperationRef{Tenant: p.Tenant, ID: uuid.NewString(),
			WorkflowID: "wf"},
			Request: schema.PutRequest{Operation: schema.Operation{Principal: p},
				Records: []schema.MemoryRecord{record}}, Policy: w.policy, Now: time.Now()})
		return err // a refusal is a status
	}
	known, err := w.List(ctx, pg.Filter{Principal: p}, pg.Page{})
	if err != nil || len(known) == 0 {
		return err
	}
	req := schema.ReviseRequest{Operation: schema.Operation{Principal: p, Reason: "drawn"}, Action: d.action,
		Record: &record, Evidence: heard}
	n := 1
	if d.action == schema.ReviseMerge || d.action == schema.ReviseResolve {
		n = 2
	}
	for _, pick := range d.picks[:n] {
		m := known[pick%len(known)]
		target := schema.Target{ID: m.ID, IfVersion: m.Version}
		if d.stale {
			target.IfVersion++
		}
		if !slices.ContainsFunc(req.Targets, func(t schema.Target) bool { return t.ID == m.ID }) {
			req.Targets = append(req.Targets, target)
		}
	}
	switch {
	case d.action == schema.ReviseRetract:
		req.Record = nil
	case d.action == schema.ReviseResolve && d.winner:
		req.Record, req.Winner = nil, req.Targets[0].ID
	case d.action == schema.ReviseFork && d.left:
		req.TargetConditions = &schema.Validity{Mode: schema.ValidConditional, Conditions: json.RawMessage(`{"k":3}`)}
	case d.action == schema.ReviseSupersede && d.left && len(known) > 1:
		if other := known[d.picks[1]%len(known)]; other.ID != req.Targets[0].ID {
			req.Record = &schema.MemoryRecord{ID: other.ID}
		}
	}
	if req.Validate() != nil {
		return nil
	}
	_, err = w.Revise(ctx, edit.ReviseInput{Operation: schema.OperationRef{Tenant: p.Tenant, ID: uuid.NewString(),
		WorkflowID: "wf"}, Request: req,
		Policy: proposals.WritePolicy{Mode: schema.ModeControlled}, Now: time.Now()})
	return err
}
