package telemetry_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/client"
	"go.yaml.in/yaml/v3"

	"github.com/mneme/mneme/internal/telemetry"
	"github.com/mneme/mneme/internal/testkit"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/workflows"
)

// rule is a Prometheus rule.
type rule struct {
	Alert, Record, Expr string
	Labels, Annotations map[string]string
}

func read(t *testing.T, path ...string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(append([]string{testkit.Root()}, path...)...))
	require.NoError(t, err)
	return data
}

func rules(t *testing.T) (out []rule) {
	t.Helper()
	var file struct{ Groups []struct{ Rules []rule } }
	require.NoError(t, yaml.Unmarshal(read(t, "deploy", "prometheus", "rules.yml"), &file))
	for _, group := range file.Groups {
		out = append(out, group.Rules...)
	}
	require.NotEmpty(t, out)
	return out
}

// dashboard returns the expressions of the dashboard, with the values of its variable.
func dashboard(t *testing.T) (out []string) {
	t.Helper()
	var file struct {
		Panels []struct {
			Title   string
			Targets []struct{ Expr string }
		}
		Templating struct{ List []struct{ Definition string } }
	}
	require.NoError(t, json.Unmarshal(read(t, "deploy", "grafana", "dashboards", "mneme.json"), &file))
	for _, panel := range file.Panels {
		for _, target := range panel.Targets {
			require.NotEmpty(t, target.Expr, panel.Title)
			out = append(out, target.Expr)
		}
	}
	for _, variable := range file.Templating.List {
		out = append(out, variable.Definition)
	}
	require.NotEmpty(t, out)
	return out
}

// Rules and dashboard use only metrics, labels and values that a worker exports.
func TestRulesAndDashboardUseExistingMetrics(t *testing.T) {
	t.Parallel()
	m := newMetrics(t)
	h := observed(t, m, nil)
	p := testkit.Principal()
	h.Ingest(t, testkit.Request(p, schema.SourceObservation, "The gateway listens on port 4711.", "A poison."))
	run, err := h.Temporal.ExecuteWorkflow(ctx, client.StartWorkflowOptions{TaskQueue: h.TaskQueue}, workflows.Recall,
		schema.RecallRequest{Principal: p, Query: "port"})
	require.NoError(t, err)
	require.NoError(t, run.Get(ctx, nil))
	m.ObserveRecall(schema.RecallMeta{Degraded: []string{"vector"}}, 0, nil)
	_, err = h.Temporal.DescribeWorkflowExecution(ctx, "there is none", "")
	require.Error(t, err)
	_, err = testkit.Owner(t, h.DatabaseURL).Exec(ctx,
		`INSERT INTO sweep_runs (tenant, id, sweep, counts, started_at, updated_at)
			VALUES ($1, 'r', 'decay', '{"pruned": 1}', now(), now())`, p.Tenant)
	require.NoError(t, err)
	require.NoError(t, testkit.Eventually(within(t), func() error {
		if _, found := value(t, m, "mneme_swept_items"); !found {
			return os.ErrNotExist
		}
		return nil
	}))

	scrape(t, m) // the second scrape includes errors of the first
	there := map[string]bool{"up": true}
	families, err := m.Gatherer().Gather()
	require.NoError(t, err)
	for _, family := range families {
		there[family.GetName()] = true
		if family.GetMetric()[0].GetHistogram() != nil {
			for _, suffix := range []string{"_bucket", "_count", "_sum"} {
				there[family.GetName()+suffix] = true
			}
		}
	}
	exprs := dashboard(t)
	for _, r := range rules(t) {
		exprs = append(exprs, r.Expr)
		if r.Record != "" {
			there[r.Record] = true
		}
	}
	metric := regexp.MustCompile(`\b(?:mneme|temporal|go|process|promhttp)[_:][a-z0-9_:]+`)
	selector := regexp.MustCompile(`([a-z_:0-9]+)\{([^}]*)\}`)
	matcher := regexp.MustCompile(`([a-z_]+)(=~?)"([^"]*)"`)
	for _, expr := range exprs {
		names := metric.FindAllString(expr, -1)
		require.True(t, len(names) > 0 || strings.Contains(expr, "up{"), expr)
		for _, name := range names {
			require.True(t, there[name], "%s, in %s", name, expr)
		}
		for _, s := range selector.FindAllStringSubmatch(expr, -1) {
			name := strings.TrimSuffix(strings.TrimSuffix(s[1], "_count"), "_bucket")
			for _, want := range matcher.FindAllStringSubmatch(s[2], -1) {
				if want[3] == "$tenant" || want[1] == "job" || strings.Contains(name, ":") {
					continue
				}
				for one := range strings.SplitSeq(want[3], "|") {
					_, found := value(t, m, name, want[1], one)
					require.True(t, found, "%s{%s=%q}, in %s", name, want[1], one, expr)
				}
			}
		}
	}
	require.Contains(t, telemetry.Phases(), telemetry.PhaseDecay)
	require.Contains(t, telemetry.Phases(), telemetry.PhaseRetention)
}

// The runbook has a heading for each alert.
func TestAlertsHaveRunbookEntries(t *testing.T) {
	t.Parallel()
	headings := map[string]bool{}
	for line := range strings.Lines(string(read(t, "docs", "operations.md"))) {
		if title, ok := strings.CutPrefix(strings.TrimSpace(line), "### "); ok {
			headings[strings.NewReplacer(" ", "-", ":", "").Replace(strings.ToLower(title))] = true
		}
	}
	tested := string(read(t, "deploy", "prometheus", "rules_test.yml"))
	kebab := regexp.MustCompile(`([a-z])([A-Z])`)
	alerts := 0
	for _, r := range rules(t) {
		if r.Alert == "" {
			continue
		}
		alerts++
		anchor := "alert-" + strings.ToLower(kebab.ReplaceAllString(strings.TrimPrefix(r.Alert, "Mneme"), "$1-$2"))
		require.Equal(t, "docs/operations.md#"+anchor, r.Annotations["runbook"], r.Alert)
		require.True(t, headings[anchor], "docs/operations.md has no %q", anchor)
		require.NotEmpty(t, r.Annotations["summary"], r.Alert)
		require.NotEmpty(t, r.Annotations["action"], r.Alert)
		require.NotEmpty(t, r.Labels["severity"], r.Alert)
		require.Regexp(t, `alertname: `+r.Alert+`\n\s+exp_alerts:`, tested, "rules_test.yml has %s fire", r.Alert)
	}
	require.GreaterOrEqual(t, alerts, 10)
}
