package testkit

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mneme/mneme/inference"
	"github.com/mneme/mneme/inference/openai"
	"github.com/mneme/mneme/inference/rules"
	"github.com/mneme/mneme/memory"
	"github.com/mneme/mneme/schema"
)

// Kinds of calls to a Model.
const (
	Extraction = "extraction"
	Decision   = "decision"
)

// ModelCall is one request for a chat completion.
type ModelCall struct {
	Kind   string // Extraction or Decision
	Number int    // of all calls, from 1
	Data   string // the text between the boundaries: a source's text, or fact and candidates as JSON
}

// Offered is the input of a decision.
type Offered struct {
	Fact struct {
		Content string `json:"content"`
	} `json:"fact"`
	Candidates []struct {
		ID      string `json:"id"`
		Content string `json:"content"`
		Kind    string `json:"kind"` // episode, or empty
	} `json:"candidates"`
}

// Offered reads the data of a decision.
func (c ModelCall) Offered() Offered {
	var o Offered
	_ = json.Unmarshal([]byte(c.Data), &o)
	return o
}

// ModelReply is what the endpoint answers. The zero status is 200.
type ModelReply struct {
	Status  int
	Header  map[string]string
	Content string // of the assistant's message; with an error status, the error's message
}

// Answer returns a Model's answer. It may block; ctx ends when the caller disconnects.
type Answer func(ctx context.Context, call ModelCall) ModelReply

// Model is an OpenAI-compatible chat endpoint with answers from a test.
type Model struct {
	URL string

	mu    sync.Mutex
	calls []ModelCall
}

var dataBlock = regexp.MustCompile(`(?s)-----BEGIN DATA [0-9a-f]+-----\n(.*)\n-----END DATA `)

// NewModel starts an endpoint; it stops with the test.
func NewModel(t testing.TB, answer Answer) *Model {
	t.Helper()
	m := &Model{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		reply := answer(r.Context(), m.note(body))
		if r.Context().Err() != nil {
			return
		}
		for name, value := range reply.Header {
			w.Header().Set(name, value)
		}
		w.Header().Set("Content-Type", "application/json")
		if reply.Status != 0 && reply.Status != http.StatusOK {
			w.WriteHeader(reply.Status)
			_ = json.NewEncoder(w).Encode(map[string]any{"error": map[string]any{
				"message": reply.Content, "type": "invalid_request_error", "code": "refused_by_test"}})
			return
		}
		_ = json.NewEncoder(w).Encode(map[string]any{
			"id": "test", "object": "chat.completion", "model": "test-model",
			"choices": []any{map[string]any{"index": 0, "finish_reason": "stop",
				"message": map[string]any{"role": "assistant", "content": reply.Content}}},
			"usage": map[string]any{"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110},
		})
	}))
	t.Cleanup(func() {
		server.CloseClientConnections() // a blocked answer must not hold up the test's end
		server.Close()
	})
	m.URL = server.URL + "/v1"
	return m
}

func (m *Model) note(body []byte) ModelCall {
	var request struct {
		Messages []struct {
			Role    string `json:"role"`
			Content string `json:"content"`
		} `json:"messages"`
	}
	_ = json.Unmarshal(body, &request)
	call := ModelCall{Kind: Decision}
	for _, msg := range request.Messages {
		if msg.Role == "system" && strings.Contains(msg.Content, "memory extractor") {
			call.Kind = Extraction
		}
		if found := dataBlock.FindStringSubmatch(msg.Content); found != nil {
			call.Data = found[1]
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	call.Number = len(m.calls) + 1
	m.calls = append(m.calls, call)
	return call
}

// Calls returns the calls of a kind so far.
func (m *Model) Calls(kind string) []ModelCall {
	m.mu.Lock()
	defer m.mu.Unlock()
	var out []ModelCall
	for _, c := range m.calls {
		if c.Kind == kind {
			out = append(out, c)
		}
	}
	return out
}

// Brain asks this model for extractions and decisions, and embeds offline.
func (m *Model) Brain(t testing.TB) inference.Brain {
	t.Helper()
	brain, err := openai.New(openai.Config{BaseURL: m.URL, ChatModel: "test-model"})
	require.NoError(t, err)
	brain.Embedder = rules.HashEmbedder{}
	return brain
}

// ExtractionOf is a reply with facts and the triples between named things.
func ExtractionOf(facts []memory.Fact, triples ...memory.Triple) ModelReply {
	type fact struct {
		Content    string          `json:"content"`
		Category   schema.Category `json:"category"`
		Confidence float64         `json:"confidence"`
		Claim      *memory.Claim   `json:"claim"`
	}
	out := struct {
		Facts    []fact          `json:"facts"`
		Entities []memory.Triple `json:"entities"`
	}{Facts: []fact{}, Entities: append([]memory.Triple{}, triples...)}
	for _, f := range facts {
		next := fact{Content: f.Content, Category: f.Category, Confidence: f.Confidence}
		if next.Category == "" {
			next.Category = schema.CategoryFact
		}
		if next.Confidence == 0 {
			next.Confidence = 0.9
		}
		if !f.Claim.IsZero() {
			next.Claim = &f.Claim
		}
		out.Facts = append(out.Facts, next)
	}
	encoded, err := json.Marshal(out)
	if err != nil {
		panic(err)
	}
	return ModelReply{Content: string(encoded)}
}

// FactsOf is a reply with plain facts.
func FactsOf(contents ...string) ModelReply {
	facts := make([]memory.Fact, len(contents))
	for i, c := range contents {
		facts[i] = memory.Fact{Content: c}
	}
	return ExtractionOf(facts)
}

// DecisionOf is a reply with a decision.
func DecisionOf(action schema.Action, target string) ModelReply {
	quoted := "null"
	if target != "" {
		quoted = fmt.Sprintf("%q", target)
	}
	return ModelReply{Content: fmt.Sprintf(`{"reason":"as the test says","action":%q,"target_id":%s,"confidence":0.95}`,
		action, quoted)}
}
