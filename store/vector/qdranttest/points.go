package qdranttest

import (
	"cmp"
	"context"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	qd "github.com/qdrant/go-client/qdrant"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// point is one stored point. Vectors for the cosine distance are stored at unit length, as in Qdrant.
type point struct {
	id      *qd.PointId
	payload map[string]*qd.Value
	vectors map[string][]float32
}

// applyAfter is the delay of an update without wait.
const applyAfter = 20 * time.Millisecond

// points implements the calls on points.
type points struct {
	qd.UnimplementedPointsServer
	*Server
}

// keyOf returns a key that sorts as Qdrant sorts ids: numbers first, then UUIDs by their bytes.
func keyOf(id *qd.PointId) (string, error) {
	switch v := id.GetPointIdOptions().(type) {
	case *qd.PointId_Num:
		var b [9]byte
		for i := range 8 {
			b[1+i] = byte(v.Num >> (56 - 8*i))
		}
		return string(b[:]), nil
	case *qd.PointId_Uuid:
		parsed, err := uuid.Parse(v.Uuid)
		if err != nil {
			return "", status.Errorf(codes.InvalidArgument, "Unable to parse UUID: %s", v.Uuid)
		}
		return "\x01" + string(parsed[:]), nil
	default:
		return "", status.Error(codes.InvalidArgument, "Empty PointId is not allowed")
	}
}

// update applies a change: at once, after the acknowledged ones, if the caller waits, and otherwise soon. The lock is
// held.
func (s points) update(c *collection, wait bool, apply func()) *qd.PointsOperationResponse {
	s.operations++
	result := &qd.UpdateResult{OperationId: new(s.operations), Status: qd.UpdateStatus_Acknowledged}
	c.waiting = append(c.waiting, apply)
	switch {
	case wait && s.stalled:
		result.Status = qd.UpdateStatus_WaitTimeout // at once, instead of at the end of the timeout
	case wait:
		c.flush()
		result.Status = qd.UpdateStatus_Completed
	default:
		time.AfterFunc(applyAfter, func() {
			s.mu.Lock()
			defer s.mu.Unlock()
			if !s.stalled {
				c.flush()
			}
		})
	}
	return &qd.PointsOperationResponse{Result: result}
}

func (c *collection) flush() {
	for _, apply := range c.waiting {
		apply()
	}
	c.waiting = nil
}

// Upsert implements qdrant.PointsServer. With an update filter, an existing point is replaced only if it matches; a
// new one is inserted.
func (s points) Upsert(_ context.Context, req *qd.UpsertPoints) (*qd.PointsOperationResponse, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var order []string
	// a malformed request is refused before the collection is looked up
	for _, p := range req.GetPoints() {
		if p.GetVectors() == nil {
			return nil, status.Error(codes.InvalidArgument, "Expected some vectors")
		}
		key, err := keyOf(p.GetId())
		if err != nil {
			return nil, err
		}
		order = append(order, key)
	}
	c, err := s.find(req.GetCollectionName())
	if err != nil {
		return nil, err
	}
	if err := checkFilter(req.GetUpdateFilter()); err != nil {
		return nil, err
	}
	if len(order) == 0 {
		return nil, status.Error(codes.InvalidArgument, "Bad request: Empty update request")
	}
	incoming := make(map[string]*point, len(req.GetPoints()))
	for i, p := range req.GetPoints() {
		vectors, err := c.vectorsOf(p.GetVectors())
		if status.Code(err) == codes.InvalidArgument && !req.GetWait() {
			// the mistake would be found when the change is applied, and the caller does not wait for that
			return s.update(c, false, func() {}), nil
		}
		if err != nil {
			return nil, err
		}
		incoming[order[i]] = &point{id: p.GetId(), payload: p.GetPayload(), vectors: vectors}
	}
	return s.update(c, req.GetWait(), func() {
		for _, key := range order {
			standing := c.points[key]
			if standing != nil && req.GetUpdateMode() == qd.UpdateMode_InsertOnly || standing == nil &&
				req.GetUpdateMode() == qd.UpdateMode_UpdateOnly {
				continue
			}
			if standing != nil && !matches(standing, req.GetUpdateFilter()) {
				continue
			}
			c.points[key] = incoming[key]
		}
	}), nil
}

// vectorsOf reads and checks the vectors of an upsert.
func (c *collection) vectorsOf(v *qd.Vectors) (map[string][]float32, error) {
	given := map[string]*qd.Vector{}
	switch vs := v.GetVectorsOptions().(type) {
	case *qd.Vectors_Vector:
		given[""] = vs.Vector
	case *qd.Vectors_Vectors:
		maps.Copy(given, vs.Vectors.GetVectors())
	}
	out := make(map[string][]float32, len(given))
	for name, vector := range given {
		if vector.GetDense() == nil {
			return nil, unimplemented("a vector that is not dense")
		}
		checked, err := c.check(name, vector.GetDense().GetData())
		if err != nil {
			return nil, err
		}
		out[name] = checked
	}
	return out, nil
}

// check returns a vector as it is stored, or an error if the collection cannot store it.
func (c *collection) check(name string, data []float32) ([]float32, error) {
	params := c.vectors[name]
	if params == nil {
		return nil, invalid("Not existing vector name error: %s", name)
	}
	if uint64(len(data)) != params.GetSize() {
		return nil, invalid("Vector dimension error: expected dim: %d, got %d", params.GetSize(), len(data))
	}
	if params.GetDistance() != qd.Distance_Cosine {
		return data, nil
	}
	var sum float64
	for _, x := range data {
		sum += float64(x) * float64(x)
	}
	if sum == 0 {
		return data, nil
	}
	out := make([]float32, len(data))
	for i, x := range data {
		out[i] = float32(float64(x) / math.Sqrt(sum))
	}
	return out, nil
}

// chosen returns a function that lists the keys of the points that a selector selects. The lock is held.
func (c *collection) chosen(selector *qd.PointsSelector) (func() []string, error) {
	switch sel := selector.GetPointsSelectorOneOf().(type) {
	case *qd.PointsSelector_Points:
		var keys []string
		for _, id := range sel.Points.GetIds() {
			key, err := keyOf(id)
			if err != nil {
				return nil, err
			}
			keys = append(keys, key)
		}
		return func() []string { return keys }, nil
	case *qd.PointsSelector_Filter:
		if err := checkFilter(sel.Filter); err != nil {
			return nil, err
		}
		return func() []string {
			var keys []string
			for key, p := range c.points {
				if matches(p, sel.Filter) {
					keys = append(keys, key)
				}
			}
			return keys
		}, nil
	default:
		return nil, status.Error(codes.InvalidArgument, "Malformed PointsSelector type")
	}
}

// Delete implements qdrant.PointsServer.
func (s points) Delete(_ context.Context, req *qd.DeletePoints) (*qd.PointsOperationResponse, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c, err := s.find(req.GetCollectionName())
	if err != nil {
		return nil, err
	}
	keys, err := c.chosen(req.GetPoints())
	if err != nil {
		return nil, err
	}
	return s.update(c, req.GetWait(), func() {
		for _, key := range keys() {
			delete(c.points, key)
		}
	}), nil
}

// SetPayload implements qdrant.PointsServer. The given keys are replaced, the others stay. If a waiting caller names
// points that do not exist, it gets an error after the others have been changed.
func (s points) SetPayload(_ context.Context, req *qd.SetPayloadPoints) (*qd.PointsOperationResponse, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c, err := s.find(req.GetCollectionName())
	if err != nil {
		return nil, err
	}
	if req.GetKey() != "" {
		return nil, unimplemented("a nested payload key")
	}
	keys, err := c.chosen(req.GetPointsSelector())
	if err != nil {
		return nil, err
	}
	missing := false
	done := s.update(c, req.GetWait(), func() {
		for _, key := range keys() {
			p := c.points[key]
			if p == nil {
				missing = true
				continue
			}
			payload := maps.Clone(p.payload)
			if payload == nil {
				payload = map[string]*qd.Value{}
			}
			maps.Copy(payload, req.GetPayload())
			c.points[key] = &point{id: p.id, payload: payload, vectors: p.vectors}
		}
	})
	if missing {
		return nil, status.Error(codes.NotFound, "Not found: No point with such an id found")
	}
	return done, nil
}

var schemaTypes = map[qd.FieldType]qd.PayloadSchemaType{
	qd.FieldType_FieldTypeKeyword: qd.PayloadSchemaType_Keyword,
	qd.FieldType_FieldTypeInteger: qd.PayloadSchemaType_Integer,
	qd.FieldType_FieldTypeFloat:   qd.PayloadSchemaType_Float, qd.FieldType_FieldTypeBool: qd.PayloadSchemaType_Bool,
	qd.FieldType_FieldTypeDatetime: qd.PayloadSchemaType_Datetime,
	qd.FieldType_FieldTypeUuid:     qd.PayloadSchemaType_Uuid,
}

// CreateFieldIndex implements qdrant.PointsServer. It changes what Get returns for the collection; the results of
// filters do not depend on it.
func (s points) CreateFieldIndex(_ context.Context, req *qd.CreateFieldIndexCollection) (*qd.PointsOperationResponse,
	error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c, err := s.find(req.GetCollectionName())
	if err != nil {
		return nil, err
	}
	kind, ok := schemaTypes[req.GetFieldType()]
	if !ok {
		return nil, unimplemented("a payload index of this type")
	}
	if params := req.GetFieldIndexParams(); params != nil && (params.GetKeywordIndexParams() == nil ||
		kind != qd.PayloadSchemaType_Keyword) {
		return nil, invalid("payload index params do not fit the field type")
	}
	return s.update(c, req.GetWait(), func() {
		c.indexes[req.GetFieldName()] = &qd.PayloadSchemaInfo{DataType: kind, Params: req.GetFieldIndexParams()}
	}), nil
}

// DeleteFieldIndex implements qdrant.PointsServer.
func (s points) DeleteFieldIndex(_ context.Context, req *qd.DeleteFieldIndexCollection) (*qd.PointsOperationResponse,
	error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c, err := s.find(req.GetCollectionName())
	if err != nil {
		return nil, err
	}
	return s.update(c, req.GetWait(), func() { delete(c.indexes, req.GetFieldName()) }), nil
}

// Get implements qdrant.PointsServer.
func (s points) Get(_ context.Context, req *qd.GetPoints) (*qd.GetResponse, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c, err := s.find(req.GetCollectionName())
	if err != nil {
		return nil, err
	}
	out := &qd.GetResponse{}
	for _, id := range req.GetIds() {
		key, err := keyOf(id)
		if err != nil {
			return nil, err
		}
		if p := c.points[key]; p != nil {
			out.Result = append(out.Result, p.retrieved(req.GetWithPayload(), req.GetWithVectors()))
		}
	}
	return out, nil
}

// Scroll implements qdrant.PointsServer, in the order of ids.
func (s points) Scroll(_ context.Context, req *qd.ScrollPoints) (*qd.ScrollResponse, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c, err := s.find(req.GetCollectionName())
	if err != nil {
		return nil, err
	}
	if req.GetOrderBy() != nil {
		return nil, unimplemented("order_by")
	}
	if err := checkFilter(req.GetFilter()); err != nil {
		return nil, err
	}
	limit, from := 10, ""
	if req.Limit != nil {
		if limit = int(req.GetLimit()); limit == 0 {
			return nil, status.Error(codes.InvalidArgument,
				"Validation error in body: [limit: value 0 invalid, must be 1 or larger]")
		}
	}
	if req.GetOffset() != nil {
		if from, err = keyOf(req.GetOffset()); err != nil {
			return nil, err
		}
	}
	out := &qd.ScrollResponse{}
	for _, key := range slices.Sorted(maps.Keys(c.points)) {
		p := c.points[key]
		if key < from || !matches(p, req.GetFilter()) {
			continue
		}
		if len(out.Result) == limit {
			out.NextPageOffset = p.id
			break
		}
		out.Result = append(out.Result, p.retrieved(req.GetWithPayload(), req.GetWithVectors()))
	}
	return out, nil
}

// Count implements qdrant.PointsServer.
func (s points) Count(_ context.Context, req *qd.CountPoints) (*qd.CountResponse, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c, err := s.find(req.GetCollectionName())
	if err != nil {
		return nil, err
	}
	if err := checkFilter(req.GetFilter()); err != nil {
		return nil, err
	}
	n := uint64(0)
	for _, p := range c.points {
		if matches(p, req.GetFilter()) {
			n++
		}
	}
	return &qd.CountResponse{Result: &qd.CountResult{Count: n}}, nil
}

// Query implements qdrant.PointsServer, for the points nearest to a dense vector.
func (s points) Query(_ context.Context, req *qd.QueryPoints) (*qd.QueryResponse, error) {
	if len(req.GetPrefetch()) > 0 {
		return nil, unimplemented("prefetch")
	}
	nearest, ok := req.GetQuery().GetVariant().(*qd.Query_Nearest)
	if !ok || nearest.Nearest.GetDense() == nil {
		return nil, unimplemented("a query other than for the nearest of a dense vector")
	}
	return s.nearest(req, nearest.Nearest.GetDense().GetData())
}

func (s points) nearest(req *qd.QueryPoints, vector []float32) (*qd.QueryResponse, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c, err := s.find(req.GetCollectionName())
	if err != nil {
		return nil, err
	}
	if err := checkFilter(req.GetFilter()); err != nil {
		return nil, err
	}
	limit := 10
	if req.Limit != nil {
		if limit = int(req.GetLimit()); limit == 0 {
			return nil, status.Error(codes.InvalidArgument,
				"Validation error in body: [limit: value 0 invalid, must be 1 or larger]")
		}
	}
	asked, err := c.check(req.GetUsing(), vector)
	if err != nil {
		return nil, err
	}
	type scored struct {
		key   string
		score float32
	}
	var found []scored
	for key, p := range c.points {
		v, has := p.vectors[req.GetUsing()]
		if !has || !matches(p, req.GetFilter()) {
			continue
		}
		var dot float64
		for i := range v {
			dot += float64(v[i]) * float64(asked[i])
		}
		if req.ScoreThreshold == nil || float32(dot) >= req.GetScoreThreshold() {
			found = append(found, scored{key, float32(dot)})
		}
	}
	slices.SortFunc(found, func(a, b scored) int {
		return cmp.Or(cmp.Compare(b.score, a.score),
			strings.Compare(a.key, b.key))
	})
	found = found[min(len(found), int(req.GetOffset())):]
	out := &qd.QueryResponse{}
	for _, hit := range found[:min(len(found), limit)] {
		p := c.points[hit.key].retrieved(req.GetWithPayload(), req.GetWithVectors())
		out.Result = append(out.Result, &qd.ScoredPoint{Id: p.Id, Payload: p.Payload, Score: hit.score,
			Vectors: p.Vectors})
	}
	return out, nil
}

// retrieved returns a point for an answer, with payload and vectors only if they are requested.
func (p *point) retrieved(payload *qd.WithPayloadSelector, vectors *qd.WithVectorsSelector) *qd.RetrievedPoint {
	out := &qd.RetrievedPoint{Id: p.id, Payload: map[string]*qd.Value{}}
	switch sel := payload.GetSelectorOptions().(type) {
	case *qd.WithPayloadSelector_Enable:
		if sel.Enable {
			out.Payload = maps.Clone(p.payload)
		}
	case *qd.WithPayloadSelector_Include:
		for _, key := range sel.Include.GetFields() {
			if v, ok := p.payload[key]; ok {
				out.Payload[key] = v
			}
		}
	case *qd.WithPayloadSelector_Exclude:
		out.Payload = maps.Clone(p.payload)
		for _, key := range sel.Exclude.GetFields() {
			delete(out.Payload, key)
		}
	}
	if vectors.GetEnable() || vectors.GetInclude() != nil {
		named := map[string]*qd.VectorOutput{}
		for name, v := range p.vectors {
			if vectors.GetEnable() || slices.Contains(vectors.GetInclude().GetNames(), name) {
				named[name] = &qd.VectorOutput{Vector: &qd.VectorOutput_Dense{Dense: &qd.DenseVector{Data: v}}}
			}
		}
		out.Vectors = &qd.VectorsOutput{
			VectorsOptions: &qd.VectorsOutput_Vectors{Vectors: &qd.NamedVectorsOutput{Vectors: named}},
		}
	}
	return out
}
