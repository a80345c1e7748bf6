package policy_test

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/mneme/mneme/memory"
	"github.com/mneme/mneme/memory/intake"
	"github.com/mneme/mneme/memory/memorytest"
	"github.com/mneme/mneme/memory/normalize"
	"github.com/mneme/mneme/memory/policy"
	"github.com/mneme/mneme/memory/sensitive"
	"github.com/mneme/mneme/schema"
)

func parsePolicy(t require.TestingT, text string) *policy.Policy {
	p, err := policy.Parse([]byte(text))
	require.NoError(t, err)
	return p
}

// admit classifies one candidate under a rules file.
func admit(t require.TestingT, rules string, c schema.Candidate) policy.Explanation {
	return intake.Admit(c, schema.Principal{Tenant: "t", Agent: "a", Project: "p", PolicyGroup: "g"}, "",
		parsePolicy(t, rules)).Explanation
}

func decision(t require.TestingT, e policy.Explanation, field string) policy.Decision {
	var found []policy.Decision
	for _, d := range e.Decisions {
		if d.Field == field {
			found = append(found, d)
		}
	}
	require.Len(t, found, 1, field)
	return found[0]
}

func TestARuleOverridesEveryField(t *testing.T) {
	t.Parallel()
	e := admit(t, `
rules:
  - name: everything
    description: sets all that there is
    when: candidate.content.contains("tea")
    set:
      type: semantic
      category: rule
      sensitivity: medium
      confidence: 0.4
      importance: 0.3
      pinned: false
      tags: [Hot, drinks]
      decay: {curve: custom, points: [{after: 1d, share: 0.5}], half_life: 1d12h, min_salience: 0.2, max_age: 2w, floor: 0.1, reinforcement_gain: 0.25}
      scope: kitchen
      visibility: group
      deletion_policy: never
      revision_policy: contest
      source_trust: 0.5
`, schema.Candidate{Content: "critical: [own]: tea, password: hunter2x", Sensitivity: schema.SensitivityHigh,
		SourceKind: schema.SourceUserInput})
	trust := 0.5
	require.Equal(t, memory.Classification{
		Type: schema.TypeSemantic, Tier: schema.TierPersistent, Typology: schema.TypologySemantic,
		Category:    schema.CategoryRule,
		Sensitivity: schema.SensitivityMedium, Confidence: 0.4, Importance: 0.3, Tags: []string{"own", "hot", "drinks"},
		Decay: memory.Decay{Curve: schema.CurveCustom, Points: []memory.DecayPoint{{After: memorytest.Day, Share: 0.5}},
			HalfLife: 36 * time.Hour, MinSalience: 0.2,
			MaxAge: 14 * 24 * time.Hour, Floor: 0.1, ReinforcementGain: 0.25},
		Scope: "kitchen", Visibility: schema.VisibilityGroup, DeletionPolicy: schema.DeleteNever,
		RevisionPolicy: schema.PolicyContest,
		SourceTrust:    &trust, Detected: []string{"password"},
	}, e.Classification)
	require.Equal(t, []string{"everything"}, e.Matched)
	require.Equal(t, []string{"everything"}, e.Deciding())
	for _, d := range e.Decisions {
		if d.Field != "tier" && d.Field != "typology" {
			require.Equal(t, "rule:everything", d.By, d.Field)
		}
	}
	require.Equal(t, policy.Decision{Field: "sensitivity", Value: "medium", By: "rule:everything", Was: "hyper"},
		decision(t, e, "sensitivity"))
	require.Equal(t, policy.Decision{Field: "tier", Value: "persistent", By: "rule:everything", Was: "session"},
		decision(t, e, "tier"))
	require.Equal(t, policy.Decision{Field: "decay.half_life", Value: "1d12h", By: "rule:everything", Was: "7d"},
		decision(t, e, "decay.half_life"))
}

func TestRulesSetCurves(t *testing.T) {
	t.Parallel()
	const rules = `
rules:
  - {name: tea, when: "candidate.content.contains('tea')", set: {decay: {curve: linear}}}
  - name: drawn
    when: "true"
    set: {decay: {curve: custom, points: [{after: 0s, share: 1}, {after: 7d, share: 1}, {after: 1d12h30d, share: 0.25}]}}
`
	e := admit(t, rules, schema.Candidate{Content: "coffee"})
	require.Equal(t, []memory.DecayPoint{{Share: 1}, {After: 7 * memorytest.Day, Share: 1},
		{After: 31*memorytest.Day + 12*time.Hour, Share: 0.25}}, e.Classification.Decay.Points)
	require.Equal(t, schema.CurveCustom, e.Classification.Decay.Curve)
	require.Equal(t, policy.Decision{Field: "decay.points", Value: []string{"0s 1", "7d 1", "31d12h 0.25"},
		By: "rule:drawn", Was: []string{}}, decision(t, e, "decay.points"))
	e = admit(t, rules, schema.Candidate{Content: "tea"})
	require.Equal(t, schema.CurveLinear, e.Classification.Decay.Curve)
	require.Empty(t, e.Classification.Decay.Points, "points of another curve are dropped")
	require.Equal(t, []policy.RuleProblem{{Rule: "drawn", Field: "set.decay.points",
		Problem: "an earlier rule has set another curve"}}, e.Problems)

	// A record's own curve is replaced if a rule sets another.
	p, err := policy.Parse([]byte(rules))
	require.NoError(t, err)
	own := memory.Classification{Type: schema.TypeSemantic,
		Decay: memory.Decay{Curve: schema.CurveCustom, Points: []memory.DecayPoint{{After: memorytest.Day, Share: 0}}}}
	e = p.Explain(own, policy.Input{Kind: policy.KindRecord, Candidate: schema.Candidate{Content: "tea"}})
	require.Empty(t, e.Classification.Decay.Points)
	require.Equal(t, policy.Decision{Field: "decay.points", Value: []string{}, By: "rule:tea", Was: []string{"1d 0"}},
		decision(t, e, "decay.points"))

	for points, field := range map[string]string{
		"[]":                          "decay.points: must be a list",
		"{after: 7d, share: 1}":       "decay.points: must be a list",
		"[7d]":                        "decay.points: must be a list",
		"[{after: 7d}]":               "decay.points: must be a list",
		"[{after: none, share: 1}]":   "decay.points: must be a list",
		"[{after: 1500ms, share: 1}]": "decay.points: must be a list",
		"[{after: 7d, share: 2}]":     "decay.points: must be a list",
		"[{after: 0s, share: 0.5}]":   "decay.points: must be a list",
		"[{after: 7d, share: 0.5}, {after: 7d, share: 0}]": "decay.points: must be a list",
		"[{after: 7d, share: 0.5}, {after: 8d, share: 1}]": "decay.points: must be a list",
		"[{after: 9000w, share: 0.5}]":                     "decay.points: must be a list",
	} {
		_, err := policy.Parse([]byte("rules: [{name: a, when: 'true', set: {decay: {curve: custom, points: " + points +
			"}}}]"))
		require.ErrorContains(t, err, field, points)
	}
	_, err = policy.Parse([]byte("rules: [{name: a, when: 'true', set: {decay: {points: [{after: 7d, share: 1}]}}}]"))
	require.ErrorContains(t, err, "needs curve: custom")
}

func TestTheFirstRuleThatSetsAFieldWins(t *testing.T) {
	t.Parallel()
	const rules = `
rules:
  - {name: a, when: "true", set: {category: rule, tags: [a]}}
  - {name: b, when: "category == 'rule'", set: {category: issue, importance: 0.9, tags: [b, a]}}
  - {name: c, when: "category == 'issue'", set: {sensitivity: high}}
  - {name: d, when: "importance > 0.8", set: {importance: 0.1, confidence: 0.2}}
`
	e := admit(t, rules, schema.Candidate{Content: "text", Tags: []string{"own"}})
	require.Equal(t, []string{"a", "b", "d"}, e.Matched, "a condition sees what the rules above it decided")
	require.Equal(t, schema.CategoryRule, e.Classification.Category)
	require.Equal(t, 0.9, e.Classification.Importance)
	require.Equal(t, 0.2, e.Classification.Confidence)
	require.Equal(t, schema.SensitivityLow, e.Classification.Sensitivity)
	require.Equal(t, []string{"own", "a", "b"}, e.Classification.Tags, "every rule adds its tags")
	require.Equal(t, []string{"a", "b", "d"}, e.Deciding())
}

func TestDecisionsWithoutRules(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		in    schema.Candidate
		field string
		want  policy.Decision
	}{
		"declared": {schema.Candidate{Content: "x", Sensitivity: schema.SensitivityHigh}, "sensitivity",
			policy.Decision{Value: "high", By: "candidate"}},
		"default": {schema.Candidate{Content: "x"}, "sensitivity", policy.Decision{Value: "low", By: "default"}},
		"detected": {schema.Candidate{Content: "password: hunter2x"}, "sensitivity",
			policy.Decision{Value: "hyper", By: "detector", Was: "low"}},
		"raised": {schema.Candidate{Content: "ann@acme.io", Sensitivity: schema.SensitivityPublic},
			"sensitivity", policy.Decision{Value: "medium", By: "detector", Was: "public"}},
		"floor": {schema.Candidate{Content: "ann@acme.io", Sensitivity: schema.SensitivityHyper}, "sensitivity",
			policy.Decision{Value: "hyper", By: "candidate"}},
		"inferred": {schema.Candidate{Content: "never ever"}, "category",
			policy.Decision{Value: "rule", By: "classifier"}},
		"given": {schema.Candidate{Content: "never ever", Category: schema.CategoryFact}, "category",
			policy.Decision{Value: "fact", By: "candidate"}},
		"pinned": {schema.Candidate{Content: "critical: x"}, "pinned",
			policy.Decision{Value: true, By: "candidate"}},
		"explicit save": {schema.Candidate{Content: "x", SourceKind: schema.SourceMemory}, "importance",
			policy.Decision{Value: 0.8, By: "default"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := intake.Admit(c.in, memorytest.Principal, "", nil).Explanation
			c.want.Field = c.field
			require.Equal(t, c.want, decision(t, e, c.field))
			require.Empty(t, e.Policy)
			require.Empty(t, e.Deciding())
		})
	}
}

func TestRulesSetDependentFields(t *testing.T) {
	t.Parallel()
	e := admit(t,
		`rules: [{name: save, when: "type == 'episodic'", set: {type: semantic, decay: {min_salience: 0.3}}}]`,
		schema.Candidate{Content: "x"})
	want := memory.DefaultDecay(schema.TypeSemantic)
	want.MinSalience = 0.3
	require.Equal(t, want, e.Classification.Decay)

	e = admit(t, `rules: [{name: pin, when: "true", set: {pinned: true}}]`, schema.Candidate{Content: "x"})
	require.Equal(t, 1.0, e.Classification.Importance)
	require.Equal(t, schema.DeleteManualOnly, e.Classification.DeletionPolicy)
	require.Equal(t, policy.Decision{Field: "importance", Value: 1.0, By: "rule:pin", Was: 0.5},
		decision(t, e, "importance"))

	given := 0.2
	e = admit(t, `rules: [{name: unpin, when: "pinned", set: {pinned: false}}]`,
		schema.Candidate{Content: "critical: x", Importance: &given})
	require.False(t, e.Classification.Pinned)
	require.Equal(t, 0.2, e.Classification.Importance)
	require.Equal(t, schema.DeleteAutoPrune, e.Classification.DeletionPolicy)
}

func TestRefusedRuleSettings(t *testing.T) {
	t.Parallel()
	p := parsePolicy(t,
		`rules: [{name: r, when: "true", set: {type: semantic, importance: 0.1, visibility: group, source_trust: 0.9, sensitivity: public}}]`)
	cl := memory.Classify(schema.Candidate{Content: "critical: x"}, normalize.ParsePrefix("critical: x"))
	trust := 0.3
	e := p.Explain(cl, policy.Input{Kind: policy.KindFact, Principal: memorytest.Principal, TrustCap: &trust})
	require.Equal(t, schema.TypeEpisodic, e.Classification.Type, "the type belongs to the payload")
	require.Equal(t, 1.0, e.Classification.Importance, "a pinned memory has importance 1")
	require.Empty(t, e.Classification.Visibility, "the principal has no group")
	require.Nil(t, e.Classification.SourceTrust, "the trust of the source is lower")
	require.Equal(t, schema.SensitivityPublic, e.Classification.Sensitivity)
	var refused []string
	for _, problem := range e.Problems {
		require.Equal(t, "r", problem.Rule)
		refused = append(refused, problem.Field)
	}
	require.ElementsMatch(t, []string{"set.type", "set.importance", "set.visibility", "set.source_trust"}, refused)
	require.Equal(t, []string{"r"}, e.Metadata()["rules_failed"])
}

func TestARuleThatCannotBeEvaluatedDoesNotMatch(t *testing.T) {
	t.Parallel()
	e := admit(t, `
rules:
  - {name: index, when: "candidate.tags[3] == 'x'", set: {sensitivity: hyper}}
  - {name: number, when: "int(candidate.content) > 3", set: {sensitivity: hyper}}
  - {name: time, when: "timestamp(candidate.content) > timestamp('2020-01-01T00:00:00Z')", set: {sensitivity: hyper}}
  - {name: key, when: "{'a': true}[candidate.speaker]", set: {sensitivity: hyper}}
  - {name: costly, when: "candidate.content.matches('(a|b|c|d|e|f|g|h)+x') && candidate.content.contains(candidate.content + candidate.content)", set: {sensitivity: hyper}}
  - {name: good, when: "true", set: {sensitivity: medium}}
`, schema.Candidate{Speaker: "canary", Content: "hunter2canary" + strings.Repeat("abcdefgx", 20_000)})
	require.Equal(t, []string{"good"}, e.Matched)
	require.Equal(t, schema.SensitivityHyper, e.Classification.Sensitivity, "that of the costly rule")
	require.Len(t, e.Problems, 5)
	require.Equal(t, policy.RuleProblem{Rule: "index", Field: "when",
		Problem: "cannot be evaluated: index out of bounds"}, e.Problems[0])
	require.Equal(t, "takes longer than a condition may: it only raises the sensitivity", e.Problems[4].Problem)
	require.NotContains(t, fmt.Sprint(e.Problems), "canary", "recorded problems contain no content")
	require.Equal(t, []string{"index", "number", "time", "key", "costly"}, e.Metadata()["rules_failed"])
}

// A long text must not get around a rule that protects it: a condition that takes too long for it may hold, so its
// sensitivity applies, if it is higher. Nothing else of the rule does.
func TestALongTextDoesNotEvadeARule(t *testing.T) {
	t.Parallel()
	names := make([]string, 100)
	for i := range names {
		names[i] = fmt.Sprintf("Name%d", i)
	}
	rules := func(level string) string {
		return fmt.Sprintf(`
rules:
  - name: people
    when: candidate.content.matches("(?i)\\b(%s)\\b")
    set: {sensitivity: %s, pinned: true, visibility: global, tags: [hr]}
  - {name: rest, when: "true", set: {sensitivity: public}}
`, strings.Join(names, "|"), level)
	}
	short := schema.Candidate{Content: "Name3 is paid in May."}
	long := schema.Candidate{Content: short.Content + strings.Repeat(" padding", (schema.MaxContentBytes-40)/8)}
	e := admit(t, rules("hyper"), short)
	require.Equal(t, schema.SensitivityHyper, e.Classification.Sensitivity)
	require.True(t, e.Classification.Pinned)

	e = admit(t, rules("hyper"), long)
	require.Equal(t, schema.SensitivityHyper, e.Classification.Sensitivity)
	require.Equal(t, "rule:people", decision(t, e, "sensitivity").By)
	require.False(t, e.Classification.Pinned)
	require.Empty(t, e.Classification.Tags)
	require.NotEqual(t, schema.VisibilityGlobal, e.Classification.Visibility)
	require.Equal(t, []string{"rest"}, e.Matched)
	require.Equal(t, []string{"people"}, e.Metadata()["rules_failed"])
	require.Equal(t, []string{"people"}, e.Metadata()["rules"], "it decided a field")

	long.Sensitivity = schema.SensitivityHigh
	e = admit(t, rules("medium"), long)
	require.Equal(t, schema.SensitivityPublic, e.Classification.Sensitivity, "it lowers nothing, and decides nothing")
	require.Equal(t, "rule:rest", decision(t, e, "sensitivity").By)
}

func TestConditionVariables(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 3, 2, 9, 0, 0, 0, time.UTC)
	importance := 0.7
	c := schema.Candidate{Content: "mail ann@acme.io", SourceKind: schema.SourceToolOutput, Speaker: "Dana",
		Session: "s1", OccurredAt: &at, Tags: []string{"Ops"},
		Category: schema.CategoryIssue, Sensitivity: schema.SensitivityLow, Importance: &importance,
		Refs: []schema.Ref{{Kind: "tool_call", Ref: "r"}}}
	for _, when := range []string{
		`kind == "candidate"`, `candidate.content == "mail ann@acme.io"`, `candidate.source_kind == "tool_output"`,
		`candidate.speaker == "Dana"`, `candidate.session == "s1"`,
		`candidate.occurred_at == timestamp("2026-03-02T09:00:00Z")`, `"ops" in candidate.tags`,
		`candidate.category == "issue"`, `candidate.sensitivity == "low"`,
		`candidate.importance == 0.7`, `candidate.refs == ["tool_call"]`,
		`principal.tenant == "t" && principal.agent == "a" && principal.project == "p" && principal.policy_group == "g"`,
		`visibility == "private" && scope == ""`, `detected == ["email"]`,
		`type == "episodic" && category == "issue" && sensitivity == "medium"`,
		`confidence == 1.0 && importance == 0.7 && !pinned && tags == ["ops"]`,
		`fact.subject == "" && fact.predicate == ""`,
		`candidate.content.matches("(?i)MAIL") && candidate.tags.exists(t, t.startsWith("o")) && size(candidate.content) > 3`,
	} {
		require.Equal(t, []string{"r"},
			admit(t, fmt.Sprintf("rules: [{name: r, when: %q, set: {confidence: 0.5}}]", when), c).Matched, when)
	}
	fact := memory.Fact{Content: "Dana lives in Oslo", Category: schema.CategoryFact, Confidence: 0.9,
		Claim: memory.Claim{Subject: "Dana", Predicate: "lives_in", Object: "Oslo"}}
	p := parsePolicy(t,
		`rules: [{name: r, when: "kind == 'fact' && fact.subject == 'Dana' && fact.predicate == 'lives_in' && candidate.speaker == 'Dana' && candidate.content.contains('Oslo')", set: {confidence: 0.5}}]`)
	require.Equal(t, []string{"r"},
		intake.AdmitFact(fact, intake.FactSource{Candidate: c, Principal: memorytest.Principal, Trust: 1}, p).Matched)
}

func TestFactInheritsSensitivityOfSource(t *testing.T) {
	t.Parallel()
	src := intake.FactSource{Candidate: schema.Candidate{Sensitivity: schema.SensitivityHyper, Tags: []string{"x"}},
		Principal: memorytest.Principal, Trust: 0.4}
	fact := memory.Fact{Content: "Dana likes tea", Category: schema.CategoryPreference, Confidence: 0.9}
	e := intake.AdmitFact(fact, src, nil)
	require.Equal(t, schema.SensitivityHyper, e.Classification.Sensitivity)
	require.Equal(t, 0.4, *e.Classification.SourceTrust)
	require.Equal(t, []string{"x"}, e.Classification.Tags)

	e = intake.AdmitFact(fact, src,
		parsePolicy(t,
			`rules: [{name: r, when: "candidate.sensitivity == 'hyper' && category == 'preference'", set: {sensitivity: low}}]`))
	require.Equal(t, schema.SensitivityLow, e.Classification.Sensitivity)
}

func TestAgesSurviveFormatting(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		d := time.Duration(rapid.Int64Range(1,
			int64(100*365*24*time.Hour/time.Millisecond)).Draw(t, "ms")) * time.Millisecond
		got, ok := policy.ParseAge(memory.FormatAge(d))
		require.True(t, ok)
		require.Equal(t, d, got)
	})
	for _, bad := range []string{"", "3", "d", "-3d", "3y", "1e9d", "3d ", "99999999999999w"} {
		_, ok := policy.ParseAge(bad)
		require.False(t, ok, bad)
	}
	none, ok := policy.ParseAge("none")
	require.True(t, ok)
	require.Zero(t, none)
}

func TestTooManyTagsKeepRuleTags(t *testing.T) {
	t.Parallel()
	var own []string
	for i := range schema.MaxTags {
		own = append(own, fmt.Sprintf("t%d", i))
	}
	e := admit(t, `rules: [{name: a, when: "true", set: {tags: [a]}}, {name: b, when: "true", set: {tags: [b]}}]`,
		schema.Candidate{Content: "x", Tags: own})
	require.Equal(t, append(append([]string{}, own[:schema.MaxTags-2]...), "a", "b"), e.Classification.Tags)
}

// The example of docs/policy.md is valid and works as described.
func TestDocumentedRules(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../docs/policy.md")
	require.NoError(t, err)
	var examples []string
	for _, part := range strings.Split(string(text), "```yaml\n")[1:] {
		example, _, _ := strings.Cut(part, "```")
		examples = append(examples, example)
	}
	require.Len(t, examples, 1)
	for _, c := range []struct {
		in      schema.Candidate
		matches []string
	}{
		{schema.Candidate{Content: "The Salary is paid."}, []string{"payroll"}},
		{schema.Candidate{Content: "make: ok", SourceKind: schema.SourceToolOutput}, []string{"build-logs-fade-fast"}},
		{schema.Candidate{Content: "make: ok", SourceKind: schema.SourceToolOutput, Tags: []string{"Keep"}},
			[]string{}},
		{schema.Candidate{Content: "x", SourceKind: schema.SourceUserInput,
			Refs: []schema.Ref{{Kind: "human", Ref: "a"}}}, []string{"hearsay"}},
		{schema.Candidate{Content: "mail help@acme.example"}, []string{"addresses-of-our-own"}},
		{schema.Candidate{Content: "mail help@acme.example, password: hunter2x"}, []string{}},
	} {
		require.Equal(t, c.matches, admit(t, examples[0], c.in).Matched, c.in.Content)
	}
	fact := memory.Fact{Content: "Dana lives in Oslo",
		Claim: memory.Claim{Subject: "Dana", Predicate: "lives_in", Object: "Oslo"}}
	e := intake.AdmitFact(fact, intake.FactSource{Principal: memorytest.Principal, Trust: 1},
		parsePolicy(t, examples[0]))
	require.Equal(t, schema.SensitivityMedium, e.Classification.Sensitivity)

	// The tables of docs/policy.md list every field, kind and variable.
	for _, d := range e.Decisions {
		if name := strings.TrimPrefix(d.Field, "decay."); d.Field != "tier" && d.Field != "typology" {
			require.Contains(t, string(text), "`"+name+"`")
		}
	}
	for _, kind := range []string{sensitive.DetectedPrivateKey, sensitive.DetectedAPIKey, sensitive.DetectedToken,
		sensitive.DetectedPassword, sensitive.DetectedSecret,
		sensitive.DetectedConnectionString, sensitive.DetectedPaymentCard, sensitive.DetectedIBAN,
		sensitive.DetectedBankAccount, sensitive.DetectedSSN, sensitive.DetectedIdentity,
		sensitive.DetectedEmail, sensitive.DetectedPhone, sensitive.DetectedAddress} {
		require.Contains(t, string(text), "`"+kind+"`")
	}
}

func BenchmarkExplain(b *testing.B) {
	p := parsePolicy(b, `
rules:
  - {name: a, when: "candidate.content.contains('salary') && principal.project == 'hr'", set: {sensitivity: high}}
  - {name: b, when: "candidate.content.matches('(?i)invoice [0-9]+')", set: {category: fact}}
  - {name: c, when: "'email' in detected", set: {tags: [contact]}}
`)
	c := schema.Candidate{Content: "Ann told me on Tuesday that the servers in hall 12 were moved; write " +
		"to ann@acme.io."}
	for b.Loop() {
		intake.Admit(c, memorytest.Principal, "", p)
	}
}

// Rules see the user of a memory, and cannot move it to a scope that others read.
func TestRulesAndUsers(t *testing.T) {
	t.Parallel()
	p := parsePolicy(t, `rules:
  - {name: hr, when: 'candidate.content.contains("salary")', set: {scope: hr, sensitivity: high}}
  - {name: maya, when: 'principal.user == "maya"', set: {tags: [maya]}}
`)
	c := schema.Candidate{Content: "My salary is paid in May."}
	in := policy.Input{Kind: policy.KindCandidate, Candidate: c, Principal: schema.Principal{Tenant: "t", Agent: "a"}}
	classify := func() policy.Explanation { return p.Explain(memory.Classify(c, normalize.CandidatePrefix(c)), in) }

	require.Equal(t, "hr", classify().Classification.Scope)
	in.Principal.User = "maya"
	e := classify()
	require.Empty(t, e.Classification.Scope)
	require.Equal(t, schema.SensitivityHigh, e.Classification.Sensitivity, "the rest of the rule applies")
	require.Contains(t, e.Classification.Tags, "maya")
	require.Equal(t, []policy.RuleProblem{{Rule: "hr", Field: "set.scope",
		Problem: "a user's memory stays in the user's scope"}}, e.Problems)
	// A fact is classified with the scope of its source.
	in.Kind, in.Principal = policy.KindFact, schema.Principal{Tenant: "t", Agent: "a", Scope: "user/maya"}
	require.Empty(t, classify().Classification.Scope)
}
