package workflows_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/base64"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/worker"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"github.com/mneme/mneme/api"
	"github.com/mneme/mneme/internal/config"
	"github.com/mneme/mneme/internal/testkit"
	"github.com/mneme/mneme/internal/testkit/harness"
	"github.com/mneme/mneme/memory"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/store/pipeline"
	"github.com/mneme/mneme/workflows"
)

// rawHistory reads a run's events as the server stores them.
func rawHistory(t testing.TB, c client.Client, id, runID string) []*historypb.HistoryEvent {
	t.Helper()
	var out []*historypb.HistoryEvent
	iter := c.GetWorkflowHistory(context.Background(), id, runID, false, enumspb.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	for iter.HasNext() {
		event, err := iter.Next()
		require.NoError(t, err)
		out = append(out, event)
	}
	require.NotEmpty(t, out)
	return out
}

var base64Word = regexp.MustCompile(`[A-Za-z0-9+/]{8,}={0,2}`)

// bares reports whether a message contains the word: in its wire form, or in its JSON form with all base64 decoded,
// twice.
func bares(t testing.TB, m proto.Message, word string) bool {
	t.Helper()
	wire, err := proto.Marshal(m)
	require.NoError(t, err)
	text, err := protojson.Marshal(m)
	require.NoError(t, err)
	all := [][]byte{wire, text}
	for range 2 {
		var decoded bytes.Buffer
		for _, found := range base64Word.FindAll(all[len(all)-1], -1) {
			if plain, err := base64.StdEncoding.DecodeString(string(found)); err == nil {
				decoded.Write(plain)
				decoded.WriteByte('\n')
			}
		}
		all = append(all, decoded.Bytes())
	}
	return bytes.Contains(bytes.ToLower(bytes.Join(all, nil)), []byte(strings.ToLower(word)))
}

// barers lists the types of a run's events that contain the word.
func barers(t testing.TB, c client.Client, id, runID, word string) []string {
	t.Helper()
	out := []string{}
	for _, event := range rawHistory(t, c, id, runID) {
		if bares(t, event, word) {
			out = append(out, event.GetEventType().String())
		}
	}
	return out
}

// talkative is a model whose error messages quote the input: the first call of each source fails, and so does every
// call of a poisoned source.
func talkative(t *testing.T) *testkit.Model {
	return stumbleWith(t, func(call testkit.ModelCall, first bool) testkit.ModelReply {
		quote := "I refuse: " + call.Data
		switch {
		case strings.Contains(call.Data, "poison"):
			return testkit.ModelReply{Status: http.StatusBadRequest, Content: quote}
		case first:
			return testkit.ModelReply{Status: http.StatusInternalServerError, Content: quote}
		case call.Kind == testkit.Decision:
			return testkit.DecisionOf(schema.ActionAdd, "")
		}
		return testkit.ExtractionOf([]memory.Fact{{Content: "It is known that " + call.Data,
			Claim: memory.Claim{Subject: canary, Predicate: "is", Object: canary}}},
			memory.Triple{Source: canary, Relationship: "knows", Target: "Ana " + canary, Confidence: 0.9})
	})
}

// noisyRun ingests content with the canary in every field, with failures in every phase that calls a service, and
// replays the dead job. It returns the runs.
func noisyRun(t *testing.T, h *harness.Harness, embedderDown *atomic.Bool, p schema.Principal) (runs [][2]string) {
	t.Helper()
	known(t, h, p, "The "+canary+" lives here already.")
	embedderDown.Store(true)
	// A constraint that the graph violates: Postgres quotes the row in the error's detail.
	db := testkit.Owner(t, h.DatabaseURL)
	_, err := db.Exec(context.Background(),
		`ALTER TABLE entities ADD CHECK (canonical_name NOT LIKE '%`+canary+`%') NOT VALID`)
	require.NoError(t, err)
	req := testkit.Request(p, schema.SourceToolOutput, "The "+canary+" lives in the attic.",
		"A poison for the "+canary+".", "[tag"+canary+"]: The "+canary+" sleeps.")
	for i := range req.Candidates {
		req.Candidates[i].Speaker = "Speaker " + canary
		req.Candidates[i].Session = "session-" + canary
		req.Candidates[i].Refs = []schema.Ref{{Kind: "event", Ref: "ref-" + canary}}
	}
	started, result := h.Ingest(t, req)
	require.Equal(t, []string{api.PhaseLink, api.PhaseIndex}, result.Deferred)
	jobs, err := h.Store.Jobs(context.Background(), p.Tenant, pipeline.JobFilter{State: schema.JobDead})
	require.NoError(t, err)
	require.Len(t, jobs, 1)
	require.NotContains(t, fmt.Sprint(jobs[0]), canary)
	_, err = resume(t, h, api.ResumeInput{Tenant: p.Tenant, JobID: jobs[0].ID, Actor: "operator:test"})
	require.NoError(t, err)
	again, _ := h.Ingest(t, req)
	return [][2]string{{started.ID, started.RunID}, {again.ID, again.RunID},
		{api.ResumeWorkflowID(p.Tenant, jobs[0].ID), ""}}
}

// noisyHarness has a model, an embedder and a database whose error messages contain content.
func noisyHarness(t *testing.T, c client.Client) (*harness.Harness, *atomic.Bool) {
	t.Helper()
	down := &atomic.Bool{}
	h := harness.NewIdle(t, testkit.DatabaseURL(t), c, func(d *workflows.Dependencies) {
		d.Brain = talkative(t).Brain(t)
		d.Brain.Embedder = switchable{Embedder: d.Brain.Embedder, down: down}
	})
	h.StartWorkerWith(t, worker.Options{Interceptors: []interceptor.WorkerInterceptor{hasty()}})
	return h, down
}

// Content is only in the event that delivered it.
func TestContentStaysOutOfHistory(t *testing.T) {
	t.Parallel()
	h, down := noisyHarness(t, harness.Temporal(t))
	for i, run := range noisyRun(t, h, down, testkit.Principal()) {
		want := []string{enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_STARTED.String()}
		if i == 2 {
			want = []string{} // the input of a replay is only the job's id
		}
		require.Equal(t, want, barers(t, h.Temporal, run[0], run[1], canary), run)
		described, err := h.Temporal.DescribeWorkflowExecution(context.Background(), run[0], run[1])
		require.NoError(t, err)
		require.False(t, bares(t, described, canary))
	}
}

// With a payload key, neither content nor error messages can be read in any history.
func TestPayloadKeyHidesContent(t *testing.T) {
	t.Parallel()
	key := make([]byte, 32)
	_, err := rand.Read(key)
	require.NoError(t, err)
	address := testkit.TemporalAddress(t)
	sealed := harness.DialTemporal(t, address, func(o *client.Options) { require.NoError(t, config.Encrypt(o, key)) })
	h, down := noisyHarness(t, sealed)
	runs := noisyRun(t, h, down, testkit.Principal())

	// An invalid request, whose error names its fields.
	id := "raw/" + uuid.NewString()
	run, err := sealed.ExecuteWorkflow(context.Background(),
		client.StartWorkflowOptions{ID: id, TaskQueue: h.TaskQueue, StaticSummary: "summary " + canary,
			StaticDetails: "details " + canary, Memo: map[string]any{"note": canary}}, "Ingest",
		badRequests()["candidates[0].content"])
	require.NoError(t, err)
	require.ErrorContains(t, run.Get(context.Background(), nil), "candidates[0].content")
	runs = append(runs, [2]string{id, ""})

	anyone := harness.Temporal(t) // a client without the key
	for _, run := range runs {
		for _, word := range []string{canary, "refused_by_test", "candidates[0].content",
			"some items have to be tried again", "embedder is down", "violates check"} {
			require.Empty(t, barers(t, anyone, run[0], run[1], word), word)
		}
		described, err := anyone.WorkflowService().DescribeWorkflowExecution(context.Background(),
			&workflowservice.DescribeWorkflowExecutionRequest{
				Namespace: harness.Namespace, Execution: execution(run)})
		require.NoError(t, err)
		require.False(t, bares(t, described, canary))
	}
}

func execution(run [2]string) *commonpb.WorkflowExecution {
	return &commonpb.WorkflowExecution{WorkflowId: run[0], RunId: run[1]}
}
