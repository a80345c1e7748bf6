package workflows_test

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"go.temporal.io/api/history/v1"
	"go.temporal.io/sdk/client"
	"google.golang.org/protobuf/encoding/protojson"

	"github.com/mneme/mneme/api"
	mneme "github.com/mneme/mneme/client"
	"github.com/mneme/mneme/inference"
	"github.com/mneme/mneme/internal/testkit"
	"github.com/mneme/mneme/internal/testkit/harness"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/schema/ledger"
	"github.com/mneme/mneme/store/pipeline"
	"github.com/mneme/mneme/workflows"
)

// recordLean records runs of the second form, started by Mneme's client and by other clients.
func recordLean(t *testing.T) {
	ctx := context.Background()
	h := harness.New(t, nil)
	p := testkit.Principal()
	raw := func(name string, fn, in any, ok bool) {
		run, err := h.Temporal.ExecuteWorkflow(ctx, client.StartWorkflowOptions{ID: "raw/" + uuid.NewString(),
			TaskQueue: h.TaskQueue}, fn, in)
		require.NoError(t, err)
		require.Equal(t, ok, run.Get(ctx, nil) == nil, name)
		record(t, h, name, run.GetID(), run.GetRunID())
	}
	started, result := h.Ingest(t, testkit.Request(p, schema.SourceUserInput, "I moved to Lisbon. I work at Acme.",
		"Tea is served hot."))
	record(t, h, "lean-ingest", started.ID, started.RunID)
	raw("lean-ingest-plain", workflows.Ingest, testkit.Request(p, schema.SourceMemory, "Rain falls on Tuesdays."), true)
	raw("lean-ingest-invalid", workflows.Ingest, schema.IngestRequest{Principal: p}, false)
	moving, _ := moved(t, h, p, "Dana lives in Lisbon.", "Dana lives in Porto.")
	record(t, h, "lean-ingest-review", batchRun(t, h, p, moving.BatchID), "")
	id, runID, _ := runPut(t, h, putRequest(t, p, putSkill("fix_linker", "Clear the cache")))
	record(t, h, "lean-put", id, runID)
	raw("lean-put-invalid", workflows.Put, schema.PutRequest{Operation: schema.Operation{Principal: p}}, false)
	run, answer := recallBy(t, h, schema.RecallRequest{Principal: p, Query: "is tea served hot"})
	record(t, h, "lean-recall", run.GetID(), run.GetRunID())
	raw("lean-recall-invalid", workflows.Recall, schema.RecallRequest{Principal: p}, false)
	raw("lean-feedback", workflows.Feedback,
		schema.FeedbackRequest{Operation: schema.Operation{Principal: p}, RetrievalID: answer.RetrievalID,
			Outcome: schema.OutcomeSuccess}, true)
	run, preview := startForget(t, h, forgetRequest(p, "", schema.Selector{IDs: result.MemoryIDs}))
	confirmForget(t, h, p, preview)
	receiptOf(t, run)
	record(t, h, "lean-forget-confirmed", run.GetID(), run.GetRunID())
	raw("lean-forget-invalid", workflows.Forget,
		schema.ForgetRequest{Operation: schema.Operation{Principal: p}, Selector: schema.Selector{All: true}}, false)
	raw("lean-decay-sweep", workflows.DecaySweep, api.SweepInput{Tenant: p.Tenant}, true)
	raw("lean-drift", workflows.DriftCheck, api.DriftInput{LookOnly: true}, true)
	raw("lean-resume-refused", workflows.ResumeIngest,
		api.ResumeInput{Tenant: p.Tenant, JobID: uuid.NewString(), Actor: "operator:test"}, false)
}

// record saves a run's history unless one of that name exists.
func record(t *testing.T, h *harness.Harness, name, id, runID string) {
	t.Helper()
	if _, err := os.Stat(historyFile(name)); err == nil {
		return
	}
	encoded, err := protojson.MarshalOptions{Indent: " "}.Marshal(&history.History{Events: rawHistory(t, h.Temporal, id,
		runID)})
	require.NoError(t, err)
	require.NoError(t, os.MkdirAll("testdata", 0o755))
	require.NoError(t, os.WriteFile(historyFile(name), append(encoded, '\n'), 0o644))
}

// recordHistories runs the workflows of the histories. All content is invented.
func recordHistories(t *testing.T) {
	h := harness.New(t, nil)
	p := testkit.Principal()
	single := testkit.Request(p, schema.SourceUserInput, "I moved to Lisbon. I work at Acme.")
	single.Candidates[0].Speaker = "Ana"
	for _, name := range []string{"ingest-single", "ingest-duplicate"} {
		started, _ := h.Ingest(t, single)
		record(t, h, name, started.ID, started.RunID)
	}
	batch := testkit.Request(p, schema.SourceObservation)
	for i := range 300 { // two ranges
		batch.Candidates = append(batch.Candidates,
			schema.Candidate{Content: fmt.Sprintf("Sensor %d reads %d.", i, i*i)})
	}
	started, _ := h.Ingest(t, batch)
	record(t, h, "ingest-batch", started.ID, started.RunID)
	shadow := testkit.Request(p, schema.SourceObservation, "The shadow of the tower is long.")
	shadow.Mode = schema.ModeShadow
	started, _ = h.Ingest(t, shadow)
	record(t, h, "ingest-shadow", started.ID, started.RunID)

	recordRecalls(t, h, p)
	recordReviews(t, h)
	recordOperations(t, h)
	recordFeedback(t, h)
	recordReflections(t)
	recordSweeps(t, h)
	recordIndex(t, h, newIndexed(t))

	down := &atomic.Bool{}
	blocked := make(chan struct{}, 10)
	model := testkit.NewModel(t, func(ctx context.Context, call testkit.ModelCall) testkit.ModelReply {
		switch {
		case strings.Contains(call.Data, "poison"):
			return testkit.ModelReply{Status: http.StatusBadRequest}
		case strings.Contains(call.Data, "endless"):
			blocked <- struct{}{}
			<-ctx.Done()
		}
		return echo(call.Data)
	})
	h = harness.New(t, func(d *workflows.Dependencies) {
		d.Brain = model.Brain(t)
		d.Brain.Embedder = switchable{Embedder: d.Brain.Embedder, down: down}
	})
	started, _ = h.Ingest(t, testkit.Request(p, schema.SourceObservation, "A good candidate.", "A poison candidate."))
	record(t, h, "ingest-dead-job", started.ID, started.RunID)
	jobs, err := h.Store.Jobs(context.Background(), p.Tenant, pipeline.JobFilter{State: schema.JobDead})
	require.NoError(t, err)
	require.Len(t, jobs, 1)
	resumeID := api.ResumeWorkflowID(p.Tenant, jobs[0].ID)
	_, err = resume(t, h, api.ResumeInput{Tenant: p.Tenant, JobID: jobs[0].ID, Actor: "operator:test"})
	require.NoError(t, err)
	record(t, h, "resume", resumeID, "")
	completed, err := h.Store.Jobs(context.Background(), p.Tenant, pipeline.JobFilter{State: schema.JobCompleted})
	require.NoError(t, err)
	_, err = resume(t, h, api.ResumeInput{Tenant: p.Tenant, JobID: completed[0].ID, Actor: "operator:test"})
	require.Error(t, err)
	record(t, h, "resume-refused", api.ResumeWorkflowID(p.Tenant, completed[0].ID), "")

	down.Store(true)
	started, _ = h.Ingest(t, testkit.Request(p, schema.SourceObservation, "The embedder is down when this comes."))
	record(t, h, "ingest-deferred", started.ID, started.RunID)
	down.Store(false)
	run, _, err := syncIndex(t, h)
	require.NoError(t, err)
	record(t, h, "sync-index", run.GetID(), run.GetRunID())

	ctx := context.Background()
	started, err = mneme.StartIngest(ctx, h.Temporal, h.TaskQueue,
		testkit.Request(p, schema.SourceObservation, "An endless candidate."))
	require.NoError(t, err)
	<-blocked
	require.NoError(t, h.Temporal.CancelWorkflow(ctx, started.ID, started.RunID))
	require.Error(t, started.Run.Get(ctx, nil))
	record(t, h, "ingest-cancelled", started.ID, started.RunID)

	id, runID := startRaw(t, h, badRequests()["candidates[1].category"])
	record(t, h, "ingest-invalid", id, runID)
	// "ingest-unknown-field" is of a version that refused such a request, and "older-…" of a version before the second
	// form.
	run, err = h.Temporal.ExecuteWorkflow(ctx, client.StartWorkflowOptions{ID: "raw/" + uuid.NewString(),
		TaskQueue: h.TaskQueue}, workflows.Forget,
		schema.ForgetRequest{Operation: schema.Operation{Principal: p}, Selector: schema.Selector{All: true}})
	require.NoError(t, err)
	require.Error(t, run.Get(ctx, nil))
	record(t, h, "forget-invalid", run.GetID(), run.GetRunID())
}

// recordReflections records an agent that is not due, one that forms a belief, and one whose belief is refused.
func recordReflections(t *testing.T) {
	refuse := false
	_, change := reasoning(func(_ int, span []ledger.Event) (inference.Belief, error) {
		if refuse {
			return inference.Belief{}, &inference.AnswerError{Problem: "answer: was cut off"}
		}
		return inference.Belief{Text: "so it is", BasedOn: []string{span[0].ID}}, nil
	})
	h := harness.New(t, change)
	p := testkit.Principal()
	for name, n := range map[string]int{"reflect-not-due": 1, "reflect": 4, "reflect-refused": 4} {
		refuse = name == "reflect-refused"
		in := api.ReflectInput{Principal: p, Stream: "run/" + name, Threshold: 4}
		list := thoughts(p, 0, n)
		for i := range list {
			list[i].ID, list[i].Stream = name+list[i].ID, in.Stream
		}
		appendEvents(t, h.Store, p, list...)
		reflectOn(t, h, in)
		record(t, h, name, api.ReflectWorkflowID(p, in.Stream), "")
	}
}

// recordReviews records an ingest that leaves proposals to a reviewer, and reviews with each outcome.
func recordReviews(t *testing.T, h *harness.Harness) {
	ctx := context.Background()
	p := testkit.Principal()
	result, item := moved(t, h, p, "Dana lives in Lisbon.", "Dana lives in Porto.")
	record(t, h, "ingest-review", batchRun(t, h, p, result.BatchID), "")
	decide(t, h, decision(p, item, schema.DecisionApprove), result.BatchID)
	reviewEnds(t, h, result.ReviewID)
	record(t, h, "review-approved", result.ReviewID, "")
	decide(t, h, decision(p, item, schema.DecisionApprove), result.BatchID)
	reviewEnds(t, h, result.ReviewID)
	record(t, h, "review-again", result.ReviewID, "")

	p = testkit.Principal()
	result, _ = moved(t, h, p, "Dana lives in Lisbon.", "Dana lives in Porto.")
	reviewWaits(t, h, result.ReviewID)
	require.NoError(t, h.Temporal.TerminateWorkflow(ctx, result.ReviewID, "", "its proposals are to expire sooner"))
	_, err := testkit.Owner(t, h.DatabaseURL).Exec(ctx, `UPDATE proposals SET expires_at = NULL WHERE tenant = $1`,
		p.Tenant)
	require.NoError(t, err)
	_, err = h.Temporal.ExecuteWorkflow(ctx, client.StartWorkflowOptions{ID: result.ReviewID, TaskQueue: h.TaskQueue},
		workflows.Review,
		api.ReviewInput{Tenant: p.Tenant, BatchID: result.BatchID, ExpiresAfterSeconds: 1})
	require.NoError(t, err)
	require.Equal(t, 1, reviewEnds(t, h, result.ReviewID).Expired)
	record(t, h, "review-expired", result.ReviewID, "")
}

// recordOperations records operations of each kind, and forgets with each outcome.
func recordOperations(t *testing.T, h *harness.Harness) {
	ctx := context.Background()
	p := testkit.Principal()
	id, runID, _ := runPut(t, h, putRequest(t, p, putSkill("fix_linker", "Clear the cache"),
		putSkill("paint", "Mix the colours")))
	record(t, h, "put", id, runID)
	started, err := h.Temporal.ExecuteWorkflow(ctx, client.StartWorkflowOptions{ID: "raw/" + uuid.NewString(),
		TaskQueue: h.TaskQueue}, workflows.Put,
		schema.PutRequest{Operation: schema.Operation{Principal: p}})
	require.NoError(t, err)
	require.Error(t, started.Get(ctx, nil))
	record(t, h, "put-invalid", started.GetID(), started.GetRunID())

	fact, python := putRecord(t, h.Temporal, h.TaskQueue, p, prefers("go", "")), prefers("python", "")
	for _, name := range []string{"revise", "revise-refused"} { // the second names an old version
		run, _ := revise(t, h.Temporal, h.TaskQueue,
			reviseRequest(p, schema.ReviseSupersede, &python, schema.Target{ID: fact, IfVersion: 1}))
		record(t, h, name, run.GetID(), run.GetRunID())
	}
	who := "ana"
	run, _ := modify(t, h, modifyRequest(p, schema.Patch{ID: fact, Tags: &[]string{"old"}},
		schema.Patch{ID: uuid.NewString(), Who: &who}))
	record(t, h, "modify", run.GetID(), run.GetRunID())

	named := forgetRequest(p, "", schema.Selector{IDs: []string{fact}})
	named.Execute = true
	run, _ = startForget(t, h, named)
	receiptOf(t, run)
	record(t, h, "forget-named", run.GetID(), run.GetRunID())
	run, err = mneme.StartRecover(ctx, h.Temporal, h.TaskQueue,
		schema.RecoverRequest{Operation: schema.Operation{Principal: p, Reason: "by mistake"},
			Targets: []schema.Target{{ID: fact}}})
	require.NoError(t, err)
	require.NoError(t, run.Get(ctx, nil))
	record(t, h, "recover", run.GetID(), run.GetRunID())

	for name, end := range map[string]func(client.WorkflowRun, schema.ForgetPreview){
		"forget-confirmed": func(_ client.WorkflowRun, preview schema.ForgetPreview) {
			confirmForget(t, h, p, preview)
		},
		"forget-signalled": func(run client.WorkflowRun, preview schema.ForgetPreview) {
			for _, token := range []string{"none", forgetToken(t, h, p, preview)} {
				require.NoError(t, h.Temporal.SignalWorkflow(ctx, run.GetID(), run.GetRunID(), api.SignalConfirm,
					schema.ForgetConfirmation{Token: token}))
			}
		},
		"forget-expired": func(client.WorkflowRun, schema.ForgetPreview) {},
		"forget-cancelled": func(run client.WorkflowRun, _ schema.ForgetPreview) {
			require.NoError(t, h.Temporal.CancelWorkflow(ctx, run.GetID(), run.GetRunID()))
		},
		"erase": func(_ client.WorkflowRun, preview schema.ForgetPreview) { confirmForget(t, h, p, preview) },
	} {
		h.Ingest(t, testkit.Request(p, schema.SourceObservation, "Of "+name+" there is something to forget."))
		req := forgetRequest(p, "", schema.Selector{Query: name})
		req.Reason = name
		switch name {
		case "forget-expired":
			req.ExpiresSeconds = 1
		case "erase":
			req.Mode = schema.ForgetErase
		}
		run, preview := startForget(t, h, req)
		end(run, preview)
		receiptOf(t, run)
		record(t, h, name, run.GetID(), run.GetRunID())
	}
}

// recordIndex records checks and rebuilds of an index: in Postgres with a delay before the old generation is dropped,
// otherwise in Qdrant.
func recordIndex(t *testing.T, h *harness.Harness, x indexed) {
	ctx := context.Background()
	rebuild := func(name string, in api.ReindexInput, before func(method, id string)) {
		options := clientOptions(name, x.TaskQueue)
		if before != nil {
			x.server.Before(func(_ context.Context, method string, _ any) error {
				before(method, options.ID)
				return nil
			})
		}
		run, err := x.Temporal.ExecuteWorkflow(ctx, options, workflows.Reindex, in)
		require.NoError(t, err)
		err = run.Get(ctx, nil)
		require.Equal(t, before == nil, err == nil, "%v", err)
		x.server.Before(nil)
		record(t, x.Harness, name, run.GetID(), run.GetRunID())
	}
	check := func(name string, in api.DriftInput) {
		run, err := x.Temporal.ExecuteWorkflow(ctx, clientOptions(name, x.TaskQueue), workflows.DriftCheck, in)
		require.NoError(t, err)
		require.NoError(t, run.Get(ctx, nil))
		record(t, x.Harness, name, run.GetID(), run.GetRunID())
	}
	x.remember(4)
	known, err := x.Store.Generations(ctx, x.qdrant.Name())
	require.NoError(t, err)
	require.NoError(t, x.qdrant.Drop(ctx, known[0]))
	check("drift-looked", api.DriftInput{LookOnly: true})
	run, _, err := syncIndex(t, x.Harness)
	require.NoError(t, err)
	record(t, x.Harness, "sync-index-lost", run.GetID(), run.GetRunID())
	require.NoError(t, x.Temporal.GetWorkflow(ctx, api.DriftWorkflowID(x.qdrant.Name()), "").Get(ctx, nil))
	require.NoError(t, x.qdrant.Drop(ctx, known[0]))
	check("drift", api.DriftInput{})
	rebuild("reindex-model", api.ReindexInput{Model: "next-v1", GraceSeconds: -1}, nil)
	rebuild("reindex-cancelled", api.ReindexInput{}, func(method, id string) {
		if strings.HasSuffix(method, "Points/Scroll") {
			_ = x.Temporal.CancelWorkflow(ctx, id, "")
		}
	})
	owner := testkit.Owner(t, x.DatabaseURL)
	// at the switch, the new generation is missing
	rebuild("reindex-failed", api.ReindexInput{}, func(method, _ string) {
		if strings.HasSuffix(method, "Points/Query") {
			_, _ = owner.Exec(ctx, `DELETE FROM index_generations WHERE state = 'building'`)
		}
	})
	run, err = h.Temporal.ExecuteWorkflow(ctx, clientOptions("reindex", h.TaskQueue), workflows.Reindex,
		api.ReindexInput{GraceSeconds: 1})
	require.NoError(t, err)
	require.NoError(t, run.Get(ctx, nil))
	record(t, h, "reindex", run.GetID(), run.GetRunID())
}

// recordRecalls records recalls with and without results.
func recordRecalls(t *testing.T, h *harness.Harness, p schema.Principal) {
	run, _ := recallBy(t, h, schema.RecallRequest{Principal: p, Query: "where does Ana work"})
	record(t, h, "recall", run.GetID(), run.GetRunID())
	run, err := h.Temporal.ExecuteWorkflow(context.Background(),
		client.StartWorkflowOptions{ID: "recall/" + uuid.NewString(), TaskQueue: h.TaskQueue},
		workflows.Recall, schema.RecallRequest{Principal: p})
	require.NoError(t, err)
	require.Error(t, run.Get(context.Background(), nil))
	record(t, h, "recall-invalid", run.GetID(), run.GetRunID())
	record(t, h, "recall-invalid-shown", run.GetID(), run.GetRunID())
	got := getBy(t, h, schema.GetRequest{Principal: p,
		IDs: []string{uuid.NewString(), known(t, h, p, "Ana works at Acme.")[0]}})
	record(t, h, "get", got.GetID(), got.GetRunID())
	seen, err := mneme.StartContext(context.Background(), h.Temporal, h.TaskQueue,
		ledger.ContextRequest{Principal: p, Streams: []string{"run/a"}, Identity: "You are the baker."})
	require.NoError(t, err)
	require.NoError(t, seen.Get(context.Background(), nil))
	record(t, h, "context", seen.GetID(), seen.GetRunID())
}
