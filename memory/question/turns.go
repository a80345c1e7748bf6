package question

import (
	"slices"
	"strings"

	"github.com/mneme/mneme/memory/english"
	"github.com/mneme/mneme/memory/frame"
)

// link is what an earlier and a later text have in common.
type link struct {
	things   float64 // share of the things of the earlier, by weight, that the later names as known
	loose    float64 // the same for things that it introduces, "a house"
	owner    bool    // they have a named owner in common
	subject  bool    // they have the same subject
	other    bool    // the later has another thing of the same kind: "the other team"
	of       bool    // a thing has another possessor
	narrower bool    // the later has a narrower thing: "the holiday house"
	fresh    bool    // the later has a new thing of the same kind: "my new passport"
}

// linkOf compares the things that two texts name.
func (q *Question) linkOf(x, y *Text) link {
	var out link
	total := 0.0
	for _, c := range x.words {
		if c.typed {
			continue
		}
		total += c.weight
		k := slices.IndexFunc(y.words, func(d content) bool { return d.stem == c.stem })
		if k < 0 {
			continue
		}
		d := y.words[k].det
		switch {
		case d.definite || y.words[k].name:
			out.things += c.weight
		case d.indefinite && !d.fresh:
			out.loose += c.weight
		default:
			out.things += bareShare * c.weight
		}
		out.other = out.other || d.other && !c.det.other
		out.of = out.of || d.of != "" && c.det.of != "" && d.of != c.det.of
		out.fresh = out.fresh || d.fresh && !c.det.fresh
		m := d.modifier
		out.narrower = out.narrower || m != "" && !d.fresh && c.det.modifier != m && !x.has(m) &&
			!slices.ContainsFunc(q.words, func(w content) bool { return w.stem == m })
	}
	total = max(total, 0.5)
	out.things, out.loose = out.things/total, out.loose/total
	out.owner = slices.ContainsFunc(x.owner, func(o string) bool {
		return !strings.HasPrefix(o, "@") && slices.Contains(y.owner, o)
	})
	out.subject = slices.ContainsFunc(x.Frames, func(f frame.Frame) bool {
		return len(f.Subject) > 0 && slices.ContainsFunc(y.Frames, func(g frame.Frame) bool {
			return english.Subset(f.Subject, g.Subject) && english.Subset(g.Subject, f.Subject)
		})
	})
	return out
}

// bareShare is how much a thing without a determiner counts: "test coverage".
const bareShare = 0.7

// turns measures whether a later text y tells how a state of an earlier text x ended, or gives another value for the
// same thing. Its results are the last measures of succession.
func (q *Question) turns(x, y *Text, relevanceX, relevanceY float64) []float64 {
	l := q.linkOf(x, y)
	state := len(x.aspect.done) == 0
	happened := when(state && len(y.aspect.done) > 0)
	habit := state && slices.ContainsFunc(x.aspect.present, func(v string) bool {
		return !english.LightVerbs[v] && slices.Contains(y.aspect.done, v)
	})
	rivals, same := false, false // values of one kind
	for kind, keys := range x.typed {
		if !frame.SingleKind(kind) || len(y.typed[kind]) == 0 {
			continue
		}
		if conflict(keys, y.typed[kind]) {
			rivals = true
		} else {
			same = true
		}
	}
	opposite := slices.ContainsFunc(x.opposites, func(v string) bool {
		return slices.ContainsFunc(y.opposites, func(w string) bool { return english.Opposite(v, w) })
	})
	first, second := q.gives(x), q.gives(y)
	both := when(first && second)
	whether := when(q.kind == askedWhether)
	now := when(y.cue >= frame.CueNow || y.current)
	asX, asY := probability(relevanceX), probability(relevanceY)
	known := max(l.things, when(l.owner)*ownerShare)
	return []float64{
		l.things,
		l.loose,
		when(l.owner),
		when(l.subject),
		when(l.other),
		when(l.of),
		when(l.narrower),
		when(l.fresh),
		happened * known,
		happened * known * whether,
		happened * known * y.aspect.result,
		when(habit),
		when(y.aspect.unreal && !x.aspect.unreal),
		when(y.aspect.told),
		when(rivals),
		when(rivals) * known,
		when(same && !rivals),
		both,
		both * known,
		when(first && !second),
		when(!first && second),
		whether,
		when(opposite),
		when(opposite) * known,
		now * known,
		when(l.subject) * both,
		when(l.subject) * now,
		when(y.aspect.perfect),
		y.aspect.result,
		when(state && len(y.aspect.done) == 0),
		asX,
		asY,
		asX * asY,
		asX * known,
		when(y.cue == frame.CueChange) * known,
		when(y.ended) * known,
	}
}

// ownerShare is how much a common owner counts as a common thing.
const ownerShare = 0.5

// placesAt reports whether the word at i begins a phrase for a place: "in the yard", "at Carla's".
func placesAt(ts []english.Token, i int, typed []bool) bool {
	if i+1 >= len(ts) || !ts[i].Is("in", "on", "at", "under", "behind", "near", "to", "into", "by", "inside", "opposite",
		"beside", "above", "below") || typed[i+1] {
		return false
	}
	next := ts[i+1]
	return !english.EndsGerund(next) && (english.Articles[next.Low] && i+2 < len(ts) && !typed[i+2] ||
		english.Possessives[next.Low] || next.Cap || english.IsContent(next))
}
