package revision

import (
	"fmt"

	"github.com/mneme/mneme/schema"
)

// succession is a supersession that a put record states.
type succession struct {
	field        string // path within the record
	newer, older string
}

// successions returns the supersessions that a record states, by fields or by relations. The fields count only for a
// new record, because a repeated put does not change them.
func (p *putPlan) successions(i int) []succession {
	id, v := p.Records[i].ID, &p.verdicts[i]
	var out []succession
	if v.SupersededBy != "" && v.New {
		out = append(out, succession{"superseded_by", v.SupersededBy, id})
	}
	if v.Supersedes != "" && v.New {
		out = append(out, succession{"supersedes", id, v.Supersedes})
	}
	for k, edge := range v.Relations {
		if edge.Predicate == RelationSupersedes {
			out = append(out, succession{fmt.Sprintf("relations[%d].target_id", k), id, edge.TargetID})
		}
	}
	return out
}

// linksAfter returns the links of chains after this put.
func (p *putPlan) linksAfter() map[string]PutLink {
	out := make(map[string]PutLink, len(p.Links)+len(p.Records))
	for id, link := range p.Links {
		out[id] = link
	}
	for i := range p.verdicts {
		id, v := p.Records[i].ID, &p.verdicts[i]
		discarded := v.Status == schema.PutDiscarded
		if v.Inserts() {
			out[id] = PutLink{Version: 1, Live: p.Records[i].Kept.Status.Live() && !discarded}
		} else if discarded {
			out[id] = PutLink{Version: out[id].Version}
		}
	}
	return out
}

// refuseChains refuses records that would make a cycle of revisions, and records that would supersede a live memory
// (document 004 §12): only a revision changes both sides at once, while a put would write only one. It reports whether
// it refused any, because records that refer to them must then be refused too.
func (p *putPlan) refuseChains(links map[string]PutLink) bool {
	older := map[string][]string{}
	for id, targets := range p.Older {
		older[id] = append(older[id], targets...)
	}
	for i := range p.verdicts {
		if !p.verdicts[i].Writes() {
			continue
		}
		for _, s := range p.successions(i) {
			older[s.newer] = append(older[s.newer], s.older)
		}
	}
	refused := false
	for i := range p.verdicts {
		if p.verdicts[i].Writes() && p.refuseChain(i, links, older) {
			refused = true
		}
	}
	return refused
}

// refuseChain refuses a record with an invalid supersession, and reports whether it did.
func (p *putPlan) refuseChain(i int, links map[string]PutLink, older map[string][]string) bool {
	v := &p.verdicts[i]
	for _, s := range p.successions(i) {
		target := links[s.older]
		if leadsTo(older, s.older, s.newer) {
			v.Status, v.Version, v.Problem = schema.PutCycle, 0, s.field+": leads back to the record"
			return true
		}
		if s.newer == p.Records[i].ID && target.Live {
			v.Yield(schema.PutExists, s.older)
			v.Version, v.Problem = target.Version, s.field+": names a live memory: revise it"
			return true
		}
	}
	return false
}

// leadsTo reports whether a chain leads from one memory to another. Every memory leads to itself.
func leadsTo(older map[string][]string, from, to string) bool {
	seen, waiting := map[string]bool{from: true}, []string{from}
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
