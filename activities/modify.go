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

// Modifying applies patches.
type Modifying struct {
	Store    *store.Store
	Embedder inference.Embedder
	Policy   memory.WritePolicy
	Rules    func() *memory.Policy
	Now      func() time.Time
}

// Modify carries out an accepted request.
func (a *Modifying) Modify(ctx context.Context, ref OperationRef) (schema.ModifyResult, error) {
	return schema.ModifyResult{}, errors.New("not built")
}
