package rules

import (
	"strings"
	"unicode"

	"github.com/mneme/mneme/memory"
	"github.com/mneme/mneme/memory/english"
)

// Confidence of graph edges.
const (
	edgeFromClaim   = 0.8
	edgeFromMention = 0.5
	maxMentions     = 3 // edges of one sentence between names that only occur together
)

// mentionedWith joins names in one sentence that does not say how they are related.
const mentionedWith = "mentioned_with"

var (
	calendar = set(english.WeekdayNames, english.WeekdayPlurals, english.MonthNames,
		"christmas easter spring summer autumn fall winter")
	notNames = set(`ok todo fyi am pm i ii iii iv etc tbd tba asap lol omg error warning info note always never today
		yesterday tomorrow currently however although english mr mrs ms dr`)
)

// triplesOf returns the edges that a resolved sentence adds to the entity graph: the edge of its claim, or else edges
// from its first name to the others.
func triplesOf(ws []word, c memory.Claim, s speaker) []memory.Triple {
	if !c.IsZero() {
		if c.Predicate != "is" && nameable(c.Subject) && strings.Count(c.Object, " ") < 4 &&
			strings.ContainsFunc(c.Object, unicode.IsLetter) {
			return []memory.Triple{{Source: c.Subject, Relationship: c.Predicate, Target: c.Object,
				Confidence: edgeFromClaim}}
		}
		return nil
	}
	names := namesIn(ws, s)
	if len(names) < 2 {
		return nil
	}
	var out []memory.Triple
	for _, other := range names[1:min(len(names), maxMentions+1)] {
		out = append(
			out,
			memory.Triple{Source: names[0], Relationship: mentionedWith, Target: other, Confidence: edgeFromMention},
		)
	}
	return out
}

// nameable reports whether a claim's subject is a name or a noun phrase that should be a node of the graph.
func nameable(s string) bool { return s != "" && strings.Count(s, " ") < 4 }

// namesIn finds the proper names and technical identifiers of a sentence, each once, in order: runs
// of capitalised words, CamelCase, words with digits, @handles, file names. A single capitalised
// word at the start of a sentence is a name only when it is the speaker's or looks like one.
func namesIn(ws []word, s speaker) []string {
	var names []string
	add := func(name string) {
		if len(name) < 2 || notNames.has(fold(name)) {
			return
		}
		for _, n := range names {
			if strings.EqualFold(n, name) {
				return
			}
		}
		names = append(names, name)
	}
	if s.known() && !roles.has(s.name) && strings.HasPrefix(joinWords(ws), s.name) {
		add(s.name)
	}
	start := true
	for i := 0; i < len(ws); {
		w := ws[i]
		core, possessive := stripPossessive(w.core)
		switch {
		case identifier(core):
			add(core)
			i++
		case properName(core) && !calendar.has(fold(core)):
			j := i + 1
			run := []string{core}
			for !possessive && j < len(ws) && !ws[j-1].ends() {
				next, nextPossessive := stripPossessive(ws[j].core)
				if ws[j].low == "of" && j+1 < len(ws) && properName(ws[j+1].core) && !stopWords.has(ws[j+1].low) {
					run = append(run, "of")
					j++
					continue
				}
				if !properName(next) && !(identifier(next) && len(run) == 1) && !versionNumber(next) {
					break
				}
				run = append(run, next)
				possessive = nextPossessive
				j++
			}
			low := fold(core)
			plain := stopWords.has(low) || commonWords.has(low) || chatterWords.has(low) || leadIns.has(low) ||
				whWords.has(low)
			if plain && len(run) > 1 && start {
				run, plain, start = run[1:], false, false
			}
			known := s.known() && strings.EqualFold(core, s.name)
			if len(run) > 1 || known || !plain && !start || start && !plain && nameAtStart(ws, i) {
				add(strings.Join(run, " "))
			}
			i = j
		default:
			i++
		}
		start = i > 0 && strings.ContainsAny(ws[i-1].post, ".!?:") || i == 0
	}
	return names
}

// nameAtStart guesses whether the capitalised first word of a sentence is a name: it is possessive, or is followed by
// a verb in the third person.
func nameAtStart(ws []word, i int) bool {
	if _, ok := stripPossessive(ws[i].core); ok {
		return true
	}
	if i+1 >= len(ws) || howToVerbs.has(ws[i].low) || requestVerbs.has(ws[i].low) || strings.HasSuffix(ws[i].low,
		"ing") ||
		strings.HasSuffix(ws[i].low, "ly") {
		return false
	}
	next := ws[i+1].low
	if strings.HasSuffix(ws[i].low, "s") && !copulas.has(next) {
		return false // a plural
	}
	return claimVerb(next) != nil && !copulas.has(next) || next == "and" && i+2 < len(ws) && properName(ws[i+2].core)
}

// properName reports whether s is written like a name: a capital, letters only.
func properName(s string) bool {
	if len(s) < 2 || !capital(s) || strings.ContainsAny(s, "'’") && !strings.HasPrefix(s, "O'") {
		return false
	}
	for _, r := range s {
		if !unicode.IsLetter(r) && r != '-' && r != '\'' && r != '’' && r != '.' && r != '&' {
			return false
		}
	}
	return true
}

// identifier reports whether s is a technical name: CamelCase, an acronym with a digit, letters with
// digits (gpt-4, k8s), an @handle, a file name. Plain numbers, versions and links are not.
func identifier(s string) bool {
	if len(s) < 2 || len(s) > 80 || strings.Contains(s, "://") || versionNumber(s) {
		return false
	}
	if s[0] == '@' {
		return len(s) > 2 && !strings.Contains(s[1:], "@")
	}
	letters, digits, inner, lower := 0, 0, false, false
	for i, r := range s {
		switch {
		case unicode.IsLetter(r):
			letters++
			if unicode.IsUpper(r) && i > 0 && lower {
				inner = true
			}
			lower = unicode.IsLower(r)
		case unicode.IsDigit(r):
			digits++
		case r == '-' || r == '_' || r == '.' || r == '/' || r == '+' || r == '#':
			lower = false
		default:
			return false
		}
	}
	switch {
	case letters < 1:
		return false
	case inner:
		return true
	case digits > 0:
		return letters >= 2 && !amount(s) || digits == 1 && letters == 1 && len(s) > 2
	}
	return fileName(s)
}

// amount reports whether s is a number with a unit or suffix: 10ms, 3rd, 12k, 5pm.
func amount(s string) bool {
	i := 0
	for i < len(s) && (s[i] >= '0' && s[i] <= '9' || s[i] == '.' || s[i] == ',' || s[i] == '-' ||
		s[i] == ':' || s[i] == '/') {
		i++
	}
	return i > 0
}

// versionNumber reports whether s is a number or a version: 17, v1.2.3, 3.11.
func versionNumber(s string) bool {
	s = strings.TrimPrefix(strings.TrimPrefix(s, "v"), "V")
	return s != "" && strings.Trim(s, "0123456789.") == "" && s[0] != '.'
}

// fileName reports whether s ends in a short extension: main.go, config/app.yaml.
func fileName(s string) bool {
	dot := strings.LastIndexByte(s, '.')
	if dot < 1 || len(s)-dot < 3 && !strings.HasSuffix(s, ".c") && !strings.HasSuffix(s, ".h") || len(s)-dot > 6 {
		return false
	}
	ext := s[dot+1:]
	return strings.Trim(ext, "abcdefghijklmnopqrstuvwxyz") == "" && s[dot-1] != '.'
}

// sameName compares subjects and objects: without regard to case, articles and surrounding space.
func sameName(a, b string) bool { return nameKey(a) == nameKey(b) }

func nameKey(s string) string {
	fields := strings.Fields(fold(s))
	for len(fields) > 1 && (fields[0] == "the" || fields[0] == "a" || fields[0] == "an") {
		fields = fields[1:]
	}
	return strings.Join(fields, " ")
}
