package learn

import (
	"encoding/json"
	"fmt"

	"go.temporal.io/sdk/workflow"

	"github.com/mneme/mneme/activities/tidying"
	"github.com/mneme/mneme/api"
	mneme "github.com/mneme/mneme/client"
	"github.com/mneme/mneme/workflows/flow"
)

var tidier *tidying.Tidying

// partsPerRun is how many parts one run takes before it continues as new.
const partsPerRun = 200

// tidyJob is one kind of tidying: its workflow and its activities.
type tidyJob struct {
	name        string // of the workflow
	what        string // shown in Temporal's UI
	read, write any    // the activities that read a part, and that decide on it and write
	self        any    // the workflow's function
}

// run reads a scope part by part, decides and writes, and moves the watermark after each part. If a run is cancelled or
// dies between two parts, the next run continues at the watermark.
func (job tidyJob) run(ctx workflow.Context, in api.LearnInput) (api.LearnResult, error) {
	shown := flow.Display{Lean: true}
	var out api.LearnResult
	if in.SoFar != nil {
		out = *in.SoFar
	}
	if err := flow.Strict(ctx, &in); err != nil {
		return out, err
	}
	if err := flow.InvalidRequest(in.ValidateScope()); err != nil {
		return out, err
	}
	info := workflow.GetInfo(ctx)
	request := tidying.Request{LearnScope: in.LearnScope, WorkflowID: info.WorkflowExecution.ID, Shadow: in.Shadow,
		Full: in.Full, Until: workflow.Now(ctx)}
	if in.At != nil {
		request.Until = *in.At
	}
	if in.Cursor != "" {
		err := json.Unmarshal([]byte(in.Cursor), &request.From) //workflowcheck:ignore: the same text gives the same
		if err != nil {
			return out, err
		}
	}
	if err := workflow.SetQueryHandler(ctx, api.QueryProgress, func() (api.LearnResult, error) {
		return out, nil
	}); err != nil {
		return out, err
	}
	shown.Show(ctx, api.PhaseSweep, job.what)
	for parts := 0; ; parts++ {
		if parts >= partsPerRun || info.GetContinueAsNewSuggested() {
			cursor, err := json.Marshal(request.From) //workflowcheck:ignore: always the same
			if err != nil {
				return out, err
			}
			in.Cursor, in.SoFar, in.At = string(cursor), &out, &request.Until
			return out, flow.ContinueAsNew(ctx, job.self, in)
		}
		more, err := job.runPart(ctx, &request, &out)
		if err != nil {
			shown.Show(ctx, api.PhaseDone, "failed", mneme.AttrOutcome.ValueSet(api.OutcomeFailed))
			return out, err
		}
		if !more {
			break
		}
		shown.Show(ctx, api.PhaseSweep, tidied(job.what, out)) //workflowcheck:ignore: a sum over a map
	}
	outcomeOf(&out)
	details := tidied(job.what, out) //workflowcheck:ignore: a sum over a map is the same in any order
	shown.Show(ctx, api.PhaseDone, details, mneme.AttrOutcome.ValueSet(out.Outcome))
	return out, nil
}

// runPart reads one part, writes the decisions on it, and moves the watermark.
func (job tidyJob) runPart(ctx workflow.Context, request *tidying.Request,
	out *api.LearnResult) (more bool, err error) {
	var page tidying.Page
	err = workflow.ExecuteActivity(workflow.WithActivityOptions(ctx, flow.SweepOptions("read: "+job.what)),
		job.read, *request).Get(ctx, &page)
	if err != nil {
		return false, err
	}
	out.Read += page.Read
	if len(page.Groups) > 0 {
		var done api.LearnResult
		err = workflow.ExecuteActivity(workflow.WithActivityOptions(ctx, flow.SweepOptions("write: "+job.what)),
			job.write, tidying.WriteRequest{Request: *request, Groups: page.Groups}).Get(ctx, &done)
		if err != nil {
			return false, err
		}
		*out = out.Plus(done) //workflowcheck:ignore: sums over a map are the same in any order
	}
	if page.Next != request.From && (page.Read > 0 || page.More || len(page.Groups) > 0) {
		err = workflow.ExecuteActivity(workflow.WithActivityOptions(ctx, flow.StoreOptions("done: "+job.what,
			flow.InfrastructureAttempts)), tidier.FinishPage,
			tidying.DoneRequest{Request: *request, Workflow: job.name, Next: page.Next}).Get(ctx, nil)
	}
	request.From = page.Next
	return page.More, err
}

// tidied describes what a run has done.
func tidied(what string, out api.LearnResult) string {
	refused := 0
	for _, n := range out.Refused { //workflowcheck:ignore: a sum is the same in any order
		refused += n
	}
	return fmt.Sprintf("%s: %d read, %d added, %d updated, %d superseded, %d contested, %d dropped, %d refused", what,
		out.Read, out.Added, out.Updated, out.Replaced, out.Contested, out.Dropped, refused)
}

// ResolveDuplicates merges records of a scope with the same meaning (document 004 §15.7, duplicate resolution): it
// compares the records that changed since the last run with all records. The record that is kept supersedes the
// others.
func ResolveDuplicates(ctx workflow.Context, in api.LearnInput) (api.LearnResult, error) {
	return tidyJob{name: api.WorkflowResolveDuplicates, what: "resolve duplicates", read: tidier.FindDuplicates,
		write: tidier.ResolveDuplicates, self: ResolveDuplicates}.run(ctx, in)
}

// CompressEpisodes makes summaries of the old episodes of threads (document 004 §15.7, episodic compression). The
// episodes are not changed and fade faster from then on.
func CompressEpisodes(ctx workflow.Context, in api.LearnInput) (api.LearnResult, error) {
	return tidyJob{name: api.WorkflowCompressEpisodes, what: "compress episodes", read: tidier.FindThreads,
		write: tidier.CompressThreads, self: CompressEpisodes}.run(ctx, in)
}

// UpdateFacts compares the newest episodes of a scope with the stored facts (document 004 §15.7, semantic update): a
// recurring statement reinforces a fact, becomes a fact, replaces one, holds under other conditions, or contests one.
func UpdateFacts(ctx workflow.Context, in api.LearnInput) (api.LearnResult, error) {
	return tidyJob{name: api.WorkflowUpdateFacts, what: "update facts", read: tidier.FindStatements,
		write: tidier.UpdateFacts, self: UpdateFacts}.run(ctx, in)
}
