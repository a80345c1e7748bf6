package policy

import (
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	"github.com/mneme/mneme/schema"
)

var (
	sensitivityName = oneOf(schema.SensitivityHyper.AtMost()...)
	disclosureName  = oneOf("withhold", schema.RedactedMetadata, schema.RedactedSummary)
)

// trustRules reads the trust section of a rules file (docs/trust.md).
func (f *policyFile) trustRules(node yamlValue) TrustRules {
	out := TrustRules{Environments: map[string]schema.Sensitivity{}, Above: map[schema.Sensitivity]schema.Redaction{}}
	members, ok := f.object(node, "trust", "trust.", "environments", "above_limit")
	if !ok {
		return out
	}
	if v := members["environments"]; v != nil {
		f.environments(v, out.Environments)
	}
	if v := members["above_limit"]; v != nil {
		levels := make([]string, 0, 4)
		for _, level := range schema.SensitivityPublic.Above() {
			levels = append(levels, string(level))
		}
		chosen, _ := f.object(v, "trust.above_limit", "trust.above_limit.", levels...)
		for _, level := range levels {
			v := chosen[level]
			if v == nil {
				continue
			}
			value, problem := disclosureName(v)
			if problem != "" {
				f.add(v, "trust.above_limit."+level, "%s", problem)
				continue
			}
			if how := value.(schema.Redaction); how != "withhold" {
				out.Above[schema.Sensitivity(level)] = how
			}
		}
	}
	return out
}

// environments reads limits by the names of environments, which are not case-sensitive.
func (f *policyFile) environments(node yamlValue, out map[string]schema.Sensitivity) {
	const path = "trust.environments"
	if node.Kind != yaml.MappingNode {
		f.add(node, path, "must be a mapping of environments to sensitivities")
		return
	}
	for i := 0; i+1 < len(node.Content); i += 2 {
		key, v := node.Content[i], resolveAlias(node.Content[i+1])
		at := path + "." + printableKey(key)
		name := strings.ToLower(key.Value)
		if key.Kind != yaml.ScalarNode || strings.TrimSpace(name) == "" ||
			utf8.RuneCountInString(name) > schema.MaxNameLength {
			f.add(key, at, "must be the name of an environment")
			continue
		}
		if _, twice := out[name]; twice {
			f.add(key, at, "is given twice")
			continue
		}
		value, problem := sensitivityName(v)
		if problem != "" {
			f.add(v, at, "%s", problem)
			continue
		}
		out[name] = value.(schema.Sensitivity)
	}
}
