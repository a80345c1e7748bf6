package workflows_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.temporal.io/api/history/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"
	"google.golang.org/protobuf/encoding/protojson"

	mneme "github.com/mneme/mneme/client"
	"github.com/mneme/mneme/workflows"
	"github.com/mneme/mneme/workflows/agents"
	"github.com/mneme/mneme/workflows/learn"
)

// histories are the runs whose histories are in testdata. A changed workflow must replay the existing ones, or guard
// the change with workflow.GetVersion; new code gets new histories. `make histories` records the missing ones and keeps
// the others, because each represents the version that wrote it.
var histories = []string{"ingest-single", "ingest-batch", "ingest-duplicate", "ingest-dead-job", "ingest-shadow",
	"ingest-deferred", "ingest-invalid",
	"ingest-cancelled", "resume", "resume-refused", "sync-index",
	"ingest-review", "review-approved", "review-expired", "review-again",
	"put", "put-invalid", "revise", "revise-refused", "modify", "recover", "feedback", "feedback-refused",
	"decay-sweep", "retention-purge",
	"reflect", "reflect-not-due", "reflect-refused",
	"recall", "recall-invalid", "recall-invalid-shown", "get", "context", "ingest-unknown-field", "forget-invalid",
	"forget-named", "forget-confirmed", "forget-signalled", "forget-expired", "forget-cancelled", "erase",
	"topic-answered", "topic-fresh", "topic-held", "topics-swept",
	"advise", "report", "report-refused",
	"consolidate", "consolidate-all", "consolidate-when-quiet",
	"extract-competence", "extract-plans", "resolve-duplicates", "compress-episodes",
	"update-facts",
	"sync-index-lost", "drift", "drift-looked", "reindex", "reindex-model", "reindex-cancelled", "reindex-failed",
	// Of the second form (see lean): with and without search attributes.
	"lean-ingest", "lean-ingest-review", "lean-ingest-invalid", "lean-ingest-plain", "lean-put", "lean-put-invalid",
	"lean-recall", "lean-recall-invalid",
	"lean-forget-confirmed", "lean-forget-invalid", "lean-feedback", "lean-decay-sweep", "lean-drift",
	"lean-resume-refused",
	// Both runs of a continue-as-new.
	"review-continued", "review-continues", "forget-continued", "forget-continues", "decay-sweep-continued",
	"decay-sweep-continues",
	"retention-purge-continued", "retention-purge-continues", "sync-index-continued", "sync-index-continues",
	"drift-continued", "drift-continues",
	"reindex-continued", "reindex-continues",
	"session-continued", "session-continues", "session-recorded", "erase-events", "erase-events-shown",
	"erase-events-all", "erase-events-all-again", "rebuild",
	// Of workers before the second form: a run that a newer client started, and runs that they continued as new.
	"older-ingest", "older-review-continues", "older-forget-continues", "older-decay-sweep-continues",
	"older-retention-purge-continues"}

func historyFile(name string) string { return filepath.Join("testdata", name+".json") }

func TestReplay(t *testing.T) {
	if os.Getenv("MNEME_UPDATE_HISTORIES") != "" {
		recordHistories(t)
		recordLean(t)
		recordTopics(t)
		recordAdvice(t)
		recordLearning(t)
		t.Run("continued", recordContinued)
		recordSessions(t)
	}
	files, err := filepath.Glob(historyFile("*"))
	require.NoError(t, err)
	require.Len(t, files, len(histories))
	for _, name := range histories {
		t.Run(name, func(t *testing.T) {
			file, err := os.Open(historyFile(name))
			require.NoError(t, err)
			defer func() { _ = file.Close() }()
			run, err := client.HistoryFromJSON(file, client.HistoryJSONOptions{})
			require.NoError(t, err)
			// Consolidate derives the ids of its children from its own.
			id := run.Events[0].GetWorkflowExecutionStartedEventAttributes().GetWorkflowId()
			require.NoError(t, newReplayer().ReplayWorkflowHistoryWithOptions(nil, run,
				worker.ReplayWorkflowHistoryOptions{
					OriginalExecution: workflow.Execution{ID: id}}))
		})
	}
}

// Earlier versions dropped unknown fields: runs that were started with one replay unchanged.
func TestReplayOfRequestsWithUnknownFields(t *testing.T) {
	for _, name := range histories {
		captured := capturedHistory(t, name)
		began := captured.Events[0].GetWorkflowExecutionStartedEventAttributes()
		input := began.GetInput().GetPayloads()[0]
		var members map[string]any
		require.NoError(t, json.Unmarshal(input.Data, &members), name)
		switch began.GetWorkflowType().GetName() {
		// Runs of the first form refused them.
		case "Put", "Revise", "Modify", "Recover", "Feedback", "Forget", "ContinueForget":
			continue
		}
		if name == "ingest-unknown-field" { // of a version that refused such a request
			continue
		}
		members["unheard_of"] = 1
		var err error
		input.Data, err = json.Marshal(members)
		require.NoError(t, err)
		require.NoError(t, newReplayer().ReplayWorkflowHistoryWithOptions(nil, captured,
			worker.ReplayWorkflowHistoryOptions{
				OriginalExecution: workflow.Execution{ID: began.GetWorkflowId()}}), name)
	}
}

// Search attributes do not identify the form of a history. A newer client sets them when it starts a run on an older
// worker, and a run that an older worker continued as new has those that the previous run upserted.
func TestReplayOfOlderRunsWithSearchAttributes(t *testing.T) {
	for _, name := range []string{"older-ingest", "older-review-continues", "older-forget-continues",
		"older-decay-sweep-continues", "older-retention-purge-continues"} {
		captured := capturedHistory(t, name)
		began := captured.Events[0].GetWorkflowExecutionStartedEventAttributes()
		require.Contains(t, began.GetSearchAttributes().GetIndexedFields(), mneme.AttrTenant.GetName(), name)
		require.Equal(t, strings.HasSuffix(name, "-continues"), began.GetContinuedExecutionRunId() != "", name)
		require.NotContains(t, captured.String(), "lean-history", name)
		require.NoError(t, newReplayer().ReplayWorkflowHistory(nil, captured), name)
	}
}

// The histories of the second form have its marker, including those of continued runs.
func TestHistoriesOfTheSecondFormAreMarked(t *testing.T) {
	for _, name := range histories {
		if strings.HasPrefix(name, "lean-") || !strings.HasPrefix(name, "older-") && strings.Contains(name,
			"-continue") && !strings.HasPrefix(name, "sync-index") && !strings.HasPrefix(name, "session-") {
			require.Contains(t, capturedHistory(t, name).String(), "lean-history", name)
		}
	}
}

// Validation may become stricter: the result of a run's validation is recorded, and a replay does not validate again.
func TestReplayWithStricterValidation(t *testing.T) {
	for name, spoil := range map[string]func(map[string]any){
		"lean-ingest":           func(in map[string]any) { in["visibility"] = "of an age to come" },
		"lean-put":              func(in map[string]any) { in["records"] = []any{} },
		"lean-recall":           func(in map[string]any) { in["query"] = "" },
		"lean-forget-confirmed": func(in map[string]any) { in["reason"] = "" },
		"lean-decay-sweep":      func(in map[string]any) { in["batch_size"] = -1 },
	} {
		captured := capturedHistory(t, name)
		input := captured.Events[0].GetWorkflowExecutionStartedEventAttributes().GetInput().GetPayloads()[0]
		var members map[string]any
		require.NoError(t, json.Unmarshal(input.Data, &members), name)
		spoil(members)
		var err error
		input.Data, err = json.Marshal(members)
		require.NoError(t, err)
		require.NoError(t, newReplayer().ReplayWorkflowHistory(nil, captured), name)
	}
}

func capturedHistory(t *testing.T, name string) *history.History {
	t.Helper()
	data, err := os.ReadFile(historyFile(name))
	require.NoError(t, err)
	var captured history.History
	require.NoError(t, protojson.Unmarshal(data, &captured))
	return &captured
}

func newReplayer() worker.WorkflowReplayer {
	replayer := worker.NewWorkflowReplayer()
	for _, fn := range []any{
		workflows.Ingest,
		workflows.ResumeIngest,
		workflows.SyncIndex,
		workflows.Reindex,
		workflows.DriftCheck,
		workflows.Review,
		workflows.Put,
		workflows.Revise,
		workflows.Modify,
		workflows.Recover,
		workflows.Feedback,
		workflows.DecaySweep,
		workflows.RetentionPurge,
		workflows.Forget,
		workflows.ContinueForget,
		workflows.Recall,
		workflows.Get,
		agents.Session,
		agents.RecordSession,
		agents.EraseEvents,
		agents.Rebuild,
		agents.Reflect,
		agents.Context,
		learn.RefreshTopic,
		learn.RefreshTopics,
		learn.ConsolidateAll,
		learn.Consolidate,
		learn.ConsolidateWhenQuiet,
		learn.ExtractCompetence,
		learn.ExtractPlans,
		learn.ResolveDuplicates,
		learn.CompressEpisodes,
		learn.UpdateFacts,
		learn.Advise,
		learn.Report,
	} {
		replayer.RegisterWorkflow(fn)
	}
	return replayer
}
