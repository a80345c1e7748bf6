package memory

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/mneme/mneme/memory/english"
	"github.com/mneme/mneme/memory/normalize"
)

// answer is the kind of a statement's value. It decides which question the statement answers.
type answer int

const (
	answerOther   answer = iota
	answerNone           // there is no value
	answerTime           // a date, a day, a time of day
	answerVersion        // 18.2, v3
	answerAmount         // a number, with or without a unit
	answerName           // a person, a place, a product
)

// answerOf returns the kind of a value, judged by its words.
func answerOf(value string) answer {
	fields := strings.Fields(value)
	if len(fields) == 0 {
		return answerNone
	}
	numbers := 0
	for i, field := range fields {
		word := normalize.Lower(strings.Trim(field, ".,;:()\"'"))
		switch {
		case timeWords[word] && !(word == "may" && field[0] == 'm'), isClock(word), isDate(word):
			return answerTime
		case i == len(fields)-1 && isVersion(word) &&
			(i > 0 && startsUpper(fields[0]) || word[0] == 'v' || strings.Count(word, ".") > 1):
			return answerVersion
		case startsWithNumber(word):
			numbers++
		}
	}
	switch {
	case numbers > 0 && startsWithNumber(fields[0]):
		return answerAmount
	case startsUpper(fields[0]):
		return answerName
	}
	return answerOther
}

var timeWords = english.Words(english.MonthNames, english.ShortMonthNames, english.WeekdayNames, english.WeekdayPlurals,
	`weekdays weekends today tomorrow yesterday tonight noon midnight morning afternoon evening week weekend month
		quarter year q1 q2 q3 q4 spring summer autumn winter a.m p.m am pm o'clock easter christmas daily nightly weekly
		monthly`)

// isClock reports whether word is a time of day: 9:30, 9am, 14:00.
func isClock(word string) bool {
	digits := strings.TrimRight(word, "apm.")
	hour, minute, ok := strings.Cut(digits, ":")
	if digits != word && isDigits(digits) {
		return true
	}
	return ok && isDigits(hour) && isDigits(minute) && len(minute) == 2
}

// isDate reports whether word is a date or a day of the month: 2025-03-28, 1.6.2025, 28th.
func isDate(word string) bool {
	for _, suffix := range [...]string{"st", "nd", "rd", "th"} {
		if day, ok := strings.CutSuffix(word, suffix); ok && isDigits(day) && len(day) < 3 {
			return true
		}
	}
	for _, sep := range [...]string{"-", "/", "."} {
		parts := strings.Split(word, sep)
		if len(parts) != 3 || !isDigits(parts[0]) || !isDigits(parts[1]) || !isDigits(parts[2]) {
			continue
		}
		if len(parts[0]) == 4 || len(parts[2]) == 4 {
			return true
		}
	}
	return len(word) == 4 && isDigits(word) && (strings.HasPrefix(word, "19") || strings.HasPrefix(word, "20"))
}

// isVersion reports whether word is a version: v2, 18.2, 1.2.3.
func isVersion(word string) bool {
	rest := strings.TrimPrefix(word, "v")
	return (rest != word || strings.Contains(rest, ".")) && strings.Trim(rest, "0123456789.") == "" &&
		isDigits(rest[:min(1, len(rest))])
}

func isDigits(s string) bool { return s != "" && strings.Trim(s, "0123456789") == "" }

func startsWithNumber(word string) bool {
	word = strings.TrimLeft(word, "$€£¥~<>≈-+")
	return word != "" && word[0] >= '0' && word[0] <= '9'
}

func startsUpper(s string) bool {
	r, _ := utf8.DecodeRuneInString(s)
	return unicode.IsUpper(r)
}

// subject is the kind of a statement's subject, if its name shows the kind.
type subject int

const (
	subjectUnknown subject = iota
	subjectPerson
	subjectThing
)

// subjectOf returns the kind of a subject. A capitalised name is a person's, unless it contains a word for a thing. A
// common noun that is not in a list is unknown.
func subjectOf(name string) subject {
	fields := strings.Fields(name)
	if len(fields) == 0 {
		return subjectUnknown
	}
	last := normalize.Lower(fields[len(fields)-1])
	switch {
	case personNouns[last]:
		return subjectPerson
	case thingNouns[last] || thingNouns[strings.TrimSuffix(last, "s")]:
		return subjectThing
	}
	for i, field := range fields {
		word := normalize.Lower(field)
		switch {
		case thingNouns[word] || thingNouns[strings.TrimSuffix(word, "s")]:
			return subjectThing
		case personNouns[strings.TrimSuffix(word, "'s")]:
			return subjectPerson // "Ana's brother Max"
		case !startsUpper(field) || !lettersOnly(field):
			return subjectUnknown
		case i == 0 && len(field) > 1 && field == strings.ToUpper(field):
			return subjectUnknown // CI, API
		}
	}
	if len(fields) > 3 || strings.HasSuffix(name, "'s") {
		return subjectUnknown
	}
	return subjectPerson
}

// lettersOnly reports whether a word has the form of a person's name.
func lettersOnly(s string) bool {
	upper := 0
	for i, r := range s {
		switch {
		case unicode.IsLetter(r):
			if unicode.IsUpper(r) {
				upper++
			}
		case r != '-' && r != '\'' && r != '’' && (r != '.' || i == 0):
			return false
		}
	}
	return upper == 1 || strings.ContainsAny(s, "-'’.") || strings.HasPrefix(s, "Mc")
}

var (
	personNouns = normalize.Set(`user brother sister mother father mom dad mum son daughter wife husband partner
		boyfriend girlfriend friend cousin uncle aunt boss manager colleague coworker teacher doctor
		neighbor neighbour roommate grandmother grandfather grandma grandpa niece nephew fiance fiancé
		fiancée fiancee spouse parents family kids children dentist therapist nurse lawyer landlord`)

	thingNouns = normalize.Set(`deadline meeting standup stand-up launch release demo review sprint appointment
		call conference exam class course event flight train interview workshop offsite kickoff kick-off
		sync retro retrospective training rehearsal concert match session migration rollout cutover
		milestone freeze renewal audit party trip booking reservation delivery payment invoice service
		server api database db cluster gateway pipeline build repo repository branch queue cache app
		application site website dashboard job cron worker backend frontend module library package tool
		script config configuration system platform index search billing checkout auth authentication login
		payments storage bucket key token credential credentials password secret certificate cert account
		license licence domain port host machine laptop phone car printer office project ticket issue bug
		feature roadmap budget price rent cost fee salary contract lease plan policy document wiki file
		folder code test data backup log traffic endpoint schema table model parser ledger firmware protocol
		rate limit timeout version newsletter blog store shop warehouse factory company team department`)
)
