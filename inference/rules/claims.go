package rules

import (
	"strings"
	"unicode"

	"github.com/mneme/mneme/memory"
)

// pattern is one way to express a relation. The object is the words after the verb, up to a boundary.
type pattern struct {
	words      []string
	predicate  string
	functional bool // one object at a time
	stops      wordSet
	object     objectKind
}

type objectKind int

const (
	anything objectKind = iota
	place               // a proper name
	date                // has a digit
)

// claimPatterns is the table of relations. Only those that have one value at a time are
// functional: people like many things, have more than one job and can be born in a place and in a year.
//
//	words                                    predicate          functional
//	X lives in / resides in / is based in Y  lives_in           yes, Y a proper name
//	X was born on Y                          born_on            yes, Y a date
//	X was born in Y                          born_in            no (a place and a year)
//	X works at / works for Y                 works_at           no
//	X works as a Y                           works_as           no
//	X prefers Y (over Z)                     prefers            no
//	X prefers Y for T                        prefers_for_<T>    yes
//	X likes, loves, enjoys, hates … Y        likes, loves …     no
//	X uses Y                                 uses               no
//	X decided on / decided to use / chose Y  decided_to_use     no
//	X switched to / migrated to Y            switched_to        no
//	X moved to Y                             moved_to           no (it is an event)
//	X speaks, plays, studies, owns … Y       speaks …           no
//	X runs on port N                         port               yes, without a limitation
//	X runs on, depends on, requires … Y      runs_on …          no
//	X is named Y                             name               yes
//	X is a Y                                 is_a               no
//	X's A is Y, the A of X is Y              A                  yes, A in singleValued or "favorite …"
//	the A is Y                               is (subject A)     yes, A ends in a singleValued word
//
// A sentence that is negated, hedged, conditional, quoted from others, or in the past tense gives no claim.
var claimPatterns = func() map[string][]*pattern {
	out := map[string][]*pattern{}
	add := func(predicate string, functional bool, kind objectKind, stops wordSet, forms string) {
		for _, form := range strings.Split(forms, "|") {
			f := strings.Fields(form)
			out[f[0]] = append(
				out[f[0]],
				&pattern{words: f, predicate: predicate, functional: functional, object: kind, stops: stops},
			)
		}
	}
	where := set("with for near since during on while at as")
	add("lives_in", true, place, where, "lives in|live in|resides in|reside in|is based in|is living in")
	add("born_on", true, date, set("in at"), "was born on")
	add("born_in", false, anything, where, "was born in")
	add(
		"works_at",
		false,
		anything,
		set("as in on since with for"),
		"works at|work at|works for|work for|is employed by|is employed at",
	)
	add("works_as", false, anything, set("at for in since with"), "works as|work as")
	add("prefers", false, anything, set("over to instead rather than"), "prefers|prefer")
	add("likes", false, anything, set("for"), "likes|is fond of|is into")
	add("loves", false, anything, set("for"), "loves|love")
	add("enjoys", false, anything, set("for"), "enjoys|enjoy")
	add("dislikes", false, anything, set("for"), "dislikes|dislike")
	add("hates", false, anything, set("for"), "hates|hate")
	add("wants", false, anything, set("for"), "wants|want")
	add("uses", false, anything, set("for to as instead with in"), "uses|use|is using")
	add("decided_to_use", false, anything, set("for over instead rather as to in with"),
		"decided to use|decided on|will use|chose|agreed to use|agreed on|adopted|settled on|opted for|picked")
	add(
		"switched_to",
		false,
		anything,
		set("from for because after in"),
		"switched to|migrated to|has switched to|has migrated to",
	)
	add("moved_to", false, anything, set("from for with because after in on"), "moved to|relocated to|has moved to")
	add("speaks", false, anything, set("with at to"), "speaks|speak")
	add("plays", false, anything, set("with at on in for"), "plays")
	add("studies", false, anything, set("with at on in for"), "studies")
	add("owns", false, anything, set("in with for"), "owns|own")
	add("has", false, anything, set("in with for on"), "has a|has an")
	add("manages", false, anything, set("in with for at"), "manages|leads|maintains")
	add("depends_on", false, anything, set("for in"), "depends on|depend on|relies on")
	add("requires", false, anything, set("for to in"), "requires|require|needs|need")
	add("supports", false, anything, set("for in with"), "supports|support")
	add("stores_in", false, anything, set("for with"), "stores data in|is stored in|are stored in")
	add("written_in", false, anything, set("for with"), "is written in")
	add("located_in", false, anything, where, "is located in")
	add("married_to", false, anything, set("since with"), "is married to")
	add("allergic_to", false, anything, set("since"), "is allergic to|am allergic to")
	add("from", false, place, set("but"), "is from|comes from")
	add("port", true, date, set("for in with on"), "runs on port|is running on port")
	add("runs_on", false, anything, set("for with in"), "runs on|run on")
	add("listens_on", false, anything, set("for with in"), "listens on")
	add("name", true, anything, set("after for"), "is named")
	add("is_a", false, anything, wordSet{}, "is a|is an")
	add("is", true, anything, set("for in on at with when during if"), "is|are")
	return out
}()

// singleValued are attributes that have only one value for a thing.
var singleValued = set(
	`name age birthday birthdate email phone address hometown birthplace nationality height weight timezone
	port version deadline hostname username password url domain license capital title branch theme editor
	employer salary blood status`,
)

// vague attributes are too general to have a value.
var vague = set("thing one part bit way moment")

var (
	pronouns = set(`i you he she it we they me him her us them this that these those my your his its our their mine yours
		who what which there here someone somebody everyone everybody nobody anyone something everything nothing one
		it's that's he's she's they're we're i'm i've we've`)
	boundaries = set(
		`because but since when while so although though which who where unless if until whereas as-is after before
		despite however then yet even except`,
	)
	skipAhead = set("currently now today still actually generally usually typically normally also already recently")
	negations = set(
		`not no never cannot can't don't doesn't didn't isn't aren't wasn't weren't won't wouldn't shouldn't couldn't hasn't
		haven't hadn't neither nor without nobody nothing none hardly barely`,
	)
	conditionals = set(
		`if when while unless because since although after before once as until whenever though whether suppose assuming`,
	)
	prepositions = set(`in on at during for with by from since within under over for`)
	trailing     = set(
		`now currently today yesterday again anymore too also most best well always lately nowadays already more very much
		a lot anyway recently`,
	)
)

// claimVerb returns the patterns that start with a verb.
func claimVerb(low string) []*pattern { return claimPatterns[low] }

// parseClaim reads a subject-predicate-object statement out of a sentence, or returns the zero Claim.
// Subjects and objects keep their spelling without articles; they are compared without regard to
// case (see sameName).
func parseClaim(ws []word) memory.Claim {
	start, qualified := 0, false
	for start < len(ws) && skipAhead.has(ws[start].low) {
		start++
	}
	if start < len(ws) && prepositions.has(ws[start].low) { // "In 2020, Caroline moved to Oslo"
		comma := -1
		for i := start; i < len(ws) && i < start+6; i++ {
			if strings.HasSuffix(ws[i].post, ",") {
				comma = i
				break
			}
		}
		if comma < 0 {
			return memory.Claim{}
		}
		start, qualified = comma+1, true
	}
	if start >= len(ws) || conditionals.has(ws[start].low) {
		return memory.Claim{}
	}
	for v := start + 1; v < len(ws) && v <= start+7; v++ {
		prev := ws[v-1]
		if prev.ends() || ws[v].quoted {
			return memory.Claim{}
		}
		low := ws[v].low
		if negations.has(low) || modals.has(low) && low != "will" && !copulas.has(low) {
			return memory.Claim{}
		}
		p := longest(claimVerb(low), ws[v:])
		if p == nil {
			continue
		}
		subject := ws[start:v]
		for len(subject) > 1 && adverb(subject[len(subject)-1].low) {
			if negations.has(subject[len(subject)-1].low) {
				return memory.Claim{}
			}
			subject = subject[:len(subject)-1]
		}
		if !subjectShape(subject) {
			return memory.Claim{}
		}
		return p.claim(subject, ws[v+len(p.words):], qualified)
	}
	return memory.Claim{}
}

func longest(ps []*pattern, ws []word) *pattern {
	var best *pattern
	for _, p := range ps {
		if (best == nil || len(p.words) > len(best.words)) && len(ws) > len(p.words) && hasPrefixWords(ws, p.words) {
			best = p
		}
	}
	return best
}

// subjectShape reports whether ws is a plain noun phrase that names a person or thing.
func subjectShape(ws []word) bool {
	if len(ws) == 0 || len(ws) > 6 {
		return false
	}
	caps, lows := 0, 0
	for i, w := range ws {
		if w.core == "" || w.quoted && len(ws) > 1 {
			return false
		}
		if _, possessive := stripPossessive(w.low); !possessive && strings.Contains(w.low, "'") &&
			!strings.HasSuffix(w.low, "s'") &&
			!strings.HasPrefix(w.low, "o'") {
			return false // we'll, they've
		}
		if pronouns.has(w.low) && !(i == 0 && len(ws) > 1 && w.low == "this") {
			return false
		}
		if i > 0 && w.low != "of" && w.low != "the" && w.low != "for" &&
			(stopWords.has(w.low) || commonVerb(w.low) || pastForms.has(w.low)) {
			return false
		}
		if i > 0 && capital(w.core) {
			caps++
			if lows > 0 && !kin.has(ws[i-1].low) && !determiners.has(ws[i-1].low) && ws[i-1].low != "of" &&
				ws[i-1].low != "for" {
				return false // "Bob thinks Alice"
			}
		} else if i > 0 {
			lows++
		}
	}
	first := ws[0].low
	if determiners.has(first) {
		return len(ws) > 1
	}
	return !stopWords.has(first) && !chatterWords.has(first)
}

// commonVerb reports whether low is a verb of saying or thinking. The words after it are hearsay.
func commonVerb(low string) bool { return hearsay.has(low) }

var hearsay = set(`says said thinks thought believes believed claims claimed told tells knows knew hopes hoped reported
	reports suggests suggested wrote writes asked asks feels felt assumes assumed mentioned mentions confirmed denied
	denies`)

// claim builds the claim of p from its subject and the words after the verb.
func (p *pattern) claim(subject, rest []word, qualified bool) memory.Claim {
	object, rest := p.cut(rest)
	if len(object) == 0 || negations.has(object[0].low) {
		return memory.Claim{}
	}
	for _, w := range object {
		if pronouns.has(w.low) {
			return memory.Claim{} // which "it" is not known, or it is a clause
		}
	}
	c := memory.Claim{Predicate: p.predicate, Functional: p.functional && !qualified}
	limit := 8
	switch p.predicate {
	case "is_a":
		limit = 12
	case "likes", "loves", "enjoys", "dislikes", "hates", "wants", "prefers", "requires":
		if object[0].low == "to" && len(object) > 1 {
			object = object[1:]
		}
	}
	if len(object) > limit {
		return memory.Claim{}
	}
	c.Subject, c.Object = phrase(subject), phrase(object)

	switch p.predicate {
	case "prefers":
		object, topic := splitTopic(object, rest)
		c.Object = phrase(object)
		if slug := slugOf(topic); slug != "" && !qualified {
			c.Predicate, c.Functional = "prefers_for_"+slug, true
		}
	case "is":
		owner, attribute := attributeOf(subject)
		if attribute == "" {
			return memory.Claim{}
		}
		single := isSingle(attribute)
		if owner != "" {
			c.Subject, c.Predicate = owner, slug(attribute)
		} else if !single {
			return memory.Claim{} // "the weather is nice"
		}
		c.Functional = c.Functional && single && !qualifiedBy(rest)
		if !plainValue(object) {
			return memory.Claim{}
		}
	default:
		c.Functional = c.Functional && !qualifiedBy(rest)
	}

	switch p.object {
	case place:
		if !capital(c.Object) {
			return memory.Claim{}
		}
	case date:
		if !hasDigit(c.Object) {
			return memory.Claim{}
		}
	}
	if c.Subject == "" || c.Predicate == "" || !strings.ContainsFunc(c.Object, letterOrDigit) || onlyStop(object) {
		return memory.Claim{}
	}
	return c
}

func letterOrDigit(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }

func onlyStop(ws []word) bool {
	for _, w := range ws {
		if capital(w.core) || !stopWords.has(w.low) && !chatterWords.has(w.low) {
			return false
		}
	}
	return true
}

// cut separates the object from what follows it.
func (p *pattern) cut(ws []word) (object, rest []word) {
	end := len(ws)
	for i, w := range ws {
		if i > 0 &&
			(boundaries.has(w.low) || w.low == "last" || w.low == "next" || p.stops.has(w.low) ||
				strings.HasPrefix(w.pre, "(")) ||
			w.low == "-" ||
			w.low == "–" ||
			w.low == "—" {
			end = i
			break
		}
		if i > 0 && w.low == "and" && i+1 < len(ws) && (p.functional || newClause(ws[i+1:])) {
			end = i
			break
		}
		if strings.ContainsAny(w.post, ",;:(") {
			end = i + 1
			break
		}
	}
	object, rest = ws[:end], ws[end:]
	for len(object) > 0 && trailing.has(object[len(object)-1].low) {
		object = object[:len(object)-1]
	}
	if n := len(object); n > 0 && strings.ContainsAny(object[n-1].post, ",;:(") && len(rest) == 0 && end < len(ws) {
		rest = ws[end:]
	}
	return object, rest
}

// newClause reports whether the words after "and" begin a new statement, rather than continue with the same subject.
func newClause(ws []word) bool {
	for len(ws) > 1 && adverb(ws[0].low) {
		ws = ws[1:]
	}
	low := ws[0].low
	return finiteVerb(low) && !nounVerbs.has(strings.TrimSuffix(low, "s")) || pronouns.has(low) || statesClause(ws)
}

// qualifiedBy reports whether what follows an object limits the statement ("on weekdays", "for the
// API"), so that another object may be true at the same time.
func qualifiedBy(rest []word) bool {
	if len(rest) == 0 {
		return false
	}
	switch low := rest[0].low; {
	case strings.HasPrefix(rest[0].pre, "("):
		return !hasDigit(rest[0].core) // a date in brackets limits nothing
	case low == "because" || low == "since" || low == "with" || low == "but" || low == "so" ||
		low == "which" || low == "where":
		return false
	default:
		return prepositions.has(low) || conditionals.has(low) || boundaries.has(low) || low == "to" || low == "as" ||
			low == "only"
	}
}

// splitTopic finds the "for …" of a preference, in the object or after "over Z".
func splitTopic(object, rest []word) (thing, topic []word) {
	for i, w := range object {
		if i > 0 && w.low == "for" {
			return object[:i], append(append([]word(nil), object[i+1:]...), rest...)
		}
	}
	for i, w := range rest {
		if w.low == "for" {
			return object, rest[i+1:]
		}
	}
	return object, nil
}

// slugOf turns a topic into a part of a predicate. It is empty if the topic is too long or not plain.
func slugOf(ws []word) string {
	if len(ws) == 0 || len(ws) > 5 {
		return ""
	}
	for i, w := range ws {
		if pronouns.has(w.low) || boundaries.has(w.low) || i < len(ws)-1 && w.ends() || w.low == "now" ||
			w.low == "example" {
			return ""
		}
	}
	return slug(phrase(ws))
}

// slug is s as snake_case.
func slug(s string) string {
	var b strings.Builder
	gap := false
	for _, r := range strings.ToLower(s) {
		if !letterOrDigit(r) {
			gap = b.Len() > 0
			continue
		}
		if gap {
			b.WriteByte('_')
			gap = false
		}
		b.WriteRune(r)
	}
	return b.String()
}

// attributeOf splits "Caroline's favorite color", "the port of the API server", "the default branch"
// into owner and attribute. Without an owner both name the whole phrase.
func attributeOf(ws []word) (owner, attribute string) {
	for i, w := range ws {
		if i < len(ws)-1 {
			if name, ok := stripPossessive(w.core); ok {
				head := append([]word(nil), ws[:i+1]...)
				head[i].core = name
				return phrase(head), phrase(ws[i+1:])
			}
			if i > 0 && w.low == "of" {
				return phrase(ws[i+1:]), phrase(ws[:i])
			}
		}
	}
	return "", phrase(ws)
}

// isSingle reports whether the attribute of a thing has only one value at a time.
func isSingle(attribute string) bool {
	words := strings.Fields(strings.ToLower(attribute))
	if len(words) == 0 || len(words) > 4 {
		return false
	}
	last := words[len(words)-1]
	if words[0] == "favorite" || words[0] == "favourite" {
		return len(words) > 1 && !vague.has(last) && !strings.HasSuffix(last, "s")
	}
	return singleValued.has(last) || strings.EqualFold(attribute, "phone number")
}

// plainValue reports whether an attribute's value is a name, a number or a few words, not a clause.
func plainValue(ws []word) bool {
	if len(ws) > 6 {
		return false
	}
	for i, w := range ws {
		if i == 0 &&
			(w.low == "to" || w.low == "that" || w.low == "very" || w.low == "too" || w.low == "being" ||
				strings.HasSuffix(w.low, "ing")) ||
			pronouns.has(w.low) {
			return false
		}
	}
	return true
}

// phrase returns the text of ws without articles and surrounding punctuation.
func phrase(ws []word) string {
	for len(ws) > 1 && (ws[0].low == "the" || ws[0].low == "a" || ws[0].low == "an") {
		ws = ws[1:]
	}
	return strings.TrimSpace(coreText(ws))
}
