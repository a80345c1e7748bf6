package session

import (
	"encoding/json"
	"maps"
	"slices"

	"github.com/mneme/mneme/memory/sensitive"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/schema/check"
)

// Bounds of an environment.
const (
	maxTools       = 100   // versions of tools; further tools are omitted
	maxContext     = 6_000 // bytes of the context; members that do not fit are omitted
	maxEnvironment = 300   // bytes of a text in it
)

// environment has the merged snapshots of a session. A tool or a member in a later snapshot replaces the earlier value.
type environment struct {
	given   bool
	os, dir string
	tools   map[string]string
	context map[string]json.RawMessage
	bytes   int // size of the context
}

func (v *environment) merge(in schema.Environment) {
	v.given = true
	if in.OS != "" {
		v.os = cutBytes(cleanText(in.OS), maxEnvironment)
	}
	if in.WorkingDir != "" {
		v.dir = cutBytes(cleanText(in.WorkingDir), maxEnvironment)
	}
	for _, tool := range slices.Sorted(maps.Keys(in.ToolVersions)) {
		name := cutBytes(cleanText(tool), maxEnvironment/4)
		if _, known := v.tools[name]; !known && len(v.tools) >= maxTools {
			continue
		}
		if v.tools == nil {
			v.tools = map[string]string{}
		}
		v.tools[name] = cutBytes(cleanText(in.ToolVersions[tool]), maxEnvironment/4)
	}
	members, _ := decoded(in.Context).(map[string]any)
	for _, key := range slices.Sorted(maps.Keys(members)) {
		encoded, err := check.EncodeTree(members[key])
		name := cleanText(key)
		before := 0
		if old, known := v.context[name]; known {
			before = len(name) + len(old)
		}
		takes := len(name) + len(encoded)
		if err != nil || depthOf(members[key]) > maxArgDepth || v.bytes-before+takes > maxContext {
			continue
		}
		if v.context == nil {
			v.context = map[string]json.RawMessage{}
		}
		v.context[name] = encoded
		v.bytes += takes - before
	}
}

// payload returns the environment with secrets masked, or nil if there was no snapshot.
func (v *environment) payload() *schema.Environment {
	if !v.given {
		return nil
	}
	out := schema.Environment{OS: v.os, WorkingDir: v.dir, ToolVersions: v.tools}
	if len(v.context) > 0 {
		out.Context, _ = json.Marshal(v.context) // its members are valid JSON: no error
	}
	encoded, err := json.Marshal(out)
	if err != nil {
		return nil // unreachable: all members are JSON
	}
	masked, changed := sensitive.MaskJSON(encoded)
	if !changed {
		out.ToolVersions = maps.Clone(v.tools)
		return &out
	}
	var shown schema.Environment
	if json.Unmarshal(masked, &shown) != nil {
		return nil // unreachable: masking keeps the types of values
	}
	return &shown
}
