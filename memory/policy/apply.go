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

// policyApplication is the state of one Explain.
type policyApplication struct {
	in    Input
	base  memory.Classification // the classifier's result
	state memory.Classification // with the overrides so far
	by    map[string]string     // rule by field
	added []Decision            // decisions about tags
	own   int                   // number of the memory's own tags, which come before those of rules
}

// describe updates the variables that rules may change.
func (a *policyApplication) describe(vars map[string]any) {
	vars["type"], vars["category"], vars["sensitivity"] = string(
		a.state.Type,
	), string(
		a.state.Category,
	), string(
		a.state.Sensitivity,
	)
	vars["confidence"], vars["importance"], vars["pinned"] = a.state.Confidence, a.state.Importance, a.state.Pinned
	vars["tags"] = append([]string{}, a.state.Tags...)
	vars["scope"] = cmp.Or(a.state.Scope, a.in.Principal.Scope)
	vars["visibility"] = string(cmp.Or(a.state.Visibility, a.in.Visibility))
}

// set applies a setting of a rule, and returns the problem if the rule may not set the field.
func (a *policyApplication) set(name string, s policySetting) (problem string) {
	field := s.field.name
	if field == "tags" {
		a.addTags(name, s.value.([]string))
		return ""
	}
	if a.by[field] != "" {
		return "" // an earlier rule has set it
	}
	switch {
	case field == "type" && a.in.Kind != KindCandidate:
		return "the type of a " + string(a.in.Kind) + " is that of its payload"
	case field == "visibility" && s.value == any(schema.VisibilityGroup) && a.in.Principal.PolicyGroup == "":
		return "the principal has no policy group"
	case field == "scope" && schema.UserOf(a.in.Principal.Scope) != "" && s.value != any(a.in.Principal.Scope):
		return "a user's memory stays in the user's scope"
	case field == "importance" && a.state.Pinned:
		return "a pinned memory has importance 1"
	case field == "decay.points" && a.state.Decay.Curve != schema.CurveCustom:
		return "an earlier rule has set another curve"
	case field == "source_trust" && a.in.TrustCap != nil && s.value.(float64) > *a.in.TrustCap:
		return "it is derived from a less trusted memory"
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

// raise applies the sensitivity of a rule that may match, if it is higher.
func (a *policyApplication) raise(r *policyRule) {
	for _, s := range r.set {
		if s.field.name == "sensitivity" &&
			sensitive.Rank(s.value.(schema.Sensitivity)) > sensitive.Rank(a.state.Sensitivity) {
			a.set(r.name, s)
		}
	}
}

// followDeletion sets the default deletion policy for type and pin, unless a rule has set one.
func (a *policyApplication) followDeletion() {
	if a.by["deletion_policy"] == "" && a.in.Kind != KindRecord {
		a.state.DeletionPolicy = memory.DefaultDeletion(a.state.Type, a.state.Pinned)
	}
}

// unpinnedImportance returns the importance of a memory whose pin a rule removes.
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

// decisions returns each field with the source of its value.
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

// origin returns the source of a field that no rule sets.
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

// policyField is one field of a classification in rules and explanations.
type policyField struct {
	name string
	// parse reads a value from a file and describes the problem of an invalid one. It is nil if rules cannot set the
	// field.
	parse func(yamlValue) (value any, problem string)
	read  func(memory.Classification, Input) any // in the form of explanations: strings, numbers, booleans, lists
	write func(*memory.Classification, any)
}

// policyFields lists the fields in the order in which explanations show them.
var policyFields = []policyField{
	{
		"type",
		oneOf(schema.TypeEpisodic, schema.TypeSemantic, schema.TypeWorking, schema.TypeCompetence,
			schema.TypePlanGraph),
		func(c memory.Classification, _ Input) any { return string(c.Type) },
		func(c *memory.Classification, v any) { c.Type = v.(schema.MemoryType) },
	},
	{"tier", nil, func(c memory.Classification, _ Input) any { return string(c.Tier) }, nil},
	{"typology", nil, func(c memory.Classification, _ Input) any { return string(c.Typology) }, nil},
	{"category", oneOf(schema.CategoryFact, schema.CategoryPreference, schema.CategoryDecision,
		schema.CategoryProcedural,
		schema.CategorySemantic, schema.CategoryRule, schema.CategoryLearning, schema.CategoryIssue),
		func(c memory.Classification, _ Input) any { return string(c.Category) },
		func(c *memory.Classification, v any) { c.Category = v.(schema.Category) }},
	{"sensitivity", oneOf(schema.SensitivityHyper.AtMost()...),
		func(c memory.Classification, _ Input) any { return string(c.Sensitivity) },
		func(c *memory.Classification, v any) { c.Sensitivity = v.(schema.Sensitivity) }},
	{
		"confidence",
		unitNumber,
		func(c memory.Classification, _ Input) any { return c.Confidence },
		func(c *memory.Classification, v any) { c.Confidence = v.(float64) },
	},
	{
		"pinned",
		trueOrFalse,
		func(c memory.Classification, _ Input) any { return c.Pinned },
		func(c *memory.Classification, v any) { c.Pinned = v.(bool) },
	},
	{
		"importance",
		unitNumber,
		func(c memory.Classification, _ Input) any { return c.Importance },
		func(c *memory.Classification, v any) { c.Importance = v.(float64) },
	},
	{"tags", tagNames, func(c memory.Classification, _ Input) any { return append([]string{}, c.Tags...) }, nil},
	decayField("curve", oneOf(schema.CurveExponential, schema.CurveLinear, schema.CurveCustom),
		func(d memory.Decay) any { return string(d.Curve) }, func(d *memory.Decay, v any) { d.Curve = curveOf(v) }),
	decayField(
		"points",
		curvePoints,
		func(d memory.Decay) any { return d.ShownPoints() },
		func(d *memory.Decay, v any) { d.Points = pointsOf(v) },
	),
	decayField(
		"half_life",
		halfLifeOf,
		func(d memory.Decay) any { return memory.FormatAge(d.HalfLife) },
		func(d *memory.Decay, v any) { d.HalfLife = ageOf(v) },
	),
	decayField(
		"min_salience",
		unitNumber,
		func(d memory.Decay) any { return d.MinSalience },
		func(d *memory.Decay, v any) { d.MinSalience = v.(float64) },
	),
	decayField(
		"max_age",
		maxAgeOf,
		func(d memory.Decay) any { return memory.FormatAge(d.MaxAge) },
		func(d *memory.Decay, v any) { d.MaxAge = ageOf(v) },
	),
	decayField(
		"floor",
		unitNumber,
		func(d memory.Decay) any { return d.Floor },
		func(d *memory.Decay, v any) { d.Floor = v.(float64) },
	),
	decayField(
		"reinforcement_gain",
		unitNumber,
		func(d memory.Decay) any { return d.ReinforcementGain },
		func(d *memory.Decay, v any) { d.ReinforcementGain = v.(float64) },
	),
	{"deletion_policy", oneOf(schema.DeleteAutoPrune, schema.DeleteManualOnly, schema.DeleteNever),
		func(c memory.Classification, _ Input) any { return string(c.DeletionPolicy) },
		func(c *memory.Classification, v any) { c.DeletionPolicy = v.(schema.DeletionPolicy) }},
	{
		"scope",
		textUpTo(schema.MaxNameLength),
		func(c memory.Classification, in Input) any { return cmp.Or(c.Scope, in.Principal.Scope) },
		func(c *memory.Classification, v any) { c.Scope = v.(string) },
	},
	{
		"visibility",
		oneOf(schema.VisibilityPrivate, schema.VisibilityGroup, schema.VisibilityShared, schema.VisibilityGlobal),
		func(c memory.Classification, in Input) any { return string(cmp.Or(c.Visibility, in.Visibility)) },
		func(c *memory.Classification, v any) { c.Visibility = v.(schema.Visibility) },
	},
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

func decayField(name string, parse func(yamlValue) (any, string), read func(memory.Decay) any,
	write func(*memory.Decay, any)) policyField {
	return policyField{"decay." + name, parse, func(c memory.Classification, _ Input) any { return read(c.Decay) },
		func(c *memory.Classification, v any) { write(&c.Decay, v) }}
}

// ageOf returns a duration that is set by rules, or has the form of explanations.
func ageOf(v any) time.Duration {
	switch v := v.(type) {
	case time.Duration:
		return v
	default:
		d, _ := ParseAge(v.(string))
		return d
	}
}

func curveOf(v any) schema.DecayCurve {
	if s, ok := v.(string); ok {
		return schema.DecayCurve(s)
	}
	return v.(schema.DecayCurve)
}

// pointsOf returns the points of a curve. Other forms come only from defaults of types, which have no points.
func pointsOf(v any) []memory.DecayPoint {
	points, _ := v.([]memory.DecayPoint)
	return points
}

// equalValues reports whether two values of a field are equal in the form of explanations.
func equalValues(a, b any) bool {
	if x, ok := a.([]string); ok {
		y, ok := b.([]string)
		return ok && slices.Equal(x, y)
	}
	return a == b
}
