package topics

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/mneme/mneme/memory/normalize"
	"github.com/mneme/mneme/memory/revision"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/schema/topics"
)

// Bounds of an answer.
const (
	MaxParts     = 12    // sentences
	MaxPartChars = 400   // characters of a sentence
	MaxChars     = 3_000 // characters of all sentences
)

// Extract builds an answer from the memories' own words. Equal texts become one sentence that cites all of them.
// Memories about one subject are adjacent: current ones first, newest first, then outdated ones. Statements about a
// subject that contradict each other are marked. If there is no room for all, outdated sentences are dropped first.
func Extract(evidence []Evidence) []topics.Part {
	parts := joinEqual(evidence)
	markContested(parts)
	parts = grouped(parts)
	out := make([]topics.Part, 0, min(len(parts), MaxParts))
	for _, p := range within(parts) {
		out = append(out, p.Part)
	}
	return out
}

// sentence is a part of an extract with its sort keys.
type sentence struct {
	topics.Part
	first Evidence // the newest memory with this text
	rank  int      // its place in the results of recall
}

// joinEqual returns one sentence per distinct text.
func joinEqual(evidence []Evidence) []*sentence {
	var out []*sentence
	said := map[string]*sentence{}
	for rank, e := range evidence {
		text := sentenceOf(e)
		if text == "" {
			continue
		}
		key := normalize.Normalize(text).Basis()
		s := said[key]
		if s == nil {
			s = &sentence{first: e, rank: rank, Part: topics.Part{Text: text, Outdated: true}}
			said[key] = s
			out = append(out, s)
		}
		if slices.Contains(s.Memories, e.ID) {
			continue
		}
		s.Memories = append(s.Memories, e.ID)
		s.Outdated = s.Outdated && e.outdated()
		s.Contested = s.Contested || e.Status == schema.StatusContested
		if e.OccurredAt.After(s.first.OccurredAt) {
			s.first = e
		}
	}
	return out
}

// sentenceOf returns the text of a memory on one line, with its speaker if a person said it.
func sentenceOf(e Evidence) string {
	text := normalize.CleanLine(e.Text, 2*MaxPartChars)
	if text == "" {
		return ""
	}
	if e.Type == schema.TypeEpisodic && e.Who != "" && !strings.Contains(text, e.Who) {
		text = normalize.CleanLine(e.Who, schema.MaxNameLength) + ": " + text
	}
	if cut, was := normalize.CutChars(text, MaxPartChars); was {
		return cut
	}
	return text
}

// minOpposed is the minimum number of words, other than the subject, that two contradicting sentences share.
const minOpposed = 2

// markContested marks current statements about one subject that contradict each other.
func markContested(all []*sentence) {
	for i, a := range all {
		for _, b := range all[i+1:] {
			if a.first.Subject == "" || !sameSubject(a, b) || a.Outdated || b.Outdated {
				continue
			}
			found := revision.DetectContradiction(a.Text, b.Text)
			if found.Risk && found.Overlap-len(normalize.Words(a.first.Subject, "")) >= minOpposed {
				a.Contested, b.Contested = true, true
			}
		}
	}
}

func sameSubject(a, b *sentence) bool {
	return normalize.CanonicalEntity(a.first.Subject) == normalize.CanonicalEntity(b.first.Subject)
}

// grouped makes sentences about one subject adjacent. Groups are ordered by their best members.
func grouped(all []*sentence) []*sentence {
	out := make([]*sentence, 0, len(all))
	taken := map[*sentence]bool{}
	for _, s := range all {
		if taken[s] {
			continue
		}
		group := []*sentence{}
		for _, other := range all {
			if other == s || s.first.Subject != "" && !taken[other] && sameSubject(s, other) {
				taken[other] = true
				group = append(group, other)
			}
		}
		slices.SortStableFunc(group, inGroup)
		out = append(out, group...)
	}
	return out
}

// inGroup orders the sentences about one subject.
func inGroup(a, b *sentence) int {
	if a.Outdated != b.Outdated {
		if a.Outdated {
			return 1
		}
		return -1
	}
	if by := b.first.OccurredAt.Compare(a.first.OccurredAt); by != 0 {
		return by
	}
	return a.rank - b.rank
}

// within keeps the sentences that fit into the bounds. It prefers current sentences, then those that recall ranked
// higher. It does not change the order of the sentences.
func within(all []*sentence) []*sentence {
	byWorth := slices.Clone(all)
	slices.SortStableFunc(byWorth, func(a, b *sentence) int {
		if a.Outdated != b.Outdated {
			if a.Outdated {
				return 1
			}
			return -1
		}
		return a.rank - b.rank
	})
	kept, chars := map[*sentence]bool{}, 0
	for _, s := range byWorth {
		n := utf8.RuneCountInString(s.Text)
		if len(kept) == MaxParts || chars+n > MaxChars {
			continue
		}
		kept[s] = true
		chars += n
	}
	return slices.DeleteFunc(slices.Clone(all), func(s *sentence) bool { return !kept[s] })
}
