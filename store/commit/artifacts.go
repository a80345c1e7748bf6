package commit

import (
	"context"

	"github.com/mneme/mneme/store/pg"
)

const artifactsLock = `hashtextextended(@tenant || '/artifacts', hashtext(current_schema()))`

// LockStoredArtifacts waits for transactions that remove artifacts of the tenant, and makes later ones wait until the
// end of this transaction. A transaction that stores an artifact calls it first. Without it, a concurrent removal would
// not see the new holder, and would delete it with the artifact.
func (c *Change) LockStoredArtifacts(ctx context.Context) error {
	_, err := c.Tx.Exec(ctx, `SELECT pg_advisory_xact_lock_shared(`+artifactsLock+`)`, pg.Args{"tenant": c.Tenant})
	return err
}

// LockRemovedArtifacts waits for transactions that store artifacts of the tenant (LockStoredArtifacts). A transaction
// that removes artifacts without a holder calls it first.
func (c *Change) LockRemovedArtifacts(ctx context.Context) error {
	_, err := c.Tx.Exec(ctx, `SELECT pg_advisory_xact_lock(`+artifactsLock+`)`, pg.Args{"tenant": c.Tenant})
	return err
}
