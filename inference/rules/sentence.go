package rules

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// segment is a part of a text that may be understood alone.
type segment struct {
	text string
	item bool // of a list that an introduction was joined to: not a sentence
}

// Limits for joining a list with its introduction.
const (
	maxIntro      = 80  // characters of an introduction that is repeated
	maxJoinedList = 600 // characters of a list that becomes one fact
	itemWords     = 8   // an item with this many words can be understood alone
)

// segments cuts a text into sentences. It leaves out fenced code blocks, headings, tables and rulers (hasCode reports
// a code block): code is not a statement, and the text around it describes its purpose. Quoted lines ("> …") repeat
// another person's words and are left out unless trusted. A list is cut into its items; short items are joined with
// the line that introduces them.
func segments(text string, trusted bool) (out []segment, hasCode bool) {
	var (
		para  strings.Builder
		items []string
		fence string
	)
	flushPara := func() {
		if para.Len() > 0 {
			for _, s := range splitSentences(para.String()) {
				out = append(out, segment{text: s})
			}
			para.Reset()
		}
	}
	flushItems := func() {
		if len(items) > 0 {
			out = joinList(out, items)
			items = nil
		}
	}
	for line := range strings.SplitSeq(text, "\n") {
		trimmed := strings.TrimSpace(line)
		if fence != "" {
			if strings.HasPrefix(trimmed, fence) {
				fence = ""
			}
			continue
		}
		if strings.HasPrefix(trimmed, "```") || strings.HasPrefix(trimmed, "~~~") {
			flushPara()
			flushItems()
			hasCode = true
			if strings.Count(trimmed, trimmed[:3]) == 1 {
				fence = trimmed[:3]
			}
			continue
		}
		if strings.HasPrefix(trimmed, ">") {
			if !trusted {
				flushPara()
				flushItems()
				continue
			}
			trimmed = strings.TrimSpace(strings.TrimLeft(trimmed, "> "))
		}
		switch body, bullet := cutBullet(trimmed); {
		case trimmed == "":
			flushPara()
			// Empty lines between an introduction and its items, or between items, are common: the list continues
			// until another kind of line.
		case isHeading(trimmed), isRuler(trimmed), isTableRow(trimmed):
			flushPara()
			flushItems()
		case bullet:
			flushPara()
			items = append(items, body)
		case len(items) > 0 && line != "" && (line[0] == ' ' || line[0] == '\t'):
			items[len(items)-1] += " " + trimmed
		default:
			flushItems()
			if para.Len() > 0 {
				if softWrap(para.String(), trimmed) {
					para.WriteByte(' ')
				} else {
					flushPara()
				}
			}
			para.WriteString(trimmed)
		}
	}
	flushPara()
	flushItems()
	return out, hasCode
}

// joinList appends the items of a list. If the introduction ends in a colon, the items are joined with it. Otherwise
// each item is split into its sentences.
func joinList(out []segment, items []string) []segment {
	intro := ""
	if n := len(out); n > 0 && strings.HasSuffix(out[n-1].text, ":") {
		intro = out[n-1].text
		out = out[:n-1]
	}
	sentences, total := false, len(intro)
	for _, item := range items {
		total += len(item) + 2
		if strings.Count(item, " ")+1 >= itemWords || strings.HasSuffix(item, ".") {
			sentences = true
		}
	}
	switch {
	case intro == "" || sentences || utf8.RuneCountInString(intro) > maxIntro:
		for _, item := range items {
			for _, s := range splitSentences(item) {
				out = append(out, segment{text: s})
			}
		}
	case total <= maxJoinedList:
		out = append(out, segment{text: intro + " " + strings.Join(items, "; "), item: true})
	default:
		for _, item := range items {
			out = append(out, segment{text: intro + " " + item, item: true})
		}
	}
	return out
}

// cutBullet removes a list marker: "-", "*", "•", "+", "1.", "2)", with a check box if there is one.
func cutBullet(s string) (string, bool) {
	rest := ""
	for _, m := range [...]string{"- ", "* ", "+ ", "• ", "– "} {
		if r, ok := strings.CutPrefix(s, m); ok {
			rest = r
			break
		}
	}
	if rest == "" {
		d := 0
		for d < len(s) && d < 3 && s[d] >= '0' && s[d] <= '9' {
			d++
		}
		if d == 0 || d+1 >= len(s) || s[d] != '.' && s[d] != ')' || s[d+1] != ' ' {
			return s, false
		}
		rest = s[d+2:]
	}
	for _, box := range [...]string{"[ ] ", "[x] ", "[X] "} {
		rest = strings.TrimPrefix(rest, box)
	}
	return strings.TrimSpace(rest), true
}

func isHeading(s string) bool {
	body := strings.TrimLeft(s, "#")
	return len(body) < len(s) && (body == "" || body[0] == ' ')
}

// isRuler reports whether s draws a line, such as "-----" or "=====".
func isRuler(s string) bool { return s != "" && strings.Trim(s, "-=_*~+| ") == "" }

func isTableRow(s string) bool {
	return len(s) > 1 && s[0] == '|' && s[len(s)-1] == '|'
}

// softWrap reports whether line continues the sentence at the end of prev.
func softWrap(prev, line string) bool {
	last, _ := utf8.DecodeLastRuneInString(prev)
	if strings.ContainsRune(".!?:;…。！？", last) {
		return false
	}
	first, _ := utf8.DecodeRuneInString(line)
	return last == ',' || unicode.IsLower(first)
}

// Abbreviations that do not end a sentence.
var (
	abbreviations = set(
		`mr mrs ms mx dr prof st mt ft gen col sgt capt lt rev hon vs cf e.g i.e eg ie viz approx ca cca resp
		fig figs eq vol ver ed eds pp para dept est incl excl a.k.a w.r.t mio mrd`,
	)
	numberAbbreviations = set(
		`no nos jan feb mar apr jun jul aug sep sept oct nov dec ch p v ext tel art`,
	) // before a digit

	// only before a small letter or a digit, because they also end sentences ("takes 5 min.")
	lowerAbbreviations = set(`etc inc ltd corp co bros min max sec secs hr hrs wk wks mo mos yr yrs al temp misc avg jr sr
		ave blvd rd sq apt kg km lb lbs oz ml approx dept`)
	dayAbbreviations = set(`mon tue tues wed thu thur thurs fri sat sun jan feb mar apr jun jul aug sep sept oct nov dec`)

	sentenceStarters = set(`the a an it he she they we i this that these those there but and so in on at when if
		after before his her their our my you your`)

	// zones may follow a time of day: "9 a.m. Pacific time".
	zones = set("pacific eastern central mountain utc gmt cet cest est edt pst pdt cst cdt mst mdt bst ist jst sharp")
)

// splitSentences cuts a paragraph at the ends of its sentences. It does not split at
// abbreviations, initials, decimals, versions, host and file names, or ellipses before a small letter, nor inside
// balanced quotes, brackets or back quotes.
func splitSentences(p string) []string {
	b := balance(p)
	var out []string
	start := 0
	cut := func(end int) {
		if s := strings.TrimSpace(p[start:end]); s != "" {
			out = append(out, s)
		}
		start = end
	}
	var depth nesting
	for i := 0; i < len(p); {
		r, size := utf8.DecodeRuneInString(p[i:])
		if !terminator(r) {
			depth.step(r, b)
			i += size
			continue
		}
		end := i + size
		run := 1
		for end < len(p) {
			t, n := utf8.DecodeRuneInString(p[end:])
			if !terminator(t) {
				break
			}
			end += n
			run++
		}
		after, closed := depth, false
		for end < len(p) {
			c, n := utf8.DecodeRuneInString(p[end:])
			if !strings.ContainsRune("\"'”’)]}»*`", c) {
				break
			}
			after.step(c, b)
			end += n
			closed = true
		}
		if after.outside() && sentenceEnd(p, start, i, end, r, run, closed) {
			cut(end)
		}
		depth = after
		i = end
	}
	cut(len(p))
	return out
}

func terminator(r rune) bool {
	return r == '.' || r == '!' || r == '?' || r == '…' || r == '。' || r == '！' || r == '？'
}

// sentenceEnd decides whether the terminators p[at:end], which include closing quotes, end the sentence that begins at
// start.
func sentenceEnd(p string, start, at, end int, r rune, run int, closed bool) bool {
	if end == len(p) || r == '。' || r == '！' || r == '？' {
		return true
	}
	next, n := utf8.DecodeRuneInString(p[end:])
	if !unicode.IsSpace(next) {
		return false // inside a number, a name, a path
	}
	rest := strings.TrimLeft(p[end+n:], " \t\"'“‘([*`")
	next, _ = utf8.DecodeRuneInString(rest)
	lower := unicode.IsLower(next)
	if closed && lower {
		return false // "Stop!" he said
	}
	if r != '.' && r != '…' {
		return true
	}
	if run > 1 || r == '…' {
		return !lower // wait... there is more
	}
	token := p[start:at]
	if i := strings.LastIndexAny(token, " \t(\"“'/"); i >= 0 {
		token = token[i+1:]
	}
	low := strings.ToLower(token)
	switch {
	case abbreviations.has(low):
		return false
	case numberAbbreviations.has(low) && unicode.IsDigit(next):
		return false
	case (lowerAbbreviations.has(low) || capital(token) && dayAbbreviations.has(low)) && (lower ||
		unicode.IsDigit(next)):
		return false
	case len(token) == 1 && token != "I" && token[0] >= 'A' && token[0] <= 'Z':
		return false // an initial
	case strings.TrimSpace(p[start:at]) == token && strings.Trim(token, "0123456789") == "":
		return false // the number of a list item
	case low == "a.m" || low == "p.m":
		return timeEnds(rest, lower)
	// U.S, p.s
	case len(low) >= 3 && len(low) <= 5 && strings.Trim(low[1:], ".") != "" && low[1] == '.' && !hasDigit(low):
		word, _, _ := strings.Cut(rest, " ")
		return !lower && sentenceStarters.has(strings.ToLower(word))
	case lower && initials(low):
		return false // "a Ph.D. in physics"
	case lower:
		word, _, _ := strings.Cut(rest, " ")
		return len(token) > 1 && !(hasDigit(token) && copulas.has(word)) // chat without capitals
	}
	return true
}

// initials reports whether low is made of short parts with full stops between: ph.d, m.sc, b.a.
func initials(low string) bool {
	parts := 0
	for part := range strings.SplitSeq(low, ".") {
		if part == "" || len(part) > 3 || hasDigit(part) {
			return false
		}
		parts++
	}
	return parts > 1
}

// timeEnds reports whether a sentence ends after a time of day, before rest. It does not if rest starts with a zone, a
// day or "time".
func timeEnds(rest string, lower bool) bool {
	first, more, _ := strings.Cut(rest, " ")
	second, _, _ := strings.Cut(more, " ")
	first = strings.ToLower(strings.TrimRight(first, closing))
	second = strings.ToLower(strings.TrimRight(second, closing))
	return !lower && !zones.has(first) && !calendar.has(first) && !dayAbbreviations.has(first) && second != "time" &&
		capital(rest)
}

// nesting counts the open quotes and brackets.
type nesting struct {
	parens, brackets  int
	quote, curly, bqt bool
}

func (n nesting) outside() bool {
	return n.parens == 0 && n.brackets == 0 && !n.quote && !n.curly && !n.bqt
}

func (n *nesting) step(r rune, b balanced) {
	switch r {
	case '(':
		n.parens += b.parens
	case ')':
		n.parens -= b.parens
	case '[':
		n.brackets += b.brackets
	case ']':
		n.brackets -= b.brackets
	case '"':
		n.quote = !n.quote && b.quote
	case '“':
		n.curly = b.curly
	case '”':
		n.curly = false
	case '`':
		n.bqt = !n.bqt && b.backquote
	}
}

// balanced has the kinds of brackets and quotes of a text that come in pairs; the others are ignored.
type balanced struct {
	parens, brackets        int // 1 when they count
	quote, curly, backquote bool
}

func balance(p string) balanced {
	b := balanced{parens: 1, brackets: 1}
	var parens, brackets, quotes, back, left, right int
	for _, r := range p {
		switch r {
		case '(':
			parens++
		case ')':
			if parens--; parens < 0 {
				b.parens = 0
			}
		case '[':
			brackets++
		case ']':
			if brackets--; brackets < 0 {
				b.brackets = 0
			}
		case '"':
			quotes++
		case '`':
			back++
		case '“':
			left++
		case '”':
			right++
		}
	}
	if parens != 0 {
		b.parens = 0
	}
	if brackets != 0 {
		b.brackets = 0
	}
	b.quote, b.backquote, b.curly = quotes%2 == 0, back%2 == 0, left == right
	return b
}
