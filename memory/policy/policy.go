package policy

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/mneme/mneme/memory"
	"github.com/mneme/mneme/memory/sensitive"
	"github.com/mneme/mneme/schema"
)

// Policy is a compiled set of classification rules: expressions over what is to be remembered that
// override what the classifier and the detectors say of it (document 004 §15.5). It does not change
// and may be used by many goroutines. A nil Policy has no rules.
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

// policyCondition decides whether a rule applies. Its errors do not say what was looked at.
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

// Hash identifies the text that the policy was read from: 12 hexadecimal digits of its SHA-256; empty
// for a nil policy. History names it beside what the policy decided.
func (p *Policy) Hash() string {
	if p == nil {
		return ""
	}
	return p.hash
}

// Trust is what the policy says of what is shown; the zero value for a nil policy.
func (p *Policy) Trust() TrustRules {
	if p == nil {
		return TrustRules{}
	}
	return p.trust
}

// Rules lists the rules in order.
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

// Kind says what is being classified. Rules see it as kind.
type Kind string

// What there is to classify: what was handed in, a fact that the pipeline drew from it, and a full
// record that was put.
const (
	KindCandidate Kind = "candidate"
	KindFact      Kind = "fact"
	KindRecord    Kind = "record"
)

// Input is what rules may look at beside the classification.
type Input struct {
	Kind Kind
	// Candidate is what was handed in. For a fact its content is the fact's text, and the rest its
	// source's; for a record it is what the record says in the same places (RecordInput).
	Candidate  schema.Candidate
	Principal  schema.Principal
	Visibility schema.Visibility // of the request, or of a fact's source; private when empty
	Claim      memory.Claim      // of a fact or a semantic record, if it states one
	// TrustCap is the trust of the least trusted source that a derived memory has, in [0,1]; nil when
	// it is derived from none. No rule gives more.
	TrustCap *float64
}

// Who decided a field, as Decision.By names it; a rule is "rule:" and its name.
const (
	ByClassifier = "classifier" // read from the words, or said by an extractor
	ByCandidate  = "candidate"  // what was handed in says so itself, or what a fact was drawn from
	ByDetector   = "detector"   // sensitive.Detect
	ByDefault    = "default"
	byRule       = "rule:"
)

// Decision says what one field of a memory became, and through whom.
type Decision struct {
	Field string `json:"field"`
	Value any    `json:"value"`
	By    string `json:"by"`
	Was   any    `json:"was,omitempty"` // what it would have been without By; absent when nothing was overridden
}

// RuleProblem is a rule, or one field of it, that could not be applied. It quotes nothing of what was
// classified.
type RuleProblem struct {
	Rule    string `json:"rule"`
	Field   string `json:"field"` // when, or set.FIELD
	Problem string `json:"problem"`
}

// Explanation is what came of classifying one thing.
type Explanation struct {
	Classification memory.Classification
	Decisions      []Decision    // every field, in a fixed order; tags once more for each rule that adds some
	Matched        []string      // rules whose condition held, in order
	Problems       []RuleProblem // rules that count as not matching because they could not be evaluated, and fields that were refused
	Policy         string        // Hash of the policy in force; empty without rules
}

// Metadata is what history keeps of an explanation: names and a hash, no content. It is empty when
// neither a rule nor a detector had a say and nothing went wrong.
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

// Deciding lists the rules that decided at least one field, in their order.
func (e Explanation) Deciding() []string {
	var out []string
	for _, name := range e.Matched {
		if slices.ContainsFunc(e.Decisions, func(d Decision) bool { return d.By == byRule+name }) {
			out = append(out, name)
		}
	}
	return out
}

// Apply returns the classification with the rules' overrides, and who decided what. See Explain.
func (p *Policy) Apply(cl memory.Classification, in Input) (memory.Classification, []Decision) {
	e := p.Explain(cl, in)
	return e.Classification, e.Decisions
}

// Explain applies the rules to a classification and says what happened.
//
// Rules are tried from the top. A rule sees the classification as the rules above it left it, and the
// first rule that sets a field wins for that field, over whatever the candidate, the classifier and
// the detectors say. Tags are different: every rule that matches adds its own, and where there are
// more than schema.MaxTags the last of the memory's own give way.
//
// What follows from a field follows an override too, unless a rule sets it: the decay and the deletion
// policy of another type, and of a pinned memory. Three things hold against any rule:
//
//   - a pinned memory has importance 1 (document 002 "Importance and Tags")
//   - a type can be given to a candidate only; a fact is semantic, and a record has the payload of its type
//   - a derived memory is trusted no more than its sources
//
// No rule can name another tenant or agent, and tier and typology follow the type, so that an episode
// is never persistent. A rule whose condition cannot be evaluated counts as not matching.
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
			if err != nil || !matches {
				continue
			}
			e.Matched = append(e.Matched, r.name)
			for _, s := range r.set {
				if problem := a.set(r.name, s); problem != "" {
					e.Problems = append(e.Problems, RuleProblem{Rule: r.name, Field: "set." + s.field.name, Problem: problem})
				}
			}
		}
	}
	e.Classification, e.Decisions = a.state, a.decisions()
	return e
}

// policyApplication is one Explain at work.
type policyApplication struct {
	in    Input
	base  memory.Classification // as the classifier had it
	state memory.Classification // with the overrides so far
	by    map[string]string     // rule by field
	added []Decision            // of tags
	own   int                   // tags of the memory itself; those of rules stand behind them
}

// describe brings the variables that rules may change up to date.
func (a *policyApplication) describe(vars map[string]any) {
	vars["type"], vars["category"], vars["sensitivity"] = string(a.state.Type), string(a.state.Category), string(a.state.Sensitivity)
	vars["confidence"], vars["importance"], vars["pinned"] = a.state.Confidence, a.state.Importance, a.state.Pinned
	vars["tags"] = append([]string{}, a.state.Tags...)
	vars["scope"] = cmp.Or(a.state.Scope, a.in.Principal.Scope)
	vars["visibility"] = string(cmp.Or(a.state.Visibility, a.in.Visibility))
}

// set lets a rule set a field, and returns why it may not.
func (a *policyApplication) set(name string, s policySetting) (problem string) {
	field := s.field.name
	if field == "tags" {
		a.addTags(name, s.value.([]string))
		return ""
	}
	if a.by[field] != "" {
		return "" // a rule above has set it
	}
	switch {
	case field == "type" && a.in.Kind != KindCandidate:
		return "the type of a " + string(a.in.Kind) + " is that of its payload"
	case field == "visibility" && s.value == any(schema.VisibilityGroup) && a.in.Principal.PolicyGroup == "":
		return "the principal has no policy group"
	case field == "scope" && schema.UserOf(a.in.Principal.Scope) != "" && s.value != any(a.in.Principal.Scope):
		return "what is a user's stays in the user's scope"
	case field == "importance" && a.state.Pinned:
		return "a pinned memory has importance 1"
	case field == "decay.points" && a.state.Decay.Curve != schema.CurveCustom:
		return "a rule above has set another curve"
	case field == "source_trust" && a.in.TrustCap != nil && s.value.(float64) > *a.in.TrustCap:
		return "it is derived from what is trusted less"
	}
	a.by[field] = name
	s.field.write(&a.state, s.value)
	switch field {
	case "type":
		a.state.Tier, a.state.Typology = memory.Placement(a.state.Type)
		decay := memory.DefaultDecay(a.state.Type)
		for i := range policyFields {
			if f := &policyFields[i]; strings.HasPrefix(f.name, "decay.") && a.by[f.name] == "" {
				f.write(&a.state, f.read(memory.Classification{Decay: decay}, a.in))
			}
		}
		a.followDeletion()
	case "decay.curve":
		if a.state.Decay.Curve != schema.CurveCustom {
			a.state.Decay.Points = nil
		}
	case "pinned":
		a.followDeletion()
		switch {
		case a.state.Pinned:
			a.state.Importance = 1
		case a.by["importance"] == "":
			a.state.Importance = a.unpinnedImportance()
		}
	}
	return ""
}

// followDeletion gives the deletion policy that goes with type and pin, where nobody chose one.
func (a *policyApplication) followDeletion() {
	if a.by["deletion_policy"] == "" && a.in.Kind != KindRecord {
		a.state.DeletionPolicy = memory.DefaultDeletion(a.state.Type, a.state.Pinned)
	}
}

// unpinnedImportance is what the memory is worth when a rule takes its pin away.
func (a *policyApplication) unpinnedImportance() float64 {
	switch given := a.in.Candidate.Importance; {
	case !a.base.Pinned:
		return a.base.Importance
	case given != nil && memory.InUnit(*given):
		return *given
	case a.in.Kind == KindFact:
		return a.base.Confidence
	default:
		return memory.DefaultImportance(a.in.Candidate.SourceKind)
	}
}

func (a *policyApplication) addTags(name string, tags []string) {
	was, tagged := slices.Clone(a.state.Tags), a.state.Tags
	for _, tag := range tags {
		switch {
		case slices.Contains(tagged, tag):
			continue
		case len(tagged) == schema.MaxTags && a.own == 0:
			continue // rules alone have filled it
		case len(tagged) == schema.MaxTags:
			a.own--
			tagged = slices.Delete(slices.Clone(tagged), a.own, a.own+1)
		}
		tagged = append(slices.Clip(tagged), tag)
	}
	if slices.Equal(was, tagged) {
		return
	}
	a.state.Tags = tagged
	a.added = append(a.added, Decision{Field: "tags", Value: slices.Clone(tagged), By: byRule + name, Was: was})
}

// decisions lists every field with who decided it.
func (a *policyApplication) decisions() []Decision {
	out := make([]Decision, 0, len(policyFields)+len(a.added))
	for i := range policyFields {
		f := &policyFields[i]
		if f.name == "tags" && len(a.added) > 0 {
			out = append(out, a.added...)
			continue
		}
		d := Decision{Field: f.name, Value: f.read(a.state, a.in)}
		switch decider := a.by[f.name]; {
		case decider != "":
			d.By, d.Was = byRule+decider, f.read(a.base, a.in)
		default:
			d.By, d.Was = a.origin(f)
		}
		out = append(out, d)
	}
	return out
}

// origin says who decided a field that no rule sets.
func (a *policyApplication) origin(f *policyField) (by string, was any) {
	c, now, before := &a.in.Candidate, f.read(a.state, a.in), f.read(a.base, a.in)
	if !equalValues(now, before) { // it followed a rule's type or pin
		followed := a.by["type"]
		if a.by["pinned"] != "" && (followed == "" || f.name == "importance") {
			followed = a.by["pinned"]
		}
		if f.name == "decay.points" && a.by["decay.curve"] != "" {
			followed = a.by["decay.curve"]
		}
		return byRule + followed, before
	}
	said := func(yes bool, otherwise string) (string, any) {
		if yes {
			return ByCandidate, nil
		}
		return otherwise, nil
	}
	record := a.in.Kind == KindRecord
	switch f.name {
	case "type":
		return said(record, ByClassifier)
	case "category":
		return said(a.in.Kind != KindFact && c.Category.Valid(), ByClassifier)
	case "sensitivity":
		declared := cmp.Or(c.Sensitivity, schema.SensitivityLow)
		if len(a.base.Detected) > 0 && sensitive.Rank(a.base.Sensitivity) > sensitive.Rank(declared) {
			return ByDetector, string(declared)
		}
		return said(c.Sensitivity.Valid(), ByDefault)
	case "confidence":
		if a.in.Kind == KindFact {
			return ByClassifier, nil
		}
		return said(record, ByDefault)
	case "importance":
		if a.in.Kind == KindFact {
			return ByClassifier, nil
		}
		return said(record || a.state.Pinned || c.Importance != nil, ByDefault)
	case "pinned":
		return said(a.state.Pinned, ByDefault)
	case "tags":
		return said(len(a.state.Tags) > 0, ByDefault)
	case "scope":
		return said(a.in.Principal.Scope != "", ByDefault)
	case "visibility":
		return said(a.in.Visibility != schema.VisibilityPrivate, ByDefault)
	case "tier", "typology":
		return ByDefault, nil
	default:
		return said(record, ByDefault)
	}
}

// policyField is one field of a classification, as rules and explanations name it.
type policyField struct {
	name string
	// parse reads a value from a file, and says what it has to be when it is not; nil where rules
	// cannot set the field.
	parse func(yamlValue) (value any, problem string)
	read  func(memory.Classification, Input) any // as it is shown: strings, numbers, booleans, lists
	write func(*memory.Classification, any)
}

// policyFields lists the fields in the order in which explanations show them.
var policyFields []policyField

func init() { // here, because parse functions lead back to the table
	decay := func(name string, parse func(yamlValue) (any, string), read func(memory.Decay) any, write func(*memory.Decay, any)) policyField {
		return policyField{"decay." + name, parse, func(c memory.Classification, _ Input) any { return read(c.Decay) },
			func(c *memory.Classification, v any) { write(&c.Decay, v) }}
	}
	length := func(d time.Duration) any { return memory.FormatAge(d) }
	asAge := func(v any) time.Duration {
		switch v := v.(type) {
		case time.Duration:
			return v
		default:
			d, _ := ParseAge(v.(string))
			return d
		}
	}
	policyFields = []policyField{
		{"type", oneOf(schema.TypeEpisodic, schema.TypeSemantic, schema.TypeWorking, schema.TypeCompetence, schema.TypePlanGraph),
			func(c memory.Classification, _ Input) any { return string(c.Type) },
			func(c *memory.Classification, v any) { c.Type = v.(schema.MemoryType) }},
		{"tier", nil, func(c memory.Classification, _ Input) any { return string(c.Tier) }, nil},
		{"typology", nil, func(c memory.Classification, _ Input) any { return string(c.Typology) }, nil},
		{"category", oneOf(schema.CategoryFact, schema.CategoryPreference, schema.CategoryDecision, schema.CategoryProcedural,
			schema.CategorySemantic, schema.CategoryRule, schema.CategoryLearning, schema.CategoryIssue),
			func(c memory.Classification, _ Input) any { return string(c.Category) },
			func(c *memory.Classification, v any) { c.Category = v.(schema.Category) }},
		{"sensitivity", oneOf(schema.SensitivityHyper.AtMost()...),
			func(c memory.Classification, _ Input) any { return string(c.Sensitivity) },
			func(c *memory.Classification, v any) { c.Sensitivity = v.(schema.Sensitivity) }},
		{"confidence", unitNumber, func(c memory.Classification, _ Input) any { return c.Confidence }, func(c *memory.Classification, v any) { c.Confidence = v.(float64) }},
		{"pinned", trueOrFalse, func(c memory.Classification, _ Input) any { return c.Pinned }, func(c *memory.Classification, v any) { c.Pinned = v.(bool) }},
		{"importance", unitNumber, func(c memory.Classification, _ Input) any { return c.Importance }, func(c *memory.Classification, v any) { c.Importance = v.(float64) }},
		{"tags", tagNames, func(c memory.Classification, _ Input) any { return append([]string{}, c.Tags...) }, nil},
		decay("curve", oneOf(schema.CurveExponential, schema.CurveLinear, schema.CurveCustom),
			func(d memory.Decay) any { return string(d.Curve) }, func(d *memory.Decay, v any) { d.Curve = curveOf(v) }),
		decay("points", curvePoints, func(d memory.Decay) any { return d.ShownPoints() }, func(d *memory.Decay, v any) { d.Points = pointsOf(v) }),
		decay("half_life", halfLifeOf, func(d memory.Decay) any { return length(d.HalfLife) }, func(d *memory.Decay, v any) { d.HalfLife = asAge(v) }),
		decay("min_salience", unitNumber, func(d memory.Decay) any { return d.MinSalience }, func(d *memory.Decay, v any) { d.MinSalience = v.(float64) }),
		decay("max_age", maxAgeOf, func(d memory.Decay) any { return length(d.MaxAge) }, func(d *memory.Decay, v any) { d.MaxAge = asAge(v) }),
		decay("floor", unitNumber, func(d memory.Decay) any { return d.Floor }, func(d *memory.Decay, v any) { d.Floor = v.(float64) }),
		decay("reinforcement_gain", unitNumber, func(d memory.Decay) any { return d.ReinforcementGain }, func(d *memory.Decay, v any) { d.ReinforcementGain = v.(float64) }),
		{"deletion_policy", oneOf(schema.DeleteAutoPrune, schema.DeleteManualOnly, schema.DeleteNever),
			func(c memory.Classification, _ Input) any { return string(c.DeletionPolicy) },
			func(c *memory.Classification, v any) { c.DeletionPolicy = v.(schema.DeletionPolicy) }},
		{"scope", textUpTo(schema.MaxNameLength), func(c memory.Classification, in Input) any { return cmp.Or(c.Scope, in.Principal.Scope) },
			func(c *memory.Classification, v any) { c.Scope = v.(string) }},
		{"visibility", oneOf(schema.VisibilityPrivate, schema.VisibilityGroup, schema.VisibilityShared, schema.VisibilityGlobal),
			func(c memory.Classification, in Input) any { return string(cmp.Or(c.Visibility, in.Visibility)) },
			func(c *memory.Classification, v any) { c.Visibility = v.(schema.Visibility) }},
		{"revision_policy", oneOf(schema.PolicyReplace, schema.PolicyFork, schema.PolicyContest),
			func(c memory.Classification, _ Input) any {
				return string(cmp.Or(c.RevisionPolicy, schema.PolicyReplace))
			},
			func(c *memory.Classification, v any) { c.RevisionPolicy = v.(schema.RevisionPolicy) }},
		{"source_trust", unitNumber,
			func(c memory.Classification, in Input) any {
				switch {
				case c.SourceTrust != nil:
					return *c.SourceTrust
				case in.TrustCap != nil:
					return *in.TrustCap
				}
				return 1.0
			},
			func(c *memory.Classification, v any) { trust := v.(float64); c.SourceTrust = &trust }},
	}
}

func curveOf(v any) schema.DecayCurve {
	if s, ok := v.(string); ok {
		return schema.DecayCurve(s)
	}
	return v.(schema.DecayCurve)
}

// pointsOf are the points of a curve. As they are shown they come from a type's default alone, and that has none.
func pointsOf(v any) []memory.DecayPoint {
	points, _ := v.([]memory.DecayPoint)
	return points
}

// equalValues compares two values of a field as they are shown.
func equalValues(a, b any) bool {
	if x, ok := a.([]string); ok {
		y, ok := b.([]string)
		return ok && slices.Equal(x, y)
	}
	return a == b
}

// policyCandidate is what rules see of a candidate.
type policyCandidate struct {
	Content     string    `cel:"content"`
	SourceKind  string    `cel:"source_kind"`
	Speaker     string    `cel:"speaker"`
	Session     string    `cel:"session"`
	OccurredAt  time.Time `cel:"occurred_at"`
	Tags        []string  `cel:"tags"`
	Category    string    `cel:"category"`
	Sensitivity string    `cel:"sensitivity"`
	Importance  float64   `cel:"importance"`
	Refs        []string  `cel:"refs"` // kinds of the evidence
}

// policyPrincipal is what rules see of the principal.
type policyPrincipal struct {
	Tenant      string `cel:"tenant"`
	Agent       string `cel:"agent"`
	Project     string `cel:"project"`
	Scope       string `cel:"scope"`
	User        string `cel:"user"`
	PolicyGroup string `cel:"policy_group"`
}

// policyFact is what rules see of a claim.
type policyFact struct {
	Subject   string `cel:"subject"`
	Predicate string `cel:"predicate"`
	Object    string `cel:"object"`
}

// newPolicyVars returns the variables of conditions that no rule changes.
func newPolicyVars(in Input, cl memory.Classification) map[string]any {
	c, p := &in.Candidate, in.Principal
	candidate := policyCandidate{Content: c.Content, SourceKind: string(c.SourceKind), Speaker: c.Speaker, Session: c.Session,
		Tags: append([]string{}, c.Tags...), Category: string(c.Category), Sensitivity: string(c.Sensitivity), Refs: []string{}}
	if in.Kind == KindCandidate {
		candidate.SourceKind = string(cmp.Or(c.SourceKind, schema.SourceObservation))
	}
	if c.OccurredAt != nil {
		candidate.OccurredAt = c.OccurredAt.UTC()
	}
	if c.Importance != nil {
		candidate.Importance = *c.Importance
	}
	for _, ref := range c.Refs {
		candidate.Refs = append(candidate.Refs, ref.Kind)
	}
	return map[string]any{
		"kind":      string(in.Kind),
		"candidate": candidate,
		"principal": policyPrincipal{Tenant: p.Tenant, Agent: p.Agent, Project: p.Project, Scope: p.Scope, User: schema.UserOf(p.Scope), PolicyGroup: p.PolicyGroup},
		"detected":  append([]string{}, cl.Detected...),
		"fact":      policyFact{Subject: in.Claim.Subject, Predicate: in.Claim.Predicate, Object: in.Claim.Object},
	}
}

// RecordInput is what rules see of a full record with the given text.
func RecordInput(m schema.MemoryRecord, text string, p schema.Principal) Input {
	in := Input{Kind: KindRecord, Principal: p, Visibility: m.Visibility, Candidate: schema.Candidate{
		Content: text, Speaker: m.Who, Session: m.Session, Refs: m.Provenance.Sources, Category: m.Category, Tags: m.Tags,
		Sensitivity: m.Sensitivity, Importance: &m.Importance}}
	if !m.OccurredAt.IsZero() {
		in.Candidate.OccurredAt = &m.OccurredAt
	}
	if m.Type == schema.TypeSemantic {
		in.Claim = memory.RecordClaim(memory.PayloadOf[schema.SemanticPayload](m))
	}
	in.Principal = p.Owner()
	in.Principal.Scope = cmp.Or(in.Principal.Scope, m.Scope)
	return in
}
