package eventindex

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/mneme/mneme/memory/views"
	"github.com/mneme/mneme/schema/ledger"
)

// HostedConfig describes the connection to a hosted memory service with Mem0's HTTP API. There is no default
// address.
type HostedConfig struct {
	URL       string // such as https://HOST; the paths /v1 and /v2 are below it
	APIKey    string
	OrgID     string // may be empty
	ProjectID string // may be empty
	Timeout   time.Duration
	Client    *http.Client // http.DefaultClient when nil
}

// String leaves out the key, because settings appear in logs and failed tests.
func (c HostedConfig) String() string { return "a hosted memory service" }

// GoString is String, for %#v.
func (c HostedConfig) GoString() string { return c.String() }

// HostedWarning is the warning for operators if a hosted index is on.
const HostedWarning = "MNEME_MEMORY_INDEX=mem0: the text of events leaves this machine for the service at " +
	"MNEME_MEM0_URL; " +
	"erased events are removed there while this setting is on, and purged events at the next erasure"

// DefaultHostedTimeout is the timeout of one call.
const DefaultHostedTimeout = 5 * time.Second

// Hosted wraps a hosted memory service as a memory index of one agent. Each event is one memory of the service,
// stored verbatim (infer is false), with the event's id in the metadata. The service does not index these ids, so
// Hosted asks which events it has before it adds any.
type Hosted struct {
	HostedConfig
	Tenant, Agent string

	ids map[string]bool // of the events in the last call of Index
}

var _ views.MemoryIndex = (*Hosted)(nil)

// hostedPage is the number of memories in one listing call.
const hostedPage = 100

// memory is one memory of the service.
type memory struct {
	ID       string `json:"id"`
	Metadata struct {
		EventID string `json:"event_id"`
	} `json:"metadata"`
	Score float64 `json:"score"`
}

// user returns the service's user id: one agent of one tenant.
func (h *Hosted) user() string { return url.QueryEscape(h.Tenant) + "/" + url.QueryEscape(h.Agent) }

// Index adds the events that the service does not have.
func (h *Hosted) Index(ctx context.Context, events []ledger.Event) error {
	there, err := h.list(ctx)
	if err != nil {
		return err
	}
	h.ids = make(map[string]bool, len(events))
	for _, e := range events {
		text := views.Text(e)
		h.ids[e.ID] = true
		if there[e.ID] || strings.TrimSpace(text) == "" {
			continue
		}
		there[e.ID] = true
		body := map[string]any{
			"messages": []map[string]string{{"role": "user", "content": text}}, "user_id": h.user(), "infer": false,
			"async_mode": false, "metadata": map[string]string{"event_id": e.ID}, "version": "v2",
		}
		if err := h.call(ctx, http.MethodPost, "/v1/memories/", body, nil); err != nil {
			return fmt.Errorf("add an event: %w", err)
		}
	}
	return nil
}

// Search returns the agent's events that the service finds. Events that were not in the last call of Index are
// dropped; to make up for them, it requests as many results as the service has.
func (h *Hosted) Search(ctx context.Context, query string, k int) ([]views.Hit, error) {
	there, err := h.list(ctx)
	if err != nil {
		return nil, err
	}
	body := map[string]any{"query": query, "filters": h.filters(), "top_k": max(k, len(there)), "threshold": 0}
	var found results
	if err := h.call(ctx, http.MethodPost, "/v2/memories/search/", body, &found); err != nil {
		return nil, fmt.Errorf("search events: %w", err)
	}
	var out []views.Hit
	told := map[string]bool{}
	for _, m := range found {
		if id := m.Metadata.EventID; h.ids[id] && !told[id] && len(out) < k {
			told[id] = true
			out = append(out, views.Hit{ID: id, Score: m.Score})
		}
	}
	return out, nil
}

// Wipe removes all events of the agent from the service.
func (h *Hosted) Wipe(ctx context.Context) error {
	if err := h.call(ctx, http.MethodDelete, "/v1/memories/?user_id="+url.QueryEscape(h.user()), nil, nil); err != nil {
		return fmt.Errorf("wipe events: %w", err)
	}
	return nil
}

func (h *Hosted) filters() map[string]any {
	return map[string]any{"AND": []map[string]string{{"user_id": h.user()}}}
}

// list returns the ids of the agent's events that the service has.
func (h *Hosted) list(ctx context.Context) (map[string]bool, error) {
	there, err := h.memories(ctx)
	if err != nil {
		return nil, err
	}
	out := make(map[string]bool, len(there))
	for _, m := range there {
		out[m.Metadata.EventID] = true
	}
	return out, nil
}

// memories returns the agent's memories in the service.
func (h *Hosted) memories(ctx context.Context) (out []memory, err error) {
	for page := 1; ; page++ {
		var found results
		path := fmt.Sprintf("/v2/memories/?page=%d&page_size=%d", page, hostedPage)
		if err := h.call(ctx, http.MethodPost, path, map[string]any{"filters": h.filters()}, &found); err != nil {
			return nil, fmt.Errorf("list events: %w", err)
		}
		out = append(out, found...)
		if len(found) < hostedPage {
			return out, nil
		}
	}
}

// results are memories, with or without a page object around them.
type results []memory

func (r *results) UnmarshalJSON(data []byte) error {
	var list []memory
	if json.Unmarshal(data, &list) == nil {
		*r = list
		return nil
	}
	var page struct {
		Results []memory `json:"results"`
	}
	err := json.Unmarshal(data, &page)
	*r = page.Results
	return err
}

// maxHostedAnswer is the largest part of an answer that is read.
const maxHostedAnswer = 32 << 20

// call makes one call. Its errors contain nothing that was sent or received.
func (h *Hosted) call(ctx context.Context, method, path string, in, out any) error {
	timeout := h.Timeout
	if timeout <= 0 {
		timeout = DefaultHostedTimeout
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	body, err := h.body(in)
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, method, strings.TrimRight(h.URL, "/")+path, body)
	if err != nil {
		return errors.New("the address of the service is not a URL")
	}
	req.Header.Set("Authorization", "Token "+h.APIKey)
	req.Header.Set("Content-Type", "application/json")
	client := h.Client
	if client == nil {
		client = http.DefaultClient
	}
	answer, err := client.Do(req)
	if err != nil {
		var failed *url.Error
		if errors.As(err, &failed) {
			err = failed.Err // without the address
		}
		return fmt.Errorf("the service cannot be reached: %w", err)
	}
	defer func() { _ = answer.Body.Close() }()
	if answer.StatusCode/100 != 2 {
		return &statusError{answer.StatusCode}
	}
	if out == nil {
		return nil
	}
	if json.NewDecoder(io.LimitReader(answer.Body, maxHostedAnswer)).Decode(out) != nil {
		return errors.New("the service did not answer with memories")
	}
	return nil
}

// statusError is an answer with an error status.
type statusError struct{ status int }

func (e *statusError) Error() string { return fmt.Sprintf("the service answered %d", e.status) }

func (h *Hosted) body(in any) (io.Reader, error) {
	if in == nil {
		return http.NoBody, nil
	}
	encoded, err := json.Marshal(in)
	if err != nil {
		return nil, fmt.Errorf("encode: %w", err)
	}
	if h.OrgID == "" && h.ProjectID == "" {
		return bytes.NewReader(encoded), nil
	}
	var fields map[string]any
	if err := json.Unmarshal(encoded, &fields); err != nil {
		return nil, fmt.Errorf("encode: %w", err)
	}
	if h.OrgID != "" {
		fields["org_id"] = h.OrgID
	}
	if h.ProjectID != "" {
		fields["project_id"] = h.ProjectID
	}
	if encoded, err = json.Marshal(fields); err != nil {
		return nil, fmt.Errorf("encode: %w", err)
	}
	return bytes.NewReader(encoded), nil
}
