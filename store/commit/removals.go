package commit

import (
	"github.com/google/uuid"

	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/store/pg"
)

// RecordRemoval stores the record of a removal of topics or artifacts, by an operation whose principal's agent is empty
// if the removal is for every agent. If the removal takes several transactions, each replaces the counts.
func (c *Change) RecordRemoval(id uuid.UUID, kind schema.RemovalKind, op schema.Operation, removed, kept int) {
	c.Queue.Queue(`
		INSERT INTO removals (tenant, id, kind, agent_id, scope, removed, kept, removed_by, reason, removed_at)
		VALUES (@tenant, @id, @kind, @agent, @scope, @removed, @kept, @by, @reason, @now)
		ON CONFLICT (tenant, id) DO UPDATE SET removed = EXCLUDED.removed, kept = EXCLUDED.kept`,
		pg.Args{"tenant": c.Tenant, "id": id, "kind": kind, "agent": op.Principal.Agent,
			"scope": pg.UserScope(op.Principal), "removed": removed, "kept": kept, "by": op.By(), "reason": op.Reason,
			"now": c.Now})
}
