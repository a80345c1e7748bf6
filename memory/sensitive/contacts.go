package sensitive

import (
	"slices"
	"strings"

	"github.com/mneme/mneme/memory/normalize"
)

// Detectors of contact data (see Detect).

func (s *scanned) email() bool {
	return each(s.text, "@", func(start, end int) (int, bool) {
		local := start
		for local > 0 && start-local < 64 && (isAlnum(s.text[local-1]) || strings.IndexByte("._%+-",
			s.text[local-1]) >= 0) {
			local--
		}
		stop := span(s.text, end, 253, func(b byte) bool { return isAlnum(b) || b == '.' || b == '-' })
		domain := strings.TrimRight(s.text[end:stop], ".-")
		dot := strings.LastIndexByte(domain, '.')
		if local == start || dot <= 0 || strings.Contains(domain, "..") {
			return stop, false
		}
		if c := at(s.text, local-1); c == '/' || c == ':' || c == '@' {
			return stop, false // the user of an address in the web
		}
		if at(s.text, stop) == ':' && at(s.text, stop+1) > ' ' || at(s.text, stop) == '@' {
			return stop, false // git@host:path
		}
		top := asciiLower(domain[dot+1:])
		return stop, len(top) >= 2 && span(top, 0, len(top), isLower) == len(top) && !fileEndings[top]
	})
}

// fileEndings has file name extensions, as in icon@2x.png, which is not an address.
var fileEndings = normalize.Set("png jpg jpeg gif svg webp css js ts json html md txt yaml yml")

// phoneWords has words that mark a telephone number without a recognisable form.
var phoneWords = []string{"phone", "telephone", "mobile", "cell", "tel", "whatsapp", "fax"}

func (s *scanned) phone() bool {
	international := each(s.text, "+", func(start, end int) (int, bool) {
		if c := at(s.text, start-1); inWord(c) || c == '+' || !isDigit(at(s.text, end)) || s.text[end] == '0' {
			return end, false
		}
		digits, groups, stop := 0, 1, end
		for ; stop < len(s.text) && stop-end < 24; stop++ {
			c := s.text[stop]
			if isDigit(c) {
				digits++
				continue
			}
			if strings.IndexByte(" -.()", c) < 0 ||
				!isDigit(at(s.text, stop+1)) && strings.IndexByte("( ", at(s.text, stop+1)) < 0 {
				break
			}
			groups++
		}
		number := s.text[end:stop]
		return end, !inWord(at(s.text, stop)) && digits <= 15 && !strings.HasSuffix(number, "0000") &&
			(digits >= 10 || groups > 1 && digits >= 8)
	})
	if international {
		return true
	}
	for _, run := range s.digits() {
		total := 0
		for i, g := range run.groups {
			total += g.len()
			n, ok := s.shaped(run.groups, i, "-.", 3, 3, 4)
			first := run.groups[0]
			country := i == 1 && s.text[first.start:first.end] == "1"
			before := at(s.text, first.start-1)
			if ok && isNorthAmerican(n) && (i == 0 || country) && run.groups[i+2].after == 0 && before != '-' &&
				before != '+' &&
				at(s.text, run.end) != '-' {
				return true
			}
		}
		if first := run.groups[0]; total >= 7 && total <= 13 && len(run.groups) <= 6 && s.announcedPhone(first.start) {
			return true
		}
		if first := run.groups[0]; first.len() == 3 && at(s.text, first.start-1) == '(' && at(s.text,
			first.end) == ')' {
			rest := span(s.text, first.end+1, 1, isBlank)
			local := s.text[rest:min(len(s.text), rest+8)]
			if len(local) == 8 && onlyDigits(local[:3]) && strings.IndexByte("- .", local[3]) >= 0 &&
				onlyDigits(local[4:]) &&
				!inWord(at(s.text, rest+8)) {
				return true
			}
		}
	}
	return false
}

// isNorthAmerican reports whether ten digits follow the plan of North America.
func isNorthAmerican(n string) bool { return n[0] >= '2' && n[3] >= '2' }

// announcedPhone reports whether the words before i announce a telephone number.
func (s *scanned) announcedPhone(i int) bool {
	before := s.lower[max(0, i-28):i]
	for range 3 { // phone number is: 555-1234
		before = strings.TrimRight(before, " :#(.")
		for _, filler := range []string{" is", " no", " number", " at"} {
			if rest, ok := strings.CutSuffix(before, filler); ok {
				before = rest
				break
			}
		}
	}
	return slices.ContainsFunc(phoneWords, func(word string) bool {
		rest, ok := strings.CutSuffix(before, word)
		return ok && !inWord(at(rest, len(rest)-1))
	})
}

var (
	streetWords  = normalize.Set("street st avenue ave road rd boulevard blvd lane ln drive")
	addressWords = normalize.Set("at address to is from on lives")
)

// address looks for a house number and a capitalised street, as English writes them.
func (s *scanned) address() bool {
	for _, run := range s.digits() {
		g := run.groups[len(run.groups)-1]
		if g.end != run.end || g.len() > 5 || isYear(s.text[g.start:g.end]) || at(s.text, g.end) != ' ' {
			continue
		}
		i, words := g.end, 0
		for ; words < 4 && at(s.text, i) == ' ' && isUpper(at(s.text, i+1)); words++ {
			end := span(s.text, i+1, 24, isLetter)
			word := s.lower[i+1 : end]
			if words > 0 && streetWords[word] {
				next := at(s.text, end)
				closed := next == 0 || strings.IndexByte(",.;)\n", next) >= 0
				if closed || s.addressBefore(g.start) {
					return true
				}
			}
			i = end
		}
	}
	return false
}

// addressBefore reports whether the word before i leads to an address.
func (s *scanned) addressBefore(i int) bool {
	before := strings.TrimRight(s.lower[max(0, i-12):i], " :")
	start := strings.LastIndexFunc(before, func(r rune) bool { return r < 'a' || r > 'z' }) + 1
	return addressWords[before[start:]]
}
