package sweeping

import (
	"context"
	"encoding/json"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/mneme/mneme/memory/lifecycle"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/store/forgetting"
	"github.com/mneme/mneme/store/pg"
)

// actorRetention is the actor in history when a window is over.
const actorRetention = "retention"

// expire marks the tombstones whose window is over. The following steps delete the marked ones. Tombstones that
// stay are archived permanently, with a history row.
func (p *purging) expire(ctx context.Context) error {
	w := windowsOf(p.rules, p.in.At)
	if len(w.before) == 0 {
		return nil
	}
	page, err := p.page(ctx, `
		SELECT m.deleted_at AS at, m.id,
			EXISTS (SELECT FROM `+windowRows+` WHERE `+inWindow+`) AS goes
		FROM memories m
		WHERE m.tenant = @tenant AND `+tombstone+`
			AND (m.deleted_at, m.id) > (@after_at, @after_id)
		ORDER BY m.deleted_at, m.id
		LIMIT @scan`,
		w.args(pg.Args{
			"tenant":      p.Tenant,
			"last_before": w.last,
			"after_at":    p.in.After.CreatedAt,
			"after_id":    p.in.After.ID,
			"scan":        p.in.Limit * scanFactor,
		}))
	if err != nil || len(page) == 0 {
		return err
	}
	chosen := make([]uuid.UUID, len(page))
	for i, row := range page {
		chosen[i] = row.ID
	}
	rows, err := p.Tx.Query(ctx, `
		SELECT `+deletedColumns+expired+`
			AND m.id = ANY(@chosen)
		ORDER BY m.deleted_at, m.id
		FOR UPDATE OF m SKIP LOCKED`,
		w.args(pg.Args{"tenant": p.Tenant, "last_before": w.last, "chosen": chosen}))
	if err != nil {
		return err
	}
	found, err := pgx.CollectRows(rows, pgx.RowToStructByName[deletedMemory])
	if err != nil {
		return err
	}
	ids := make([]uuid.UUID, len(found))
	for i, m := range found {
		ids[i] = m.ID
	}
	linked, err := forgetting.ActionLinkedAmong(ctx, p.Change, ids)
	if err != nil {
		return err
	}
	var going, staying []uuid.UUID
	for _, m := range found {
		end, over := lifecycle.ExpiredTombstone(m.policy(p.rules), m.DeletedAt, linked[m.ID], p.in.At)
		switch {
		case !over: // unreachable: the statement uses the same windows
		case end == schema.ExpiryPurge:
			going = append(going, m.ID)
		default:
			staying = append(staying, m.ID)
		}
	}
	p.out.Removed = len(going) + len(staying)
	p.out.Counts["archived"] = len(staying)
	used(p.Change, schema.SweepRetention, len(going))
	p.Queue.Queue(`UPDATE memories SET purging_at = @now WHERE tenant = @tenant AND id = ANY(@going)`,
		pg.Args{"tenant": p.Tenant, "going": going, "now": p.Now})
	metadata, err := p.metadata()
	if err != nil {
		return err
	}
	p.Queue.Queue(`
		WITH kept AS (
			UPDATE memories m
			SET retained_at = @now,
				archived_at = coalesce(m.archived_at, @now),
				updated_at = @now,
				version = m.version + 1
			FROM unnest(@staying::uuid[], @entries::uuid[]) x(id, entry)
			WHERE m.tenant = @tenant AND m.id = x.id
			RETURNING m.id, m.version, x.entry
		)
		INSERT INTO memory_history (tenant, id, memory_id, event, changed_by, reason, metadata, created_at, action,
			version)
		SELECT @tenant, entry, id, 'modified', @actor, 'its window is over: archived', @metadata, @now,
			'archive', version
		FROM kept`,
		pg.Args{
			"tenant":   p.Tenant,
			"staying":  staying,
			"entries":  pg.NewIDs(len(staying)), // of history
			"actor":    actorRetention,
			"metadata": metadata,
			"now":      p.Now,
		})
	return nil
}

func (p *purging) metadata() (string, error) {
	encoded, err := json.Marshal(map[string]any{"sweep": schema.SweepRetention, "run": p.in.Run})
	return string(encoded), err
}

// marked returns the next memories m that are marked for deletion and for which a condition holds, in the order in
// which they were marked. lock is a locking clause or empty.
func (p *purging) marked(ctx context.Context, condition, lock string) ([]uuid.UUID, error) {
	rows, err := p.Tx.Query(ctx, `
		SELECT m.id
		FROM memories m
		WHERE m.tenant = @tenant AND m.purging_at IS NOT NULL AND m.erased_at IS NULL
			AND `+condition+`
		ORDER BY m.purging_at, m.id
		LIMIT @limit `+lock,
		pg.Args{"tenant": p.Tenant, "limit": p.in.Limit})
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowTo[uuid.UUID])
}

// lockMarked skips memories that another change has locked.
const lockMarked = `FOR UPDATE OF m SKIP LOCKED`

// Conditions of marked memories m. The three kinds of links are one condition: for an OR of three EXISTS, Postgres
// would read each table in full.
const (
	hasLinks = `EXISTS (
		SELECT FROM entity_relation_sources x
		WHERE x.tenant = m.tenant AND x.memory_id = m.id
		UNION ALL
		SELECT FROM memory_entity_mentions x
		WHERE x.tenant = m.tenant AND x.memory_id = m.id
		UNION ALL
		SELECT FROM entity_claims x
		WHERE x.tenant = m.tenant AND x.memory_id = m.id)`
	hasEmbeddings = `EXISTS (
		SELECT FROM memory_embeddings x
		WHERE x.tenant = m.tenant AND x.memory_id = m.id)`
)

func (p *purging) graphLinks(ctx context.Context) error {
	ids, err := p.marked(ctx, hasLinks, lockMarked)
	if err != nil || len(ids) == 0 {
		return err
	}
	u, err := forgetting.Unlink(ctx, p.Change, ids, p.in.Limit)
	p.removed(u.Rows())
	p.out.Counts["edges"], p.out.Counts["entities"] = u.Edges, u.Entities
	return err
}

// embeddings removes vectors and requests again that the index delete their points. The first request was made when the
// memory was deleted, but the index may have been rebuilt from an old copy since.
func (p *purging) embeddings(ctx context.Context) error {
	ids, err := p.marked(ctx, "NOT "+hasLinks+" AND "+hasEmbeddings, lockMarked)
	if err != nil || len(ids) == 0 {
		return err
	}
	rows, err := p.Tx.Query(ctx, `
		WITH chosen AS (
			SELECT memory_id, model
			FROM memory_embeddings
			WHERE tenant = @tenant AND memory_id = ANY(@memories)
			ORDER BY memory_id, model
			LIMIT @limit
		)
		DELETE FROM memory_embeddings d
		USING chosen c
		WHERE d.tenant = @tenant AND d.memory_id = c.memory_id AND d.model = c.model
		RETURNING d.memory_id`,
		pg.Args{"tenant": p.Tenant, "memories": ids, "limit": p.in.Limit})
	if err != nil {
		return err
	}
	gone, err := pgx.CollectRows(rows, pgx.RowTo[uuid.UUID])
	if err != nil {
		return err
	}
	p.removed(len(gone))
	p.Queue.Queue(`
		INSERT INTO index_outbox (tenant, memory_id, version, op, created_at)
		SELECT m.tenant, m.id, m.version, 'delete', @now
		FROM memories m
		WHERE m.tenant = @tenant AND m.id = ANY(@memories)`,
		pg.Args{"tenant": p.Tenant, "memories": gone, "now": p.Now})
	return nil
}

// tombstones deletes the memories without dependent rows. First it empties the pipeline's copies of their texts and
// removes their dependent rows, in parts: a hundred facts may come from one source, and a fact may have been repeated
// a hundred thousand times. History keeps its texts until its own window is over.
func (p *purging) tombstones(ctx context.Context) error {
	ids, err := p.marked(ctx, "NOT "+hasLinks+" AND NOT "+hasEmbeddings, "")
	if err != nil || len(ids) == 0 {
		return err
	}
	chosen := len(ids)
	f := forgetting.Forgetting{Change: p.Change, Run: &forgetting.ForgetRow{Mode: schema.ForgetForce}, Gone: ids}
	// Pipelines lock jobs, candidates and proposals before memories.
	if err := f.LockJobs(ctx, ids); err != nil {
		return err
	}
	dependents, err := f.BlankPart(ctx, p.in.Limit)
	p.out.Removed, p.out.Counts[lifecycle.CountDependents] = dependents, dependents
	if err != nil || dependents >= p.in.Limit {
		return err
	}
	// A memory that another change has erased in the meantime stays with its relations, for the audit.
	rows, err := p.Tx.Query(ctx, `
		SELECT m.id
		FROM memories m
		WHERE m.tenant = @tenant AND m.id = ANY(@memories) AND m.purging_at IS NOT NULL AND m.erased_at IS NULL
		ORDER BY m.id
		FOR UPDATE`,
		pg.Args{"tenant": p.Tenant, "memories": ids})
	if err != nil {
		return err
	}
	if ids, err = pgx.CollectRows(rows, pgx.RowTo[uuid.UUID]); err != nil {
		return err
	}
	p.out.More = chosen == p.in.Limit && len(ids) < chosen // some were erased in the meantime
	// This is repeated under the lock, because a repeated request may have held a memory until it had written its
	// copy of the text.
	f.Gone = ids
	n, err := f.BlankPart(ctx, p.in.Limit-dependents)
	if dependents += n; err == nil && dependents < p.in.Limit {
		n, err = forgetting.RemovePart(ctx, p.Change, ids, p.in.Limit-dependents)
		dependents += n
	}
	p.out.Removed, p.out.Counts[lifecycle.CountDependents] = dependents, dependents
	if err != nil {
		return err
	}
	if ids = ids[:min(len(ids), p.in.Limit-dependents)]; len(ids) == 0 {
		return nil
	}
	f.Gone = ids
	for _, blank := range []func(context.Context) error{f.BlankResults, f.ForgetHints} {
		if err := blank(ctx); err != nil {
			return err
		}
	}
	metadata, err := p.metadata()
	if err != nil {
		return err
	}
	err = p.Tx.QueryRow(ctx, `
		WITH gone AS (
			DELETE FROM memories m
			WHERE m.tenant = @tenant AND m.id = ANY(@memories) AND m.purging_at IS NOT NULL AND m.erased_at IS NULL
			RETURNING m.id, m.version + 1 AS version, m.agent_id, m.sensitivity
		), told AS (
			INSERT INTO memory_history (tenant, id, memory_id, event, changed_by, reason, metadata, created_at, action,
				version)
			SELECT @tenant, x.entry, g.id, 'deleted', @actor, 'its window is over',
				@metadata::jsonb || jsonb_build_object('agent', g.agent_id, 'sensitivity', g.sensitivity), @now, 'purge', g.version
			FROM gone g
			JOIN unnest(@memories::uuid[], @entries::uuid[]) x(id, entry) ON x.id = g.id
		)
		SELECT count(*)
		FROM gone`,
		pg.Args{
			"tenant":   p.Tenant,
			"memories": ids,
			"entries":  pg.NewIDs(len(ids)), // of history
			"actor":    actorRetention,
			"metadata": metadata,
			"now":      p.Now,
		}).Scan(&n)
	p.removed(n)
	return err
}
