package frame

import (
	"slices"

	"github.com/mneme/mneme/memory/lexicon"
)

// Text is a text that was read.
type Text struct {
	Frames []Frame
	sketch *sketch
}

// ReadText reads a text. Speaker is who says "I", empty when unknown.
func ReadText(text, speaker string) Text {
	frames := Read(text, speaker)
	return Text{frames, sketchOf(text, frames)}
}

const features = 44

// Features says how two texts compare, the earlier first.
func Features(a, b Text) [features]float64 {
	x, y := a.sketch, b.sketch
	flag := func(b bool) float64 {
		if b {
			return 1
		}
		return 0
	}
	var out [features]float64
	n := 0
	put := func(v float64) { out[n] = v; n++ }

	shared := func(p, q []string) bool {
		return slices.ContainsFunc(p, func(o string) bool { return slices.Contains(q, o) })
	}
	stranger := len(a.Frames) > 0 && len(b.Frames) > 0
	conditions := true
	rule := Unrelated
	for _, f := range a.Frames {
		for _, g := range b.Frames {
			stranger = stranger && strangers(f, g)
			m := match(f, g)
			conditions = conditions && m.conditions
			rule = max(rule, Compare(f, g).Certainty)
		}
	}
	same := shared(x.owner, y.owner)
	put(flag(stranger))                                      // 0
	put(flag(same))                                          // 1
	put(flag((len(x.owner) == 0) != (len(y.owner) == 0)))    // 2
	put(flag(len(x.owner) == 0 && len(y.owner) == 0))        // 3
	put(flag(len(x.owner) > 0 && len(y.owner) > 0 && !same)) // 4

	// Words in common.
	common, rarest, commonValue, commonName := 0.0, 0.0, 0.0, 0.0
	restA, restB := 0.0, 0.0
	valueA, keptA := 0.0, 0.0
	for _, c := range x.content {
		in := slices.ContainsFunc(y.content, func(d content) bool { return d.stem == c.stem })
		if c.value {
			valueA += c.weight
			if in {
				keptA += c.weight
			}
		}
		switch {
		case in:
			common += c.weight
			if !c.typed {
				rarest = max(rarest, c.weight)
			}
			if c.value {
				commonValue += c.weight
			}
			if c.name {
				commonName += c.weight
			}
		case !c.value && !c.name:
			restA += c.weight
		}
	}
	for _, c := range y.content {
		if !c.value && !c.name && !slices.ContainsFunc(x.content, func(d content) bool { return d.stem == c.stem }) {
			restB += c.weight
		}
	}
	least, most := min(x.total, y.total), max(x.total, y.total)
	put(common / max(least, 0.5)) // 5
	put(common / max(most, 0.5))  // 6
	put(rarest)                   // 7
	softBA, softAB := soft(y, x), soft(x, y)
	put(softBA)                       // 8
	put(softAB)                       // 9
	put(x.meaning.Cosine(&y.meaning)) // 10
	kindBoth, kindSame := false, false
	for k, keys := range x.typed {
		if other := y.typed[k]; len(other) > 0 {
			if slices.ContainsFunc(keys, func(v string) bool { return slices.Contains(other, v) }) {
				kindSame = true
			}
			if slices.ContainsFunc(other, func(v string) bool { return !slices.Contains(keys, v) }) {
				kindBoth = true
			}
		}
	}
	put(flag(kindBoth && !kindSame))                 // 11
	put(flag(kindSame))                              // 12
	put(flag(len(x.typed) > 0 && len(y.typed) == 0)) // 13
	put(flag(len(x.typed) == 0 && len(y.typed) > 0)) // 14
	valueSim := 0.0
	for _, c := range x.content {
		for _, d := range y.content {
			if (c.value || c.name) && (d.value || d.name) && !c.typed && !d.typed && c.stem != d.stem {
				valueSim = max(valueSim, lexicon.Similarity(c.low, d.low))
			}
		}
	}
	put(valueSim) // 15
	now, change := y.cue == cueNow, y.cue == cueChange
	put(flag(now))       // 16
	put(flag(change))    // 17
	put(flag(y.ended))   // 18
	put(flag(y.negated)) // 19
	named := keptA / max(valueA, 0.5)
	put(named)                                            // 20
	put(named * flag(change || y.ended || y.negated))     // 21
	put(flag(x.past || x.event || x.hedged))              // 22
	put(flag(x.ended || x.negated))                       // 23
	put(flag(y.past || y.event))                          // 24
	put(flag(y.hedged))                                   // 25
	put(min(restA, 4))                                    // 26
	put(min(restB, 4))                                    // 27
	put(flag(conditions && (x.condition || y.condition))) // 28
	put(flag(y.also))                                     // 29
	put(flag(x.copular && y.copular))                     // 30
	put(min(commonName, 2))                               // 31
	put(flag(change) * softBA)                            // 32
	put(flag(change) * softAB)                            // 33
	put(flag(now) * softAB)                               // 34
	put(flag(same) * softAB)                              // 35
	put(flag(same) * x.meaning.Cosine(&y.meaning))        // 36
	put(softAB * softBA)                                  // 37
	put(flag(same) * valueSim)                            // 38
	put(min(float64(len(x.content)), 12) / 12)            // 39
	put(min(float64(len(y.content)), 12) / 12)            // 40
	put(flag(rule == Doubt))                              // 41
	put(flag(rule == Likely))                             // 42
	put(flag(rule == Sure))                               // 43
	return out
}

// soft says how much of the content of p the words of q cover, by the nearest in meaning.
func soft(p, q *sketch) float64 {
	covered, total := 0.0, 0.0
	for _, c := range p.content {
		if c.typed {
			continue
		}
		best := 0.0
		for _, d := range q.content {
			if c.stem == d.stem {
				best = 1
				break
			}
			if !d.typed {
				best = max(best, lexicon.Similarity(c.low, d.low))
			}
		}
		covered += c.weight * best
		total += c.weight
	}
	if total == 0 {
		return 0
	}
	return covered / total
}
