package activities

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/mneme/mneme/activities/step"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/schema/check"
	"github.com/mneme/mneme/store"
)

// Jobs maintains the job rows of the pipeline in Postgres.
type Jobs struct {
	Store    *store.Store
	Arrivals *step.Arrivals // receives candidates that became episodes; may be nil
	Now      func() time.Time
}

// CloseRequest completes the jobs of a range, or marks them dead.
type CloseRequest struct {
	Range  schema.Range `json:"range"`
	Phase  string       `json:"phase"`            // the phase that Reason is about
	Reason string       `json:"reason,omitempty"` // never memory content
}

// CompleteResult counts the remaining work for a completed range.
type CompleteResult struct {
	ToReview int `json:"to_review"` // proposals that wait for a person
	// Again counts the duplicates that may be true again: the range has to be processed again.
	Again int `json:"again,omitempty"`
}

// CompleteJobs marks the open jobs of a range as completed, stages the duplicates that may be true again, and counts
// the proposals that wait for review.
func (a *Jobs) CompleteJobs(ctx context.Context, in CloseRequest) (CompleteResult, error) {
	if err := a.Store.CompleteJobs(ctx, in.Range, step.Now(a.Now)); err != nil {
		return CompleteResult{}, step.Fail(err)
	}
	again, err := a.Store.SaidAgain(ctx, in.Range, step.Now(a.Now))
	if err != nil {
		return CompleteResult{}, step.Fail(err)
	}
	waiting, err := a.Store.ToReview(ctx, in.Range)
	if err != nil {
		return CompleteResult{}, step.Fail(err)
	}
	var ids []uuid.UUID
	for i := in.Range.From; i < in.Range.To; i++ {
		ids = append(ids, schema.CandidateID(in.Range.BatchID, i))
	}
	return CompleteResult{ToReview: waiting, Again: again}, step.Fail(a.Arrivals.Arrived(ctx, in.Range.Tenant, ids...))
}

// NoteFailure records on the open jobs of a range that an optional phase failed.
func (a *Jobs) NoteFailure(ctx context.Context, in CloseRequest) error {
	return step.Fail(a.Store.NoteOnJobs(ctx, in.Range, in.Phase+": "+in.Reason, step.Now(a.Now)))
}

// MarkDeadResult has the number of jobs marked as dead.
type MarkDeadResult struct {
	Dead int `json:"dead"`
}

// BuryJobs marks the open jobs of a range as dead. Its name is in stored histories.
func (a *Jobs) BuryJobs(ctx context.Context, in CloseRequest) (MarkDeadResult, error) {
	dead, err := a.Store.MarkRangeDead(ctx, in.Range, in.Phase, in.Reason, step.Now(a.Now))
	return MarkDeadResult{Dead: dead}, step.Fail(err)
}

// ReviveRequest names a dead job and who wants it replayed.
type ReviveRequest struct {
	Tenant string `json:"tenant"`
	JobID  string `json:"job_id"`
	Actor  string `json:"actor"`
	// Operation is the workflow's first run id. A repeated delivery with the same value returns the first result.
	Operation string `json:"operation"`
}

// check reports every invalid field, and returns the id of the job.
func (in ReviveRequest) check() (uuid.UUID, error) {
	var p check.Problems
	if in.Tenant == "" {
		p.Add("tenant", "is required")
	}
	check.Text(&p, "tenant", in.Tenant, schema.MaxNameLength)
	id, err := uuid.Parse(in.JobID)
	if err != nil {
		p.Add("job_id", "must be an id")
	}
	check.Text(&p, "actor", in.Actor, schema.MaxNameLength)
	return id, p.Err()
}

// ReviveJob puts a dead job back into the pipeline and returns the range to run.
func (a *Jobs) ReviveJob(ctx context.Context, in ReviveRequest) (schema.Range, error) {
	id, err := in.check()
	if err != nil {
		return schema.Range{}, step.Fail(err)
	}
	r, err := a.Store.ReviveJob(ctx, in.Tenant, id, "revive/"+in.JobID+"/"+in.Operation, in.Actor, step.Now(a.Now))
	return r, step.Fail(err)
}
