package search

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/mneme/mneme/memory/rank"
	"github.com/mneme/mneme/store/pg"
)

// Reads of the shaping stages, of authorised memories (document 002 Phase 4). Every query applies the filter again,
// so that an id that skipped Authorize yields nothing here.

// Contents reads the texts of memories that the filter admits.
func (s *Search) Contents(ctx context.Context, f pg.Filter, ids []uuid.UUID) (map[uuid.UUID]string, error) {
	query, args := contentsSQL(f, ids)
	found, err := pg.QueryBatchRows[contentRow](ctx, s.DB, f.Principal.Tenant, pg.PlanOnce, query, args)
	if err != nil {
		return nil, fmt.Errorf("read contents: %w", err)
	}
	return textsOf(found), nil
}

func contentsSQL(f pg.Filter, ids []uuid.UUID) (string, pg.Args) {
	args := pg.Args{"ids": ids}
	return `
		SELECT m.id, m.content
		FROM memories m
		WHERE m.id = ANY(@ids) AND ` + f.Where("m", args), args
}

type contentRow struct {
	ID      uuid.UUID
	Content string
}

func textsOf(found []contentRow) map[uuid.UUID]string {
	out := make(map[uuid.UUID]string, len(found))
	for _, m := range found {
		out[m.ID] = m.Content
	}
	return out
}

// Access is how often and when a memory was last recalled.
type Access struct {
	Times int64     `db:"access_count"`
	Last  time.Time `db:"last_accessed_at"`
}

// Accesses returns the accesses to the memories that the filter admits, if they have any.
func (s *Search) Accesses(ctx context.Context, f pg.Filter, ids []uuid.UUID) (map[uuid.UUID]Access, error) {
	args := pg.Args{"ids": ids}
	query := `
		SELECT m.id, a.access_count, a.last_accessed_at
		FROM memories m
		JOIN memory_access a ON a.tenant = m.tenant AND a.memory_id = m.id
		WHERE m.id = ANY(@ids) AND ` + f.Where("m", args)
	type accessRow struct {
		ID uuid.UUID
		Access
	}
	found, err := pg.QueryBatchRows[accessRow](ctx, s.DB, f.Principal.Tenant, pg.PlanOnce, query, args)
	if err != nil {
		return nil, fmt.Errorf("read accesses: %w", err)
	}
	out := make(map[uuid.UUID]Access, len(found))
	for _, m := range found {
		out[m.ID] = m.Access
	}
	return out, nil
}

// Supersessions returns the successor and the predecessors of each memory that the filter admits, if the principal
// may see them. Memories with neither are left out.
func (s *Search) Supersessions(ctx context.Context, f pg.Filter, ids []uuid.UUID) (map[uuid.UUID]rank.Supersession,
	error) {
	query, args := supersessionsSQL(f, ids)
	found, err := pg.QueryBatchRows[supersessionRow](ctx, s.DB, f.Principal.Tenant, pg.PlanOnce, query, args)
	if err != nil {
		return nil, fmt.Errorf("read supersessions: %w", err)
	}
	return supersessionsOf(found), nil
}

func supersessionsSQL(f pg.Filter, ids []uuid.UUID) (string, pg.Args) {
	args := pg.Args{"ids": ids}
	return `
		SELECT m.id,
			(SELECT n.id
				FROM memories n
				WHERE n.id = m.superseded_by AND n.deleted_at IS NULL AND ` + f.Visible("n", args) + `) AS successor,
			EXISTS (
				SELECT
				FROM memories o
				WHERE o.superseded_by = m.id AND o.deleted_at IS NULL AND ` + f.Visible("o", args) + `) AS replaces,
			d.active, d.superseded
		FROM memories m
		CROSS JOIN LATERAL (
			SELECT count(*) FILTER (WHERE x.live) AS active,
				count(*) FILTER (WHERE x.status = 'superseded') AS superseded
			FROM (
				SELECT r.source_id AS id
				FROM memory_links r
				WHERE r.tenant = m.tenant AND r.target_id = m.id AND r.predicate = 'derived_from'
				UNION
				SELECT r.target_id
				FROM memory_links r
				WHERE r.tenant = m.tenant AND r.source_id = m.id AND r.predicate = 'restates'
			) fact
			JOIN memories x ON x.tenant = m.tenant AND x.id = fact.id
			WHERE x.type = 'semantic' AND x.deleted_at IS NULL AND ` + f.Visible("x", args) + `
		) d
		WHERE m.id = ANY(@ids) AND ` + f.Where("m", args), args
}

type supersessionRow struct {
	ID                 uuid.UUID
	Successor          *uuid.UUID
	Replaces           bool
	Active, Superseded int
}

func supersessionsOf(found []supersessionRow) map[uuid.UUID]rank.Supersession {
	out := make(map[uuid.UUID]rank.Supersession, len(found))
	for _, m := range found {
		row := rank.Supersession{Replaces: m.Replaces, Active: m.Active, Superseded: m.Superseded}
		if m.Successor != nil {
			row.SupersededBy = *m.Successor
		}
		if row.SupersededBy != uuid.Nil || row.Replaces || row.Superseded > 0 {
			out[m.ID] = row
		}
	}
	return out
}

// Currentness holds the supersessions and the contents of some memories.
type Currentness struct {
	Successors    []Succession
	Supersessions map[uuid.UUID]rank.Supersession
	Contents      map[uuid.UUID]string // if requested
}

// Currentness reads the current replacements of some memories, their Supersessions and, if contents are requested, their
// Contents, in one round trip.
func (s *Search) Currentness(ctx context.Context, f pg.Filter, ids []uuid.UUID, contents bool) (Currentness, error) {
	var out Currentness
	var found []supersessionRow
	var texts []contentRow
	if f.Principal.Tenant == "" {
		return out, fmt.Errorf("read currentness: %w", pg.ErrNoTenant)
	}
	b := s.NewQueryBatch(ctx, f.Principal.Tenant, pg.PlanOnce)
	query, args := successorsSQL(f, ids)
	pg.QueueRows(b, &out.Successors, query, args)
	query, args = supersessionsSQL(f, ids)
	pg.QueueRows(b, &found, query, args)
	if contents {
		query, args = contentsSQL(f, ids)
		pg.QueueRows(b, &texts, query, args)
	}
	if err := s.SendQueryBatch(ctx, b); err != nil {
		return Currentness{}, fmt.Errorf("read currentness: %w", err)
	}
	out.Supersessions = supersessionsOf(found)
	if contents {
		out.Contents = textsOf(texts)
	}
	return out, nil
}

// Bounds of Predecessors.
const (
	predecessorsDeep = 8
	predecessorsMost = 200
)

// Predecessors returns the memories that the given ones superseded, and the predecessors of those, each with its
// successor. It returns at most 200, the nearest first. The filter must admit superseded memories; a chain ends at a
// memory that it does not admit.
//
// This is how superseded memories enter a recall. No search index has them, but following a chain costs only a few
// index probes.
func (s *Search) Predecessors(ctx context.Context, f pg.Filter, ids []uuid.UUID) ([]Succession, error) {
	args := pg.Args{"tenant": f.Principal.Tenant, "ids": ids, "deep": predecessorsDeep, "most": predecessorsMost}
	query := `
		WITH RECURSIVE chain(id, successor, depth) AS (
			SELECT m.id, m.superseded_by, 1
			FROM memories m
			WHERE m.tenant = @tenant AND m.superseded_by = ANY(@ids) AND m.status = 'superseded'
				AND ` + f.Where("m", args) + `
			UNION ALL
			SELECT m.id, m.superseded_by, c.depth + 1
			FROM chain c
			JOIN memories m ON m.tenant = @tenant AND m.superseded_by = c.id
			WHERE c.depth < @deep AND m.status = 'superseded'
				AND ` + f.Where("m", args) + `
		)
		SELECT id, successor
		FROM chain
		ORDER BY depth, id
		LIMIT @most`
	out, err := pg.QueryBatchRows[Succession](ctx, s.DB, f.Principal.Tenant, pg.PlanOnce, query, args)
	if err != nil {
		return nil, fmt.Errorf("read predecessors: %w", err)
	}
	return out, nil
}

// successorsSQL returns the current replacement of each memory, if the filter admits it: for a superseded memory the
// live end of its chain, and for a source the replacements of the superseded facts that were extracted from it or
// that it restates. A chain ends at a memory that the principal may not see.
func successorsSQL(f pg.Filter, ids []uuid.UUID) (string, pg.Args) {
	args := pg.Args{"tenant": f.Principal.Tenant, "ids": ids, "deep": predecessorsDeep, "most": predecessorsMost}
	live := f
	live.Superseded = false
	return `
		WITH RECURSIVE chain(id, successor, depth) AS (
			(SELECT m.id, m.superseded_by, 1
				FROM memories m
				WHERE m.tenant = @tenant AND m.id = ANY(@ids) AND m.superseded_by IS NOT NULL
					AND ` + f.Visible("m", args) + `
			UNION ALL
			SELECT r.target_id, x.superseded_by, 1
				FROM memory_links r
				JOIN memories x ON x.tenant = r.tenant AND x.id = r.source_id
				WHERE r.tenant = @tenant AND r.target_id = ANY(@ids) AND r.predicate = 'derived_from'
					AND x.status = 'superseded' AND x.superseded_by IS NOT NULL AND x.deleted_at IS NULL
					AND ` + f.Visible("x", args) + `
			UNION ALL
			SELECT r.source_id, x.superseded_by, 1
				FROM memory_links r
				JOIN memories x ON x.tenant = r.tenant AND x.id = r.target_id
				WHERE r.tenant = @tenant AND r.source_id = ANY(@ids) AND r.predicate = 'restates'
					AND x.status = 'superseded' AND x.superseded_by IS NOT NULL AND x.deleted_at IS NULL
					AND ` + f.Visible("x", args) + `)
			UNION ALL
			SELECT c.id, m.superseded_by, c.depth + 1
			FROM chain c
			JOIN memories m ON m.tenant = @tenant AND m.id = c.successor
			WHERE c.depth < @deep AND m.status = 'superseded' AND m.superseded_by IS NOT NULL
				AND ` + f.Visible("m", args) + `
		)
		SELECT DISTINCT c.id, m.id AS successor
		FROM chain c
		JOIN memories m ON m.id = c.successor AND m.live AND ` + live.Where("m", args) + `
		ORDER BY 1, 2
		LIMIT @most`, args
}

// Succession is a superseded memory and the memory that replaced it.
type Succession struct{ ID, Successor uuid.UUID }

// LowestDegrees returns, for each memory that the filter admits and that has entities, the number of memories that
// mention its rarest entity.
func (s *Search) LowestDegrees(ctx context.Context, f pg.Filter, ids []uuid.UUID) (map[uuid.UUID]int64, error) {
	args := pg.Args{"ids": ids}
	query := `
		SELECT m.id, min(e.mentions) AS degree
		FROM memories m
		JOIN memory_entity_mentions x ON x.tenant = m.tenant AND x.memory_id = m.id
		JOIN entities e ON e.tenant = x.tenant AND e.id = x.entity_id
		WHERE m.id = ANY(@ids) AND ` + f.Where("m", args) + `
		GROUP BY m.id`
	type degreeRow struct {
		ID     uuid.UUID
		Degree int64
	}
	found, err := pg.QueryBatchRows[degreeRow](ctx, s.DB, f.Principal.Tenant, pg.PlanOnce, query, args)
	if err != nil {
		return nil, fmt.Errorf("read degrees: %w", err)
	}
	out := make(map[uuid.UUID]int64, len(found))
	for _, m := range found {
		out[m.ID] = m.Degree
	}
	return out, nil
}

// HubDegree returns the number of mentions from which an entity of the tenant is a hub (rank.HubDegree); 0 means
// that none is. It reads the tenant's 20,000 oldest entities, which are those mentioned most, and caches the result
// for ten minutes. Like the statistics of full text it covers all memories of the tenant: it affects scores, never
// what is found.
func (s *Search) HubDegree(ctx context.Context, tenant string, now time.Time) (int64, error) {
	if degree, known := s.hubs.get(tenant, now); known {
		return degree, nil
	}
	var degrees []int64
	err := s.Read(ctx, tenant, func(tx pgx.Tx) error {
		rows, err := tx.Query(ctx, `
			SELECT mentions
			FROM entities
			WHERE tenant = $1
			ORDER BY id
			LIMIT 20000`, tenant)
		if err != nil {
			return err
		}
		degrees, err = pgx.CollectRows(rows, pgx.RowTo[int64])
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("read degrees: %w", err)
	}
	degree := rank.HubDegree(degrees)
	s.hubs.put(tenant, degree, now.Add(hubDegreeKept))
	return degree, nil
}

// hubDegreeKept is how long a tenant's hub degree is cached. It changes slowly.
const hubDegreeKept = 10 * time.Minute
