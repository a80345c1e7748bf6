package main_test

import (
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mneme/mneme/internal/testkit"
	"github.com/mneme/mneme/internal/testkit/harness"
)

// The worker reloads its rules file. An invalid file prevents a start, but does not stop a running worker.
func TestWorkerReloadsItsPolicy(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "policy.yaml")
	write := func(text string) { require.NoError(t, os.WriteFile(file, []byte(text), 0o600)) }
	at := newPlace(t, testkit.DatabaseURL(t))
	settings := at.with(map[string]string{"MNEME_POLICY_FILE": file})

	const bad = "rules: [{name: oops, when: 'candidate.contnet == 1', set: {pinned: true}}]"
	write(bad)
	refused := harness.SpawnProcess(t, settings)
	var exit *exec.ExitError
	require.ErrorAs(t, refused.Exit(t, 40*time.Second), &exit, refused.Output())
	require.Equal(t, 1, exit.ExitCode())
	require.Contains(t, refused.Output(), "MNEME_POLICY_FILE")
	require.Contains(t, refused.Output(), "rules[0] (oops).when")

	write("rules: [{name: a, when: 'true', set: {pinned: false}}]")
	p := harness.StartProcess(t, settings)
	status, body := get(t, p, "/readyz")
	require.Equal(t, http.StatusOK, status)
	require.Equal(t, "ok", body)

	write(bad)
	p.Signal(t, syscall.SIGHUP)
	require.Eventually(t, func() bool {
		status, body := get(t, p, "/readyz")
		require.Equal(t, http.StatusOK, status)
		return strings.Contains(body, "degraded: policy") && strings.Contains(body, "rules[0] (oops).when")
	}, 30*time.Second, 50*time.Millisecond)

	write("rules: []") // detected without a signal
	require.Eventually(t, func() bool { _, body := get(t, p, "/readyz"); return body == "ok" }, 2*time.Minute,
		50*time.Millisecond)
	require.Contains(t, p.Output(), "policy reloaded")
	require.NoError(t, p.Terminate(t, 25*time.Second), p.Output())
}
