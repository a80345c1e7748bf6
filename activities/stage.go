package activities

import (
	"context"
	"errors"
	"time"

	"github.com/google/uuid"

	"github.com/mneme/mneme/activities/step"
	"github.com/mneme/mneme/api"
	"github.com/mneme/mneme/memory/policy"
	"github.com/mneme/mneme/memory/proposals"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/store"
	"github.com/mneme/mneme/store/pipeline"
)

// Staging puts candidates into the staging area.
type Staging struct {
	Store       *store.Store
	Policy      proposals.WritePolicy // the most permissive policy that a request may have
	Rules       func() *policy.Policy // classification rules in force; may be nil
	MaxAttempts int                   // of each candidate's job
	Now         func() time.Time
}

// StageRequest is a request with its content. It is the input of a local activity, so that the content is not in the
// history a second time.
type StageRequest struct {
	OperationID string               `json:"operation_id"`
	OtherIDs    []string             `json:"other_ids,omitempty"` // see schema.OperationRef.Others
	WorkflowID  string               `json:"workflow_id"`
	Request     schema.IngestRequest `json:"request"`

	Misread []schema.FieldError `json:"misread,omitempty"` // problems found when the request was decoded
	Unknown []string            `json:"unknown,omitempty"` // unknown fields, which were ignored
	// Compact omits ids that can be computed from the batch's id, and returns a refusal as a result.
	Compact bool `json:"compact,omitempty"`
}

// StageResult is an acknowledgement. Its ids may be omitted.
type StageResult struct {
	schema.IngestAck
	Size   int            `json:"size,omitempty"`   // number of candidates, if the ids are omitted
	Others map[int]string `json:"others,omitempty"` // ids by position, if they are not schema.CandidateID
	Refusal
}

// Refusal has the problems of a request that the workflow has not validated. It is a result and not a failure, because
// with a key, results in histories are encrypted, and failures of local activities are not.
type Refusal struct {
	Invalid []schema.FieldError `json:"invalid,omitempty"`
}

// Err is a *schema.ValidationError, or nil.
func (r Refusal) Err() error {
	if len(r.Invalid) == 0 {
		return nil
	}
	return &schema.ValidationError{Fields: r.Invalid}
}

// refused turns a *schema.ValidationError into a refusal; other errors stay errors.
func refused(err error) (Refusal, error) {
	var invalid *schema.ValidationError
	if errors.As(err, &invalid) {
		return Refusal{Invalid: invalid.Fields}, nil
	}
	return Refusal{}, step.Fail(err)
}

// Ack returns the acknowledgement with all ids.
func (r StageResult) Ack() schema.IngestAck {
	ack := r.IngestAck
	if batch, err := uuid.Parse(ack.BatchID); err == nil && r.Size > 0 {
		ack.MemoryIDs = make([]string, r.Size)
		for i := range ack.MemoryIDs {
			ack.MemoryIDs[i] = schema.CandidateID(batch, i).String()
			if other, ok := r.Others[i]; ok {
				ack.MemoryIDs[i] = other
			}
		}
	}
	return ack
}

// Compact omits the ids that Ack can compute.
func Compact(ack schema.IngestAck) StageResult {
	out := StageResult{IngestAck: ack, Size: len(ack.MemoryIDs), Others: map[int]string{}}
	batch, err := uuid.Parse(ack.BatchID)
	if err != nil {
		return StageResult{IngestAck: ack}
	}
	for i, id := range ack.MemoryIDs {
		if id != schema.CandidateID(batch, i).String() {
			out.Others[i] = id
		}
	}
	out.MemoryIDs = nil
	return out
}

// StageCandidates stages a request and returns the acknowledgement. Staging the same operation again
// returns the first acknowledgement.
func (a *Staging) StageCandidates(ctx context.Context, in StageRequest) (StageResult, error) {
	req := in.Request
	req.DropUnread()
	if err := checked(in.Misread, &req, "candidates"); err != nil {
		if !in.Compact {
			return StageResult{}, step.Fail(err)
		}
		r, err := refused(err)
		return StageResult{Refusal: r}, err
	}
	if req.Visibility == "" {
		req.Visibility = schema.VisibilityPrivate
	}
	ack, err := a.Store.Stage(ctx, pipeline.StageInput{
		OperationID: in.OperationID,
		OtherIDs:    in.OtherIDs,
		WorkflowID:  in.WorkflowID,
		Request:     req,
		Contents:    contentsOf(in.Request),
		Policy:      a.Policy.Narrow(req.Mode, req.NoUpdateDelete, req.MinFactConfidence),
		Rules:       step.RulesInForce(a.Rules),
		MaxAttempts: a.MaxAttempts,
		Now:         step.Now(a.Now),
	})
	ack.Ignored = in.Unknown
	switch {
	case err == nil && in.Compact:
		return Compact(ack), nil
	case err == nil:
		return StageResult{IngestAck: ack}, nil
	case in.Compact:
		r, err := refused(err)
		return StageResult{Refusal: r}, err
	}
	return StageResult{}, step.Fail(err)
}

// contentsOf returns the digest of the contents with which the key of a request may be repeated.
func contentsOf(req schema.IngestRequest) string {
	if req.IdempotencyKey == "" {
		return ""
	}
	return api.ContentDigest(req)
}

// checked returns the problems of a request: from decoding, from validation, or its size. large is the field that may
// be large, or empty.
func checked(misread []schema.FieldError, req interface{ Validate() error }, large string) error {
	if len(misread) > 0 { // problems found by validation may follow from these
		return &schema.ValidationError{Fields: misread}
	}
	if err := req.Validate(); err != nil || large == "" {
		return err
	}
	return schema.CheckEncoded(large, req)
}
