package read

import (
	"context"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/mneme/mneme/memory/revision"
	"github.com/mneme/mneme/store/pg"
)

// edgesSQL reads the edges of a frontier. It reads supersession from the columns as well as from relations, because
// put records may have no relation for it. The step that created an edge is read only for edges that are shown.
const edgesSQL = `
	SELECT e.n, e.source, e.predicate, e.target, e.outward, e.weight, e.at,
		coalesce(nullif(e.reason, ''), h.reason, '') AS reason,
		coalesce(h.changed_by, '') AS actor
	FROM (
		SELECT f.n, e.*
		FROM unnest(@ids::uuid[], @sources::boolean[], @derived::boolean[], @older::boolean[], @newer::boolean[],
			@others::boolean[]) WITH ORDINALITY f(id, sources, derived, older, newer, others, n)
		CROSS JOIN LATERAL (
			SELECT r.source_id AS source, r.predicate, r.target_id AS target, true AS outward, r.weight, r.reason,
				r.created_at AS at
			FROM memory_links r
			WHERE r.tenant = @tenant AND r.source_id = f.id
				AND CASE r.predicate
					WHEN 'derived_from' THEN f.sources
					WHEN 'supersedes' THEN f.older
					ELSE f.others
				END
			UNION ALL
			SELECT r.source_id, r.predicate, r.target_id, false, r.weight, r.reason, r.created_at
			FROM memory_links r
			WHERE r.tenant = @tenant AND r.target_id = f.id
				AND CASE r.predicate
					WHEN 'derived_from' THEN f.derived
					WHEN 'supersedes' THEN f.newer
					ELSE f.others
				END
			UNION ALL
			SELECT m.superseded_by, 'supersedes', m.id, false, 1, '', m.superseded_at
			FROM memories m
			WHERE m.tenant = @tenant AND m.id = f.id AND f.newer AND m.superseded_by IS NOT NULL
			UNION ALL
			SELECT m.id, 'supersedes', m.supersedes, true, 1, '', m.created_at
			FROM memories m
			WHERE m.tenant = @tenant AND m.id = f.id AND f.older AND m.supersedes IS NOT NULL
			UNION ALL
			SELECT m.superseded_by, 'supersedes', m.id, true, 1, '', m.superseded_at
			FROM memories m
			WHERE m.tenant = @tenant AND f.older AND m.superseded_by = f.id
		) e
		ORDER BY f.n, e.predicate, e.outward DESC, e.at, e.source, e.target
		LIMIT @limit
	) e
	LEFT JOIN LATERAL (
		SELECT h.reason, h.changed_by
		FROM memory_history h
		WHERE h.tenant = @tenant AND h.memory_id = ANY(ARRAY[e.source, e.target]) AND h.created_at = e.at
			AND h.action IS NOT NULL
		ORDER BY h.memory_id <> e.source, h.seq
		LIMIT 1
	) h ON true
	ORDER BY e.n, e.predicate, e.outward DESC, e.at, e.source, e.target`

// lineageRow is a row of edgesSQL.
type lineageRow struct {
	N         int // place in the frontier, from 1
	Source    uuid.UUID
	Predicate string
	Target    uuid.UUID
	Outward   bool // the edge was followed from its source to its target
	Weight    float64
	Reason    string
	Actor     string
	At        *time.Time
}

// level reads the edges that the walk follows from a frontier, at most as many as a walk may show.
func (w *lineageWalk) level(ctx context.Context, frontier []lineageStep) ([]foundEdge, error) {
	const limit = 4 * MaxLineageNodes // an edge may be read three times
	ids := make([]uuid.UUID, len(frontier))
	for i, s := range frontier {
		ids[i] = s.id
	}
	follows := func(predicate string, outward bool) []bool {
		out := make([]bool, len(frontier))
		for i, s := range frontier {
			_, out[i] = s.way.Follow(predicate, outward)
		}
		return out
	}
	rows, _ := w.tx.Query(ctx, edgesSQL, pg.Args{
		"tenant":  w.p.Tenant,
		"ids":     ids,
		"sources": follows(revision.RelationDerivedFrom, true),
		"derived": follows(revision.RelationDerivedFrom, false),
		"older":   follows(revision.RelationSupersedes, true),
		"newer":   follows(revision.RelationSupersedes, false),
		"others":  follows("", true),
		"limit":   limit,
	})
	found, err := pgx.CollectRows(rows, pgx.RowToStructByName[lineageRow])
	if err != nil {
		return nil, err
	}
	if len(found) == limit {
		w.cut("nodes")
	}
	out := make([]foundEdge, len(found))
	for i, row := range found {
		step := lineageStep{id: row.Source}
		if row.Outward {
			step.id = row.Target
		}
		step.way, _ = frontier[row.N-1].way.Follow(row.Predicate, row.Outward)
		out[i] = foundEdge{lineageRow: row, step: step}
	}
	return out, nil
}

// nodesSQL reads memories as nodes, by the fields of LineageNode.
var nodesSQL = `
	SELECT m.id, m.type, m.category, m.status, m.version, m.content, m.source_trust, m.created_at, m.created_by,
		CASE
			WHEN m.erased_at IS NOT NULL THEN 'erased'
			WHEN m.deleted_at IS NOT NULL THEN 'deleted'
			WHEN m.archived_at IS NOT NULL THEN 'archived'
			WHEN m.live THEN 'live'
			ELSE ''
		END AS state,
		(
			SELECT ` + auditEntry(reasonShown(askerLooks, askerLooks)) + `
			FROM memory_history h
			WHERE h.tenant = m.tenant AND h.memory_id = m.id AND h.action IS NOT NULL
			ORDER BY h.seq DESC
			LIMIT 1
		) AS last_step
	FROM memories m
	WHERE m.tenant = @tenant AND m.id = ANY(@ids) AND ` + askerLooks("m")

// readNodes reads memories as nodes at a distance from the root. A memory that does not exist is shown like a
// withheld one, so that the caller cannot tell the two apart.
func (w *lineageWalk) readNodes(ctx context.Context, ids []uuid.UUID, distance int) error {
	if len(ids) == 0 {
		return nil
	}
	args := askerArgs(w.p, w.cleared)
	args["ids"] = ids
	rows, _ := w.tx.Query(ctx, nodesSQL, args)
	nodes, err := pgx.CollectRows(rows, pgx.RowToStructByNameLax[LineageNode])
	if err != nil {
		return err
	}
	if err := w.findOthers(ctx, ids); err != nil {
		return err
	}
	found := make(map[string]LineageNode, len(nodes))
	for _, n := range nodes {
		found[n.ID] = n
	}
	for _, id := range ids {
		n, ok := found[id.String()]
		if !ok {
			n = LineageNode{ID: id.String(), Withheld: true}
		}
		n.Distance = distance
		w.nodes[id] = &n
		w.out.Nodes = append(w.out.Nodes, n)
	}
	return nil
}

// othersSQL finds the memories that a user may not reach.
const othersSQL = `
	SELECT id::text
	FROM memories
	WHERE tenant = @tenant AND id = ANY(@ids) AND scope <> ALL(@scopes)`

// findOthers finds the memories that a principal acting for a user may not read.
func (w *lineageWalk) findOthers(ctx context.Context, ids []uuid.UUID) error {
	if w.p.User == "" {
		return nil
	}
	rows, _ := w.tx.Query(ctx, othersSQL,
		pg.Args{"tenant": w.p.Tenant, "ids": ids, "scopes": w.p.ReadScopes()})
	others, err := pgx.CollectRows(rows, pgx.RowTo[string])
	for _, id := range others {
		w.others[id] = true
	}
	return err
}
