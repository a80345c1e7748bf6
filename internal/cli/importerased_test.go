package cli

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mneme/mneme/internal/cli/app"
	"github.com/mneme/mneme/internal/cli/exchange"
	"github.com/mneme/mneme/internal/testkit/harness"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/store/pipeline"
	"github.com/mneme/mneme/store/transfer"
)

// An export from before an erasure has the artifacts of the erased memory. An import must not bring them back: they are
// what was erased. The same is true of a memory that was forgotten by force. An artifact that another memory refers to
// is restored.
func TestAnImportDoesNotRestoreTheArtifactsOfAnErasedMemory(t *testing.T) {
	t.Parallel()
	c := newCLI(t, harness.New(t, nil))
	artifact := func(text string) string {
		var out pipeline.Artifact
		require.NoError(t, json.Unmarshal([]byte(c.runWith(t.Context(), text, "artifact", "put", "-",
			"--json").is(app.ExitOK).out), &out))
		return out.Address
	}
	episode := func(ref string, artifacts ...string) string {
		encoded, err := json.Marshal(artifacts)
		require.NoError(t, err)
		var out exchange.Put
		c.run("put", writeFile(t, `{"type": "episodic", "confidence": 1, "payload": {"kind": "episodic", "artifacts": `+
			string(encoded)+`, "timeline": [{"t": "2026-01-01T00:00:00Z", "event_kind": "observation", "ref": "`+ref+
			`", "summary": "the build of `+ref+` failed"}]}}`), "--json").is(app.ExitOK).json(&out)
		return out.Items[0].ID
	}
	secret, shared, own := artifact("the log that has to go"), artifact("a log of two builds"), artifact("a log of one")
	erased, forced, stays := episode("one", secret, shared), episode("two", own, shared), episode("three", shared)
	path := filepath.Join(t.TempDir(), "all.jsonl")
	c.run("export", "--all-agents", "--include-deleted", "-o", path).is(app.ExitOK)
	c.run("erase", erased, "--reason", "asked for", "--yes").is(app.ExitOK)
	c.run("forget", forced, "--mode", "force", "--reason", "no longer wanted", "--yes").is(app.ExitOK)
	for _, address := range []string{secret, own} {
		c.run("artifact", "get", address).is(app.ExitNotFound)
	}

	var r exchange.Restored
	c.run("import", path, "--json").is(app.ExitConflict).json(&r)
	require.ElementsMatch(t, []transfer.RestoreConflict{{ID: erased, Reason: transfer.ConflictDifferent},
		{ID: forced, Reason: transfer.ConflictForgotten}}, r.Conflicts)
	require.Equal(t, []int{0, 1, 0}, []int{r.Restored, r.Unchanged, r.Artifacts})
	c.run("get", forced).is(app.ExitNotFound)
	c.run("get", stays).is(app.ExitOK)
	for _, address := range []string{secret, own} {
		c.run("artifact", "get", address).is(app.ExitNotFound)
	}
	require.Equal(t, "a log of two builds", c.run("artifact", "get", shared).is(app.ExitOK).out)
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Contains(t, string(data), secret[len(schema.ArtifactPrefix):])
}
