package eventindex

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/mneme/mneme/store/events"
)

// Sweeper removes events from a hosted service that the ledger no longer has: erased events, the beliefs that were
// erased with them, and purged events.
type Sweeper struct {
	HostedConfig
	Events *events.Events
}

// entities is a page of the users of the service's memories.
type entities struct {
	Results []struct {
		Name string `json:"name"`
		Type string `json:"type"`
	} `json:"results"`
}

// Sweep compares all agents of a tenant that the service has events of, and returns how many events it removed. A
// second call continues with the rest.
func (s *Sweeper) Sweep(ctx context.Context, tenant string) (removed int, err error) {
	agents, err := s.agents(ctx, tenant)
	if err != nil {
		return 0, err
	}
	for _, agent := range agents {
		h := &Hosted{HostedConfig: s.HostedConfig, Tenant: tenant, Agent: agent}
		n, err := s.sweepAgent(ctx, h)
		removed += n
		if err != nil {
			return removed, err
		}
	}
	return removed, nil
}

func (s *Sweeper) sweepAgent(ctx context.Context, h *Hosted) (removed int, err error) {
	there, err := h.memories(ctx)
	if err != nil {
		return 0, err
	}
	for page := range slices.Chunk(there, events.MaxPage) {
		ids := make([]string, len(page))
		for i, m := range page {
			ids[i] = m.Metadata.EventID
		}
		over, err := gone(ctx, s.Events, h.Tenant, ids)
		if err != nil {
			return removed, err
		}
		for _, m := range page {
			if !slices.Contains(over, m.Metadata.EventID) {
				continue
			}
			err = h.call(ctx, http.MethodDelete, "/v1/memories/"+url.PathEscape(m.ID)+"/", nil, nil)
			var refused *statusError
			if err != nil && !(errors.As(err, &refused) && refused.status == http.StatusNotFound) {
				return removed, fmt.Errorf("remove an event: %w", err)
			}
			removed++
		}
	}
	return removed, nil
}

// agents returns the agents of a tenant that the service has events of.
func (s *Sweeper) agents(ctx context.Context, tenant string) ([]string, error) {
	h := &Hosted{HostedConfig: s.HostedConfig, Tenant: tenant}
	var out []string
	for page := 1; ; page++ {
		var found entities
		path := fmt.Sprintf("/v1/entities/?page=%d&page_size=%d", page, hostedPage)
		if err := h.call(ctx, http.MethodGet, path+s.scope(), nil, &found); err != nil {
			return nil, fmt.Errorf("list agents: %w", err)
		}
		for _, e := range found.Results {
			name, of := strings.CutPrefix(e.Name, h.user())
			agent, err := url.QueryUnescape(name)
			if !of || err != nil || e.Type != "user" || slices.Contains(out, agent) {
				continue
			}
			out = append(out, agent)
		}
		if len(found.Results) < hostedPage {
			return out, nil
		}
	}
}

// scope returns the organisation and the project as query parameters, for calls without a body.
func (c HostedConfig) scope() string {
	out := ""
	if c.OrgID != "" {
		out += "&org_id=" + url.QueryEscape(c.OrgID)
	}
	if c.ProjectID != "" {
		out += "&project_id=" + url.QueryEscape(c.ProjectID)
	}
	return out
}
