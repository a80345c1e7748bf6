package policy_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/mneme/mneme/memory"
	"github.com/mneme/mneme/memory/memorytest"
	"github.com/mneme/mneme/memory/normalize"
	"github.com/mneme/mneme/memory/policy"
	"github.com/mneme/mneme/schema"
)

// anyRule is a simple rule: whether it matches, and what it sets.
type anyRule struct {
	matches     bool
	sensitivity schema.Sensitivity
	category    schema.Category
	confidence  float64
}

func anyRules() *rapid.Generator[[]anyRule] {
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) anyRule {
		return anyRule{rapid.Bool().Draw(t, "matches"),
			rapid.SampledFrom([]schema.Sensitivity{"", "public", "low", "medium", "high",
				"hyper"}).Draw(t, "sensitivity"),
			rapid.SampledFrom([]schema.Category{"", "fact", "rule", "issue"}).Draw(t,
				"category"), float64(rapid.IntRange(0, 4).Draw(t, "confidence")) / 4}
	}), 0, 6)
}

func TestPolicyProperties(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		rules := anyRules().Draw(t, "rules")
		var text strings.Builder
		text.WriteString("rules:\n")
		for i, r := range rules {
			fmt.Fprintf(&text, "  - {name: r%d, when: \"%v\", set: {confidence: %v", i, r.matches, r.confidence)
			if r.sensitivity != "" {
				fmt.Fprintf(&text, ", sensitivity: %s", r.sensitivity)
			}
			if r.category != "" {
				fmt.Fprintf(&text, ", category: %s", r.category)
			}
			text.WriteString("}}\n")
		}
		if len(rules) == 0 {
			text.WriteString("  []\n")
		}
		p := parsePolicy(t, text.String())
		c := schema.Candidate{Content: rapid.SampledFrom([]string{"tea", "password: hunter2x",
			"critical: [a]: mail ann@acme.io", "I never drink"}).Draw(t, "content"),
			SourceKind: rapid.SampledFrom([]schema.SourceKind{"", "memory", "user_input",
				"tool_output"}).Draw(t, "source"),
			Sensitivity: rapid.SampledFrom([]schema.Sensitivity{"", "public", "high", "hyper"}).Draw(t, "declared")}
		plain := memory.Classify(c, normalize.CandidatePrefix(c))
		in := policy.Input{Kind: policy.KindCandidate, Candidate: c, Principal: memorytest.Principal}

		want := plain // of the first rule that matches and sets a field
		set := map[string]bool{}
		for _, r := range rules {
			if !r.matches {
				continue
			}
			if !set["confidence"] {
				want.Confidence, set["confidence"] = r.confidence, true
			}
			if r.sensitivity != "" && !set["sensitivity"] {
				want.Sensitivity, set["sensitivity"] = r.sensitivity, true
			}
			if r.category != "" && !set["category"] {
				want.Category, set["category"] = r.category, true
			}
		}
		before := plain
		got, decisions := p.Apply(plain, in)
		require.Equal(t, want, got)
		require.Equal(t, before, plain, "the input is not changed")
		again, same := p.Apply(plain, in)
		require.Equal(t, got, again)
		require.Equal(t, decisions, same)
		tier, typology := memory.Placement(got.Type)
		require.Equal(t, tier, got.Tier)
		require.Equal(t, typology, got.Typology)

		unruled, _ := (*policy.Policy)(nil).Apply(plain, in)
		require.Equal(t, plain, unruled, "without rules, the output of the classifier")
	})
}
