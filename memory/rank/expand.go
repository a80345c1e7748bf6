package rank

import (
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/mneme/mneme/memory/lexicon"
	"github.com/mneme/mneme/memory/normalize"
	"github.com/mneme/mneme/memory/question"
)

// StageExpand is keyword expansion. It is part of the text and hints channels, but has its own switch.
const StageExpand = "expand_query"

// Constants of keyword expansion.
const (
	expansionShare  = 0.5 // factor for the weight of an added word
	maxExpansions   = 24  // other forms and similar words added to one query
	maxExpandedOver = 64  // words of a query that are considered
	minNearness     = 0.5 // least similarity of a synonym
	minRarity       = 0.7 // least rarity of a word that gets synonyms
	maxMembers      = 40  // words of a kind added to one query as well
	minKindRarity   = 0.4 // least rarity of a word that names a kind
)

// ExpandQuery returns words, separated by spaces, that a memory may have instead of a query's: other forms of an
// irregular verb, which stemming does not join, a version with or without its v, similar words, and words of the kind
// that a question asks for: "which instrument" (document 002 Phase 1, "class-to-instance gaps"). Full text and hints use
// them; vectors and models get the query unchanged. The result is empty if there is nothing to add.
func ExpandQuery(query string) string {
	query = query[:min(len(query), 16<<10)]
	said := normalize.Words(query, "")
	said = said[:min(len(said), maxExpandedOver)]
	var out []string
	for _, w := range said {
		for _, extra := range expansions[w] {
			if len(out) < maxExpansions && !slices.Contains(out, extra) && !slices.Contains(said, extra) {
				out = append(out, extra)
			}
		}
	}
	for _, version := range versions.FindAllStringSubmatch(query, maxExpandedOver) {
		other := version[2]
		if other == "" {
			other = "v" + version[3]
		}
		if len(out) < maxExpansions && !slices.Contains(out, other) {
			out = append(out, other)
		}
	}
	for _, w := range said {
		if expansions[w] != nil || lexicon.Rarity(w) < minRarity || isNamed(query, w) {
			continue
		}
		for _, near := range lexicon.Nearest(w) {
			if near.Similarity < minNearness {
				break
			}
			if len(out) < maxExpansions && !slices.Contains(out, near.Word) && !slices.Contains(said, near.Word) {
				out = append(out, near.Word)
			}
		}
	}
	for _, member := range kindAsked(said) {
		if !slices.Contains(out, member) && !slices.Contains(said, member) {
			out = append(out, member)
		}
	}
	return strings.Join(out, " ")
}

// kindAsked returns the words of the kind that a question asks for: "which instrument", "what kind of board game".
func kindAsked(said []string) []string {
	for i := range said {
		if !question.AsksKind(said[:i]) {
			continue
		}
		var members []string
		for _, w := range said[i:min(i+2, len(said))] {
			if lexicon.Rarity(w) < minKindRarity {
				break
			}
			if of := lexicon.MembersOf(w, maxMembers); len(of) > 0 {
				members = of // the last word of a compound is the kind
			}
		}
		if members != nil {
			return members
		}
	}
	return nil
}

// isNamed reports whether a word is capitalized in a query: then it is probably a name, which has no synonyms.
func isNamed(query, word string) bool {
	first, size := utf8.DecodeRuneInString(word)
	return strings.Contains(query, string(unicode.ToUpper(first))+word[size:])
}

// versions matches a version, v1.2 or 1.2.3, but neither an amount nor an address. Full text reads each as one word.
var versions = regexp.MustCompile(`(?i)(?:^|[^\w.])(?:(v)(\d+(?:\.\d+){1,3})|(\d+\.\d+\.\d+))(?:$|[^\w.]|\.(?:$|\W))`)

// expansions has the words that may replace a word, by word.
var expansions = func() map[string][]string {
	out := map[string][]string{}
	for line := range strings.Lines(irregularVerbs) {
		forms := strings.Fields(line)
		for _, form := range forms {
			for _, other := range forms {
				if other != form && !slices.Contains(out[form], other) {
					out[form] = append(out[form], other)
				}
			}
		}
	}
	for line := range strings.Lines(classes) {
		class, members, ok := strings.Cut(line, ":")
		if !ok {
			continue
		}
		for name := range strings.FieldsSeq(class) {
			out[name] = append(out[name], strings.Fields(members)...)
		}
	}
	return out
}()

// irregularVerbs has verbs whose forms the stemmer does not join, one verb a line.
const irregularVerbs = `
become became
begin began begun
bring brought
build built
buy bought
catch caught
choose chose chosen
come came
draw drew drawn
drink drank drunk
drive drove driven
eat ate eaten
fall fell fallen
feel felt
fight fought
find found
fly flew flown
forget forgot forgotten
get got gotten
give gave given
go went gone
grow grew grown
hear heard
hold held
keep kept
know knew known
leave left
lend lent
lose lost
make made
mean meant
meet met
pay paid
ride rode ridden
run ran
say said
see saw seen
sell sold
send sent
sing sang sung
sleep slept
speak spoke spoken
spend spent
stand stood
swim swam swum
take took taken
teach taught
tell told
think thought
throw threw thrown
understand understood
wear wore worn
win won
write wrote written
`

// classes has general words and, after the colon, specific ones. The specific words rarely mean anything else.
const classes = `
pet pets: dog cat puppy kitten
instrument instruments: guitar piano violin drums clarinet
sport sports: basketball soccer football tennis swimming running hiking
child children: kid son daughter
kid kids: child son daughter
sibling siblings: brother sister
parent parents: mother father mom dad
mother: mom
father: dad
spouse partner: husband wife
job career occupation: work profession
vehicle vehicles: car bike truck
`
