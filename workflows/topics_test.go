package workflows_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/worker"
	"google.golang.org/protobuf/proto"

	activity "github.com/mneme/mneme/activities/topics"
	"github.com/mneme/mneme/api"
	mneme "github.com/mneme/mneme/client"
	"github.com/mneme/mneme/client/inprocess"
	"github.com/mneme/mneme/internal/testkit"
	"github.com/mneme/mneme/internal/testkit/harness"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/schema/topics"
	"github.com/mneme/mneme/store"
	"github.com/mneme/mneme/store/pg"
	"github.com/mneme/mneme/workflows"
)

const billing = "What do we know about the billing service?"

func openTopic(t testing.TB, s *store.Store, p schema.Principal, question string) topics.Topic {
	t.Helper()
	topic, err := s.AddTopic(context.Background(), topics.TopicRequest{Principal: p, Question: question}, time.Now())
	require.NoError(t, err)
	return topic
}

// readTopic reads a topic as its principal.
func readTopic(t testing.TB, h *harness.Harness, topic topics.Topic) topics.Topic {
	t.Helper()
	r := inprocess.New(inprocess.Options{Store: h.Store})
	out, err := h.Store.Topic(context.Background(), topic.Principal, uuid.MustParse(topic.ID),
		func(of topics.Topic) pg.Filter { return activity.Filter(r, of) })
	require.NoError(t, err)
	return out
}

func refresh(t testing.TB, h *harness.Harness, topic topics.Topic,
	shadow bool) (client.WorkflowRun, api.RefreshTopicResult) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), harness.WaitLimit)
	defer cancel()
	run, err := mneme.StartRefreshTopic(ctx, h.Temporal, h.TaskQueue,
		api.RefreshTopicInput{Tenant: topic.Principal.Tenant, Topic: topic.ID, Shadow: shadow})
	require.NoError(t, err)
	out, err := mneme.Outcome[api.RefreshTopicResult](ctx, run)
	require.NoError(t, err)
	return run, out
}

// historyText is a run's history with decoded payloads.
func historyText(t testing.TB, h *harness.Harness, run client.WorkflowRun) string {
	t.Helper()
	var out strings.Builder
	for _, event := range rawHistory(t, h.Temporal, run.GetID(), run.GetRunID()) {
		encoded, err := proto.Marshal(event)
		require.NoError(t, err)
		out.Write(encoded)
	}
	return out.String()
}

func said(parts []topics.Part) string {
	var out []string
	for _, p := range parts {
		out = append(out, p.Text)
	}
	return strings.Join(out, " | ")
}

// A topic is answered, and a second run over the same evidence does nothing. New evidence makes the answer stale and is
// in the next answer, the newest value first. Histories contain no content.
func TestRefreshTopic(t *testing.T) {
	t.Parallel()
	h := harness.New(t, nil)
	p := testkit.Principal()
	h.Ingest(t, testkit.Request(p, schema.SourceMemory, "The billing service runs on xyzzycanary Postgres.",
		"The billing service is owned by the payments team.", "Tea is served hot in the kitchen."))
	topic := openTopic(t, h.Store, p, billing)
	run, out := refresh(t, h, topic, true)
	require.Equal(t, api.TopicWouldWrite, out.Outcome)
	require.Equal(t, topics.NeverAnswered, readTopic(t, h, topic).Freshness, "shadow mode publishes nothing")
	require.NotContains(t, historyText(t, h, run), "xyzzycanary")

	run, out = refresh(t, h, topic, false)
	require.Equal(t, api.TopicAnswered, out.Outcome)
	require.Equal(t, 1, out.Number)
	shown := readTopic(t, h, topic)
	require.Equal(t, topics.Fresh, shown.Freshness)
	require.Contains(t, said(shown.Answer.Parts), "xyzzycanary Postgres")
	require.Contains(t, said(shown.Answer.Parts), "payments team")
	require.Equal(t, "rules", shown.Answer.WrittenBy)
	require.NotContains(t, historyText(t, h, run), "xyzzycanary")
	require.NotContains(t, historyText(t, h, run), "billing")

	run, out = refresh(t, h, topic, false)
	require.Equal(t, api.TopicFresh, out.Outcome)
	require.NotContains(t, historyText(t, h, run), "DraftTopic")
	require.Equal(t, 1, testkit.Rows(t, testkit.Owner(t, h.DatabaseURL), "topic_answers", "true"))
	require.Zero(t, testkit.Rows(t, testkit.Owner(t, h.DatabaseURL), "retrievals", "true"),
		"a refresh does not count as an access")

	h.Ingest(t, testkit.Request(p, schema.SourceMemory, "The billing service is deployed to Lisbon."))
	_, out = refresh(t, h, topic, false)
	require.Equal(t, api.TopicAnswered, out.Outcome)
	require.Positive(t, out.Changed)
	require.Contains(t, said(readTopic(t, h, topic).Answer.Parts), "Lisbon")
}

// A sweep refreshes the topics of all tenants whose evidence has changed, and starts nothing for the others.
func TestRefreshTopics(t *testing.T) {
	t.Parallel()
	h := harness.New(t, nil)
	var open []topics.Topic
	for range 2 {
		p := testkit.Principal()
		h.Ingest(t, testkit.Request(p, schema.SourceMemory, "The billing service runs on Postgres."))
		open = append(open, openTopic(t, h.Store, p, billing), openTopic(t, h.Store, p, "Who owns the moon?"))
	}
	sweep := func() api.RefreshTopicsResult {
		ctx, cancel := context.WithTimeout(context.Background(), harness.WaitLimit)
		defer cancel()
		run, err := mneme.StartRefreshTopics(ctx, h.Temporal, h.TaskQueue, api.RefreshTopicsInput{})
		require.NoError(t, err)
		out, err := mneme.Outcome[api.RefreshTopicsResult](ctx, run)
		require.NoError(t, err)
		return out
	}
	first := sweep()
	require.Equal(t, []int{4, 4, 0, 0}, []int{first.Checked, first.Answered, first.Fresh, first.Failed})
	for i, topic := range open {
		shown := readTopic(t, h, topic)
		require.Equal(t, topics.Fresh, shown.Freshness)
		require.Equal(t, i%2 == 1, shown.Answer.Unknown())
	}
	second := sweep()
	require.Equal(t, []int{4, 0, 4, 0}, []int{second.Checked, second.Answered, second.Fresh, second.Failed})
}

// A model's answer is kept only if all its citations are in its input; otherwise the rules answer.
func TestTopicByAModel(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		content, by, fallback string
	}{
		"good": {`{"sentences":[{"text":"Billing runs on Postgres 17.","sources":[1]}]}`, "test-model",
			""},
		"invents a citation": {`{"sentences":[{"text":"Billing runs on Postgres 17.","sources":[9]}]}`, "rules",
			"cites text 9 of 1"},
		"invents a number": {`{"sentences":[{"text":"Billing runs on Postgres 18.","sources":[1]}]}`, "rules",
			"number"},
		"says nothing": {`{"sentences":[]}`, "rules", "empty"},
		"talks":        {`I do not know.`, "rules", "empty"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			model := testkit.NewModel(t, func(context.Context, testkit.ModelCall) testkit.ModelReply {
				return testkit.ModelReply{Content: test.content}
			})
			h := harness.New(t, func(d *workflows.Dependencies) {
				d.Brain.TopicWriter = model.Brain(t).TopicWriter
			})
			p := testkit.Principal()
			_, result := h.Ingest(t, testkit.Request(p, schema.SourceMemory,
				"The billing service runs on Postgres 17."))
			topic := openTopic(t, h.Store, p, billing)
			_, out := refresh(t, h, topic, false)
			require.Equal(t, api.TopicAnswered, out.Outcome)
			require.EqualValues(t, 110, out.Tokens, "a rejected answer counts against the budget")
			shown := readTopic(t, h, topic).Answer
			if test.by == "rules" {
				require.Equal(t, "rules", shown.WrittenBy)
				require.Contains(t, shown.Fallback, test.fallback)
				require.Equal(t, "The billing service runs on Postgres 17.", said(shown.Parts))
			} else {
				require.Equal(t, "Billing runs on Postgres 17.", said(shown.Parts))
				require.NotEqual(t, "rules", shown.WrittenBy)
			}
			require.Contains(t, shown.Parts[0].Memories, result.MemoryIDs[0])
			calls := len(model.Calls(testkit.Decision))
			_, out = refresh(t, h, topic, false)
			require.Equal(t, api.TopicFresh, out.Outcome)
			require.Len(t, model.Calls(testkit.Decision), calls, "the same evidence costs nothing")
			require.EqualValues(t, 110, testkit.TokenDay(t, h.Store, p.Tenant, time.Now()).Used())
		})
	}
}

// A call that exceeds the budget of the day is not made: the run ends as held, and the previous answer is kept.
func TestTopicHeldByTheBudget(t *testing.T) {
	t.Parallel()
	model := testkit.NewModel(t, func(context.Context, testkit.ModelCall) testkit.ModelReply {
		return testkit.ModelReply{Content: `{"sentences":[{"text":"Billing runs.","sources":[1]}]}`}
	})
	held := 0
	h := harness.New(t, func(d *workflows.Dependencies) {
		d.Brain.TopicWriter, d.TokenBudget = model.Brain(t).TopicWriter, 2_600 // enough for one call but not for two
		d.BudgetHeld = func(string) { held++ }
	})
	p := testkit.Principal()
	h.Ingest(t, testkit.Request(p, schema.SourceMemory, "The billing service runs on Postgres."))
	topic := openTopic(t, h.Store, p, billing)
	_, out := refresh(t, h, topic, false)
	require.Equal(t, api.TopicAnswered, out.Outcome)
	require.NoError(t, h.Store.SettleTokens(context.Background(), p.Tenant, "nothing", 1, time.Now()))
	h.Ingest(t, testkit.Request(p, schema.SourceMemory,
		"The billing service has "+strings.Repeat("very ", 150)+"many users."))
	_, out = refresh(t, h, topic, false)
	require.Equal(t, api.TopicHeld, out.Outcome)
	require.Len(t, model.Calls(testkit.Decision), 1)
	require.Equal(t, 1, held)
	shown := readTopic(t, h, topic)
	require.Equal(t, []any{topics.Stale, "token_budget", 1}, []any{shown.Freshness, shown.Held, shown.Answer.Number})
}

// Evidence that is erased between the draft and its publication is in no answer.
func TestEvidenceErasedBeforePublishing(t *testing.T) {
	t.Parallel()
	h := harness.NewIdle(t, testkit.DatabaseURL(t), harness.Temporal(t), nil)
	p, erased := testkit.Principal(), false
	var memories []string
	h.StartWorkerWith(t,
		worker.Options{Interceptors: []interceptor.WorkerInterceptor{&hook{around: func(_ context.Context, name string,
			run func() (any, error)) (any, error) {
			if name == "PublishTopic" && !erased {
				erased = true
				forgetting, preview := startForget(t, h,
					forgetRequest(p, schema.ForgetErase, schema.Selector{IDs: memories}))
				confirmForget(t, h, p, preview)
				receiptOf(t, forgetting)
			}
			return run()
		}}}})
	_, result := h.Ingest(t, testkit.Request(p, schema.SourceMemory, "The billing service keeps xyzzycanary keys."))
	memories = result.MemoryIDs
	topic := openTopic(t, h.Store, p, billing)
	_, out := refresh(t, h, topic, false)
	require.True(t, erased)
	require.Equal(t, 2, out.Rounds)
	require.True(t, readTopic(t, h, topic).Answer.Unknown())
	require.Zero(t, testkit.Rows(t, testkit.Owner(t, h.DatabaseURL), "topic_answers",
		"parts::text LIKE '%xyzzycanary%'"))
	require.Zero(t, testkit.Rows(t, testkit.Owner(t, h.DatabaseURL), "topic_drafts", "true"))
}

// A worker is killed after it drafted, or published, and before the acknowledgement: the model is asked once, and one
// answer is stored.
func TestTopicWorkerKilled(t *testing.T) {
	t.Parallel()
	for _, step := range []string{"CheckTopic", "DraftTopic", "PublishTopic"} {
		t.Run(step, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithTimeout(context.Background(), harness.WaitLimit)
			defer cancel()
			model := testkit.NewModel(t, func(context.Context, testkit.ModelCall) testkit.ModelReply {
				return testkit.ModelReply{Content: `{"sentences":[{"text":"Billing runs on Postgres.","sources":[1]}]}`}
			})
			address := testkit.TemporalAddress(t)
			gate := harness.NewGate(t, address, step)
			namespace := harness.NewNamespace(t, address)
			c := harness.DialTemporal(t, address, func(o *client.Options) { o.Namespace = namespace })
			h := harness.NewIdle(t, testkit.DatabaseURL(t), c, nil)
			p := testkit.Principal()
			h.StartWorker(t)
			h.Ingest(t, testkit.Request(p, schema.SourceMemory, "The billing service runs on Postgres."))
			h.StopWorker()
			topic := openTopic(t, h.Store, p, billing)
			env := map[string]string{"DATABASE_URL": h.DatabaseURL, "TEMPORAL_ADDRESS": gate.Address,
				"TEMPORAL_NAMESPACE": namespace,
				"MNEME_TASK_QUEUE":   h.TaskQueue, "MNEME_BRAIN": "openai", "MNEME_OPENAI_BASE_URL": model.URL,
				"MNEME_OPENAI_CHAT_MODEL": "test"}
			victim := harness.StartProcess(t, env)
			run, err := mneme.StartRefreshTopic(ctx, c, h.TaskQueue,
				api.RefreshTopicInput{Tenant: p.Tenant, Topic: topic.ID})
			require.NoError(t, err)
			require.NoError(t, gate.WaitHeld(ctx), victim.Output())
			victim.Kill()
			env["TEMPORAL_ADDRESS"] = address
			harness.StartProcess(t, env)
			out, err := mneme.Outcome[api.RefreshTopicResult](ctx, run)
			require.NoError(t, err)
			require.Equal(t, api.TopicAnswered, out.Outcome)
			require.Equal(t, "Billing runs on Postgres.", said(readTopic(t, h, topic).Answer.Parts))
			require.Len(t, model.Calls(testkit.Decision), 1)
			require.Equal(t, 1, testkit.Rows(t, testkit.Owner(t, h.DatabaseURL), "topic_answers", "true"))
		})
	}
}

// recordTopics records refreshes of a topic: answered, with unchanged evidence, held by the budget, and in a sweep.
func recordTopics(t *testing.T) {
	model := testkit.NewModel(t, func(context.Context, testkit.ModelCall) testkit.ModelReply {
		return testkit.ModelReply{Content: `{"sentences":[{"text":"Billing runs.","sources":[1]}]}`}
	})
	h := harness.New(t, nil)
	p := testkit.Principal()
	h.Ingest(t, testkit.Request(p, schema.SourceMemory, "The billing service runs on Postgres."))
	topic := openTopic(t, h.Store, p, billing)
	for _, name := range []string{"topic-answered", "topic-fresh"} {
		run, _ := refresh(t, h, topic, false)
		record(t, h, name, run.GetID(), run.GetRunID())
	}
	openTopic(t, h.Store, p, "Who runs billing?")
	run, err := mneme.StartRefreshTopics(context.Background(), h.Temporal, h.TaskQueue,
		api.RefreshTopicsInput{Tenant: p.Tenant})
	require.NoError(t, err)
	require.NoError(t, run.Get(context.Background(), nil))
	record(t, h, "topics-swept", run.GetID(), run.GetRunID())

	h = harness.New(t, func(d *workflows.Dependencies) {
		d.Brain.TopicWriter, d.TokenBudget = model.Brain(t).TopicWriter, 1
	})
	h.Ingest(t, testkit.Request(p, schema.SourceMemory, "The billing service runs on Postgres."))
	run, _ = refresh(t, h, openTopic(t, h.Store, p, billing), false)
	record(t, h, "topic-held", run.GetID(), run.GetRunID())
}
