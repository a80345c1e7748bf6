package sensitive

import (
	"math"
	"slices"
	"strings"

	"github.com/mneme/mneme/memory/normalize"
)

// Detectors of secrets (see Detect).

func (s *scanned) privateKey() bool {
	const begin = "-----BEGIN "
	if strings.Contains(s.text, "AGE-SECRET-KEY-1") {
		return true
	}
	return each(s.text, begin, func(_, end int) (int, bool) {
		label := s.text[end:min(len(s.text), end+48)]
		label, _, ok := strings.Cut(label, "-----")
		return end, ok && strings.Contains(label, "PRIVATE KEY")
	})
}

// keyForm is the form of a service's keys.
type keyForm struct {
	prefix   string
	ok       func(byte) bool
	least    int // characters after the prefix
	most     int // 0: no limit
	contains string
}

func isKeyByte(b byte) bool { return isAlnum(b) || b == '_' || b == '-' }

var keyForms = func() []keyForm {
	forms := []keyForm{
		{"github_pat_", isKeyByte, 40, 0, ""},
		{"glpat-", isKeyByte, 20, 0, ""},
		{"xapp-", isKeyByte, 20, 0, ""},
		{"AIza", isKeyByte, 35, 35, ""},
		{"ya29.", isKeyByte, 30, 0, ""},
		{"sk-proj-", isKeyByte, 20, 0, ""},
		{"sk-ant-", isKeyByte, 20, 0, ""},
		{"sk-svcacct-", isKeyByte, 20, 0, ""},
		{"sk-or-", isKeyByte, 20, 0, ""},
		{"sk-", isAlnum, 32, 0, ""},
		{"npm_", isAlnum, 36, 0, ""},
		{"pypi-AgEI", isKeyByte, 40, 0, ""},
		{"hf_", isAlnum, 30, 0, ""},
		{"dop_v1_", isAlnum, 64, 64, ""},
		{"SG.", func(b byte) bool { return isKeyByte(b) || b == '.' }, 40, 0, "."},
		{"whsec_", isAlnum, 24, 0, ""},
	}
	for _, prefix := range []string{"AKIA", "ASIA"} {
		forms = append(forms, keyForm{prefix, func(b byte) bool { return isUpper(b) || isDigit(b) }, 16, 16, ""})
	}
	for _, prefix := range []string{"ghp_", "gho_", "ghu_", "ghs_", "ghr_"} {
		forms = append(forms, keyForm{prefix, isAlnum, 36, 0, ""})
	}
	for _, prefix := range []string{"xoxb-", "xoxa-", "xoxp-", "xoxr-", "xoxs-"} {
		forms = append(forms, keyForm{prefix, isKeyByte, 20, 0, ""})
	}
	for _, prefix := range []string{"sk_live_", "sk_test_", "rk_live_", "rk_test_"} {
		forms = append(forms, keyForm{prefix, isAlnum, 16, 0, ""})
	}
	return forms
}()

func (s *scanned) apiKey() bool {
	return slices.ContainsFunc(keyForms, func(f keyForm) bool {
		return each(s.text, f.prefix, func(start, end int) (int, bool) {
			if inWord(at(s.text, start-1)) {
				return end, false
			}
			stop := span(s.text, end, len(s.text), f.ok)
			n, body := stop-end, s.text[end:stop]
			return stop, n >= f.least && (f.most == 0 || n <= f.most && !inWord(at(s.text, stop))) &&
				strings.Contains(body, f.contains) && hasDigit(body) && !isPlaceholder(body)
		})
	})
}

func (s *scanned) token() bool {
	jwt := each(s.text, "eyJ", func(start, end int) (int, bool) {
		if inWord(at(s.text, start-1)) {
			return end, false
		}
		stop := span(s.text, end, len(s.text), isKeyByte)
		if stop-end < 10 || at(s.text, stop) != '.' || !strings.HasPrefix(s.text[stop+1:], "eyJ") {
			return stop, false
		}
		claims := span(s.text, stop+1, len(s.text), isKeyByte)
		return claims, claims-stop > 10
	})
	if jwt {
		return true
	}
	for _, scheme := range []string{"bearer ", "authorization: basic "} {
		found := each(s.lower, scheme, func(start, end int) (int, bool) {
			if inWord(at(s.text, start-1)) {
				return end, false
			}
			stop := span(s.text, end, len(s.text), isTokenByte)
			value := s.text[end:stop]
			random := looksRandom(value) || scheme != "bearer " // "bearer" is a word; the other begins a header
			return stop, len(value) >= 16 && random && !isPlaceholder(value)
		})
		if found {
			return true
		}
	}
	return false
}

// isTokenByte reports whether tokens and keys may contain the byte.
func isTokenByte(b byte) bool {
	return isKeyByte(b) || b == '.' || b == '~' || b == '+' || b == '/' || b == '='
}

// passwordWords has names of secrets that people type. Their values may be short.
var passwordWords = []string{"password", "passwd", "passphrase", "passcode", "pwd"}

// secretWords has names of secrets that programs use. Their values must look random.
var secretWords = []string{
	"secret",
	"token",
	"apikey",
	"api key",
	"api_key",
	"api-key",
	"access key",
	"access_key",
	"accesskey",
	"secret key",
	"secret_key",
	"secretkey",
	"private key",
	"private_key",
	"encryption key",
	"encryption_key",
	"signing key",
	"signing_key",
	"auth key",
	"auth_key",
	"credential",
	"credentials",
}

func (s *scanned) password() bool {
	for _, word := range passwordWords {
		found := each(s.lower, word, func(start, end int) (int, bool) {
			v, ok := s.valueOf(start, end)
			return end, ok && v.isPassword(word == "passphrase")
		})
		if found {
			return true
		}
	}
	return each(s.lower, "pin", func(start, end int) (int, bool) {
		if inWord(at(s.lower, start-1)) {
			return end, false
		}
		if code := "pin code"; strings.HasPrefix(s.lower[start:], code) {
			end = start + len(code)
		}
		v, ok := s.valueOf(start, end)
		return end, ok && len(v.text) >= 4 && len(v.text) <= 8 && onlyDigits(v.text) && !isYear(v.text)
	})
}

func (s *scanned) secret() bool {
	for _, word := range secretWords {
		found := each(s.lower, word, func(start, end int) (int, bool) {
			v, ok := s.valueOf(start, end)
			return end, ok && v.isSecret()
		})
		if found {
			return true
		}
	}
	return each(s.text, "_KEY", func(start, end int) (int, bool) { // STRIPE_KEY=…, as environments have it
		v, ok := s.valueOf(start, end)
		return end, ok && v.environment && v.isSecret()
	})
}

// namedValue is the value of a name in the text.
type namedValue struct {
	text        string
	quoted      bool
	sentence    bool // "is", not "=" or ":"
	environment bool // NAME=value
}

// Limits of the search after a name: for a detail about the name, and for its value.
const (
	maxNameDetail = 64
	maxValue      = 256
)

// valueOf returns the value of the name that ends at end: "NAME is VALUE", "NAME for the router is
// VALUE", NAME=VALUE, "NAME": "VALUE".
func (s *scanned) valueOf(start, end int) (namedValue, bool) {
	var v namedValue
	i := span(s.text, end, 4, isDigit) // password2
	if c := at(s.text, i); inWord(c) || c == '-' && isLetter(at(s.text, i+1)) {
		return v, false // passwords, token_count, password-protected
	}
	i = span(s.text, i, 3, isDecoration)
	spaced := span(s.text, i, 3, isBlank)
	next := s.connector(spaced, &v)
	if next < 0 && spaced > i {
		if detail := s.detail(spaced); detail > 0 {
			next = s.connector(detail, &v)
		}
	}
	if next < 0 {
		return v, false
	}
	if at(s.text, spaced) == '=' && spaced == i && next == i+1 {
		v.environment = s.isEnvironmentName(start, end)
	}
	v.text, v.quoted = s.value(next)
	return v, v.text != ""
}

// isDecoration reports whether a byte may surround a name or a value: quotation marks and emphasis.
func isDecoration(b byte) bool {
	return b == '"' || b == '\'' || b == '`' || b == '*' || b == '\\'
}

// connector returns the offset after "is", "=", ":" and the like at i, or -1.
func (s *scanned) connector(i int, v *namedValue) int {
	if c := at(s.text, i); c == '=' || c == ':' {
		i = span(s.text, i, 3, func(b byte) bool { return b == '=' || b == ':' || b == '>' })
		i = span(s.text, i, 3, isDecorationOrStar)
		end := span(s.text, i, 4, isBlank)
		if isBreak(at(s.text, end)) && c == ':' {
			end = span(s.text, end, 2, isBreak)
		}
		return end
	}
	for _, words := range []string{"is now ", "is set to ", "was changed to ", "has been changed to ",
		"changed to ", "is: ", "is ", "was ", "to "} {
		if strings.HasPrefix(s.lower[i:], words) {
			v.sentence = true
			return i + len(words)
		}
	}
	return -1
}

func isDecorationOrStar(b byte) bool { return b == '*' }

// detail returns the position of the connector after a detail about the name: "for the guest wifi is …". It returns 0
// if there is none in the same sentence.
func (s *scanned) detail(i int) int {
	starts := slices.ContainsFunc(
		[]string{"for ", "of ", "on ", "to ", "at ", "in "},
		func(word string) bool { return strings.HasPrefix(s.lower[i:], word) },
	)
	if !starts {
		return 0
	}
	for end := min(len(s.lower), i+maxNameDetail); i < end; i++ {
		switch c := s.lower[i]; {
		case isBreak(c) || (c == '.' || c == '!' || c == '?' || c == ';' || c == ',') && !inWord(at(s.lower, i+1)):
			return 0
		case c == ' ' && (strings.HasPrefix(s.lower[i+1:], "is ") || strings.HasPrefix(s.lower[i+1:], "is: ")):
			return i + 1
		case (c == ':' || c == '=') && at(s.lower, i+1) == ' ':
			return i
		}
	}
	return 0
}

// isEnvironmentName reports whether the name that ends at end has only capitals: DB_PASSWORD.
func (s *scanned) isEnvironmentName(start, end int) bool {
	for start > 0 && end-start < 64 && inWord(s.text[start-1]) {
		start--
	}
	name := s.text[start:end]
	return strings.IndexFunc(name, func(r rune) bool { return r >= 'a' && r <= 'z' || r >= 0x80 }) < 0
}

// value returns a value without its quotation marks and the punctuation after it.
func (s *scanned) value(i int) (text string, quoted bool) {
	i = span(s.text, i, 2, func(b byte) bool { return b == '\\' || b == '*' })
	if q := at(s.text, i); q == '"' || q == '\'' || q == '`' {
		rest := s.text[i+1 : min(len(s.text), i+1+maxValue)]
		if end := strings.IndexByte(rest, q); end >= 0 && !strings.ContainsAny(rest[:end], "\r\n") {
			return strings.TrimRight(rest[:end], `\`), true
		}
		return "", false
	}
	end := span(s.text, i, maxValue, func(b byte) bool { return b > ' ' && b != '"' && b != '`' && b != 0x7f })
	return strings.TrimRight(s.text[i:end], ".,;:!?)]}>'*\\"), false
}

// isPassword reports whether the value may be a password. A plain word is a password only in quotation marks or in an
// environment variable, because people also write that a password is required, wrong or forgotten.
func (v namedValue) isPassword(phrase bool) bool {
	text := v.text
	if len(text) < 4 || len(text) > 128 || isPlaceholder(text) || strings.Contains(text, "://") {
		return false
	}
	if strings.ContainsAny(text, " \t") {
		return phrase && v.quoted && strings.Count(text, " ") >= 2
	}
	digit, letter := hasDigit(
		text,
	), strings.IndexFunc(
		text,
		func(r rune) bool { return r >= 0x80 || isLetter(byte(r)) },
	) >= 0
	switch {
	case digit && !letter:
		return onlyDigits(text) && len(text) <= 16 && !isYear(text)
	case digit:
		return len(text) >= 5 && !isMeasure(text) && !strings.ContainsAny(text, "()[]{}")
	case strings.ContainsAny(text, "()[]{}<>") || strings.Contains(text, "@") && strings.Contains(text, "."):
		return false // code, an address
	case strings.ContainsAny(text, "!@#$%^&*+=~"):
		return len(text) >= 6
	case strings.Count(text, "-") >= 2:
		return len(text) >= 15 // correct-horse-battery
	case v.environment:
		return len(text) >= 6
	}
	return v.quoted && !strings.Contains(text, "_")
}

// isSecret reports whether the value looks generated.
func (v namedValue) isSecret() bool {
	text := v.text
	switch {
	case len(text) < 12 || isPlaceholder(text) || !looksRandom(text) || strings.Contains(text, "://"):
		return false
	case span(text, 0, len(text), isTokenByte) < len(text):
		return false
	case text[0] == '/' || text[0] == '.' || strings.Contains(text, ".") && len(text) < 24:
		return false // a path, a member of something
	}
	return true
}

// looksRandom reports whether a text changes between capitals, small letters and digits more often than words do, and
// has no repetition.
func looksRandom(s string) bool {
	const lower, upper, digit = 1, 2, 3
	var seen [256]int
	changes, digits, letters, last, length := 0, 0, 0, 0, 0
	for i := range len(s) {
		class := 0
		switch b := s[i]; {
		case isDigit(b):
			class, digits = digit, digits+1
		case isLower(b):
			class, letters = lower, letters+1
		case isUpper(b):
			class, letters = upper, letters+1
		}
		seen[s[i]]++
		length++
		if class == 0 {
			continue
		}
		if last != 0 && class != last {
			changes++
		}
		last = class
	}
	if digits < 2 || letters < 2 || changes*10 < length*2 || changes < 4 {
		return false
	}
	entropy := 0.0
	for _, n := range seen {
		if n > 0 {
			p := float64(n) / float64(length)
			entropy -= p * math.Log2(p)
		}
	}
	return entropy >= 3
}

// placeholders has texts that replace a secret in documentation and code.
var placeholders = []string{
	"example",
	"changeme",
	"change-me",
	"change_me",
	"your",
	"placeholder",
	"redacted",
	"dummy",
	"xxxx",
	"****",
	"....",
	"<",
	"{{",
	"${",
	"%(",
	"password",
	"passwd",
	"secret",
	"token",
	"hidden",
	"insert",
}

// plainWords are values of configuration, types and states, not secrets.
var plainWords = normalize.Set(
	"none null nil undefined true false string str text required optional empty missing " +
		"unset default value invalid valid incorrect " +
		"correct wrong expired unknown forgotten test input varchar char bytes integer number boolean object prompt",
)

func isPlaceholder(value string) bool {
	lowered := asciiLower(value)
	if plainWords[lowered] || strings.IndexByte("$<{[%(&", value[0]) >= 0 {
		return true
	}
	if strings.Count(value, value[:1]) == len(value) { // 0000, ----
		return !isDigit(value[0])
	}
	return slices.ContainsFunc(placeholders, func(p string) bool { return strings.Contains(lowered, p) })
}

func hasDigit(s string) bool { return strings.ContainsAny(s, "0123456789") }

func onlyDigits(s string) bool { return s != "" && span(s, 0, len(s), isDigit) == len(s) }

// isYear reports whether a number is a year from 1900 to 2099.
func isYear(s string) bool {
	return len(s) == 4 && (strings.HasPrefix(s, "19") || strings.HasPrefix(s, "20"))
}

var measures = normalize.Set(
	"bit bits byte bytes kb mb gb char chars character characters digit digits letter letters " +
		"day days hour hours hr hrs min mins minute " +
		"minutes sec second seconds s h d ms week weeks month months year years yrs st nd rd th x px",
)

// isMeasure reports whether a value is a number with a unit, an ordinal, a date, a clock time or a
// version: 256-bit, 3rd, 12:30pm, 2024-05-08, v1.2.
func isMeasure(s string) bool {
	lowered := asciiLower(s)
	end := span(lowered, 0, len(lowered), isDigit)
	if end > 0 && measures[strings.TrimLeft(lowered[end:], "-")] {
		return true
	}
	rest := strings.TrimSuffix(strings.TrimSuffix(strings.TrimPrefix(lowered, "v"), "am"), "pm")
	return span(
		rest,
		0,
		len(rest),
		func(b byte) bool { return isDigit(b) || strings.IndexByte("-/:.,t+z", b) >= 0 },
	) == len(
		rest,
	)
}

func (s *scanned) connectionString() bool {
	return each(s.text, "://", func(start, end int) (int, bool) {
		if !isAlnum(at(s.text, start-1)) {
			return end, false
		}
		stop := span(s.text, end, 512, func(b byte) bool {
			return b > ' ' && b != '/' && b != '"' && b != '\'' && b != '`' && b != '?' && b != '#'
		})
		authority := s.text[end:stop]
		at := strings.LastIndexByte(authority, '@')
		if at < 0 || at == len(authority)-1 {
			return stop, false
		}
		_, password, ok := strings.Cut(authority[:at], ":")
		return stop, ok && len(password) >= 3 && !isPlaceholder(password) && password != "pass" && password != "pwd" &&
			password != "pw"
	})
}
