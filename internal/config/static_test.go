package config_test

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mneme/mneme/inference"
	"github.com/mneme/mneme/internal/config"
	"github.com/mneme/mneme/store/vector"
)

func TestTheStaticEmbedderIsConfigured(t *testing.T) {
	clean(t)
	t.Setenv("MNEME_EMBEDDER", "static")
	brain := func() (inference.Brain, error) {
		c, err := config.Load()
		require.NoError(t, err)
		return c.NewBrain(t.Context())
	}
	_, err := brain()
	require.ErrorContains(t, err, "MNEME_EMBED_MODEL_DIR")
	require.ErrorContains(t, err, "make model")

	dir := filepath.Join(t.TempDir(), "pets")
	t.Setenv("MNEME_EMBED_MODEL_DIR", dir)
	_, err = brain()
	require.ErrorContains(t, err, "there is no directory")

	require.NoError(t, os.Mkdir(dir, 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "tokenizer.json"),
		[]byte(`{"normalizer": {"type": "BertNormalizer"},
		"pre_tokenizer": {"type": "BertPreTokenizer"}, "model": {"type": "WordPiece", "vocab": {"cat": 0, "dog": 1}}}`),
		0o600))
	header := `{"embeddings":{"dtype":"I8","shape":[2,2],"data_offsets":[0,4]}}`
	table := append(binary.LittleEndian.AppendUint64(nil, uint64(len(header))), header+"\x01\x00\x00\x01"...)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "model.safetensors"), table, 0o600))
	made, err := brain()
	require.NoError(t, err)
	require.NotNil(t, made.Extractor, "the rest is by rules")
	model := made.Embedder.Model()
	require.True(t, strings.HasPrefix(model.Name, "pets:static:"), model.Name)
	require.Equal(t, 2, model.Dimensions)

	// A remote endpoint is not used for the space of a static table.
	t.Setenv("MNEME_EMBEDDER", "openai")
	c, err := config.Load()
	require.NoError(t, err)
	_, err = c.OtherEmbedder(model)
	require.ErrorIs(t, err, vector.ErrNoEmbedder)
}
