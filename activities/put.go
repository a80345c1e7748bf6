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

// Putting writes full records.
type Putting struct {
	Store    *store.Store
	Embedder inference.Embedder
	Policy   memory.WritePolicy
	Rules    func() *memory.Policy
	Now      func() time.Time
}

// Put carries out an accepted request.
func (a *Putting) Put(ctx context.Context, ref OperationRef) (schema.PutResult, error) {
	return schema.PutResult{}, errors.New("not built")
}
