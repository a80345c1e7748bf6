package edit

import (
	"context"
	"encoding/json"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/mneme/mneme/memory"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/store/commit"
	"github.com/mneme/mneme/store/pg"
)

// actorTrust is the actor in history when trust is lowered because a source is less trusted.
const actorTrust = "trust-policy"

// distrust lowers the trust of memories derived from memories whose trust has fallen.
func (p *putting) distrust(ctx context.Context) error {
	for i := range p.items {
		it := &p.items[i]
		m, stored := p.stored[it.key]
		if !it.Writes() || !stored || *it.row.SourceTrust >= m.row.SourceTrust {
			continue
		}
		if _, err := distrustDerived(ctx, p.Change, it.key, *it.row.SourceTrust, p.in.Request.Principal,
			p.metadata()); err != nil {
			return err
		}
	}
	return nil
}

// lockDerivedSQL locks what is derived from a memory, directly or not, and trusted more than a limit.
const lockDerivedSQL = `
	WITH RECURSIVE derived AS (
		SELECT source_id
		FROM memory_links
		WHERE tenant = @tenant AND target_id = @id AND predicate = 'derived_from'
		UNION
		SELECT r.source_id
		FROM derived d
		JOIN memory_links r ON r.tenant = @tenant AND r.target_id = d.source_id AND r.predicate = 'derived_from'
	)
	SELECT m.id, m.agent_id, m.project, m.scope, m.policy_group, m.visibility
	FROM memories m
	WHERE m.tenant = @tenant
		AND m.id IN (SELECT source_id FROM derived)
		AND m.source_trust > @trust
		AND m.erased_at IS NULL
	ORDER BY m.id
	FOR UPDATE OF m`

// derivedRow is a row of lockDerivedSQL.
type derivedRow struct {
	ID          uuid.UUID         `db:"id"`
	Agent       string            `db:"agent_id"`
	Project     string            `db:"project"`
	Scope       string            `db:"scope"`
	PolicyGroup string            `db:"policy_group"`
	Visibility  schema.Visibility `db:"visibility"`
}

func (r *derivedRow) holding() memory.Holding {
	return memory.Holding{
		Owner:      schema.Principal{Agent: r.Agent, Project: r.Project, Scope: r.Scope, PolicyGroup: r.PolicyGroup},
		Visibility: r.Visibility,
	}
}

// lowerTrustSQL does for many memories what commit.Change.ApplyStep does for one. The history of those that the
// principal may not see does not say what it did.
const lowerTrustSQL = `
	WITH lowered AS (
		UPDATE memories m
		SET source_trust = @trust, version = m.version + 1, updated_at = @now
		FROM unnest(@ids::uuid[], @entries::uuid[], @visible::boolean[]) x(id, entry, visible)
		WHERE m.tenant = @tenant AND m.id = x.id
		RETURNING m.id, m.version, m.live, x.entry, x.visible
	), told AS (
		INSERT INTO memory_history (tenant, id, memory_id, event, changed_by, reason, metadata, created_at, action,
			version)
		SELECT @tenant, l.entry, l.id, @event, @actor, 'a source is trusted less',
			CASE WHEN l.visible THEN @metadata::jsonb ELSE '{}' END, @now, @action, l.version
		FROM lowered l
	), indexed AS (
		INSERT INTO index_outbox (tenant, memory_id, version, op, created_at)
		SELECT @tenant, l.id, l.version, CASE WHEN l.live THEN 'upsert' ELSE 'delete' END, @now
		FROM lowered l
	)
	SELECT id, version FROM lowered`

// distrustDerived lowers the trust of all memories that are derived from a memory, directly or not, to that of the
// memory, and returns their new versions. It also changes memories that the principal may not see: their history does
// not name the principal or its change. It needs three statements for any number of memories: find the derived ones,
// lock them in one order, write them.
func distrustDerived(ctx context.Context, c *commit.Change, id uuid.UUID, trust float64, p schema.Principal,
	metadata map[string]any) (map[uuid.UUID]int, error) {
	if err := c.Flush(ctx); err != nil { // relations
		return nil, err
	}
	rows, _ := c.Tx.Query(ctx, lockDerivedSQL, pg.Args{"tenant": c.Tenant, "id": id, "trust": trust})
	derived, err := pgx.CollectRows(rows, pgx.RowToStructByName[derivedRow])
	if err != nil || len(derived) == 0 {
		return nil, err
	}
	ids, visible := make([]uuid.UUID, len(derived)), make([]bool, len(derived))
	for i := range derived {
		ids[i], visible[i] = derived[i].ID, memory.MayLook(p, derived[i].holding())
	}
	known, err := json.Marshal(metadata)
	if err != nil {
		return nil, err
	}
	rows, _ = c.Tx.Query(ctx, lowerTrustSQL, pg.Args{
		"tenant":   c.Tenant,
		"ids":      ids,
		"entries":  pg.NewIDs(len(ids)),
		"visible":  visible,
		"trust":    trust,
		"now":      c.Now,
		"event":    schema.EventModified,
		"actor":    actorTrust,
		"metadata": string(known),
		"action":   schema.AuditModify,
	})
	lowered, err := pgx.CollectRows(rows, pgx.RowToStructByName[struct {
		ID      uuid.UUID
		Version int
	}])
	versions := make(map[uuid.UUID]int, len(lowered))
	for _, m := range lowered {
		versions[m.ID] = m.Version
	}
	return versions, err
}
