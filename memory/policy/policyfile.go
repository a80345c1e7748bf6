package policy

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	"github.com/mneme/mneme/memory"
	"github.com/mneme/mneme/memory/normalize"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/schema/yamlfile"
)

// Limits of a rules file.
const (
	MaxBytes = 1 << 20
	MaxRules = 1000
)

// Error has the problems of a rules file, by rule and field. errors.As also finds a *schema.ValidationError in it.
type Error struct {
	Fields []schema.FieldError
}

// Error implements error.
func (e *Error) Error() string {
	return "policy: " + strings.TrimPrefix((&schema.ValidationError{Fields: e.Fields}).Error(), "invalid request: ")
}

// Unwrap returns the same fields as a *schema.ValidationError.
func (e *Error) Unwrap() error { return &schema.ValidationError{Fields: e.Fields} }

// Parse parses and compiles a rules file (docs/policy.md). It reports all problems at once, as an *Error whose fields
// name the rule by position and name, such as "rules[2] (payroll).when".
func Parse(data []byte) (*Policy, error) {
	f := policyFile{}
	if members, ok := f.Read(data, MaxBytes, "rules", "trust"); ok {
		f.document(members)
	}
	if len(f.Problems) > 0 {
		return nil, &Error{f.Problems}
	}
	sum := sha256.Sum256(data)
	return &Policy{rules: f.rules, trust: f.trust, hash: hex.EncodeToString(sum[:6])}, nil
}

// yamlValue is a node of the file.
type yamlValue = *yaml.Node

// policyFile is the state of one Parse.
type policyFile struct {
	yamlfile.File
	rules []policyRule
	trust TrustRules
}

func (f *policyFile) document(members map[string]yamlValue) {
	if node := members["trust"]; node != nil {
		f.trust = f.trustRules(node)
	}
	list := members["rules"]
	switch {
	case list == nil: // a file may have only trust
		return
	case list.Kind != yaml.SequenceNode:
		f.Add(list, "rules", "must be a list")
		return
	case len(list.Content) > MaxRules:
		f.Add(list, "rules", "must hold at most %d rules", MaxRules)
		return
	}
	seen := map[string]bool{}
	for i, node := range list.Content {
		f.rule(i, yamlfile.Resolve(node), seen)
	}
}

var ruleName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$`)

func (f *policyFile) rule(i int, node yamlValue, seen map[string]bool) {
	path := fmt.Sprintf("rules[%d]", i)
	if node.Kind == yaml.MappingNode { // so that each error can name the rule
		for k := 0; k+1 < len(node.Content); k += 2 {
			if v := yamlfile.Resolve(node.Content[k+1]); node.Content[k].Value == "name" &&
				ruleName.MatchString(v.Value) {
				path += " (" + v.Value + ")"
				break
			}
		}
	}
	members, ok := f.Object(node, path, "name", "description", "when", "set")
	if !ok {
		return
	}
	r := policyRule{}
	switch v := members["name"]; {
	case v == nil:
		f.Add(node, path+".name", "is required")
	case !isString(v) || !ruleName.MatchString(v.Value):
		f.Add(v, path+".name", "must be 1 to 64 letters, digits, dots, hyphens and underscores")
	case seen[v.Value]:
		f.Add(v, path+".name", "is the name of a rule above")
	default:
		r.name = v.Value
		seen[v.Value] = true
	}
	if v := members["description"]; v != nil {
		if !isString(v) {
			f.Add(v, path+".description", "must be a text")
		}
		r.description = strings.TrimSpace(v.Value)
	}
	switch v := members["when"]; {
	case v == nil:
		f.Add(node, path+".when", "is required")
	case v.Kind != yaml.ScalarNode || strings.TrimSpace(v.Value) == "":
		f.Add(v, path+".when", "must be an expression")
	default:
		compiled, problems := compileCondition(v.Value)
		for _, problem := range problems {
			f.Add(v, path+".when", "%s", problem)
		}
		r.when = compiled
	}
	if v := members["set"]; v == nil {
		f.Add(node, path+".set", "is required")
	} else {
		r.set = f.settings(v, path+".set")
	}
	f.rules = append(f.rules, r)
}

// settings reads the settings of a rule.
func (f *policyFile) settings(node yamlValue, path string) []policySetting {
	var top, nested []string
	for i := range policyFields {
		if name := policyFields[i].name; policyFields[i].parse == nil {
			continue
		} else if inner, ok := strings.CutPrefix(name, "decay."); ok {
			nested = append(nested, inner)
		} else {
			top = append(top, name)
		}
	}
	members, ok := f.Object(node, path, append(top, "decay")...)
	if !ok {
		return nil
	}
	if decay := members["decay"]; decay != nil {
		inner, ok := f.Object(decay, path+".decay", nested...)
		if ok && len(inner) == 0 {
			f.Add(decay, path+".decay", "sets nothing")
		}
		for name, v := range inner {
			members["decay."+name] = v
		}
	} else if len(members) == 0 {
		f.Add(node, path, "sets nothing")
	}
	var out []policySetting
	for i := range policyFields {
		field := &policyFields[i]
		v := members[field.name]
		if v == nil || field.parse == nil {
			continue
		}
		value, problem := field.parse(v)
		if problem != "" {
			f.Add(v, path+"."+field.name, "%s", problem)
			continue
		}
		out = append(out, policySetting{field, value})
	}
	if points := members["decay.points"]; points != nil && !isScalar(members["decay.curve"],
		string(schema.CurveCustom)) {
		f.Add(points, path+".decay.points", "only a custom curve has points: needs curve: custom with it")
	}
	if isScalar(members["pinned"], "true") && members["importance"] != nil {
		f.Add(members["importance"], path+".importance", "a pinned memory has importance 1")
	}
	return out
}

func isString(v yamlValue) bool { return v.Kind == yaml.ScalarNode && v.ShortTag() == "!!str" }

func isScalar(v yamlValue, value string) bool {
	return v != nil && v.Kind == yaml.ScalarNode && v.Value == value
}

// oneOf reads one of the given words.
func oneOf[T ~string](values ...T) func(yamlValue) (any, string) {
	words := make([]string, len(values))
	for i, v := range values {
		words[i] = string(v)
	}
	return func(v yamlValue) (any, string) {
		if v.Kind != yaml.ScalarNode || !slices.Contains(words, v.Value) {
			return nil, "must be one of " + strings.Join(words, ", ")
		}
		return T(v.Value), ""
	}
}

// unitNumber reads a number between 0 and 1.
func unitNumber(v yamlValue) (any, string) {
	f, err := strconv.ParseFloat(v.Value, 64)
	if tag := v.ShortTag(); v.Kind != yaml.ScalarNode || tag != "!!float" && tag != "!!int" || err != nil ||
		!memory.InUnit(f) {
		return nil, "must be a number between 0 and 1"
	}
	return f, ""
}

func trueOrFalse(v yamlValue) (any, string) {
	if v.Kind != yaml.ScalarNode || v.ShortTag() != "!!bool" {
		return nil, "must be true or false"
	}
	return strings.EqualFold(v.Value, "true"), ""
}

func tagNames(v yamlValue) (any, string) {
	const problem = "must be a list of at most 32 tags of 1 to 64 characters"
	if v.Kind != yaml.SequenceNode || len(v.Content) == 0 || len(v.Content) > schema.MaxTags {
		return nil, problem
	}
	var tags []string
	for _, node := range v.Content {
		node = yamlfile.Resolve(node)
		if !isString(node) || strings.TrimSpace(node.Value) == "" ||
			utf8.RuneCountInString(node.Value) > schema.MaxTagLength {
			return nil, problem
		}
		tags = append(tags, node.Value)
	}
	return normalize.NormalizeTags(tags), ""
}

// textUpTo reads a text that is not blank.
func textUpTo(most int) func(yamlValue) (any, string) {
	return func(v yamlValue) (any, string) {
		if !isString(v) || strings.TrimSpace(v.Value) == "" || utf8.RuneCountInString(v.Value) > most ||
			strings.ContainsRune(v.Value, 0) {
			return nil, fmt.Sprintf("must be a text of 1 to %d characters", most)
		}
		return v.Value, ""
	}
}

// maxAgeSpan bounds half-lives and ages: a century.
const maxAgeSpan = 100 * 365 * 24 * time.Hour

func halfLifeOf(v yamlValue) (any, string) {
	d, ok := ParseAge(v.Value)
	if v.Kind != yaml.ScalarNode || !ok || d < time.Second || d > maxAgeSpan {
		return nil, "must be a time such as 36h, 30d or 2w, from a second to a hundred years"
	}
	return d, ""
}

func maxAgeOf(v yamlValue) (any, string) {
	if isScalar(v, "none") {
		return time.Duration(0), ""
	}
	d, ok := ParseAge(v.Value)
	if v.Kind != yaml.ScalarNode || !ok || d < time.Second || d > maxAgeSpan {
		return nil, "must be none, or a time such as 36h, 30d or 2w, from a second to a hundred years"
	}
	return d, ""
}

// curvePoints reads the points of a custom curve: a list of mappings with after and share, as in schema.DecayProfile.
func curvePoints(v yamlValue) (any, string) {
	problem := fmt.Sprintf(
		"must be a list of at most %d points such as {after: 7d, share: 0.5}, in whole seconds of at most a "+
			"hundred years, "+
			"each later than the previous one and with no larger share; the share at 0s is 1",
		schema.MaxDecayPoints,
	)
	if v.Kind != yaml.SequenceNode || len(v.Content) == 0 || len(v.Content) > schema.MaxDecayPoints {
		return nil, problem
	}
	var points []memory.DecayPoint
	for i, node := range v.Content {
		point, ok := curvePoint(yamlfile.Resolve(node))
		switch {
		case !ok, point.After == 0 && point.Share != 1:
			return nil, problem
		case i > 0 && (point.After <= points[i-1].After || point.Share > points[i-1].Share):
			return nil, problem
		}
		points = append(points, point)
	}
	return points, ""
}

func curvePoint(v yamlValue) (memory.DecayPoint, bool) {
	var p memory.DecayPoint
	if v.Kind != yaml.MappingNode || len(v.Content) != 4 {
		return p, false
	}
	said := map[string]bool{}
	for i := 0; i < len(v.Content); i += 2 {
		key, value := v.Content[i].Value, yamlfile.Resolve(v.Content[i+1])
		switch key {
		case "after":
			after, ok := ParseAge(value.Value) // does not accept 0s
			if ok = ok && value.Value != "none" || value.Value == "0s"; value.Kind != yaml.ScalarNode || !ok ||
				after > maxAgeSpan ||
				after%time.Second != 0 {
				return p, false
			}
			p.After = after
		case "share":
			share, wrong := unitNumber(value)
			if wrong != "" {
				return p, false
			}
			p.Share = share.(float64)
		}
		said[key] = true
	}
	return p, said["after"] && said["share"]
}

var agePart = regexp.MustCompile(`^(\d+(?:\.\d+)?)(w|d|h|ms|m|s)`)

// ParseAge parses a duration in weeks, days, hours, minutes, seconds and milliseconds: 2w, 30d, 1d12h, 90m. It rounds
// to milliseconds. "none" is zero, as in FormatAge.
func ParseAge(s string) (time.Duration, bool) {
	if s == "none" {
		return 0, true
	}
	units := map[string]time.Duration{
		"w":  7 * 24 * time.Hour,
		"d":  24 * time.Hour,
		"h":  time.Hour,
		"m":  time.Minute,
		"s":  time.Second,
		"ms": time.Millisecond,
	}
	var total float64
	for s != "" {
		part := agePart.FindStringSubmatch(s)
		if part == nil {
			return 0, false
		}
		n, err := strconv.ParseFloat(part[1], 64)
		if err != nil {
			return 0, false
		}
		total += n * float64(units[part[2]])
		s = s[len(part[0]):]
	}
	if !(total > 0 && total < math.MaxInt64/2) {
		return 0, false
	}
	return time.Duration(math.Round(total/float64(time.Millisecond))) * time.Millisecond, true
}
