package eventindex_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mneme/mneme/memory/views"
	"github.com/mneme/mneme/schema/ledger"
	"github.com/mneme/mneme/store/eventindex"
)

// service behaves like the hosted one: it gives memories ids of its own, and adds whatever it is given.
type service struct {
	mu       sync.Mutex
	memories []map[string]any
	status   int
	wait     time.Duration
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
		s.memories = append(s.memories, map[string]any{"id": fmt.Sprint(len(s.memories)), "memory": text, "user_id": in["user_id"], "metadata": in["metadata"]})
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
	default:
		w.WriteHeader(http.StatusNotFound)
	}
}

func says(n int, text string) ledger.Event {
	payload, _ := json.Marshal(ledger.Text{Text: text})
	at := time.Date(2026, 1, 1, 0, 0, n, 0, time.UTC)
	return ledger.Event{ID: fmt.Sprint("e", n), Stream: "run/a", Seq: int64(n), Agent: "ann", Kind: ledger.KindAgentSpoke, Turn: n,
		RecordedAt: &at, OccurredAt: at, Payload: payload}
}

// Events are added once, verbatim, however often a view is made; what is not eligible is no hit; and a wiped service is
// filled again.
func TestAHostedServiceAsAMemoryIndex(t *testing.T) {
	t.Parallel()
	s := &service{}
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	ctx := context.Background()
	h := &eventindex.Hosted{HostedConfig: eventindex.HostedConfig{URL: server.URL + "/", APIKey: "key"}, Tenant: "t", Agent: "ann"}
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
	require.Len(t, hits, 2, "the others take no places")

	memory := views.SalienceMemory{Viewer: views.Viewer{Agent: "ann"}, K: 1, Weights: views.Weights{Relevance: 1}, Index: h}
	found, err := memory.Recall(ctx, list, views.Now{Turn: 1, Scene: "day 77"})
	require.NoError(t, err)
	require.Equal(t, "e77", found[0].ID)

	require.NoError(t, h.Wipe(ctx))
	require.Empty(t, s.memories)
	require.NoError(t, h.Index(ctx, list))
	require.Len(t, s.memories, 120)
}

// A service that refuses, fails or hangs is an error that says nothing of what was sent.
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
		h := &eventindex.Hosted{HostedConfig: eventindex.HostedConfig{URL: server.URL, APIKey: c.key, Timeout: c.timeout}, Tenant: "t", Agent: "ann"}
		err := h.Index(ctx, []ledger.Event{says(1, "canary")})
		require.ErrorContains(t, err, name)
		require.NotContains(t, err.Error(), "canary")
		require.NotContains(t, err.Error(), server.URL)
		_, err = h.Search(ctx, "canary", 3)
		require.ErrorContains(t, err, name)
	}
	require.NotContains(t, fmt.Sprintf("%v %#v %+v", eventindex.HostedConfig{APIKey: "secret"}, eventindex.HostedConfig{APIKey: "secret"}, eventindex.HostedConfig{APIKey: "secret"}), "secret")
}
