package vector

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/google/uuid"
	qd "github.com/qdrant/go-client/qdrant"

	"github.com/mneme/mneme/inference"
	"github.com/mneme/mneme/memory/views"
)

const keyEvent = "event_id"

// eventSpace is the name space of the point ids of events.
var eventSpace = uuid.MustParse("0b6a3f52-5a0e-4f5c-8f0d-6d1f2c9be417")

// eventPoint derives a point's id from tenant and event. No name contains the byte between them.
func eventPoint(tenant, event string) *qd.PointId {
	return qd.NewIDUUID(uuid.NewSHA1(eventSpace, []byte(tenant+"\x00"+event)).String())
}

func eventPoints(tenant string, events []string) []*qd.PointId {
	out := make([]*qd.PointId, len(events))
	for i, id := range events {
		out[i] = eventPoint(tenant, id)
	}
	return out
}

// eventPrefix begins the names of the collections of events.
func (q *Qdrant) eventPrefix() string { return q.prefix + "-events-" }

// eventCollection returns the name of the collection of a model's event vectors. It has no generations, because the
// text of an event never changes and a missing vector is computed when its event is ranked.
func (q *Qdrant) eventCollection(m inference.EmbeddingModel) string {
	return q.eventPrefix() + vectorName(m)
}

// WithoutEventVector returns the events of a tenant that have no vector of a model, in their order.
func (q *Qdrant) WithoutEventVector(ctx context.Context, tenant string, m inference.EmbeddingModel,
	events []string) (out []string, err error) {
	for page := range slices.Chunk(events, 2*qdrantBatchPoints) {
		there, err := q.eventsThere(ctx, tenant, m, page)
		if err != nil {
			return nil, err
		}
		for _, id := range page {
			if !there[id] {
				out = append(out, id)
			}
		}
	}
	return out, nil
}

func (q *Qdrant) eventsThere(ctx context.Context, tenant string, m inference.EmbeddingModel,
	events []string) (map[string]bool, error) {
	limited, cancel := context.WithTimeout(ctx, qdrantReadTimeout)
	defer cancel()
	filter := ofTenant(tenant)
	filter.Must = append(filter.Must, qd.NewHasID(eventPoints(tenant, events)...))
	res, err := q.client.Points().Scroll(limited, &qd.ScrollPoints{CollectionName: q.eventCollection(m), Filter: filter,
		Limit: new(uint32(len(events))), WithPayload: qd.NewWithPayloadInclude(keyEvent),
		WithVectors: qd.NewWithVectors(false), Timeout: serverTimeout(limited)})
	if err = qdrantError(limited, "look up events", err); errors.Is(err, ErrMissing) {
		return nil, nil // the first vector creates the collection
	}
	if err != nil {
		return nil, err
	}
	there := make(map[string]bool, len(res.GetResult()))
	for _, p := range res.GetResult() {
		there[p.GetPayload()[keyEvent].GetStringValue()] = true
	}
	return there, nil
}

// PutEvents stores the vectors of a tenant's events, in the order of the ids. The points have ids and no text.
func (q *Qdrant) PutEvents(ctx context.Context, tenant string, m inference.EmbeddingModel, events []string,
	vectors [][]float32) error {
	points := make([]*qd.PointStruct, len(events))
	for i, id := range events {
		if len(vectors[i]) != m.Dimensions {
			return fmt.Errorf("tell Qdrant: %w", ErrMismatch)
		}
		points[i] = &qd.PointStruct{Id: eventPoint(tenant, id),
			Payload: map[string]*qd.Value{keyTenant: qd.NewValueString(tenant), keyEvent: qd.NewValueString(id)},
			Vectors: qd.NewVectorsMap(map[string]*qd.Vector{vectorName(m): qd.NewVectorDense(vectors[i])})}
	}
	size := max(1, min(qdrantBatchPoints, qdrantBatchBytes/(4*max(1, m.Dimensions)+1024)))
	for part := range slices.Chunk(points, size) {
		err := q.putEvents(ctx, m, part)
		if errors.Is(err, ErrMissing) {
			if err := q.create(ctx, q.eventCollection(m), m, eventIndexes); err != nil {
				return err
			}
			err = q.putEvents(ctx, m, part)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (q *Qdrant) putEvents(ctx context.Context, m inference.EmbeddingModel, points []*qd.PointStruct) error {
	ctx, cancel := context.WithTimeout(ctx, qdrantWriteTimeout)
	defer cancel()
	res, err := q.client.Points().Upsert(ctx, &qd.UpsertPoints{CollectionName: q.eventCollection(m), Points: points,
		Wait: new(true), Timeout: serverTimeout(ctx)})
	return updated(ctx, stepUpsert, res, err)
}

// NearestEvents returns at most k of the given events of a tenant, those nearest to a vector, with their cosine
// similarity as a score in [0,1]. It compares all of the given events exactly, and no others.
func (q *Qdrant) NearestEvents(ctx context.Context, tenant string, m inference.EmbeddingModel, vector []float32,
	events []string, k int) ([]views.Hit, error) {
	if k <= 0 || len(events) == 0 {
		return nil, nil
	}
	ctx, cancel := context.WithTimeout(ctx, qdrantReadTimeout)
	defer cancel()
	filter := ofTenant(tenant)
	filter.Must = append(filter.Must, qd.NewHasID(eventPoints(tenant, events)...))
	res, err := q.client.Points().Query(ctx, &qd.QueryPoints{
		CollectionName: q.eventCollection(m), Query: qd.NewQueryDense(vector), Using: new(vectorName(m)),
		Filter: filter, Limit: new(uint64(k)), Params: &qd.SearchParams{Exact: new(true)},
		WithPayload: qd.NewWithPayloadInclude(keyEvent), Timeout: serverTimeout(ctx),
	})
	if err != nil {
		return nil, qdrantError(ctx, stepSearch, err)
	}
	hits := make([]views.Hit, 0, len(res.GetResult()))
	for _, p := range res.GetResult() {
		hits = append(hits, views.Hit{ID: p.GetPayload()[keyEvent].GetStringValue(),
			Score: min(1, max(0, float64(p.GetScore())))})
	}
	return hits, nil
}

// eventModels lists the collections of events of all models, including models no longer in use.
func (q *Qdrant) eventModels(ctx context.Context) (out []string, err error) {
	ctx, cancel := context.WithTimeout(ctx, qdrantReadTimeout)
	defer cancel()
	res, err := q.client.Collections().List(ctx, &qd.ListCollectionsRequest{})
	if err != nil {
		return nil, qdrantError(ctx, "list collections", err)
	}
	for _, c := range res.GetCollections() {
		if strings.HasPrefix(c.GetName(), q.eventPrefix()) {
			out = append(out, c.GetName())
		}
	}
	return out, nil
}

// SweepEvents removes the vectors of the tenant's events that gone returns, of all models, and returns how many. It
// passes at most limit events at a time to gone.
func (q *Qdrant) SweepEvents(ctx context.Context, tenant string, limit int,
	gone func(ctx context.Context, events []string) ([]string, error)) (removed int, err error) {
	collections, err := q.eventModels(ctx)
	if err != nil {
		return 0, err
	}
	for _, collection := range collections {
		n, err := q.sweepCollection(ctx, collection, tenant, limit, gone)
		removed += n
		if err != nil && !errors.Is(err, ErrMissing) { // it may have been dropped in between
			return removed, err
		}
	}
	return removed, nil
}

func (q *Qdrant) sweepCollection(ctx context.Context, collection, tenant string, limit int,
	gone func(ctx context.Context, events []string) ([]string, error)) (removed int, err error) {
	for offset := (*qd.PointId)(nil); ; {
		ids, next, err := q.eventPage(ctx, collection, tenant, offset, limit)
		if err != nil {
			return removed, err
		}
		over, err := gone(ctx, ids)
		if err != nil {
			return removed, err
		}
		if err := q.deleteEvents(ctx, collection, tenant, over); err != nil {
			return removed, err
		}
		removed += len(over)
		if offset = next; offset == nil {
			return removed, nil
		}
	}
}

func (q *Qdrant) eventPage(ctx context.Context, collection, tenant string, offset *qd.PointId,
	limit int) (ids []string, next *qd.PointId, err error) {
	ctx, cancel := context.WithTimeout(ctx, qdrantReadTimeout)
	defer cancel()
	res, err := q.client.Points().Scroll(ctx, &qd.ScrollPoints{CollectionName: collection, Filter: ofTenant(tenant),
		Offset: offset, Limit: new(uint32(limit)), WithPayload: qd.NewWithPayloadInclude(keyEvent),
		WithVectors: qd.NewWithVectors(false), Timeout: serverTimeout(ctx)})
	if err != nil {
		return nil, nil, qdrantError(ctx, "scroll events", err)
	}
	for _, p := range res.GetResult() {
		ids = append(ids, p.GetPayload()[keyEvent].GetStringValue())
	}
	return ids, res.GetNextPageOffset(), nil
}

// DeleteEvents removes a tenant's events from the vectors of a model.
func (q *Qdrant) DeleteEvents(ctx context.Context, tenant string, m inference.EmbeddingModel, events []string) error {
	return q.deleteEvents(ctx, q.eventCollection(m), tenant, events)
}

func (q *Qdrant) deleteEvents(ctx context.Context, collection, tenant string, events []string) error {
	for part := range slices.Chunk(events, qdrantBatchPoints) {
		if err := q.delete(ctx, collection, tenant, eventPoints(tenant, part), 0); err != nil {
			return err
		}
	}
	return nil
}

// WipeEvents removes all vectors of a tenant's events, of all models. They are computed again when needed.
func (q *Qdrant) WipeEvents(ctx context.Context, tenant string) (int, error) {
	all := func(_ context.Context, events []string) ([]string, error) { return events, nil }
	return q.SweepEvents(ctx, tenant, qdrantBatchPoints, all)
}
