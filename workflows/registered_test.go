package workflows_test

import (
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/nexus-rpc/sdk-go/nexus"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/worker"

	"github.com/mneme/mneme/api"
	"github.com/mneme/mneme/workflows"
)

// registry notes the names under which a worker would host workflows and activities.
type registry struct {
	worker.Registry
	workflows, activities []string
}

func (r *registry) RegisterWorkflow(fn any) {
	name := runtime.FuncForPC(reflect.ValueOf(fn).Pointer()).Name()
	r.workflows = append(r.workflows, name[strings.LastIndex(name, ".")+1:])
}

func (r *registry) RegisterActivity(of any) {
	for method := range reflect.TypeOf(of).Methods() {
		r.activities = append(r.activities, method.Name)
	}
}

func (r *registry) RegisterNexusService(*nexus.Service) {}

// TestRegisteredNames holds the names that histories and clients use. They come from Go names: renaming a function or
// a method changes them, which breaks every run that is under way.
func TestRegisteredNames(t *testing.T) {
	r := &registry{}
	workflows.Register(r, workflows.Dependencies{})
	slices.Sort(r.workflows)
	slices.Sort(r.activities)
	require.Equal(t, []string{"ContinueForget", "DecaySweep", "DriftCheck", "Feedback", "Forget", "Get", "Ingest", "Modify", "Put", "Recall",
		"Recover", "RefreshTopic", "RefreshTopics", "Reindex", "ResumeIngest", "RetentionPurge", "Review", "Revise", "SyncIndex"}, r.workflows)
	require.Equal(t, registeredActivities, r.activities)
	for _, name := range []string{api.WorkflowIngest, api.WorkflowResumeIngest, api.WorkflowPut, api.WorkflowRevise, api.WorkflowModify,
		api.WorkflowRecover, api.WorkflowFeedback, api.WorkflowForget, api.WorkflowReview, api.WorkflowRecall, api.WorkflowGet,
		api.WorkflowDecaySweep, api.WorkflowRetentionPurge, api.WorkflowSyncIndex, api.WorkflowDriftCheck, api.WorkflowReindex,
		api.WorkflowRefreshTopic, api.WorkflowRefreshTopics} {
		require.Contains(t, r.workflows, name)
	}
}

// registeredActivities are the activities' names, in order.
var registeredActivities = []string{
	"AbandonGeneration", "Accept", "ActivateGeneration", "BeginReindex", "BuryJobs", "CheckTopic", "CloseForget",
	"CompareMemories", "ComparePoints", "CompleteJobs", "ConfirmForget", "DecideFacts", "DecideProposal",
	"DraftTopic", "DrainOutbox", "Drop", "DropRetired", "ExpireProposals", "ExtractFacts", "Feedback",
	"FillGeneration", "ForgetBatch", "ForgetRuns", "ForgetVectors", "GetRecords", "HoldTopic", "IndexBatch",
	"IndexMemories", "LinkEntities", "Modify", "NoteFailure", "OpenReview", "PublishTopic", "PurgeExpired", "Put",
	"RebuildIndexes", "RecallMemories", "Recover", "Revise", "ReviveJob", "ScanTopics", "SearchActive",
	"SelectForget", "StageCandidates", "SweepDecay", "VerifyGeneration", "WriteProposals",
}
