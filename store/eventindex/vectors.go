package eventindex

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/mneme/mneme/inference"
	"github.com/mneme/mneme/memory/views"
	"github.com/mneme/mneme/schema/ledger"
	"github.com/mneme/mneme/store/events"
)

// Vectors compares events by the vectors of their texts, which it keeps in Postgres. One Vectors serves one view:
// it searches only the events in the last call of Index, so that other agents' events do not use up places. It
// compares all of them exactly; there are at most events.MaxRanked.
type Vectors struct {
	Events   *events.Events
	Embedder inference.Embedder
	Tenant   string
	Now      func() time.Time // time.Now when nil

	ids []string
}

var _ views.MemoryIndex = (*Vectors)(nil)

// embedBatch is the number of texts embedded in one call.
const embedBatch = 64

// Index makes sure that each event with a text has a vector. Texts are embedded verbatim. The text of an event never
// changes, so existing vectors stay.
func (v *Vectors) Index(ctx context.Context, list []ledger.Event) error {
	v.ids = v.ids[:0]
	texts := make(map[string]string, len(list))
	for _, e := range list {
		if text := strings.TrimSpace(views.Text(e)); text != "" {
			texts[e.ID] = views.Text(e)
			v.ids = append(v.ids, e.ID)
		}
	}
	model := v.Embedder.Model()
	for ids := range slices.Chunk(v.ids, events.MaxPage) {
		missing, err := v.Events.WithoutVector(ctx, v.Tenant, model, ids)
		if err != nil {
			return err
		}
		for part := range slices.Chunk(missing, embedBatch) {
			if err := v.add(ctx, part, texts); err != nil {
				return err
			}
		}
	}
	return nil
}

func (v *Vectors) add(ctx context.Context, ids []string, texts map[string]string) error {
	said := make([]string, len(ids))
	for i, id := range ids {
		said[i] = texts[id]
	}
	vectors, _, err := v.Embedder.Embed(ctx, said)
	if err != nil {
		return fmt.Errorf("embed events: %w", err)
	}
	if len(vectors) != len(ids) {
		return fmt.Errorf("embed events: %d vectors for %d texts", len(vectors), len(ids))
	}
	now := time.Now
	if v.Now != nil {
		now = v.Now
	}
	return v.Events.PutVectors(ctx, v.Tenant, v.Embedder.Model(), ids, vectors, now())
}

// Search returns the k events nearest to a query, among those in the last call of Index.
func (v *Vectors) Search(ctx context.Context, query string, k int) ([]views.Hit, error) {
	vector, _, err := inference.EmbedQuery(ctx, v.Embedder, query)
	if err != nil {
		return nil, fmt.Errorf("embed a scene: %w", err)
	}
	return v.Events.NearestEvents(ctx, v.Tenant, v.Embedder.Model(), vector, v.ids, k)
}
