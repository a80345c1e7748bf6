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
		"of one's own memory":          {a, of(memory.HistoryOfMemory, a, private, schema.SensitivityLow), true},
		"of a memory that is shared":   {a, of(memory.HistoryOfMemory, b, shared, schema.SensitivityLow), true},
		"of another's memory":          {a, of(memory.HistoryOfMemory, b, private, schema.SensitivityLow), false},
		"of what is too sensitive":     {a, of(memory.HistoryOfMemory, a, private, schema.SensitivityHigh), false},
		"of one's own candidate":       {a, of(memory.HistoryOfCandidate, a, public, schema.SensitivityLow), true},
		"of another's candidate":       {a, of(memory.HistoryOfCandidate, b, public, schema.SensitivityLow), false},
		"of a candidate too sensitive": {a, of(memory.HistoryOfCandidate, a, public, schema.SensitivityHigh), false},
		"of the user's candidate": {maya, of(memory.HistoryOfCandidate, hers, private, schema.SensitivityLow),
			true},
		"of another user's candidate": {maya, of(memory.HistoryOfCandidate, toms, private, schema.SensitivityLow),
			false},
		"of one's own, forgotten":         {a, of(memory.HistoryOfForgotten, a, "", ""), true},
		"of another's, forgotten":         {a, of(memory.HistoryOfForgotten, b, "", ""), false},
		"of what was forgotten, a user's": {maya, of(memory.HistoryOfForgotten, a, "", ""), false},
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
		`{"successor":"seen","beside":"hidden"}`:                 `{"successor":"seen","beside":"hidden"}`,
		`{"evidence":[1]}`:                                       `{"evidence":[1]}`,
		`{}`:                                                     `{}`,
	} {
		e := memory.ShowHistory(schema.HistoryEntry{Reason: "why", Metadata: json.RawMessage(metadata)}, seen)
		require.JSONEq(t, want, string(e.Metadata))
		require.Equal(t, want != metadata, e.Reason == memory.WithheldReason, metadata)
	}
}
