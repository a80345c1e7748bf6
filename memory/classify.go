package memory

import (
	"math"
	"slices"
	"strings"

	"github.com/mneme/mneme/memory/normalize"
	"github.com/mneme/mneme/memory/sensitive"
	"github.com/mneme/mneme/schema"
)

// Importance of memories whose candidate gives none (document 002 "Importance and Tags").
const (
	ExplicitImportance   = 0.8 // an explicit request to remember
	ExperienceImportance = 0.5 // an event; each fact extracted from it gets its own importance
)

// Classification is what the policy plane decides about a candidate before it is persisted
// (document 004 §15.5).
type Classification struct {
	Type           schema.MemoryType
	Tier           schema.Tier
	Typology       schema.Typology
	Category       schema.Category
	Sensitivity    schema.Sensitivity
	Confidence     float64 // [0,1], how likely the statement is to be true
	Importance     float64 // [0,1], before it fades; 1 if pinned
	Pinned         bool
	Tags           []string // in NormalizeTags form, at most schema.MaxTags
	Decay          Decay
	DeletionPolicy schema.DeletionPolicy

	// Only policy rules set these. If a field is zero, the request or the record decides.
	Scope          string
	Visibility     schema.Visibility
	RevisionPolicy schema.RevisionPolicy
	SourceTrust    *float64 // [0,1]

	// Detected has the kinds of sensitive content that sensitive.Detect found, never the text itself.
	Detected []string
}

// Classify classifies a candidate whose prefixes have been parsed into p. A source that has the form of a procedure,
// a plan or the state of a task has that type (ShapeOf). Otherwise an explicit save (source kind memory) is semantic
// and persistent, and everything else is an episode of the session, from which the pipeline extracts facts. The
// candidate's own fields override inferred values, with two exceptions. A pinned memory has importance 1. The
// candidate's sensitivity is a minimum: sensitive.Detect can raise it, and only a rule lowers it. Tags of the
// candidate come before those of the prefix. If there are more than schema.MaxTags, the last ones are dropped.
//
// Confidence is 1, because it is certain that this was said or observed. How likely the statement is to be true is
// the confidence of the facts extracted from it.
func Classify(c schema.Candidate, p normalize.Prefix) Classification {
	memoryType, importance := schema.TypeEpisodic, DefaultImportance(c.SourceKind)
	if c.SourceKind == schema.SourceMemory {
		memoryType = schema.TypeSemantic
	}
	if shape := ShapeOf(c.SourceKind, p.Content); shape.Type != "" {
		memoryType = shape.Type
	}
	if c.Importance != nil && InUnit(*c.Importance) {
		importance = *c.Importance
	}
	category := c.Category
	switch {
	case category.Valid():
	case memoryType.IsProcedure():
		category = schema.CategoryProcedural
	default:
		category = InferCategory(p.Content)
	}
	out := classification(memoryType, category, importance, p.Pinned)
	out.Confidence = 1
	if c.Sensitivity.Valid() {
		out.Sensitivity = c.Sensitivity
	}
	tags := normalize.NormalizeTags(slices.Concat(c.Tags, p.Tags))
	out.Tags = tags[:min(len(tags), schema.MaxTags)]
	return out.Detect(p.Content)
}

// DefaultImportance returns the importance of a candidate that gives none.
func DefaultImportance(kind schema.SourceKind) float64 {
	if kind == schema.SourceMemory {
		return ExplicitImportance
	}
	return ExperienceImportance
}

// ClassifyFact classifies a fact that the pipeline extracted: it is semantic and persistent, and its importance equals
// its confidence (document 002 "Importance and Tags"). Its sensitivity is the one that sensitive.Detect finds in its
// text. The caller raises it to the sensitivity of the source with DerivedFrom.
func ClassifyFact(f Fact) Classification {
	category := f.Category
	if !category.Valid() {
		category = InferCategory(f.Content)
	}
	confidence := ClampUnit(f.Confidence)
	out := classification(schema.TypeSemantic, category, confidence, false)
	out.Confidence = confidence
	return out.Detect(f.Content)
}

// Detect returns c raised to the sensitivity of what sensitive.Detect finds in the texts.
func (c Classification) Detect(texts ...string) Classification {
	for _, text := range texts {
		level, kinds := sensitive.Detect(text)
		if len(kinds) == 0 {
			continue
		}
		c = c.DerivedFrom(level)
		for _, kind := range kinds {
			if !slices.Contains(c.Detected, kind) {
				c.Detected = append(slices.Clip(c.Detected), kind)
			}
		}
	}
	return c
}

// DerivedFrom returns c raised to the strictest sensitivity among its sources, so that a fact extracted from a secret
// stays secret. An empty sensitivity counts as low, an unknown one as hyper.
func (c Classification) DerivedFrom(sources ...schema.Sensitivity) Classification {
	for _, source := range sources {
		switch {
		case source == "":
			source = schema.SensitivityLow
		case sensitive.Rank(source) == 0:
			source = schema.SensitivityHyper
		}
		if sensitive.Rank(source) > sensitive.Rank(c.Sensitivity) {
			c.Sensitivity = source
		}
	}
	return c
}

// Placement returns the tier and the typology of a memory type. An unknown type is placed like an episode.
func Placement(t schema.MemoryType) (schema.Tier, schema.Typology) {
	switch t {
	case schema.TypeWorking:
		return schema.TierInteraction, schema.TypologyEpisodic
	case schema.TypeSemantic:
		return schema.TierPersistent, schema.TypologySemantic
	case schema.TypeCompetence, schema.TypePlanGraph:
		return schema.TierPersistent, schema.TypologyProcedural
	default:
		return schema.TierSession, schema.TypologyEpisodic
	}
}

// Pin returns c pinned: its importance is 1, and it is not pruned when its salience is low.
func (c Classification) Pin() Classification {
	c.Pinned, c.Importance, c.DeletionPolicy = true, 1, DefaultDeletion(c.Type, true)
	return c
}

// DefaultDeletion returns the deletion policy of a memory type. Procedures are not pruned (document 003: procedural
// memory is exempt), because a skill that is needed once a year is still useful, and selection already considers how
// recently it was reinforced. Pinned memories are not pruned either. No default is "never", because people may always
// ask to have something forgotten.
func DefaultDeletion(t schema.MemoryType, pinned bool) schema.DeletionPolicy {
	if pinned || t.IsProcedure() {
		return schema.DeleteManualOnly
	}
	return schema.DeleteAutoPrune
}

// classification returns the defaults for a type, an importance and a pin.
func classification(t schema.MemoryType, category schema.Category, importance float64, pinned bool) Classification {
	tier, typology := Placement(t)
	if pinned {
		importance = 1
	}
	return Classification{
		Type:           t,
		Tier:           tier,
		Typology:       typology,
		Category:       category,
		Sensitivity:    schema.SensitivityLow,
		Importance:     importance,
		Pinned:         pinned,
		Decay:          DefaultDecay(t),
		DeletionPolicy: DefaultDeletion(t, pinned),
	}
}

// triggers has the words of document 002 and their inflections. "like" and "use" are ambiguous: triggerAt handles
// them.
var triggers = func() map[string]schema.Category {
	out := make(map[string]schema.Category)
	for category, list := range map[schema.Category]string{
		schema.CategoryPreference: "prefer prefers preferred preferring likes liked dislike " +
			"dislikes disliked want wants wanted",
		schema.CategoryDecision: "decided agreed",
		schema.CategoryRule:     "never always must mustn't",
		schema.CategoryLearning: "learned learnt discovered",
		schema.CategoryIssue:    "bug bugs buggy broke broken problem problems",
	} {
		for word := range normalize.Set(list) {
			out[word] = category
		}
	}
	return out
}()

// InferCategory guesses the category of an explicit save from its words (document 002 "Memory
// Types"): preference, decision, rule, learning, issue, or fact if there is no trigger. The other
// categories need an understanding of the text: only extractors assign them.
//
// Triggers are whole words: a tissue is not an issue, debugging not a bug, a must-have not a rule. Words in
// URLs do not count, and "like" only as a verb ("I like", "doesn't like"; not "looks like").
//
// The first trigger decides, because the main clause comes before its details: "We decided to never
// deploy on Fridays" is a decision, "Never deploy on Fridays, it was broken twice" a rule. If
// a trigger follows "always" or "never" directly, that trigger decides instead: "Bob always prefers tabs".
func InferCategory(content string) schema.Category {
	text := normalize.Words(withoutURLs(content), "'-_")
	for i, word := range text {
		category, ok := triggerAt(text, i)
		if !ok {
			continue
		}
		if word == "always" || word == "never" {
			if next, ok := triggerAt(text, i+1); ok {
				return next
			}
		}
		return category
	}
	return schema.CategoryFact
}

// triggerAt returns the category that the word at i triggers, given the words before it.
func triggerAt(text []string, i int) (schema.Category, bool) {
	if i >= len(text) {
		return "", false
	}
	word := text[i]
	switch word {
	case "use":
		return schema.CategoryDecision, futureAt(text, i-1)
	case "like":
		return schema.CategoryPreference, likeIsVerb(text[:i])
	case "likes":
		if i > 0 && (nounBefore[text[i-1]] || isNumber(text[i-1])) {
			return "", false // "the likes of", "300 likes"
		}
	}
	category, ok := triggers[word]
	return category, ok
}

// futureAt reports whether the words up to i end in will, 'll or won't, with at most one adverb
// after it: "will use", "we'll now use", "will not use".
func futureAt(text []string, i int) bool {
	if i >= 1 && futureAdverbs[text[i]] {
		i--
	}
	return i >= 0 && (text[i] == "will" || text[i] == "won't" || strings.HasSuffix(text[i], "'ll"))
}

// likeIsVerb reports whether "like" is a verb after the words before it. The verb follows its subject or an
// auxiliary. The preposition follows a verb ("looks like"), a noun or nothing.
func likeIsVerb(before []string) bool {
	i := len(before) - 1
	for i >= 0 && likeAdverbs[before[i]] {
		i--
	}
	if i < 0 {
		return false
	}
	return likeSubjects[before[i]] || strings.HasSuffix(before[i], "'d")
}

var (
	futureAdverbs = normalize.Set("not now also only never always")
	likeAdverbs   = normalize.Set("really also always never still not just especially generally usually particularly")
	likeSubjects  = normalize.Set("i we you they who users people do does did don't doesn't didn't would wouldn't")
	nounBefore    = normalize.Set("the of many more most few fewer no got gets her his its their our my your")
)

// withoutURLs removes links from text, because the words in a link are not part of the statement.
func withoutURLs(text string) string {
	if !strings.Contains(text, "://") {
		return text
	}
	fields := strings.FieldsFunc(text, normalize.IsSpace)
	return strings.Join(slices.DeleteFunc(fields, func(field string) bool { return strings.Contains(field, "://") }),
		" ")
}

// isNumber reports whether word starts with a digit: 300, 1k.
func isNumber(word string) bool { return word != "" && word[0] >= '0' && word[0] <= '9' }

// InUnit reports whether f is a number in [0,1].
func InUnit(f float64) bool { return f >= 0 && f <= 1 } // false for NaN

// ClampUnit returns f limited to [0,1]; NaN counts as 0.
func ClampUnit(f float64) float64 {
	if math.IsNaN(f) {
		return 0
	}
	return min(max(f, 0), 1)
}

// States reports whether memories of a type record facts permanently. Memories of other types fade or describe how
// something is done, so a fact that occurs only in them is stored as a separate memory.
func States(t schema.MemoryType) bool { return t == schema.TypeSemantic }
