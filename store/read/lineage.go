package read

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/mneme/mneme/memory/policy"
	"github.com/mneme/mneme/memory/revision"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/store/pg"
)

// Limits of a lineage.
const (
	DefaultLineageDepth = 6
	MaxLineageDepth     = 50
	MaxLineageNodes     = 500
)

// Lineage is where a memory comes from and what became of it: what it was derived from, what was
// derived from it, its revisions both ways, what it contradicts and supports (document 004 §12 and
// §15.7). It is a graph, from which the tree below its root can be drawn.
type Lineage struct {
	Root  string        `json:"root"`
	Nodes []LineageNode `json:"nodes"` // the root first, then by distance
	Edges []LineageEdge `json:"edges"`
	Cut   []string      `json:"cut"` // depth, nodes: what kept the rest out; empty when this is all
}

// LineageNode is one memory. Of one that the asker may not look at, or that is gone, only the id is shown; the walk
// does not pass it. To a user, another user's is not there.
type LineageNode struct {
	ID       string            `json:"id"`
	Distance int               `json:"distance"` // edges from the root
	Withheld bool              `json:"withheld,omitempty"`
	Type     schema.MemoryType `json:"type,omitempty"`
	Category schema.Category   `json:"category,omitempty"`
	Status   schema.Status     `json:"status,omitempty"`
	// live, deleted, archived or erased; empty for what is superseded or retracted
	State       string             `json:"state,omitempty"`
	Version     int                `json:"version,omitempty"`
	Content     string             `json:"content,omitempty"`
	SourceTrust float64            `json:"source_trust,omitempty"` // [0,1]; never above that of a source
	CreatedAt   *time.Time         `json:"created_at,omitempty"`
	CreatedBy   string             `json:"created_by,omitempty"`
	LastStep    *schema.AuditEntry `json:"last_step,omitempty"` // the latest change, with actor and reason
}

// LineageEdge is one relation, told with the step that made it where both ends may be seen.
type LineageEdge struct {
	From      string     `json:"from"`
	Predicate string     `json:"predicate"`
	To        string     `json:"to"`
	Weight    float64    `json:"weight"` // [0,1]
	Reason    string     `json:"reason,omitempty"`
	Actor     string     `json:"actor,omitempty"`
	At        *time.Time `json:"at,omitempty"`
}

// Way is the direction in which a lineage is walked.
type Way string

// The ways. A walk goes on in the way that it came: to the sources of a source, never to what else
// was derived from it.
const (
	WayRoot    Way = "root"
	WaySource  Way = "source"  // what it was derived from
	WayDerived Way = "derived" // what was derived from it
	WayOlder   Way = "older"   // what it superseded, and what that was derived from
	WayNewer   Way = "newer"   // what superseded it
	WayOther   Way = "beside"  // contradictions, supports and other relations: not walked on
)

// Follow says whether a walk that came by way w goes along an edge, outward being from its source to
// its target, and by which way it then has come.
func (w Way) Follow(predicate string, outward bool) (Way, bool) {
	way := WayOther
	switch {
	case predicate == revision.RelationDerivedFrom && outward:
		way = WaySource
	case predicate == revision.RelationDerivedFrom:
		way = WayDerived
	case predicate == revision.RelationSupersedes && outward:
		way = WayOlder
	case predicate == revision.RelationSupersedes:
		way = WayNewer
	}
	return way, w == WayRoot || w != WayOther && w == way || w == WayOlder && way == WaySource
}

// Lineage walks from a memory that the principal may look at, within the clearance, depth edges at most, and returns
// what it comes by. It returns ErrNotFound for any other memory. A depth of 0 means DefaultLineageDepth.
func (s *Reading) Lineage(ctx context.Context, p schema.Principal, id uuid.UUID, depth int,
	clearance ...policy.Clearance) (Lineage, error) {
	ctx = pg.WithClass(ctx, pg.ClassPipeline)
	if depth <= 0 {
		depth = DefaultLineageDepth
	}
	w := lineageWalk{p: p, levels: pg.ClearedSensitivities(clearance), depth: min(depth, MaxLineageDepth),
		seen: map[lineageStep]bool{}, nodes: map[uuid.UUID]*LineageNode{}, edges: map[lineageEdge]bool{},
		others: map[string]bool{},
		out:    Lineage{Root: id.String(), Edges: []LineageEdge{}, Cut: []string{}}}
	err := s.Read(ctx, p.Tenant, func(tx pgx.Tx) error {
		w.tx = tx
		return w.walk(ctx, id)
	})
	if errors.Is(err, pg.ErrNotFound) {
		return Lineage{}, err
	}
	if err != nil {
		return Lineage{}, fmt.Errorf("read lineage: %w", err)
	}
	w.dropOthers()
	for i := range w.out.Edges { // what links to a withheld memory may tell of it
		e := &w.out.Edges[i]
		if w.withheld(e.From) || w.withheld(e.To) {
			e.Reason, e.Actor, e.At = "", "", nil
		}
	}
	return w.out, nil
}

// dropOthers takes out what leads to the memories of other users: not even the id of one is shown to a user.
func (w *lineageWalk) dropOthers() {
	w.out.Nodes = slices.DeleteFunc(w.out.Nodes, func(n LineageNode) bool { return w.others[n.ID] })
	w.out.Edges = slices.DeleteFunc(w.out.Edges, func(e LineageEdge) bool { return w.others[e.From] || w.others[e.To] })
}

// lineageStep is a memory and the way by which it was reached: a walk does not pass it twice.
type lineageStep struct {
	id  uuid.UUID
	way Way
}

type lineageEdge struct {
	from      uuid.UUID
	predicate string
	to        uuid.UUID
}

// lineageWalk is one Lineage call at work. It goes level by level, so that it never reads past what is withheld, and
// is cut where it has seen enough.
type lineageWalk struct {
	tx     pgx.Tx
	p      schema.Principal
	depth  int
	levels []schema.Sensitivity // what the clearance lets it see
	seen   map[lineageStep]bool
	nodes  map[uuid.UUID]*LineageNode
	edges  map[lineageEdge]bool
	others map[string]bool // what a user may not read of its agent, by id
	out    Lineage
}

func (w *lineageWalk) withheld(id string) bool {
	n, ok := w.nodes[uuid.MustParse(id)]
	return !ok || n.Withheld
}

func (w *lineageWalk) walk(ctx context.Context, root uuid.UUID) error {
	if err := w.readNodes(ctx, []uuid.UUID{root}, 0); err != nil {
		return err
	}
	if w.nodes[root].Withheld {
		return fmt.Errorf("memory %s: %w", root, pg.ErrNotFound)
	}
	frontier := []lineageStep{{root, WayRoot}}
	w.seen[frontier[0]] = true
	for level := 1; len(frontier) > 0; level++ {
		found, err := w.level(ctx, frontier)
		if err != nil {
			return err
		}
		var next []lineageStep
		var fresh []uuid.UUID
		for _, f := range found {
			if w.seen[f.step] {
				w.addEdge(f) // to what is there already: a cycle, or a second way
				continue
			}
			_, known := w.nodes[f.step.id]
			switch {
			case !known && level > w.depth:
				w.cut("depth")
				continue
			case !known && len(w.nodes)+len(fresh) >= MaxLineageNodes && !slices.Contains(fresh, f.step.id):
				w.cut("nodes")
				continue
			}
			w.seen[f.step] = true
			w.addEdge(f)
			if !known && !slices.Contains(fresh, f.step.id) {
				fresh = append(fresh, f.step.id)
			}
			if level <= w.depth && f.step.way != WayOther {
				next = append(next, f.step)
			}
		}
		if err := w.readNodes(ctx, fresh, level); err != nil {
			return err
		}
		frontier = slices.DeleteFunc(next, func(s lineageStep) bool { return w.nodes[s.id].Withheld })
	}
	return nil
}

func (w *lineageWalk) cut(by string) {
	if !slices.Contains(w.out.Cut, by) {
		w.out.Cut = append(w.out.Cut, by)
	}
}

// foundEdge is an edge and where it leads.
type foundEdge struct {
	edge   lineageEdge
	weight float64
	reason string
	actor  string
	at     *time.Time
	step   lineageStep
}

func (w *lineageWalk) addEdge(f foundEdge) {
	if w.edges[f.edge] {
		return
	}
	w.edges[f.edge] = true
	w.out.Edges = append(w.out.Edges, LineageEdge{From: f.edge.from.String(), Predicate: f.edge.predicate,
		To:     f.edge.to.String(),
		Weight: f.weight, Reason: f.reason, Actor: f.actor, At: f.at})
}

// lineageSQL reads the edges of a frontier. Supersession is told by the columns as well as by relations:
// what was put with them may have no relation. An edge is explained by the step that was taken when it
// was made; history is looked at for those that are shown alone.
const lineageSQL = `
	SELECT e.n, e.source, e.predicate, e.target, e.outward, e.weight, coalesce(nullif(e.reason, ''), h.reason, ''),
	coalesce(h.changed_by, ''), e.at
	FROM (SELECT f.n, e.* FROM unnest($2::uuid[], $3::boolean[], $4::boolean[], $5::boolean[], $6::boolean[],
		$7::boolean[]) WITH ORDINALITY
		f(id, sources, derived, older, newer, beside, n)
	CROSS JOIN LATERAL (
		SELECT r.source_id AS source, r.predicate, r.target_id AS target, true AS outward, r.weight, r.reason,
		r.created_at AS at
		FROM memory_relations r WHERE r.tenant = $1 AND r.source_id = f.id
			AND CASE r.predicate WHEN 'derived_from' THEN f.sources WHEN 'supersedes' THEN f.older ELSE f.beside END
		UNION ALL
		SELECT r.source_id, r.predicate, r.target_id, false, r.weight, r.reason, r.created_at
		FROM memory_relations r WHERE r.tenant = $1 AND r.target_id = f.id
			AND CASE r.predicate WHEN 'derived_from' THEN f.derived WHEN 'supersedes' THEN f.newer ELSE f.beside END
		UNION ALL
		SELECT m.superseded_by, 'supersedes', m.id, false, 1, '', m.superseded_at
		FROM memories m WHERE m.tenant = $1 AND m.id = f.id AND f.newer AND m.superseded_by IS NOT NULL
		UNION ALL
		SELECT m.id, 'supersedes', m.supersedes, true, 1, '', m.created_at
		FROM memories m WHERE m.tenant = $1 AND m.id = f.id AND f.older AND m.supersedes IS NOT NULL
		UNION ALL
		SELECT m.superseded_by, 'supersedes', m.id, true, 1, '', m.superseded_at
		FROM memories m WHERE m.tenant = $1 AND f.older AND m.superseded_by = f.id
	) e
	ORDER BY f.n, e.predicate, e.outward DESC, e.at, e.source, e.target
	LIMIT $8) e
	LEFT JOIN LATERAL (SELECT h.reason, h.changed_by FROM memory_history h
		WHERE h.tenant = $1 AND h.memory_id = ANY(ARRAY[e.source, e.target]) AND h.created_at = e.at
		AND h.action IS NOT NULL
		ORDER BY h.memory_id <> e.source, h.seq LIMIT 1) h ON true
	ORDER BY e.n, e.predicate, e.outward DESC, e.at, e.source, e.target`

// level reads the edges that the walk follows from a frontier. It reads no more than a walk may show.
func (w *lineageWalk) level(ctx context.Context, frontier []lineageStep) ([]foundEdge, error) {
	ids := make([]uuid.UUID, len(frontier))
	var follow [5][]bool
	for i, s := range frontier {
		ids[i] = s.id
		for n, to := range []struct {
			predicate string
			outward   bool
		}{{revision.RelationDerivedFrom, true}, {revision.RelationDerivedFrom, false},
			{revision.RelationSupersedes, true}, {revision.RelationSupersedes, false}, {"", true}} {
			_, ok := s.way.Follow(to.predicate, to.outward)
			follow[n] = append(follow[n], ok)
		}
	}
	const limit = 4 * MaxLineageNodes // an edge may be told three times
	rows, err := w.tx.Query(ctx, lineageSQL, w.p.Tenant, ids, follow[0], follow[1], follow[2], follow[3], follow[4],
		limit)
	if err != nil {
		return nil, err
	}
	out, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (foundEdge, error) {
		var f foundEdge
		var n int
		var outward bool
		if err := row.Scan(&n, &f.edge.from, &f.edge.predicate, &f.edge.to, &outward, &f.weight, &f.reason, &f.actor,
			&f.at); err != nil {
			return f, err
		}
		f.step.id = f.edge.from
		if outward {
			f.step.id = f.edge.to
		}
		f.step.way, _ = frontier[n-1].way.Follow(f.edge.predicate, outward)
		return f, nil
	})
	if len(out) == limit {
		w.cut("nodes")
	}
	return out, err
}

// readNodes reads memories as nodes, at a distance from the root. What is not there is withheld as well:
// whether it exists is not the asker's to know.
func (w *lineageWalk) readNodes(ctx context.Context, ids []uuid.UUID, distance int) error {
	if len(ids) == 0 {
		return nil
	}
	found := map[uuid.UUID]LineageNode{}
	rows, err := w.tx.Query(ctx, `SELECT m.id, m.type, m.category, m.status, m.version, m.content, m.source_trust,
		m.created_at, m.created_by,
			CASE WHEN m.erased_at IS NOT NULL THEN 'erased' WHEN m.deleted_at IS NOT NULL THEN 'deleted'
			WHEN m.archived_at IS NOT NULL THEN 'archived'
				WHEN m.live THEN 'live' ELSE '' END,
			(SELECT jsonb_build_object('action', h.action, 'actor', h.changed_by, 'timestamp', h.created_at,
				'rationale', `+reasonAsked+`)
				FROM memory_history h WHERE h.tenant = m.tenant AND h.memory_id = m.id AND h.action IS NOT NULL
				ORDER BY h.seq DESC LIMIT 1)
		FROM memories m WHERE m.tenant = $1 AND m.id = ANY($2) AND `+readableAs("m"), w.p.Tenant, ids, w.p.Agent,
		w.p.Project, pg.ReadGrants(w.p), w.levels)
	if err != nil {
		return err
	}
	_, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (struct{}, error) {
		var id uuid.UUID
		n := LineageNode{Distance: distance}
		err := row.Scan(&id, &n.Type, &n.Category, &n.Status, &n.Version, &n.Content, &n.SourceTrust, &n.CreatedAt,
			&n.CreatedBy, &n.State, &n.LastStep)
		n.ID = id.String()
		found[id] = n
		return struct{}{}, err
	})
	if err != nil {
		return err
	}
	if err := w.findHidden(ctx, ids); err != nil {
		return err
	}
	for _, id := range ids {
		n, ok := found[id]
		if !ok {
			n = LineageNode{ID: id.String(), Distance: distance, Withheld: true}
		}
		w.nodes[id] = &n
		w.out.Nodes = append(w.out.Nodes, n)
	}
	return nil
}

// findHidden finds those of the memories that a principal that acts for a user may not read.
func (w *lineageWalk) findHidden(ctx context.Context, ids []uuid.UUID) error {
	if w.p.User == "" {
		return nil
	}
	rows, err := w.tx.Query(ctx, `SELECT id FROM memories WHERE tenant = $1 AND id = ANY($2) AND scope <> ALL($3)`,
		w.p.Tenant, ids, w.p.ReadScopes())
	if err != nil {
		return err
	}
	others, err := pgx.CollectRows(rows, pgx.RowTo[uuid.UUID])
	for _, id := range others {
		w.others[id.String()] = true
	}
	return err
}
