package signature

import (
	"path"
	"regexp"
	"strings"

	"github.com/mneme/mneme/memory/normalize"
)

// kinds has nouns for what is named.
const kinds = `branch|remote|package|module|crate|arg|argument|parameter|function|method|` +
	`class|struct|variable|field|column|table|database|schema|index|role|container|image|volume|service|unit|` +
	`job|task|step|stage|` +
	`target|script|plugin|extension|refspec|host|group|queue|topic|bucket|node|device`

// afterKind finds a name without quotes: the word between a noun for what is named and a word that continues with a
// statement about it, as in "branch topic has no upstream". Both must be present. A word at the end of a line, or
// after any other noun, may be the problem itself.
var afterKind = regexp.MustCompile(`(?i)\b(?:` + kinds + `) ([A-Za-z_][\w-]*) ` +
	`(?:has|have|had|is|was|does|did|do|of|cannot|can't|could|must|should|already|needs|requires|expects|contains|uses|` +
	`isn't|wasn't|doesn't|didn't|depends|belongs|refers|points|returned|failed|exited)\b`)

// ofType finds the type of what a statement is about: "an object of type set is not …". class finds a name with inner
// capitals or of capitals after a word for a class. Before a colon such a name is the problem: "exception KeyError: …".
var (
	ofType = regexp.MustCompile(`(?i)\b(?:object|instance|expression|argument|parameter|element|result|operand)s? ` +
		`of (?:type|class) ([A-Za-z_][\w.]*\w)`)
	class = regexp.MustCompile(`(?i:\b(?:exception|type|class|interface|struct|enum|trait) )` +
		`((?:\w+\.)*(?:[A-Z][A-Z0-9_]+|[A-Za-z_]*[a-z0-9][A-Z]\w*|[A-Z]{2,}[a-z]\w*))\b`)
)

// ofKind, lacking, lastClass, changedTo and labelled find names without quotes by the words around them. After a
// preposition and a kind a word is a name whatever its form, as in "for field created is missing". "no column total in"
// lacks something that has a name. A word with a capital at the end of a line is the name of the class before it.
// "generator : Unix Makefiles" gives a label its value.
var (
	ofKind = regexp.MustCompile(`(?i)\b(?:for|of|in|on|from|with|by) (?:` + kinds + `) ([A-Za-z_][\w-]*) ` +
		`(?:has|have|had|is|was|does|did|cannot|can't|could|must|should)\b`)
	lacking   = regexp.MustCompile(`(?i)\bno (?:such )?(?:` + kinds + `) ([A-Za-z_][\w-]*) (?:in|on|for|at|from|of)\b`)
	lastClass = regexp.MustCompile(`(?i:\b(?:class|interface|struct|enum|trait) )([A-Z]\w*)$`)
	changedTo = regexp.MustCompile(`(?i)\b(?:cd|chdir|change (?:the )?(?:working )?directory) (?:in)?to ([\w./~@+-]+)`)
	labelled  = regexp.MustCompile(`: \w+ : ([A-Z][\w.+-]*(?: [A-Z][\w.+-]*){0,2})$`)
)

// sentencePatterns find words that may be words of the sentence instead (namesSomething).
var sentencePatterns = map[*regexp.Regexp]bool{afterKind: true, firstOfTwo: true, secondOfTwo: true, lacking: true}

// inFile is a name of a file in parentheses.
const inFile = ` \((?:[\w.@+-]*/)*` + fileName + `\)`

// firstOfTwo and secondOfTwo find two names, each followed by its file: "main (a.go) and other (b.go)". A single word
// before a single file may be the problem itself: "cannot open (a.txt)".
var (
	firstOfTwo  = regexp.MustCompile(`\b([A-Za-z_]\w*)` + inFile + ` and [A-Za-z_]\w*` + inFile)
	secondOfTwo = regexp.MustCompile(inFile + ` and ([A-Za-z_]\w*)` + inFile)
)

// constant finds the name of a constant or a variable that a statement is about: "line 3: HOME: unbound variable".
var constant = regexp.MustCompile(`: ([A-Z][A-Z0-9_]+): [a-z][\w'-]* [a-z]`)

// numbered matches a word with a number in it, as names of files, hosts and variables have.
var numbered = regexp.MustCompile(`^([a-z]{3,})\d+[a-z]*(?:\d+[a-z]*)*$`)

// terms has the words that are written with a number and describe a problem: utf8, sha256, int64.
var terms = normalize.Set(`amd arm base col column ecma exit float http int ipv iso latin level line log oauth phase
	python release rsa sha signal sqlite stage status step sys tier uint utf version win`)

// hasNumber reports whether a word, or a part of one with hyphens, is a name because it has a number in it.
func hasNumber(word string) bool {
	for part := range strings.FieldsFuncSeq(normalize.Lower(word), func(r rune) bool { return r == '-' || r == '.' }) {
		if m := numbered.FindStringSubmatch(part); m != nil && !terms[m[1]] {
			return true
		}
	}
	return false
}

// stems returns the names of the files in a line without their extensions. A message often names the module next to
// its file.
func stems(hits []hit) map[string]bool {
	out := map[string]bool{}
	for _, h := range hits {
		if h.kind != Path {
			continue
		}
		base := path.Base(cleanPath(h.text))
		if stem := strings.TrimSuffix(base, path.Ext(base)); stem != base && len(stem) >= minStem {
			out[stem] = true
		}
	}
	return out
}

// capitalised returns the names in a line that have a capital. The same word without quotes elsewhere in the line is
// that name: "(value of type Olive) …: Olive does not implement …".
func capitalised(hits []hit) map[string]bool {
	out := map[string]bool{}
	for _, h := range hits {
		if h.kind == Name && strings.ToLower(h.text) != h.text {
			out[strings.TrimSuffix(h.text, "()")] = true
		}
	}
	return out
}

// minStem is the least length of such a name; a shorter one may be any word.
const minStem = 3

// namesSomething reports whether a word after a kind may be a name. Other words of the sentence, and words that form a
// compound noun with the kind ("container runtime", "index size"), describe the problem instead.
func namesSomething(word string) bool {
	low := normalize.Lower(word)
	for _, end := range []string{"ed", "ing", "ion", "ions", "ly", "ment", "ity", "ness", "ance", "ence"} {
		if strings.HasSuffix(low, end) {
			return false
		}
	}
	return !fillers[low] && !severities[low] && !negates(low) && !sentenceWords[low] && !compounds[low]
}

var (
	sentenceWords = normalize.Set(`already also always and any anything as but can cannot could did do does each either
		else every everything exists from had has have here if into may might more most must needs no none not nothing
		now of only one other requires same should so some something still such than that their them then there these
		they those too two up was which while who with would yet missing unknown invalid unable down full empty busy
		dead lost broken wrong corrupt absent unset ready`)
	compounds = normalize.Set(`account address alias archive argument arguments attribute backend block body buffer
		build cache call capacity certificate check checksum client command config content contents context controller
		count cpu credentials daemon data default descriptor digest directory disk driver engine entry file files
		format graph group handle header health host id image index info input interface key kernel layer length level
		limit limits line link list loader local lock log manager manifest map memory metadata method mode module mount
		name names namespace network node number object offset option order output overflow owner package page pair
		parameter parameters password path permissions plugin policy pool port position prefix process profile protocol
		proxy queue quota range rate record reference registry remote resource response result return role root row
		rows rule rules runner runtime scan schedule schema scope script secret server service session set settings
		shape signature size slot socket source space spec stack start state storage store stream sum support switch
		sync syntax system tag target tasks template test tests thread timeout token tool tree type types update
		upgrade upload url usage user users value values variable variables version volume`)
)
