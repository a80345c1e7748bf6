package exchange

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"unicode/utf8"

	"github.com/mneme/mneme/internal/cli/app"
	"github.com/mneme/mneme/schema"
)

// MembraneInverse are relations that Membrane stores at both ends. They are dropped here, because the other end has the
// relation under the name that records use.
var MembraneInverse = map[string]bool{"superseded_by": true, "supported_by": true, "contradicted_by": true,
	"contested_by": true, "derived_semantic": true,
	"mentioned_in": true, "referenced_by": true, "used_by": true, "caused_by": true, "dependency_of": true,
	"fact_subject_of": true, "fact_object_of": true}

// MembraneFields are the fields of a Membrane record that are imported; docs/import.md has the table.
var MembraneFields = []string{"id", "type", "sensitivity", "confidence", "salience", "scope",
	"tags", "created_at", "updated_at", "lifecycle", "provenance",
	"relations", "payload", "audit_log"}

// readMembrane converts a record that Membrane exported: the shape of document 004 §15A with an audit log and
// additions of Membrane.
func readMembrane(data json.RawMessage) (foreign, error) {
	in, err := object(data)
	if err != nil {
		return foreign{}, err
	}
	var out foreign
	if in["type"] == "entity" { // Mneme finds entities in the texts of memories
		return out, app.Invalid("type", "is entity: entities are not memories; they are linked again")
	}
	for _, name := range slices.Sorted(maps.Keys(in)) {
		if !slices.Contains(MembraneFields, name) {
			out.drop(in, name, name)
		}
	}
	if salience, ok := in["salience"].(json.Number); ok {
		if f, err := salience.Float64(); err == nil && f > 1 { // Membrane's salience has no bound
			in["salience"] = 1
		}
	}
	membraneRelations(in)
	membraneProvenance(in)
	membraneAudit(in)
	if payload, ok := in["payload"].(map[string]any); ok {
		membranePayloadOf(payload, &out)
		membraneEvidence(in, payload)
	}
	out.record, err = recordOf(in)
	return out, err
}

// drop removes a field and records that it existed.
func (m *foreign) drop(from map[string]any, name, path string) {
	if v, ok := from[name]; ok {
		delete(from, name)
		if v != nil {
			m.leftOut = append(m.leftOut, path)
		}
	}
}

func membraneRelations(in map[string]any) {
	list, _ := in["relations"].([]any)
	kept := []any{}
	for _, v := range list {
		r, ok := v.(map[string]any)
		if !ok {
			kept = append(kept, v) // validation reports it
			continue
		}
		predicate := textOf(r, "predicate")
		if MembraneInverse[predicate] {
			continue
		}
		if predicate == "contests" {
			r["predicate"] = "contradicts"
		}
		delete(r, "created_at")
		again := func(k any) bool {
			other, _ := k.(map[string]any)
			return other["predicate"] == r["predicate"] && other["target_id"] == r["target_id"]
		}
		if !slices.ContainsFunc(kept, again) {
			kept = append(kept, r)
		}
	}
	in["relations"] = kept
}

func membraneProvenance(in map[string]any) {
	provenance, _ := in["provenance"].(map[string]any)
	sources, _ := provenance["sources"].([]any)
	for _, v := range sources {
		source, ok := v.(map[string]any)
		if !ok {
			continue
		}
		if provenance["created_by"] == nil && textOf(source, "created_by") != "" {
			provenance["created_by"] = source["created_by"] // the record has one
		}
		delete(source, "created_by")
	}
}

// membraneEvidence names the record in Membrane as the evidence of a fact that has none.
func membraneEvidence(in, payload map[string]any) {
	provenance, _ := in["provenance"].(map[string]any)
	sources, _ := provenance["sources"].([]any)
	evidence, _ := payload["evidence"].([]any)
	if id := textOf(in, "id"); in["type"] == "semantic" && len(sources)+len(evidence) == 0 && id != "" {
		payload["evidence"] = []any{map[string]any{"kind": "event", "ref": "membrane:" + id}}
	}
}

// membraneAudit converts Membrane's actions reinforce and decay to changes of a memory's salience. An entry without an
// actor or a rationale gets one, because history requires both.
func membraneAudit(in map[string]any) {
	log, _ := in["audit_log"].([]any)
	for _, v := range log {
		entry, ok := v.(map[string]any)
		if !ok {
			continue
		}
		if action := textOf(entry, "action"); action == "reinforce" || action == "decay" {
			entry["action"] = string(schema.AuditModify)
			entry["rationale"] = action + ": " + textOf(entry, "rationale")
		}
		if textOf(entry, "actor") == "" {
			entry["actor"] = "membrane"
		}
		if textOf(entry, "rationale") == "" {
			entry["rationale"] = "(none given)"
		}
	}
}

// membranePayloadOf moves Membrane's additional payload fields to the record's fields for them.
func membranePayloadOf(payload map[string]any, out *foreign) {
	switch textOf(payload, "kind") {
	case "episodic":
		nodes, _ := payload["tool_graph"].([]any)
		for i, v := range nodes {
			node, ok := v.(map[string]any)
			if !ok {
				continue
			}
			if result := textOf(node, "result"); result != "" &&
				utf8.RuneCountInString(result) <= schema.MaxRefLength &&
				node["result_ref"] == nil {
				node["result_ref"] = result
				delete(node, "result")
			}
			out.drop(node, "result", "payload.tool_graph.result")
			out.drop(node, "timestamp", "payload.tool_graph.timestamp")
			if textOf(node, "id") == "" {
				node["id"] = fmt.Sprintf("call-%d", i+1)
			}
		}
		environment, ok := payload["environment"].(map[string]any)
		if !ok {
			return
		}
		if dir, ok := environment["working_directory"]; ok && environment["working_dir"] == nil {
			environment["working_dir"] = dir
			delete(environment, "working_directory")
		}
		if version, ok := environment["os_version"]; ok {
			context, isObject := environment["context"].(map[string]any)
			if !isObject {
				context = map[string]any{}
			}
			context["os_version"] = version
			environment["context"] = context
			delete(environment, "os_version")
		}
	case "plan_graph":
		metrics, ok := payload["metrics"].(map[string]any)
		if !ok {
			return
		}
		if at, ok := metrics["last_executed_at"]; ok {
			metrics["last_used_at"] = at
			delete(metrics, "last_executed_at")
		}
		out.drop(metrics, "execution_count", "payload.metrics.execution_count")
	}
}
