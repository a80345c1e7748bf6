package signature

import (
	"cmp"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/mneme/mneme/memory/normalize"
)

// pattern finds values of a kind. If the expression has groups, the value is the matched group.
type pattern struct {
	kind  Kind
	match *regexp.Regexp
}

const (
	dateTime = `\d{4}[-/]\d\d[-/]\d\d(?:[T ]\d\d:\d\d(?::\d\d)?(?:[.,]\d+)?(?:Z|[+-]\d\d:?\d\d)?)?`
	fileName = `[\w+@-][\w.+@-]*\.(?:go|c|cc|cpp|cxx|h|hh|hpp|py|pyc|js|jsx|mjs|cjs|ts|tsx|rs|rb|java|kt|cs|php|sh|sql|` +
		`pl|pm|lua|swift|scala|hs|ml|ipynb|vue|tf|class|jar|patch|diff|orig|rej|bak|csr|der|tex|pdf|rst|bz2|xz|deb|` +
		`rpm|` +
		`json|ya?ml|toml|txt|md|xml|html?|css|cfg|ini|conf|lock|log|mod|sum|so|a|o|d|dll|exe|lib|obj|whl|tar|gz|zip|` +
		`tgz|pem|key|crt|proto|cmake|mk|gradle|env|pid|sock|db|csv|png|jpg|svg|wasm|test|out|bin|tmp)(?:\.\d+)*`
	position = `(?::\d+(?::\d+)?|\(\d+(?:,\d+)?\))?`
)

// patterns are tried in order. Later patterns do not see the text that earlier ones matched.
var patterns = []pattern{
	{Time, regexp.MustCompile(`\[?` + dateTime + `\]?`)},
	{Time,
		regexp.MustCompile(`\b(?:(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun),? )?(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|` +
			`Dec) +\d{1,2}(?:,? \d{4})? \d\d:\d\d:\d\d(?: \d{4})?`)},
	{Time, regexp.MustCompile(`\b\d\d:\d\d:\d\d(?:[.,]\d+)?\b`)},
	{URL,
		regexp.MustCompile(`\b(?:https?|ssh|git|ftp|file|wss?|postgres(?:ql)?|redis|amqp|mysql|tcp)://[^\s'"<>)\]]+|` +
			`\bgit@[\w.-]+:[\w./~-]+`)},
	{ID, regexp.MustCompile(`\b[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}\b`)},
	{Name, regexp.MustCompile(`\b[\w.+-]+@[\w-]+\.(?:[\w-]+\.)*[A-Za-z]{2,}\b`)},
	{Name, regexp.MustCompile("‘([^’]{1,200})’|“([^”]{1,200})”")},
	{Name, regexp.MustCompile("(?:^|[\\s\x01(\\[:=,])[`']([^`'\n]{1,200})['`]")},
	{Name, regexp.MustCompile(`"([^"\n]{1,200})"`)},
	{Name, firstOfTwo},
	{Name, secondOfTwo},
	{Hex, regexp.MustCompile(`\b0[xX][0-9a-fA-F]+\b`)},
	{Path, regexp.MustCompile(`(?:^|[\s\x01(])(@?[\w.~-]+(?:/[\w.~-]+)+)@v?\d+\.\d`)}, // a module with its version
	{Name, regexp.MustCompile(`(?:^|[\s\x01(])([\w.~-]+)@v?\d+\.\d`)},
	{Path, regexp.MustCompile(`(?:\b[A-Za-z]:\\|\\\\)[^\s:'"]+` + position)},
	{Path, regexp.MustCompile(`(?:~|\.{1,2}|\$\w+|<\w+>|\.?[\w+@~-][\w.+@~-]*)?(?:/[\w.+@%=~$-]+)+/?` + position)},
	{Path, regexp.MustCompile(`\b(?:[\w+@-]+\\)+[\w.+@-]+` + position)},
	{Path, regexp.MustCompile(`(?:\b|\.)` + fileName + `\b` + position)},
	{Address, regexp.MustCompile(`\[[0-9a-fA-F:]*::?[0-9a-fA-F:]*\](?::\d+)?|\b\d{1,3}(?:\.\d{1,3}){3}(?::\d+)?\b`)},
	{Address, regexp.MustCompile(`\b(?:localhost|[a-zA-Z][\w-]*(?:\.[a-zA-Z][\w-]*)+):\d{2,5}\b`)},
	{Duration, regexp.MustCompile(`\b(?:\d+(?:\.\d+)?(?:ns|µs|us|ms|s|m|h))+\b|\b\d+(?:\.\d+)? ?(?:nanoseconds?|` +
		`microseconds?|milliseconds?|seconds?|secs?|minutes?|mins?|hours?|days?)\b`)},
	{Version, regexp.MustCompile(`\bgo\d\.\d+(?:\.\d+)?\b`)},
	{Version, regexp.MustCompile(`[\^~>=<]*\bv?\d+\.\d+(?:\.\d+)*(?:[-+][\w.]+)?\b(?:\.x)?`)},
	{Version, regexp.MustCompile(`\bv\d+\b`)},
	{Hex, regexp.MustCompile(`\b[0-9a-f]*(?:\d[0-9a-f]*[a-f]|[a-f][0-9a-f]*\d)[0-9a-f]*\b`)},
	{Hex, regexp.MustCompile(`\b[0-9A-F]*(?:\d[0-9A-F]*[A-F]|[A-F][0-9A-F]*\d)[0-9A-F]*\b`)},
	{Name, regexp.MustCompile(`\b[A-Z][A-Z0-9]+-\d+(?:-[A-Za-z][\w-]*\w)\b`)}, // a branch for an issue
	{Name, regexp.MustCompile(`(?:^|\s)-l([\w.+-]+)`)},
	{Name, regexp.MustCompile(`(?i)(?:^|[\s:])([\w.+-]+): (?:command )?not found`)},
	{Name, regexp.MustCompile(`(?:^|[:\x01] )([A-Za-z_]\w*) (?:declared and not used|redeclared\b|redefined\b|` +
		`undeclared\b|(?:is |was )?not (?:declared|defined|used)\b|is (?:declared|defined|assigned)\b)`)},
	{Name, regexp.MustCompile(`(?i)cannot use [&*]?([\w.()\[\]]+)(?:\{[^}]*\})? \(`)},
	{Name, regexp.MustCompile(`(?i)\b(?:variable|constant|value) of (?:(?:struct|interface|int) )?type ([\w.*\[\]]+)`)},
	{Name, regexp.MustCompile(`(?i)\) as (?:type )?([\w.*\[\]]+) value in`)},
	{Name, regexp.MustCompile(`--- FAIL: (\S+)`)},
	{Name, afterKind},
	{Name, ofKind},
	{Name, lacking},
	{Name, lastClass},
	{Name, changedTo},
	{Name, labelled},
	{Name, ofType},
	{Name, class},
	{Name, constant},
	{Name, regexp.MustCompile(`::(\w[\w\[\]-]*)`)},
	{Name, regexp.MustCompile(`\b((?:[A-Za-z_][\w-]*\.)+[A-Za-z_]\w*(?:\(\))?)`)}, // a qualified name
	{Number, regexp.MustCompile(`[+-]?\b\d+(?:[.,]\d+)*(?:%|[kKMGT]i?B?\b)?`)},
}

// knownFiles has file names that are part of the problem, unlike names of source files.
var knownFiles = normalize.Set(`go.mod go.sum go.work package.json package-lock.json yarn.lock tsconfig.json
	requirements.txt setup.py pyproject.toml cargo.toml cargo.lock cmakelists.txt makefile dockerfile
	docker-compose.yml index.lock .env .npmrc pom.xml build.gradle gemfile id_rsa known_hosts docker.sock`)

// IsKnownFile reports whether tools prescribe the name of a file, such as go.mod. In each project it is the same file.
func IsKnownFile(name string) bool { return knownFiles[normalize.Lower(name)] }

// tellingNumbers matches numbers that are part of the problem: HTTP status codes with a word that marks them as such,
// and exit codes of the shell or the operating system.
var tellingNumbers = regexp.MustCompile(`(?i)(?:\bhttps?(?:/\d(?:\.\d)?)?|\bstatus(?: code)?|\bcode|\berror|` +
	`\breturned|` +
	`\bresponse|\bserver)[ :=(]{1,3}([45]\d\d)\b|\b([45]\d\d)(?: (?:client|server) error| [a-z]+ (?:error|gateway|` +
	`entity|requests)| not found| unauthorized| forbidden| conflict| gone| bad request)|` +
	`\bexit(?:ed)?(?: with)? ?(?:status|code)?[ :=]{1,2}(12[4-7]|13[0-9]|143)\b`)

var (
	// program is the name of the program at the beginning of a line, with or without its directory.
	program = regexp.MustCompile(`^(?:[\w.-]*/)*(?:[a-z0-9_]+-)*([a-zA-Z][\w+]*?)(?:\.exe)?: `)
	// placed matches the place of a problem in a source at the beginning of a text.
	placed   = regexp.MustCompile(`^[\w./@+-]+:\d+:\d+: `)
	exitCode = regexp.MustCompile(`(?i)\b(exit(?:ed)?(?: with)? ?(?:status|code)?[ :=]{1,2}|error )\d+\b`)

	// markup matches the marks at the beginning of a quoted piece of a file. They tell what the file is or contains: a
	// page begins with <!, a conflict with <<<<<<<. A name or an operator alone has no such marks.
	markup = regexp.MustCompile(`^([<>={\[!|%&]{2,})\s?\w`)

	codeWord = regexp.MustCompile(`^(?:[A-Z]{1,6}[-_]?\d{2,6}|E[A-Z]{3,}[0-9]*|ERR_[A-Z_]+|SIG[A-Z]{2,6}|` +
		`[A-Z_]+_ERR(?:OR)?)$`)
	thrown = regexp.MustCompile(`^(?:\w+\.)*\w+(?:Error|Exception|Fault|Interrupt)$`)
	inner  = regexp.MustCompile(`[a-z][A-Z]|_`)
)

// weakLeads has words before a colon that do not describe the rest of the line: the rest is the problem.
var weakLeads = normalize.Set(`error fatal warning panic exception failed failure err note message reason caused by bash
	sh zsh make go git npm node python python3 pip gcc clang cc ld cargo rustc docker kubectl mvn java e c cmd`)

type hit struct {
	from, to int
	kind     Kind // empty: a word that is kept
	text     string
}

// read returns the signature of one line.
func read(line string) Signature {
	out := Signature{Line: line}
	work := line
	var hits []hit
	take := func(from, to int, kind Kind, text string) {
		hits = append(hits, hit{from, to, kind, text})
		work = work[:from] + strings.Repeat("\x01", to-from) + work[to:]
	}
	if from, to, ok := suggestion(line); ok {
		take(from, to, Time, "")
		out.Other = namesOf(line[from:to])
	}
	positions(work, take)
	if m := program.FindStringSubmatchIndex(work); m != nil {
		name := work[:m[1]-len(": ")]
		switch {
		case placed.MatchString(work[m[1]:]):
			take(0, m[1], Time, "") // a compiler reports the same problem with or without its name
		case ofProject(name):
			take(0, len(name), Path, name)
		default:
			take(0, m[1], "", work[m[2]:m[3]])
		}
	}
	for _, m := range tellingNumbers.FindAllStringSubmatchIndex(work, -1) {
		for g := 2; g < len(m); g += 2 {
			if m[g] >= 0 {
				take(m[g], m[g+1], "", work[m[g]:m[g+1]])
			}
		}
	}
	for _, m := range exitCode.FindAllStringSubmatchIndex(work, -1) {
		take(m[3], m[1], Number, work[m[3]:m[1]])
	}
	for _, p := range patterns {
		for _, m := range p.match.FindAllStringSubmatchIndex(work, -1) {
			from, to := m[0], m[1]
			for g := 2; g < len(m); g += 2 {
				if m[g] >= 0 {
					from, to = m[g], m[g+1]
					break
				}
			}
			text := work[from:to]
			if strings.Contains(text, "\x01") && p.kind != Name && p.kind != Path || strings.Trim(text, "\x01") == "" {
				continue
			}
			if low := normalize.Lower(text); sentencePatterns[p.match] && !namesSomething(text) ||
				p.match == ofType && (fillers[low] || sentenceWords[low]) || p.match == constant && weakLeads[low] {
				continue
			}
			classes := p.match == class && !strings.HasPrefix(work[to:], ":")
			if p.kind == Hex && !strings.HasPrefix(text, "0x") && len(text) < 7 || codeWord.MatchString(text) ||
				thrown.MatchString(text) && !classes {
				continue
			}
			take(from, to, p.kind, line[from:to])
		}
	}
	lastWord(work, take)
	slices.SortFunc(hits, func(a, b hit) int { return a.from - b.from })
	out.assemble(line, hits)
	return out
}

// lastWord takes the single word after the last colon as a name, if the text before the colon describes it: "undefined:
// parse" and "missing script: build", but not "error: timeout".
func lastWord(work string, take func(from, to int, kind Kind, text string)) {
	at := strings.LastIndex(work, ": ")
	if at < 0 {
		return
	}
	tail := strings.TrimRight(work[at+2:], " .;,!)")
	if tail == "" || strings.ContainsAny(tail, " \x01") || !strings.ContainsFunc(tail, isLetter) ||
		codeWord.MatchString(tail) || thrown.MatchString(tail) {
		return
	}
	lead := work[:at]
	if before := strings.LastIndex(lead, ": "); before >= 0 {
		lead = lead[before+2:]
	}
	words := 0
	for _, w := range normalize.Words(strings.Trim(lead, "\x01 "), "'") {
		if !weakLeads[w] {
			words++
		}
	}
	if words > 0 && !thrown.MatchString(strings.TrimSpace(lead)) {
		take(at+2, at+2+len(tail), Name, tail)
	}
}

// assemble fills in the words, the values and the text from a line and its hits.
func (s *Signature) assemble(line string, hits []hit) {
	var text []string
	var bare []string // words and kinds of values, for a line without other words
	files, named := stems(hits), capitalised(hits)
	add := func(word string) {
		low := normalize.Lower(word)
		text, bare = append(text, low), append(bare, low)
		if len(s.Words) >= maxWords || fillers[low] {
			return
		}
		s.Words = append(s.Words, low)
		if codeWord.MatchString(word) || thrown.MatchString(word) || strings.Trim(word, "0123456789") == "" {
			s.Codes = append(s.Codes, low)
		}
	}
	value := func(kind Kind, v string) {
		if kind != Time && len(s.Values) < maxValues {
			s.Values = append(s.Values, Value{kind, v})
		}
		if kind != Time {
			text, bare = append(text, "<"+string(kind)+">"), append(bare, "<"+string(kind)+">")
		}
	}
	plain := func(part string) {
		for word := range strings.FieldsFuncSeq(part, func(r rune) bool {
			return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("_'’-.", r)
		}) {
			word = strings.Trim(word, "'’-._")
			switch {
			case word == "" || strings.Contains(word, "\x01"):
			case codeWord.MatchString(word), thrown.MatchString(word):
				add(word[strings.LastIndexByte(word, '.')+1:])
			case (inner.MatchString(word) || hasNumber(word)) && !strings.Contains(word, "'") ||
				files[word] && namesSomething(word) || named[word]:
				value(Name, word)
			default:
				for _, w := range strings.FieldsFunc(word, func(r rune) bool {
					return r == '-' || r == '.' || r == '_'
				}) {
					add(strings.ReplaceAll(strings.ReplaceAll(w, "’", ""), "'", ""))
				}
			}
		}
	}
	at := 0
	for _, h := range hits {
		if h.from < at {
			continue // inside one that was found before
		}
		plain(line[at:h.from])
		at = h.to
		switch h.kind {
		case "":
			add(h.text)
		case Path, place:
			path := cleanPath(h.text)
			base := normalize.Lower(path[strings.LastIndexAny(path, `/\`)+1:])
			value(Path, path)
			if at := lineNumber.FindStringSubmatch(h.text); at != nil && len(s.Values) < maxValues {
				s.Values = append(s.Values, Value{Line, at[1]})
			}
			if knownFiles[base] && h.kind == Path {
				add(base)
			}
		case Name:
			if quoted := normalize.Lower(h.text); knownFiles[quoted[strings.LastIndexByte(quoted, '/')+1:]] {
				value(Name, h.text)
				add(quoted[strings.LastIndexByte(quoted, '/')+1:])
				continue
			}
			if mark := markup.FindStringSubmatch(h.text); mark != nil {
				add("`" + mark[1]) // no word of a signature begins with <, which begins the kind of a value
			}
			value(Name, strings.TrimSuffix(h.text, "()"))
		default:
			value(h.kind, h.text)
		}
	}
	plain(line[at:])
	s.Text = strings.Join(text, " ")
	s.Words = s.withoutSeverity()
	if !slices.ContainsFunc(s.Words, func(w string) bool { return !severities[w] }) {
		s.Words = bare[:min(len(bare), maxWords)]
	}
	s.Text = cmp.Or(s.Text, normalize.Lower(line))
}

// fillers has words that do not distinguish errors.
var fillers = normalize.Set("a an the this that is was are were be been of to in at by on for and or it its you your")

// severities has words that alone do not identify a problem.
var severities = normalize.Set("error errors err fatal warning panic failed failure exception exit status code")

var positionEnd = regexp.MustCompile(`(?::\d+(?::\d+)?|\(\d+(?:,\d+)?\)):?$`)

// lineNumber matches the line of a position at the end of a path.
var lineNumber = regexp.MustCompile(`[:(](\d+)(?:[:,]\d+)?\)?:?$`)

// cleanPath returns a path without line and column.
func cleanPath(path string) string { return positionEnd.ReplaceAllString(path, "") }

func isLetter(r rune) bool { return unicode.IsLetter(r) }
