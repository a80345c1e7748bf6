package memory_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mneme/mneme/memory"
	"github.com/mneme/mneme/schema"
)

func TestSourcePayload(t *testing.T) {
	t.Parallel()
	s := memory.Source{ID: "c1", Kind: schema.SourceUserInput, Text: "Deploys are on Friday.", By: "maya",
		At: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)}
	for kind, want := range map[schema.MemoryType]string{
		schema.TypeSemantic: `"object":"Deploys are on Friday."`,
		schema.TypeWorking:  `"thread_id":"c1"`,
		schema.TypeEpisodic: `"ref":"candidate:c1"`,
	} {
		s.Type = kind
		encoded, err := json.Marshal(s.Payload())
		require.NoError(t, err)
		require.NoError(t, schema.ValidatePayload(kind, encoded), kind)
		require.Contains(t, string(encoded), want)
	}
	s.Session, s.Ref = "s1", "ticket:7"
	s.Type = schema.TypeWorking
	encoded, err := json.Marshal(s.Payload())
	require.NoError(t, err)
	require.Contains(t, string(encoded), `"thread_id":"s1"`)
	s.Type = schema.TypeEpisodic
	encoded, err = json.Marshal(s.Payload())
	require.NoError(t, err)
	require.Contains(t, string(encoded), `"ref":"ticket:7"`)
}
