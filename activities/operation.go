package activities

import (
	"context"
	"encoding/json"
	"time"

	"github.com/mneme/mneme/activities/step"
	"github.com/mneme/mneme/api"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/store"
)

// Accepting stages the bodies of requests.
type Accepting struct {
	Store *store.Store
	Now   func() time.Time
}

// AcceptRequest is a request with its content. It is the input of a local activity, so the history does not contain
// the content.
type AcceptRequest struct {
	Operation schema.OperationRef `json:"operation"`
	Kind      string              `json:"kind"` // put, revise, modify, forget, recover, review or feedback
	Body      json.RawMessage     `json:"body"`

	Check   bool                `json:"check,omitempty"`   // validate the body, and return a refusal as a result
	Misread []schema.FieldError `json:"misread,omitempty"` // problems found when the request was decoded
}

// requests maps a kind of operation to the type of its body. It has no review, because a review's decision is checked
// before its update is accepted.
var requests = map[string]func() interface{ Validate() error }{
	"put":      func() interface{ Validate() error } { return &schema.PutRequest{} },
	"revise":   func() interface{ Validate() error } { return &schema.ReviseRequest{} },
	"modify":   func() interface{ Validate() error } { return &schema.ModifyRequest{} },
	"forget":   func() interface{ Validate() error } { return &schema.ForgetRequest{} },
	"recover":  func() interface{ Validate() error } { return &schema.RecoverRequest{} },
	"feedback": func() interface{ Validate() error } { return &schema.FeedbackRequest{} },
}

// Accept keeps a request's body in Postgres until the request is carried out.
func (a *Accepting) Accept(ctx context.Context, in AcceptRequest) (Refusal, error) {
	err := a.accept(ctx, in)
	if in.Check {
		return refused(err)
	}
	return Refusal{}, step.Fail(err)
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
	return a.Store.Accept(ctx, in.Operation, in.Kind, in.Body, step.Now(a.Now))
}

// Drop deletes the body of a request that its run did not carry out.
func (a *Accepting) Drop(ctx context.Context, ref schema.OperationRef) error {
	return step.Fail(a.Store.Drop(ctx, ref, step.Now(a.Now)))
}
