//go:build nolocal

package local

import (
	"context"
	"errors"

	"github.com/mneme/mneme/inference"
)

// Embedder is not in this build.
type Embedder struct{ inference.Embedder }

// New returns an error that explains how to build with the embedder.
func New(context.Context, Config) (*Embedder, error) {
	return nil, errors.New(
		"MNEME_EMBEDDER is local, and this program was built without the local embedder: `make build EMBEDDER=local`",
	)
}
