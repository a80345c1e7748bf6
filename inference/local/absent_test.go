//go:build nolocal

package local_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mneme/mneme/inference/local"
)

func TestAbsent(t *testing.T) {
	_, err := local.New(t.Context(), local.Config{Dir: "testdata/tiny"})
	require.ErrorContains(t, err, "make build EMBEDDER=local")
}
