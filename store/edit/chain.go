package edit

import (
	"context"
	"fmt"

	"github.com/google/uuid"

	"github.com/mneme/mneme/memory/revision"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/store/pg"
)

// succession is what a put record says about supersession.
type succession struct {
	field        string // path within the record
	newer, older uuid.UUID
}

// successions lists what a record says of its place among revisions. A relation says the same as the
// fields; those do not change where a record is put again.
func (it *putItem) successions() []succession {
	var out []succession
	row := &it.row
	if row.SupersededBy != nil && it.fresh {
		out = append(out, succession{"superseded_by", *row.SupersededBy, it.key})
	}
	if row.Supersedes != nil && it.fresh {
		out = append(out, succession{"supersedes", it.key, *row.Supersedes})
	}
	for k, edge := range row.Relations {
		if edge.Predicate == revision.RelationSupersedes {
			out = append(out, succession{fmt.Sprintf("relations[%d].target_id", k), it.key, edge.Target})
		}
	}
	return out
}

// settleChains refuses records that would close a chain of revisions to a circle, and those that would
// supersede what is believed (document 004 §12): that is a revision, which changes both sides at once,
// and a put would write one of them. It goes on until nothing changes: a record falls with one that it
// names.
func (p *putting) settleChains(ctx context.Context) error {
	var named []uuid.UUID
	for i := range p.items {
		for _, s := range p.items[i].successions() {
			named = append(named, s.newer, s.older)
		}
	}
	if len(named) == 0 {
		return nil
	}
	standing, err := p.chainRows(ctx, named)
	if err != nil {
		return err
	}
	stored, err := p.chainsFrom(ctx, named)
	if err != nil {
		return err
	}
	for p.refuseChains(standing, stored) {
		p.settleReferences()
	}
	return nil
}

// chainRow is a stored memory as far as its successor is concerned.
type chainRow struct {
	ID      uuid.UUID
	Version int
	Live    bool
}

func (p *putting) chainRows(ctx context.Context, ids []uuid.UUID) (map[uuid.UUID]chainRow, error) {
	rows, err := pg.Collect[chainRow](ctx, p.Tx, `SELECT id, version, live FROM memories WHERE tenant = $1
		AND id = ANY($2)`, p.Tenant, ids)
	if err != nil {
		return nil, err
	}
	out := map[uuid.UUID]chainRow{}
	for _, m := range rows {
		out[m.ID] = m
	}
	for i := range p.items { // as this put leaves them
		it := &p.items[i]
		if m := out[it.key]; it.inserts() {
			out[it.key] = chainRow{it.key, 1, it.row.Status.Live() && it.Status != schema.PutDiscarded}
		} else if it.Status == schema.PutDiscarded {
			out[it.key] = chainRow{it.key, m.Version, false}
		}
	}
	return out, nil
}

// chainsFrom returns, by memory, what it supersedes, of the given memories and of those that they lead to.
func (p *putting) chainsFrom(ctx context.Context, ids []uuid.UUID) (map[uuid.UUID][]uuid.UUID, error) {
	edges, err := pg.Collect[struct{ Newer, Older uuid.UUID }](ctx, p.Tx, `
		WITH RECURSIVE chain AS (
			SELECT source_id AS newer, target_id AS older FROM memory_relations WHERE tenant = $1
			AND source_id = ANY($2) AND predicate = 'supersedes'
			UNION
			SELECT r.source_id, r.target_id FROM chain c JOIN memory_relations r ON r.tenant = $1
			AND r.source_id = c.older AND r.predicate = 'supersedes'
		)
		SELECT newer, older FROM chain`, p.Tenant, ids)
	if err != nil {
		return nil, err
	}
	out := map[uuid.UUID][]uuid.UUID{}
	for _, e := range edges {
		out[e.Newer] = append(out[e.Newer], e.Older)
	}
	return out, nil
}

// refuseChains refuses impossible chains and reports whether there were any.
func (p *putting) refuseChains(standing map[uuid.UUID]chainRow, stored map[uuid.UUID][]uuid.UUID) bool {
	older := map[uuid.UUID][]uuid.UUID{}
	for id, targets := range stored {
		older[id] = append(older[id], targets...)
	}
	for i := range p.items {
		if !p.items[i].writes() {
			continue
		}
		for _, s := range p.items[i].successions() {
			older[s.newer] = append(older[s.newer], s.older)
		}
	}
	refused := false
	for i := range p.items {
		it := &p.items[i]
		if !it.writes() {
			continue
		}
		for _, s := range it.successions() {
			m := standing[s.older]
			if leadsTo(older, s.older, s.newer) {
				it.Status, it.Version, it.Problem, refused = schema.PutCycle, 0, s.field+": leads back to the record",
					true
				break
			}
			if s.newer == it.key && m.Live {
				it.keepStored(schema.PutExists, m.ID)
				it.Version, it.Problem, refused = m.Version, s.field+": names a live memory: revise it", true
				break
			}
		}
	}
	return refused
}

// leadsTo reports whether a chain leads from one memory to another. Every memory leads to itself.
func leadsTo(older map[uuid.UUID][]uuid.UUID, from, to uuid.UUID) bool {
	seen, waiting := map[uuid.UUID]bool{from: true}, []uuid.UUID{from}
	for len(waiting) > 0 {
		id := waiting[len(waiting)-1]
		waiting = waiting[:len(waiting)-1]
		if id == to {
			return true
		}
		for _, next := range older[id] {
			if !seen[next] {
				seen[next] = true
				waiting = append(waiting, next)
			}
		}
	}
	return false
}
