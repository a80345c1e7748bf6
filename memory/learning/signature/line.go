package signature

import (
	"iter"
	"regexp"
	"strings"

	"github.com/mneme/mneme/memory/normalize"
)

var (
	// ansi matches the escape codes of terminals.
	ansi = regexp.MustCompile("\x1b\\[[0-9;?]*[A-Za-z]")

	saysError = regexp.MustCompile(`(?i)\b(error|fatal|panic|exception|undefined|unresolved|cannot|can't|could not|` +
		`couldn't|unable|refused|denied|not found|no such|no rule|missing|invalid|unknown|unexpected|mismatch|` +
		`conflict|failed|failure|timed? ?out|timeout|killed|abort(ed)?|expected|not a|out of memory|corrupt(ed)?|` +
		`unreachable|forbidden|unauthorized|overflow|segmentation fault|does not|not in std|unused|not used)\b|` +
		`ERR!|Error:|Exception:|(?-i:\b[A-Z]{1,5}\d{3,5}\b|\bE[A-Z]{4,}\b)`)
	saysStrongly = regexp.MustCompile(`(?i)\b(error|fatal|panic|exception)\b\s*[:\[(!]|\w(Error|Exception): |` +
		`\bcode E[A-Z]+|undefined reference|\bCONFLICT\b`)

	// callers matches lines in which a program reports the failure of another one, without the cause.
	callers = regexp.MustCompile(`(?i)(^|\s)make(\[\d+\])?: \*\*\* \[.*\] error \d+|` +
		`collect2(\.exe)?: error: ld returned|` +
		`^\W*exit(ed)?( with)? (status|code):? \d+\W*$|errno \d+$|^FAIL\b|^ok\b|npm err! (a complete log|errno|path|` +
		`syscall|command|this is probably|.*_logs)|lifecycle script|^\W*\d+ (errors?|warnings?|problems?)\b|` +
		`(compilation|build) (failed|terminated)\W*$|^traceback \(most recent|^=+ |process completed with exit code|` +
		`^error: aborting due to|could not compile|subprocess-exited-with-error|^note: this (error|is an issue)|` +
		`^fatal error: all goroutines|` +
		`^error: process didn't exit|^error: command failed|ninja: build stopped|for more information about this error|` +
		`the following error occurred|^hint:|^to https?:`)
	// diagnostic matches the form in which tools report a problem if no word says that it is one: where it is, a colon,
	// and several words.
	diagnostic = regexp.MustCompile(`^\S.*\S: [\pL'"` + "`" + `(]\S*(?: \S+){2,}`)
	lesser     = regexp.MustCompile(`(?i)\b(warning|note|hint|info|debug|deprecated)\b\s*[:\[(]|npm warn|` +
		`^\s*(at |in |from )|` +
		`^\s*File "|^\s*\^|^\s*\d+ \||^\s*-->|^goroutine \d|In function|required from|^\$ |^\+ `)
)

// causeLine returns the line that tells most about the cause, or the first of several equal ones.
func causeLine(text string) string { return causeOf(text, scored(text)) }

func causeOf(text string, lines []scoredLine) string {
	best, most := "", -20
	python := strings.Contains(text, "Traceback (most recent call last)")
	for _, l := range lines {
		// The last line of a Python traceback is its error; of chained ones, the last was reported.
		if l.score > most || python && l.score == most && l.score >= 4 {
			best, most = l.text, l.score
		}
	}
	return best
}

// scoredLine is a line of a text, with what it tells about the cause.
type scoredLine struct {
	text  string
	score int
}

func scored(text string) (out []scoredLine) {
	for line := range lines(text) {
		out = append(out, scoredLine{line, scoreOf(line)})
	}
	return out
}

// lines returns the lines of a text that say something, without the codes of terminals.
func lines(text string) iter.Seq[string] {
	if len(text) > maxRead {
		text = text[:maxRead/2] + "\n" + text[len(text)-maxRead/2:]
	}
	text = ansi.ReplaceAllString(strings.ToValidUTF8(text, ""), "")
	return func(yield func(string) bool) {
		for line := range unwrapped(strings.ReplaceAll(text, "\r", "\n")) {
			line = normalize.CleanLine(line, maxLine)
			if line == "" || !strings.ContainsFunc(line, isLetter) && !strings.ContainsAny(line, "0123456789") {
				continue
			}
			if !yield(line) {
				return
			}
		}
	}
}

// Scores of lines.
const (
	says     = 4 // a line that says error
	located  = 2 // a line in the form of a diagnostic
	merely   = 1 // a line that says no more than that something failed
	asLesser = 6
	asCaller = 8
)

// scoreOf returns how much a line tells about the cause.
func scoreOf(line string) (score int) {
	if saysError.MatchString(line) {
		score += says
	}
	if saysStrongly.MatchString(line) {
		score += says
	}
	if lesser.MatchString(line) {
		score -= asLesser
	}
	if callers.MatchString(line) {
		score -= asCaller
	}
	switch {
	case score == 0 && (diagnostic.MatchString(line) || atPosition.MatchString(line)):
		score = located
	case score > merely && onlyFails(line):
		score = merely
	}
	return score
}

// onlyFails reports whether a line says that something failed, but not why: apart from values, it has only words that say
// so, and names of what is carried out.
func onlyFails(line string) bool {
	failed := false
	for word := range strings.FieldsSeq(strings.ReplaceAll(line, "--", " ")) {
		word = normalize.Lower(strings.Trim(word, `.,:;!()[]*`))
		switch {
		case failing[word]:
			failed = true
		case quoted.MatchString(word):
		case word != "" && !fillers[word] && !carriedOut[word] && !strings.ContainsAny(word, `./\0123456789`):
			return false
		}
	}
	return failed
}

var (
	quoted  = regexp.MustCompile("^['\"`‘“].*['\"`’”]$")
	failing = normalize.Set(`failed fails failure failures aborted aborting terminated terminating stopped stopping error
		errors fatal`)
	carriedOut = normalize.Set(`begin line execution compilation build building command script process program job task
		step target test tests recipe rule had has have with because due previous above following`)
)

// LooksLikeError reports whether a text is an error report and not a request.
func LooksLikeError(text string) bool {
	line := causeLine(text)
	return line != "" && (saysStrongly.MatchString(line) ||
		strings.ContainsAny(line, ":'`\"") && saysError.MatchString(line))
}
