package activities

import (
	"context"
	"errors"
	"time"

	"github.com/mneme/mneme/inference"
	"github.com/mneme/mneme/memory"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/store"
)

// Revising revises what is known.
type Revising struct {
	Store    *store.Store
	Embedder inference.Embedder
	Policy   memory.WritePolicy
	Rules    func() *memory.Policy
	Now      func() time.Time
}

// Revise carries out an accepted request.
func (a *Revising) Revise(ctx context.Context, ref OperationRef) (schema.ReviseResult, error) {
	return schema.ReviseResult{}, errors.New("not built")
}
