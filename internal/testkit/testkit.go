package testkit

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/client"
	tlog "go.temporal.io/sdk/log"
	"go.temporal.io/sdk/worker"

	"github.com/mneme/mneme/api"
	mneme "github.com/mneme/mneme/client"
	"github.com/mneme/mneme/inference"
	"github.com/mneme/mneme/inference/rules"
	"github.com/mneme/mneme/memory/proposals"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/schema/migrations"
	"github.com/mneme/mneme/store"
	"github.com/mneme/mneme/store/vector"
	"github.com/mneme/mneme/workflows"
)

// starved is how long a workflow may make no progress before the SDK reports a deadlock. A machine that runs many
// tests with the race detector keeps a workflow waiting for seconds, and stopping it then causes a data race inside
// the SDK.
const starved = time.Minute

// Namespace is the Temporal namespace of the tests.
const Namespace = client.DefaultNamespace

// stack returns the addresses of the servers, and starts them on first use.
var stack = sync.OnceValues(func() (map[string]string, error) {
	env := map[string]string{"DATABASE_URL": os.Getenv("MNEME_TEST_DATABASE_URL"),
		"TEMPORAL_ADDRESS": os.Getenv("MNEME_TEST_TEMPORAL_ADDRESS")}
	if env["DATABASE_URL"] != "" && env["TEMPORAL_ADDRESS"] != "" {
		return env, nil
	}
	state := filepath.Join(Root(), ".local", "test")
	out, err := Stack("up", "--state", state, "--ephemeral", "postgres", "temporal")
	if err != nil {
		return nil, fmt.Errorf("start the test stack: %w\n%s", err, out)
	}
	return ReadEnv(filepath.Join(state, "env"))
})

// Root returns the directory of the checkout.
func Root() string {
	_, file, _, _ := runtime.Caller(0)
	return filepath.Dir(filepath.Dir(filepath.Dir(file)))
}

// Stack runs scripts/stack. Its environment has no addresses of running servers, so that it manages its own.
func Stack(args ...string) (string, error) { return stackWith(nil, args...) }

// stackWith is Stack with additional settings, NAME=VALUE.
func stackWith(settings []string, args ...string) (string, error) {
	cmd := exec.Command(filepath.Join(Root(), "scripts", "stack"), args...)
	for _, kv := range os.Environ() {
		name, _, _ := strings.Cut(kv, "=")
		switch name {
		case "DATABASE_URL", "TEMPORAL_ADDRESS", "MNEME_TEST_DATABASE_URL", "MNEME_TEST_TEMPORAL_ADDRESS":
		default:
			cmd.Env = append(cmd.Env, kv)
		}
	}
	cmd.Env = append(cmd.Env, settings...)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// ReadEnv reads the KEY=VALUE file that scripts/stack writes.
func ReadEnv(path string) (map[string]string, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	env := map[string]string{}
	for line := range strings.Lines(string(data)) {
		if key, value, ok := strings.Cut(strings.TrimSpace(line), "="); ok {
			env[key] = value
		}
	}
	return env, nil
}

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
// faults.
func Owner(t testing.TB, databaseURL string) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(context.Background(), databaseURL)
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close(context.Background()) })
	return conn
}

// Temporal connects to the test server.
func Temporal(t testing.TB) client.Client {
	t.Helper()
	return TemporalWith(t, nil)
}

// TemporalWith is Temporal with other options.
func TemporalWith(t testing.TB, change func(*client.Options)) client.Client {
	t.Helper()
	env, err := stack()
	require.NoError(t, err)
	return DialTemporal(t, env["TEMPORAL_ADDRESS"], change)
}

// DialTemporal connects to a server and registers the search attributes; change may alter the
// options.
func DialTemporal(t testing.TB, address string, change func(*client.Options)) client.Client {
	t.Helper()
	options := client.Options{HostPort: address, Namespace: Namespace, Identity: "worker@test",
		Logger: tlog.NewStructuredLogger(slog.New(slog.DiscardHandler)),
		// compression is useless on one machine
		ConnectionOptions: client.ConnectionOptions{GrpcCompression: &client.GrpcCompressionNone{}}}
	if change != nil {
		change(&options)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	c, err := client.DialContext(ctx, options)
	require.NoError(t, err)
	t.Cleanup(c.Close)
	if _, done := registered.Load(address + options.Namespace); !done {
		// Tests of several packages may register at once; the loser sees the winner's attributes.
		require.NoError(t, Eventually(ctx, func() error {
			return mneme.RegisterSearchAttributes(ctx, c, options.Namespace)
		}))
		registered.Store(address+options.Namespace, true)
	}
	return c
}

// registered has the namespaces whose search attributes this process has registered, by their addresses.
var registered sync.Map

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

// Harness is a worker with real dependencies, on a separate task queue and schema.
type Harness struct {
	Store       *store.Store
	Temporal    client.Client
	TaskQueue   string
	DatabaseURL string
	Deps        workflows.Dependencies

	worker worker.Worker
}

// NewHarness starts a worker with the offline brain; change may alter its dependencies.
func NewHarness(t testing.TB, change func(*workflows.Dependencies)) *Harness {
	t.Helper()
	url := DatabaseURL(t)
	return NewHarnessAt(t, url, Temporal(t), change)
}

// NewHarnessAt is NewHarness on a given migrated schema and Temporal client.
func NewHarnessAt(t testing.TB, databaseURL string, c client.Client, change func(*workflows.Dependencies)) *Harness {
	t.Helper()
	h := &Harness{Store: OpenStore(t, databaseURL), Temporal: c, TaskQueue: "test-" + uuid.NewString(),
		DatabaseURL: databaseURL}
	h.Deps = workflows.Dependencies{Store: h.Store, Brain: rules.New(), Index: vector.PGVector{Store: h.Store},
		Policy: proposals.DefaultWritePolicy(), Concurrency: 4}
	if change != nil {
		change(&h.Deps)
	}
	h.StartWorker(t)
	return h
}

// StartWorker starts a worker; it stops with the test, or with StopWorker.
func (h *Harness) StartWorker(t testing.TB) {
	t.Helper()
	h.StartWorkerWith(t, worker.Options{})
}

// StopWorker stops the worker gracefully.
func (h *Harness) StopWorker() {
	if h.worker != nil {
		h.worker.Stop()
		h.worker = nil
	}
}

// Ingest starts a request and waits for the whole pipeline.
func (h *Harness) Ingest(t testing.TB, req schema.IngestRequest) (mneme.Started, api.IngestResult) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	started, err := mneme.StartIngest(ctx, h.Temporal, h.TaskQueue, req)
	require.NoError(t, err)
	var result api.IngestResult
	require.NoError(t, started.Run.Get(ctx, &result))
	return started, result
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
