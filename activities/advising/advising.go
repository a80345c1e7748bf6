package advising

import (
	"context"
	"errors"

	"github.com/google/uuid"

	"github.com/mneme/mneme/activities"
	"github.com/mneme/mneme/activities/step"
	"github.com/mneme/mneme/api"
	"github.com/mneme/mneme/recall/advising"
	"github.com/mneme/mneme/schema"
)

// Advising is the path of advice for clients that speak only Temporal.
type Advising struct {
	Adviser  *advising.Adviser
	Arrivals *step.Arrivals // receives the memories with a reported outcome; may be nil
}

// AdviseRequest is a request for advice. Its key is the same for a repeated question.
type AdviseRequest struct {
	Key     string            `json:"key"`
	Request api.AdviseRequest `json:"request"`
}

// AdviseResult is advice, or a refusal.
type AdviseResult struct {
	api.AdviseResponse
	activities.Refusal
}

// Advise chooses what to do. Its result carries content.
func (a *Advising) Advise(ctx context.Context, in AdviseRequest) (AdviseResult, error) {
	in.Request.DropUnread() // of a newer worker; a caller's were refused or left out before
	out, err := a.Adviser.AdviseAs(ctx, activities.RetrievalID(in.Key), in.Request)
	r, err := refused(err)
	return AdviseResult{AdviseResponse: out, Refusal: r}, err
}

// ReportResult is the effect of a report, or a refusal.
type ReportResult struct {
	api.ReportResult
	activities.Refusal
}

// Report counts the outcome of following advice. A repeated delivery returns the first result.
func (a *Advising) Report(ctx context.Context, in api.ReportRequest) (ReportResult, error) {
	in.DropUnread() // of a newer worker; a caller's were refused or left out before
	out, err := a.Adviser.Report(ctx, in)
	r, err := refused(err)
	if err == nil && r.Invalid == nil {
		var about []uuid.UUID
		for _, name := range []string{in.Used, out.Successor} {
			if id, parsed := uuid.Parse(name); parsed == nil {
				about = append(about, id)
			}
		}
		err = step.Fail(a.Arrivals.Reported(ctx, in.Principal.Tenant, about...))
	}
	return ReportResult{ReportResult: out, Refusal: r}, err
}

func refused(err error) (activities.Refusal, error) {
	var invalid *schema.ValidationError
	if errors.As(err, &invalid) {
		return activities.Refusal{Invalid: invalid.Fields}, nil
	}
	return activities.Refusal{}, step.Fail(err)
}
