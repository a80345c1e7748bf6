package telemetry

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/temporal"

	"github.com/mneme/mneme/api"
)

// PhaseOther is the phase of an activity without a named one.
const PhaseOther = "other"

// pipeline names the phases of an ingest run by their activities; the activities of all other workflows
// go by the workflow.
var pipeline = map[string]string{
	"StageCandidates": api.PhaseStage,
	"ExtractFacts":    api.PhaseExtract,
	"DecideFacts":     api.PhaseDecide,
	"WriteProposals":  api.PhaseWrite,
	"LinkEntities":    api.PhaseLink,
	"IndexBatch":      api.PhaseIndex,
}

// byActivity names phases of activities that any workflow may run, such as the append of an agent's own workflow.
var byActivity = map[string]string{
	"AppendSessionEvents": PhaseAppend,
	"AppendEvents":        PhaseAppend,
}

// phaseOf is the phase of each workflow's activities outside the pipeline. A type that is not listed, such as one of
// another program on the same task queue, counts as other: a label never comes from outside.
var phaseOf = map[string]string{
	"Ingest":         "jobs", // the rest of it: keeping the jobs
	"ResumeIngest":   "jobs",
	"SyncIndex":      "sync_index",
	"Reindex":        "reindex",
	"DriftCheck":     "drift_check",
	"Put":            "put",
	"Revise":         "revise",
	"Modify":         "modify",
	"Recover":        "recover",
	"Forget":         api.PhaseForget,
	"ContinueForget": api.PhaseForget,
	"Review":         api.PhaseReview,
	"Recall":         api.PhaseRecall,
	"Get":            api.PhaseRecall,
	"Feedback":       "feedback",
	"Reflect":        api.PhaseReflect,
	"DecaySweep":     PhaseDecay,
	"RetentionPurge": PhaseRetention,
	"Context":        api.PhaseRecall,
	"Session":        "session",
	"RecordSession":  "session",
	"EraseEvents":    api.PhaseForget,
	"RefreshTopic":   "topics",
	"RefreshTopics":  "topics",
	"Rebuild":        api.PhaseRebuild,

	"ConsolidateAll":    "learning",
	"Consolidate":       "learning",
	"ExtractCompetence": "learning",
	"ExtractPlans":      "learning",
	"UpdateFacts":       "learning",
	"CompressEpisodes":  "learning",
	"ResolveDuplicates": "learning",
	"Advise":            "advise",
	"Report":            "advise",
}

// Phases of the two sweeps, which alerts look for.
const (
	PhaseDecay     = "decay"
	PhaseRetention = "retention"
)

// PhaseAppend is the appending of events to the ledger by sessions and by the recorder. An alert looks for it.
const PhaseAppend = "append"

// Phases names all phases that activities are counted under, in order.
func Phases() []string {
	all := map[string]bool{PhaseOther: true}
	for _, names := range []map[string]string{pipeline, byActivity, phaseOf} {
		for _, phase := range names {
			all[phase] = true
		}
	}
	return slices.Sorted(maps.Keys(all))
}

// PhaseOf names the phase that an activity of a workflow is counted under.
func PhaseOf(workflowType, activityType string) string {
	if phase, ok := pipeline[activityType]; ok {
		return phase
	}
	if phase, ok := byActivity[activityType]; ok {
		return phase
	}
	if phase, ok := phaseOf[workflowType]; ok {
		return phase
	}
	return PhaseOther
}

// Interceptor times activities, for the options of a worker. Activities know nothing of it.
func (m *Metrics) Interceptor() interceptor.WorkerInterceptor { return &workerInterceptor{metrics: m} }

type workerInterceptor struct {
	interceptor.WorkerInterceptorBase
	metrics *Metrics
}

// InterceptActivity implements interceptor.WorkerInterceptor.
func (w *workerInterceptor) InterceptActivity(
	_ context.Context,
	next interceptor.ActivityInboundInterceptor,
) interceptor.ActivityInboundInterceptor {
	return &activityInterceptor{ActivityInboundInterceptorBase: interceptor.ActivityInboundInterceptorBase{Next: next},
		metrics: w.metrics}
}

type activityInterceptor struct {
	interceptor.ActivityInboundInterceptorBase
	metrics *Metrics
}

// ExecuteActivity implements interceptor.ActivityInboundInterceptor.
func (a *activityInterceptor) ExecuteActivity(
	ctx context.Context,
	in *interceptor.ExecuteActivityInput,
) (out any, err error) {
	workflowType, info := "", activity.GetInfo(ctx)
	if info.WorkflowType != nil {
		workflowType = info.WorkflowType.Name
	}
	// one that panics has failed
	phase, start, outcome := PhaseOf(workflowType, info.ActivityType.Name), time.Now(), outcomeFailed
	defer func() { a.metrics.phases.WithLabelValues(phase, outcome).Observe(since(start)) }()
	out, err = a.Next.ExecuteActivity(ctx, in)
	if err == nil || asksToWait(err) {
		outcome = outcomeOK
	}
	return out, err
}

// asksToWait reports whether an activity returned an error only to be run again for the rest.
func asksToWait(err error) bool {
	var app *temporal.ApplicationError
	return errors.As(err, &app) && app.Type() == api.ErrTypeItemsPending
}
