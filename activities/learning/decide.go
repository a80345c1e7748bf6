package learning

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/mneme/mneme/activities/step"
	"github.com/mneme/mneme/api"
	"github.com/mneme/mneme/memory/learning/align"
	"github.com/mneme/mneme/memory/learning/competence"
	"github.com/mneme/mneme/memory/learning/evidence"
	"github.com/mneme/mneme/memory/learning/plan"
	"github.com/mneme/mneme/memory/learning/promote"
	"github.com/mneme/mneme/memory/learning/signature"
	"github.com/mneme/mneme/memory/learning/trace"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/store/learning"
)

// DecideRequest is a request to decide on the waiting groups of a scope after a given group.
type DecideRequest struct {
	api.LearnScope
	Kind   schema.MemoryType `json:"kind"`
	After  string            `json:"after,omitempty"`
	Shadow bool              `json:"shadow,omitempty"` // store no draft, only count the changes
}

// DecideResult says which groups have a draft.
type DecideResult struct {
	Result  api.LearnResult `json:"result"`
	Drafted []string        `json:"drafted,omitempty"` // groups
	Next    string          `json:"next,omitempty"`
	More    bool            `json:"more,omitempty"`
}

// DecideGroups decides on a page of groups and stores the decisions as drafts. Another attempt makes the same drafts.
func (a *Learning) DecideGroups(ctx context.Context, in DecideRequest) (DecideResult, error) {
	if err := in.ValidateScope(); err != nil {
		return DecideResult{}, step.Fail(err)
	}
	work, ctx := step.StartWork(ctx, DecideResult{Next: in.After})
	defer work.Stop()
	out, sc := work.SoFar(), scopeOf(in.LearnScope)
	after, err := uuid.Parse(out.Next)
	if err != nil {
		after = uuid.Nil
	}
	waiting, err := a.Store.Learning.Waiting(ctx, sc, in.Kind, a.needs().Least, after, groupsPage)
	if err != nil {
		return out, step.Fail(step.Stalled(ctx, err))
	}
	began := time.Now()
	for i, g := range waiting {
		draft, found, err := a.decide(ctx, sc, g, in.Kind)
		if err != nil {
			return out, step.Fail(step.Stalled(ctx, err))
		}
		if a.Describer != nil && !in.Shadow && !a.Policy.MutationsFrozen() {
			if err := a.describe(ctx, sc, &draft, &found); err != nil {
				return out, step.Fail(step.Stalled(ctx, err))
			}
		}
		out.Result = out.Result.Plus(found)
		switch {
		case in.Shadow:
			out.Result = out.Result.Plus(counted(draft.Deltas))
		default:
			kept, err := a.Store.Learning.SaveDraft(ctx, sc, draft, step.Now(a.Now))
			if err != nil {
				return out, step.Fail(step.Stalled(ctx, err))
			}
			switch {
			case !kept:
				out.Result.Dropped += len(draft.Deltas)
			case len(draft.Deltas) > 0:
				out.Drafted = append(out.Drafted, g.ID.String())
			}
		}
		out.Next = g.ID.String()
		work.Note(out)
		if ctx.Err() != nil {
			return out, context.Cause(ctx)
		}
		if time.Since(began) > goOnFor && i+1 < len(waiting) {
			out.More = true
			a.observeRefused(in, out)
			return out, nil
		}
	}
	out.More = len(waiting) == groupsPage
	a.observeRefused(in, out)
	return out, nil
}

// observeRefused observes refused and dropped changes, except those of a shadow run.
func (a *Learning) observeRefused(in DecideRequest, out DecideResult) {
	if !in.Shadow {
		a.observe(in.Kind, api.LearnResult{Dropped: out.Result.Dropped, Refused: out.Result.Refused})
	}
}

// counted counts what deltas would change.
func counted(deltas []learning.Delta) api.LearnResult {
	var out api.LearnResult
	for _, d := range deltas {
		switch d.Action {
		case learning.Add:
			out.Added++
		case learning.Update:
			out.Updated++
		case learning.Supersede:
			out.Replaced++
		}
	}
	return out
}

// decide reads the attempts of a group and the known records for it, and returns the changes.
func (a *Learning) decide(ctx context.Context, sc learning.Scope, g learning.Waiting,
	kind schema.MemoryType) (learning.Draft, api.LearnResult, error) {
	draft := learning.Draft{Group: g.ID, Kind: kind, Attempts: g.Attempts}
	found := api.LearnResult{Groups: 1, Refused: map[string]int{}}
	attempts, err := a.Store.Learning.Attempts(ctx, sc, g.ID)
	if err != nil {
		return draft, found, err
	}
	trace.ShareConstraints(attempts)
	var group promote.Group
	for _, t := range attempts {
		group.Add(t)
	}
	known, err := a.Store.Learning.KnownOf(ctx, sc, g.ID, kind)
	if err != nil {
		return draft, found, err
	}
	var refused []promote.Refusal
	if kind == schema.TypePlanGraph {
		skills, err := a.skills(ctx, sc)
		if err != nil {
			return draft, found, err
		}
		draft.Deltas, refused, err = plans(&group, sc, known, skills, a.needs())
		if err != nil {
			return draft, found, err
		}
	} else if draft.Deltas, refused, err = procedures(&group, sc, known, a.needs()); err != nil {
		return draft, found, err
	}
	versions, ids := map[string]int{}, []string{}
	for _, k := range known {
		versions[k.ID.String()] = k.Version
		ids = append(ids, k.ID.String())
	}
	for i := range draft.Deltas {
		d := &draft.Deltas[i]
		d.Key, d.Words, d.IfVersion, d.Known = group.Key, wordsOf(attempts), versions[d.Target], ids
	}
	for _, r := range refused {
		found.Refused[r.Reason]++
	}
	return draft, found, nil
}

// wordsOf returns the words with which the problem or task of attempts is found.
func wordsOf(attempts []trace.Attempt) []string {
	if len(attempts) == 0 {
		return nil
	}
	if first := attempts[0]; first.Problem.IsZero() {
		return signature.OfIntent(first.Intent).Words
	}
	return attempts[0].Problem.Words
}

// procedures returns the changes of a group to the known procedures. A task of three or more steps becomes a plan and
// not also a procedure.
func procedures(g *promote.Group, sc learning.Scope, known []learning.Known, p evidence.Policy) ([]learning.Delta,
	[]promote.Refusal, error) {
	records := make([]competence.Record, len(known))
	for i, k := range known {
		records[i] = competence.Record{ID: k.ID.String(), Evidence: k.Hash, Stats: k.Stats, Wider: k.WiderThan(sc),
			Shared: k.Shared(sc)}
		if err := json.Unmarshal(k.Payload, &records[i].Payload); err != nil {
			return nil, nil, fmt.Errorf("procedure %s: %w", k.ID, err)
		}
	}
	deltas, refused := competence.Learn(g, records, p)
	var out []learning.Delta
	for _, d := range deltas {
		isPlan := strings.HasPrefix(g.Key, "intent:") && required(d.Payload.Recipe) >= plan.LeastSteps
		if d.Action == competence.Keep || isPlan {
			continue
		}
		encoded, err := json.Marshal(d.Payload)
		if err != nil {
			return nil, nil, fmt.Errorf("procedure: %w", err)
		}
		out = append(out, learning.Delta{Action: string(d.Action), Target: d.Target, Payload: encoded,
			Confidence: d.Confidence, Stats: d.Stats, Outcomes: d.Outcomes, Agents: d.Agents, Evidence: d.Evidence,
			Others: d.Others, Helped: d.Helped, Hash: d.Hash, Sensitivity: d.Sensitivity, Why: d.Why})
	}
	return out, refused, nil
}

// required counts the unconditional steps of a recipe.
func required(recipe []schema.Step) int {
	n := 0
	for _, s := range align.OfRecipe(recipe).Steps {
		if !s.Optional {
			n++
		}
	}
	return n
}

// plans returns the changes of a group to the known plans.
func plans(g *promote.Group, sc learning.Scope, known []learning.Known, skills []plan.Skill, p evidence.Policy) (
	[]learning.Delta, []promote.Refusal, error) {
	records := make([]plan.Record, len(known))
	for i, k := range known {
		records[i] = plan.Record{ID: k.ID.String(), Evidence: k.Hash, Stats: k.Stats, Wider: k.WiderThan(sc),
			Shared: k.Shared(sc)}
		if err := json.Unmarshal(k.Payload, &records[i].Payload); err != nil {
			return nil, nil, fmt.Errorf("plan %s: %w", k.ID, err)
		}
	}
	deltas, refused := plan.Learn(g, records, skills, p)
	var out []learning.Delta
	for _, d := range deltas {
		if d.Action == plan.Keep {
			continue
		}
		encoded, err := json.Marshal(d.Payload)
		if err != nil {
			return nil, nil, fmt.Errorf("plan: %w", err)
		}
		out = append(out, learning.Delta{Action: string(d.Action), Target: d.Target, Payload: encoded,
			Confidence: d.Confidence, Stats: planStats(d, known), Outcomes: d.Outcomes, Agents: d.Agents,
			Evidence: d.Evidence, Hash: d.Hash, Sensitivity: d.Sensitivity, Why: d.Why})
	}
	return out, refused, nil
}

// planStats returns the outcomes of a plan: those of the evidence or those counted from reports, whichever are more.
func planStats(d plan.Delta, known []learning.Known) evidence.Stats {
	for _, k := range known {
		if k.ID.String() == d.Target && d.Action == plan.Update && k.Stats.All.Trials() >= d.Track.Trials() {
			return k.Stats.Clone()
		}
	}
	return evidence.Stats{All: d.Track}
}

// skills returns the procedures of a scope. Plans are composed of them.
func (a *Learning) skills(ctx context.Context, sc learning.Scope) ([]plan.Skill, error) {
	known, err := a.Store.Learning.Skills(ctx, sc)
	if err != nil {
		return nil, err
	}
	var out []plan.Skill
	for _, k := range known {
		var payload schema.CompetencePayload
		if json.Unmarshal(k.Payload, &payload) == nil {
			out = append(out, plan.Skill{Name: payload.SkillName, Procedure: align.OfRecipe(payload.Recipe)})
		}
	}
	return out, nil
}
