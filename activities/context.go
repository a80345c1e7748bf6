package activities

import (
	"context"

	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/schema/ledger"
)

// ContextRequest is a request for a context.
type ContextRequest struct {
	Request ledger.ContextRequest `json:"request"`

	Misread []schema.FieldError `json:"misread,omitempty"` // problems found by decoding, unknown fields included
}

// ContextResult is a context, or a refusal.
type ContextResult struct {
	ledger.ContextResponse
	Refusal
}

// BuildContext builds the context that an agent reads before it acts. The result carries content. It writes nothing
// except the access times of recalled memories.
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
