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

// Lineage holds the origin of a memory and its consequences: its sources, the memories derived from it, its
// revisions in both directions, and what it contradicts and supports (document 004 §12 and §15.7). It is a graph,
// from which the tree below its root can be drawn.
type Lineage struct {
	Root  string        `json:"root"`
	Nodes []LineageNode `json:"nodes"` // the root first, then by distance
	Edges []LineageEdge `json:"edges"`
	Cut   []string      `json:"cut"` // limits that cut the lineage: depth, nodes; empty if it is complete
}

// LineageNode is one memory. If the caller may not read it, or it does not exist, it has only the id, and the walk
// does not continue from it. A user is not shown memories of other users at all.
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

// LineageEdge is one relation. If the caller may see both ends, it has the step that created the relation.
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

// Directions of a walk. A walk keeps its direction: from a source to its sources, never to other memories derived
// from it.
const (
	WayRoot    Way = "root"
	WaySource  Way = "source"  // what it was derived from
	WayDerived Way = "derived" // what was derived from it
	WayOlder   Way = "older"   // what it superseded, and what that was derived from
	WayNewer   Way = "newer"   // what superseded it
	WayOther   Way = "other"   // contradictions, supports and other relations: not walked on
)

// Follow reports whether a walk that arrived in direction w follows an edge, and the new direction. outward means
// that the edge is followed from its source to its target.
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

// Lineage walks at most depth edges from a memory that the principal may read within the clearance, and returns the
// memories it reaches. For any other memory it returns ErrNotFound. A depth of 0 means DefaultLineageDepth.
func (s *Reading) Lineage(ctx context.Context, p schema.Principal, id uuid.UUID, depth int,
	clearance ...policy.Clearance) (Lineage, error) {
	ctx = pg.WithClass(ctx, pg.ClassPipeline)
	if depth <= 0 {
		depth = DefaultLineageDepth
	}
	w := lineageWalk{
		p:       p,
		cleared: pg.ClearedSensitivities(clearance),
		depth:   min(depth, MaxLineageDepth),
		seen:    map[lineageStep]bool{},
		nodes:   map[uuid.UUID]*LineageNode{},
		edges:   map[lineageEdge]bool{},
		others:  map[string]bool{},
		out:     Lineage{Root: id.String(), Edges: []LineageEdge{}, Cut: []string{}},
	}
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
	for i := range w.out.Edges { // a link to a withheld memory may reveal something of it
		e := &w.out.Edges[i]
		if w.withheld(e.From) || w.withheld(e.To) {
			e.Reason, e.Actor, e.At = "", "", nil
		}
	}
	return w.out, nil
}

// dropOthers removes the nodes and edges of other users' memories, because a user must not see even their ids.
func (w *lineageWalk) dropOthers() {
	w.out.Nodes = slices.DeleteFunc(w.out.Nodes, func(n LineageNode) bool { return w.others[n.ID] })
	w.out.Edges = slices.DeleteFunc(w.out.Edges, func(e LineageEdge) bool { return w.others[e.From] || w.others[e.To] })
}

// lineageStep is a memory and the direction in which it was reached. A walk takes each step once.
type lineageStep struct {
	id  uuid.UUID
	way Way
}

type lineageEdge struct {
	from      uuid.UUID
	predicate string
	to        uuid.UUID
}

// lineageWalk is the state of one Lineage. It goes level by level, does not read beyond withheld memories, and
// stops at its limits.
type lineageWalk struct {
	tx      pgx.Tx
	p       schema.Principal
	depth   int
	cleared []schema.Sensitivity // what the clearance lets it see
	seen    map[lineageStep]bool
	nodes   map[uuid.UUID]*LineageNode
	edges   map[lineageEdge]bool
	others  map[string]bool // memories that the user may not read, by id
	out     Lineage
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
				w.addEdge(f) // to a known node: a cycle, or a second path
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
	lineageRow
	step lineageStep
}

func (w *lineageWalk) addEdge(f foundEdge) {
	edge := lineageEdge{f.Source, f.Predicate, f.Target}
	if w.edges[edge] {
		return
	}
	w.edges[edge] = true
	w.out.Edges = append(w.out.Edges, LineageEdge{
		From:      f.Source.String(),
		Predicate: f.Predicate,
		To:        f.Target.String(),
		Weight:    f.Weight,
		Reason:    f.Reason,
		Actor:     f.Actor,
		At:        f.At,
	})
}
