package learning

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/mneme/mneme/activities/step"
	"github.com/mneme/mneme/api"
	"github.com/mneme/mneme/inference"
	"github.com/mneme/mneme/memory/learning/wording"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/store/learning"
)

// Constants of descriptions.
const (
	promptOverhead = 3_000       // bytes of the prompt without the procedure
	purpose        = "procedure" // what tokens are reserved for
)

// Reasons for which the description of a model is not used, and the rules' is.
const (
	modelSilent  = "model_no_answer"
	modelInvents = "model_invents"
	nameTaken    = "model_name_taken"
)

// describe asks a model to word the new procedures of a draft. Its text is used only if it describes the learned
// steps and nothing else; otherwise the words of the rules stay.
func (a *Learning) describe(ctx context.Context, sc learning.Scope, draft *learning.Draft,
	found *api.LearnResult) error {
	var taken []string
	for i := range draft.Deltas {
		d := &draft.Deltas[i]
		if d.Action != learning.Add && d.Action != learning.Supersede {
			continue
		}
		var payload schema.CompetencePayload
		if json.Unmarshal(d.Payload, &payload) != nil {
			continue
		}
		subject, ok := wording.Of(payload)
		if !ok {
			continue
		}
		if taken == nil {
			skills, err := a.skills(ctx, sc)
			if err != nil {
				return err
			}
			for _, s := range skills {
				taken = append(taken, s.Name)
			}
		}
		said, spent, err := a.ask(ctx, sc.Tenant, d.Hash, subject)
		found.Tokens, found.Held = found.Tokens+spent.Tokens, found.Held || spent.Held
		if err != nil {
			return err
		}
		if spent.Held {
			return nil // the next procedure does not fit either
		}
		worded, reason := used(said, spent, subject, payload, taken)
		if reason != "" {
			found.Refused[reason]++
			continue
		}
		if d.Payload, err = json.Marshal(worded); err != nil {
			return err
		}
		taken = append(taken, worded.SkillName)
	}
	return nil
}

// ask calls the model, within the budget.
func (a *Learning) ask(ctx context.Context, tenant, hash string, subject wording.Subject) (wording.Description,
	step.Spent, error) {
	meter := step.Meter{Store: a.Store, Limit: a.Budget, Held: a.Held, Now: a.Now}
	var said wording.Description
	spent, err := meter.Ask(ctx, step.Metered{Tenant: tenant, Purpose: purpose, Key: purpose + ":" + hash,
		Bytes: promptOverhead + subject.Size(), Answer: inference.DescriptionAnswerTokens},
		func(ctx context.Context) (usage inference.Usage, err error) {
			said, usage, err = a.Describer.Describe(ctx, subject)
			return usage, err
		})
	return said, spent, err
}

// used is a procedure in the words of a model, or the reason why they are not used.
func used(said wording.Description, spent step.Spent, subject wording.Subject, payload schema.CompetencePayload,
	taken []string) (schema.CompetencePayload, string) {
	if spent.Failed != "" || len(said.Steps) == 0 {
		return payload, modelSilent
	}
	said, err := wording.Check(said, subject)
	if err != nil {
		return payload, modelInvents
	}
	worded := wording.Apply(said, payload)
	if slices.Contains(taken, worded.SkillName) {
		return payload, nameTaken
	}
	encoded, err := json.Marshal(worded)
	if err != nil || schema.ValidatePayload(schema.TypeCompetence, encoded) != nil {
		return payload, modelInvents
	}
	return worded, ""
}
