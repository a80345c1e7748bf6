package memory

import (
	"slices"

	"github.com/google/uuid"

	"github.com/mneme/mneme/memory/frame"
	"github.com/mneme/mneme/schema"
)

// StageLatest puts the newest of the statements about one thing first, unless the question asks for the past.
const StageLatest = "latest"

// MaxLatest is how many of the best candidates are compared with each other, and MaxLatestChars how long
// their texts may be: long ones say many things.
const (
	MaxLatest      = 30
	MaxLatestChars = 600
)

// olderShare is what an older statement keeps of its score.
const olderShare = 0.85

// Quote is the text of a candidate, and who said it.
type Quote struct{ Text, Who string }

// Latest compares the best of the ranked candidates by what they state. Where a later one gives another
// value of what an earlier one says, the later takes the earlier's place in the ranking, and the earlier
// is marked with it; where the question asks for the past, the earlier comes first. Links of revisions
// count as such pairs. Nothing is dropped.
func Latest(ranked []Evidence, said map[uuid.UUID]Quote, asked frame.Question) []Evidence {
	out := slices.Clone(ranked)
	n := min(len(out), MaxLatest)
	frames := make([][]frame.Frame, n)
	for i := range n {
		if s := said[out[i].ID]; s.Text != "" && len(s.Text) <= MaxLatestChars {
			frames[i] = frame.Read(s.Text, s.Who)
		}
	}
	position := make(map[uuid.UUID]int, len(out))
	for i, e := range out {
		position[e.ID] = i
	}
	pairs := newerOf(out[:n], frames)
	for i := range out {
		if at, ok := position[out[i].SupersededBy]; ok && out[i].SupersededBy != uuid.Nil {
			pairs = append(pairs, [2]int{i, at})
		}
	}
	if len(pairs) == 0 {
		return out
	}
	if asked.Past {
		preferPast(out, pairs, said, asked)
	} else {
		preferNewest(out, pairs)
	}
	Rank(out)
	return out
}

// newerOf lists the pairs of an older and a newer statement about one thing.
func newerOf(candidates []Evidence, frames [][]frame.Frame) [][2]int {
	var pairs [][2]int
	for i := range frames {
		for j := range frames {
			a, b := candidates[i], candidates[j]
			if i == j || len(frames[i]) != 1 || len(frames[j]) == 0 || !a.OccurredAt.Before(b.OccurredAt) || a.Source == b.ID || b.Source == a.ID {
				continue
			}
			if r, _ := frame.Best(frames[i], frames[j]); r.Certainty >= frame.Doubt && r.Change != frame.Restates {
				pairs = append(pairs, [2]int{i, j})
			}
		}
	}
	return pairs
}

func preferNewest(out []Evidence, pairs [][2]int) {
	// Oldest first, so that a score passes along a chain to its newest.
	slices.SortStableFunc(pairs, func(a, b [2]int) int { return out[a[0]].OccurredAt.Compare(out[b[0]].OccurredAt) })
	for _, p := range pairs {
		older, newer := &out[p[0]], &out[p[1]]
		if newer.Score < older.Score {
			newer.Set(StageLatest, older.Score, "the newest of its kind")
		}
		older.mark(newer)
	}
	for _, p := range pairs {
		older, newer := &out[p[0]], &out[p[1]]
		if limit := olderShare * newer.Score; older.Score > limit {
			older.Set(StageLatest, limit, "an older statement")
		}
	}
}

// mark notes which newer statement there is; of several the newest.
func (e *Evidence) mark(newer *Evidence) {
	if e.Newer == uuid.Nil || e.newerAt.Before(newer.OccurredAt) {
		e.Newer, e.newerAt = newer.ID, newer.OccurredAt
	}
	if e.Currentness == "" || e.Currentness == schema.CurrentnessCurrent {
		e.Currentness = schema.CurrentnessOlder
	}
}

// preferPast puts the earlier of each pair first; where the question names the value before which it was,
// that which came right before it.
func preferPast(out []Evidence, pairs [][2]int, said map[uuid.UUID]Quote, asked frame.Question) {
	wanted := func(p [2]int) bool {
		if len(asked.Before) == 0 {
			return true
		}
		older, newer := frame.ReadVocabulary(said[out[p[0]].ID].Text, ""), frame.ReadVocabulary(said[out[p[1]].ID].Text, "")
		for _, stem := range asked.Before {
			if newer.Covers(frame.Term{Stem: stem}) == 1 && older.Covers(frame.Term{Stem: stem}) < 1 {
				return true
			}
		}
		return false
	}
	for _, p := range pairs {
		older, newer := &out[p[0]], &out[p[1]]
		older.mark(newer)
		if !wanted(p) {
			continue
		}
		best := max(older.Score, newer.Score)
		if older.Score < best {
			older.Set(StageLatest, best, "the question asks for the past")
		}
		if limit := olderShare * best; newer.Score > limit {
			newer.Set(StageLatest, limit, "the question asks for what came before it")
		}
	}
}
