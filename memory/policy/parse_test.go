package policy_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mneme/mneme/memory/policy"
	"github.com/mneme/mneme/schema"
)

func TestParsePolicyNamesRuleAndField(t *testing.T) {
	t.Parallel()
	for field, text := range map[string]string{
		"rules":         "",
		"(yaml)":        "rules: [",
		"(file)":        "- a",
		"ruls":          "ruls: []",
		"rules[0]":      "rules: [x]",
		"rules[0].name": "rules: [{when: 'true', set: {pinned: true}}]",
		"rules[1] (a).name": "rules: [{name: a, when: 'true', set: {pinned: true}}, {name: a, when: " +
			"'true', set: {pinned: true}}]",
		"rules[0] (a).when": "rules: [{name: a, when: 'candidate.contnet == \"x\"', set: {pinned: true}}]",
		"rules[0] (b).when": "rules: [{name: b, when: '1 + 1', set: {pinned: true}}]",
		"rules[0] (c).when": "rules: [{name: c, when: 'candidate.content.matches(\"(\")', set: " +
			"{pinned: true}}]",
		"rules[0] (d).when":              "rules: [{name: d, set: {pinned: true}}]",
		"rules[0] (e).set":               "rules: [{name: e, when: 'true'}]",
		"rules[0] (f).set":               "rules: [{name: f, when: 'true', set: {}}]",
		"rules[0] (g).set.tenant":        "rules: [{name: g, when: 'true', set: {tenant: other}}]",
		"rules[0] (h).set.sensitivity":   "rules: [{name: h, when: 'true', set: {sensitivity: secret}}]",
		"rules[0] (i).set.confidence":    "rules: [{name: i, when: 'true', set: {confidence: 1.5}}]",
		"rules[0] (j).set.type":          "rules: [{name: j, when: 'true', set: {type: dream}}]",
		"rules[0] (k).set.decay.halflif": "rules: [{name: k, when: 'true', set: {decay: {halflif: 3d}}}]",
		"rules[0] (l).set.decay.max_age": "rules: [{name: l, when: 'true', set: {decay: {max_age: 3}}}]",
		"rules[0] (m).set.tags":          "rules: [{name: m, when: 'true', set: {tags: x}}]",
		"rules[0] (n).set.pinned":        "rules: [{name: n, when: 'true', set: {pinned: 'yes'}}]",
		"rules[0] (o).set.importance":    "rules: [{name: o, when: 'true', set: {pinned: true, importance: 0.5}}]",
		"rules[0] (p).set.scope":         "rules: [{name: p, when: 'true', set: {scope: ''}}]",
		"rules[0] (q).set.tier":          "rules: [{name: q, when: 'true', set: {tier: persistent}}]",
		"rules[0] (r).if":                "rules: [{name: r, if: 'true', when: 'true', set: {pinned: true}}]",
		"rules[0] (s).set.pinned ":       "rules: [{name: s, when: 'true', set: {pinned: true, pinned: false}}]",
	} {
		p, err := policy.Parse([]byte(text))
		require.Nil(t, p, text)
		var bad *policy.Error
		require.ErrorAs(t, err, &bad, text)
		require.Equal(t, strings.TrimSpace(field), bad.Fields[0].Field, "%s: %v", text, err)
		var invalid *schema.ValidationError
		require.ErrorAs(t, err, &invalid)
	}
	_, err := policy.Parse([]byte("rules:\n  - name: a\n    when: candidate.contnet == 'x'\n    set: {sensitivity: " +
		"secret}\n  - name: b\n    when: 'true'\n    set: {}\n"))
	require.ErrorContains(t, err, "rules[0] (a).when: 1:10: undefined field 'contnet' (line 3)")
	require.ErrorContains(t, err, "rules[0] (a).set.sensitivity: must be one of")
	require.ErrorContains(t, err, "rules[1] (b).set: sets nothing", "all problems are reported")

	_, err = policy.Parse([]byte(strings.Repeat("#", policy.MaxBytes+1)))
	require.ErrorContains(t, err, "must be at most")
	_, err = policy.Parse([]byte("rules:\n" + strings.Repeat("- {name: a, when: 'true', set: {pinned: true}}\n",
		policy.MaxRules+1)))
	require.ErrorContains(t, err, "at most 1000 rules")
	_, err = policy.Parse([]byte("rules: [{name: a, when: '" + strings.Repeat("!",
		10_000) + "true', set: {pinned: true}}]"))
	require.ErrorContains(t, err, "(a).when")
	_, err = policy.Parse([]byte("rules: []\n---\nrules: []\n"))
	require.ErrorContains(t, err, "one document")
}

func TestParsePolicyAnchors(t *testing.T) {
	t.Parallel()
	p := parsePolicy(t,
		"rules:\n  - name: a\n    when: 'true'\n    set: &strict {sensitivity: high}\n  - name: b\n    when: "+
			"'false'\n    set: *strict\n")
	require.Equal(t, []policy.RuleInfo{{Name: "a", Sets: []string{"sensitivity"}},
		{Name: "b", Sets: []string{"sensitivity"}}}, p.Rules())
	require.Regexp(t, `^[0-9a-f]{12}$`, p.Hash())
	require.NotEqual(t, p.Hash(), parsePolicy(t, "rules: []").Hash())
	require.Empty(t, (*policy.Policy)(nil).Hash())
	require.Empty(t, (*policy.Policy)(nil).Rules())
}
