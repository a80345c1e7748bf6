package store_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/mneme/mneme/memory"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/store/edit"
	"github.com/mneme/mneme/store/pg"
	"github.com/mneme/mneme/store/pipeline"
)

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
