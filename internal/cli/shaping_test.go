package cli

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mneme/mneme/internal/cli/app"
	"github.com/mneme/mneme/internal/testkit/harness"
	"github.com/mneme/mneme/schema"
)

func TestRecallExplains(t *testing.T) {
	t.Parallel()
	c := newCLI(t, harness.New(t, nil))
	for _, text := range []string{"Where is the kestrel?", "In the tower."} {
		c.run("remember", "--wait", "--source-kind", "observation", "--session", "walk", text).is(app.ExitOK)
	}
	out := c.run("recall", "kestrel", "--explain").is(app.ExitOK).out
	require.Regexp(t, `0\.\d{3}  fuse`, out)
	require.Contains(t, out, "neighbourhood  neighbours add")
	require.Contains(t, out, "next to a result")
	var r schema.RecallResponse
	c.run("recall", "kestrel", "--explain", "--json").is(app.ExitOK).json(&r)
	require.Len(t, r.Results, 2)
	for _, result := range r.Results {
		require.NotEmpty(t, result.Explain)
		require.InDelta(t, result.Score, result.Explain[len(result.Explain)-1].Score, 1e-12)
	}
	r = schema.RecallResponse{}
	c.run("recall", "kestrel", "--without", "neighbourhood,vector", "--json").is(app.ExitOK).json(&r)
	require.Len(t, r.Results, 1)
	require.Empty(t, r.Results[0].Explain)
	require.NotContains(t, r.Meta.TimingsMS, "vector")
	c.cfg.RecallWithout = []string{"text"}
	r = schema.RecallResponse{}
	c.run("recall", "kestrel", "--json").is(app.ExitOK).json(&r)
	require.NotContains(t, r.Meta.TimingsMS, "text", "switched off for all requests")
	for _, args := range [][]string{{"--without", "vektor"}, {"--with", "vektor"}, {"--traversal", "sideways"}} {
		body := c.run(append([]string{"recall", "kestrel", "--json"}, args...)...).is(app.ExitUsage).problem()
		require.Contains(t, args[0], body.Fields[0].Field[:4])
		if args[1] == "vektor" { // the valid names of channels and stages
			require.Regexp(t, `choose from .*\bneighbourhood, .*\btext, .*\bvector\b`, body.Fields[0].Problem)
		}
	}
}
