package policy

import (
	"cmp"
	"errors"
	"slices"

	"github.com/mneme/mneme/memory"
	"github.com/mneme/mneme/schema"
)

// Policy is a compiled set of classification rules: expressions over a candidate or record that override the results
// of the classifier and the detectors (document 004 §15.5). It is immutable and safe for concurrent use. A nil Policy
// has no rules.
type Policy struct {
	rules []policyRule
	trust TrustRules
	hash  string
}

// policyRule is one entry of the file.
type policyRule struct {
	name, description string
	when              policyCondition
	set               []policySetting // in order of policyFields
}

// policyCondition decides whether a rule applies. Its errors do not contain the values.
type policyCondition interface {
	holds(vars map[string]any) (bool, error)
}

// policySetting is one field that a rule sets.
type policySetting struct {
	field *policyField
	value any
}

// RuleInfo describes a rule for people.
type RuleInfo struct {
	Name        string   `json:"name"`
	Description string   `json:"description,omitempty"`
	Sets        []string `json:"sets"` // fields
}

// Hash returns 12 hexadecimal digits of the SHA-256 of the policy's text, or "" for a nil policy. History records it
// with the decisions of the policy.
func (p *Policy) Hash() string {
	if p == nil {
		return ""
	}
	return p.hash
}

// Trust returns the policy's rules for showing memories, or the zero value for a nil policy.
func (p *Policy) Trust() TrustRules {
	if p == nil {
		return TrustRules{}
	}
	return p.trust
}

// Rules returns the rules in order.
func (p *Policy) Rules() []RuleInfo {
	out := []RuleInfo{}
	if p == nil {
		return out
	}
	for _, r := range p.rules {
		info := RuleInfo{Name: r.name, Description: r.description}
		for _, s := range r.set {
			info.Sets = append(info.Sets, s.field.name)
		}
		out = append(out, info)
	}
	return out
}

// Kinds of inputs: a candidate, a fact that the pipeline extracted from one, and a full record that was put.
const (
	KindCandidate Kind = "candidate"
	KindFact      Kind = "fact"
	KindRecord    Kind = "record"
)

// Values of Decision.By. A rule is "rule:" and its name.
const (
	ByClassifier = "classifier" // inferred from the words, or given by an extractor
	ByCandidate  = "candidate"  // the candidate itself, or the candidate of a fact
	ByDetector   = "detector"   // sensitive.Detect
	ByDefault    = "default"
	byRule       = "rule:"
)

// Decision is the value of one field of a memory, and the source of the value.
type Decision struct {
	Field string `json:"field"`
	Value any    `json:"value"`
	By    string `json:"by"`
	Was   any    `json:"was,omitempty"` // the overridden value; absent if there is none
}

// RuleProblem is a rule, or one field of it, that could not be applied. It quotes nothing of the classified input.
type RuleProblem struct {
	Rule    string `json:"rule"`
	Field   string `json:"field"` // when, or set.FIELD
	Problem string `json:"problem"`
}

// Explanation is the result of classifying one input.
type Explanation struct {
	Classification memory.Classification
	Decisions      []Decision // each field, in a fixed order; tags again for each rule that adds some
	Matched        []string   // rules whose condition held, in order
	// Problems has rules that could not be evaluated and so did not match, and fields that were refused.
	Problems []RuleProblem
	Policy   string // Hash of the policy; empty without rules
}

// Metadata returns the data of an explanation for history: names and a hash, no content. It is empty if no rule or
// detector applied and there was no error.
func (e Explanation) Metadata() map[string]any {
	out := map[string]any{}
	if e.Policy != "" {
		out["policy"] = e.Policy
	}
	if deciding := e.Deciding(); len(deciding) > 0 {
		out["rules"] = deciding
	}
	if len(e.Problems) > 0 {
		var names []string
		for _, problem := range e.Problems {
			if !slices.Contains(names, problem.Rule) {
				names = append(names, problem.Rule)
			}
		}
		out["rules_failed"] = names
	}
	if len(e.Classification.Detected) > 0 {
		out["detected"] = e.Classification.Detected
	}
	return out
}

// Deciding returns the rules that decided at least one field: those that matched, in their order, and then those that
// took too long.
func (e Explanation) Deciding() []string {
	names := slices.Clone(e.Matched)
	for _, problem := range e.Problems {
		if !slices.Contains(names, problem.Rule) {
			names = append(names, problem.Rule)
		}
	}
	var out []string
	for _, name := range names {
		if slices.ContainsFunc(e.Decisions, func(d Decision) bool { return d.By == byRule+name }) {
			out = append(out, name)
		}
	}
	return out
}

// Apply returns the classification with the rules' overrides, and the decisions. See Explain.
func (p *Policy) Apply(cl memory.Classification, in Input) (memory.Classification, []Decision) {
	e := p.Explain(cl, in)
	return e.Classification, e.Decisions
}

// Explain applies the rules to a classification and returns the result with its explanation.
//
// Rules are evaluated in order. A rule sees the classification as changed by earlier rules, and the first rule that
// sets a field decides it, overriding the candidate, the classifier and the detectors. Tags are different: every
// matching rule adds its own, and if there are more than schema.MaxTags, the last of the memory's own are dropped.
//
// Dependent fields follow an override too, unless a rule sets them: the decay and the deletion policy of another
// type, and of a pinned memory. Three things override any rule:
//
//   - a pinned memory has importance 1 (document 002 "Importance and Tags")
//   - rules can set the type only of a candidate; a fact is semantic, and a record has the payload of its type
//   - a derived memory is trusted no more than its sources
//
// No rule can set the tenant or the agent. Tier and typology follow from the type, so that an episode is never
// persistent. A rule whose condition cannot be evaluated counts as not matching. If it takes too long, which a long
// text can bring about, it may hold: then the rule raises the sensitivity, and sets nothing else.
func (p *Policy) Explain(cl memory.Classification, in Input) Explanation {
	in.Visibility, in.Principal = cmp.Or(in.Visibility, schema.VisibilityPrivate), in.Principal.Owner()
	e := Explanation{Policy: p.Hash(), Matched: []string{}, Problems: []RuleProblem{}}
	a := policyApplication{in: in, base: cl, state: cl, by: map[string]string{}, own: len(cl.Tags)}
	if p != nil && len(p.rules) > 0 {
		vars := newPolicyVars(in, cl)
		for i := range p.rules {
			r := &p.rules[i]
			a.describe(vars)
			matches, err := r.when.holds(vars)
			if err != nil {
				e.Problems = append(e.Problems, RuleProblem{Rule: r.name, Field: "when", Problem: err.Error()})
			}
			if errors.Is(err, errTooCostly) {
				a.raise(r)
			}
			if err != nil || !matches {
				continue
			}
			e.Matched = append(e.Matched, r.name)
			for _, s := range r.set {
				if problem := a.set(r.name, s); problem != "" {
					e.Problems = append(e.Problems,
						RuleProblem{Rule: r.name, Field: "set." + s.field.name, Problem: problem})
				}
			}
		}
	}
	e.Classification, e.Decisions = a.state, a.decisions()
	return e
}
