package revision

import (
	"fmt"

	"github.com/mneme/mneme/schema"
)

// succession is what a put record says about supersession.
type succession struct {
	field        string // path within the record
	newer, older string
}

// successions lists a record's place among revisions. A relation says the same as the fields; the fields do not
// change if a record is put again.
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

// linksAfter are the links of chains as this put leaves them.
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

// refuseChains refuses records that would close a chain of revisions to a circle, and those that would supersede a
// live memory (document 004 §12): that is a revision, which changes both sides at once, and a put would write only
// one. It reports whether there were any, because a record is refused together with one that it names.
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

// refuseChain refuses a record for what it says about supersession, and reports whether it did.
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
