package cli

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/mneme/mneme/api"
	"github.com/mneme/mneme/internal/cli/app"
	"github.com/mneme/mneme/internal/testkit/harness"
)

const procedure = `{"type":"competence","confidence":0.9,"content":"How to fix a cache mismatch","payload":{"kind":"competence",
"skill_name":"clear the cache","triggers":[{"signal":"ld: cache mismatch","conditions":{"os":"linux"}}],
"recipe":[{"step":"remove the cache","tool":"shell","args_schema":{"type":"object","properties":{"cmd":{"const":"rm -rf cache"}}}}],
"fallbacks":["build without a cache"],"performance":{"success_count":5}}}`

// The command prints the steps, the missing parameters and the confidence, and accepts the report of the outcome.
func TestAdviseCommand(t *testing.T) {
	t.Parallel()
	c := newCLI(t, harness.New(t, nil))
	dir := t.TempDir()
	file, problem := filepath.Join(dir, "p.json"), filepath.Join(dir, "error.txt")
	require.NoError(t, os.WriteFile(file, []byte(procedure), 0o600))
	require.NoError(t, os.WriteFile(problem, []byte("make: ld: cache mismatch\n"), 0o600))
	require.Contains(t, c.run("advise", "build", "--error-file", problem).is(app.ExitOK).out, "nothing is known")
	c.run("put", file, "--reason", "taught").is(app.ExitOK)

	text := c.run("advise", "build", "--error-file", problem, "--context", "os=linux").is(app.ExitOK).out
	t.Log(text)
	for _, part := range []string{"clear the cache (procedure ", "likely (0.73)", "1. remove the cache",
		`shell {"cmd":"rm -rf cache"}`,
		"otherwise: build without a cache"} {
		require.Contains(t, text, part)
	}
	require.Contains(t, c.run("advise", "build", "--error-file", problem).is(app.ExitOK).out, "--context os=…")
	c.run("advise").is(app.ExitUsage)
	failed := []string{"advise", "build", "--error-file", problem, "--context", "os=linux"}
	require.Contains(t, c.run(append(failed, "--failed-tool", "shell", "--failed-args",
		`{"cmd":"make app"}`)...).is(app.ExitOK).out, "clear the cache")
	require.Contains(t, c.run(append(failed, "--failed-args", `{"cmd":"make app"}`)...).is(app.ExitUsage).err,
		"failed.tool")
	require.Contains(t, c.run(append(failed, "--failed-tool", "shell", "--failed-args",
		"make app")...).is(app.ExitUsage).err, "failed.args")

	var out api.AdviseResponse
	c.run("advise", "build", "--error", "ld: cache mismatch", "--context", "os=linux",
		"--json").is(app.ExitOK).json(&out)
	report := []string{"advise", "report", out.AdviceID, "--used", out.Best.MemoryID, "--context", "os=linux",
		"--outcome"}
	require.Contains(t, c.run(append(report, "success")...).is(app.ExitOK).out, "counted for "+out.Best.MemoryID)
	require.Contains(t, c.run(append(report, "success")...).is(app.ExitOK).out, "counted for "+out.Best.MemoryID)
	c.run("advise", "report", uuid.NewString(), "--outcome", "success").is(app.ExitFailure)
}
