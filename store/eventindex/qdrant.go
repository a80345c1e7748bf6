package eventindex

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/mneme/mneme/inference"
	"github.com/mneme/mneme/memory/views"
	"github.com/mneme/mneme/schema/ledger"
	"github.com/mneme/mneme/store/events"
	"github.com/mneme/mneme/store/vector"
)

// Qdrant compares events by the vectors of their texts, which it keeps in a Qdrant server. One Qdrant serves one
// view: it searches only the events in the last call of Index. The server has vectors, tenants and ids of events,
// and no text.
type Qdrant struct {
	Events   *events.Events
	Server   *vector.Qdrant
	Embedder inference.Embedder
	Tenant   string

	ids []string
}

var _ views.MemoryIndex = (*Qdrant)(nil)

// Index makes sure that each event with a text has a vector. Texts are embedded verbatim.
func (q *Qdrant) Index(ctx context.Context, list []ledger.Event) error {
	q.ids = q.ids[:0]
	texts := make(map[string]string, len(list))
	for _, e := range list {
		if text := views.Text(e); strings.TrimSpace(text) != "" {
			texts[e.ID] = text
			q.ids = append(q.ids, e.ID)
		}
	}
	missing, err := q.Server.WithoutEventVector(ctx, q.Tenant, q.Embedder.Model(), q.ids)
	if err != nil {
		return err
	}
	for part := range slices.Chunk(missing, embedBatch) {
		if err := q.add(ctx, part, texts); err != nil {
			return err
		}
	}
	return nil
}

// add stores the vectors of events. It then removes those of events that were erased during the call, because the
// sweep of their erasure may have run before the vectors existed.
func (q *Qdrant) add(ctx context.Context, ids []string, texts map[string]string) error {
	said := make([]string, len(ids))
	for i, id := range ids {
		said[i] = texts[id]
	}
	vectors, _, err := q.Embedder.Embed(ctx, said)
	if err != nil {
		return fmt.Errorf("embed events: %w", err)
	}
	if len(vectors) != len(ids) {
		return fmt.Errorf("embed events: %d vectors for %d texts", len(vectors), len(ids))
	}
	if err := q.Server.PutEvents(ctx, q.Tenant, q.Embedder.Model(), ids, vectors); err != nil {
		return err
	}
	over, err := gone(ctx, q.Events, q.Tenant, ids)
	if err != nil {
		return err
	}
	return q.Server.DeleteEvents(ctx, q.Tenant, q.Embedder.Model(), over)
}

// Search returns the k events nearest to a query, among those in the last call of Index.
func (q *Qdrant) Search(ctx context.Context, query string, k int) ([]views.Hit, error) {
	if len(q.ids) == 0 {
		return nil, nil
	}
	vector, _, err := inference.EmbedQuery(ctx, q.Embedder, query)
	if err != nil {
		return nil, fmt.Errorf("embed a scene: %w", err)
	}
	return q.Server.NearestEvents(ctx, q.Tenant, q.Embedder.Model(), vector, q.ids, k)
}

// QdrantSweeper removes from Qdrant the vectors of events that the ledger no longer has: erased events, the beliefs
// erased with them, and purged events.
type QdrantSweeper struct {
	Events *events.Events
	Server *vector.Qdrant
}

// Sweep compares all vectors of a tenant's events with the ledger, and returns how many it removed. A second call
// continues with the rest.
func (s *QdrantSweeper) Sweep(ctx context.Context, tenant string) (int, error) {
	return s.Server.SweepEvents(ctx, tenant, events.MaxPage, func(ctx context.Context, ids []string) ([]string, error) {
		return gone(ctx, s.Events, tenant, ids)
	})
}

// gone returns the events of a tenant that were erased or are not in the ledger.
func gone(ctx context.Context, ledgerOf *events.Events, tenant string, ids []string) ([]string, error) {
	found, err := ledgerOf.ByID(ctx, tenant, ids)
	if err != nil {
		return nil, err
	}
	kept := make(map[string]bool, len(found))
	for _, e := range found {
		kept[e.ID] = !e.Erased
	}
	return slices.DeleteFunc(slices.Clone(ids), func(id string) bool { return kept[id] }), nil
}
