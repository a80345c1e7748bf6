package cli

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mneme/mneme/internal/cli/app"
	"github.com/mneme/mneme/internal/cli/operate"
	"github.com/mneme/mneme/internal/config"
	"github.com/mneme/mneme/memory/policy"
	"github.com/mneme/mneme/schema"
)

// newOfflineCLI is a command line without a database and without Temporal.
func newOfflineCLI(t *testing.T) *cli {
	t.Helper()
	return &cli{t: t, cfg: config.Config{TemporalEnv: noTemporal(),
		Principal: schema.Principal{Tenant: "t", Agent: "a"}, Brain: "rules", Embedder: "hash"}}
}

func tempFile(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

const hrRules = `
rules:
  - {name: payroll, description: Pay is confidential, when: "candidate.content.contains('salary')", set: {sensitivity: high, scope: hr}}
  - {name: tagged, when: "candidate.tags[0] == 'x'", set: {importance: 0.9}}
`

func TestPolicyCheck(t *testing.T) {
	t.Parallel()
	c := newOfflineCLI(t)
	good := tempFile(t, "policy.yaml", hrRules)
	var out operate.CheckedPolicy
	c.run("policy", "check", good, "--json").is(app.ExitOK).json(&out)
	require.Regexp(t, `^[0-9a-f]{12}$`, out.Policy)
	require.Equal(t, []policy.RuleInfo{{Name: "payroll", Description: "Pay is confidential",
		Sets: []string{"sensitivity", "scope"}},
		{Name: "tagged", Sets: []string{"importance"}}}, out.Rules)
	text := c.run("policy", "check", good).is(app.ExitOK).out
	require.Contains(t, text, "is valid: 2 rules")
	require.Contains(t, text, "Pay is confidential")

	bad := tempFile(t, "policy.yaml",
		"rules:\n  - {name: a, when: 'candidate.contnet == 1', set: {sensitivity: secret}}\n")
	fields := c.run("policy", "check", bad, "--json").is(app.ExitUsage).problem().Fields
	require.Len(t, fields, 2)
	require.Equal(t, "rules[0] (a).when", fields[0].Field)
	require.Equal(t, "rules[0] (a).set.sensitivity", fields[1].Field)
	require.Contains(t, c.run("policy", "check", bad).is(app.ExitUsage).err, "undefined field 'contnet'")
	require.Equal(t, "file", c.run("policy", "check", "/nowhere/policy.yaml",
		"--json").is(app.ExitUsage).problem().Fields[0].Field)
	c.run("policy", "check").is(app.ExitUsage)
	c.run("policy").is(app.ExitUsage)
}

func decision(e operate.Explained, t *testing.T, field string) policy.Decision {
	t.Helper()
	for _, d := range e.Decisions {
		if d.Field == field {
			return d
		}
	}
	t.Fatalf("no decision about %s", field)
	return policy.Decision{}
}

func TestPolicyExplain(t *testing.T) {
	t.Parallel()
	c := newOfflineCLI(t)
	file := tempFile(t, "policy.yaml", hrRules)
	explain := func(args ...string) operate.Explained {
		t.Helper()
		var out operate.Explained
		c.run(append([]string{"policy", "explain", "--json"}, args...)...).is(app.ExitOK).json(&out)
		return out
	}

	e := explain("The salary is paid by card 4111 1111 1111 1111, says ann@acme.io", "--sensitivity", "low", "--file",
		file)
	require.Equal(t, []string{"payroll"}, e.Matched)
	require.Equal(t, []string{"payment_card", "email"}, e.Detected)
	require.Equal(t, policy.Decision{Field: "sensitivity", Value: "high", By: "rule:payroll", Was: "high"},
		decision(e, t, "sensitivity"))
	require.Equal(t, policy.Decision{Field: "scope", Value: "hr", By: "rule:payroll", Was: ""}, decision(e, t, "scope"))
	require.Equal(t, []policy.RuleProblem{{Rule: "tagged", Field: "when",
		Problem: "cannot be evaluated: index out of bounds"}}, e.Problems)
	require.Len(t, e.Policy, 12)

	e = explain("tea", "--tag", "x", "--file", file)
	require.Equal(t, []string{"tagged"}, e.Matched)
	require.Equal(t, "rule:tagged", decision(e, t, "importance").By)

	e = explain("password: hunter2x")
	require.Empty(t, e.Policy)
	require.Equal(t, policy.Decision{Field: "sensitivity", Value: "hyper", By: "detector", Was: "low"},
		decision(e, t, "sensitivity"))

	c.cfg.PolicyFile = file // MNEME_POLICY_FILE
	candidate := tempFile(t, "candidate.json",
		`{"content":"The salary is paid.","source_kind":"tool_output","tags":["x"]}`)
	e = explain("--candidate", candidate)
	require.Equal(t, []string{"payroll", "tagged"}, e.Matched)
	require.Equal(t, "episodic", decision(e, t, "type").Value)

	e = explain("Dana lives in Oslo", "--kind", "fact", "--claim", "Dana,lives_in,Oslo", "--sensitivity", "high",
		"--confidence", "0.8")
	require.Equal(t, policy.KindFact, e.Kind)
	require.InDelta(t, 0.8, decision(e, t, "importance").Value, 0)
	require.Equal(t, "high", decision(e, t, "sensitivity").Value)

	text := c.run("policy", "explain", "The salary is paid.", "--tag", "x").is(app.ExitOK).out
	require.Contains(t, text, "payroll, tagged")
	require.Regexp(t, `sensitivity +high +rule:payroll +low`, text)
	require.Contains(t, c.runWith(t.Context(), "The salary is paid.", "policy", "explain", "-").is(app.ExitOK).out,
		"rule:payroll")
	require.Contains(t, c.run("policy", "explain", "tea").is(app.ExitOK).out, "index out of bounds")

	for field, args := range map[string][]string{
		"content": {}, "kind": {"x", "--kind", "dream"}, "sensitivity": {"x", "--sensitivity", "secret"},
		"visibility": {"x", "--visibility", "all"},
		"file":       {"x", "--file", "/nowhere"}, "claim": {"x", "--kind", "fact", "--claim", "y"},
		"occurred_at": {"x", "--occurred-at", "noon"}, "ref": {"x", "--ref", "y"},
		"confidence": {"x", "--kind", "fact", "--confidence", "2"},
	} {
		require.Equal(t, field, c.run(append([]string{"policy", "explain", "--json"},
			args...)...).is(app.ExitUsage).problem().Fields[0].Field)
	}
	c.run("policy", "explain", "x", "--candidate", candidate).is(app.ExitUsage)
}

func TestPolicyExplainsARecord(t *testing.T) {
	t.Parallel()
	c := newOfflineCLI(t)
	record := tempFile(t, "record.json",
		`{"id":"pref-1","type":"semantic","sensitivity":"low","confidence":0.9,"salience":0.8,"scope":"user:1","tags":["x"],
		"created_at":"2026-01-02T03:04:05Z","updated_at":"2026-01-02T03:04:05Z",
		"lifecycle":{"decay":{"curve":"exponential","half_life_seconds":7776000,"min_salience":0.05,"reinforcement_gain":0.1},
			"last_reinforced_at":"2026-01-02T03:04:05Z","pinned":false,"deletion_policy":"auto_prune"},
		"provenance":{"sources":[{"kind":"event","ref":"e1"}],"created_by":"agent:a"},"relations":[],
		"payload":{"kind":"semantic","subject":"user:1","predicate":"salary","object":"mail ann@acme.io","validity":{"mode":"global"}}}`)
	var e operate.Explained
	c.run("policy", "explain", "--record", record, "--file", tempFile(t, "p.yaml", hrRules),
		"--json").is(app.ExitOK).json(&e)
	require.Equal(t, policy.KindRecord, e.Kind)
	require.Equal(t, []string{"payroll", "tagged"}, e.Matched)
	require.Equal(t, []string{"email"}, e.Detected)
	require.Equal(t, "medium", decision(e, t, "sensitivity").Was)
	require.Equal(t, "candidate", decision(e, t, "decay.half_life").By)
}
