package rank

import (
	"regexp"
	"slices"

	"github.com/google/uuid"

	"github.com/mneme/mneme/memory/normalize"
	"github.com/mneme/mneme/schema"
)

// StageDampen is the stage that lowers noisy candidates and raises binding or dated ones (document 002
// Phase 4): DampenVectorOnly, DampenHubs, BoostDecisions and BoostDated, in this order.
const StageDampen = "dampen"

// Factors of dampening (notes on recall constants).
const (
	dampenVectorOnly = 0.5 // factor for what only vectors found and no word supports
	dampenAbove      = 0.3 // only scores above this are dampened, and not below it
	dampenHub        = 0.7
	boostDecision    = 1.2
	boostDated       = 1.1

	hubPercentile = 0.9 // of degrees, from which an entity is a hub
)

// vectorOnly reports whether only vectors found a memory, and no channel that compares words. Its score must be above
// 0.3.
func vectorOnly(e Evidence) bool {
	return e.Score > dampenAbove && e.Channels[ChannelVector] > 0 && e.Terms == 0 &&
		e.Channels[ChannelText] == 0 && e.Channels[ChannelHints] == 0 && e.Channels[ChannelClaims] == 0
}

// DampenVectorOnly halves, but not below 0.3, the score of memories that only vectors found and that share no word with
// the query. overlaps reports whether a memory's content shares a word. It is called only for what only vectors found.
func DampenVectorOnly(evidence []Evidence, overlaps func(uuid.UUID) bool) []Evidence {
	out := slices.Clone(evidence)
	for i := range out {
		if e := &out[i]; vectorOnly(*e) && !overlaps(e.ID) {
			e.Set(StageDampen, max(dampenAbove, dampenVectorOnly*e.Score), "no word in common")
		}
	}
	Rank(out)
	return out
}

// SharesWord reports whether two texts have a content word in common.
func SharesWord(a, b string) bool {
	in := map[string]bool{}
	for _, word := range normalize.Words(a, "'") {
		in[word] = !functionWords[word]
	}
	return slices.ContainsFunc(normalize.Words(b, "'"), func(word string) bool { return in[word] })
}

// DampenHubs multiplies the score of memories that link only to hubs by 0.7. lowest has the lowest degree of the
// entities that a memory links to, by memory. hub is the degree from which an entity is a hub, or 0 if there are none.
func DampenHubs(evidence []Evidence, lowest map[uuid.UUID]int64, hub int64) []Evidence {
	out := slices.Clone(evidence)
	for i := range out {
		e := &out[i]
		if degree, linked := lowest[e.ID]; hub > 0 && linked && degree >= hub {
			e.Set(StageDampen, dampenHub*e.Score, "linked to hubs only")
		}
	}
	Rank(out)
	return out
}

// HubDegree returns the degree from which an entity is a hub: the 90th percentile of the tenant's known degrees. It
// returns 0, for no hubs, if that is at most twice the median.
func HubDegree(degrees []int64) int64 {
	if len(degrees) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(degrees))
	hub, median := sorted[int(hubPercentile*float64(len(sorted)-1))], sorted[len(sorted)/2]
	if hub <= 2*median {
		return 0
	}
	return hub
}

// BoostDecisions multiplies the score of decisions and rules by 1.2, because they are binding.
func BoostDecisions(evidence []Evidence) []Evidence {
	out := slices.Clone(evidence)
	for i := range out {
		if e := &out[i]; e.Category == schema.CategoryDecision || e.Category == schema.CategoryRule {
			e.Set(StageDampen, boostDecision*e.Score, "decision or constraint")
		}
	}
	Rank(out)
	return out
}

// BoostDated multiplies the score of texts that name a date by 1.1. Unread memories keep their
// score.
func BoostDated(evidence []Evidence, contents map[uuid.UUID]string) []Evidence {
	out := slices.Clone(evidence)
	for i := range out {
		if e := &out[i]; dates.MatchString(contents[e.ID]) {
			e.Set(StageDampen, boostDated*e.Score, "names a date")
		}
	}
	Rank(out)
	return out
}

// dates matches a day, a month of a year, or a year.
var dates = regexp.MustCompile(
	`(?i)\b(?:(?:19|20)\d\d(?:-\d\d?(?:-\d\d?)?)?|\d{1,2}(?:st|nd|rd|th)?\s+(?:of\s+)?(?:` + months + `)|(?:` + months +
		`)\s+\d{1,2}(?:st|nd|rd|th)?|\d{1,2}[/.]\d{1,2}[/.]\d{2,4})\b`,
)

const months = `jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|` +
	`aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?`
