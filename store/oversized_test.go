package store_test

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/mneme/mneme/internal/testkit"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/store/pg"
)

// Content above the limit is stored whole in an artifact. The memory has its beginning and a reference to the
// artifact.
func TestOversizedContentIsAnArtifact(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	long := "Ana lives in Lisbon. " + strings.Repeat("The log goes on. ", 22_000)
	sum := sha256.Sum256([]byte(long))
	address := schema.ArtifactPrefix + hex.EncodeToString(sum[:])
	in := w.input(schema.Candidate{Content: long, SourceKind: schema.SourceUserInput},
		schema.Candidate{Content: "Bo likes figs.", SourceKind: schema.SourceUserInput})
	var invalid *schema.ValidationError
	require.ErrorAs(t, in.Request.Validate(), &invalid)
	require.Equal(t, "candidates[0].content", invalid.Fields[0].Field)
	in.Request.Oversized = schema.OversizedArtifact
	require.NoError(t, in.Request.Validate())
	ack, err := w.Stage(ctx, in)
	require.NoError(t, err)
	require.Equal(t, long, in.Request.Candidates[0].Content, "the caller's own request is unchanged")

	id := uuid.MustParse(ack.MemoryIDs[0])
	m := w.get(id)
	require.True(t, strings.HasPrefix(m.Content, "Ana lives in Lisbon. The log goes on."))
	require.Less(t, len(m.Content), 13_000)
	require.Equal(t, []schema.Ref{{Kind: "artifact", Ref: address}}, m.Provenance.Sources)
	kept, data, err := w.GetArtifact(ctx, w.p, address)
	require.NoError(t, err)
	require.Equal(t, []any{long, "text/plain"}, []any{string(data), kept.MediaType})
	require.Equal(t, 1, w.count("memory_artifacts", "memory_id = $1", id))
	require.Equal(t, 1, w.count("artifacts", "true"))
	left, err := w.LeaseExtract(ctx, w.rangeOf(ack), w.now)
	require.NoError(t, err)
	require.Len(t, left, 2, "facts are extracted from its beginning")

	// Another text with the same beginning is another memory; the same text is the same memory.
	in = w.input(schema.Candidate{Content: long, SourceKind: schema.SourceUserInput},
		schema.Candidate{Content: long + "It ends here.", SourceKind: schema.SourceUserInput})
	in.Request.Oversized = schema.OversizedArtifact
	again, err := w.Stage(ctx, in)
	require.NoError(t, err)
	require.Equal(t, []int{0}, again.Deduped)
	require.Equal(t, 2, w.count("artifacts", "true"))

	// The artifact is removed with the memory.
	w.forgetAll(w.forgets(schema.ForgetErase, onlyNamed(id)))
	_, _, err = w.GetArtifact(ctx, w.p, address)
	require.ErrorIs(t, err, pg.ErrNotFound)
	testkit.CheckInvariants(t, w.owner)

	// In shadow mode no artifact is stored.
	in = w.input(schema.Candidate{Content: long + "Of a shadow.", SourceKind: schema.SourceUserInput})
	in.Request.Oversized, in.Policy.Mode = schema.OversizedArtifact, schema.ModeShadow
	before := w.count("artifacts", "true")
	_, err = w.Stage(ctx, in)
	require.NoError(t, err)
	require.Equal(t, before, w.count("artifacts", "true"))
}

func TestOversizedContentNeedsRoomForAReference(t *testing.T) {
	t.Parallel()
	c := schema.Candidate{Content: strings.Repeat("a word ", 50_000)}
	for range schema.MaxRefs {
		c.Refs = append(c.Refs, schema.Ref{Kind: "event", Ref: uuid.NewString()})
	}
	r := schema.IngestRequest{Principal: schema.Principal{Tenant: "t", Agent: "a"}, Candidates: []schema.Candidate{c},
		Oversized: schema.OversizedArtifact}
	require.ErrorContains(t, r.Validate(), "room for the reference")
	r.Oversized = "shorten"
	require.ErrorContains(t, r.Validate(), "oversized")
}
