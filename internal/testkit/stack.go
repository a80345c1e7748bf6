package testkit

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

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

// TemporalAddress returns the address of the test server.
func TemporalAddress(t testing.TB) string {
	t.Helper()
	env, err := stack()
	require.NoError(t, err)
	return env["TEMPORAL_ADDRESS"]
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
