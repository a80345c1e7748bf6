package store_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/store/transfer"
)

// An export that is limited to some memories has no artifact that none of them refers to: no one knows how sensitive it
// is, or what it is about.
func TestALimitedExportHasNoOtherArtifacts(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	_, err := w.PutArtifact(ctx, w.p, strings.NewReader("no one refers to this"), "", "", w.now)
	require.NoError(t, err)
	named, err := w.PutArtifact(ctx, w.p, strings.NewReader("a log"), "text/plain", "", w.now)
	require.NoError(t, err)
	w.created(record(t, `{"type": "episodic", "confidence": 1, "tags": ["ops"], "payload": {"kind": "episodic",
		"artifacts": [%q], "timeline": [{"t": "2026-01-01T00:00:00Z", "event_kind": "observation", "ref": "e1",
		"summary": "the build failed"}]}}`, named.Address))
	for name, c := range map[string]struct {
		limit func(x *transfer.ExportSelection)
		want  int
	}{
		"everything":    {func(*transfer.ExportSelection) {}, 2},
		"one agent":     {func(x *transfer.ExportSelection) { x.AllAgents, x.IncludeDeleted = false, false }, 2},
		"a tag":         {func(x *transfer.ExportSelection) { x.Filter.Tags = []string{"ops"} }, 1},
		"another tag":   {func(x *transfer.ExportSelection) { x.Filter.Tags = []string{"pets"} }, 0},
		"a sensitivity": {func(x *transfer.ExportSelection) { x.Filter.MaxSensitivity = schema.SensitivityHigh }, 1},
		"a project":     {func(x *transfer.ExportSelection) { x.Filter.Principal.Project = "p" }, 0},
		"a scope":       {func(x *transfer.ExportSelection) { x.Filter.Principal.Scope = "s" }, 0},
	} {
		t.Run(name, func(t *testing.T) {
			x, found := w.whole(), 0
			c.limit(&x)
			for _, line := range parsed(t, w.export(x)...) {
				if line.Kind == transfer.LineArtifact {
					found++
				}
			}
			require.Equal(t, c.want, found)
		})
	}
}
