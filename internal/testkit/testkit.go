package testkit

import (
	"context"
	"errors"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/mneme/mneme/inference"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/schema/migrations"
	"github.com/mneme/mneme/store"
)

// in returns the URL of a schema of a database on the same server.
func in(databaseURL, database, schema string) (string, error) {
	u, err := url.Parse(databaseURL)
	if err != nil {
		return "", err
	}
	if database != "" {
		u.Path = "/" + database
	}
	q := u.Query()
	q.Set("search_path", schema+",public")
	u.RawQuery = q.Encode()
	return u.String(), nil
}

// NewSchema creates and migrates a schema in the given database.
func NewSchema(t testing.TB, databaseURL string) string {
	t.Helper()
	name := "t_" + strings.ReplaceAll(uuid.NewString(), "-", "")
	require.NoError(t, onServer(databaseURL, "CREATE SCHEMA "+name))
	t.Cleanup(func() {
		// the server may be gone, and the schema with it
		_ = onServer(databaseURL, "DROP SCHEMA IF EXISTS "+name+" CASCADE")
	})
	u, err := in(databaseURL, "", name)
	require.NoError(t, err)
	_, err = migrations.Up(context.Background(), u)
	require.NoError(t, err)
	return u
}

// Store opens a store on a schema for one test.
func Store(t testing.TB) *store.Store {
	t.Helper()
	return OpenStore(t, DatabaseURL(t))
}

// OpenStore opens a store for one test. The first store of a pooled database uses the connections that the test before
// left; any other store is closed with the test.
func OpenStore(t testing.TB, databaseURL string) *store.Store {
	t.Helper()
	p, err := databases()
	require.NoError(t, err)
	db, giveBack, err := p.connections(t.Context(), databaseURL)
	require.NoError(t, err)
	t.Cleanup(giveBack)
	return store.New(db)
}

// Owner connects to the test's schema as its owner, who is not subject to row-level security, to read rows or to cause
// faults. Every call returns another connection, which the test has until it ends: call it outside of loops.
func Owner(t testing.TB, databaseURL string) *pgx.Conn {
	t.Helper()
	p, err := databases()
	require.NoError(t, err)
	conn, giveBack, err := p.owner(context.Background(), databaseURL)
	require.NoError(t, err)
	t.Cleanup(giveBack)
	return conn
}

// Eventually calls fn until it succeeds or ctx ends.
func Eventually(ctx context.Context, fn func() error) error {
	for {
		err := fn()
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return errors.Join(err, ctx.Err())
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// Principal returns a principal of a new tenant.
func Principal() schema.Principal {
	return schema.Principal{Tenant: "tenant-" + uuid.NewString(), Agent: "agent-1"}
}

// Request is an ingest request for texts of one kind.
func Request(p schema.Principal, kind schema.SourceKind, texts ...string) schema.IngestRequest {
	r := schema.IngestRequest{Principal: p}
	for _, text := range texts {
		r.Candidates = append(r.Candidates, schema.Candidate{Content: text, SourceKind: kind})
	}
	return r
}

// BrokenEmbedder fails every call, as with an endpoint that is down.
type BrokenEmbedder struct{ inference.Embedder }

// Embed implements inference.Embedder.
func (BrokenEmbedder) Embed(context.Context, []string) ([][]float32, inference.Usage, error) {
	return nil, inference.Usage{}, errors.New("embedder is down")
}
