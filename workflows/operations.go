package workflows

import (
	"go.temporal.io/sdk/workflow"

	"github.com/mneme/mneme/activities"
	"github.com/mneme/mneme/api"
	mneme "github.com/mneme/mneme/client"
	"github.com/mneme/mneme/schema"
)

var putting *activities.Putting

// Put writes full records.
func Put(ctx workflow.Context, req schema.PutRequest) (schema.PutResult, error) {
	return runOperation[schema.PutResult](ctx, operation{kind: api.KindPut, common: req.Operation, request: &req,
		step: putting.Put, summary: "put", release: func() { clear(req.Records) }})
}

var revising *activities.Revising

// Revise supersedes, forks, retracts, merges, contests or resolves memories, with a reason and evidence.
func Revise(ctx workflow.Context, req schema.ReviseRequest) (schema.ReviseResult, error) {
	release := func() {
		if req.Record != nil {
			*req.Record = schema.MemoryRecord{}
		}
	}
	return runOperation[schema.ReviseResult](ctx, operation{kind: api.KindRevise, common: req.Operation, request: &req,
		step: revising.Revise, summary: mneme.ReviseSummary(req), release: release})
}

var modifying *activities.Modifying

// Modify applies patches.
func Modify(ctx workflow.Context, req schema.ModifyRequest) (schema.ModifyResult, error) {
	return runOperation[schema.ModifyResult](ctx, operation{kind: api.KindModify, common: req.Operation, request: &req,
		step: modifying.Modify, summary: "modify", release: func() { clear(req.Patches) }})
}

var recovering *activities.Recovering

// Recover undoes soft deletions.
func Recover(ctx workflow.Context, req schema.RecoverRequest) (schema.RecoverResult, error) {
	return runOperation[schema.RecoverResult](ctx, operation{kind: api.KindRecover, common: req.Operation,
		request: &req,
		step:    recovering.Recover, summary: "recover"})
}

var reinforcing *activities.Reinforcing

// Feedback reinforces or penalises memories that a retrieval returned. It fails with NotFound if the caller has no
// such retrieval.
func Feedback(ctx workflow.Context, req schema.FeedbackRequest) (schema.FeedbackResult, error) {
	return runOperation[schema.FeedbackResult](ctx, operation{kind: api.KindFeedback, common: req.Operation,
		request: &req,
		step:    reinforcing.Feedback, summary: "feedback"})
}
