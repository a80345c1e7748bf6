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

// Recovering takes back soft deletions.
type Recovering struct {
	Store    *store.Store
	Embedder inference.Embedder
	Policy   memory.WritePolicy
	Rules    func() *memory.Policy
	Now      func() time.Time
}

// Recover carries out an accepted request.
func (a *Recovering) Recover(ctx context.Context, ref OperationRef) (schema.RecoverResult, error) {
	return schema.RecoverResult{}, errors.New("not built")
}
