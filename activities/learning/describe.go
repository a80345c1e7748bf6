package learning

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/mneme/mneme/activities/step"
	"github.com/mneme/mneme/api"
	"github.com/mneme/mneme/inference"
	"github.com/mneme/mneme/memory/learning/plan"
	"github.com/mneme/mneme/memory/learning/wording"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/store/learning"
)

// Constants of descriptions.
const (
	promptOverhead = 3_000       // bytes of the prompt without the procedure
	purpose        = "procedure" // the purpose of reserved tokens
	purposePlan    = "plan"
)

// Reasons to use the description of the rules instead of a model's.
const (
	modelSilent  = "model_no_answer"
	modelInvents = "model_invents"
	nameTaken    = "model_name_taken"
)

// subject is a new procedure or a new plan that a model is asked to describe.
type subject struct {
	wording.Subject
	purpose string // what tokens are reserved for
	// worded returns the payload with the words of a checked description, and its name.
	worded func(wording.Description) (payload any, name string)
}

// subjectOf returns the part of a delta that a model may describe, and false if the delta needs no description.
func subjectOf(kind schema.MemoryType, d learning.Delta) (subject, bool) {
	switch {
	case kind == schema.TypeCompetence && (d.Action == learning.Add || d.Action == learning.Supersede):
		var p schema.CompetencePayload
		if json.Unmarshal(d.Payload, &p) != nil {
			return subject{}, false
		}
		of, ok := wording.Of(p)
		return subject{Subject: of, purpose: purpose, worded: func(said wording.Description) (any, string) {
			worded := wording.Apply(said, p)
			return worded, worded.SkillName
		}}, ok
	case kind == schema.TypePlanGraph && d.Action == learning.Add: // a new version keeps the name of the plan
		var p schema.PlanGraphPayload
		if json.Unmarshal(d.Payload, &p) != nil {
			return subject{}, false
		}
		nodes, err := plan.Order(p)
		if err != nil {
			return subject{}, false
		}
		of, ok := wording.OfPlan(p, nodes)
		return subject{Subject: of, purpose: purposePlan, worded: func(said wording.Description) (any, string) {
			worded := wording.ApplyToPlan(said, p)
			return worded, worded.PlanID
		}}, ok
	}
	return subject{}, false
}

// describe asks a model to word the new parts of a draft: the name and the steps of a procedure, the name of a plan.
// The answer is used only if it describes exactly the learned steps; otherwise the words of the rules are kept.
func (a *Learning) describe(ctx context.Context, sc learning.Scope, draft *learning.Draft,
	found *api.LearnResult) error {
	var taken []string
	for i := range draft.Deltas {
		d := &draft.Deltas[i]
		subject, ok := subjectOf(draft.Kind, *d)
		if !ok {
			continue
		}
		if taken == nil {
			var err error
			if taken, err = a.taken(ctx, sc, draft); err != nil {
				return err
			}
		}
		said, spent, err := a.requestDescription(ctx, sc.Tenant, d.Hash, subject)
		found.Tokens, found.Held = found.Tokens+spent.Tokens, found.Held || spent.Held
		if err != nil {
			return err
		}
		if spent.Held {
			return nil // the next one does not fit either
		}
		worded, name, reason := used(said, spent, subject, draft.Kind, taken)
		if reason != "" {
			found.Refused[reason]++
			continue
		}
		d.Payload = worded
		taken = append(taken, name)
	}
	return nil
}

// taken returns the names of other procedures of the scope, or of other plans for the task.
func (a *Learning) taken(ctx context.Context, sc learning.Scope, draft *learning.Draft) ([]string, error) {
	out := []string{}
	if draft.Kind == schema.TypePlanGraph {
		known, err := a.Store.Learning.KnownOf(ctx, sc, draft.Group, draft.Kind)
		for _, k := range known {
			var p schema.PlanGraphPayload
			if json.Unmarshal(k.Payload, &p) == nil {
				out = append(out, p.PlanID)
			}
		}
		return out, err
	}
	skills, err := a.skills(ctx, sc)
	for _, s := range skills {
		out = append(out, s.Name)
	}
	return out, err
}

// requestDescription asks the model for a description, within the budget.
func (a *Learning) requestDescription(
	ctx context.Context, tenant, hash string, s subject,
) (wording.Description, step.Spent, error) {
	meter := step.Meter{Store: a.Store, Limit: a.Budget, Held: a.Held, Now: a.Now}
	var said wording.Description
	spent, err := meter.Ask(ctx, step.Metered{Tenant: tenant, Purpose: s.purpose, Key: s.purpose + ":" + hash,
		Bytes: promptOverhead + s.Size(), Answer: inference.DescriptionAnswerTokens},
		func(ctx context.Context) (usage inference.Usage, err error) {
			said, usage, err = a.Describer.Describe(ctx, s.Subject)
			return usage, err
		})
	return said, spent, err
}

// used returns the learned payload in the words of a model and its name, or the reason why these words are not used.
func used(said wording.Description, spent step.Spent, s subject, kind schema.MemoryType,
	taken []string) (payload json.RawMessage, name, reason string) {
	if spent.Failed != "" || len(said.Steps) == 0 {
		return nil, "", modelSilent
	}
	said, err := wording.Check(said, s.Subject)
	if err != nil {
		return nil, "", modelInvents
	}
	worded, name := s.worded(said)
	if slices.Contains(taken, name) {
		return nil, "", nameTaken
	}
	encoded, err := json.Marshal(worded)
	if err != nil || schema.ValidatePayload(kind, encoded) != nil {
		return nil, "", modelInvents
	}
	return encoded, name, ""
}
