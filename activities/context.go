package activities

import (
	"context"

	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/schema/ledger"
)

// ContextRequest asks for a context.
type ContextRequest struct {
	Request ledger.ContextRequest `json:"request"`

	Misread []schema.FieldError `json:"misread,omitempty"` // what reading the request found wrong or did not know
}

// ContextResult is a context, or a refusal.
type ContextResult struct {
	ledger.ContextResponse
	Refusal
}

// BuildContext builds what an agent reads before it acts. Its result carries content; it changes nothing but the record
// of the access to recalled memories.
func (a *Recalling) BuildContext(ctx context.Context, in ContextRequest) (ContextResult, error) {
	if len(in.Misread) > 0 {
		return ContextResult{Refusal: Refusal{Invalid: in.Misread}}, nil
	}
	out, err := a.Contexts.Build(ctx, in.Request)
	if err != nil {
		r, err := refused(err)
		return ContextResult{Refusal: r}, err
	}
	return ContextResult{ContextResponse: out}, nil
}
