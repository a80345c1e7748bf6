package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/mneme/mneme/schema"
)

// mem0Confidence is what an imported memory of Mem0 is held to be worth: a model extracted it, and the
// export does not say how sure it was.
const mem0Confidence = 0.8

// mem0Fields have a place in a record; docs/import.md has the table.
var mem0Fields = []string{"id", "memory", "text", "data", "hash", "metadata", "user_id", "agent_id", "app_id", "run_id", "actor_id", "role", "categories",
	"created_at", "updated_at", "expiration_date", "immutable"}

// readMem0 makes a statement of a memory that Mem0 exported.
func readMem0(data json.RawMessage) (foreign, error) {
	in, err := object(data)
	if err != nil {
		return foreign{}, err
	}
	id, content := textOf(in, "id"), cmp.Or(textOf(in, "memory"), textOf(in, "text"), textOf(in, "data"))
	switch {
	case id == "":
		return foreign{}, invalid("id", "is required")
	case strings.TrimSpace(content) == "":
		return foreign{}, invalid("memory", "is required")
	}
	var out foreign
	for _, name := range slices.Sorted(maps.Keys(in)) {
		if !slices.Contains(mem0Fields, name) && in[name] != nil {
			out.leftOut = append(out.leftOut, name)
		}
	}
	created, ok := foreignTime(textOf(in, "created_at"))
	if in["created_at"] != nil && !ok {
		return foreign{}, invalid("created_at", "must be a time")
	}
	updated, hasUpdated := foreignTime(textOf(in, "updated_at"))
	validity := map[string]any{"mode": "global"}
	if expires := textOf(in, "expiration_date"); expires != "" {
		end, ok := foreignTime(expires)
		if !ok {
			return foreign{}, invalid("expiration_date", "must be a date")
		}
		validity = map[string]any{"mode": "timeboxed", "end": end}
	}
	source := map[string]any{"kind": "event", "ref": "mem0:" + id, "hash": textOf(in, "hash")}
	who := cmp.Or(textOf(in, "actor_id"), textOf(in, "user_id"))
	payload := map[string]any{"kind": "semantic", "subject": cmp.Or(who, "user"), "predicate": schema.PredicateStates, "object": content, "validity": validity}
	if in["immutable"] == true {
		payload["revision_policy"] = "contest" // it is not to be replaced by itself
	}
	tags := mem0Tags(in, &out)
	m := map[string]any{"id": importedID(formatMem0, id, created), "type": "semantic", "confidence": mem0Confidence, "payload": payload,
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

// mem0Tags are the categories, and of the metadata what is a short text, number or boolean, as
// key=value; so are agent and app, which own nothing here.
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
