package edit

import (
	"context"
	"encoding/json"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/mneme/mneme/memory"
	"github.com/mneme/mneme/memory/revision"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/store/commit"
	"github.com/mneme/mneme/store/pg"
)

// settleTrust carries trust and sensitivity along derivations within the request, until nothing changes:
// trust only falls and sensitivity only rises, so that it ends, also where derivations form a circle.
func (p *putting) settleTrust() {
	rows := map[uuid.UUID]*commit.NewMemory{}
	for i := range p.items {
		if it := &p.items[i]; it.writes() {
			rows[it.key] = &it.row
		}
	}
	for again := true; again; {
		again = false
		for i := range p.items {
			row := &p.items[i].row
			if !p.items[i].writes() {
				continue
			}
			for _, edge := range row.Relations {
				trust, sensitivity, ok := p.worthOf(rows, edge)
				if !ok {
					continue
				}
				before, was := *row.SourceTrust, row.Classification.Sensitivity
				row.Derive(trust, sensitivity)
				again = again || *row.SourceTrust != before || row.Classification.Sensitivity != was
			}
		}
	}
}

// worthOf is what a source that comes in the same request imposes on what is derived from it.
func (p *putting) worthOf(rows map[uuid.UUID]*commit.NewMemory, edge commit.Relation) (float64,
	schema.Sensitivity, bool) {
	if edge.Predicate != revision.RelationDerivedFrom {
		return 0, "", false
	}
	if source, ok := rows[edge.Target]; ok {
		return *source.SourceTrust, source.Classification.Sensitivity, true
	}
	if source, ok := p.rows[edge.Target]; ok {
		return source.SourceTrust, source.Sensitivity, true
	}
	return 0, "", false
}

// distrust lowers the trust of what is derived from memories that are trusted less than before.
func (p *putting) distrust(ctx context.Context) error {
	for i := range p.items {
		it := &p.items[i]
		if m, stored := p.rows[it.key]; !it.writes() || !stored || *it.row.SourceTrust >= m.SourceTrust {
			continue
		}
		if _, err := distrustDerived(ctx, p.Change, it.key, *it.row.SourceTrust, p.in.Request.Principal,
			p.metadata()); err != nil {
			return err
		}
	}
	return nil
}

// distrustDerived lowers the trust of all that is derived from a memory, directly or not, to that of the memory, and
// returns their new versions. The rule acts on memories that the principal may not see, too: their history does not
// name the principal or what it did. However many there are, it asks three times: what is derived is found first,
// locked in one order, then written.
func distrustDerived(ctx context.Context, c *commit.Change, id uuid.UUID, trust float64, p schema.Principal,
	metadata map[string]any) (map[uuid.UUID]int, error) {
	if err := c.Flush(ctx); err != nil { // relations
		return nil, err
	}
	rows, err := c.Tx.Query(ctx, `WITH RECURSIVE derived AS (
			SELECT source_id FROM memory_relations WHERE tenant = $1 AND target_id = $2 AND predicate = 'derived_from'
			UNION SELECT r.source_id FROM derived d JOIN memory_relations r ON r.tenant = $1
			AND r.target_id = d.source_id AND r.predicate = 'derived_from')
		SELECT m.id, m.agent_id, m.project, m.scope, m.policy_group, m.visibility FROM memories m
		WHERE m.tenant = $1 AND m.id IN (SELECT source_id FROM derived) AND m.source_trust > $3 AND m.erased_at IS NULL
		ORDER BY m.id FOR UPDATE OF m`, c.Tenant, id, trust)
	if err != nil {
		return nil, err
	}
	var ids []uuid.UUID
	var visible []bool
	var m commit.MemoryRow
	_, err = pgx.ForEachRow(rows, []any{&m.ID, &m.Owner.Agent, &m.Owner.Project, &m.Owner.Scope, &m.Owner.PolicyGroup,
		&m.Visibility}, func() error {
		ids, visible = append(ids, m.ID), append(visible, memory.MayLook(p, m.Holding()))
		return nil
	})
	if err != nil || len(ids) == 0 {
		return nil, err
	}
	known, err := json.Marshal(metadata)
	if err != nil {
		return nil, err
	}
	// As take does it, for all of them.
	rows, err = c.Tx.Query(ctx, `
		WITH lowered AS (
			UPDATE memories m SET source_trust = $5, version = m.version + 1, updated_at = $6
			FROM unnest($2::uuid[], $3::uuid[], $4::boolean[]) x(id, entry, visible) WHERE m.tenant = $1 AND m.id = x.id
			RETURNING m.id, m.version, m.live, x.entry, x.visible
		), told AS (
			INSERT INTO memory_history (tenant, id, memory_id, event, changed_by, reason, metadata, created_at, action,
				version)
			SELECT $1, l.entry, l.id, $7, $8, 'a source is trusted less', CASE WHEN l.visible THEN $9::jsonb
			ELSE '{}' END, $6, $10, l.version FROM lowered l
		), indexed AS (
			INSERT INTO index_outbox (tenant, memory_id, version, op, created_at)
			SELECT $1, l.id, l.version, CASE WHEN l.live THEN 'upsert' ELSE 'delete' END, $6 FROM lowered l
		)
		SELECT id, version FROM lowered`,
		c.Tenant, ids, pg.NewIDs(len(ids)), visible, trust, c.Now, schema.EventModified, actorTrust, string(known),
		schema.AuditModify)
	if err != nil {
		return nil, err
	}
	versions := make(map[uuid.UUID]int, len(ids))
	var version int
	_, err = pgx.ForEachRow(rows, []any{&m.ID, &version}, func() error { versions[m.ID] = version; return nil })
	return versions, err
}
