package store_test

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/require"

	"github.com/mneme/mneme/internal/testkit"
	"github.com/mneme/mneme/memory"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/store"
	"github.com/mneme/mneme/store/edit"
	"github.com/mneme/mneme/store/pg"
	"github.com/mneme/mneme/store/pipeline"
)

// TestConcurrentOperations lets eight callers, of two agents, run every kind of operation on a few memories and
// claims at the same time. No operation fails, no invariant is violated, and each operation delivered again returns
// its first result and changes nothing.
//
// The operations of the callers follow from the seed, which a failure shows and MNEME_TEST_SEED sets; their order
// does not.
func TestConcurrentOperations(t *testing.T) {
	t.Parallel()
	seed := rand.Uint64()
	if s := os.Getenv("MNEME_TEST_SEED"); s != "" {
		var err error
		seed, err = strconv.ParseUint(s, 10, 64)
		require.NoError(t, err)
	}
	t.Logf("MNEME_TEST_SEED=%d", seed)
	a := newArena(t)
	const callers, steps = 8, 10
	var wg sync.WaitGroup
	failures := make(chan error, callers)
	begin := make(chan struct{})
	for i := range callers {
		c := &caller{arena: a, Rand: rand.New(rand.NewPCG(seed, uint64(i))), p: a.agents[i%len(a.agents)]}
		wg.Go(func() {
			<-begin
			for step := range steps {
				if what, err := c.step(); err != nil {
					var refused *pgconn.PgError
					if errors.As(err, &refused) {
						err = fmt.Errorf("%w: %s", err, refused.Detail)
					}
					failures <- fmt.Errorf("caller %d, step %d, %s: %w", i, step, what, err)
					return
				}
			}
		})
	}
	close(begin)
	wg.Wait()
	close(failures)
	for err := range failures {
		require.NoError(t, err)
	}
	testkit.CheckInvariants(t, a.owner)

	before := a.snapshot()
	for _, d := range a.delivered {
		again, err := d.deliver()
		require.NoError(t, err, d.what)
		if d.result != nil {
			require.Equal(t, d.result, again, d.what)
		}
	}
	require.Equal(t, before, a.snapshot())
	a.requireRoundTrip()
}

// arena is the state that the callers share.
type arena struct {
	*world
	agents  []schema.Principal
	clock   atomic.Int64
	working map[string][]string // record ids that are put repeatedly, by agent
	grown   map[string][]string

	mu        sync.Mutex
	ids       []uuid.UUID // of memories in any state
	delivered []delivery
}

// delivery is an operation that was carried out and can be delivered a second time.
type delivery struct {
	what    string
	deliver func() (any, error)
	result  any // nil if a second delivery answers that there is nothing to do
}

func newArena(t *testing.T) *arena {
	w := newWorld(t)
	a := &arena{world: w, working: map[string][]string{}, grown: map[string][]string{}}
	for _, agent := range []string{"a", "b"} {
		a.agents = append(a.agents, schema.Principal{Tenant: w.p.Tenant, Agent: agent, Project: "p"})
		a.working[agent], a.grown[agent] = []string{uuid.NewString(), uuid.NewString()}, []string{uuid.NewString()}
	}
	w.p = a.agents[0]
	for i, vis := range []schema.Visibility{schema.VisibilityPrivate, schema.VisibilityShared,
		schema.VisibilityShared} {
		w.vis = vis
		a.ids = append(a.ids, w.memory(notes[i]), w.created(claims(people[i%len(people)], places[i], "")))
	}
	return a
}

// There are few words, so that callers state the same facts.
var (
	people  = []string{"Ana", "Bob"}
	places  = []string{"Lisbon", "Porto", "Rome"}
	grounds = []string{`{"mode":"global"}`, `{"mode":"global"}`, `{"mode":"conditional","conditions":{"k":1}}`,
		`{"mode":"conditional","conditions":{"k":2}}`,
		`{"mode":"timeboxed","start":"2026-01-01T00:00:00Z","end":"2026-03-01T00:00:00Z"}`,
		`{"mode":"timeboxed","start":"2026-02-01T00:00:00Z"}`}
	notes = []string{"The office has a green door.", "The kettle is never empty.", "The meeting is on Monday.",
		"The key is under the mat."}
)

// tick advances the clock with every operation. The order of times is not the order in which locks are taken.
func (a *arena) tick() time.Time { return a.world.now.Add(time.Duration(a.clock.Add(1)) * time.Second) }

// addIDs adds the ids of memories to a.ids.
func (a *arena) addIDs(ids ...string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, s := range ids {
		if id, err := uuid.Parse(s); err == nil && !slices.Contains(a.ids, id) {
			a.ids = append(a.ids, id)
		}
	}
}

func (a *arena) keepDelivery(d delivery) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.delivered = append(a.delivered, d)
}

// caller is one of the concurrent callers.
type caller struct {
	*arena
	*rand.Rand
	p schema.Principal
}

func one[T any](c *caller, of []T) T { return of[c.IntN(len(of))] }

// chance is true n times in a hundred.
func (c *caller) chance(n int) bool { return c.IntN(100) < n }

func (c *caller) operation() schema.OperationRef {
	return schema.OperationRef{Tenant: c.p.Tenant, ID: uuid.NewString(), WorkflowID: "wf"}
}

func (c *caller) asks(reason string) schema.Operation {
	return schema.Operation{Principal: c.p, Reason: reason}
}

// pick chooses memories and prefers later ones.
func (c *caller) pick(n int) []uuid.UUID {
	c.mu.Lock()
	defer c.mu.Unlock()
	latest := c.ids[max(0, len(c.ids)-12):]
	var out []uuid.UUID
	for range n {
		if id := one(c, latest); !slices.Contains(out, id) {
			out = append(out, id)
		}
	}
	return out
}

// pickLive chooses a memory that is live and visible to the caller. It returns the zero record if there is none.
func (c *caller) pickLive() (schema.MemoryRecord, error) {
	known, err := c.List(ctx, pg.Filter{Principal: c.p}, pg.Page{})
	if err != nil || len(known) == 0 {
		return schema.MemoryRecord{}, err
	}
	return one(c, known), nil
}

// version returns a version that the caller saw, which is sometimes not the current one.
func (c *caller) version(id uuid.UUID) (int, error) {
	m, err := c.Get(ctx, c.p, id)
	if errors.Is(err, pg.ErrNotFound) {
		return 1, nil
	}
	if c.chance(10) {
		m.Version++
	}
	return m.Version, err
}

// carry delivers an operation, sometimes twice concurrently, and keeps it for a repeated delivery.
func carry[R any](c *caller, what string, fn func() (R, error)) (R, error) {
	result, err := fn, error(nil)
	first, second := *new(R), *new(R)
	if c.chance(20) {
		var wg sync.WaitGroup
		var other error
		wg.Go(func() { second, other = result() })
		first, err = result()
		wg.Wait()
		if err = cmp.Or(err, other); err == nil && !sameJSON(first, second) {
			err = fmt.Errorf("two deliveries, two results: %+v and %+v", first, second)
		}
	} else {
		first, err = result()
	}
	if err == nil {
		c.keepDelivery(delivery{what: what, result: first, deliver: func() (any, error) { return fn() }})
	}
	return first, err
}

func sameJSON(a, b any) bool {
	x, errA := json.Marshal(a)
	y, errB := json.Marshal(b)
	return errA == nil && errB == nil && string(x) == string(y)
}

// step does one operation and returns its name.
func (c *caller) step() (string, error) {
	steps := []struct {
		what   string
		weight int
		do     func() error
	}{
		{"ingest", 4, c.ingest}, {"put", 3, c.put}, {"revise", 5, c.revises}, {"modify", 3, c.modifies},
		{"forget", 3, c.forgets},
		{"recover", 2, c.recovers}, {"review", 3, c.reviews}, {"index", 1, c.index},
		{"expire", 2, c.expires}, {"merge", 2, c.merges}, {"decay", 1, c.decays}, {"purge", 1, c.purges},
		{"feedback", 1, c.feedsBack},
	}
	total := 0
	for _, s := range steps {
		total += s.weight
	}
	n := c.IntN(total)
	for _, s := range steps {
		if n -= s.weight; n < 0 {
			return s.what, s.do()
		}
	}
	return "", nil // unreachable
}

// ingest takes a text through the whole pipeline.
func (c *caller) ingest() error {
	candidate := schema.Candidate{Content: one(c, notes),
		SourceKind: one(c, []schema.SourceKind{schema.SourceUserInput, schema.SourceMemory})}
	if c.chance(60) {
		candidate.Content = fmt.Sprintf("Letter %d of %s.", c.IntN(1000), one(c, people))
	}
	if c.chance(20) {
		candidate.IdempotencyKey = fmt.Sprintf("key %d", c.IntN(2))
	}
	policy := c.policy
	policy.AllowUpdateDelete = c.chance(60)
	now := c.tick()
	in := pipeline.StageInput{OperationID: uuid.NewString(), WorkflowID: "wf", MaxAttempts: 3, Now: now, Policy: policy,
		Request: schema.IngestRequest{Principal: c.p,
			Visibility: one(c, []schema.Visibility{schema.VisibilityPrivate, schema.VisibilityShared}),
			Candidates: []schema.Candidate{candidate}}}
	ack, err := carry(c, "stage", func() (schema.IngestAck, error) { return c.Stage(ctx, in) })
	if err != nil {
		return err
	}
	c.addIDs(ack.MemoryIDs...)
	if len(ack.Deduped) > 0 {
		return nil
	}
	source := uuid.MustParse(ack.MemoryIDs[0])
	r := schema.Range{Tenant: c.p.Tenant, BatchID: uuid.MustParse(ack.BatchID), From: 0, To: 1}
	var facts []memory.Fact
	for range 1 + c.IntN(2) {
		who, where := one(c, people), one(c, places)
		facts = append(facts, lives(who+" lives in "+where+".", who, where))
	}
	extraction := memory.Extraction{Facts: facts,
		Triples: []memory.Triple{triple(one(c, people), "lives in", one(c, places))}}
	if err := c.SaveExtractions(ctx, r.Tenant, []pipeline.Extracted{{CandidateID: source, Extraction: extraction}},
		c.tick()); err != nil {
		return err
	}
	for round := 1; ; round++ {
		if err := c.decides(r, source, facts); err != nil {
			return err
		}
		in := pipeline.WriteInput{Range: r, MaxRounds: 2, Now: c.tick(), Sources: map[uuid.UUID]pg.Embedding{}}
		missing, err := c.Unembedded(ctx, r, hash)
		if err != nil {
			return err
		}
		for _, u := range missing {
			in.Sources[u.MemoryID] = pg.Embedding{Model: hash, Vector: axis(), Hash: u.Hash}
		}
		counts, err := c.Write(ctx, in)
		if err != nil {
			return fmt.Errorf("write: %w", err)
		}
		if counts.Stale == 0 || round == 2 {
			again := in
			// a source that was changed and changed back has no embedding, and a repeated write would add one
			again.Sources = nil
			c.keepDelivery(delivery{what: "write", deliver: func() (any, error) { return c.Write(ctx, again) }})
			break
		}
	}
	outcomes, err := c.FactOutcomes(ctx, r.Tenant, r.BatchID)
	if err != nil {
		return err
	}
	for _, o := range outcomes {
		c.addIDs(o.MemoryID)
	}
	linking := c.tick()
	link := func() (any, error) { return c.Link(ctx, r, linking) }
	if _, err := link(); err != nil {
		return fmt.Errorf("link: %w", err)
	}
	c.keepDelivery(delivery{what: "link", deliver: link})
	return nil
}

// decides proposes an action for each fact, based on what the caller sees now.
func (c *caller) decides(r schema.Range, source uuid.UUID, facts []memory.Fact) error {
	var decided []pipeline.Decided
	for i, f := range facts {
		d := pipeline.Decided{CandidateID: source, Ordinal: i, Fact: f,
			Proposal:  memory.Proposal{Action: schema.ActionAdd, Confidence: 0.9, Reason: "because"},
			Embedding: &pg.Embedding{Model: hash, Vector: axis()}}
		known, err := c.pickLive()
		if err != nil {
			return err
		}
		if known.ID != "" && known.ID != source.String() {
			d.Offered = []memory.Neighbor{{ID: known.ID, Version: known.Version, Content: known.Content, Score: 0.5}}
			if action := one(c, []schema.Action{schema.ActionAdd, schema.ActionUpdate, schema.ActionUpdate,
				schema.ActionDelete, schema.ActionNone}); action != schema.ActionAdd {
				d.Proposal.Action, d.Proposal.TargetID = action, known.ID
				if err := c.changes(&d); err != nil {
					return err
				}
			}
		}
		decided = append(decided, d)
	}
	return c.SaveDecisions(ctx, r, []uuid.UUID{source}, decided, c.tick())
}

// put writes records: claims, working memory that is replaced and discarded, and an episode that is extended.
func (c *caller) put() error {
	record := semantic("", one(c, people), "lives_in", one(c, places), one(c, grounds))
	switch {
	case c.chance(20):
		record = task(c.t, one(c, c.working[c.p.Agent]), one(c, []string{"planning", "planning", "executing", "done"}),
			one(c, notes))
	case c.chance(20):
		record = episode(c.t, one(c, c.grown[c.p.Agent]), []string{"one", "two", "three", "four"}[:1+c.IntN(4)]...)
	}
	if c.chance(10) {
		record.Lifecycle.Pinned = true
	}
	if c.chance(30) {
		kept, err := c.PutArtifact(ctx, c.p, strings.NewReader(one(c, notes[:2])), "text/plain", "", c.tick())
		if err != nil {
			return err
		}
		record.Provenance.Sources = []schema.Ref{{Kind: "artifact", Ref: kept.Address}}
	}
	if c.chance(20) {
		if source := c.pick(1)[0].String(); source != record.ID {
			record.Relations = []schema.Relation{{Predicate: "derived_from", TargetID: source, Weight: 1,
				Reason: "drawn from it"}}
		}
	}
	in := edit.PutInput{Operation: c.operation(), Policy: c.policy, Now: c.tick(),
		Embeddings: []*pg.Embedding{{Model: hash, Vector: axis()}},
		Request: schema.PutRequest{Operation: c.asks("put"),
			Visibility: one(c, []schema.Visibility{schema.VisibilityPrivate, schema.VisibilityShared}),
			Records:    []schema.MemoryRecord{record}}}
	if err := in.Request.Validate(); err != nil {
		return err
	}
	result, err := carry(c, "put", func() (schema.PutResult, error) { return c.Put(ctx, in) })
	if err != nil {
		return err
	}
	for _, item := range result.Items {
		// A record that is put repeatedly is not forgotten by force: a second history would begin under its id.
		if !slices.Contains(c.working[c.p.Agent], item.ID) && !slices.Contains(c.grown[c.p.Agent], item.ID) {
			c.addIDs(item.ID)
		}
	}
	return nil
}

// revises carries out a random kind of revision, mostly of live memories, with the version that the caller sees.
func (c *caller) revises() error {
	record := semantic("", one(c, people), "lives_in", one(c, places), one(c, grounds))
	req := schema.ReviseRequest{Operation: c.asks("heard otherwise"), Record: &record, Evidence: slices.Clone(heard),
		Action: one(c, []schema.ReviseAction{schema.ReviseSupersede, schema.ReviseFork, schema.ReviseRetract,
			schema.ReviseMerge, schema.ReviseContest,
			schema.ReviseContest, schema.ReviseResolve, schema.ReviseResolve, schema.ReviseReconcile})}
	n := 1
	if req.Action == schema.ReviseMerge || req.Action == schema.ReviseResolve {
		n = 2
	}
	known, err := c.List(ctx, pg.Filter{Principal: c.p}, pg.Page{})
	if err != nil {
		return err
	}
	known = slices.DeleteFunc(known, func(m schema.MemoryRecord) bool {
		return m.Type != schema.TypeSemantic && c.chance(90) || req.Action == schema.ReviseResolve &&
			m.Status != schema.StatusContested && c.chance(90)
	})
	for range n {
		id := c.pick(1)[0]
		if len(known) > 0 && c.chance(90) {
			id = uuid.MustParse(one(c, known).ID)
		}
		version, err := c.version(id)
		if err != nil {
			return err
		}
		if !slices.ContainsFunc(req.Targets, func(t schema.Target) bool { return t.ID == id.String() }) {
			req.Targets = append(req.Targets, schema.Target{ID: id.String(), IfVersion: version})
		}
	}
	switch {
	case req.Action == schema.ReviseRetract:
		req.Record = nil
	case req.Action == schema.ReviseResolve && c.chance(60):
		req.Record, req.Winner = nil, req.Targets[0].ID
	case req.Action == schema.ReviseFork && c.chance(50):
		req.TargetConditions = &schema.Validity{Mode: schema.ValidConditional, Conditions: json.RawMessage(`{"k":3}`)}
	case (req.Action == schema.ReviseSupersede || req.Action == schema.ReviseContest) && c.chance(40) && len(known) > 0:
		req.Record = &schema.MemoryRecord{ID: one(c, known).ID}
	}
	if c.chance(30) {
		req.Evidence = append(req.Evidence, schema.Ref{Kind: "observation", Ref: c.pick(1)[0].String()})
	}
	if req.Validate() != nil {
		return nil // the same target twice, or the record itself
	}
	in := edit.ReviseInput{Operation: c.operation(), Request: req, Policy: c.policy,
		Embedding: &pg.Embedding{Model: hash, Vector: axis()}, Now: c.tick()}
	result, err := carry(c, "revise", func() (schema.ReviseResult, error) { return c.Revise(ctx, in) })
	c.addIDs(result.Created...)
	return err
}

func (c *caller) modifies() error {
	req := schema.ModifyRequest{Operation: c.asks("looked again")}
	for _, id := range c.pick(1 + c.IntN(3)) {
		p := schema.Patch{ID: id.String(), Force: c.chance(50)}
		if c.chance(50) {
			var err error
			if p.IfVersion, err = c.version(id); err != nil {
				return err
			}
		}
		switch c.IntN(4) {
		case 0:
			p.Importance = ptr(float64(c.IntN(4)) / 4)
		case 1:
			p.Pinned = ptr(c.chance(30))
		case 2:
			p.Who, p.Tags = ptr(one(c, people)), &[]string{one(c, places)}
		default:
			p.Content = ptr(one(c, notes))
		}
		req.Patches = append(req.Patches, p)
	}
	if err := req.Validate(); err != nil {
		return err
	}
	in := edit.ModifyInput{Operation: c.operation(), Request: req, Policy: c.policy, Now: c.tick()}
	for _, p := range req.Patches {
		var e *pg.Embedding
		if p.Content != nil && c.chance(50) {
			e = &pg.Embedding{Model: hash, Vector: axis()}
		}
		in.Embeddings = append(in.Embeddings, e)
	}
	_, err := carry(c, "modify", func() (schema.ModifyResult, error) { return c.Modify(ctx, in) })
	return err
}

// forgets previews a selection, confirms it or not, and carries it out.
func (c *caller) forgets() error {
	req := schema.ForgetRequest{Operation: c.asks("no longer wanted"), Execute: c.chance(50),
		Mode: one(c, []schema.ForgetMode{schema.ForgetSoft, schema.ForgetSoft, schema.ForgetForce, schema.ForgetErase})}
	if c.chance(15) {
		req.Selector = schema.Selector{Query: one(c, places), Limit: 3, IncludeDerived: c.chance(50)}
	} else {
		req.Selector = named(c.pick(1 + c.IntN(2))...)
	}
	if err := req.Validate(); err != nil {
		return err
	}
	op, at := c.operation(), c.tick()
	preview, err := carry(c, "select", func() (schema.ForgetPreview, error) {
		preview, err := c.SelectForget(ctx, op, req, at)
		preview.State = "" // only the selection is repeated; the state of the run changes
		return preview, err
	})
	if err != nil {
		return err
	}
	run := uuid.MustParse(preview.RunID)
	token, err := c.ForgetToken(ctx, c.p, run, c.tick())
	if err != nil {
		return err
	}
	status, err := c.ForgetStatus(ctx, c.p, run)
	if err != nil {
		return err
	}
	end := schema.ForgetDone
	switch {
	case status.State == schema.ForgetConfirmed:
	case c.chance(20):
		end = one(c, []schema.ForgetState{schema.ForgetExpired, schema.ForgetCancelled})
	default:
		for range 1 + c.IntN(2) {
			if _, err := c.ConfirmForget(ctx, c.p.Tenant, run,
				schema.ForgetConfirmation{Token: token, Actor: "operator"}, c.tick()); err != nil {
				return err
			}
		}
	}
	for {
		in := c.tick()
		out, err := c.ForgetBatch(ctx, c.p.Tenant, run, 1, in)
		if err != nil {
			return err
		}
		if out.Receipt.Remaining == 0 || end != schema.ForgetDone {
			c.keepDelivery(delivery{what: "forget", deliver: func() (any, error) {
				return c.ForgetBatch(ctx, c.p.Tenant, run, 1, in)
			}})
			break
		}
	}
	closing := c.tick()
	_, err = carry(c, "close", func() (schema.ForgetReceipt, error) {
		return c.CloseForget(ctx, c.p.Tenant, run, end, closing)
	})
	return err
}

func (c *caller) recovers() error {
	in := edit.RecoverInput{Operation: c.operation(), Policy: c.policy, Now: c.tick(),
		Request: schema.RecoverRequest{Operation: c.asks("by mistake")}}
	for _, id := range c.pick(1 + c.IntN(3)) {
		target := schema.Target{ID: id.String()}
		if c.chance(30) {
			var err error
			if target.IfVersion, err = c.version(id); err != nil {
				return err
			}
		}
		in.Request.Targets = append(in.Request.Targets, target)
	}
	_, err := carry(c, "recover", func() (schema.RecoverResult, error) { return c.Recover(ctx, in) })
	return err
}

// reviews decides on a proposal that waits for review.
func (c *caller) reviews() error {
	waiting, err := c.ListReviews(ctx, c.p, pipeline.ReviewFilter{}, pg.Page{Limit: 5})
	if err != nil || len(waiting) == 0 {
		return err
	}
	item := one(c, waiting)
	in := pipeline.DecideInput{Principal: c.p, BatchID: uuid.MustParse(item.BatchID),
		ProposalID: uuid.MustParse(item.ProposalID),
		Decision:   schema.DecisionApprove, By: "operator", Reason: "looked at both", Policy: c.policy, Now: c.tick(),
		Embedding: &pg.Embedding{Model: hash, Vector: axis()}}
	if c.chance(25) {
		in.Decision = schema.DecisionReject
	} else if item.TargetNow != nil {
		in.TargetVersion = item.TargetNow.Version
	}
	op := c.operation()
	result, err := carry(c, "review", func() (schema.ReviewResult, error) { return c.DecideProposal(ctx, op, in) })
	c.addIDs(result.MemoryID)
	return err
}

// index drains the outbox, embedding what has no vector.
func (c *caller) index() error {
	entries, err := c.Outbox(ctx, c.p.Tenant, hash, nil, 5)
	if err != nil {
		return err
	}
	embedded := map[uuid.UUID][]float32{}
	for _, e := range entries {
		if !e.Delete && e.Vector == nil {
			embedded[e.MemoryID] = axis()
		}
	}
	if err := c.KeepEmbeddings(ctx, c.p.Tenant, hash, entries, embedded, c.tick()); err != nil {
		return err
	}
	return c.SettleOutbox(ctx, c.p.Tenant, entries, c.tick())
}

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
