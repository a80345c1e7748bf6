package learning

import (
	"context"
	"encoding/json"
	"time"

	"github.com/google/uuid"
	"go.temporal.io/sdk/activity"

	"github.com/mneme/mneme/activities/step"
	"github.com/mneme/mneme/api"
	"github.com/mneme/mneme/inference"
	"github.com/mneme/mneme/memory/learning/due"
	"github.com/mneme/mneme/memory/learning/evidence"
	"github.com/mneme/mneme/memory/policy"
	"github.com/mneme/mneme/memory/proposals"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/store"
	"github.com/mneme/mneme/store/learning"
)

// Learning carries out the steps of learning.
type Learning struct {
	Store  *store.Store
	Policy proposals.WritePolicy
	// Rules returns the classification rules in force; nil, or a nil policy, for the defaults.
	Rules    func() *policy.Policy
	Evidence evidence.Policy                       // requirements of a promotion; the zero value: evidence.Default
	Due      due.Rule                              // when a scope is consolidated without a request
	Observe  func(workflow, verdict string, n int) // called with the verdict on each change; may be nil
	Now      func() time.Time

	Describer inference.Describer // describes what is learned; if nil, the rules do
	Budget    int64               // tokens of a tenant and day; 0: no limit
	Held      func(use string)    // called when a call does not fit into the budget; may be nil
}

func (a *Learning) needs() evidence.Policy {
	if a.Evidence == (evidence.Policy{}) {
		return evidence.Default()
	}
	return a.Evidence
}

// observe reports the verdicts on changes of a kind.
func (a *Learning) observe(kind schema.MemoryType, r api.LearnResult) {
	if a.Observe == nil {
		return
	}
	workflow := api.WorkflowExtractCompetence
	if kind == schema.TypePlanGraph {
		workflow = api.WorkflowExtractPlans
	}
	for verdict, n := range r.Verdicts() {
		a.Observe(workflow, verdict, n)
	}
}

func scopeOf(s api.LearnScope) learning.Scope {
	return learning.Scope{Tenant: s.Tenant, Agent: s.Agent, Project: s.Project, Scope: s.Scope}
}

// Limits of one activity. goOnFor is how long it looks for scopes before it returns a page.
const (
	scopesPage = 200
	groupsPage = 50
	goOnFor    = 5 * time.Second
	tenantPage = 100
)

// ScopesRequest is a request for a page of scopes with something to learn from.
type ScopesRequest struct {
	Tenant string `json:"tenant,omitempty"` // only this tenant
	After  string `json:"after,omitempty"`  // the cursor of the previous page
}

// ScopesResult is a page of scopes.
type ScopesResult struct {
	Scopes []api.LearnScope `json:"scopes,omitempty"`
	Next   string           `json:"next,omitempty"`
	Done   bool             `json:"done,omitempty"`
}

// place is the decoded cursor of ListScopes.
type place struct {
	Passed string          `json:"passed,omitempty"` // the last tenant that is finished
	At     *learning.Scope `json:"at,omitempty"`     // the last visited scope of the tenant after it
}

// ListScopes lists scopes with unprocessed evidence, of one tenant or of all.
func (a *Learning) ListScopes(ctx context.Context, in ScopesRequest) (ScopesResult, error) {
	var at place
	if in.After != "" {
		if err := json.Unmarshal([]byte(in.After), &at); err != nil {
			return ScopesResult{}, step.Fail(&schema.ValidationError{Fields: []schema.FieldError{{Field: "after",
				Problem: "is not a cursor of scopes"}}})
		}
	}
	work, ctx := step.StartWork(ctx, at)
	defer work.Stop()
	at = work.SoFar()
	var out ScopesResult
	began := time.Now()
	for len(out.Scopes) < scopesPage && time.Since(began) < goOnFor {
		from, first := learning.Scope{}, at.At == nil
		if first {
			tenant, err := a.nextTenant(ctx, in.Tenant, at.Passed)
			if err != nil {
				return out, step.Fail(step.Stalled(ctx, err))
			}
			if tenant == "" {
				out.Done = true
				return out, nil
			}
			from.Tenant = tenant
		} else {
			from = *at.At
		}
		page, err := a.Store.Learning.Scopes(ctx, from, first, a.needs().Least, scopesPage)
		if err != nil {
			return out, step.Fail(step.Stalled(ctx, err))
		}
		for _, s := range page.Due {
			out.Scopes = append(out.Scopes, step.LearnScope(s))
		}
		if at.At = &page.Last; !page.More {
			at = place{Passed: from.Tenant}
		}
		if len(out.Scopes) == 0 { // a retried attempt loses nothing
			work.Note(at)
		}
	}
	next, err := json.Marshal(at)
	out.Next = string(next)
	return out, err
}

// nextTenant returns the tenant after one, or "" if there is none.
func (a *Learning) nextTenant(ctx context.Context, only, after string) (string, error) {
	if only != "" {
		if after == only {
			return "", nil
		}
		return only, nil
	}
	tenants, err := a.Store.Tenants(ctx, after, 1)
	if err != nil || len(tenants) == 0 {
		return "", err
	}
	return tenants[0], nil
}

// IndexRequest is a request to record the attempts in a scope's new episodes.
type IndexRequest struct {
	api.LearnScope
	Full bool `json:"full,omitempty"` // from the first episode on
	// Reopen, with Full, marks the groups of this kind to be decided again.
	Reopen schema.MemoryType `json:"reopen,omitempty"`
}

// IndexResult counts new episodes and the attempts in them.
type IndexResult struct {
	Read     int `json:"read"`
	Attempts int `json:"attempts"`
}

// indexing is the progress of IndexEvidence.
type indexing struct {
	IndexResult
	At     learning.Position `json:"at"`
	Placed bool              `json:"placed"`
	Passes int               `json:"passes,omitempty"` // finished passes
	New    int               `json:"new,omitempty"`    // new episodes of the current pass
}

// maxPasses is how often IndexEvidence reads what lies shortly before its watermark again. Episodes that arrive all the
// time must not keep it from ending.
const maxPasses = 5

// IndexEvidence reads the new episodes of a scope and records the attempts in them, page by page. It holds only one
// page in memory. An episode may be committed while it reads later ones: after a pass that found new episodes it begins
// again shortly before its watermark, until a pass finds none.
func (a *Learning) IndexEvidence(ctx context.Context, in IndexRequest) (IndexResult, error) {
	if err := in.ValidateScope(); err != nil {
		return IndexResult{}, step.Fail(err)
	}
	work, ctx := step.StartWork(ctx, indexing{})
	defer work.Stop()
	at, sc := work.SoFar(), scopeOf(in.LearnScope)
	if !at.Placed {
		if in.Full {
			if err := a.Store.Learning.Reopen(ctx, sc, in.Reopen, step.Now(a.Now)); err != nil {
				return IndexResult{}, step.Fail(step.Stalled(ctx, err))
			}
		} else {
			var err error
			if at.At, err = a.evidenceFrom(ctx, sc); err != nil {
				return IndexResult{}, step.Fail(step.Stalled(ctx, err))
			}
		}
		at.Placed = true
		if _, err := a.Store.Learning.TakeReports(ctx, sc, step.Now(a.Now)); err != nil {
			return IndexResult{}, step.Fail(step.Stalled(ctx, err))
		}
		if _, err := a.Store.Learning.Adopt(ctx, sc, step.Now(a.Now)); err != nil {
			return IndexResult{}, step.Fail(step.Stalled(ctx, err))
		}
	}
	for {
		page, err := a.Store.Learning.IndexPage(ctx, sc, at.At, step.Now(a.Now))
		if err != nil {
			return at.IndexResult, step.Fail(step.Stalled(ctx, err))
		}
		at.Read, at.Attempts, at.At = at.Read+page.Read, at.Attempts+page.Attempts, page.Next
		at.New += page.Read
		if !page.More {
			if at.Passes++; at.New == 0 || at.Passes >= maxPasses {
				return at.IndexResult, nil
			}
			if at.At, err = a.evidenceFrom(ctx, sc); err != nil {
				return at.IndexResult, step.Fail(step.Stalled(ctx, err))
			}
			at.New = 0
		}
		work.Note(at)
		if ctx.Err() != nil {
			return at.IndexResult, context.Cause(ctx)
		}
	}
}

// evidenceFrom returns the position shortly before the watermark at which a pass begins.
func (a *Learning) evidenceFrom(ctx context.Context, sc learning.Scope) (learning.Position, error) {
	mark, err := a.Store.Learning.Watermark(ctx, sc, learning.Indexing)
	if err != nil || mark.At.IsZero() {
		return learning.Position{}, err
	}
	return learning.Position{At: mark.At.Add(-learning.Overlap)}, nil
}

// WriteRequest is a request to write the drafts of groups.
type WriteRequest struct {
	api.LearnScope
	Kind   schema.MemoryType `json:"kind"`
	Groups []string          `json:"groups"`
}

// writing is the progress of WriteDrafts.
type writing struct {
	Result api.LearnResult `json:"result"`
	Next   int             `json:"next"` // position of the next group
}

// WriteDrafts writes the decisions on groups, each in its own transaction. A repeated call finds no drafts and
// changes nothing.
func (a *Learning) WriteDrafts(ctx context.Context, in WriteRequest) (api.LearnResult, error) {
	if err := in.ValidateScope(); err != nil {
		return api.LearnResult{}, step.Fail(err)
	}
	work, ctx := step.StartWork(ctx, writing{})
	defer work.Stop()
	at := work.SoFar()
	for ; at.Next < len(in.Groups); at.Next++ {
		group, err := uuid.Parse(in.Groups[at.Next])
		if err != nil {
			return at.Result, step.Fail(&schema.ValidationError{Fields: []schema.FieldError{{Field: "groups",
				Problem: "must be ids"}}})
		}
		if at.Next > 0 {
			work.Note(at)
		}
		if ctx.Err() != nil {
			return at.Result, context.Cause(ctx)
		}
		written, err := a.Store.Learning.WriteDraft(ctx, learning.WriteInput{Scope: scopeOf(in.LearnScope),
			Group: group,
			Kind:  in.Kind, WorkflowID: activity.GetInfo(ctx).WorkflowExecution.ID,
			Policy: a.Policy.Narrow("", false, nil),
			Rules:  step.RulesInForce(a.Rules), Now: step.Now(a.Now)})
		if err != nil {
			return at.Result, step.Fail(step.Stalled(ctx, err))
		}
		at.Result = at.Result.Plus(api.LearnResult{Added: written.Added, Updated: written.Updated,
			Replaced: written.Replaced, Dropped: written.Dropped, Refused: written.Refused})
	}
	a.observe(in.Kind, at.Result)
	return at.Result, nil
}
