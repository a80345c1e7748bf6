package step

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.temporal.io/sdk/activity"

	"github.com/mneme/mneme/inference"
	"github.com/mneme/mneme/memory/budget"
	"github.com/mneme/mneme/store/budgets"
)

// Meter calls models within the token budget of a tenant. It is for calls whose answer the rules can replace.
type Meter struct {
	Store interface {
		ReserveTokens(ctx context.Context, r budgets.Reservation, now time.Time) error
		SettleTokens(ctx context.Context, tenant, key string, used int64, now time.Time) error
	}
	Limit int64            // tokens of a tenant and day; 0: no limit
	Held  func(use string) // called when a call does not fit into the budget; may be nil
	Now   func() time.Time
}

// Metered is one call.
type Metered struct {
	Tenant  string
	Purpose string
	Key     string // of the call, within the run of the activity
	Bytes   int    // of the prompt
	Answer  int    // tokens of the longest answer
}

// Spent is the cost of a call, and the reason if there is no answer.
type Spent struct {
	Tokens int
	Held   bool   // the call does not fit into the budget of the day
	Failed string // the endpoint's failure; empty if it answered
}

// Ask reserves the tokens of a call, makes the call and settles the tokens used. It returns an error only if the
// activity must end: a failed model call is not retried, because the rules have an answer.
func (m Meter) Ask(ctx context.Context, call Metered,
	request func(context.Context) (inference.Usage, error)) (Spent, error) {
	key := call.Key
	if activity.IsActivity(ctx) {
		info := activity.GetInfo(ctx)
		key = fmt.Sprintf("%s/%s/%s/%d", info.WorkflowExecution.RunID, info.ActivityID, call.Key, info.Attempt)
	}
	var exceeded *budget.ExceededError
	err := m.Store.ReserveTokens(ctx, budgets.Reservation{Tenant: call.Tenant, Key: key, Purpose: call.Purpose,
		Tokens: budget.Estimate(call.Bytes, call.Answer), Limit: m.Limit}, Now(m.Now))
	switch {
	case errors.As(err, &exceeded):
		if m.Held != nil {
			m.Held(call.Purpose)
		}
		return Spent{Held: true}, nil
	case err != nil:
		return Spent{}, err
	}
	Advance(ctx)
	usage, err := request(ctx)
	Advance(ctx)
	used := usage.PromptTokens + usage.CompletionTokens
	out := Spent{Tokens: int(used)}
	// A call without usage may have been charged: its reservation stays.
	if used > 0 {
		if err := m.Store.SettleTokens(context.WithoutCancel(ctx), call.Tenant, key, used, Now(m.Now)); err != nil {
			return out, err
		}
	}
	if err != nil {
		if ctx.Err() != nil {
			return out, context.Cause(ctx)
		}
		_, _, _, out.Failed = Classify(err)
	}
	return out, nil
}
