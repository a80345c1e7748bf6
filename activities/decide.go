package activities

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/google/uuid"
	"go.temporal.io/sdk/activity"

	"github.com/mneme/mneme/activities/step"
	"github.com/mneme/mneme/inference"
	"github.com/mneme/mneme/inference/rules"
	"github.com/mneme/mneme/memory"
	"github.com/mneme/mneme/memory/intake"
	"github.com/mneme/mneme/memory/normalize"
	"github.com/mneme/mneme/memory/proposals"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/store"
	"github.com/mneme/mneme/store/pg"
	"github.com/mneme/mneme/store/pipeline"
	"github.com/mneme/mneme/store/search"
)

// Decision decides what each extracted fact would change.
type Decision struct {
	Store       *store.Store
	Decider     inference.Decider
	Embedder    inference.Embedder
	Concurrency int // model calls at once; 1 when not set
	Now         func() time.Time
}

// atOnce reports whether a decision is immediate, because it calls no model.
func (a *Decision) atOnce() bool { return a != nil && !inference.AsksModel(a.Decider) }

// DecideRequest is a range to decide.
type DecideRequest struct {
	schema.Range
	Group int `json:"group,omitempty"` // number of candidates in the first search; 0 for the maximum
}

// DecideResult is the result of DecideFacts.
type DecideResult struct {
	schema.DecideCounts
	// Written counts the proposals of the range that are written already: what the next write adds to.
	Written *pipeline.WrittenCounts `json:"written,omitempty"`
}

// decidable is a candidate with its facts, their embeddings and their neighbours.
type decidable struct {
	pipeline.Undecided
	visibility schema.Visibility // who may read its facts
	ordinals   []int
	embeddings []*pg.Embedding
	neighbors  [][]memory.Neighbor
}

// decideGroup is the number of candidates in one search. After a search that takes too long, it is reduced.
const decideGroup = 50

// DecideFacts decides the facts of a range that are undecided or whose neighbours have changed. After partialAfter it
// returns with More set: its decisions are stored, and another attempt decides the rest. Failures are treated as in
// ExtractFacts; a fact is never lost because a decision failed.
func (a *Decision) DecideFacts(ctx context.Context, r DecideRequest) (DecideResult, error) {
	pace, ctx := step.StartPace(ctx, r.Group, decideGroup)
	defer pace.Stop()
	batch, err := a.Store.Batch(ctx, r.Tenant, r.Range.BatchID)
	if err != nil {
		return DecideResult{}, step.Fail(err)
	}
	todo, err := a.Store.LeaseDecide(ctx, r.Range, step.Now(a.Now))
	if err != nil {
		return DecideResult{}, step.Fail(err)
	}
	if err := a.Store.RefreshStatistics(ctx); err != nil {
		activity.GetLogger(ctx).Warn("planner statistics not refreshed", "error", err) // slower, not wrong
	}
	var result DecideResult
	type decidedCandidate struct {
		id    uuid.UUID
		facts []pipeline.Decided
	}
	probe := func(ctx context.Context) error {
		_, _, err := a.Decider.Decide(
			ctx,
			memory.Fact{Content: "Nothing happened.", Category: schema.CategoryFact, Confidence: 1},
			[]memory.Neighbor{{ID: uuid.Nil.String(), Content: "Nothing had happened.",
				Category: schema.CategoryFact, Score: 1}},
		)
		return err
	}
	out := newOutcomes(a.Store, r.Tenant, a.Now, probe, func(ctx context.Context, done []decidedCandidate) error {
		var ids []uuid.UUID
		var facts []pipeline.Decided
		for _, d := range done {
			ids = append(ids, d.id)
			facts = append(facts, d.facts...)
		}
		return a.Store.SaveDecisions(ctx, r.Range, ids, facts, step.Now(a.Now))
	})
	until := time.Now().Add(partialAfter)
	first := true // until a group is handled: an attempt that returns has made progress
	for len(todo) > 0 && !result.More {
		if result.More = !first && !time.Now().Before(until); result.More {
			break
		}
		group := todo[:min(pace.Size(), len(todo))]
		ready, withVectors, err := a.prepare(ctx, batch, group)
		if pace.Slower(ctx, len(group), err) {
			continue
		}
		if err != nil {
			return result, step.Fail(step.Stalled(ctx, err))
		}
		pace.Faster()
		step.Advance(ctx)
		todo, first = todo[len(group):], false
		result.WithoutVectors = result.WithoutVectors || !withVectors
		result.More, err = each(ctx, ready, a.Concurrency, until, func(ctx context.Context, d decidable) error {
			facts, err := a.decide(ctx, d)
			if err != nil {
				return out.failed(ctx, d.CandidateID, schema.PhaseDecide, err, inference.Usage{})
			}
			if slices.ContainsFunc(facts, func(f pipeline.Decided) bool { return f.Usage.Calls > 0 }) {
				out.answered() // the model was not asked about the others
			}
			return out.done(ctx, decidedCandidate{id: d.CandidateID, facts: facts})
		})
		if errors.Is(err, errAway) {
			break
		}
		if err != nil {
			return DecideResult{}, step.Fail(step.Stalled(ctx, err))
		}
	}
	if err := out.close(ctx); err != nil {
		return DecideResult{}, step.Stalled(ctx, err)
	}
	counts, written, err := a.Store.DecideCounts(ctx, r.Range)
	result.Candidates, result.Actions, result.Dead = counts.Candidates, counts.Actions, counts.Dead
	result.Written = &written
	if size := pace.Size(); size < decideGroup {
		result.Group = size
	}
	return result, step.Fail(step.Stalled(ctx, err))
}

// prepare embeds the facts of a group and finds their neighbours. If embedding fails, the search uses text only: the
// failure is not fatal.
func (a *Decision) prepare(
	ctx context.Context,
	batch pipeline.Batch,
	group []pipeline.Undecided,
) (ready []decidable, withVectors bool, err error) {
	var texts []string
	var queries []search.NeighborQuery
	var scopes []string // of each query: the scope of its source, which a rule may have changed
	owner, model := batch.Owner, a.Embedder.Model()
	for _, u := range group {
		scope := owner.Scope
		d := decidable{Undecided: u, visibility: batch.Visibility, ordinals: u.Stale}
		if u.Scope != nil {
			scope, d.visibility = *u.Scope, *u.Visibility
		}
		if len(d.ordinals) == 0 {
			for i := range u.Facts {
				d.ordinals = append(d.ordinals, i)
			}
		}
		for _, n := range d.ordinals {
			texts = append(texts, model.Passage(u.Speaker, u.Facts[n].Content))
			queries = append(queries, search.NeighborQuery{Fact: u.Facts[n], Exclude: u.MemoryID, At: step.Now(a.Now)})
			scopes = append(scopes, scope)
		}
		ready = append(ready, d)
	}
	if len(queries) == 0 {
		return ready, true, nil
	}
	vectors, _, embedErr := a.Embedder.Embed(ctx, texts)
	if embedErr != nil && ctx.Err() != nil {
		return nil, false, context.Cause(ctx)
	}
	if embedErr == nil {
		for i := range queries {
			queries[i].Embedding = &pg.Embedding{Model: model, Vector: vectors[i]}
		}
	}
	neighbors, err := a.neighbors(ctx, owner, scopes, queries)
	if err != nil {
		return nil, false, err
	}
	next := 0
	for i := range ready {
		for range ready[i].ordinals {
			ready[i].embeddings = append(ready[i].embeddings, queries[next].Embedding)
			ready[i].neighbors = append(ready[i].neighbors, neighbors[next])
			next++
		}
	}
	return ready, embedErr == nil, nil
}

// neighbors searches each query's scope: one search for all queries of a scope.
func (a *Decision) neighbors(
	ctx context.Context,
	owner schema.Principal,
	scopes []string,
	queries []search.NeighborQuery,
) ([][]memory.Neighbor, error) {
	out := make([][]memory.Neighbor, len(queries))
	at := map[string][]int{}
	for i, scope := range scopes {
		at[scope] = append(at[scope], i)
	}
	for scope, positions := range at {
		owner.Scope = scope
		asked := make([]search.NeighborQuery, 0, len(positions))
		for _, i := range positions {
			asked = append(asked, queries[i])
		}
		found, err := a.Store.Neighbors(ctx, owner, asked)
		if err != nil {
			return nil, err
		}
		for k, i := range positions {
			out[i] = found[k]
		}
	}
	return out, nil
}

func (a *Decision) decide(ctx context.Context, d decidable) ([]pipeline.Decided, error) {
	out := make([]pipeline.Decided, 0, len(d.ordinals))
	source := memory.Neighbor{Type: d.Type, Content: d.Content}
	for i, n := range d.ordinals {
		fact, neighbors := d.Facts[n], d.neighbors[i]
		proposal, usage, err := a.propose(ctx, fact, neighbors, d.visibility)
		if err != nil {
			return nil, err
		}
		if proposal.Action == schema.ActionAdd && proposals.SourceStates(fact, source) {
			proposal = memory.Proposal{
				Action:     schema.ActionNone,
				Confidence: 1,
				Reason:     "its source has the same words",
				Warnings:   proposal.Warnings,
			}
		}
		if d.embeddings[i] == nil {
			proposal.Warnings = append(proposal.Warnings, "embedding unavailable: neighbours found by text alone")
		}
		out = append(out, pipeline.Decided{CandidateID: d.CandidateID, Ordinal: n, Fact: fact, Proposal: proposal,
			Offered: neighbors, Embedding: d.embeddings[i], Usage: usage})
	}
	return out, nil
}

// propose calls the decider only if there is a choice: a fact without neighbours is new, and a fact with an identical
// lasting neighbour is known (document 002 "Decision Engine"). visibility says who may read the fact.
func (a *Decision) propose(
	ctx context.Context,
	fact memory.Fact,
	neighbors []memory.Neighbor,
	visibility schema.Visibility,
) (memory.Proposal, inference.Usage, error) {
	if fact.Retracts {
		return intake.CheckProposal(proposals.FindRetracted(fact, neighbors), neighbors), inference.Usage{}, nil
	}
	text := normalize.Normalize(fact.Content)
	others := make([]memory.Neighbor, 0, len(neighbors))
	add := memory.Proposal{Action: schema.ActionAdd, Confidence: fact.Confidence, Reason: "nothing similar is known"}
	for _, n := range neighbors {
		if !n.Says(text) {
			others = append(others, n)
			continue
		}
		known := memory.Proposal{Action: schema.ActionNone, TargetID: n.ID, Confidence: 1,
			Reason: "already known: identical"}
		p := proposals.KeepLasting(known, neighbors, visibility)
		if p.Action == schema.ActionNone {
			return p, inference.Usage{}, nil
		}
		add.Reason = p.Reason
	}
	if len(others) == 0 {
		return add, inference.Usage{}, nil
	}
	proposal, usage, err := a.Decider.Decide(ctx, fact, others)
	if err != nil {
		return memory.Proposal{}, usage, err
	}
	proposal = intake.CheckProposal(proposal, others)
	if usage != (inference.Usage{}) { // a model was asked
		if proposal, err = usableProposal(ctx, proposal, fact, others); err != nil {
			return memory.Proposal{}, usage, err
		}
	}
	return proposals.KeepLasting(proposal, others, visibility), usage, nil
}

// usableProposal returns the proposal to use. The rules must confirm any change that a model proposes. If a model's
// proposal cannot be used, the rules decide, so that the fact is not lost.
func usableProposal(
	ctx context.Context,
	p memory.Proposal,
	fact memory.Fact,
	neighbors []memory.Neighbor,
) (memory.Proposal, error) {
	if !proposals.Unusable(p) {
		return proposals.Vouch(p, fact, neighbors), nil
	}
	byRules, _, err := rules.Decider{}.Decide(ctx, fact, neighbors)
	if err != nil {
		return memory.Proposal{}, err
	}
	byRules = intake.CheckProposal(byRules, neighbors)
	byRules.Warnings = append(
		slices.Clone(p.Warnings),
		"proposal: the model's decision could not be used ("+p.Reason+"); the rules decided",
	)
	return byRules, nil
}
