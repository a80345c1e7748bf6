package workflows_test

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/pgvector/pgvector-go"
	"github.com/stretchr/testify/require"

	"github.com/mneme/mneme/internal/testkit"
	"github.com/mneme/mneme/internal/testkit/harness"
	"github.com/mneme/mneme/schema"
)

// A client that knows only the new value keeps the rest of the sentence, and the new sentence is embedded.
func TestReviseRewritesWithinTheSentence(t *testing.T) {
	t.Parallel()
	h := harness.New(t, nil)
	p := testkit.Principal()
	record := func(content, object string) schema.MemoryRecord {
		m := prefers("Lyon", "")
		m.Content, m.Payload = content, json.RawMessage(`{"kind":"semantic","evidence":[{"kind":"event","ref":"evt://told"}],"subject":"Maya","predicate":"lives_in","object":"`+object+`","validity":{"mode":"global"}}`)
		return m
	}
	id := putRecord(t, h.Temporal, h.TaskQueue, p, record("Maya lives in Lyon and works at Acme.", "Lyon"))
	oslo := record("", "Oslo")
	_, result := revise(t, h.Temporal, h.TaskQueue,
		reviseRequest(p, schema.ReviseSupersede, &oslo, schema.Target{ID: id, IfVersion: 1}))
	require.Equal(t, schema.ReviseApplied, result.Status, result.Why)
	const sentence = "Maya lives in Oslo and works at Acme."
	db, ctx := testkit.Owner(t, h.DatabaseURL), context.Background()
	var content string
	var stored pgvector.Vector
	require.NoError(t, db.QueryRow(ctx,
		`SELECT m.content, e.embedding FROM memories m JOIN memory_embeddings e ON e.tenant = m.tenant
			AND e.memory_id = m.id WHERE m.id = $1`,
		result.Created[0]).Scan(&content, &stored))
	require.Equal(t, sentence, content)
	want, _, err := h.Deps.Brain.Embedder.Embed(ctx, []string{sentence})
	require.NoError(t, err)
	require.InDeltaSlice(t, want[0], stored.Slice(), 1e-6)

	// A bare value that would replace a whole sentence is refused, and nothing changes.
	said := known(t, h, p, "Ben lives in Rome and works at Acme.")[0]
	bare := record("", "Bari")
	bare.Payload = json.RawMessage(`{"kind":"semantic","evidence":[{"kind":"event","ref":"evt://told"}],"subject":"Ben","predicate":"states","object":"Bari","validity":{"mode":"global"}}`)
	req := reviseRequest(p, schema.ReviseSupersede, &bare, schema.Target{ID: said, IfVersion: 1})
	_, result = revise(t, h.Temporal, h.TaskQueue, req)
	require.Equal(t, schema.ReviseInvalid, result.Status)
	req.Replace = "Rome"
	_, result = revise(t, h.Temporal, h.TaskQueue, req)
	require.Equal(t, schema.ReviseApplied, result.Status, result.Why)
	require.NoError(t, db.QueryRow(ctx, `SELECT content FROM memories WHERE id = $1`, result.Created[0]).Scan(&content))
	require.Equal(t, "Ben lives in Bari and works at Acme.", content)
}
