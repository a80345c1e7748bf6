package vector_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"math"
	"math/big"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/mneme/mneme/inference"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/store/pg"
	"github.com/mneme/mneme/store/vector"
	"github.com/mneme/mneme/store/vector/qdranttest"
	"github.com/mneme/mneme/store/vectorindex"
)

var (
	ctx  = context.Background()
	flat = inference.EmbeddingModel{Name: "flat/v1", Dimensions: 2}
	anja = schema.Principal{Tenant: "t", Agent: "anja"}
)

// open opens an index with its own collections, which are removed with the test. It uses a real server if QDRANT_URL
// is set.
func open(t *testing.T, a qdranttest.Address) *vector.Qdrant {
	t.Helper()
	q, err := vector.OpenQdrant(vector.QdrantConfig{URL: a.URL, APIKey: a.APIKey, RootCA: a.RootCA,
		Prefix: "test-" + uuid.NewString()})
	require.NoError(t, err)
	t.Cleanup(func() { _ = q.Close() })
	return q
}

func generation(t *testing.T, q *vector.Qdrant, m inference.EmbeddingModel,
	state vectorindex.GenerationState) vector.Generation {
	t.Helper()
	g := vector.Generation{ID: uuid.New(), Index: q.Name(), Model: m, State: state}
	require.NoError(t, q.Create(ctx, g))
	t.Cleanup(func() { _ = q.Drop(ctx, g) })
	return g
}

// at is a point at an angle to (1, 0).
func at(id uuid.UUID, version int, angle float64, change ...func(*vector.Point)) vector.Point {
	p := vector.Point{MemoryID: id, Version: version, Tier: schema.TierSession, Typology: schema.TypologyEpisodic,
		Vector: []float32{float32(math.Cos(angle)), float32(math.Sin(angle))},
		IndexAttributes: vectorindex.IndexAttributes{Agent: "anja", Visibility: schema.VisibilityPrivate,
			Type: schema.TypeEpisodic, Category: schema.CategoryFact,
			Sensitivity: schema.SensitivityLow, OccurredAt: time.Unix(1000, 0)}}
	for _, fn := range change {
		fn(&p)
	}
	return p
}

func search(t *testing.T, q *vector.Qdrant, f pg.Filter) []uuid.UUID {
	t.Helper()
	hits, err := q.Search(ctx, f, pg.Embedding{Model: flat, Vector: []float32{1, 0}}, 100)
	require.NoError(t, err)
	out := []uuid.UUID{}
	for _, h := range hits {
		require.GreaterOrEqual(t, h.Score, 0.0)
		require.LessOrEqual(t, h.Score, 1.0)
		out = append(out, h.ID)
	}
	return out
}

func TestQdrantFindsItsPoints(t *testing.T) {
	t.Parallel()
	q := open(t, qdranttest.Any(t))
	g := generation(t, q, flat, vectorindex.GenerationActive)
	near, far, opposite := uuid.New(), uuid.New(), uuid.New()
	apply := func(c vector.Changes) { require.NoError(t, q.Apply(ctx, g, "t", c)) }
	points := vector.Changes{Upserts: []vector.Point{at(far, 1, 1), at(near, 3, 0.1), at(opposite, 1, math.Pi)}}
	apply(points)
	apply(points) // a second time changes nothing
	require.Equal(t, []uuid.UUID{near, far, opposite}, search(t, q, pg.Filter{Principal: anja}))
	n, err := q.Count(ctx, g, "t")
	require.NoError(t, err)
	require.EqualValues(t, 3, n)
	versions, err := q.Lookup(ctx, g, "t", []uuid.UUID{near, far, uuid.New()})
	require.NoError(t, err)
	require.Equal(t, map[uuid.UUID]int{near: 3, far: 1}, versions)

	apply(vector.Changes{Upserts: []vector.Point{at(near, 2, 2)}})
	require.Equal(t, near, search(t, q, pg.Filter{Principal: anja})[0], "an older version never replaces a newer one")
	apply(vector.Changes{Deletes: []vector.Ref{{MemoryID: near, Version: 2}, {MemoryID: opposite, Version: 1}}})
	require.Equal(t, []uuid.UUID{near, far}, search(t, q, pg.Filter{Principal: anja}),
		"nor does an older deletion remove it")
	apply(vector.Changes{Deletes: []vector.Ref{{MemoryID: near}}})
	require.Equal(t, []uuid.UUID{far}, search(t, q, pg.Filter{Principal: anja}))

	hits, err := q.Search(ctx, pg.Filter{Principal: anja}, pg.Embedding{Model: flat, Vector: []float32{1, 0}}, 0)
	require.NoError(t, err)
	require.Empty(t, hits)
}

// The same record id may exist in two tenants.
func TestQdrantKeepsTenantsApart(t *testing.T) {
	t.Parallel()
	q := open(t, qdranttest.Any(t))
	g := generation(t, q, flat, vectorindex.GenerationActive)
	id := uuid.New()
	for _, tenant := range []string{"t", "u"} {
		require.NoError(t, q.Apply(ctx, g, tenant, vector.Changes{Upserts: []vector.Point{at(id, 1, 0)}}))
	}
	require.NoError(t, q.Apply(ctx, g, "u", vector.Changes{Upserts: []vector.Point{at(uuid.New(), 1, 0)}}))
	require.Equal(t, []uuid.UUID{id}, search(t, q, pg.Filter{Principal: anja}))
	require.NoError(t, q.Apply(ctx, g, "u", vector.Changes{Deletes: []vector.Ref{{MemoryID: id}}}))
	require.Equal(t, []uuid.UUID{id}, search(t, q, pg.Filter{Principal: anja}))
	seen := map[string]int{}
	cursor := ""
	for {
		refs, next, err := q.Scroll(ctx, g, cursor, 1)
		require.NoError(t, err)
		for _, r := range refs {
			seen[r.Tenant]++
		}
		if cursor = next; next == "" {
			break
		}
	}
	require.Equal(t, map[string]int{"t": 1, "u": 1}, seen, "scrolling goes over all tenants")
}

func TestQdrantGenerations(t *testing.T) {
	t.Parallel()
	q := open(t, qdranttest.Any(t))
	query := func(m inference.EmbeddingModel) error {
		_, err := q.Search(ctx, pg.Filter{Principal: anja},
			pg.Embedding{Model: m, Vector: make([]float32, m.Dimensions)}, 5)
		return err
	}
	searched := func(g vector.Generation) bool {
		t.Helper()
		is, err := q.Searched(ctx, g)
		require.NoError(t, err)
		return is
	}
	require.ErrorIs(t, query(flat), vector.ErrMissing, "no generation exists yet")
	_, err := q.Searched(ctx, vector.Generation{ID: uuid.New(), Model: flat})
	require.ErrorIs(t, err, vector.ErrMissing)
	first := generation(t, q, flat, vectorindex.GenerationActive)
	require.NoError(t, q.Create(ctx, first), "an existing collection is not changed")
	old, fresh := uuid.New(), uuid.New()
	require.NoError(t, q.Apply(ctx, first, "t", vector.Changes{Upserts: []vector.Point{at(old, 1, 0)}}))
	second := generation(t, q, flat, vectorindex.GenerationBuilding)
	require.NoError(t, q.Apply(ctx, second, "t", vector.Changes{Upserts: []vector.Point{at(fresh, 1, 0)}}))
	require.Equal(t, []uuid.UUID{old}, search(t, q, pg.Filter{Principal: anja}),
		"a generation that is being built is not searched")
	require.True(t, searched(first))
	require.False(t, searched(second))
	hits, err := q.Nearest(ctx, second, "t", []float32{1, 0}, 5)
	require.NoError(t, err)
	require.Len(t, hits, 1)
	require.NoError(t, q.Activate(ctx, second))
	require.NoError(t, q.Activate(ctx, second))
	require.Equal(t, []uuid.UUID{fresh}, search(t, q, pg.Filter{Principal: anja}))
	require.False(t, searched(first))
	require.True(t, searched(second))

	deep := inference.EmbeddingModel{Name: "deep/v1", Dimensions: 3}
	third := generation(t, q, deep, vectorindex.GenerationActive)
	require.NoError(t, query(deep))
	require.NoError(t, query(flat), "both models can be searched until one is dropped")
	require.ErrorIs(t, query(inference.EmbeddingModel{Name: "flat_v1", Dimensions: 2}), vector.ErrMissing,
		"a name that differs in one character is another collection")
	require.NoError(t, q.Drop(ctx, second))
	require.NoError(t, q.Drop(ctx, second))
	require.ErrorIs(t, query(flat), vector.ErrMissing)
	_, err = q.Searched(ctx, first)
	require.ErrorIs(t, err, vector.ErrMissing)
	require.NoError(t, query(deep))
	require.ErrorIs(t, q.Apply(ctx, second, "t", vector.Changes{Upserts: []vector.Point{at(old, 1, 0)}}),
		vector.ErrMissing)
	require.ErrorIs(t, q.Apply(ctx, third, "t", vector.Changes{Upserts: []vector.Point{at(old, 1, 0)}}),
		vector.ErrMismatch, "two dimensions where there are three")
	_, err = q.Nearest(ctx, third, "t", []float32{1, 0}, 5)
	require.ErrorIs(t, err, vector.ErrMismatch)
}

func TestQdrantTimeoutsAndErrors(t *testing.T) {
	t.Parallel()
	server := qdranttest.Start(t)
	q := open(t, qdranttest.Address{URL: server.URL})
	g := generation(t, q, flat, vectorindex.GenerationActive)
	query := func(within time.Duration) error {
		ctx, cancel := context.WithTimeout(ctx, within)
		defer cancel()
		_, err := q.Search(ctx, pg.Filter{Principal: anja}, pg.Embedding{Model: flat, Vector: []float32{1, 0}}, 5)
		return err
	}
	require.NoError(t, query(10*time.Second))
	server.Before(func(ctx context.Context, _ string, _ any) error { <-ctx.Done(); return ctx.Err() })
	require.ErrorIs(t, query(50*time.Millisecond), context.DeadlineExceeded)
	const secret = "what it was sent"
	server.Before(func(context.Context, string, any) error { return status.Error(codes.Internal, secret) })
	err := query(10 * time.Second)
	require.Error(t, err)
	require.NotContains(t, err.Error(), secret, "a server's error may quote the request")
	server.Before(nil)
	server.Stop()
	require.ErrorContains(t, query(10*time.Second), "cannot be reached")
	server.Restart(t, true)
	require.Eventually(t, func() bool { return query(10*time.Second) == nil }, 2*time.Minute, 50*time.Millisecond,
		"it is searched again")
	server.Stop()
	server.Restart(t, false)
	require.Eventually(t, func() bool { _, err := q.Count(ctx, g, "t"); return errors.Is(err, vector.ErrMissing) },
		20*time.Second, 50*time.Millisecond)
	require.NoError(t, q.Create(ctx, g))
	require.NoError(t, query(10*time.Second), "an active generation is created again with its alias")
}

// An existing alias is not moved to a collection that does not exist.
func TestQdrantDoesNotActivateALostCollection(t *testing.T) {
	t.Parallel()
	q := open(t, qdranttest.Any(t))
	first := generation(t, q, flat, vectorindex.GenerationActive)
	id := uuid.New()
	require.NoError(t, q.Apply(ctx, first, "t", vector.Changes{Upserts: []vector.Point{at(id, 1, 0)}}))
	require.ErrorIs(t, q.Activate(ctx, vector.Generation{ID: uuid.New(), Model: flat}), vector.ErrMissing)
	require.Equal(t, []uuid.UUID{id}, search(t, q, pg.Filter{Principal: anja}))
}

// A server that runs out of time answers without an error.
func TestQdrantReportsUnfinishedCalls(t *testing.T) {
	t.Parallel()
	server := qdranttest.Start(t)
	q := open(t, qdranttest.Address{URL: server.URL})
	g := generation(t, q, flat, vectorindex.GenerationActive)
	id := uuid.New()
	upsert := vector.Changes{Upserts: []vector.Point{at(id, 1, 0)}}
	server.Stall(true)
	require.ErrorIs(t, q.Apply(ctx, g, "t", upsert), context.DeadlineExceeded)
	require.ErrorIs(t, q.Apply(ctx, g, "t", vector.Changes{Deletes: []vector.Ref{{MemoryID: id}}}),
		context.DeadlineExceeded)
	require.ErrorIs(t, q.Create(ctx, g), context.DeadlineExceeded)
	require.Empty(t, search(t, q, pg.Filter{Principal: anja}))
	server.Stall(false)
	require.NoError(t, q.Apply(ctx, g, "t", upsert))
	require.Equal(t, []uuid.UUID{id}, search(t, q, pg.Filter{Principal: anja}))
}

// Only the caller can cancel: a server also returns Canceled when its timeout expires before the caller's.
func TestQdrantDistinguishesCancellations(t *testing.T) {
	t.Parallel()
	server := qdranttest.Start(t)
	q := open(t, qdranttest.Address{URL: server.URL})
	g := generation(t, q, flat, vectorindex.GenerationActive)
	server.Before(func(context.Context, string, any) error { return status.Error(codes.Canceled, "Timeout expired") })
	_, err := q.Count(ctx, g, "t")
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.NotErrorIs(t, err, context.Canceled)
	_, err = q.Lookup(ctx, g, "t", []uuid.UUID{uuid.New()})
	require.NotErrorIs(t, err, context.Canceled)
	own, cancel := context.WithCancel(ctx)
	defer cancel()
	server.Before(func(ctx context.Context, _ string, _ any) error { cancel(); <-ctx.Done(); return ctx.Err() })
	_, err = q.Count(own, g, "t")
	server.Before(nil)
	require.ErrorIs(t, err, context.Canceled)
}

func TestQdrantSettings(t *testing.T) {
	t.Parallel()
	for _, url := range []string{"", "qdrant:6334", "ftp://host", "http://", "http://host:port"} {
		_, err := vector.OpenQdrant(vector.QdrantConfig{URL: url})
		require.Error(t, err, url)
	}
	for _, prefix := range []string{"a/b", "a:b", "a b", "ü", strings.Repeat("a", 101)} {
		_, err := vector.OpenQdrant(vector.QdrantConfig{URL: "http://host", Prefix: prefix})
		require.ErrorContains(t, err, "prefix", prefix)
	}
	server := qdranttest.Start(t, qdranttest.WithAPIKey("sesame"))
	require.NoError(t, open(t, qdranttest.Address{URL: server.URL, APIKey: "sesame"}).Check(ctx))
	require.ErrorContains(t, open(t, qdranttest.Address{URL: server.URL}).Check(ctx), "API key")
	require.ErrorContains(t, open(t, qdranttest.Address{URL: server.URL, APIKey: "open"}).Check(ctx), "API key")
	old := qdranttest.Start(t, qdranttest.WithVersion("1.15.4"))
	require.ErrorContains(t, open(t, qdranttest.Address{URL: old.URL}).Check(ctx), "1.16",
		"conditional upserts are required")
	require.NoError(t, open(t, qdranttest.Address{URL: qdranttest.Start(t,
		qdranttest.WithVersion("our own")).URL}).Check(ctx))
}

func TestQdrantOverTLS(t *testing.T) {
	t.Parallel()
	certificate, ca := certify(t)
	server := qdranttest.Start(t, qdranttest.WithTLS(certificate), qdranttest.WithAPIKey("sesame"))
	q := open(t, qdranttest.Address{URL: server.URL, APIKey: "sesame", RootCA: ca})
	require.NoError(t, q.Check(ctx))
	g := generation(t, q, flat, vectorindex.GenerationActive)
	id := uuid.New()
	require.NoError(t, q.Apply(ctx, g, "t", vector.Changes{Upserts: []vector.Point{at(id, 1, 0)}}))
	require.Equal(t, []uuid.UUID{id}, search(t, q, pg.Filter{Principal: anja}))

	_, other := certify(t)
	for why, a := range map[string]qdranttest.Address{
		"another's certificate": {URL: server.URL, APIKey: "sesame", RootCA: other},
		"not of the system's":   {URL: server.URL, APIKey: "sesame"},
		"another name": {URL: strings.Replace(server.URL, "127.0.0.1", "localhost", 1), APIKey: "sesame",
			RootCA: ca},
		"no TLS at the client": {URL: strings.Replace(server.URL, "https", "http", 1), APIKey: "sesame"},
		"no TLS at the server": {URL: strings.Replace(qdranttest.Start(t).URL, "http", "https", 1), RootCA: ca},
	} {
		require.ErrorContains(t, open(t, a).Check(ctx), "cannot be reached", why)
	}
}

// certify creates a certificate authority and a certificate of it for 127.0.0.1.
func certify(t *testing.T) (tls.Certificate, *x509.CertPool) {
	t.Helper()
	ca := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test authority"},
		NotBefore: time.Now().Add(-time.Hour),
		NotAfter:  time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign}
	leaf := &x509.Certificate{SerialNumber: big.NewInt(2), NotBefore: ca.NotBefore, NotAfter: ca.NotAfter,
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		KeyUsage:    x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}}
	caKey, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	root, err := x509.CreateCertificate(rand.Reader, ca, ca, caKey.Public(), caKey)
	require.NoError(t, err)
	signed, err := x509.CreateCertificate(rand.Reader, leaf, ca, key.Public(), caKey)
	require.NoError(t, err)
	trusted, err := x509.ParseCertificate(root)
	require.NoError(t, err)
	pool := x509.NewCertPool()
	pool.AddCert(trusted)
	return tls.Certificate{Certificate: [][]byte{signed}, PrivateKey: key}, pool
}
