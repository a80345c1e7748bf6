package learn

import (
	"errors"
	"fmt"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/mneme/mneme/activities/topics"
	"github.com/mneme/mneme/api"
	mneme "github.com/mneme/mneme/client"
	"github.com/mneme/mneme/schema"
	storetopics "github.com/mneme/mneme/store/topics"
	"github.com/mneme/mneme/workflows/flow"
)

var topicking *topics.Topics

const (
	// topicRounds is how often a refresh reads the evidence of a topic again if the evidence changes meanwhile.
	topicRounds = 3
	// topicsAtOnce is how many topics a sweep refreshes concurrently. Model calls have a separate limit.
	topicsAtOnce = 4
	// refreshesPerRun bounds the history of a sweep: after that many refreshed topics it continues as new.
	refreshesPerRun = 300
)

// RefreshTopic compares the evidence of a standing question with that of its answer. If it is the same, the run ends:
// a second run over the same evidence writes nothing and calls no model. Otherwise it drafts an answer and publishes
// it. If a memory of the evidence was changed or forgotten in between, it reads the evidence again. If a worker dies
// after the draft was stored, the next attempt publishes that draft.
//
// If the tenant's token budget is used up, the run ends as held: the previous answer stays, marked as stale. A run
// may be cancelled at any time. Its history holds ids, hashes and counts.
func RefreshTopic(ctx workflow.Context, in api.RefreshTopicInput) (api.RefreshTopicResult, error) {
	out := api.RefreshTopicResult{Topic: in.Topic}
	if err := workflow.SetQueryHandler(ctx, api.QueryProgress, func() (api.RefreshTopicResult, error) {
		return out, nil
	}); err != nil {
		return out, err
	}
	shown := flow.Display{Lean: true}
	ref := topics.TopicRef{Tenant: in.Tenant, Topic: in.Topic}
	err := refreshTopic(ctx, shown, in, ref, &out)
	outcome := api.OutcomeOK
	switch {
	case err != nil:
		outcome = api.OutcomeFailed
	case out.Outcome == api.TopicHeld:
		outcome = api.OutcomeHeld
	}
	if ctx.Err() == nil {
		shown.Show(ctx, api.PhaseDone,
			fmt.Sprintf("%s: %d memories, %d changed, %d sentences", out.Outcome, out.Memories,
				out.Changed, out.Parts), mneme.AttrOutcome.ValueSet(outcome))
	}
	return out, err
}

func refreshTopic(ctx workflow.Context, shown flow.Display, in api.RefreshTopicInput, ref topics.TopicRef,
	out *api.RefreshTopicResult) error {
	misread := fieldsOf(flow.Validate(ctx, &in))
	for out.Rounds = 1; out.Rounds <= topicRounds; out.Rounds++ {
		shown.Show(ctx, api.PhaseCheck, "compare the evidence with that of the answer")
		var found topics.CheckTopicResult
		if err := workflow.ExecuteActivity(workflow.WithActivityOptions(ctx, flow.TopicOptions("compare the evidence")),
			topicking.CheckTopic, topics.CheckTopicRequest{TopicRef: ref,
				Misread: misread}).Get(ctx, &found); err != nil {
			return err
		}
		out.Changed, out.Memories = found.Changed, found.Memories
		if !found.Refresh {
			out.Outcome = api.TopicFresh
			return nil
		}
		if !found.Drafted {
			shown.Show(ctx, api.PhaseDraft, fmt.Sprintf("draft an answer of %d memories", found.Memories))
			drafted, err := draftTopic(ctx, ref, found.Hash)
			out.Tokens += drafted.Tokens
			if exceeded(err) {
				out.Outcome = api.TopicHeld
				return workflow.ExecuteActivity(workflow.WithActivityOptions(ctx,
					flow.StoreOptions("note the topic as held",
						flow.InfrastructureAttempts)), topicking.HoldTopic,
					topics.HoldTopicRequest{TopicRef: ref, Changed: found.Changed, Why: "token_budget"}).Get(ctx, nil)
			}
			if err != nil {
				return err
			}
			if drafted.Outcome == storetopics.Outdated {
				continue
			}
			out.Parts, out.WrittenBy, out.Fallback = drafted.Parts, drafted.WrittenBy, drafted.Fallback
		}
		if in.Shadow {
			out.Outcome = api.TopicWouldWrite
			return nil
		}
		shown.Show(ctx, api.PhaseWrite, "publish the answer")
		var published topics.PublishTopicResult
		if err := workflow.ExecuteActivity(workflow.WithActivityOptions(ctx, flow.StoreOptions("publish the answer",
			flow.InfrastructureAttempts)), topicking.PublishTopic,
			topics.PublishTopicRequest{TopicRef: ref, Hash: found.Hash}).Get(ctx, &published); err != nil {
			return err
		}
		switch published.Outcome {
		case storetopics.Written, storetopics.Unchanged:
			out.Outcome, out.Number = api.TopicAnswered, published.Number
			return nil
		}
	}
	out.Rounds, out.Outcome = topicRounds, api.TopicMoving
	return nil
}

// draftTopic drafts the answer by a model or, if it could not be reached, by the rules.
func draftTopic(ctx workflow.Context, ref topics.TopicRef, hash string) (topics.DraftTopicResult, error) {
	info := workflow.GetInfo(ctx)
	in := topics.DraftTopicRequest{TopicRef: ref, Hash: hash,
		Key: info.WorkflowExecution.ID + "#" + info.FirstRunID}
	var out topics.DraftTopicResult
	err := workflow.ExecuteActivity(workflow.WithActivityOptions(ctx, flow.DraftOptions), topicking.DraftTopic,
		in).Get(ctx, &out)
	if !unreachable(err) {
		return out, err
	}
	in.Rules = true
	err = workflow.ExecuteActivity(workflow.WithActivityOptions(ctx,
		flow.TopicOptions("write the answer by the rules")),
		topicking.DraftTopic, in).Get(ctx, &out)
	return out, err
}

// exceeded reports whether a call did not fit into the token budget.
func exceeded(err error) bool {
	var refused *temporal.ApplicationError
	return errors.As(err, &refused) && refused.Type() == api.ErrTypeBudgetExceeded
}

// unreachable reports whether a model gave no answer in all attempts.
func unreachable(err error) bool {
	var pending *temporal.ApplicationError
	return errors.As(err, &pending) && pending.Type() == api.ErrTypeItemsPending
}

// RefreshTopics compares the topics of one tenant, or of all, and refreshes those whose evidence has changed, each in
// a child RefreshTopic, a few at a time. It continues if a topic is being refreshed already or fails.
func RefreshTopics(ctx workflow.Context, in api.RefreshTopicsInput) (api.RefreshTopicsResult, error) {
	out := api.RefreshTopicsResult{}
	if in.Sofar != nil {
		out = *in.Sofar
	}
	if err := workflow.SetQueryHandler(ctx, api.QueryProgress, func() (api.RefreshTopicsResult, error) {
		return out, nil
	}); err != nil {
		return out, err
	}
	shown := flow.Display{Lean: true}
	shown.Show(ctx, api.PhaseSweep, sweptTopics(out))
	misread := fieldsOf(flow.Validate(ctx, &in))
	for refreshed := 0; !out.Done; {
		if refreshed >= refreshesPerRun || workflow.GetInfo(ctx).GetContinueAsNewSuggested() {
			return out, flow.ContinueAsNew(ctx, RefreshTopics,
				api.RefreshTopicsInput{Tenant: in.Tenant, Shadow: in.Shadow,
					Sofar: &out})
		}
		var page topics.ScanTopicsResult
		if err := workflow.ExecuteActivity(workflow.WithActivityOptions(ctx, flow.SweepOptions("compare topics")),
			topicking.ScanTopics, topics.ScanTopicsRequest{Tenant: in.Tenant, Cursor: out.Cursor, Misread: misread}).
			Get(ctx, &page); err != nil {
			shown.Show(ctx, api.PhaseSweep, sweptTopics(out), mneme.AttrOutcome.ValueSet(api.OutcomeFailed))
			return out, err
		}
		out.Checked, out.Failed = out.Checked+page.Checked, out.Failed+page.Failed
		out.Fresh += page.Checked - len(page.Due)
		refreshed += len(page.Due)
		if err := refreshAll(ctx, page.Due, in.Shadow, &out); err != nil {
			return out, err
		}
		out.Cursor, out.Done = page.Cursor, page.Done
		shown.Show(ctx, api.PhaseSweep, sweptTopics(out))
	}
	outcome := api.OutcomeOK
	switch {
	case out.Failed > 0:
		outcome = api.OutcomeFailed
	case out.Held > 0:
		outcome = api.OutcomeHeld
	}
	shown.Show(ctx, api.PhaseDone, sweptTopics(out), mneme.AttrOutcome.ValueSet(outcome))
	return out, nil
}

// refreshAll refreshes topics, topicsAtOnce at the same time, and counts the outcomes.
func refreshAll(ctx workflow.Context, due []topics.TopicRef, shadow bool, out *api.RefreshTopicsResult) error {
	turns := workflow.NewSemaphore(ctx, topicsAtOnce)
	all := workflow.NewWaitGroup(ctx)
	for _, ref := range due {
		if err := turns.Acquire(ctx, 1); err != nil {
			return err
		}
		all.Add(1)
		workflow.Go(ctx, func(ctx workflow.Context) {
			defer all.Done()
			defer turns.Release(1)
			var done api.RefreshTopicResult
			err := workflow.ExecuteChildWorkflow(workflow.WithChildOptions(ctx, topicChild(ref)), RefreshTopic,
				api.RefreshTopicInput{Tenant: ref.Tenant, Topic: ref.Topic, Shadow: shadow}).Get(ctx, &done)
			countTopic(out, done, err)
		})
	}
	all.Wait(ctx)
	return ctx.Err()
}

// topicChild returns the options with which a sweep starts the refresh of a topic. The id allows one run of a topic at
// a time.
func topicChild(ref topics.TopicRef) workflow.ChildWorkflowOptions {
	return workflow.ChildWorkflowOptions{
		WorkflowID:               api.RefreshTopicWorkflowID(ref.Tenant, ref.Topic),
		WorkflowIDReusePolicy:    enumspb.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE,
		WorkflowExecutionTimeout: flow.TopicTimeout,
		StaticSummary:            "refresh a standing question",
		TypedSearchAttributes:    mneme.OfTenant(ref.Tenant),
	}
}

func countTopic(out *api.RefreshTopicsResult, done api.RefreshTopicResult, err error) {
	out.Tokens += done.Tokens
	switch {
	case temporal.IsWorkflowExecutionAlreadyStartedError(err):
		out.Fresh++ // the other run compares it as well
	case err != nil:
		out.Failed++
	case done.Outcome == api.TopicFresh:
		out.Fresh++
	case done.Outcome == api.TopicAnswered:
		out.Answered++
	case done.Outcome == api.TopicWouldWrite:
		out.Would++
	case done.Outcome == api.TopicHeld:
		out.Held++
	default:
		out.Moving++
	}
}

func sweptTopics(out api.RefreshTopicsResult) string {
	return fmt.Sprintf("%d topics compared: %d answered, %d held, %d failed", out.Checked, out.Answered, out.Held,
		out.Failed)
}

// fieldsOf returns the invalid fields of an input. The first activity refuses them; its outcome is recorded, so that a
// run still replays after validation has changed.
func fieldsOf(err error) []schema.FieldError {
	var invalid *schema.ValidationError
	if errors.As(err, &invalid) {
		return invalid.Fields
	}
	return nil
}
