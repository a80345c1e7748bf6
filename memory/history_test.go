package memory_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mneme/mneme/memory"
	"github.com/mneme/mneme/schema"
)

func TestMayReadHistory(t *testing.T) {
	t.Parallel()
	a, b := who("a", "p", ""), who("b", "p", "")
	maya := a
	maya.User = "maya"
	low := []schema.Sensitivity{schema.SensitivityLow, schema.SensitivityMedium}
	of := func(kind memory.HistoryKind, owner schema.Principal, v schema.Visibility,
		s schema.Sensitivity) memory.HistorySubject {
		return memory.HistorySubject{Kind: kind, Holding: kept(owner, v), Sensitivity: s}
	}
	hers := a
	hers.Scope = maya.EffectiveScope()
	toms := a
	toms.Scope = "user:tom"
	for name, c := range map[string]struct {
		asker schema.Principal
		of    memory.HistorySubject
		want  bool
	}{
		"own memory":                    {a, of(memory.HistoryOfMemory, a, private, schema.SensitivityLow), true},
		"a shared memory":               {a, of(memory.HistoryOfMemory, b, shared, schema.SensitivityLow), true},
		"another agent's memory":        {a, of(memory.HistoryOfMemory, b, private, schema.SensitivityLow), false},
		"a memory above the ceiling":    {a, of(memory.HistoryOfMemory, a, private, schema.SensitivityHigh), false},
		"own candidate":                 {a, of(memory.HistoryOfCandidate, a, public, schema.SensitivityLow), true},
		"another agent's candidate":     {a, of(memory.HistoryOfCandidate, b, public, schema.SensitivityLow), false},
		"a candidate above the ceiling": {a, of(memory.HistoryOfCandidate, a, public, schema.SensitivityHigh), false},
		"the user's candidate": {maya, of(memory.HistoryOfCandidate, hers, private, schema.SensitivityLow),
			true},
		"another user's candidate": {maya, of(memory.HistoryOfCandidate, toms, private, schema.SensitivityLow),
			false},
		"own forgotten memory":                 {a, of(memory.HistoryOfForgotten, a, "", schema.SensitivityLow), true},
		"a forgotten memory above the ceiling": {a, of(memory.HistoryOfForgotten, a, "", schema.SensitivityHigh), false},
		"another agent's forgotten memory":     {a, of(memory.HistoryOfForgotten, b, "", schema.SensitivityLow), false},
		"a forgotten memory, asked for a user": {maya, of(memory.HistoryOfForgotten, a, "", schema.SensitivityLow), false},
	} {
		require.Equal(t, c.want, memory.MayReadHistory(c.asker, low, c.of), name)
	}
}

func TestShowHistory(t *testing.T) {
	t.Parallel()
	seen := func(id string) bool { return id == "seen" }
	for metadata, want := range map[string]string{
		`{"successor":"seen","evidence":[1],"workflowId":"w"}`:   `{"successor":"seen","evidence":[1],"workflowId":"w"}`,
		`{"successor":"hidden","evidence":[1],"workflowId":"w"}`: `{"workflowId":"w"}`,
		`{"beside":"hidden","evidence":[1]}`:                     `{}`,
		`{"successor":"seen","beside":"hidden"}`:                 `{}`,
		`{"targetMemoryId":"seen","parentId":"seen","factHash":"x"}`: `{"targetMemoryId":"seen","parentId":"seen",` +
			`"factHash":"x"}`,
		`{"targetMemoryId":"hidden","factHash":"x","confidence":1}`: `{"confidence":1}`,
		`{"memory_id":"hidden","parentId":"seen"}`:                  `{}`,
		`{"parentId":"hidden","candidateId":"hidden"}`:              `{}`,
		`{"evidence":[1]}`: `{"evidence":[1]}`,
		`{}`:               `{}`,
	} {
		e := memory.ShowHistory(schema.HistoryEntry{Reason: "why", Metadata: json.RawMessage(metadata)}, seen)
		require.JSONEq(t, want, string(e.Metadata))
		require.Equal(t, want != metadata, e.Reason == memory.WithheldReason, metadata)
	}
}
