package eventindex_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mneme/mneme/internal/testkit"
	"github.com/mneme/mneme/memory/views"
	"github.com/mneme/mneme/schema/ledger"
	"github.com/mneme/mneme/store/eventindex"
	"github.com/mneme/mneme/store/events"
)

// service behaves like the hosted service: it assigns its own ids to memories, and adds everything it receives.
type service struct {
	mu       sync.Mutex
	memories []map[string]any
	status   int
	wait     time.Duration
	dropped  int // the number of calls that remove one memory
	failsAt  int // the number of the call that fails
}

func (s *service) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	time.Sleep(s.wait)
	s.mu.Lock()
	defer s.mu.Unlock()
	var in map[string]any
	if r.Body != http.NoBody {
		_ = json.NewDecoder(r.Body).Decode(&in)
	}
	if r.Header.Get("Authorization") != "Token key" || s.status != 0 {
		w.WriteHeader(max(s.status, http.StatusUnauthorized))
		return
	}
	ofUser := func() (out []map[string]any) {
		user := in["filters"].(map[string]any)["AND"].([]any)[0].(map[string]any)["user_id"]
		for _, m := range s.memories {
			if m["user_id"] == user {
				out = append(out, m)
			}
		}
		return out
	}
	switch r.Method + " " + r.URL.Path {
	case "POST /v1/memories/":
		if in["infer"] != false {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		text := in["messages"].([]any)[0].(map[string]any)["content"]
		s.memories = append(s.memories,
			map[string]any{"id": fmt.Sprint(len(s.memories)), "memory": text, "user_id": in["user_id"],
				"metadata": in["metadata"]})
	case "POST /v2/memories/":
		page, _ := strconv.Atoi(r.URL.Query().Get("page"))
		size, _ := strconv.Atoi(r.URL.Query().Get("page_size"))
		all := ofUser()
		from := min((page-1)*size, len(all))
		_ = json.NewEncoder(w).Encode(map[string]any{"results": all[from:min(from+size, len(all))]})
	case "POST /v2/memories/search/":
		out := []map[string]any{}
		for _, m := range ofUser() {
			score := 0.1
			if strings.Contains(m["memory"].(string), in["query"].(string)) {
				score = 0.9
			}
			out = append(out, map[string]any{"id": m["id"], "metadata": m["metadata"], "score": score})
		}
		_ = json.NewEncoder(w).Encode(out[:min(len(out), int(in["top_k"].(float64)))])
	case "DELETE /v1/memories/":
		s.memories = nil
	case "GET /v1/entities/":
		users := []map[string]any{{"name": "someone else's assistant", "type": "agent"}}
		for _, m := range s.memories {
			users = append(users, map[string]any{"name": m["user_id"], "type": "user"})
		}
		page, _ := strconv.Atoi(r.URL.Query().Get("page"))
		size, _ := strconv.Atoi(r.URL.Query().Get("page_size"))
		from := min((page-1)*size, len(users))
		_ = json.NewEncoder(w).Encode(map[string]any{"results": users[from:min(from+size, len(users))]})
	default:
		id, one := strings.CutPrefix(r.Method+" "+r.URL.Path, "DELETE /v1/memories/")
		if s.dropped++; s.dropped == s.failsAt {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		before := len(s.memories)
		s.memories = slices.DeleteFunc(s.memories, func(m map[string]any) bool {
			return one && m["id"] == strings.TrimSuffix(id, "/")
		})
		if len(s.memories) == before {
			w.WriteHeader(http.StatusNotFound)
		}
	}
}

func says(n int, text string) ledger.Event {
	payload, _ := json.Marshal(ledger.Text{Text: text})
	at := time.Date(2026, 1, 1, 0, 0, n, 0, time.UTC)
	return ledger.Event{ID: fmt.Sprint("e", n), Stream: "run/a", Seq: int64(n), Agent: "ann",
		Kind: ledger.KindAgentSpoke, Turn: n,
		RecordedAt: &at, OccurredAt: at, Payload: payload}
}

// Events are added once and verbatim, however often a view is built. Events that are not eligible are not returned. A
// service that was wiped is filled again.
func TestAHostedServiceAsAMemoryIndex(t *testing.T) {
	t.Parallel()
	s := &service{}
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	ctx := context.Background()
	h := &eventindex.Hosted{HostedConfig: eventindex.HostedConfig{URL: server.URL + "/", APIKey: "key"}, Tenant: "t",
		Agent: "ann"}
	other := &eventindex.Hosted{HostedConfig: h.HostedConfig, Tenant: "t", Agent: "bob"}
	require.NoError(t, other.Index(ctx, []ledger.Event{says(900, "oven of bob")}))

	var list []ledger.Event
	for n := range 120 {
		list = append(list, says(n+1, fmt.Sprintf("  the oven\n of day %d", n+1)))
	}
	for range 3 {
		require.NoError(t, h.Index(ctx, list))
	}
	require.Len(t, s.memories, 121, "more than a page, each once")
	require.Equal(t, "  the oven\n of day 1", s.memories[1]["memory"])
	hits, err := h.Search(ctx, "day 77", 200)
	require.NoError(t, err)
	require.Len(t, hits, 120, "none of bob's")
	require.Contains(t, hits, views.Hit{ID: "e77", Score: 0.9})
	require.NoError(t, h.Index(ctx, list[:2]))
	hits, err = h.Search(ctx, "day 77", 2)
	require.NoError(t, err)
	require.Len(t, hits, 2, "events of others do not use up the limit")

	memory := views.SalienceMemory{Viewer: views.Viewer{Agent: "ann"}, K: 1, Weights: views.Weights{Relevance: 1},
		Index: h}
	found, err := memory.Recall(ctx, list, views.Now{Turn: 1, Scene: "day 77"})
	require.NoError(t, err)
	require.Equal(t, "e77", found[0].ID)

	require.NoError(t, h.Wipe(ctx))
	require.Empty(t, s.memories)
	require.NoError(t, h.Index(ctx, list))
	require.Len(t, s.memories, 120)
}

// A service that refuses, fails or hangs causes an error that contains nothing of the request.
func TestAHostedServiceThatFails(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	for name, c := range map[string]struct {
		service *service
		key     string
		timeout time.Duration
	}{
		"answered 401":      {&service{}, "wrong", time.Second},
		"answered 503":      {&service{status: 503}, "key", time.Second},
		"cannot be reached": {&service{wait: 300 * time.Millisecond}, "key", 20 * time.Millisecond},
	} {
		server := httptest.NewServer(c.service)
		t.Cleanup(server.Close)
		h := &eventindex.Hosted{HostedConfig: eventindex.HostedConfig{URL: server.URL, APIKey: c.key,
			Timeout: c.timeout}, Tenant: "t", Agent: "ann"}
		err := h.Index(ctx, []ledger.Event{says(1, "canary")})
		require.ErrorContains(t, err, name)
		require.NotContains(t, err.Error(), "canary")
		require.NotContains(t, err.Error(), server.URL)
		_, err = h.Search(ctx, "canary", 3)
		require.ErrorContains(t, err, name)
	}
	require.NotContains(t, fmt.Sprintf("%v %#v %+v", eventindex.HostedConfig{APIKey: "secret"},
		eventindex.HostedConfig{APIKey: "secret"}, eventindex.HostedConfig{APIKey: "secret"}), "secret")
}

// Erased events, beliefs based on them and purged events are removed from the service, for all agents of the tenant
// and for no other tenant. A call that fails is repeated, and the sweep continues.
func TestSweepRemovesEventsMissingFromTheLedger(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	st := testkit.OpenStore(t, testkit.DatabaseURL(t))
	s := &service{failsAt: 2}
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	config := eventindex.HostedConfig{URL: server.URL, APIKey: "key"}
	list := []ledger.Event{says(1, "the oven"), says(2, "the mill"), says(3, "the door"), says(4, "")}
	list[3].Kind, list[3].Payload = ledger.KindAgentReflected, json.RawMessage(`{"belief":"the oven is hot","based_on":["e1"]}`)
	plain := make([]ledger.Event, len(list))
	for i, e := range list {
		e.Seq, e.RecordedAt = 0, nil
		plain[i] = e
	}
	_, err := st.Append(ctx, events.AppendInput{Tenant: "t", Events: plain, Open: views.GlobalKinds(), Now: time.Now()})
	require.NoError(t, err)
	for _, whose := range [][2]string{{"t", "ann"}, {"t", "bob/the builder"}, {"t2", "ann"}} {
		h := &eventindex.Hosted{HostedConfig: config, Tenant: whose[0], Agent: whose[1]}
		require.NoError(t, h.Index(ctx, append(slices.Clone(list), says(9, "of the past"))))
	}
	require.Len(t, s.memories, 15)
	_, err = st.Empty(ctx, "t", []string{"e1"}, time.Now())
	require.NoError(t, err)

	sweep := (&eventindex.Sweeper{HostedConfig: config, Events: st.Events}).Sweep
	removed, err := sweep(ctx, "t")
	require.ErrorContains(t, err, "answered 503")
	require.Equal(t, 1, removed)
	removed, err = sweep(ctx, "t")
	require.NoError(t, err)
	require.Equal(t, 5, removed,
		"the event, its belief and the unknown one, for two agents, without the one removed before")
	var left []string
	for _, m := range s.memories {
		left = append(left, fmt.Sprint(m["user_id"], " ", m["memory"]))
	}
	require.ElementsMatch(t, []string{"t/ann the mill", "t/ann the door", "t/bob%2Fthe+builder the mill",
		"t/bob%2Fthe+builder the door",
		"t2/ann the oven", "t2/ann the mill", "t2/ann the door", "t2/ann the oven is hot", "t2/ann of the past"}, left)
}
