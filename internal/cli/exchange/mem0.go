package exchange

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/mneme/mneme/internal/cli/app"
	"github.com/mneme/mneme/schema"
)

// Mem0Confidence is the confidence of a memory that was imported from Mem0: a model extracted it, and the export does
// not say how sure the model was.
const Mem0Confidence = 0.8

// Mem0Fields are the fields of a Mem0 memory that are imported, each with the form of its value. The table in
// docs/import.md describes them.
var Mem0Fields = map[string]mem0Form{"id": mem0Text, "memory": mem0Text, "text": mem0Text,
	"data": mem0Text, "hash": mem0Text, "metadata": mem0Object,
	"user_id": mem0Text, "agent_id": mem0Text, "app_id": mem0Text, "run_id": mem0Text, "actor_id": mem0Text,
	"role": mem0Text, "categories": mem0List,
	"created_at": mem0Time, "updated_at": mem0Time, "expiration_date": mem0Time, "immutable": mem0Flag}

// mem0Form is the form that the value of a field must have. A null or absent field has no form.
type mem0Form struct {
	Want string
	has  func(any) bool
}

var (
	mem0Text   = mem0Form{"text", isA[string]}
	mem0Object = mem0Form{"an object", isA[map[string]any]}
	mem0List   = mem0Form{"a list", isA[[]any]}
	mem0Flag   = mem0Form{"true or false", isA[bool]}
	mem0Time   = mem0Form{"a time or a date", func(v any) bool {
		text, isText := v.(string)
		_, ok := ForeignTime(text)
		return ok || isText && text == ""
	}}
)

func isA[T any](v any) bool { _, ok := v.(T); return ok }

// readMem0 converts a memory that Mem0 exported into a semantic record.
func readMem0(data json.RawMessage) (foreign, error) {
	in, err := object(data)
	if err != nil {
		return foreign{}, err
	}
	var bad []schema.FieldError
	for _, name := range slices.Sorted(maps.Keys(Mem0Fields)) {
		if v := in[name]; v != nil && !Mem0Fields[name].has(v) {
			bad = append(bad, schema.FieldError{Field: name, Problem: "must be " + Mem0Fields[name].Want})
		}
	}
	if len(bad) > 0 {
		return foreign{}, &schema.ValidationError{Fields: bad}
	}
	id, said := textOf(in, "id"), "memory"
	for _, name := range []string{"memory", "text", "data"} {
		if strings.TrimSpace(textOf(in, name)) != "" {
			said = name
			break
		}
	}
	content := textOf(in, said)
	switch {
	case id == "":
		return foreign{}, app.Invalid("id", "is required")
	case strings.TrimSpace(content) == "":
		return foreign{}, app.Invalid("memory", "is required")
	case len(content) > schema.MaxContentBytes:
		return foreign{}, app.Invalid(said, "must be at most %d bytes, got %d", schema.MaxContentBytes, len(content))
	}
	speaker := "user_id"
	if textOf(in, "actor_id") != "" {
		speaker = "actor_id"
	}
	out := foreign{user: textOf(in, "user_id"), names: map[string]string{"scope": "user_id",
		"content": said, "payload.object": said, "who": speaker, "payload.subject": speaker,
		"agent_session_id":          "run_id",
		"provenance.sources[0].ref": "id", "provenance.sources[0].hash": "hash", "created_at": "created_at",
		"payload.validity.end": "expiration_date"}}
	for _, name := range slices.Sorted(maps.Keys(in)) {
		if _, known := Mem0Fields[name]; !known && in[name] != nil {
			out.leftOut = append(out.leftOut, name)
		}
	}
	created, ok := ForeignTime(textOf(in, "created_at"))
	updated, hasUpdated := ForeignTime(textOf(in, "updated_at"))
	validity := map[string]any{"mode": "global"}
	if end, ok := ForeignTime(textOf(in, "expiration_date")); ok {
		validity = map[string]any{"mode": "timeboxed", "end": end}
	}
	source := map[string]any{"kind": "event", "ref": "mem0:" + id, "hash": textOf(in, "hash")}
	who := textOf(in, speaker)
	payload := map[string]any{"kind": "semantic", "subject": cmp.Or(who, "user"), "predicate": schema.PredicateStates,
		"object": content, "validity": validity}
	if in["immutable"] == true {
		payload["revision_policy"] = "contest" // nothing replaces it automatically
	}
	tags := mem0Tags(in, &out)
	m := map[string]any{"id": ImportedID(formatMem0, id, created), "type": "semantic",
		"confidence": Mem0Confidence, "payload": payload,
		"content": content, "who": who, "tags": tags, "agent_session_id": textOf(in, "run_id"),
		"provenance": map[string]any{"sources": []any{source}, "created_by": "mem0"}}
	if ok {
		source["timestamp"] = created
		m["created_at"], m["occurred_at"], m["updated_at"] = created, created, created
	}
	if ok && hasUpdated && updated.After(created) {
		m["updated_at"] = updated
	}
	out.record, err = recordOf(m)
	return out, err
}

// mem0Tags returns the tags of a memory: its categories, and KEY=VALUE for agent, app, role and each entry of the
// metadata that is a short text, a number or a boolean. The agent and the app do not own the record.
func mem0Tags(in map[string]any, out *foreign) []string {
	tags := []string{}
	add := func(tag, field string) {
		tag = strings.Join(strings.Fields(tag), " ")
		if tag == "" || len([]rune(tag)) > schema.MaxTagLength || len(tags) == schema.MaxTags {
			out.leftOut = append(out.leftOut, field)
			return
		}
		if !slices.Contains(tags, tag) {
			tags = append(tags, tag)
		}
	}
	categories, _ := in["categories"].([]any)
	for _, c := range categories {
		text, _ := c.(string)
		add(text, "categories")
	}
	for _, name := range []string{"agent_id", "app_id", "role"} {
		if v := textOf(in, name); v != "" {
			add(name+"="+v, name)
		}
	}
	metadata, _ := in["metadata"].(map[string]any)
	for _, key := range slices.Sorted(maps.Keys(metadata)) {
		switch v := metadata[key].(type) {
		case string, bool, json.Number:
			add(fmt.Sprintf("%s=%v", key, v), "metadata."+key)
		case nil:
		default:
			out.leftOut = append(out.leftOut, "metadata."+key)
		}
	}
	return tags
}
