package sensitive

import "strings"

// Detectors of financial and government identifiers (see Detect).

// digitRun is digits with single separators between groups: 4111 1111 1111 1111.
type digitRun struct {
	start, end int
	groups     []digitGroup
}

type digitGroup struct {
	start, end int
	after      byte // separator after the group, 0 after the last
}

func (g digitGroup) len() int { return g.end - g.start }

// maxGroups is the greatest number of groups of a run. A longer sequence, such as a table, is divided into runs.
const maxGroups = 64

// digits returns the runs of digits that are not part of a word, a decimal or a sum of money.
func (s *scanned) digits() []digitRun {
	if s.runsRead {
		return s.runs
	}
	s.runsRead = true
	for i := 0; i < len(s.text); i++ {
		if !isDigit(s.text[i]) {
			continue
		}
		run := digitRun{start: i}
		for {
			end := span(s.text, i, len(s.text), isDigit)
			g := digitGroup{start: i, end: end}
			c := at(s.text, end)
			if (c == ' ' || c == '-' || c == '.') && isDigit(at(s.text, end+1)) && len(run.groups) < maxGroups-1 {
				g.after = c
				run.groups = append(run.groups, g)
				i = end + 1
				continue
			}
			run.groups, run.end = append(run.groups, g), end
			i = end
			break
		}
		if n := len(run.groups); inWord(at(s.text, run.end)) {
			run.groups = run.groups[:n-1] // 12 34ab
		}
		if before := at(s.text, run.start-1); len(run.groups) > 0 &&
			(inWord(before) || strings.IndexByte("$#.,/=", before) >= 0 && before != 0) {
			run.groups = run.groups[1:]
		}
		if len(run.groups) > 0 {
			s.runs = append(s.runs, run)
		}
	}
	return s.runs
}

// shaped reports whether the groups from i on have the given lengths and one separator between them,
// and returns their digits.
func (s *scanned) shaped(groups []digitGroup, i int, separators string, lengths ...int) (string, bool) {
	if i+len(lengths) > len(groups) {
		return "", false
	}
	var digits strings.Builder
	for k, n := range lengths {
		g := groups[i+k]
		if g.len() != n {
			return "", false
		}
		if k+1 < len(lengths) && (strings.IndexByte(separators, g.after) < 0 || g.after != groups[i].after) {
			return "", false
		}
		digits.WriteString(s.text[g.start:g.end])
	}
	return digits.String(), true
}

func (s *scanned) paymentCard() bool {
	shapes := [][]int{{16}, {15}, {4, 4, 4, 4}, {4, 6, 5}, {4, 6, 4}}
	for _, run := range s.digits() {
		for i := range run.groups {
			for _, shape := range shapes {
				if number, ok := s.shaped(run.groups, i, " -", shape...); ok && isCard(number) {
					return true
				}
			}
		}
	}
	for _, word := range []string{"cvv", "cvc", "cvv2"} {
		found := each(s.lower, word, func(start, end int) (int, bool) {
			if inWord(at(s.lower, start-1)) {
				return end, false
			}
			if code := " code"; strings.HasPrefix(s.lower[end:], code) {
				end += len(code)
			}
			v, ok := s.valueOf(start, end)
			return end, ok && onlyDigits(v.text) && (len(v.text) == 3 || len(v.text) == 4 && !isYear(v.text))
		})
		if found {
			return true
		}
	}
	return false
}

// isCard reports whether a number is that of a payment card: the length fits the issuer, and the check digit is correct
// (ISO/IEC 7812).
func isCard(number string) bool {
	prefix := func(n int) int {
		v := 0
		for _, c := range number[:n] {
			v = v*10 + int(c-'0')
		}
		return v
	}
	p2, p3, p4 := prefix(2), prefix(3), prefix(4)
	switch len(number) {
	case 16:
		visa, master := number[0] == '4', p2 >= 51 && p2 <= 55 || p4 >= 2221 && p4 <= 2720
		discover := p4 == 6011 || p2 == 65 || p3 >= 644 && p3 <= 649
		jcb, union := p4 >= 3528 && p4 <= 3589, p2 == 62
		if !visa && !master && !discover && !jcb && !union {
			return false
		}
	case 15:
		if p2 != 34 && p2 != 37 {
			return false
		}
	case 14:
		if p2 != 36 && p2 != 38 && (p3 < 300 || p3 > 305) {
			return false
		}
	default:
		return false
	}
	sum := 0
	for i := range len(number) {
		d := int(number[len(number)-1-i] - '0')
		if i%2 == 1 {
			if d *= 2; d > 9 {
				d -= 9
			}
		}
		sum += d
	}
	return sum%10 == 0
}

// ibanLengths are the lengths of account numbers by country (ISO 13616).
var ibanLengths = func() map[string]int {
	out := map[string]int{}
	for _, entry := range strings.Fields(
		"AD24 AE23 AL28 AT20 AZ28 BA20 BE16 BG22 BH22 BR29 BY28 CH21 CR22 CY28 CZ24 DE22 DK18 DO28 EE20 " +
			"EG29 ES24 FI18 " +
			"FO18 FR27 GB22 GE22 GI23 GL18 GR27 GT28 HR21 HU28 IE22 IL23 IQ23 IS26 IT27 JO30 KW30 " +
			"KZ20 LB28 LC32 LI21 LT20 LU20 LV21 LY25 MC27 MD24 ME22 " +
			"MK19 MR27 MT31 MU30 NL18 NO15 PK24 PL28 PS29 PT25 QA29 RO24 RS22 SA24 SC31 SE24 SI19 " +
			"SK24 SM27 ST25 SV28 TL23 TN24 TR26 UA29 VA22 VG24 XK20") {
		out[entry[:2]] = int(entry[2]-'0')*10 + int(entry[3]-'0')
	}
	return out
}()

func (s *scanned) iban() bool {
	for i := 0; i+15 <= len(s.text); i++ {
		if !isUpper(s.text[i]) || !isUpper(s.text[i+1]) || !isDigit(s.text[i+2]) || !isDigit(s.text[i+3]) ||
			inWord(at(s.text, i-1)) {
			continue
		}
		length := ibanLengths[s.text[i:i+2]]
		if length == 0 {
			continue
		}
		number, k := make([]byte, 0, 34), i
		for ; k < len(s.text) && len(number) < length; k++ {
			switch b := s.text[k]; {
			case isUpper(b) || isDigit(b):
				number = append(number, b)
				continue
			case b == ' ' && len(number)%4 == 0 && at(s.text, k-1) != ' ':
				continue
			}
			break
		}
		if len(number) == length && !inWord(at(s.text, k)) && ibanChecks(number) {
			return true
		}
	}
	return false
}

// ibanChecks reports whether a number passes the check of ISO 7064, mod 97-10.
func ibanChecks(number []byte) bool {
	rest := 0
	for i := range number {
		b := number[(i+4)%len(number)]
		if isDigit(b) {
			rest = (rest*10 + int(b-'0')) % 97
		} else {
			rest = (rest*100 + int(b-'A') + 10) % 97
		}
	}
	return rest == 1
}

// numberBehind reports whether ok accepts the value after a phrase: "bank account number is 12 3456 78". ok gets at
// most most characters of the value: letters, digits, blanks and hyphens.
func (s *scanned) numberBehind(phrase string, most int, ok func(value string) bool) bool {
	return each(s.lower, phrase, func(start, end int) (int, bool) {
		if inWord(at(s.lower, start-1)) {
			return end, false
		}
		rest := s.text[end:min(len(s.text), end+24+most)]
		i := 0
		for _, word := range []string{" number", " no.", " no", " #", "'s"} {
			if strings.HasPrefix(asciiLower(rest), word) {
				i = len(word)
				break
			}
		}
		i = span(rest, i, 4, func(b byte) bool { return b == ' ' || b == ':' || b == '=' || b == '#' })
		if is := "is "; strings.HasPrefix(asciiLower(rest[i:]), is) {
			i += len(is)
		}
		if i == 0 {
			return end, false
		}
		stop := span(rest, i, most, func(b byte) bool { return isAlnum(b) || b == '-' || b == ' ' })
		return end, ok(rest[i:stop])
	})
}

// leadingNumber returns the digits at the beginning of a text, without blanks and hyphens between them.
func leadingNumber(s string) string {
	var b strings.Builder
	for i := range len(s) {
		switch c := s[i]; {
		case isDigit(c):
			b.WriteByte(c)
		case (c == ' ' || c == '-') && isDigit(at(s, i+1)) && i > 0:
		default:
			if isLetter(c) && i > 0 && isDigit(s[i-1]) {
				return ""
			}
			return b.String()
		}
	}
	return b.String()
}

func (s *scanned) bankAccount() bool {
	account := func(value string) bool { n := len(leadingNumber(value)); return n >= 6 && n <= 17 }
	for _, phrase := range []string{"bank account", "checking account", "savings account"} {
		if s.numberBehind(phrase, 24, account) {
			return true
		}
	}
	return s.numberBehind("routing", 12, func(value string) bool {
		n := leadingNumber(value)
		if len(n) != 9 {
			return false
		}
		sum := 0
		for i, weight := range []int{3, 7, 1, 3, 7, 1, 3, 7, 1} {
			sum += int(n[i]-'0') * weight
		}
		return sum%10 == 0 && n != "000000000"
	}) || s.numberBehind("sort code", 10, func(value string) bool { return len(leadingNumber(value)) == 6 })
}

// isSSN reports whether nine digits can be a social security number.
func isSSN(n string) bool {
	return len(n) == 9 && n[:3] != "000" && n[:3] != "666" && n[0] != '9' && n[3:5] != "00" && n[5:] != "0000"
}

func (s *scanned) ssn() bool {
	for _, run := range s.digits() {
		for i := range run.groups {
			n, ok := s.shaped(run.groups, i, "-", 3, 2, 4)
			if !ok || !isSSN(n) {
				continue
			}
			alone := (i == 0 || run.groups[i-1].after == ' ') && run.groups[i+2].after != '-'
			if before := at(s.text, run.groups[i].start-1); alone && before != '-' && before != '+' &&
				at(s.text, run.groups[i+2].end) != '-' {
				return true
			}
		}
	}
	for _, phrase := range []string{"ssn", "social security"} {
		if s.numberBehind(phrase, 14, func(value string) bool { return isSSN(leadingNumber(value)) }) {
			return true
		}
	}
	return false
}

func (s *scanned) identity() bool {
	for _, phrase := range []string{"passport", "driver's license", "drivers license", "driver license",
		"driving licence", "driver's licence",
		"national insurance", "national id", "identity card", "tax id"} {
		found := s.numberBehind(phrase, 16, func(value string) bool {
			end := span(value, 0, len(value), func(b byte) bool { return isUpper(b) || isDigit(b) || b == '-' })
			if isLower(at(value, end)) {
				return false
			}
			value = strings.ReplaceAll(value[:end], "-", "")
			digits := 0
			for i := range len(value) {
				if isDigit(value[i]) {
					digits++
				}
			}
			return len(value) >= 6 && digits >= 5
		})
		if found {
			return true
		}
	}
	return false
}
