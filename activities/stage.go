package activities

import (
	"context"
	"time"

	"github.com/mneme/mneme/memory"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/store"
)

// Staging puts candidates into the staging area.
type Staging struct {
	Store       *store.Store
	Policy      memory.WritePolicy    // the loosest that a request may ask for
	Rules       func() *memory.Policy // classification rules in force; may be nil
	MaxAttempts int                   // of each candidate's job
	Now         func() time.Time
}

// StageRequest is the one activity input that carries content. It runs as a local activity, whose
// input is not written to history.
type StageRequest struct {
	OperationID string               `json:"operation_id"`
	WorkflowID  string               `json:"workflow_id"`
	Request     schema.IngestRequest `json:"request"`
}

// StageCandidates stages a request and returns the acknowledgement. Staging the same operation again
// returns the first acknowledgement.
func (a *Staging) StageCandidates(ctx context.Context, in StageRequest) (schema.IngestAck, error) {
	if err := in.Request.Validate(); err != nil {
		return schema.IngestAck{}, fail(err)
	}
	req := in.Request
	if req.Visibility == "" {
		req.Visibility = schema.VisibilityPrivate
	}
	ack, err := a.Store.Stage(ctx, store.StageInput{
		OperationID: in.OperationID,
		WorkflowID:  in.WorkflowID,
		Request:     req,
		Policy:      a.Policy.Narrow(req.Mode, req.NoUpdateDelete, req.MinFactConfidence),
		Rules:       rulesInForce(a.Rules),
		MaxAttempts: a.MaxAttempts,
		Now:         now(a.Now),
	})
	return ack, fail(err)
}

// rulesInForce returns the classification rules in force now.
func rulesInForce(current func() *memory.Policy) *memory.Policy {
	if current == nil {
		return nil
	}
	return current()
}
