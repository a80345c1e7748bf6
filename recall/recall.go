// Package recall is the read path: collect ids, authorise, shape, hydrate and assemble. It is a
// library call; Temporal is not involved.
//
// Candidate ids may be broad, but no content is loaded, ranked by text, or tracked before the shared
// filter has authorised those ids (document 002 "Hybrid Recall").
package recall

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/mneme/mneme/inference"
	"github.com/mneme/mneme/memory"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/store"
	"github.com/mneme/mneme/store/vector"
)

// Deadlines and widths. A channel that misses its deadline is left out and named in meta.degraded.
const (
	textDeadline   = 2 * time.Second
	vectorDeadline = 1 * time.Second
	embedDeadline  = 2 * time.Second

	// A channel yields three candidates a result, so that a page stays full when sources and facts
	// are collapsed and when an index returns ids that do not pass authorisation.
	candidatesPerResult = 3
	minCandidates       = 50
	slowRecall          = time.Second // logged with its stages
)

// Recaller answers recall requests. It is safe for concurrent use.
type Recaller struct {
	Store    *store.Store
	Index    vector.Index
	Embedder inference.Embedder
	Log      *slog.Logger
	Now      func() time.Time // the clock; time.Now when nil

	// NoVector switches the vector channel off, as the benchmarks and a deployment without an
	// embedder do.
	NoVector bool
}

// Recall returns what is known that helps with the query, best first. It fails on an invalid request
// (*schema.ValidationError) or when Postgres cannot be asked; a failing channel only degrades it.
func (r *Recaller) Recall(ctx context.Context, req schema.RecallRequest) (schema.RecallResponse, error) {
	if err := req.Validate(); err != nil {
		return schema.RecallResponse{}, err
	}
	req.Tags = memory.NormalizeTags(req.Tags) // the form in which they are stored
	start := r.now()
	q := &query{Recaller: r, req: req, limit: clampLimit(req.Limit), filter: store.FilterOf(req, start), id: uuid.Must(uuid.NewV7()),
		meta: schema.RecallMeta{TimingsMS: map[string]float64{}, Channels: map[string]int{}, Degraded: []string{}}}

	candidates := q.collect(ctx)
	candidates, err := q.authorize(ctx, candidates)
	if err != nil {
		return schema.RecallResponse{}, err
	}
	results, err := q.assemble(ctx, q.shape(ctx, candidates))
	if err != nil {
		return schema.RecallResponse{}, err
	}
	q.track(ctx, results, start)
	took := r.now().Sub(start)
	q.meta.TimingsMS["total"] = milliseconds(took)
	if took > slowRecall && r.Log != nil {
		r.Log.Warn("slow recall", "retrieval_id", q.id, "timings_ms", q.meta.TimingsMS, "degraded", q.meta.Degraded)
	}
	return schema.RecallResponse{RetrievalID: q.id.String(), Results: results, Meta: q.meta}, nil
}

func (r *Recaller) now() time.Time {
	if r.Now != nil {
		return r.Now()
	}
	return time.Now()
}

func clampLimit(limit int) int {
	if limit == 0 {
		return schema.DefaultRecallLimit
	}
	return min(max(limit, 1), schema.MaxRecallLimit)
}

// query is one recall at work.
type query struct {
	*Recaller
	req    schema.RecallRequest
	limit  int
	filter store.Filter
	id     uuid.UUID
	mu     sync.Mutex // guards meta while channels run
	meta   schema.RecallMeta
}

// width is how many candidates a channel yields.
func (q *query) width() int { return max(minCandidates, candidatesPerResult*q.limit) }

// candidate is an id with its evidence.
type candidate = memory.Evidence[string]

// channel yields candidate ids; it reads no content.
type channel struct {
	name     string
	deadline time.Duration
	search   func(context.Context) ([]store.Hit, error)
}

func (q *query) channels() []channel {
	out := []channel{{memory.ChannelText, textDeadline, q.searchText}}
	if !q.NoVector {
		out = append(out, channel{memory.ChannelVector, vectorDeadline + embedDeadline, q.searchVector})
	}
	return out
}

func (q *query) searchText(ctx context.Context) ([]store.Hit, error) {
	return q.Store.SearchText(ctx, q.filter, q.req.Query, q.width())
}

func (q *query) searchVector(ctx context.Context) ([]store.Hit, error) {
	model := q.Embedder.Model()
	embedCtx, cancel := context.WithTimeout(ctx, embedDeadline)
	defer cancel()
	embedded := q.timed("embed")
	vectors, _, err := q.Embedder.Embed(embedCtx, []string{q.req.Query})
	embedded()
	if err != nil {
		return nil, fmt.Errorf("embed query: %w", err)
	}
	if len(vectors) != 1 {
		return nil, fmt.Errorf("embed query: %d vectors for one text", len(vectors))
	}
	ctx, cancelSearch := context.WithTimeout(ctx, vectorDeadline)
	defer cancelSearch()
	return q.Index.Search(ctx, q.filter, store.Embedding{Model: model, Vector: vectors[0]}, q.width())
}

// collect runs every channel at once, each with its own deadline, and merges what they found by id.
func (q *query) collect(ctx context.Context) []candidate {
	defer q.timed("collect")()
	channels := q.channels()
	found := make([][]store.Hit, len(channels))
	var wg sync.WaitGroup
	for i, ch := range channels {
		wg.Go(func() {
			defer q.timed(ch.name)()
			ctx, cancel := context.WithTimeout(ctx, ch.deadline)
			defer cancel()
			hits, err := ch.search(ctx)
			if err != nil {
				q.degrade(ch.name, err)
				return
			}
			found[i] = hits
		})
	}
	wg.Wait()
	byID := map[string]map[string]float64{}
	for i, ch := range channels {
		q.meta.Channels[ch.name] = len(found[i])
		for _, hit := range found[i] {
			id := hit.ID.String()
			if byID[id] == nil {
				byID[id] = map[string]float64{}
			}
			byID[id][ch.name] = max(byID[id][ch.name], hit.Score)
		}
	}
	out := make([]candidate, 0, len(byID))
	for _, id := range slices.Sorted(maps.Keys(byID)) {
		out = append(out, candidate{ID: id, Channels: byID[id]})
	}
	var trust memory.VectorTrust
	if q.Embedder != nil {
		trust = memory.TrustIn(q.Embedder.Model().Name)
	}
	return memory.Fuse(out, trust)
}

// authorize drops every candidate outside the asker's view. It fails closed.
func (q *query) authorize(ctx context.Context, candidates []candidate) ([]candidate, error) {
	defer q.timed("authorize")()
	ids := make([]uuid.UUID, 0, len(candidates))
	for _, c := range candidates {
		ids = append(ids, uuid.MustParse(c.ID))
	}
	allowed, err := q.Store.Authorize(ctx, q.filter, ids)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(candidates, func(c candidate) bool { return !allowed[uuid.MustParse(c.ID)] }), nil
}

// shape reorders and thins what is authorised. Its stages are not fatal: one that fails is named in
// meta.degraded and what it got goes on.
func (q *query) shape(ctx context.Context, candidates []candidate) []candidate {
	defer q.timed("shape")()
	candidates = memory.Relevant(candidates)
	ids := make([]uuid.UUID, len(candidates))
	for i, c := range candidates {
		ids[i] = uuid.MustParse(c.ID)
	}
	sources, err := q.Store.DerivedFrom(ctx, q.req.Principal.Tenant, ids)
	if err != nil {
		q.degrade("collapse", err)
		return candidates
	}
	return memory.CollapseDerived(candidates, func(id string) (string, bool) {
		source, ok := sources[uuid.MustParse(id)]
		return source.String(), ok
	})
}

// assemble reads the best candidates through the filter once more and cuts to the limit.
func (q *query) assemble(ctx context.Context, candidates []candidate) ([]schema.RecallResult, error) {
	defer q.timed("hydrate")()
	results := []schema.RecallResult{}
	if len(candidates) > q.limit {
		candidates = candidates[:q.limit]
	}
	if len(candidates) == 0 {
		return results, nil
	}
	ids := make([]uuid.UUID, len(candidates))
	for i, c := range candidates {
		ids[i] = uuid.MustParse(c.ID)
	}
	rows, err := q.Store.Hydrate(ctx, q.filter, ids)
	if err != nil {
		return nil, err
	}
	for i, c := range candidates {
		row, ok := rows[ids[i]]
		if !ok {
			continue // forgotten between the two looks
		}
		row.Score, row.Channels = c.Score, c.Channels
		results = append(results, row)
	}
	return results, nil
}

// track records the retrieval and the access to what is returned.
func (q *query) track(ctx context.Context, results []schema.RecallResult, start time.Time) {
	defer q.timed("track")()
	ids := make([]uuid.UUID, len(results))
	for i, row := range results {
		ids[i] = uuid.MustParse(row.ID)
	}
	now := q.now()
	hash := sha256.Sum256([]byte(q.req.Query))
	err := q.Store.TrackRetrieval(ctx, store.Retrieval{ID: q.id, Principal: q.req.Principal, QueryHash: hash[:], MemoryIDs: ids,
		Degraded: q.meta.Degraded, Took: now.Sub(start)}, now)
	if err != nil {
		q.degrade("track", err)
	}
}

// degrade notes that a channel or stage was left out.
func (q *query) degrade(stage string, err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.meta.Degraded = append(q.meta.Degraded, stage)
	if q.Log != nil && !errors.Is(err, context.Canceled) {
		q.Log.Warn("recall degraded", "retrieval_id", q.id, "stage", stage, "error", err)
	}
}

// timed starts a stage's clock; the function it returns stops it.
func (q *query) timed(stage string) func() {
	start := q.now()
	return func() {
		took := q.now().Sub(start)
		q.mu.Lock()
		defer q.mu.Unlock()
		q.meta.TimingsMS[stage] = milliseconds(took)
	}
}

func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
