package config

import (
	"context"
	"log/slog"
	"net/url"
	"time"

	"github.com/mneme/mneme/inference"
	"github.com/mneme/mneme/memory/views"
	"github.com/mneme/mneme/store"
	"github.com/mneme/mneme/store/eventindex"
	"github.com/mneme/mneme/store/vector"
)

// Memory indexes, as MNEME_MEMORY_INDEX names them.
const (
	MemoryIndexOff     = "off"
	MemoryIndexVectors = "vectors"
	MemoryIndexQdrant  = "qdrant"
	MemoryIndexHosted  = "mem0"
)

// MemoryIndexSettings set how the relevance of events is computed if a context asks for an index.
type MemoryIndexSettings struct {
	Kind   string // MNEME_MEMORY_INDEX
	Hosted eventindex.HostedConfig
}

func (e *reader) memoryIndex() MemoryIndexSettings {
	s := MemoryIndexSettings{
		Kind: e.choice("MNEME_MEMORY_INDEX", MemoryIndexOff, MemoryIndexVectors,
			MemoryIndexQdrant, MemoryIndexHosted),
		Hosted: eventindex.HostedConfig{URL: e.text("MNEME_MEM0_URL", ""), APIKey: e.text("MNEME_MEM0_API_KEY", ""),
			OrgID: e.text("MNEME_MEM0_ORG_ID", ""), ProjectID: e.text("MNEME_MEM0_PROJECT_ID", ""),
			Timeout: time.Duration(e.number("MNEME_MEM0_TIMEOUT_SECONDS", 5)) * time.Second},
	}
	if s.Kind == MemoryIndexQdrant && e.text("QDRANT_URL", "") == "" {
		e.problems = append(e.problems, "QDRANT_URL is required if MNEME_MEMORY_INDEX is qdrant")
	}
	if s.Kind == MemoryIndexHosted {
		at, err := url.Parse(s.Hosted.URL)
		if err != nil || at.Host == "" || at.Scheme != "https" && at.Scheme != "http" {
			e.problems = append(e.problems,
				"MNEME_MEM0_URL must be the address of the service if MNEME_MEMORY_INDEX is mem0")
		}
		if s.Hosted.APIKey == "" {
			e.problems = append(e.problems, "MNEME_MEM0_API_KEY is required if MNEME_MEMORY_INDEX is mem0")
		}
	}
	return s
}

// OpenMemoryIndex returns a function that opens the memory index of a context, or nil if none is configured. An index
// in Qdrant uses the server of the vector index. OpenMemoryIndex logs a warning if the index sends the text of events
// to another machine.
func (c Config) OpenMemoryIndex(st *store.Store, index vector.Index, e inference.Embedder,
	log *slog.Logger) func(tenant, agent string) views.MemoryIndex {
	switch c.MemoryIndex.Kind {
	case MemoryIndexVectors:
		return func(tenant, _ string) views.MemoryIndex {
			return &eventindex.Vectors{Events: st.Events, Embedder: e, Tenant: tenant}
		}
	case MemoryIndexQdrant:
		server, ok := index.(*vector.Qdrant)
		if !ok {
			return nil
		}
		return func(tenant, _ string) views.MemoryIndex {
			return &eventindex.Qdrant{Events: st.Events, Server: server, Embedder: e, Tenant: tenant}
		}
	case MemoryIndexHosted:
		if log != nil {
			log.Warn(eventindex.HostedWarning)
		}
		return func(tenant, agent string) views.MemoryIndex {
			return &eventindex.Hosted{HostedConfig: c.MemoryIndex.Hosted, Tenant: tenant, Agent: agent}
		}
	}
	return nil
}

// SweepMemoryIndex returns a function that removes events from a memory index that a tenant's ledger no longer has.
// It returns nil if there is no such index; the index in Postgres loses them in the transaction that erases them.
func (c Config) SweepMemoryIndex(st *store.Store, index vector.Index) func(ctx context.Context,
	tenant string) (int, error) {
	switch c.MemoryIndex.Kind {
	case MemoryIndexQdrant:
		if server, ok := index.(*vector.Qdrant); ok {
			return (&eventindex.QdrantSweeper{Events: st.Events, Server: server}).Sweep
		}
	case MemoryIndexHosted:
		return (&eventindex.Sweeper{HostedConfig: c.MemoryIndex.Hosted, Events: st.Events}).Sweep
	}
	return nil
}

// WipeMemoryIndex returns a function that empties a tenant's memory index in Qdrant, or nil if there is none. The
// store wipes the index in Postgres; a hosted service must be emptied with its own tools.
func (c Config) WipeMemoryIndex(index vector.Index) func(ctx context.Context, tenant string) (int, error) {
	if server, ok := index.(*vector.Qdrant); ok && c.MemoryIndex.Kind == MemoryIndexQdrant {
		return server.WipeEvents
	}
	return nil
}
