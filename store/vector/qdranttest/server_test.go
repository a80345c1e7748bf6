package qdranttest_test

import (
	"context"
	"crypto/tls"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	qd "github.com/qdrant/go-client/qdrant"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/mneme/mneme/internal/testkit"
	"github.com/mneme/mneme/store/vector/qdranttest"
)

var ctx = context.Background()

// server is a client of the service with its own collection. It uses the real service if QDRANT_URL is set, so that
// both are tested to behave alike.
type server struct {
	*qd.GrpcClient
	t    *testing.T
	name string
}

func connect(t *testing.T) server {
	t.Helper()
	at := qdranttest.Any(t)
	u, err := url.Parse(at.URL)
	require.NoError(t, err)
	port, err := strconv.Atoi(u.Port())
	require.NoError(t, err)
	client, err := qd.NewGrpcClient(&qd.Config{Host: u.Hostname(), Port: port, APIKey: at.APIKey,
		UseTLS:    u.Scheme == "https",
		TLSConfig: &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: at.RootCA}, SkipCompatibilityCheck: true})
	require.NoError(t, err)
	s := server{GrpcClient: client, t: t, name: "test-" + uuid.NewString()}
	t.Cleanup(func() {
		_, _ = client.Collections().Delete(ctx, &qd.DeleteCollection{CollectionName: s.name})
		_ = client.Close()
	})
	s.create(s.name)
	return s
}

func (s server) create(name string) {
	s.t.Helper()
	_, err := s.Collections().Create(ctx, &qd.CreateCollection{CollectionName: name,
		VectorsConfig: qd.NewVectorsConfigMap(map[string]*qd.VectorParams{"v": {Size: 2,
			Distance: qd.Distance_Cosine}})})
	require.NoError(s.t, err)
}

func (s server) put(id *qd.PointId, x, y float32, payload map[string]any, change ...func(*qd.UpsertPoints)) error {
	req := &qd.UpsertPoints{CollectionName: s.name, Wait: new(true),
		Points: []*qd.PointStruct{{Id: id, Payload: qd.NewValueMap(payload),
			Vectors: qd.NewVectorsMap(map[string]*qd.Vector{"v": qd.NewVector(x, y)})}}}
	for _, fn := range change {
		fn(req)
	}
	_, err := s.Points().Upsert(ctx, req)
	return err
}

// found lists the numbers of the points that a filter admits, nearest to (1, 0) first.
func (s server) found(f *qd.Filter) []uint64 {
	s.t.Helper()
	res, err := s.Points().Query(ctx, &qd.QueryPoints{CollectionName: s.name, Query: qd.NewQuery(1, 0), Using: new("v"),
		Filter: f})
	require.NoError(s.t, err)
	out := []uint64{}
	for _, p := range res.GetResult() {
		out = append(out, p.GetId().GetNum())
	}
	return out
}

func requireCode(t *testing.T, want codes.Code, err error, what ...any) {
	t.Helper()
	require.Equal(t, want, status.Code(err), append([]any{"%v %v", err}, what)...)
}

func TestFilters(t *testing.T) {
	t.Parallel()
	s := connect(t)
	require.NoError(t, s.put(qd.NewIDNum(1), 1, 0,
		map[string]any{"k": "a", "n": 1, "f": 0.5, "b": true, "l": []any{"x", "y"}}))
	require.NoError(t, s.put(qd.NewIDNum(2), 1, 1,
		map[string]any{"k": "b", "n": 2, "f": 1.5, "b": false, "l": []any{}}))
	require.NoError(t, s.put(qd.NewIDNum(3), 0, 1, map[string]any{"k": "", "nothing": nil}))
	must := func(c ...*qd.Condition) *qd.Filter { return &qd.Filter{Must: c} }
	for name, c := range map[string]struct {
		f    *qd.Filter
		want []uint64
	}{
		"none":             {nil, []uint64{1, 2, 3}},
		"empty":            {&qd.Filter{}, []uint64{1, 2, 3}},
		"keyword":          {must(qd.NewMatch("k", "a")), []uint64{1}},
		"empty keyword":    {must(qd.NewMatch("k", "")), []uint64{3}},
		"of a list":        {must(qd.NewMatch("l", "y")), []uint64{1}},
		"both of a list":   {must(qd.NewMatch("l", "x"), qd.NewMatch("l", "z")), []uint64{}},
		"keywords":         {must(qd.NewMatchKeywords("k", "a", "b")), []uint64{1, 2}},
		"integer":          {must(qd.NewMatchInt("n", 2)), []uint64{2}},
		"other type":       {must(qd.NewMatchInt("k", 1)), []uint64{}},
		"bool":             {must(qd.NewMatchBool("b", false)), []uint64{2}},
		"range of ints":    {must(qd.NewRange("n", &qd.Range{Gte: new(1.0), Lt: new(2.0)})), []uint64{1}},
		"range of floats":  {must(qd.NewRange("f", &qd.Range{Gt: new(0.5)})), []uint64{2}},
		"empty or missing": {must(qd.NewIsEmpty("l")), []uint64{2, 3}},
		"null is empty":    {must(qd.NewIsEmpty("nothing")), []uint64{1, 2, 3}},
		"must not":         {&qd.Filter{MustNot: []*qd.Condition{qd.NewMatch("k", "a")}}, []uint64{2, 3}},
		"should": {&qd.Filter{Should: []*qd.Condition{qd.NewMatch("k", "a"), qd.NewMatchInt("n", 2)}},
			[]uint64{1, 2}},
		"should and must": {&qd.Filter{Must: []*qd.Condition{qd.NewMatchBool("b", true)},
			Should: []*qd.Condition{qd.NewMatch("k", "b")}}, []uint64{}},
		"nested": {must(qd.NewFilterAsCondition(&qd.Filter{Should: []*qd.Condition{qd.NewIsEmpty("n"),
			qd.NewRange("n", &qd.Range{Lte: new(1.0)})}})),
			[]uint64{1, 3}},
		"ids": {must(qd.NewHasID(qd.NewIDNum(3), qd.NewIDNum(9))), []uint64{3}},
	} {
		require.Equal(t, c.want, s.found(c.f), name)
		counted, err := s.Points().Count(ctx, &qd.CountPoints{CollectionName: s.name, Filter: c.f, Exact: new(true)})
		require.NoError(t, err)
		require.EqualValues(t, len(c.want), counted.GetResult().GetCount(), name)
	}
}

func TestConditionalUpserts(t *testing.T) {
	t.Parallel()
	s := connect(t)
	version := func(v int) func(*qd.UpsertPoints) {
		return func(req *qd.UpsertPoints) {
			req.UpdateFilter = &qd.Filter{Must: []*qd.Condition{qd.NewRange("version",
				&qd.Range{Lte: new(float64(v))})}}
		}
	}
	stands := func() int64 {
		res, err := s.Points().Get(ctx, &qd.GetPoints{CollectionName: s.name, Ids: []*qd.PointId{qd.NewIDNum(1)},
			WithPayload: qd.NewWithPayload(true)})
		require.NoError(t, err)
		require.Len(t, res.GetResult(), 1)
		return res.GetResult()[0].GetPayload()["version"].GetIntegerValue()
	}
	require.NoError(t, s.put(qd.NewIDNum(1), 1, 0, map[string]any{"version": 2}, version(2)),
		"a missing point is inserted")
	require.EqualValues(t, 2, stands())
	require.NoError(t, s.put(qd.NewIDNum(1), 1, 0, map[string]any{"version": 1}, version(1)))
	require.EqualValues(t, 2, stands(), "the older point is ignored")
	require.NoError(t, s.put(qd.NewIDNum(1), 1, 0, map[string]any{"version": 3}, version(3)))
	require.EqualValues(t, 3, stands())
}

func TestPayloadsAndDeletions(t *testing.T) {
	t.Parallel()
	s := connect(t)
	for i := range uint64(5) {
		require.NoError(t, s.put(qd.NewIDNum(i), 1, float32(i), map[string]any{"n": int(i), "k": "a"}))
	}
	_, err := s.Points().SetPayload(ctx, &qd.SetPayloadPoints{CollectionName: s.name, Wait: new(true),
		Payload:        qd.NewValueMap(map[string]any{"k": "b"}),
		PointsSelector: qd.NewPointsSelector(qd.NewIDNum(1), qd.NewIDNum(2))})
	require.NoError(t, err)
	require.Equal(t, []uint64{1, 2}, s.found(&qd.Filter{Must: []*qd.Condition{qd.NewMatch("k", "b")}}))
	require.Equal(t, []uint64{1}, s.found(&qd.Filter{Must: []*qd.Condition{qd.NewMatch("k", "b"),
		qd.NewMatchInt("n", 1)}}), "other keys stay")
	_, err = s.Points().SetPayload(ctx, &qd.SetPayloadPoints{CollectionName: s.name, Wait: new(true),
		Payload:        qd.NewValueMap(map[string]any{"k": "c"}),
		PointsSelector: qd.NewPointsSelector(qd.NewIDNum(77))})
	requireCode(t, codes.NotFound, err)
	_, err = s.Points().Delete(ctx, &qd.DeletePoints{CollectionName: s.name, Wait: new(true),
		Points: qd.NewPointsSelectorFilter(&qd.Filter{Must: []*qd.Condition{qd.NewHasID(qd.NewIDNum(0), qd.NewIDNum(1)),
			qd.NewMatch("k", "b")}})})
	require.NoError(t, err)
	require.Equal(t, []uint64{0, 2, 3, 4}, s.found(nil))
	_, err = s.Points().Delete(ctx, &qd.DeletePoints{CollectionName: s.name, Wait: new(true),
		Points: qd.NewPointsSelector(qd.NewIDNum(0), qd.NewIDNum(77))})
	require.NoError(t, err, "deleting a missing point is no error")
	require.Equal(t, []uint64{2, 3, 4}, s.found(nil))
}

func TestScrollReturnsAllPointsByID(t *testing.T) {
	t.Parallel()
	s := connect(t)
	want := map[string]bool{}
	for i := range 7 {
		id := uuid.NewString()
		want[id] = true
		require.NoError(t, s.put(qd.NewIDUUID(id), 1, 0, map[string]any{"n": i}))
	}
	var got []string
	var offset *qd.PointId
	for {
		res, err := s.Points().Scroll(ctx, &qd.ScrollPoints{CollectionName: s.name, Limit: new(uint32(3)),
			Offset: offset})
		require.NoError(t, err)
		for _, p := range res.GetResult() {
			got = append(got, p.GetId().GetUuid())
		}
		if offset = res.GetNextPageOffset(); offset == nil {
			break
		}
	}
	require.Len(t, got, 7)
	require.IsIncreasing(t, got)
	for _, id := range got {
		require.True(t, want[id])
	}
}

func TestAliases(t *testing.T) {
	t.Parallel()
	s := connect(t)
	other, alias := s.name+"-other", s.name+"-alias"
	s.create(other)
	t.Cleanup(func() { _, _ = s.Collections().Delete(ctx, &qd.DeleteCollection{CollectionName: other}) })
	require.NoError(t, s.put(qd.NewIDNum(1), 1, 0, nil))
	count := func() (uint64, error) {
		res, err := s.Points().Count(ctx, &qd.CountPoints{CollectionName: alias, Exact: new(true)})
		return res.GetResult().GetCount(), err
	}
	_, err := count()
	requireCode(t, codes.NotFound, err)
	_, err = s.Collections().UpdateAliases(ctx,
		&qd.ChangeAliases{Actions: []*qd.AliasOperations{qd.NewAliasCreate(alias, s.name)}})
	require.NoError(t, err)
	n, err := count()
	require.NoError(t, err)
	require.EqualValues(t, 1, n)
	_, err = s.Collections().UpdateAliases(ctx,
		&qd.ChangeAliases{Actions: []*qd.AliasOperations{qd.NewAliasCreate(alias, "none-"+s.name)}})
	requireCode(t, codes.NotFound, err)
	_, err = s.Collections().UpdateAliases(ctx,
		&qd.ChangeAliases{Actions: []*qd.AliasOperations{qd.NewAliasCreate(s.name, other)}})
	requireCode(t, codes.AlreadyExists, err)
	n, err = count()
	require.NoError(t, err)
	require.EqualValues(t, 1, n)
	_, err = s.Collections().UpdateAliases(ctx,
		&qd.ChangeAliases{Actions: []*qd.AliasOperations{qd.NewAliasCreate(alias, other)}})
	require.NoError(t, err, "an existing alias is moved")
	n, err = count()
	require.NoError(t, err)
	require.Zero(t, n)
	_, err = s.Collections().UpdateAliases(ctx,
		&qd.ChangeAliases{Actions: []*qd.AliasOperations{qd.NewAliasDelete(alias),
			qd.NewAliasCreate(alias, "none-"+s.name)}})
	requireCode(t, codes.NotFound, err)
	_, err = count()
	requireCode(t, codes.NotFound, err, "what was done before the failure stays done")
	_, err = s.Collections().UpdateAliases(ctx,
		&qd.ChangeAliases{Actions: []*qd.AliasOperations{qd.NewAliasCreate(alias, other)}})
	require.NoError(t, err)
	_, err = s.Collections().Delete(ctx, &qd.DeleteCollection{CollectionName: other})
	require.NoError(t, err)
	_, err = count()
	requireCode(t, codes.NotFound, err)
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	s := connect(t)
	requireCode(t, codes.InvalidArgument, s.put(qd.NewIDUUID("not-an-id"), 1, 0, nil))
	wrong := func(vectors *qd.Vectors) error {
		_, err := s.Points().Upsert(ctx, &qd.UpsertPoints{CollectionName: s.name, Wait: new(true),
			Points: []*qd.PointStruct{{Id: qd.NewIDNum(1), Vectors: vectors}}})
		return err
	}
	requireCode(t, codes.InvalidArgument, wrong(qd.NewVectorsMap(map[string]*qd.Vector{"v": qd.NewVector(1, 2, 3)})))
	requireCode(t, codes.InvalidArgument, wrong(qd.NewVectorsMap(map[string]*qd.Vector{"w": qd.NewVector(1, 2)})))
	requireCode(t, codes.InvalidArgument, wrong(nil))
	_, err := s.Points().Upsert(ctx, &qd.UpsertPoints{CollectionName: s.name, Wait: new(true)})
	requireCode(t, codes.InvalidArgument, err, "no points")
	for _, name := range []string{"", s.name + "/", s.name + ":", s.name + strings.Repeat("n", 256)} {
		_, err := s.Collections().Create(ctx, &qd.CreateCollection{CollectionName: name,
			VectorsConfig: qd.NewVectorsConfigMap(map[string]*qd.VectorParams{"v": {Size: 2,
				Distance: qd.Distance_Cosine}})})
		requireCode(t, codes.InvalidArgument, err, name)
	}
	_, err = s.Points().Count(ctx, &qd.CountPoints{CollectionName: "a/b"})
	requireCode(t, codes.InvalidArgument, err)
	_, err = s.Points().Query(ctx, &qd.QueryPoints{CollectionName: s.name, Query: qd.NewQuery(1, 0), Using: new("w")})
	requireCode(t, codes.InvalidArgument, err)
	_, err = s.Points().Query(ctx, &qd.QueryPoints{CollectionName: s.name, Query: qd.NewQuery(1, 0, 0),
		Using: new("v")})
	requireCode(t, codes.InvalidArgument, err)
	for name, call := range map[string]func() error{
		"query": func() error {
			_, err := s.Points().Query(ctx, &qd.QueryPoints{CollectionName: "none", Query: qd.NewQuery(1, 0),
				Using: new("v")})
			return err
		},
		"upsert": func() error {
			_, err := s.Points().Upsert(ctx, &qd.UpsertPoints{CollectionName: "none",
				Points: []*qd.PointStruct{{Id: qd.NewIDNum(1),
					Vectors: qd.NewVectorsMap(map[string]*qd.Vector{"v": qd.NewVector(1, 2)})}}})
			return err
		},
		"scroll": func() error {
			_, err := s.Points().Scroll(ctx,
				&qd.ScrollPoints{CollectionName: "none"})
			return err
		},
		"count": func() error { _, err := s.Points().Count(ctx, &qd.CountPoints{CollectionName: "none"}); return err },
		"delete": func() error {
			_, err := s.Points().Delete(ctx, &qd.DeletePoints{CollectionName: "none",
				Points: qd.NewPointsSelector(qd.NewIDNum(1))})
			return err
		},
		"index": func() error {
			_, err := s.Points().CreateFieldIndex(ctx, &qd.CreateFieldIndexCollection{CollectionName: "none",
				FieldName: "k", FieldType: qd.FieldType_FieldTypeKeyword.Enum()})
			return err
		},
	} {
		requireCode(t, codes.NotFound, call(), name)
	}
	require.Empty(t, s.found(nil))
}

// An upsert without wait is acknowledged first and applied in order, if it can be. An upsert with wait also waits for
// the earlier ones.
func TestWaiting(t *testing.T) {
	t.Parallel()
	s := connect(t)
	res, err := s.Points().Upsert(ctx, &qd.UpsertPoints{CollectionName: s.name,
		Points: []*qd.PointStruct{{Id: qd.NewIDNum(1),
			Vectors: qd.NewVectorsMap(map[string]*qd.Vector{"v": qd.NewVector(1, 0)})}}})
	require.NoError(t, err)
	require.Equal(t, qd.UpdateStatus_Acknowledged, res.GetResult().GetStatus())
	limited, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	require.NoError(t, testkit.Eventually(limited, func() error {
		if len(s.found(nil)) == 0 {
			return context.DeadlineExceeded
		}
		return nil
	}))
	_, err = s.Points().Upsert(ctx, &qd.UpsertPoints{CollectionName: s.name,
		Points: []*qd.PointStruct{{Id: qd.NewIDNum(2),
			Vectors: qd.NewVectorsMap(map[string]*qd.Vector{"v": qd.NewVector(1, 1)})}}})
	require.NoError(t, err)
	_, err = s.Points().Upsert(ctx, &qd.UpsertPoints{CollectionName: s.name,
		Points: []*qd.PointStruct{{Id: qd.NewIDNum(4),
			Vectors: qd.NewVectorsMap(map[string]*qd.Vector{"v": qd.NewVector(1, 1, 1)})}}})
	require.NoError(t, err, "without wait, a wrong vector length is not reported")
	require.NoError(t, s.put(qd.NewIDNum(3), 0, 1, nil))
	require.Equal(t, []uint64{1, 2, 3}, s.found(nil))
}

func TestPayloadIndexesAreShown(t *testing.T) {
	t.Parallel()
	s := connect(t)
	_, err := s.Points().CreateFieldIndex(ctx, &qd.CreateFieldIndexCollection{CollectionName: s.name,
		FieldName: "tenant", Wait: new(true),
		FieldType:        qd.FieldType_FieldTypeKeyword.Enum(),
		FieldIndexParams: qd.NewPayloadIndexParamsKeyword(&qd.KeywordIndexParams{IsTenant: new(true)})})
	require.NoError(t, err)
	info, err := s.Collections().Get(ctx, &qd.GetCollectionInfoRequest{CollectionName: s.name})
	require.NoError(t, err)
	index := info.GetResult().GetPayloadSchema()["tenant"]
	require.Equal(t, qd.PayloadSchemaType_Keyword, index.GetDataType())
	require.True(t, index.GetParams().GetKeywordIndexParams().GetIsTenant())
}

// The in-process service refuses what it does not implement.
func TestUnimplementedCallsAreRefused(t *testing.T) {
	t.Parallel()
	if qdranttest.Real() {
		t.Skip("a real server implements it")
	}
	s := connect(t)
	for name, c := range map[string]*qd.Condition{
		"full text":    qd.NewMatchText("k", "a"),
		"a path":       qd.NewMatch("a.b", "c"),
		"nested":       qd.NewNestedCondition("k", qd.NewMatch("a", "b")),
		"within a not": qd.NewFilterAsCondition(&qd.Filter{MustNot: []*qd.Condition{qd.NewMatchText("k", "a")}}),
	} {
		_, err := s.Points().Count(ctx, &qd.CountPoints{CollectionName: s.name,
			Filter: &qd.Filter{Must: []*qd.Condition{c}}})
		requireCode(t, codes.Unimplemented, err, name)
	}
	_, err := s.Points().Facet(ctx, &qd.FacetCounts{CollectionName: s.name, Key: "k"})
	requireCode(t, codes.Unimplemented, err)
}
