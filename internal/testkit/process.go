package testkit

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"google.golang.org/protobuf/types/known/durationpb"
)

// workerBinary builds ./worker, once for each test binary.
var workerBinary = sync.OnceValues(func() (string, error) {
	dir := filepath.Join(Root(), ".local", "test", "bin")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	path := filepath.Join(dir, "worker")
	// Packages build at the same time, and a running binary cannot be overwritten.
	scratch := fmt.Sprintf("%s.%d", path, os.Getpid())
	// The go command does not link again if its output already exists and is current.
	_ = os.Link(path, scratch)
	cmd := exec.Command("go", "build", "-ldflags=-s -w", "-o", scratch, "./worker")
	cmd.Dir = Root()
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build worker: %w\n%s", err, out)
	}
	return path, os.Rename(scratch, path)
})

// Process is a worker process.
type Process struct {
	Health string // address of its health endpoint

	cmd  *exec.Cmd
	out  *lockedBuffer
	done chan error // receives the exit, and is then closed
}

// StartProcess runs bin/worker with these settings and those that isolate it, and waits until it is ready. It is
// killed when the test ends, if it is still running.
func StartProcess(t testing.TB, settings map[string]string) *Process {
	t.Helper()
	p := SpawnProcess(t, settings)
	ctx, cancel := context.WithTimeout(context.Background(), 60*time.Second)
	defer cancel()
	for !p.out.contains("worker ready") {
		select {
		case err := <-p.done:
			require.FailNow(t, "the worker ended while starting", "%v\n%s", err, p.Output())
		case <-ctx.Done():
			require.FailNow(t, "the worker did not get ready", p.Output())
		case <-time.After(20 * time.Millisecond):
		}
	}
	return p
}

// SpawnProcess is StartProcess without the wait.
func SpawnProcess(t testing.TB, settings map[string]string) *Process {
	t.Helper()
	path, err := workerBinary()
	require.NoError(t, err)
	env := map[string]string{
		"PATH": os.Getenv("PATH"), "HOME": os.Getenv("HOME"),
		"TEMPORAL_NAMESPACE": Namespace, "MNEME_HEALTH_ADDR": freeAddress(t), "MNEME_DB_MAX_CONNS": "8",
	}
	maps.Copy(env, settings)
	p := &Process{Health: env["MNEME_HEALTH_ADDR"], out: &lockedBuffer{}, done: make(chan error, 1)}
	p.cmd = exec.Command(path)
	p.cmd.Dir = t.TempDir()
	for name, value := range env {
		p.cmd.Env = append(p.cmd.Env, name+"="+value)
	}
	p.cmd.Stdout, p.cmd.Stderr = p.out, p.out
	require.NoError(t, p.cmd.Start())
	go func() {
		p.done <- p.cmd.Wait()
		close(p.done)
	}()
	t.Cleanup(p.Kill)
	return p
}

// Kill ends the process as a crash does, with SIGKILL, and waits until it is gone.
func (p *Process) Kill() {
	_ = p.cmd.Process.Kill()
	<-p.done
}

// Signal sends the process a signal.
func (p *Process) Signal(t testing.TB, signal os.Signal) {
	t.Helper()
	require.NoError(t, p.cmd.Process.Signal(signal))
}

// Terminate asks the process to stop and returns its exit error.
func (p *Process) Terminate(t testing.TB, within time.Duration) error {
	t.Helper()
	require.NoError(t, p.cmd.Process.Signal(syscall.SIGTERM))
	return p.Exit(t, within)
}

// Exit waits for the end of the process.
func (p *Process) Exit(t testing.TB, within time.Duration) error {
	t.Helper()
	select {
	case err := <-p.done:
		return err
	case <-time.After(within):
		require.FailNow(t, "the worker does not end", p.Output())
		return nil
	}
}

// Output returns what the process has written so far.
func (p *Process) Output() string { return p.out.String() }

// freeAddress returns an address on which no process listens.
func freeAddress(t testing.TB) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer func() { _ = l.Close() }()
	return l.Addr().String()
}

type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

func (l *lockedBuffer) contains(s string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return bytes.Contains(l.b.Bytes(), []byte(s))
}

// TemporalAddress returns the address of the test server.
func TemporalAddress(t testing.TB) string {
	t.Helper()
	env, err := stack()
	require.NoError(t, err)
	return env["TEMPORAL_ADDRESS"]
}

// NewNamespace registers a namespace for one test, because schedules belong to a namespace and the worker creates them.
func NewNamespace(t testing.TB, address string) string {
	t.Helper()
	name := "t-" + uuid.NewString()
	nc, err := client.NewNamespaceClient(client.Options{HostPort: address})
	require.NoError(t, err)
	defer nc.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	require.NoError(t, nc.Register(ctx, &workflowservice.RegisterNamespaceRequest{
		Namespace: name, WorkflowExecutionRetentionPeriod: durationpb.New(24 * time.Hour)}))
	return name
}

// PrivateStack starts servers for one test, which may kill them, and returns their addresses by variable name. They
// stop with the test.
func PrivateStack(t testing.TB, parts ...string) (state string, env map[string]string) {
	t.Helper()
	return PrivateStackWith(t, nil, parts...)
}

// PrivateStackWith is PrivateStack with settings of scripts/stack, NAME=VALUE.
func PrivateStackWith(t testing.TB, settings []string, parts ...string) (state string, env map[string]string) {
	t.Helper()
	state = filepath.Join(t.TempDir(), "stack")
	out, err := stackWith(settings, append([]string{"up", "--state", state, "--ephemeral"}, parts...)...)
	t.Cleanup(func() {
		if out, err := Stack("clean", "--state", state, "--ephemeral"); err != nil {
			t.Errorf("clean up the stack: %v\n%s", err, out)
		}
	})
	require.NoError(t, err, out)
	env, err = ReadEnv(filepath.Join(state, "env"))
	require.NoError(t, err)
	return state, env
}

var plainName = regexp.MustCompile(`^[a-z0-9_]+$`)

// Rows counts a table's rows under a condition; an empty condition counts all.
func Rows(t testing.TB, db *pgx.Conn, table, where string, args ...any) int {
	t.Helper()
	require.Regexp(t, plainName, table)
	query := "SELECT count(*) FROM " + table
	if where != "" {
		query += " WHERE " + where
	}
	var n int
	require.NoError(t, db.QueryRow(context.Background(), query, args...).Scan(&n))
	return n
}

// Tables lists the tables of the test's schema, without the migrations' own.
func Tables(t testing.TB, db *pgx.Conn) []string {
	t.Helper()
	rows, err := db.Query(context.Background(), `SELECT table_name::text FROM information_schema.tables
		WHERE table_schema = current_schema() AND table_type = 'BASE TABLE' AND table_name NOT LIKE 'goose%'
			AND table_name !~ '^events_([0-9_]+|rest)$' ORDER BY 1`) // a partition's rows are those of its table
	require.NoError(t, err)
	names, err := pgx.CollectRows(rows, pgx.RowTo[string])
	require.NoError(t, err)
	require.NotEmpty(t, names)
	return names
}

// RowCounts counts the rows of every table.
func RowCounts(t testing.TB, db *pgx.Conn) map[string]int {
	t.Helper()
	out := map[string]int{}
	for _, table := range Tables(t, db) {
		if n := Rows(t, db, table, ""); n > 0 {
			out[table] = n
		}
	}
	return out
}

// Digest returns a hash over all columns of the rows that a condition selects.
func Digest(t testing.TB, db *pgx.Conn, table, where string, args ...any) string {
	t.Helper()
	require.Regexp(t, plainName, table)
	var sum string
	require.NoError(t, db.QueryRow(context.Background(),
		"SELECT coalesce(md5(string_agg(x::text, E'\\n' ORDER BY x::text)), '') FROM "+table+" x WHERE "+where,
		args...).Scan(&sum))
	return sum
}

// Strings reads one text column.
func Strings(t testing.TB, db *pgx.Conn, query string, args ...any) []string {
	t.Helper()
	rows, err := db.Query(context.Background(), query, args...)
	require.NoError(t, err)
	out, err := pgx.CollectRows(rows, pgx.RowTo[string])
	require.NoError(t, err)
	return out
}
