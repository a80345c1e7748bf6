package question

import (
	"slices"

	"github.com/mneme/mneme/memory/english"
	"github.com/mneme/mneme/memory/frame"
)

// turns compares what an earlier text x and a later text y say about the same things: whether a state was followed by
// an event that may have ended it. Its results are the last measures of succession.
func (q *Question) turns(x, y *Text) []float64 {
	total, definite, indefinite, other, possessor, narrower, fresh := 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
	for _, c := range x.words {
		if c.typed || c.value && !c.name {
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
			definite += c.weight
		case d.indefinite && !d.fresh:
			indefinite += c.weight
		}
		if d.other && !c.det.other {
			other = 1
		}
		if of := d.of; of != "" && c.det.of != "" && of != c.det.of {
			possessor = 1
		}
		if m := d.modifier; m != "" && !d.fresh && c.det.modifier != m && !x.has(m) &&
			!slices.ContainsFunc(q.words, func(w content) bool { return w.stem == m }) {
			narrower = 1
		}
		if d.fresh && !c.det.fresh {
			fresh = 1
		}
	}
	total = max(total, 0.5)
	definite, indefinite = definite/total, indefinite/total
	state := len(x.aspect.done) == 0
	turn := 0.0
	if state && len(y.aspect.done) > 0 {
		turn = definite
	}
	habit := slices.ContainsFunc(x.aspect.present, func(v string) bool {
		return !english.LightVerbs[v] && slices.Contains(y.aspect.done, v)
	})
	others, same := false, false
	for kind, keys := range x.typed {
		if !frame.SingleKind(kind) || len(y.typed[kind]) == 0 {
			continue
		}
		if conflict(keys, y.typed[kind]) {
			others = true
		} else {
			same = true
		}
	}
	opposite := slices.ContainsFunc(x.opposites, func(v string) bool {
		return slices.ContainsFunc(y.opposites, func(w string) bool { return english.Opposite(v, w) })
	})
	first, second := q.gives(x), q.gives(y)
	return []float64{
		turn,
		turn * when(q.kind == askedWhether),
		turn * y.aspect.result,
		indefinite,
		when(state && habit),
		when(y.aspect.once && !x.aspect.once),
		when(y.aspect.unreal && !x.aspect.unreal),
		when(y.aspect.told),
		other,
		possessor,
		narrower,
		when(others),
		when(same && !others),
		when(first && second),
		when(first && !second),
		when(!first && second),
		when(q.kind == askedWhether),
		when(opposite),
		when(y.aspect.perfect),
		fresh,
		y.aspect.result,
		when(state && len(y.aspect.done) == 0),
		definite,
	}
}

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
