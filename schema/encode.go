package schema

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/mneme/mneme/schema/check"
)

// Shape is one of the two shapes of records in document 004 §15A.
type Shape string

// The shapes. Both contain every field. Fields that one version of §15A lacks are added to it.
const (
	ShapeAppendix  Shape = "appendix"  // the schema appendix: lifecycle, provenance with sources, relations
	ShapeCanonical Shape = "canonical" // the canonical schemas: decay_profile, provenance as a list, relationships
)

// EncodeRecord encodes a record in a shape. Both shapes decode to the same record. json.Marshal uses ShapeAppendix.
func EncodeRecord(m MemoryRecord, shape Shape) ([]byte, error) {
	if len(m.Payload) == 0 {
		m.Payload = json.RawMessage(`{}`)
	}
	encoded, err := json.Marshal(m)
	if err != nil {
		return nil, fmt.Errorf("encode record: %w", check.JSONProblem(err))
	}
	if shape == ShapeAppendix || shape == "" {
		return encoded, nil
	}
	if shape != ShapeCanonical {
		return nil, &ValidationError{Fields: []FieldError{{Field: "shape", Problem: "must be appendix or canonical"}}}
	}
	tree, err := check.BuildTree(encoded)
	record, ok := tree.(map[string]any)
	if err != nil || !ok {
		return nil, fmt.Errorf("encode record: %w", check.JSONProblem(err))
	}
	m.toCanonical(record)
	out, err := check.EncodeTree(record)
	if err != nil {
		return nil, fmt.Errorf("encode record: %w", check.JSONProblem(err))
	}
	return out, nil
}

// toCanonical renames members in place. It is the inverse of decoder.unite.
func (m *MemoryRecord) toCanonical(record map[string]any) {
	decay := m.Lifecycle.Decay
	profile := map[string]any{"function": decay.Curve, "half_life": formatSeconds(decay.HalfLifeSeconds),
		"floor":              decay.Floor,
		"reinforcement_gain": decay.ReinforcementGain, "min_salience": decay.MinSalience}
	if decay.MaxAgeSeconds != 0 {
		profile["max_age"] = formatSeconds(decay.MaxAgeSeconds)
	}
	if len(decay.Points) > 0 {
		profile["points"] = decay.Points
	}
	record["decay_profile"] = profile
	lifecycle, _ := record["lifecycle"].(map[string]any)
	delete(lifecycle, "decay")
	for name, v := range lifecycle {
		record[name] = v
	}
	delete(record, "lifecycle")

	provenance, _ := record["provenance"].(map[string]any)
	record["created_by"] = provenance["created_by"]
	sources, _ := provenance["sources"].([]any)
	toSourceRefs(sources)
	record["provenance"] = append([]any{}, sources...)

	if list, ok := record["relations"].([]any); ok {
		record["relationships"] = list
	} else {
		record["relationships"] = []any{}
	}
	delete(record, "relations")
	if record["audit_log"] == nil {
		record["audit_log"] = []any{}
	}

	payload, ok := record["payload"].(map[string]any)
	if !ok || payload["kind"] != string(m.Type) || !m.Type.Valid() {
		return // not a payload of its type
	}
	delete(payload, "kind")
	rename := func(from, to string) {
		if v, ok := payload[from]; ok {
			delete(payload, from)
			payload[to] = v
		}
	}
	switch m.Type {
	case TypeEpisodic:
		rename("artifacts", "artifact_refs")
	case TypeSemantic:
		evidence, _ := payload["evidence"].([]any)
		toSourceRefs(evidence)
	case TypeCompetence:
		rename("recipe", "procedure")
		toSteps(payload)
	case TypePlanGraph:
		rename("inputs_schema", "input_schema")
		rename("outputs_schema", "output_schema")
	case TypeWorking:
	}
}

// toSourceRefs renames the members of refs to those of the canonical ProvenanceRef.
func toSourceRefs(refs []any) {
	for _, v := range refs {
		ref, ok := v.(map[string]any)
		if !ok {
			continue
		}
		kind := ref["kind"]
		if kind == "tool_call" {
			kind = "tool"
		}
		ref["source_type"], ref["source_id"] = kind, ref["ref"]
		delete(ref, "kind")
		delete(ref, "ref")
	}
}

// toSteps converts fallbacks to steps.
func toSteps(payload map[string]any) {
	list, _ := payload["fallbacks"].([]any)
	if full, ok := payload["fallback_steps"].([]any); ok {
		payload["fallbacks"] = full
		delete(payload, "fallback_steps")
		return
	}
	for i, text := range list {
		list[i] = map[string]any{"step": text}
	}
}

// isoDuration matches an ISO 8601 duration without months and years, whose length does not depend on a calendar.
var isoDuration = regexp.MustCompile(`^P(?:(\d+)W|(?:(\d+)D)?(?:T(?:(\d+)H)?(?:(\d+)M)?(?:(\d+)S)?)?)$`)

// parseSeconds reads a duration in whole seconds: ISO 8601 (P90D, PT1H30M) or Go's form (2160h0m0s).
func parseSeconds(s string) (int64, bool) {
	if len(s) > 64 {
		return 0, false
	}
	if m := isoDuration.FindStringSubmatch(s); m != nil && strings.ContainsAny(s, "0123456789") &&
		!strings.HasSuffix(s, "T") {
		var total int64
		for i, unit := range []int64{7 * 86400, 86400, 3600, 60, 1} {
			if m[i+1] == "" {
				continue
			}
			n, err := strconv.ParseInt(m[i+1], 10, 64)
			if err != nil || n > MaxDurationSeconds {
				return 0, false
			}
			total += n * unit
		}
		return total, total <= MaxDurationSeconds
	}
	d, err := time.ParseDuration(s)
	if err != nil || d%time.Second != 0 {
		return 0, false
	}
	return int64(d / time.Second), true
}

// formatSeconds formats a duration in ISO 8601.
func formatSeconds(n int64) string { return fmt.Sprintf("PT%dS", n) }
