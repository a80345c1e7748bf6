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

// pipeline maps the activities of an ingest run to phases. The activities of other workflows are counted by workflow.
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

// phaseOf maps workflows to the phase of their activities outside the pipeline. A type that is not listed, such as one
// of another program on the same task queue, counts as other, so that labels never come from outside.
var phaseOf = map[string]string{
	"Ingest":         "jobs", // its other activities, which update jobs
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

	"ConsolidateWhenQuiet": "learning",

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

// Phases of the two sweeps, which alerts use.
const (
	PhaseDecay     = "decay"
	PhaseRetention = "retention"
)

// PhaseAppend is the phase in which sessions and the recorder append events to the ledger. An alert uses it.
const PhaseAppend = "append"

// Phases returns all phases of activities, in order.
func Phases() []string {
	all := map[string]bool{PhaseOther: true}
	for _, names := range []map[string]string{pipeline, byActivity, phaseOf} {
		for _, phase := range names {
			all[phase] = true
		}
	}
	return slices.Sorted(maps.Keys(all))
}

// PhaseOf returns the phase of an activity of a workflow.
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

// Interceptor returns a worker interceptor that measures activities.
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
