package schema

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/google/uuid"

	"github.com/mneme/mneme/schema/check"
)

// MaxRecordBytes is the maximum size of one record as JSON. It leaves room for a long audit log.
const MaxRecordBytes = 4 << 20

// Defaults of a record.
const (
	DefaultSalience    = 1.0 // no decay yet
	DefaultImportance  = 0.8 // that of an explicit memory
	DefaultSourceTrust = 1.0
	DefaultGain        = 0.1 // decay must be reversible by reinforcement (document 004 §15A.7)
	AnySignal          = "*" // the signal of a trigger that has only conditions
)

// UnmarshalJSON reads a record in either shape of document 004 §15A: the schema appendix (lifecycle, provenance with
// sources, relations, payload with kind) or the canonical schemas (decay_profile, provenance as a list,
// relationships, payload without kind). It converts the names of the canonical schemas to those of the appendix. It
// returns no error for a well-formed object. Unknown fields, wrong types and duplicates are recorded, and validation
// reports them with their paths. A record that is nested too deeply or is too large is not decoded, which validation
// reports too.
//
// Missing values have defaults: full salience, trusted sources, the importance of an explicit memory, DefaultGain, and
// weight 1 for relations. An id that is not a UUID becomes the external id.
func (m *MemoryRecord) UnmarshalJSON(data []byte) error {
	d := decode(data, m)
	m.problems, m.unbuilt = d.Fields, d.broken
	return nil
}

// DecodeRecord reads exactly one record and checks it like Validate. All fields that document 004 §15A requires must
// be present. The *ValidationError uses the names of the input.
func DecodeRecord(data []byte) (MemoryRecord, error) {
	var m MemoryRecord
	d := decode(data, &m)
	p := check.Problems{Fields: d.Fields}
	if !d.broken {
		for _, path := range d.missing(m.lacking()) {
			p.Add(path, "is required")
		}
		m.problems = p.Fields
		p = check.Problems{}
		m.validate(&p, "")
		m.problems = nil
	}
	for i := range p.Fields {
		p.Fields[i].Field = d.asGiven(p.Fields[i].Field)
	}
	if err := p.Err(); err != nil {
		return MemoryRecord{}, err
	}
	return m, nil
}

// decoder reads one record and collects its problems.
type decoder struct {
	check.Problems
	canonical bool              // the record has the shape of the canonical schemas
	broken    bool              // nothing was decoded
	seen      map[string]bool   // paths in the appendix that have a value
	given     map[string]string // path in the input by path in the appendix, where they differ
}

func decode(data []byte, m *MemoryRecord) *decoder {
	*m = MemoryRecord{}
	d := &decoder{seen: map[string]bool{}, given: map[string]string{}}
	if _, ok := check.Scan(data, "", MaxPayloadDepth+1, MaxRecordBytes, &d.Problems); !ok {
		d.broken = true
		return d
	}
	tree, err := check.BuildTree(data)
	if err != nil {
		d.broken = true
		d.Add("(json)", "%s", check.JSONProblem(err).Problem)
		return d
	}
	record, ok := tree.(map[string]any)
	if !ok {
		d.broken = true
		d.Add("(json)", "must be an object")
		return d
	}
	d.unite(record)
	d.fill(record, reflect.ValueOf(m).Elem(), "")
	d.complete(m)
	return d
}

// complete sets the defaults of a record.
func (d *decoder) complete(m *MemoryRecord) {
	if !d.seen["confidence"] {
		d.Add("confidence", "is required")
	}
	for path, set := range map[string]func(){
		"salience":     func() { m.Salience = DefaultSalience },
		"importance":   func() { m.Importance = DefaultImportance },
		"source_trust": func() { m.SourceTrust = DefaultSourceTrust },

		"lifecycle.decay.reinforcement_gain": func() { m.Lifecycle.Decay.ReinforcementGain = DefaultGain },
	} {
		if !d.seen[path] {
			set()
		}
	}
	for i := range m.Relations {
		if !d.seen[fmt.Sprintf("relations[%d].weight", i)] {
			m.Relations[i].Weight = 1
		}
	}
	d.needPoints(&m.Lifecycle.Decay.Points)
	if id, err := uuid.Parse(m.ID); err == nil && len(m.ID) == len(id.String()) {
		m.ID = id.String()
	} else if m.ID != "" && m.ExternalID == "" {
		m.ID, m.ExternalID = "", m.ID
	}
	if d.canonical && m.UpdatedAt.IsZero() {
		m.UpdatedAt = m.CreatedAt // the canonical shape has no such field
	}
	var payload struct {
		Revision *Revision `json:"revision"`
	}
	if m.Type == TypeSemantic && json.Unmarshal(m.Payload, &payload) == nil && payload.Revision != nil {
		r := payload.Revision
		lift := func(path string, into *string, value string) {
			switch {
			case value == "" || *into == value:
			case *into == "":
				*into = value
			default:
				d.Add("payload.revision."+path, "differs from %s of the record", path)
			}
		}
		lift("status", (*string)(&m.Status), string(r.Status))
		lift("supersedes", &m.Supersedes, r.Supersedes)
		lift("superseded_by", &m.SupersededBy, r.SupersededBy)
	}
}

// required lists the fields that document 004 §15A.2 to §15A.4 require in a complete record. Confidence is required
// in every record.
var required = []string{"id", "type", "sensitivity", "salience", "created_at", "updated_at",
	"lifecycle", "lifecycle.decay", "lifecycle.decay.curve",
	"lifecycle.decay.half_life_seconds", "lifecycle.last_reinforced_at", "provenance", "provenance.sources", "payload"}

// missing lists the required fields that the record lacks, by their names in the input. It lists neither invalid fields
// nor the parts of a missing object.
func (d *decoder) missing(lacking []string) []string {
	var out []string
	for _, path := range required {
		parent, _, nested := cutLast(path, ".")
		if d.canonical && (path == "updated_at" || path == "lifecycle") { // §15A.1 has no such field
			continue
		}
		lost := nested && !d.seen[parent] && !(d.canonical && parent == "lifecycle")
		name := d.asGiven(path)
		wrong := slices.ContainsFunc(d.Fields, func(f FieldError) bool {
			return under(f.Field, name) || under(name, f.Field)
		})
		if (!d.seen[path] || slices.Contains(lacking, path)) && !lost && !wrong {
			out = append(out, name)
		}
	}
	return out
}

func cutLast(s, sep string) (before, after string, found bool) {
	i := strings.LastIndex(s, sep)
	if i < 0 {
		return "", s, false
	}
	return s[:i], s[i+len(sep):], true
}

// under reports whether path is of or a path within it.
func under(path, of string) bool {
	rest, ok := strings.CutPrefix(path, of)
	return ok && (rest == "" || rest[0] == '.' || rest[0] == '[')
}

// asGiven converts a path of the appendix to the path in the input.
func (d *decoder) asGiven(path string) string {
	for end := len(path); end > 0; end = strings.LastIndexAny(path[:end], ".[") {
		if name, ok := d.given[path[:end]]; ok {
			return name + path[end:]
		}
	}
	return path
}

// move renames a member. It reports a problem if both names are used, because one value would be lost.
func (d *decoder) move(from map[string]any, name, path string, into map[string]any, as, intoPath string) {
	v, ok := from[name]
	if !ok {
		return
	}
	delete(from, name)
	if _, both := into[as]; both {
		d.Add(check.Join(path, name), "is given twice, as %s too", check.Join(intoPath, as))
		return
	}
	into[as] = v
	d.given[check.Join(intoPath, as)] = check.Join(path, name)
}

// unite converts the names of the canonical schemas (document 004 §15A.1 to §15A.8) to those of the appendix, in
// place.
func (d *decoder) unite(record map[string]any) {
	if record["type"] == "plan" {
		record["type"] = string(TypePlanGraph)
	}
	if list, ok := record["provenance"].([]any); ok {
		d.canonical = true
		provenance := map[string]any{"sources": list}
		record["provenance"] = provenance
		d.given["provenance.sources"] = "provenance"
		d.refs(list, "provenance.sources", "provenance")
		d.move(record, "created_by", "", provenance, "created_by", "provenance")
	}
	if _, ok := record["relationships"]; ok {
		d.canonical = true
		d.move(record, "relationships", "", record, "relations", "")
	}
	d.lifecycle(record)
	if payload, ok := record["payload"].(map[string]any); ok {
		d.payload(record, payload)
	}
}

// lifecycle moves decay_profile and related fields to their places in the appendix.
func (d *decoder) lifecycle(record map[string]any) {
	outside := []string{"last_reinforced_at", "pinned", "deletion_policy", "decay_due_at"}
	profile, hasProfile := record["decay_profile"]
	if !hasProfile && !(d.canonical && record["lifecycle"] == nil) &&
		!slices.ContainsFunc(outside, func(name string) bool { _, ok := record[name]; return ok }) {
		return
	}
	d.canonical = true
	if record["lifecycle"] == nil {
		record["lifecycle"] = map[string]any{}
		maps.Copy(d.given, map[string]string{"lifecycle.decay": "decay_profile",
			"lifecycle.decay.curve":             "decay_profile.function",
			"lifecycle.decay.half_life_seconds": "decay_profile.half_life",
			"lifecycle.last_reinforced_at":      "last_reinforced_at"})
	}
	lifecycle, ok := record["lifecycle"].(map[string]any)
	if !ok {
		return // the fields stay in place and are reported as unknown
	}
	for _, name := range outside {
		d.move(record, name, "", lifecycle, name, "lifecycle")
	}
	if decay, ok := profile.(map[string]any); ok {
		const from, to = "decay_profile", "lifecycle.decay"
		d.move(decay, "function", from, decay, "curve", to)
		d.seconds(decay, "half_life", "half_life_seconds")
		d.seconds(decay, "max_age", "max_age_seconds")
	}
	d.move(record, "decay_profile", "", lifecycle, "decay", "lifecycle")
}

// seconds reads a duration of a decay profile. A number is in seconds.
func (d *decoder) seconds(decay map[string]any, name, as string) {
	const from, to = "decay_profile", "lifecycle.decay"
	if s, ok := decay[name].(string); ok {
		n, ok := parseSeconds(s)
		if !ok {
			d.Add(check.Join(from, name),
				"must be a number of seconds, or a duration in whole seconds such as P90D, PT1H or 36h")
			delete(decay, name)
			return
		}
		decay[name] = json.Number(strconv.FormatInt(n, 10))
	}
	d.move(decay, name, from, decay, as, to)
}

// refs renames the members of the canonical ProvenanceRef.
func (d *decoder) refs(list []any, path, given string) {
	for i, v := range list {
		ref, ok := v.(map[string]any)
		if !ok {
			continue
		}
		at, from := fmt.Sprintf("%s[%d]", path, i), fmt.Sprintf("%s[%d]", given, i)
		if ref["kind"] == nil && ref["ref"] == nil { // canonical, possibly incomplete
			d.given[at+".kind"], d.given[at+".ref"] = from+".source_type", from+".source_id"
		}
		if ref["source_type"] == "tool" {
			ref["source_type"] = "tool_call"
		}
		d.move(ref, "source_type", from, ref, "kind", at)
		d.move(ref, "source_id", from, ref, "ref", at)
	}
}

// payload renames the fields of the canonical payloads, and sets defaults.
func (d *decoder) payload(record, payload map[string]any) {
	if payload["kind"] == "plan" {
		payload["kind"] = string(TypePlanGraph)
	}
	bare := payload["kind"] == nil // as in the canonical schemas
	if bare {
		if kind, ok := record["type"].(string); ok && MemoryType(kind).Valid() {
			payload["kind"] = kind
		}
	}
	kind, _ := payload["kind"].(string)
	fields, known := payloadFields[MemoryType(kind)]
	if !known {
		return
	}
	const path = "payload"
	rename := func(from, to string) { d.move(payload, from, path, payload, to, path) }
	switch MemoryType(kind) {
	case TypeEpisodic:
		rename("artifact_refs", "artifacts")
		if environment, ok := payload["environment"].(map[string]any); ok {
			d.move(environment, "versions", "payload.environment", environment, "tool_versions", "payload.environment")
		}
	case TypeSemantic:
		if evidence, ok := payload["evidence"].([]any); ok {
			d.refs(evidence, "payload.evidence", "payload.evidence")
		}
		if bare {
			window(payload)
		}
	case TypeCompetence:
		if bare && payload["recipe"] == nil {
			d.given["payload.recipe"] = "payload.procedure"
		}
		rename("procedure", "recipe")
		steps(payload["recipe"])
		if bare {
			triggers(payload["triggers"])
		}
		fallbacks(payload)
	case TypePlanGraph:
		rename("input_schema", "inputs_schema")
		rename("output_schema", "outputs_schema")
		if bare {
			plan(record, payload)
		}
	}
	for name, v := range payload {
		if _, ours := fields[name]; v == nil && ours && name != "object" {
			delete(payload, name)
		}
	}
}

// window sets the mode of the optional ValidityWindow of §15A.4, which does not have one.
func window(payload map[string]any) {
	if payload["validity"] == nil {
		payload["validity"] = map[string]any{}
	}
	validity, ok := payload["validity"].(map[string]any)
	if !ok || validity["mode"] != nil {
		return
	}
	mode := ValidGlobal
	switch {
	case validity["conditions"] != nil:
		mode = ValidConditional
	case validity["start"] != nil || validity["end"] != nil:
		mode = ValidTimeboxed
	}
	validity["mode"] = string(mode)
}

// steps converts texts to steps.
func steps(list any) {
	if list, ok := list.([]any); ok {
		for i, v := range list {
			if text, ok := v.(string); ok {
				list[i] = map[string]any{"step": text}
			}
		}
	}
}

// triggers converts the conditions of §15A.5 to triggers. A text becomes a signal. An object without a signal gets
// AnySignal.
func triggers(list any) {
	items, _ := list.([]any)
	for i, v := range items {
		switch v := v.(type) {
		case string:
			items[i] = map[string]any{"signal": v}
		case map[string]any:
			_, signal := v["signal"]
			_, conditions := v["conditions"]
			switch {
			case signal || len(v) == 0:
			case conditions:
				v["signal"] = AnySignal
			default:
				items[i] = map[string]any{"signal": AnySignal, "conditions": v}
			}
		}
	}
}

// fallbacks converts fallbacks that are steps (§15A.5) to texts (§15A.9). If a step has more than a text, the full
// steps are kept in fallback_steps.
func fallbacks(payload map[string]any) {
	list, _ := payload["fallbacks"].([]any)
	texts, full, more := make([]any, len(list)), make([]any, len(list)), false
	for i, v := range list {
		step, ok := v.(map[string]any)
		if !ok {
			texts[i], full[i] = v, map[string]any{"step": v}
			continue
		}
		text, ok := step["step"].(string)
		if !ok {
			return // validation reports a fallback that is not a text
		}
		texts[i], full[i], more = text, step, more || len(step) > 1
	}
	if len(list) == 0 {
		return
	}
	payload["fallbacks"] = texts
	if _, both := payload["fallback_steps"]; more && !both {
		payload["fallback_steps"] = full
	}
}

// plan sets the id of a plan of §15A.6, which has none, to the id of its record. Edges without a kind get the weaker
// kind.
func plan(record, payload map[string]any) {
	if payload["plan_id"] == nil && record["id"] != nil {
		payload["plan_id"] = record["id"]
	}
	edges, _ := payload["edges"].([]any)
	for _, v := range edges {
		if edge, ok := v.(map[string]any); ok && edge["kind"] == nil {
			edge["kind"] = string(EdgeControl)
		}
	}
}
