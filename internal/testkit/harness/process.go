package harness

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mneme/mneme/internal/testkit"
)

// workerBinary builds ./worker, once for each test binary.
var workerBinary = sync.OnceValues(func() (string, error) {
	dir := filepath.Join(testkit.Root(), ".local", "test", "bin")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	path := filepath.Join(dir, "worker")
	// Packages build at the same time, and a running binary cannot be overwritten.
	scratch := fmt.Sprintf("%s.%d", path, os.Getpid())
	// The go command does not link again if its output already exists and is current.
	_ = os.Link(path, scratch)
	cmd := exec.Command("go", "build", "-ldflags=-s -w", "-o", scratch, "./worker")
	cmd.Dir = testkit.Root()
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

// freeAddress returns an address on which no process listens. Its port is below those that systems give to outgoing
// connections: one of the many of a test run could take such a port before the worker listens on it.
func freeAddress(t testing.TB) string {
	t.Helper()
	for range 100 {
		address := fmt.Sprintf("127.0.0.1:%d", 10_000+rand.IntN(20_000))
		if l, err := net.Listen("tcp", address); err == nil {
			require.NoError(t, l.Close())
			return address
		}
	}
	require.FailNow(t, "no port is free")
	return ""
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
