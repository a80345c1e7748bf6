package proposals

import (
	"slices"
	"strings"
	"time"

	"github.com/mneme/mneme/memory"
	"github.com/mneme/mneme/memory/change"
	"github.com/mneme/mneme/memory/frame"
	"github.com/mneme/mneme/memory/normalize"
	"github.com/mneme/mneme/memory/parsed"
	"github.com/mneme/mneme/memory/question"
	"github.com/mneme/mneme/memory/sensitive"
	"github.com/mneme/mneme/schema"
)

// OfferedNeighbors is the number of neighbours that a decision gets (document 002 "Decision Engine").
const OfferedNeighbors = 5

// Offer returns the neighbours for a decision about a fact, best first. Neighbours that the fact seems to change come
// before those that are only similar. A memory with the score AttributeScore is offered only if the fact changes it.
func Offer(fact memory.Fact, found []memory.Neighbor) []memory.Neighbor {
	if len(found) == 0 || len(found) == 1 && found[0].Score != AttributeScore {
		return found
	}
	if len(fact.Content) > memory.MaxLatestChars {
		return found[:min(len(found), OfferedNeighbors)]
	}
	said := parsed.Statements(fact.Content, fact.Speaker)
	changed := make(map[string]bool, len(found))
	for _, n := range found {
		if !changeable(fact, n) {
			continue
		}
		known := parsed.Statements(n.Content, n.Who)
		r, _ := change.Best(known, said)
		changed[n.ID] = reported(fact, said, r) && !holdBoth(n, fact) &&
			(n.Score != AttributeScore || r.Certainty == change.Sure)
	}
	out := slices.DeleteFunc(slices.Clone(found), func(n memory.Neighbor) bool {
		return n.Score == AttributeScore && !changed[n.ID]
	})
	slices.SortStableFunc(out, func(a, b memory.Neighbor) int {
		switch {
		case changed[a.ID] == changed[b.ID]:
			return 0
		case changed[a.ID]:
			return -1
		}
		return 1
	})
	return out[:min(len(out), OfferedNeighbors)]
}

// FoundChange is the change of a memory by a fact.
type FoundChange struct {
	Target   memory.Neighbor
	Also     []string // others with the same statement as the target
	Change   memory.Change
	Own      bool // speakers change their own earlier statement
	Relation change.Relation
}

// FindChange returns the change that a fact makes to one of the neighbours, best first. It returns false if there is
// none, or if the fact could change several unrelated ones.
func FindChange(fact memory.Fact, neighbors []memory.Neighbor) (FoundChange, bool) {
	if len(fact.Content) > memory.MaxLatestChars {
		return FoundChange{}, false
	}
	said := parsed.Statements(fact.Content, fact.Speaker)
	if len(said) == 0 {
		return FoundChange{}, false
	}
	type hit struct {
		neighbor memory.Neighbor
		frames   []frame.Frame
		relation change.Relation
	}
	var hits []hit
	for _, n := range neighbors {
		if !changeable(fact, n) {
			continue
		}
		frames := parsed.Statements(n.Content, n.Who)
		r, more := change.Best(frames, said)
		if !reported(fact, said, r) || more || holdBoth(n, fact) || detail(fact, n, r) {
			continue // a change would also affect its other statements, or both are true
		}
		hits = append(hits, hit{n, frames, r})
	}
	if len(hits) == 0 {
		return FoundChange{}, false
	}
	slices.SortStableFunc(hits, func(a, b hit) int { return int(b.relation.Certainty - a.relation.Certainty) })
	best := hits[0]
	out := FoundChange{Target: best.neighbor, Relation: best.relation, Change: memory.ChangeSupersede,
		Own: sameVoice(fact.Speaker, best.neighbor.Who) && slices.ContainsFunc(said, frame.Frame.OfSpeaker)}
	if best.relation.Certainty < change.Sure {
		out.Change = memory.ChangeContest
	}
	for _, h := range hits[1:] {
		if h.relation.Certainty < best.relation.Certainty {
			continue
		}
		if !ofOneThing(best.frames, h.frames) {
			if best.relation.Why == change.WhyNamed || best.relation.Why == change.WhyEnded {
				continue
			}
			return FoundChange{}, false
		}
		out.Also = append(out.Also, h.neighbor.ID)
	}
	return out, true
}

// detail reports whether a fact has the claim of a neighbour and only seems to change it, because it says more or less
// about it: "Maya works at Globex", "Maya works at Globex in Zurich".
func detail(fact memory.Fact, n memory.Neighbor, r change.Relation) bool {
	a, b := fact.Claim, n.Claim
	return r.Certainty < change.Sure && r.Why != change.WhyEnded && r.Why != change.WhyOpposite &&
		!a.IsZero() && a.Object != "" && strings.EqualFold(a.Subject, b.Subject) && a.Predicate == b.Predicate &&
		strings.EqualFold(a.Object, b.Object)
}

// MayChange reports whether a fact may change a neighbour at all. It may not change an episode, which records past
// statements, a later statement, or what its speaker may not change (mayReport).
func MayChange(fact memory.Fact, n memory.Neighbor) bool {
	return n.Type != schema.TypeEpisodic && !saidBefore(fact.SaidAt, n.OccurredAt) && mayReport(fact, n)
}

// holdBoth reports whether a memory and a fact can both be true.
func holdBoth(n memory.Neighbor, fact memory.Fact) bool {
	return question.Apart(parsed.Text(n.Content, n.Who), parsed.Text(fact.Content, fact.Speaker))
}

// changeable reports whether frames can tell if a fact changes a neighbour: a long text has many statements.
func changeable(fact memory.Fact, n memory.Neighbor) bool {
	return len(n.Content) <= memory.MaxLatestChars && MayChange(fact, n)
}

// saidBefore reports whether a fact is older than a memory. It returns false if a time is unknown.
func saidBefore(fact, known time.Time) bool {
	return !fact.IsZero() && !known.IsZero() && fact.Before(known)
}

// sameVoice reports whether two speakers may be the same person. An unknown speaker may be anyone.
func sameVoice(a, b string) bool { return a == b || a == "" || b == "" }

// ofOneThing reports whether two memories are about the same attribute of the same subject.
func ofOneThing(a, b []frame.Frame) bool {
	r, _ := change.Best(a, b)
	back, _ := change.Best(b, a)
	return r.Certainty > change.Unrelated || back.Certainty > change.Unrelated
}

// Readers is what decides who may read a memory of an owner.
type Readers struct {
	Sensitivity schema.Sensitivity
	Visibility  schema.Visibility
}

// MayRepeat reports whether a memory may have words of another one of the same owner: its readers may also read the
// other. Otherwise a search by these words would reveal that the other memory has them.
func MayRepeat(of, other Readers) bool {
	return sensitive.Rank(other.Sensitivity) <= sensitive.Rank(of.Sensitivity) &&
		!memory.Narrower(other.Visibility, of.Visibility)
}

// SuccessorHintBegins is the beginning of every SuccessorHint. An erasure of the old statement finds them by it.
const SuccessorHintBegins = "What holds now of "

// SuccessorHint returns a hint with which the successor of a statement is found by the words of the old statement: "We
// switched to GitHub Actions" answers what is used for CI. It returns nil if there are no such words.
func SuccessorHint(old memory.Neighbor) []memory.Hint {
	var about []string
	for _, f := range parsed.Statements(old.Content, old.Who) {
		if words := f.About(); words != "" {
			about = append(about, words)
		}
	}
	if len(about) == 0 {
		return nil
	}
	return memory.JoinHints(nil, memory.CheckHints([]string{SuccessorHintBegins + strings.Join(about, ", ") + "?"}))
}

// FindRetracted proposes the effect of a fact that retracts a statement: it retracts the memories that state its
// content. If there are none, it proposes nothing.
func FindRetracted(fact memory.Fact, neighbors []memory.Neighbor) memory.Proposal {
	text := normalize.Normalize(fact.Content)
	said := parsed.Statements(fact.Content, fact.Speaker)
	out := memory.Proposal{Action: schema.ActionNone, Confidence: 1, Reason: "takes back what no memory says"}
	for _, n := range neighbors {
		if n.Type == schema.TypeEpisodic || saidBefore(fact.SaidAt, n.OccurredAt) {
			continue
		}
		known := n.Says(text)
		if !known && len(n.Content) <= memory.MaxLatestChars {
			r, more := change.Best(parsed.Statements(n.Content, n.Who), said)
			known = !more && r.Change == change.Restates
		}
		switch {
		case !known:
		case out.TargetID == "":
			out = memory.Proposal{
				Action:     schema.ActionDelete,
				TargetID:   n.ID,
				Confidence: changeCertain,
				Reason:     "taken back",
				Change:     memory.ChangeRetract,
				Own:        sameVoice(fact.Speaker, n.Who),
			}
		default:
			out.Also = append(out.Also, n.ID)
		}
	}
	return out
}

// changeCertain is the confidence of a proposal that follows from an explicit statement.
const changeCertain = 0.9
