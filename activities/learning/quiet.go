package learning

import (
	"context"
	"time"

	"github.com/mneme/mneme/activities/step"
	"github.com/mneme/mneme/api"
)

// DueResult says whether a scope is due, without content.
type DueResult struct {
	New    int           `json:"new"` // independent episodes and reports that no run has processed
	Enough bool          `json:"enough,omitempty"`
	Wait   time.Duration `json:"wait,omitempty"` // until the scope has been quiet for long enough
	// Mark is the watermarks of the scope as text. A run that processes evidence moves one of them.
	Mark string `json:"mark,omitempty"`
}

// EvidenceDue checks whether a scope has enough new evidence, and for how long it has been quiet. The rule comes from
// the worker's settings.
func (a *Learning) EvidenceDue(ctx context.Context, in api.LearnScope) (DueResult, error) {
	if err := in.ValidateScope(); err != nil {
		return DueResult{}, step.Fail(err)
	}
	p, err := a.Store.Learning.Pending(ctx, scopeOf(in), a.Due, step.Now(a.Now))
	if err != nil {
		return DueResult{}, step.Fail(err)
	}
	return DueResult{New: p.New, Enough: p.Enough, Wait: p.Wait,
		Mark: p.Mark.At.UTC().Format(time.RFC3339Nano) + " " + p.Mark.ID.String() + " " +
			p.Reports.At.UTC().Format(time.RFC3339Nano)}, nil
}
