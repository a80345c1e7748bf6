package activities

import (
	"context"
	"encoding/json"
	"time"

	"github.com/google/uuid"

	"github.com/mneme/mneme/api"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/store"
	"github.com/mneme/mneme/store/pipeline"
)

// OperationRef names an accepted request: all that travels through a workflow's history once the
// request has been taken in (claim check).
type OperationRef struct {
	Tenant     string `json:"tenant"`
	ID         string `json:"id"`
	WorkflowID string `json:"workflow_id"`

	Others []string `json:"others,omitempty"` // see commit.Operation
}

func (r OperationRef) store() pipeline.Operation {
	return pipeline.Operation{Tenant: r.Tenant, ID: r.ID, Others: r.Others, WorkflowID: r.WorkflowID}
}

// Accepting takes requests in.
type Accepting struct {
	Store *store.Store
	Now   func() time.Time
}

// AcceptRequest is a request with its content. It is the input of a local activity, which leaves no
// input in a history.
type AcceptRequest struct {
	Operation OperationRef    `json:"operation"`
	Kind      string          `json:"kind"` // put, revise, modify, forget, recover, review or feedback
	Body      json.RawMessage `json:"body"`

	Check   bool                `json:"check,omitempty"`   // the workflow has not validated it: a refusal is a result
	Misread []schema.FieldError `json:"misread,omitempty"` // what reading the request found wrong
}

// requests are what the bodies of operations are read into, by kind. A review's decision is checked before its update
// is accepted.
var requests = map[string]func() interface{ Validate() error }{
	"put":      func() interface{ Validate() error } { return &schema.PutRequest{} },
	"revise":   func() interface{ Validate() error } { return &schema.ReviseRequest{} },
	"modify":   func() interface{ Validate() error } { return &schema.ModifyRequest{} },
	"forget":   func() interface{ Validate() error } { return &schema.ForgetRequest{} },
	"recover":  func() interface{ Validate() error } { return &schema.RecoverRequest{} },
	"feedback": func() interface{ Validate() error } { return &schema.FeedbackRequest{} },
}

// Accept keeps a request's body in Postgres until it is carried out.
func (a *Accepting) Accept(ctx context.Context, in AcceptRequest) (Refusal, error) {
	err := a.accept(ctx, in)
	if in.Check {
		return refused(err)
	}
	return Refusal{}, fail(err)
}

func (a *Accepting) accept(ctx context.Context, in AcceptRequest) error {
	if read, ok := requests[in.Kind]; ok && in.Check {
		req := read()
		if err := json.Unmarshal(in.Body, req); err != nil {
			return &schema.ValidationError{Fields: []schema.FieldError{{Field: "(json)", Problem: "cannot be read"}}}
		}
		if err := checked(in.Misread, req, api.LargeField(in.Kind)); err != nil {
			return err
		}
	}
	return a.Store.Accept(ctx, in.Operation.store(), in.Kind, in.Body, now(a.Now))
}

// Drop deletes the body of a request whose run ends without having carried it out.
func (a *Accepting) Drop(ctx context.Context, ref OperationRef) error {
	return fail(a.Store.Drop(ctx, ref.store(), now(a.Now)))
}

// MemoriesRequest names memories by id.
type MemoriesRequest struct {
	Tenant string   `json:"tenant"`
	IDs    []string `json:"ids"`
}

// IndexMemories drains the outbox of the named memories.
func (a *Indexing) IndexMemories(ctx context.Context, in MemoriesRequest) (api.IndexResult, error) {
	ctx, stop := heartbeat(ctx)
	defer stop()
	ids := make([]uuid.UUID, 0, len(in.IDs))
	for _, s := range in.IDs {
		if id, err := uuid.Parse(s); err == nil {
			ids = append(ids, id)
		}
	}
	if len(ids) == 0 {
		return api.IndexResult{}, nil
	}
	return a.drainOnly(ctx, in.Tenant, ids)
}
