package proposals

import (
	"slices"
	"strings"

	"github.com/mneme/mneme/memory"
	"github.com/mneme/mneme/memory/change"
	"github.com/mneme/mneme/memory/normalize"
	"github.com/mneme/mneme/memory/parsed"
	"github.com/mneme/mneme/memory/revision"
	"github.com/mneme/mneme/schema"
)

// Tie is the connection between two memories with the same statement.
type Tie string

// The ties between a memory that is to be forgotten and others with the same content.
const (
	TieSame    Tie = "restatement" // it has the same statement, in the same or other words
	TieSource  Tie = "source"      // the memory to forget was extracted from it
	TieDerived Tie = "derived"     // it was derived from the memory to forget
)

// Statement has the fields of a memory that SaysSame compares.
type Statement struct {
	Type     schema.MemoryType
	Content  string       // in storage form
	Hash     []byte       // content hash
	Speaker  string       // who said it; empty: unknown
	Claim    memory.Claim // the triple of a semantic memory; zero if it has none
	Validity schema.Validity
}

// hasTriple reports whether the statement has its own triple. With the predicate states, the object is only the whole
// sentence.
func (s Statement) hasTriple() bool {
	return !s.Claim.IsZero() && s.Claim.Predicate != schema.PredicateStates
}

// SaysSame reports whether two memories have the same statement, so that forgetting only one of them would forget
// nothing:
//
//   - They have the same triple: subject, predicate and object. With the same subject and
//     predicate but different objects they are different, even if their words are equal.
//   - They have the same words in the same order, except for a final s, articles, words such as "now", and
//     speakers who speak about themselves: "I prefer Python." of Maya equals "Maya prefers Python". "I prefer
//     Python." of two speakers is not the same statement, unless one of them is unknown.
//   - They have the same attribute, subject and value (package frame): "My home is in Lyon." equals "I live in Lyon."
//
// Memories with disjoint validities have different statements. Procedures, plans and working memory must be equal,
// because their texts are summaries.
func SaysSame(a, b Statement) bool {
	if !textual(a.Type) || !textual(b.Type) {
		return a.Type == b.Type && memory.SameContent(a.Hash, b.Hash)
	}
	if memory.Disjoint(a.Validity, b.Validity) {
		return false
	}
	if a.hasTriple() && b.hasTriple() && sameQuestion(a.Claim, b.Claim) {
		return revision.SameObject(a.Claim.Object, b.Claim.Object)
	}
	if saySameWords(a, b) || restates(a, b) {
		return true
	}
	if a.Speaker != "" && b.Speaker != "" {
		return false
	}
	a.Speaker, b.Speaker = "", "" // an unknown speaker may be the other one
	return saySameWords(a, b)
}

// restatedWords is the greatest difference between two restatements, in words.
const restatedWords = 2

// restates reports whether two short statements have the same attribute and value, in any words.
func restates(a, b Statement) bool {
	if len(a.Content) > memory.MaxLatestChars || len(b.Content) > memory.MaxLatestChars {
		return false
	}
	if n := len(normalize.Words(a.Content, "'-")) - len(normalize.Words(b.Content, "'-")); n > restatedWords ||
		n < -restatedWords {
		return false // one has more content
	}
	r, more := change.Best(parsed.Statements(a.Content, a.Speaker), parsed.Statements(b.Content, b.Speaker))
	return !more && r.Certainty == change.Sure && r.Change == change.Restates
}

func saySameWords(a, b Statement) bool {
	said := saidWords(a)
	return len(said) > 0 && slices.Equal(said, saidWords(b))
}

// TellingWords returns words that other memories with the same statement probably contain: those of its triple's object
// or, without a triple, those of its sentence without the speaker and the first person.
func TellingWords(s Statement) string {
	if s.hasTriple() {
		return s.Claim.Object
	}
	out, speaker := []string{}, normalize.Words(s.Speaker, "'-")
	for _, word := range normalize.Words(s.Content, "'-") {
		stem, _, _ := strings.Cut(word, "'")
		if !passing[word] && !firstPerson[stem] && !slices.Contains(speaker, stem) {
			out = append(out, word)
		}
	}
	return strings.Join(out, " ")
}

// textual reports whether the text of a memory of this type is its whole content.
func textual(t schema.MemoryType) bool {
	return t == schema.TypeSemantic || t == schema.TypeEpisodic
}

// sameQuestion reports whether two claims have the same subject and predicate.
func sameQuestion(a, b memory.Claim) bool {
	return normalize.Lower(a.Subject) == normalize.Lower(b.Subject) && a.Predicate == b.Predicate
}

// Says reports whether other, which has this tie to asked, contains the statement of asked or a part of it:
//
//   - A source contains the statements extracted from it. If it has its own triple, like the target of a fork, SaysSame
//     decides.
//   - A derived memory contains it too, unless it has another object for the same subject and predicate and does not
//     name the object of asked.
//   - In all other cases SaysSame decides. It also decides if one of them is a procedure, a plan or working memory,
//     because a procedure learned from an episode does not repeat the episode.
func Says(asked Statement, tie Tie, other Statement) bool {
	switch {
	case !textual(asked.Type) || !textual(other.Type):
		return SaysSame(asked, other)
	case tie == TieSource:
		return !asked.hasTriple() || !other.hasTriple() || SaysSame(asked, other)
	case tie == TieDerived:
		if !asked.hasTriple() || !other.hasTriple() || !sameQuestion(asked.Claim, other.Claim) {
			return true
		}
		return revision.SameObject(asked.Claim.Object, other.Claim.Object) ||
			len(revision.FindValue(other.Content, asked.Claim.Object)) > 0
	default:
		return SaysSame(asked, other)
	}
}

// Reached returns the tie between the memory to forget and a memory that was found through another one. by is the tie
// of the found memory to the other one, from the tie of the other one to the memory to forget, and same means that the
// found memory has no other content. ok is false if the search must not continue that way: other facts of a source and
// other sources of a summary are not part of the request.
func Reached(by, from Tie, same bool) (tie Tie, ok bool) {
	switch {
	case by == TieSame || from == TieSame && by == TieDerived && same:
		return from, true // a copy has its tie
	case from == TieSame || from == by:
		return by, true
	default:
		return "", false
	}
}

// saidWords returns the words by which two statements are compared, in order. Past tenses are not changed.
func saidWords(s Statement) []string {
	var out []string
	speaker := normalize.Words(s.Speaker, "'-")
	for _, word := range normalize.Words(s.Content, "'-") {
		for _, w := range spokenOut(word) {
			switch {
			case firstPerson[w] && len(speaker) > 0:
				out = append(out, speaker...)
			case !passing[w]:
				out = append(out, withoutS(w))
			}
		}
	}
	return out
}

// withoutS returns a word without the s of a plural or of the third person: lives, uses, teaches, studies.
func withoutS(word string) string {
	if base, ok := strings.CutSuffix(word, "ies"); ok && len(base) > 1 {
		return base + "y"
	}
	for _, hissing := range []string{"sses", "shes", "ches", "xes", "zzes", "oes"} {
		if strings.HasSuffix(word, hissing) {
			return strings.TrimSuffix(word, "es")
		}
	}
	for _, own := range []string{"ss", "us", "is"} {
		if strings.HasSuffix(word, own) {
			return word
		}
	}
	if len(word) > 2 {
		return strings.TrimSuffix(word, "s")
	}
	return word
}

// spokenOut returns the words of a contraction, or the base of an inflected auxiliary.
func spokenOut(word string) []string {
	if full, ok := auxiliaries[word]; ok {
		return strings.Fields(full)
	}
	switch stem, suffix, _ := strings.Cut(word, "'"); suffix {
	case "m", "re":
		return []string{stem, "be"}
	case "ve":
		return []string{stem, "have"}
	case "ll":
		return []string{stem, "will"}
	case "d":
		return []string{stem, "would"}
	case "s":
		if firstOrThird[stem] {
			return []string{stem, "be"}
		}
		return []string{stem} // of a name: Maya's
	case "t":
		if base, ok := strings.CutSuffix(stem, "n"); ok {
			return append(spokenOut(base), "not")
		}
	}
	return []string{word}
}

var (
	firstPerson  = normalize.Set("i me my mine myself")
	firstOrThird = normalize.Set("he she it that there here what who where")
	// passing has words without effect on the statement.
	passing = normalize.Set("a an the do does now actually currently really just also too well yes oh ok okay")

	auxiliaries = map[string]string{"am": "be", "is": "be", "are": "be", "has": "have", "does": "do",
		"cannot": "can not",
		"can't":  "can not", "won't": "will not", "shan't": "shall not", "ain't": "be not"}
)

// SaysMore reports whether a memory with the statement of asked has further content: at least two meaningful words that
// asked does not have.
func SaysMore(asked, other Statement) bool {
	known := map[string]bool{}
	for _, word := range saidWords(asked) {
		known[word] = true
	}
	for _, word := range normalize.Words(asked.Claim.Subject+" "+memory.AsWords(asked.Claim.Predicate)+" "+
		asked.Claim.Object, "'-") {
		known[withoutS(word)] = true
	}
	more := map[string]bool{}
	for _, word := range saidWords(other) {
		if !known[word] && !function[word] {
			more[word] = true
		}
	}
	return len(more) >= 2
}

// function has words without a meaning of their own, in the spelling of saidWords.
var function = normalize.Set(
	`this that these those of to in on at by for from with as and or but so if then than because be was were been have had
	having
	i you he she it we they me my your his her our their us them its what who which when where how there here not`,
)

// AlsoSays returns the number of other statements in a text besides the one to forget: the number of other memories
// extracted from it or, if that is more, the number of further sentences. It is at least one if more is true.
func AlsoSays(text string, others int, more bool) int {
	n := max(others, countSentences(text)-1)
	if more {
		n = max(n, 1)
	}
	return n
}

// minSentenceWords is the least number of words in a sentence with content, unlike "Hi there!".
const minSentenceWords = 3

// countSentences returns the number of sentences with content.
func countSentences(text string) int {
	n, start := 0, 0
	count := func(end int) {
		if len(normalize.Words(text[start:end], "'-")) >= minSentenceWords {
			n++
		}
		start = end
	}
	for i := range len(text) {
		ends := strings.IndexByte(".!?", text[i]) >= 0 && (i+1 == len(text) || text[i+1] == ' ' || text[i+1] == '\n')
		if ends || text[i] == '\n' {
			count(i + 1)
		}
	}
	count(len(text))
	return n
}
