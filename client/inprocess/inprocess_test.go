package inprocess_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mneme/mneme/client/inprocess"
	"github.com/mneme/mneme/inference"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/store"
	"github.com/mneme/mneme/store/vector"
)

// embedder is any embedder: the test is about how it is wrapped.
type embedder struct{ inference.Embedder }

// TestNewEmbedsForTheSearchedGeneration shows that a recaller over an index embeds for the model of that index's
// generation, and that one without an embedder has none.
func TestNewEmbedsForTheSearchedGeneration(t *testing.T) {
	s := &store.Store{}
	index := vector.PGVector{Store: s}
	r := inprocess.New(inprocess.Options{Store: s, Index: index, Embedder: embedder{}})
	wrapped, ok := r.Embedder.(*vector.Embedders)
	require.True(t, ok)
	require.Equal(t, index.Name(), wrapped.Index)
	require.Equal(t, embedder{}, wrapped.Configured)

	require.Nil(t, inprocess.New(inprocess.Options{Store: s, Index: index}).Embedder)
}

// TestNewRefusesAnInvalidRequest shows that a request is checked before anything is read.
func TestNewRefusesAnInvalidRequest(t *testing.T) {
	_, err := inprocess.New(inprocess.Options{Store: &store.Store{}}).Recall(t.Context(), schema.RecallRequest{})
	var invalid *schema.ValidationError
	require.ErrorAs(t, err, &invalid)
}
