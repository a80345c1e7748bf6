package vector

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"
	qd "github.com/qdrant/go-client/qdrant"
	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/mneme/mneme/store/pg"
	"github.com/mneme/mneme/store/search"
)

// QdrantName is the name of the index in Qdrant.
const QdrantName = "qdrant"

// Deadlines of calls, if the caller has no earlier one.
const (
	qdrantReadTimeout  = 5 * time.Second
	qdrantWriteTimeout = 30 * time.Second
	qdrantAdminTimeout = 2 * time.Minute // creating and dropping collections and payload indexes
)

const (
	// A batch stays well below four megabytes, the default limit of a gRPC server.
	qdrantBatchPoints = 256
	qdrantBatchBytes  = 3 << 20
	// qdrantReconnect is the longest delay before a lost connection is tried again. With gRPC's default of two
	// minutes, an index would stay unused after it is available again.
	qdrantReconnect = 2 * time.Second
)

const (
	stepSearch = "search"
	stepUpsert = "upsert"
)

// QdrantConfig describes the connection to Qdrant 1.16 or later. Earlier versions lack conditional upserts, which
// prevent an older version of a point from replacing a newer one.
type QdrantConfig struct {
	URL    string         // http://host:6334 or https://host:6334, the gRPC port; https is TLS
	APIKey string         // sent with every call; empty sends none
	RootCA *x509.CertPool // authorities for the server's certificate; nil for the system's
	// Prefix begins the names of collections and aliases; installations that share a server need different ones. It
	// has at most 100 letters, digits, ".", "-" and "_", which are valid in collection names everywhere. The
	// default is "mneme".
	Prefix string
}

// Qdrant keeps the index in a Qdrant server. Each generation is a collection with one named vector, and each model
// has an alias for the collection to search. The tenant is a payload key with is_tenant, and a graph is built for
// each tenant. Points have ids, versions and the fields of the filter, no content.
type Qdrant struct {
	client *qd.GrpcClient
	prefix string
}

var qdrantPrefix = regexp.MustCompile(`^[A-Za-z0-9._-]{1,100}$`)

// OpenQdrant prepares the connection. The first call connects, and so does a call after the connection was lost.
func OpenQdrant(cfg QdrantConfig) (*Qdrant, error) {
	u, err := url.Parse(cfg.URL)
	if err != nil || u.Hostname() == "" || (u.Scheme != "http" && u.Scheme != "https") {
		// The URL may have a key.
		return nil, errors.New("open Qdrant: the URL must be http://host:port or https://host:port")
	}
	port := 6334
	if u.Port() != "" {
		if port, err = strconv.Atoi(u.Port()); err != nil {
			return nil, errors.New("open Qdrant: the port is not a number")
		}
	}
	prefix := cmp.Or(cfg.Prefix, "mneme")
	if !qdrantPrefix.MatchString(prefix) {
		return nil, errors.New(`open Qdrant: the prefix must be 1 to 100 letters, digits, ".", "-" and "_"`)
	}
	reconnect := backoff.DefaultConfig
	reconnect.BaseDelay, reconnect.MaxDelay = 100*time.Millisecond, qdrantReconnect
	host := u.Hostname()
	if strings.Contains(host, ":") {
		host = "[" + host + "]" // an IPv6 address
	}
	client, err := qd.NewGrpcClient(&qd.Config{
		Host: host, Port: port, APIKey: cfg.APIKey, UseTLS: u.Scheme == "https",
		TLSConfig:              &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: cfg.RootCA},
		SkipCompatibilityCheck: true, // it would call the server now; Qdrant may be down when a worker starts
		GrpcOptions: []grpc.DialOption{grpc.WithConnectParams(grpc.ConnectParams{Backoff: reconnect,
			MinConnectTimeout: 5 * time.Second})},
	})
	if err != nil {
		return nil, fmt.Errorf("open Qdrant: %w", err)
	}
	return &Qdrant{client: client, prefix: prefix}, nil
}

// Close releases the connection.
func (q *Qdrant) Close() error { return q.client.Conn().Close() }

// Name implements Index.
func (*Qdrant) Name() string { return QdrantName }

// Search implements Index.
func (q *Qdrant) Search(ctx context.Context, f pg.Filter, e pg.Embedding, limit int) ([]search.Hit, error) {
	return q.nearest(ctx, q.alias(e.Model), vectorName(e.Model), e.Vector, pushedFilter(f), limit)
}

// Nearest implements Index.
func (q *Qdrant) Nearest(ctx context.Context, g Generation, tenant string, vector []float32,
	limit int) ([]search.Hit, error) {
	return q.nearest(ctx, q.collection(g), vectorName(g.Model), vector, ofTenant(tenant), limit)
}

func (q *Qdrant) nearest(ctx context.Context, collection, name string, vector []float32, filter *qd.Filter,
	limit int) ([]search.Hit, error) {
	if limit <= 0 {
		return nil, nil
	}
	ctx, cancel := context.WithTimeout(ctx, qdrantReadTimeout)
	defer cancel()
	res, err := q.client.Points().Query(ctx, &qd.QueryPoints{
		CollectionName: collection, Query: qd.NewQueryDense(vector), Using: &name, Filter: filter,
		Limit:       new(uint64(limit)),
		WithPayload: qd.NewWithPayloadInclude(keyMemory), Timeout: serverTimeout(ctx),
	})
	if err != nil {
		return nil, qdrantError(ctx, stepSearch, err)
	}
	hits := make([]search.Hit, 0, len(res.GetResult()))
	for _, p := range res.GetResult() {
		id, err := uuid.Parse(p.GetPayload()[keyMemory].GetStringValue())
		if err != nil {
			continue // not a point of ours
		}
		hits = append(hits, search.Hit{ID: id, Score: min(1, max(0, float64(p.GetScore())))})
	}
	return hits, nil
}

// Apply implements Index. Points of one version are sent together, with the condition that the stored point is not
// newer. The server checks the condition in the same step as the write.
func (q *Qdrant) Apply(ctx context.Context, g Generation, tenant string, c Changes) error {
	collection := q.collection(g)
	byVersion := map[int][]*qd.PointStruct{}
	for _, p := range c.Upserts {
		if len(p.Vector) != g.Model.Dimensions {
			return fmt.Errorf("tell Qdrant: %w", ErrMismatch)
		}
		byVersion[p.Version] = append(byVersion[p.Version], pointStruct(tenant, g, p))
	}
	size := max(1, min(qdrantBatchPoints, qdrantBatchBytes/(4*max(1, g.Model.Dimensions)+1024)))
	for _, version := range slices.Sorted(maps.Keys(byVersion)) {
		for points := range slices.Chunk(byVersion[version], size) {
			if err := q.upsert(ctx, collection, points, version); err != nil {
				return err
			}
		}
	}
	deleted := map[int][]*qd.PointId{}
	for _, d := range c.Deletes {
		deleted[d.Version] = append(deleted[d.Version], pointID(tenant, d.MemoryID))
	}
	for _, version := range slices.Sorted(maps.Keys(deleted)) {
		for ids := range slices.Chunk(deleted[version], qdrantBatchPoints) {
			if err := q.delete(ctx, collection, tenant, ids, version); err != nil {
				return err
			}
		}
	}
	return nil
}

func (q *Qdrant) upsert(ctx context.Context, collection string, points []*qd.PointStruct, version int) error {
	ctx, cancel := context.WithTimeout(ctx, qdrantWriteTimeout)
	defer cancel()
	res, err := q.client.Points().Upsert(ctx, &qd.UpsertPoints{
		CollectionName: collection, Points: points, Wait: new(true), Timeout: serverTimeout(ctx),
		UpdateFilter: &qd.Filter{Must: []*qd.Condition{qd.NewRange(keyVersion, &qd.Range{Lte: new(float64(version))})}},
	})
	return updated(ctx, stepUpsert, res, err)
}

func (q *Qdrant) delete(ctx context.Context, collection, tenant string, ids []*qd.PointId, version int) error {
	ctx, cancel := context.WithTimeout(ctx, qdrantWriteTimeout)
	defer cancel()
	filter := ofTenant(tenant)
	filter.Must = append(filter.Must, qd.NewHasID(ids...))
	if version > 0 {
		filter.Must = append(filter.Must, qd.NewRange(keyVersion, &qd.Range{Lte: new(float64(version))}))
	}
	res, err := q.client.Points().Delete(ctx, &qd.DeletePoints{
		CollectionName: collection, Points: qd.NewPointsSelectorFilter(filter), Wait: new(true),
		Timeout: serverTimeout(ctx),
	})
	return updated(ctx, "delete", res, err)
}

// Lookup implements Index.
func (q *Qdrant) Lookup(ctx context.Context, g Generation, tenant string, ids []uuid.UUID) (map[uuid.UUID]int, error) {
	out := make(map[uuid.UUID]int, len(ids))
	for page := range slices.Chunk(ids, 2*qdrantBatchPoints) {
		points := make([]*qd.PointId, len(page))
		for i, id := range page {
			points[i] = pointID(tenant, id)
		}
		limited, cancel := context.WithTimeout(ctx, qdrantReadTimeout)
		res, err := q.client.Points().Get(limited, &qd.GetPoints{CollectionName: q.collection(g), Ids: points,
			WithPayload: qd.NewWithPayloadInclude(keyTenant, keyMemory, keyVersion),
			WithVectors: qd.NewWithVectors(false), Timeout: serverTimeout(limited)})
		cancel()
		if err != nil {
			return nil, qdrantError(ctx, "look up", err)
		}
		for _, p := range res.GetResult() {
			if ref, ok := refOf(p.GetPayload()); ok && ref.Tenant == tenant {
				out[ref.MemoryID] = ref.Version
			}
		}
	}
	return out, nil
}

// Scroll implements Index. It skips points that this program did not make.
func (q *Qdrant) Scroll(ctx context.Context, g Generation, cursor string, limit int) ([]Ref, string, error) {
	ctx, cancel := context.WithTimeout(ctx, qdrantReadTimeout)
	defer cancel()
	req := &qd.ScrollPoints{CollectionName: q.collection(g), Limit: new(uint32(limit)),
		WithPayload: qd.NewWithPayloadInclude(keyTenant, keyMemory, keyVersion), WithVectors: qd.NewWithVectors(false),
		Timeout: serverTimeout(ctx)}
	if n, err := strconv.ParseUint(cursor, 10, 64); err == nil {
		req.Offset = qd.NewIDNum(n)
	} else if cursor != "" {
		req.Offset = qd.NewIDUUID(cursor)
	}
	res, err := q.client.Points().Scroll(ctx, req)
	if err != nil {
		return nil, "", qdrantError(ctx, "scroll", err)
	}
	refs := make([]Ref, 0, len(res.GetResult()))
	for _, p := range res.GetResult() {
		if ref, ok := refOf(p.GetPayload()); ok {
			refs = append(refs, ref)
		}
	}
	next := res.GetNextPageOffset().GetUuid()
	if _, ok := res.GetNextPageOffset().GetPointIdOptions().(*qd.PointId_Num); ok {
		next = strconv.FormatUint(res.GetNextPageOffset().GetNum(), 10)
	}
	return refs, next, nil
}

// Count implements Index.
func (q *Qdrant) Count(ctx context.Context, g Generation, tenant string) (int64, error) {
	ctx, cancel := context.WithTimeout(ctx, qdrantReadTimeout)
	defer cancel()
	res, err := q.client.Points().Count(ctx, &qd.CountPoints{CollectionName: q.collection(g), Filter: ofTenant(tenant),
		Exact: new(true), Timeout: serverTimeout(ctx)})
	if err != nil {
		return 0, qdrantError(ctx, "count", err)
	}
	return int64(res.GetResult().GetCount()), nil
}

// serverTimeout tells the server how long the caller waits, in whole seconds, rounded up.
func serverTimeout(ctx context.Context) *uint64 {
	deadline, ok := ctx.Deadline()
	if !ok {
		return nil
	}
	return new(uint64(max(1, (time.Until(deadline)+time.Second-1)/time.Second)))
}

// updated returns an error unless the server has applied a change in time. A server that runs out of time accepts
// the change and reports that without an error; the change may come later, or not at all.
func updated(ctx context.Context, step string, res *qd.PointsOperationResponse, err error) error {
	if err != nil {
		return qdrantError(ctx, step, err)
	}
	if res.GetResult().GetStatus() != qd.UpdateStatus_Completed {
		return fmt.Errorf("%s: Qdrant has not done it in time: %w", step, context.DeadlineExceeded)
	}
	return nil
}

// qdrantError reports only the kind of an error, because a server's message may quote the request.
func qdrantError(ctx context.Context, step string, err error) error {
	if err == nil {
		return nil
	}
	var limited *qd.QdrantResourceExhaustedError
	code := status.Code(err)
	switch {
	case errors.As(err, &limited):
		return fmt.Errorf("%s: Qdrant is busy", step)
	case code == codes.NotFound:
		return fmt.Errorf("%s: %w", step, ErrMissing)
	case code == codes.InvalidArgument && (step == stepSearch || step == stepUpsert):
		// Of the arguments of these steps only the vector can be wrong: the program makes the others.
		return fmt.Errorf("%s: refused by Qdrant: %w", step, ErrMismatch)
	case errors.Is(ctx.Err(), context.Canceled):
		return fmt.Errorf("%s: %w", step, context.Canceled)
	case code == codes.Canceled || code == codes.DeadlineExceeded: // a server whose clock ran out first says Canceled
		return fmt.Errorf("%s: Qdrant does not answer in time: %w", step, context.DeadlineExceeded)
	case code == codes.Unavailable:
		return fmt.Errorf("%s: Qdrant cannot be reached", step)
	case code == codes.Unauthenticated || code == codes.PermissionDenied:
		return fmt.Errorf("%s: Qdrant refuses the API key", step)
	default:
		return fmt.Errorf("%s: Qdrant failed (%s)", step, code)
	}
}
