package rules

import (
	"strings"
	"unicode"

	"github.com/mneme/mneme/schema"
)

// toolLine is the content of a line of a tool's output.
type toolLine struct {
	text     string
	category schema.Category
}

var (
	// failureWords mark a line of tool output as an issue.
	failureWords = set(
		`error errors failed failure failures fail fails fatal panic panicked exception denied refused timeout
		unable cannot can't couldn't undefined unreachable aborted crashed segfault violation conflict conflicts
		unauthorized forbidden corrupt corrupted rejected invalid missing oom killed deadlock unresolved unrecognized`,
	)
	failurePhrases = phraseList(
		`not found|timed out|no such|permission denied|out of memory|does not exist
		|not allowed|could not|not permitted|exited with`,
	)

	// outcomeWords mark a line as the outcome of what was run.
	outcomeWords = set(`passed succeeded success successful successfully completed complete finished deployed built created
		installed updated published released merged applied migrated started listening ready saved uploaded restored
		rolled upgraded removed deleted ok done`)

	zeroFailures = phraseList(
		`0 errors|0 error|0 failed|0 failures|no errors|no failures|0 warnings|no error|without errors|0 vulnerabilities`,
	)
	frameStarts = []string{
		"at ",
		"File \"",
		"goroutine ",
		"created by ",
		"Caused by: at",
		"from /",
		"in <module>",
		"... ",
		"#0 ",
		"stack backtrace",
		"Traceback",
		"Stack trace",
		"^",
	}
	logLevels = set("error err warn warning info debug trace fatal notice critical")
)

// toolLines reads the output of a tool: lines with an error, an exit code or an outcome, and whole sentences. It
// drops progress bars, stack frames, hex dumps, rulers and lone timestamps. It removes leading timestamps and log
// levels, so that a repeated error is the same fact. The level helps to classify the line.
func toolLines(text string) []toolLine {
	var out []toolLine
	for line := range strings.SplitSeq(text, "\n") {
		if i := strings.LastIndexByte(line, '\r'); i >= 0 && i < len(line)-1 {
			line = line[i+1:] // a progress line ends with its last state
		}
		line = strings.Join(strings.Fields(stripANSI(line)), " ")
		if isNoise(line) {
			continue
		}
		line, level := cutLogHead(line)
		if isNoise(line) || len(line) < 4 {
			continue
		}
		ws := splitWords(line)
		failed := level == "error" || level == "fatal" || level == "critical" || level == "err"
		outcome := false
		if !zeroFailures.in(ws) {
			failed = failed || failurePhrases.in(ws)
			for _, w := range ws {
				failed = failed || failureWords.has(w.low) || strings.HasSuffix(w.core, "Error") ||
					strings.HasSuffix(w.core, "Exception")
			}
		} else {
			outcome = true
		}
		code, coded := exitCode(ws)
		switch {
		case coded && code != "0", failed && !coded, failed:
			out = append(out, toolLine{line, schema.CategoryIssue})
		case coded,
			outcome,
			level == "" && hasWord(ws, outcomeWords) && len(ws) >= 2,
			level != "" && level != "debug" && level != "trace" && hasWord(ws, outcomeWords):
			out = append(out, toolLine{line, schema.CategoryFact})
		case isProse(line, ws):
			out = append(out, toolLine{line, ""})
		}
	}
	return out
}

func hasWord(ws []word, s wordSet) bool {
	for _, w := range ws {
		if s.has(w.low) {
			return true
		}
	}
	return false
}

// exitCode finds "exit code 1", "exit status 2", "exited with code 0".
func exitCode(ws []word) (string, bool) {
	for i := 0; i+2 < len(ws); i++ {
		if (ws[i].low == "exit" || ws[i].low == "with" || ws[i].low == "return" || ws[i].low == "returned") &&
			(ws[i+1].low == "code" || ws[i+1].low == "status") {
			if code := ws[i+2].low; code != "" && strings.Trim(code, "-0123456789") == "" {
				return code, true
			}
		}
	}
	return "", false
}

// isProse reports whether a line is a written sentence.
func isProse(line string, ws []word) bool {
	if len(ws) < 4 || len(ws) > 60 || !capital(line) || !strings.HasSuffix(line, ".") {
		return false
	}
	plain := 0
	for _, w := range ws {
		if w.low != "" && strings.Trim(w.low, "abcdefghijklmnopqrstuvwxyz'-") == "" {
			plain++
		}
	}
	return plain*4 >= len(ws)*3
}

// isNoise reports whether a line of output has no content: empty, a ruler, a progress bar, a stack frame, a dump.
func isNoise(line string) bool {
	if line == "" || isRuler(line) || strings.Contains(line, "====") || strings.Contains(line, "####") ||
		strings.ContainsAny(line, "█▓▒░━⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏") {
		return true
	}
	for _, f := range frameStarts {
		if strings.HasPrefix(line, f) {
			return true
		}
	}
	if strings.Contains(line, " +0x") || strings.Contains(line, "(0x") && strings.Contains(line, ".") {
		return true
	}
	letters, others, hex := 0, 0, 0
	for _, r := range line {
		switch {
		case unicode.IsLetter(r):
			letters++
			if r <= 'f' {
				hex++
			}
		case !unicode.IsSpace(r):
			others++
		}
	}
	if letters < 3 || letters*2 < others {
		return true // timestamps, columns of numbers, bars
	}
	fields := strings.Fields(line)
	dump := 0
	for _, f := range fields {
		if len(f) >= 2 && strings.Trim(f, "0123456789abcdefABCDEF:x|") == "" && hasDigit(f) {
			dump++
		}
	}
	return dump*2 > len(fields)
}

// cutLogHead removes timestamps, levels and brackets around them from the front of a line.
func cutLogHead(line string) (rest, level string) {
	rest = line
	for {
		field, tail, more := strings.Cut(rest, " ")
		if !more {
			return rest, level
		}
		bare := strings.Trim(field, "[]():|,")
		low := strings.ToLower(bare)
		switch {
		case bare != "" && hasDigit(bare) && strings.Trim(bare, "0123456789-:.,TZ+/") == "" &&
			(strings.ContainsAny(bare, ":") || strings.Count(bare, "-") == 2 || strings.Count(bare, "/") == 2):
		case logLevels.has(low) && level == "" &&
			(field != bare && field != bare+":" || bare == strings.ToUpper(bare) && field == bare):
			level = low
		default:
			return rest, level
		}
		rest = strings.TrimSpace(tail)
	}
}

// stripANSI removes terminal escape sequences and other control characters.
func stripANSI(s string) string {
	if !strings.ContainsFunc(s, unicode.IsControl) {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		c := s[i]
		if c == 0x1b && i+1 < len(s) && s[i+1] == '[' {
			for i += 2; i < len(s) && (s[i] < '@' || s[i] > '~'); i++ {
			}
			continue
		}
		if c < ' ' || c == 0x7f {
			c = ' '
		}
		b.WriteByte(c)
	}
	return b.String()
}
