package main_test

import (
	"context"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mneme/mneme/internal/testkit"
	"github.com/mneme/mneme/internal/testkit/harness"
	"github.com/mneme/mneme/store/vector/qdranttest"
)

// A worker that waits for its index at the start, or for its model, is alive: otherwise it would be restarted until the
// index answers. It is not ready, and not when it stops.
func TestAStartingWorkerIsAliveAndNotReady(t *testing.T) {
	t.Parallel()
	server, release := qdranttest.Start(t), make(chan struct{})
	server.Before(func(ctx context.Context, _ string, _ any) error {
		select {
		case <-release:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	})
	at := newPlace(t, testkit.DatabaseURL(t))
	p := harness.SpawnProcess(t, at.with(map[string]string{"QDRANT_URL": server.URL}))
	answers := func(path string) (status int, body string) {
		client := http.Client{Timeout: 5 * time.Second}
		res, err := client.Get("http://" + p.Health + path)
		if err != nil {
			return 0, ""
		}
		_ = res.Body.Close()
		return get(t, p, path)
	}
	require.Eventually(t, func() bool { status, _ := answers("/livez"); return status == http.StatusOK },
		40*time.Second, 100*time.Millisecond, "the index does not answer yet")
	status, body := answers("/readyz")
	require.Equal(t, http.StatusServiceUnavailable, status)
	require.Equal(t, "the worker is starting", body)
	require.NotContains(t, p.Output(), "worker ready")
	close(release)
	require.Eventually(t, func() bool { status, _ := answers("/readyz"); return status == http.StatusOK },
		40*time.Second, 100*time.Millisecond)
	require.NoError(t, p.Terminate(t, 30*time.Second))
}
