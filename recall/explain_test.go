package recall_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mneme/mneme/schema"
)

// requireExplained checks that every row explains its score.
func requireExplained(t *testing.T, rows []schema.RecallResult, stages ...string) {
	t.Helper()
	seen := map[string]bool{}
	for _, r := range rows {
		require.NotEmpty(t, r.Explain)
		last := r.Explain[len(r.Explain)-1]
		require.InDelta(t, r.Score, last.Score, 1e-12)
		seen[r.Explain[0].Stage] = true
	}
	for _, stage := range stages {
		require.True(t, seen[stage], stage)
	}
}

func TestEveryRowIsExplained(t *testing.T) {
	t.Parallel()
	w := newSupplemented(t)
	req := w.request()
	req.Explain = true
	requireExplained(t, w.answer(req).Results, "fuse", "expand")
	req.Explain = false
	for _, r := range w.answer(req).Results {
		require.Empty(t, r.Explain)
	}
}

func TestRedactedRowsAreExplained(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.remember("Salary reviews are in May")
	w.keepSecret("Dana earns ninety thousand", schema.SensitivityHigh, "Dana's salary is on record")
	w.keepSecret("Omar earns eighty thousand", schema.SensitivityHyper, "")
	w.obey("trust: {above_limit: {high: summary, hyper: metadata}}")
	out := w.asked(func(r *schema.RecallRequest) {
		r.Explain, r.Types, r.Trust = true, []schema.MemoryType{schema.TypeSemantic,
			schema.TypeEpisodic}, &schema.TrustContext{Authenticated: true}
	})
	require.Len(t, out.Meta.Redacted, 2)
	requireExplained(t, out.Results, "fuse", "redact")
}

func TestRescuedRowsAreExplained(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.talk(w.p, "s", "Ana: The kestrel nests in the tower.")
	w.Without = append(wordsAlone(), "text")
	out := w.answer(schema.RecallRequest{Principal: w.p, Query: "kestrel tower", Explain: true, Expand: true})
	require.NotEmpty(t, out.Results)
	requireExplained(t, out.Results, "rescue")
}
