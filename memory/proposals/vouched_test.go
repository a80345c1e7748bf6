package proposals_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mneme/mneme/memory/proposals"
	"github.com/mneme/mneme/schema"
)

func TestHandedIn(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.FixedZone("", 3600))
	utc := at.UTC()
	require.Equal(t, []schema.Ref{{Kind: "tool_call", Ref: "candidate:c", Timestamp: &utc},
		{Kind: "event", Ref: "ledger:e", Timestamp: &utc}},
		proposals.HandedIn(schema.SourceToolOutput, "c", "e", at))
	require.Equal(t, []schema.Ref{{Kind: "human", Ref: "candidate:c", Timestamp: &utc}},
		proposals.HandedIn(schema.SourceMemory, "c", "", at))
}

func TestPutEvidence(t *testing.T) {
	t.Parallel()
	source := []schema.Ref{{Kind: "event", Ref: "evt://1"}}
	for _, c := range []struct {
		provenance schema.Provenance
		actor      string
		want       []schema.Ref
	}{
		{schema.Provenance{Sources: source}, "agent:bot", source},
		{schema.Provenance{Sources: source}, "operator:ana", source},
		{schema.Provenance{}, "operator:ana", []schema.Ref{{Kind: "human", Ref: "operator:ana"}}},
		{schema.Provenance{}, "operator", []schema.Ref{{Kind: "human", Ref: "operator"}}},
		{schema.Provenance{}, "user:maya", []schema.Ref{{Kind: "human", Ref: "user:maya"}}},
		{schema.Provenance{CreatedBy: "mem0"}, "importer:mem0",
			[]schema.Ref{{Kind: "observation", Ref: "importer:mem0"}}},
		{schema.Provenance{CreatedBy: "importer:mem0"}, "importer:mem0",
			[]schema.Ref{{Kind: "observation", Ref: "importer:mem0"}}},
		{schema.Provenance{CreatedBy: "membrane"}, "importer:mem0", nil},
		{schema.Provenance{}, "importer:", nil},
		{schema.Provenance{}, "user:", nil},
		{schema.Provenance{}, "agent:bot", nil},
		{schema.Provenance{CreatedBy: "operator:ana"}, "agent:bot", nil},
		{schema.Provenance{}, "ana", nil},
	} {
		require.Equal(t, c.want, proposals.PutEvidence(c.provenance, c.actor), "%+v", c)
	}
	require.Equal(t, source,
		proposals.PayloadEvidence(json.RawMessage(`{"evidence": [{"kind": "event", "ref": "evt://1"}]}`)))
	require.Empty(t, proposals.PayloadEvidence(json.RawMessage(`{"evidence": 1}`)))
}
