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

// registry records the names under which a worker registers workflows and activities.
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

// TestRegisteredNames checks the names that histories and clients use. They are derived from Go names: renaming a
// function or a method changes them, which breaks every running workflow.
func TestRegisteredNames(t *testing.T) {
	r := &registry{}
	workflows.Register(r, workflows.Dependencies{})
	slices.Sort(r.workflows)
	slices.Sort(r.activities)
	require.Equal(t, registeredWorkflows, r.workflows)
	require.Equal(t, registeredActivities, r.activities)
	for _, name := range []string{
		api.WorkflowAdvise,
		api.WorkflowContext,
		api.WorkflowDecaySweep,
		api.WorkflowDriftCheck,
		api.WorkflowEraseEvents,
		api.WorkflowFeedback,
		api.WorkflowForget,
		api.WorkflowGet,
		api.WorkflowIngest,
		api.WorkflowModify,
		api.WorkflowPut,
		api.WorkflowRebuild,
		api.WorkflowRecall,
		api.WorkflowRecordSession,
		api.WorkflowRecover,
		api.WorkflowReflect,
		api.WorkflowRefreshTopic,
		api.WorkflowRefreshTopics,
		api.WorkflowReindex,
		api.WorkflowReport,
		api.WorkflowResumeIngest,
		api.WorkflowRetentionPurge,
		api.WorkflowReview,
		api.WorkflowRevise,
		api.WorkflowSession,
		api.WorkflowSyncIndex,
	} {
		require.Contains(t, r.workflows, name)
	}
}

// registeredWorkflows are the names of the workflows, sorted.
var registeredWorkflows = []string{
	"Advise",
	"CompressEpisodes",
	"Consolidate",
	"ConsolidateAll",
	"ConsolidateWhenQuiet",
	"Context",
	"ContinueForget",
	"DecaySweep",
	"DriftCheck",
	"EraseEvents",
	"ExtractCompetence",
	"ExtractPlans",
	"Feedback",
	"Forget",
	"Get",
	"Ingest",
	"Modify",
	"Put",
	"Rebuild",
	"Recall",
	"RecordSession",
	"Recover",
	"Reflect",
	"RefreshTopic",
	"RefreshTopics",
	"Reindex",
	"Report",
	"ResolveDuplicates",
	"ResumeIngest",
	"RetentionPurge",
	"Review",
	"Revise",
	"Session",
	"SyncIndex",
	"UpdateFacts",
}

// registeredActivities are the names of the activities, sorted.
var registeredActivities = []string{
	"AbandonGeneration",
	"Accept",
	"ActivateGeneration",
	"Advise",
	"AppendBelief",
	"AppendEvents",
	"AppendSessionEvents",
	"ApproveErasure",
	"BeginReindex",
	"BuildContext",
	"BuryJobs",
	"CheckTopic",
	"CloseForget",
	"CloseSession",
	"CompareMemories",
	"ComparePoints",
	"CompleteJobs",
	"CompressThreads",
	"ConfirmForget",
	"DecideFacts",
	"DecideGroups",
	"DecideProposal",
	"DraftTopic",
	"DrainOutbox",
	"Drop",
	"DropRetired",
	"EraseEvents",
	"EraseUserEvents",
	"EvidenceDue",
	"ExpireProposals",
	"ExtractFacts",
	"Feedback",
	"FillGeneration",
	"FindDuplicates",
	"FindSpan",
	"FindStatements",
	"FindThreads",
	"FinishPage",
	"ForgetBatch",
	"ForgetRuns",
	"ForgetSessions",
	"ForgetVectors",
	"GetRecords",
	"HoldTopic",
	"IndexBatch",
	"IndexEvidence",
	"IndexMemories",
	"LinkEntities",
	"ListScopes",
	"Modify",
	"NoteFailure",
	"OpenReview",
	"OpenSession",
	"PublishTopic",
	"PurgeExpired",
	"Put",
	"RebuildIndexes",
	"RebuildPage",
	"RecallMemories",
	"Recover",
	"Report",
	"ResolveDuplicates",
	"Revise",
	"ReviveJob",
	"ScanTopics",
	"SearchActive",
	"SelectForget",
	"StageCandidates",
	"SweepDecay",
	"UpdateFacts",
	"VerifyGeneration",
	"WriteDrafts",
	"WriteProposals",
}
