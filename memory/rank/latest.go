package rank

import (
	"slices"

	"github.com/google/uuid"

	"github.com/mneme/mneme/memory"
	"github.com/mneme/mneme/memory/change"
	"github.com/mneme/mneme/memory/question"
	"github.com/mneme/mneme/schema"
)

// StageLatest puts the newest statement about a thing before older ones, unless a question is about the past.
const StageLatest = "latest"

// MaxLatest is the number of the best candidates that are compared with each other. Texts longer than
// memory.MaxLatestChars are not compared, because they have many statements.
const (
	MaxLatest = 30
)

// Least probabilities of a succession (question.Question.Successions). Statements that are only similar, such as
// statements about two siblings, stay below firstSuccession.
const (
	askedSuccession = 0.03 // if the question is about the past, which implies an older statement
	firstSuccession = 0.15 // for the newer statement to come before the older one
	sureSuccession  = 0.5  // for the older statement to be marked as outdated
)

// Factors for scores.
const (
	olderShare  = 0.85 // for an older statement
	behindShare = 0.97 // for an older statement that is not certainly outdated
	nearFirst   = 0.25 // least score of a statement that is perhaps newer, as a share of the first score
)

// Quote is the parsed text of a candidate.
type Quote struct {
	question.Text
	Bytes int // length of the whole text
}

// pair has the positions of an older and a newer statement in the ranking.
type pair struct {
	older, newer int
	probability  float64
}

// Latest compares the best of the ranked candidates as answers to the question. If a later statement replaced an
// earlier one, it moves to the place of the earlier one in the ranking, and the earlier one is marked with it. If the
// question is about the past, the earlier one comes first. Links of revisions also count as pairs. Nothing is dropped.
func Latest(ranked []Evidence, said map[uuid.UUID]Quote, asked []question.Question) []Evidence {
	out := ranked
	if len(out) == 0 {
		return out
	}
	position := make(map[uuid.UUID]int, len(out))
	for i := range out {
		position[out[i].ID] = i
	}
	past := slices.ContainsFunc(asked, func(q question.Question) bool { return q.Past })
	least := firstSuccession
	if past {
		least = askedSuccession
	}
	sure, unsure := successions(out[:min(len(out), MaxLatest)], said, asked, least)
	for i := range out {
		if at, ok := position[out[i].SupersededBy]; ok && out[i].SupersededBy != uuid.Nil {
			sure = append(sure, pair{i, at, 1})
		}
	}
	if past {
		preferPast(out, sure, unsure, said, asked)
	} else {
		preferNewest(out, sure, said)
		newestFirst(out, sure, unsure)
		updatesFirst(out, said, asked)
	}
	Rank(out)
	return out
}

// successions lists the pairs of an older and a newer statement among the candidates.
func successions(
	candidates []Evidence,
	said map[uuid.UUID]Quote,
	asked []question.Question,
	least float64,
) (sure, unsure []pair) {
	var texts []question.Text
	var at []int // their candidates
	length := 0.0
	for i, e := range candidates {
		if e.Type != "" && e.Type != schema.TypeSemantic && e.Type != schema.TypeEpisodic {
			continue // procedures and plans have versions instead
		}
		if s, ok := said[e.ID]; ok && s.Bytes > 0 && s.Bytes <= memory.MaxLatestChars {
			texts, at = append(texts, s.Text), append(at, i)
			length += s.Text.Length()
		}
	}
	follows := func(i, j int) bool {
		a, b := candidates[at[i]], candidates[at[j]]
		return a.OccurredAt.Before(b.OccurredAt) && a.Source != b.ID && b.Source != a.ID &&
			(!memory.IsAssistant(b.Speaker, b.Agent) || memory.IsAssistant(a.Speaker, a.Agent)) // it restates what a person said
	}
	for i, a := range texts { // statements that were contested when they were written
		for j, b := range texts {
			if !follows(i, j) || candidates[at[j]].Status != schema.StatusContested {
				continue
			}
			if r, _ := change.Best(a.Frames, b.Frames); r.Certainty >= change.Likely && !question.Apart(a, b) {
				sure = append(sure, pair{at[i], at[j], 1})
			}
		}
	}
	usual := long(length / float64(max(1, len(texts))))
	for _, q := range asked {
		enough := least
		if !q.Asks {
			enough = sureSuccession // a list of words asks for no answer that could be replaced
		}
		for _, s := range q.Successions(texts, enough, follows) {
			p := pair{at[s.Older], at[s.Newer], s.Probability}
			a, b := texts[s.Older], texts[s.Newer]
			switch needed := needed(enough, min(usual, long(max(a.Length(), b.Length())))); {
			case s.Probability < needed:
			case s.Probability >= sureSuccession:
				sure = append(sure, p)
			default:
				unsure = append(unsure, p)
			}
		}
	}
	return sure, unsure
}

// needed returns the least probability of a succession that counts. It rises from least to 1 with long, the degree to
// which texts are turns of a conversation (see long), because the model of successions was fitted to short statements.
// A turn says many things, is rarely replaced as a whole, and shares words with other turns by chance. Between long
// texts only successions count that were found at write time.
func needed(least, long float64) float64 { return least + (1-least)*long }

// newestFirst puts the likeliest successor of the first candidate before it, unless that is known to be the newest
// itself. A candidate that no channel found, only the context of another, is not a successor.
func newestFirst(out []Evidence, sure, unsure []pair) {
	first := highest(out)
	if out[first].Replaces || slices.ContainsFunc(sure, func(p pair) bool { return p.newer == first }) {
		return
	}
	best := pair{probability: -1}
	for _, p := range unsure {
		if p.older == first && p.probability > best.probability && len(out[p.newer].Channels) > 0 &&
			out[p.newer].Score >= nearFirst*out[first].Score {
			best = p
		}
	}
	if best.probability < 0 {
		return
	}
	older, newer := &out[best.older], &out[best.newer]
	newer.Set(StageLatest, max(newer.Score, older.Score), "may be newer than the first")
	older.Set(StageLatest, min(older.Score, behindShare*newer.Score), "may be older than another")
}

// highest returns the position of the highest score.
func highest(out []Evidence) int {
	first := 0
	for i, e := range out {
		if e.Score > out[first].Score {
			first = i
		}
	}
	return first
}

func preferNewest(out []Evidence, pairs []pair, said map[uuid.UUID]Quote) {
	// Oldest first, so that in a chain the newest statement gets the highest score.
	slices.SortStableFunc(pairs, func(a, b pair) int {
		return out[a.older].OccurredAt.Compare(out[b.older].OccurredAt)
	})
	for _, p := range pairs {
		older, newer := &out[p.older], &out[p.newer]
		if newer.Score < older.Score {
			newer.Set(StageLatest, older.Score, "the newest of its kind")
		}
		older.mark(newer, len(said[older.ID].Frames) > 1)
	}
	for _, p := range pairs {
		older, newer := &out[p.older], &out[p.newer]
		if limit := olderShare * newer.Score; older.Score > limit {
			older.Set(StageLatest, limit, "an older statement")
		}
	}
}

// mark records the newest later statement. If part is true, the text also has other statements, and only a part of it
// is outdated.
func (e *Evidence) mark(newer *Evidence, part bool) {
	if e.Newer == uuid.Nil || e.newerAt.Before(newer.OccurredAt) {
		e.Newer, e.newerAt = newer.ID, newer.OccurredAt
	}
	if e.Currentness == "" || e.Currentness == schema.CurrentnessCurrent {
		e.Currentness = schema.CurrentnessOlder
		if part {
			e.Currentness = schema.CurrentnessMixed
		}
	}
}

// preferPast puts the earlier statement of each pair first. Of a chain that the same statement replaced, it is the last
// one, or the first one if the question asks how it was originally. If the question names a value that one of the
// candidates has, it is only the statement that came right before that value. Without a sure pair, it uses the
// likeliest unsure pair.
func preferPast(out []Evidence, sure, unsure []pair, said map[uuid.UUID]Quote, asked []question.Question) {
	wanted := wantedPast(out, said, asked)
	original := slices.ContainsFunc(asked, func(q question.Question) bool { return q.Original })
	for _, p := range sure {
		out[p.older].mark(&out[p.newer], len(said[out[p.older].ID].Frames) > 1)
	}
	chosen, passed := pastOfChains(sure, wanted, original)
	for _, p := range chosen {
		swap(out, p)
	}
	for _, p := range passed {
		limit := 0.0
		for _, c := range chosen {
			if c.newer == p.newer {
				limit = max(limit, olderShare*out[c.older].Score)
			}
		}
		if limit > 0 && out[p.older].Score > limit {
			out[p.older].Set(StageLatest, limit, "another one answers the question about the past")
		}
	}
	if len(chosen) > 0 {
		return
	}
	first, best := highest(out), pair{probability: -1}
	for _, p := range unsure {
		if p.newer == first && p.probability > best.probability && wanted(p) {
			best = p
		}
	}
	if best.probability >= 0 {
		swap(out, best)
	}
}

// pastOfChains divides the wanted pairs. Of a chain of statements that the same one replaced, the pair with the last
// one is chosen, or with the first one if the question asks how it was originally, and the others are passed over.
func pastOfChains(pairs []pair, wanted func(pair) bool, original bool) (chosen, passed []pair) {
	follows := func(older, newer int) bool {
		return slices.ContainsFunc(pairs, func(p pair) bool { return p.older == older && p.newer == newer })
	}
	for _, p := range pairs {
		if !wanted(p) {
			continue
		}
		if slices.ContainsFunc(pairs, func(o pair) bool {
			return o.newer == p.newer && wanted(o) &&
				(!original && follows(p.older, o.older) || original && follows(o.older, p.older))
		}) {
			passed = append(passed, p)
		} else {
			chosen = append(chosen, p)
		}
	}
	return chosen, passed
}

// swap puts the older statement of a pair before the newer one.
func swap(out []Evidence, p pair) {
	older, newer := &out[p.older], &out[p.newer]
	best := max(older.Score, newer.Score)
	if older.Score < best {
		older.Set(StageLatest, best, "the question asks for the past")
	}
	if limit := olderShare * best; newer.Score > limit {
		newer.Set(StageLatest, limit, "the question asks for what came before it")
	}
}

// wantedPast returns the condition for a pair whose older statement may answer a question about the past. A question
// whose value no candidate has is one without a value: "before the increase" if the statements have only amounts.
func wantedPast(out []Evidence, said map[uuid.UUID]Quote, asked []question.Question) func(pair) bool {
	var past []question.Question
	for _, q := range asked {
		if !q.Past {
			continue
		}
		if !slices.ContainsFunc(out, func(e Evidence) bool { return q.NamesValueOf(said[e.ID].Text) }) {
			q.Before = nil
		}
		past = append(past, q)
	}
	return func(p pair) bool {
		older, newer := said[out[p.older].ID].Text, said[out[p.newer].ID].Text
		return slices.ContainsFunc(past, func(q question.Question) bool { return q.Precedes(older, newer) })
	}
}

// updatesFirst puts a statement about a change before older statements about the subject of the question, if the
// question asks for a current value: "I have raised my budget to 75" comes before "my budget of 60", although the
// first has fewer words of the question. The words of the change and of the question are in one sentence. Nothing is
// marked, because the change may concern a related subject. Short statements are left to successions, which compare
// subjects.
func updatesFirst(out []Evidence, said map[uuid.UUID]Quote, asked []question.Question) {
	if !slices.ContainsFunc(asked, func(q question.Question) bool { return q.Value }) {
		return
	}
	Rank(out)
	best := out[:min(len(out), maxUpdates)]
	for i := range best {
		newer := &best[i]
		text, known := said[newer.ID]
		tells := func(q question.Question) bool { return q.UpdatedBy(text.Text) }
		if !known || memory.IsAssistant(newer.Speaker, newer.Agent) || newer.Relevance < updateRelevance ||
			text.Length() < longLength || !slices.ContainsFunc(asked, tells) {
			continue
		}
		top := newer.Score
		for _, older := range best {
			if older.OccurredAt.Before(newer.OccurredAt) && updateShare*older.Score <= newer.Score && !older.Replaces {
				top = max(top, older.Score*aheadShare)
			}
		}
		if top > newer.Score {
			newer.Set(StageLatest, top, "tells of a change")
		}
	}
}

// Limits of updatesFirst. Both sets of evaluation conversations use the same values.
const (
	maxUpdates      = 10    // candidates that are compared
	updateRelevance = 0.3   // the least relevance of an update
	updateShare     = 0.5   // the least score of an update, as a share of the older statement's
	aheadShare      = 1.001 // the update's new score, as a multiple of the older statement's
)
