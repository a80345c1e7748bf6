package workflows_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/worker"

	"github.com/mneme/mneme/api"
	mneme "github.com/mneme/mneme/client"
	"github.com/mneme/mneme/inference"
	"github.com/mneme/mneme/inference/openai"
	"github.com/mneme/mneme/internal/testkit"
	"github.com/mneme/mneme/internal/testkit/harness"
	"github.com/mneme/mneme/memory/views"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/schema/ledger"
	"github.com/mneme/mneme/store"
	"github.com/mneme/mneme/store/events"
	"github.com/mneme/mneme/workflows"
)

const stream = "run/bakery"

// says returns an event of the stream with a text.
func says(id, agent, kind, text string) ledger.Event {
	payload, _ := json.Marshal(ledger.Text{Text: text})
	return ledger.Event{ID: id, Stream: stream, Agent: agent, Kind: kind, Payload: payload,
		OccurredAt: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)}
}

func appendEvents(t testing.TB, s *store.Store, p schema.Principal, list ...ledger.Event) {
	t.Helper()
	for page := range slices.Chunk(list, ledger.MaxAppend) {
		_, err := s.Append(context.Background(),
			events.AppendInput{Tenant: p.Tenant, Events: page, Open: views.GlobalKinds(), Now: time.Now()})
		require.NoError(t, err)
	}
}

// thoughts returns n events of the principal's agent.
func thoughts(p schema.Principal, from, n int) (out []ledger.Event) {
	for i := from; i < from+n; i++ {
		out = append(out, says(fmt.Sprintf("e%d", i), p.Agent, ledger.KindAgentThought,
			fmt.Sprintf("thought %d is secretive", i)))
	}
	return out
}

func reflectOn(t testing.TB, h *harness.Harness, in api.ReflectInput) api.ReflectResult {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), harness.WaitLimit)
	defer cancel()
	if in.Stream == "" {
		in.Stream = stream
	}
	out, err := mneme.Reflect(ctx, h.Temporal, h.TaskQueue, in)
	require.NoError(t, err)
	return out
}

func believedIn(t testing.TB, s *store.Store, tenant string) (out []ledger.Event) {
	t.Helper()
	page, err := s.Page(context.Background(), tenant, stream, 0, events.MaxPage)
	require.NoError(t, err)
	for _, e := range page {
		if e.Kind == ledger.KindAgentReflected {
			out = append(out, e)
		}
	}
	return out
}

// reasoner is a reasoner defined by a function.
type reasoner func(call int, span []ledger.Event) (inference.Belief, error)

type countedReasoner struct {
	mu     sync.Mutex
	calls  int
	answer reasoner
}

func (c *countedReasoner) Reflect(_ context.Context, _ string,
	span []ledger.Event) (inference.Belief, inference.Usage, error) {
	c.mu.Lock()
	c.calls++
	n := c.calls
	c.mu.Unlock()
	belief, err := c.answer(n, span)
	return belief, inference.Usage{Model: "m", Calls: 1, PromptTokens: 9, CompletionTokens: 1}, err
}

func reasoning(answer reasoner) (*countedReasoner, func(*workflows.Dependencies)) {
	c := &countedReasoner{answer: answer}
	return c, func(d *workflows.Dependencies) { d.Brain.Reasoner = c }
}

// An agent reflects when it has seen as many events as the threshold since its last reflection, and not before. Its
// belief is in the ledger and in no history.
func TestReflectWhenDue(t *testing.T) {
	t.Parallel()
	h := harness.New(t, nil)
	p := testkit.Principal()
	in := api.ReflectInput{Principal: p, Stream: stream, Threshold: 4}
	require.Equal(t, api.ReflectResult{}, reflectOn(t, h, in), "of nothing")
	appendEvents(t, h.Store, p, thoughts(p, 0, 3)...)
	require.Equal(t, api.ReflectResult{}, reflectOn(t, h, in))
	require.Less(t, len(rawHistory(t, h.Temporal, api.ReflectWorkflowID(p, stream), "")), 9, "one task")
	appendEvents(t, h.Store, p, says("decided", p.Agent, ledger.KindAgentThought,
		"From now on I bake secretive bread."))
	first := reflectOn(t, h, in)
	require.Equal(t, api.ReflectResult{Due: true, Beliefs: 1,
		EventID: views.ReflectionID(p.Tenant, p.Agent, stream, "decided"), Seq: 5, Covers: 4, BasedOn: first.BasedOn},
		first)
	require.Empty(t, barers(t, h.Temporal, api.ReflectWorkflowID(p, stream), "", "secretive"))
	beliefs := believedIn(t, h.Store, p.Tenant)
	require.Len(t, beliefs, 1)
	require.Contains(t, views.Text(beliefs[0]), "From now on I bake secretive bread.")
	require.Equal(t, schema.VisibilityGlobal, beliefs[0].Visibility)

	require.False(t, reflectOn(t, h, in).Due, "no events since then")
	foreign := []ledger.Event{}
	appendEvents(t, h.Store, p, says("e1 of other", "other", ledger.KindAgentThought, "x"))
	for i := range 6 {
		e := says(fmt.Sprintf("b%d", i), "other", ledger.KindAgentReflected, "")
		e.Payload = json.RawMessage(`{"belief":"x","based_on":["e1 of other"]}`)
		foreign = append(foreign, e)
	}
	appendEvents(t, h.Store, p, foreign...)
	require.False(t, reflectOn(t, h, in).Due, "only beliefs of others")
	appendEvents(t, h.Store, p, thoughts(p, 10, 1)...)
	require.Equal(t, 7, reflectOn(t, h, in).Covers)
}

// An agent with many pending events forms several beliefs in one run, the oldest first, and none from events after the
// requested one.
func TestReflectOnABacklog(t *testing.T) {
	t.Parallel()
	h := harness.New(t, nil)
	p := testkit.Principal()
	appendEvents(t, h.Store, p, thoughts(p, 0, 2*views.MaxSpan+30)...)
	early := reflectOn(t, h, api.ReflectInput{Principal: p, Threshold: 8, Through: 10})
	require.Equal(t, 10, early.Covers)
	all := reflectOn(t, h, api.ReflectInput{Principal: p, Threshold: 8})
	require.Equal(t, 3, all.Beliefs)
	require.Equal(t, 20, all.Covers, "the last one")
	require.Len(t, believedIn(t, h.Store, p.Tenant), 4)
	page, err := h.Store.Page(context.Background(), p.Tenant, stream, 0, events.MaxPage)
	require.NoError(t, err)
	require.Empty(t, views.ReflectionTracker{Viewer: views.Viewer{Agent: p.Agent}}.Pending(page))
}

// A run that reaches its limit of beliefs continues as new and keeps its counts.
func TestReflectContinuesAsNew(t *testing.T) {
	t.Parallel()
	h := harness.New(t, nil)
	p := testkit.Principal()
	appendEvents(t, h.Store, p, thoughts(p, 0, 51*views.MaxSpan)...)
	ctx, cancel := context.WithTimeout(context.Background(), harness.WaitLimit)
	defer cancel()
	out, err := mneme.Reflect(ctx, h.Temporal, h.TaskQueue,
		api.ReflectInput{Principal: p, Stream: stream, Threshold: 8})
	require.NoError(t, err)
	require.Equal(t, 51, out.Beliefs)
}

// Concurrent requests form one belief, and every activity may run twice.
func TestReflectStartedTwice(t *testing.T) {
	t.Parallel()
	h := harness.NewIdle(t, testkit.DatabaseURL(t), harness.Temporal(t), nil)
	h.StartWorkerWith(t, worker.Options{Interceptors: []interceptor.WorkerInterceptor{&twice{}}})
	p := testkit.Principal()
	appendEvents(t, h.Store, p, thoughts(p, 0, 8)...)
	var wg sync.WaitGroup
	results := make([]api.ReflectResult, 4)
	errs := make([]error, 4)
	for i := range results {
		wg.Go(func() {
			results[i], errs[i] = mneme.Reflect(context.Background(), h.Temporal, h.TaskQueue,
				api.ReflectInput{Principal: p, Stream: stream, Threshold: 8})
		})
	}
	wg.Wait()
	beliefs := believedIn(t, h.Store, p.Tenant)
	require.Len(t, beliefs, 1)
	for i, r := range results {
		require.NoError(t, errs[i])
		require.True(t, !r.Due || r.EventID == beliefs[0].ID)
	}
	require.True(t, slices.ContainsFunc(results, func(r api.ReflectResult) bool {
		return r.Due && r.Covers == 8 && r.BasedOn > 0
	}))
}

// A belief that cites events outside of its input is refused, and so is one without text or citations. Nothing is
// appended, and the events stay pending.
func TestReflectRefusesBadBeliefs(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		belief  inference.Belief
		refused string
	}{
		"an invented id": {inference.Belief{Text: "canary", BasedOn: []string{"e1", "invented"}},
			"based_on[1]: is not an event that the reasoner was given"},
		"another's private event": {inference.Belief{Text: "canary", BasedOn: []string{"private"}},
			"based_on[0]: is not an event that the reasoner was given"},
		"an event before the span": {inference.Belief{Text: "canary", BasedOn: []string{"before"}},
			"based_on[0]: is not an event that the reasoner was given"},
		"nothing cited":               {inference.Belief{Text: "canary"}, "based_on: must name at least one event"},
		"nothing said":                {inference.Belief{BasedOn: []string{"e1"}}, "belief: is required"},
		"an answer that says nothing": {inference.Belief{Text: "unusable"}, "it is empty or was cut off"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := testkit.Principal()
			asked, change := reasoning(func(call int, span []ledger.Event) (inference.Belief, error) {
				switch {
				case call == 1:
					return inference.Belief{Text: "fine", BasedOn: []string{span[0].ID}}, nil
				case c.belief.Text == "unusable":
					return inference.Belief{}, &inference.AnswerError{Problem: "it is empty or was cut off"}
				}
				return c.belief, nil
			})
			h := harness.New(t, change)
			appendEvents(t, h.Store, p, says("before", p.Agent, ledger.KindAgentSpoke, "hello"))
			require.Equal(t, 1, reflectOn(t, h, api.ReflectInput{Principal: p, Threshold: 1}).Beliefs)
			appendEvents(t, h.Store, p, append(thoughts(p, 0, 4),
				says("private", "other", ledger.KindAgentThought, "mine"))...)
			out := reflectOn(t, h, api.ReflectInput{Principal: p, Threshold: 2})
			require.Equal(t, api.ReflectResult{Due: true, Refused: c.refused, Tokens: 30}, out)
			require.Equal(t, 4, asked.calls, "three attempts")
			require.Len(t, believedIn(t, h.Store, p.Tenant), 1)
			require.Empty(t, barers(t, h.Temporal, api.ReflectWorkflowID(p, stream), "", "canary"))
			require.True(t, reflectOn(t, h, api.ReflectInput{Principal: p, Threshold: 2}).Due, "it is still pending")
		})
	}
}

// With a real endpoint: after an unusable answer the model is asked again, and the tokens of all answers count.
func TestReflectAsksAModelAgain(t *testing.T) {
	t.Parallel()
	answers := []string{`{"belief":"x","based_on":[9]}`, `I believe`, `{"belief":"The oven is cold.","based_on":[2]}`}
	model := testkit.NewModel(t, func(_ context.Context, call testkit.ModelCall) testkit.ModelReply {
		if call.Number > len(answers) {
			return testkit.ModelReply{Status: http.StatusUnauthorized, Content: "canary"}
		}
		return testkit.ModelReply{Content: answers[call.Number-1]}
	})
	h := harness.New(t, func(d *workflows.Dependencies) {
		brain, err := openai.New(openai.Config{BaseURL: model.URL, ChatModel: "m"})
		require.NoError(t, err)
		d.Brain.Reasoner = brain.Reasoner
	})
	p := testkit.Principal()
	appendEvents(t, h.Store, p, thoughts(p, 0, 3)...)
	out := reflectOn(t, h, api.ReflectInput{Principal: p, Threshold: 3})
	require.Equal(t, 330, out.Tokens)
	require.Equal(t, 1, out.BasedOn)
	require.Equal(t, "The oven is cold.", views.Text(believedIn(t, h.Store, p.Tenant)[0]))
	appendEvents(t, h.Store, p, thoughts(p, 10, 3)...)
	out = reflectOn(t, h, api.ReflectInput{Principal: p, Threshold: 3})
	require.Contains(t, out.Refused, "reasoner: ")
	require.NotContains(t, out.Refused, "canary")
}

// Evidence that is erased during the model call is not cited: the model is asked again without it. If the whole span is
// erased, there is no belief.
func TestReflectOnErasedEvidence(t *testing.T) {
	t.Parallel()
	for _, all := range []bool{false, true} {
		p := testkit.Principal()
		var h *harness.Harness
		var spans [][]string
		_, change := reasoning(func(call int, span []ledger.Event) (inference.Belief, error) {
			var ids []string
			for _, e := range span {
				ids = append(ids, e.ID)
			}
			spans = append(spans, ids)
			erase := []string{"e0", "e3"}
			if all {
				erase = ids
			}
			_, err := h.Store.Empty(context.Background(), p.Tenant, erase, time.Now())
			return inference.Belief{Text: "it is so", BasedOn: ids[:2]}, err
		})
		h = harness.New(t, change)
		appendEvents(t, h.Store, p, thoughts(p, 0, 4)...)
		out := reflectOn(t, h, api.ReflectInput{Principal: p, Threshold: 4})
		if all {
			require.Equal(t, "span: was erased, or reflected on by another", out.Refused)
			require.Empty(t, believedIn(t, h.Store, p.Tenant))
			continue
		}
		require.Equal(t, [][]string{{"e0", "e1", "e2", "e3"}, {"e1", "e2"}}, spans)
		require.Equal(t, 2, out.Covers)
		r, _ := ledger.Payload[ledger.Reflection](believedIn(t, h.Store, p.Tenant)[0])
		require.Equal(t, ledger.Reflection{Belief: "it is so", BasedOn: []string{"e1", "e2"}, Covers: 2, Through: "e2"},
			r)
	}
}

// A belief has at least the sensitivity of its evidence and of its own text, and is hidden from those that the request
// or the deployment excludes.
func TestReflectionKeepsItsSensitivity(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ most, asked, want schema.Visibility }{
		{"", "", schema.VisibilityGlobal},
		{"", schema.VisibilityPrivate, schema.VisibilityPrivate},
		{schema.VisibilityPrivate, "", schema.VisibilityPrivate},
		{schema.VisibilityGroup, schema.VisibilityGlobal, schema.VisibilityGroup},
		{schema.VisibilityGroup, schema.VisibilityPrivate, schema.VisibilityPrivate},
	} {
		p := testkit.Principal()
		h := harness.New(t, func(d *workflows.Dependencies) { d.ReflectionVisibility = c.most })
		high := says("high", p.Agent, ledger.KindAgentThought, "I decided to keep it.")
		high.Sensitivity = schema.SensitivityHigh
		appendEvents(t, h.Store, p, high)
		require.False(t, reflectOn(t, h, api.ReflectInput{Principal: p, Threshold: 1}).Due, "above the limit")
		require.True(t, reflectOn(t, h,
			api.ReflectInput{Principal: p, Threshold: 1, Visibility: c.asked,
				MaxSensitivity: schema.SensitivityHigh}).Due)
		made := believedIn(t, h.Store, p.Tenant)
		require.Equal(t, []any{c.want, schema.SensitivityHigh}, []any{made[0].Visibility, made[0].Sensitivity}, "%v", c)
	}
}

// A malformed request is refused before anything is read, also when a client sends it as raw JSON.
func TestReflectRefusesRequests(t *testing.T) {
	t.Parallel()
	h := harness.New(t, nil)
	_, err := mneme.Reflect(context.Background(), h.Temporal, h.TaskQueue, api.ReflectInput{})
	var invalid *schema.ValidationError
	require.True(t, errors.As(err, &invalid))
	run, err := h.Temporal.ExecuteWorkflow(context.Background(),
		client.StartWorkflowOptions{ID: uuid.NewString(), TaskQueue: h.TaskQueue},
		api.WorkflowReflect, api.ReflectInput{Principal: testkit.Principal(), Stream: "nowhere"})
	require.NoError(t, err)
	_, err = mneme.Outcome[api.ReflectResult](context.Background(), run)
	require.True(t, errors.As(err, &invalid), "%v", err)
	require.Equal(t, "stream", invalid.Fields[0].Field)
}

// A worker is killed when a belief is drafted but not appended, or appended but not acknowledged. Another worker
// continues, and there is one belief.
func TestReflectingWorkerKilled(t *testing.T) {
	t.Parallel()
	for _, point := range []string{"before the append", "after the append"} {
		t.Run(point, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithTimeout(context.Background(), harness.WaitLimit)
			defer cancel()
			address := testkit.TemporalAddress(t)
			gate := harness.NewGate(t, address, "AppendBelief")
			namespace := harness.NewNamespace(t, address)
			c := harness.DialTemporal(t, address, func(o *client.Options) { o.Namespace = namespace })
			url, queue, p := testkit.DatabaseURL(t), "test-"+uuid.NewString(), testkit.Principal()
			s := testkit.OpenStore(t, url)
			appendEvents(t, s, p, thoughts(p, 0, 8)...)
			settings := func(address string) map[string]string {
				return map[string]string{"DATABASE_URL": url, "TEMPORAL_ADDRESS": address,
					"TEMPORAL_NAMESPACE": namespace, "MNEME_TASK_QUEUE": queue}
			}
			victim := harness.StartProcess(t, settings(gate.Address))
			owner := testkit.Owner(t, url)
			release := func() {}
			if point == "before the append" { // the append waits for the stream
				tx, err := owner.Begin(ctx)
				require.NoError(t, err)
				_, err = tx.Exec(ctx, `SELECT FROM event_streams WHERE stream = $1 FOR UPDATE`, stream)
				require.NoError(t, err)
				release = func() { _ = tx.Rollback(ctx) }
			}
			run, err := mneme.StartReflect(ctx, c, queue, api.ReflectInput{Principal: p, Stream: stream, Threshold: 8})
			require.NoError(t, err)
			if point == "before the append" {
				watcher := testkit.Owner(t, url)
				require.Eventually(t, func() bool {
					waiting := testkit.Strings(t, watcher,
						`SELECT query FROM pg_stat_activity WHERE wait_event_type = 'Lock'
							AND query LIKE '%mneme_append_events%'
						AND cardinality(pg_blocking_pids(pid)) > 0 AND `+fmt.Sprint(owner.PgConn().PID())+
							` = ANY(pg_blocking_pids(pid))`)
					return len(waiting) > 0
				}, 30*time.Second, 20*time.Millisecond, victim.Output())
			} else {
				require.NoError(t, gate.WaitHeld(ctx), victim.Output())
			}
			victim.Kill()
			release()
			harness.StartProcess(t, settings(address))
			out, err := mneme.Outcome[api.ReflectResult](ctx, run)
			require.NoError(t, err)
			beliefs := believedIn(t, s, p.Tenant)
			require.Len(t, beliefs, 1)
			require.Equal(t, api.ReflectResult{Due: true, Beliefs: 1, EventID: beliefs[0].ID, Seq: 9, Covers: 8,
				BasedOn: out.BasedOn}, out)
			require.NotZero(t, out.BasedOn)
			require.False(t, strings.Contains(out.EventID, p.Tenant))
		})
	}
}
