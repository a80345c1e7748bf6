package memory

import (
	"math"
	"slices"
	"strings"

	"github.com/mneme/mneme/schema"
)

// Kinds of what DetectSensitive finds. Rules see them in the list detected, and history names them:
// never reword one.
const (
	// Secrets: hyper.
	DetectedPrivateKey       = "private_key"       // PEM, PGP or age
	DetectedAPIKey           = "api_key"           // the key forms of well-known services
	DetectedToken            = "token"             // JSON web tokens and bearer tokens
	DetectedPassword         = "password"          // "the password is …", password=…
	DetectedSecret           = "secret"            // secret, token or key = something that looks random
	DetectedConnectionString = "connection_string" // scheme://user:password@host

	// Financial and government identifiers: high.
	DetectedPaymentCard = "payment_card"      // right length, issuer and check digit
	DetectedIBAN        = "iban"              // right length and check digits
	DetectedBankAccount = "bank_account"      // named as such
	DetectedSSN         = "us_ssn"            // of the United States
	DetectedIdentity    = "identity_document" // passport, driving licence, …, named as such

	// Contact data: medium.
	DetectedEmail   = "email"
	DetectedPhone   = "phone"
	DetectedAddress = "street_address"
)

// detectors are tried in this order, which is also that of the kinds in results.
var detectors = []struct {
	kind  string
	level schema.Sensitivity
	find  func(*scanned) bool
}{
	{DetectedPrivateKey, schema.SensitivityHyper, (*scanned).privateKey},
	{DetectedAPIKey, schema.SensitivityHyper, (*scanned).apiKey},
	{DetectedToken, schema.SensitivityHyper, (*scanned).token},
	{DetectedPassword, schema.SensitivityHyper, (*scanned).password},
	{DetectedSecret, schema.SensitivityHyper, (*scanned).secret},
	{DetectedConnectionString, schema.SensitivityHyper, (*scanned).connectionString},
	{DetectedPaymentCard, schema.SensitivityHigh, (*scanned).paymentCard},
	{DetectedIBAN, schema.SensitivityHigh, (*scanned).iban},
	{DetectedBankAccount, schema.SensitivityHigh, (*scanned).bankAccount},
	{DetectedSSN, schema.SensitivityHigh, (*scanned).ssn},
	{DetectedIdentity, schema.SensitivityHigh, (*scanned).identity},
	{DetectedEmail, schema.SensitivityMedium, (*scanned).email},
	{DetectedPhone, schema.SensitivityMedium, (*scanned).phone},
	{DetectedAddress, schema.SensitivityMedium, (*scanned).address},
}

// DetectSensitive looks for obvious secrets and personal data in a text. It returns the level that
// the worst find asks for and the kinds found, without repetition and the worst first; low and none
// when there is nothing. Kinds are names, never what was found.
//
// It is made to be silent on ordinary text rather than complete: what has a form is recognised by it
// and, where there is one, by its check digit; what has none (passwords, account numbers) only
// where the text says what it is. Time is linear in the length of the text: every look around a find
// is bounded.
func DetectSensitive(text string) (schema.Sensitivity, []string) {
	s := scanned{text: text, lower: asciiLower(text)}
	level, kinds := schema.SensitivityLow, []string(nil)
	for _, d := range detectors {
		if d.find(&s) {
			kinds = append(kinds, d.kind)
			if sensitivityRank(d.level) > sensitivityRank(level) {
				level = d.level
			}
		}
	}
	return level, kinds
}

// scanned is a text that is looked at. Offsets into both forms are the same.
type scanned struct {
	text, lower string
	runs        []digitRun
	runsRead    bool
}

// asciiLower lowers the letters A to Z and keeps every offset.
func asciiLower(s string) string {
	i := strings.IndexFunc(s, func(r rune) bool { return r >= 'A' && r <= 'Z' })
	if i < 0 {
		return s
	}
	b := []byte(s)
	for ; i < len(b); i++ {
		if b[i] >= 'A' && b[i] <= 'Z' {
			b[i] += 'a' - 'A'
		}
	}
	return string(b)
}

// each calls f with every offset behind an occurrence of word in text, and stops when f returns true.
// f says where to go on looking.
func each(text, word string, f func(start, end int) (next int, found bool)) bool {
	for from := 0; ; {
		i := strings.Index(text[from:], word)
		if i < 0 {
			return false
		}
		start := from + i
		next, found := f(start, start+len(word))
		if found {
			return true
		}
		from = max(next, start+1)
	}
}

// at returns the byte at i, or 0 outside.
func at(s string, i int) byte {
	if i < 0 || i >= len(s) {
		return 0
	}
	return s[i]
}

func isDigit(b byte) bool  { return b >= '0' && b <= '9' }
func isLower(b byte) bool  { return b >= 'a' && b <= 'z' }
func isUpper(b byte) bool  { return b >= 'A' && b <= 'Z' }
func isLetter(b byte) bool { return isLower(b) || isUpper(b) || b >= 0x80 }
func isAlnum(b byte) bool  { return isDigit(b) || isLower(b) || isUpper(b) }
func isBlank(b byte) bool  { return b == ' ' || b == '\t' }
func isBreak(b byte) bool  { return b == '\n' || b == '\r' }

// inWord reports whether a byte belongs to a word, a name or a number.
func inWord(b byte) bool { return isLetter(b) || isDigit(b) || b == '_' }

// span returns the end of the bytes from i on that ok accepts, at most limit of them.
func span(s string, i, limit int, ok func(byte) bool) int {
	end := i
	for end < len(s) && end-i < limit && ok(s[end]) {
		end++
	}
	return end
}

// Secrets.

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

// keyForm is how a service's keys look: a prefix and what follows it.
type keyForm struct {
	prefix   string
	ok       func(byte) bool
	least    int // characters behind the prefix
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

// isTokenByte reports whether tokens and keys are made of the byte.
func isTokenByte(b byte) bool {
	return isKeyByte(b) || b == '.' || b == '~' || b == '+' || b == '/' || b == '='
}

// passwordWords are names of what is typed in; values behind them may be short.
var passwordWords = []string{"password", "passwd", "passphrase", "passcode", "pwd"}

// secretWords are names of what programs hold; values behind them have to look random.
var secretWords = []string{"secret", "token", "apikey", "api key", "api_key", "api-key", "access key", "access_key", "accesskey", "secret key",
	"secret_key", "secretkey", "private key", "private_key", "encryption key", "encryption_key", "signing key", "signing_key", "auth key",
	"auth_key", "credential", "credentials"}

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

// namedValue is a value that the text gives to a name.
type namedValue struct {
	text        string
	quoted      bool
	sentence    bool // "is", not "=" or ":"
	environment bool // NAME=value
}

// The longest look behind a name: for what it is the name of, and at its value.
const (
	maxNameDetail = 64
	maxValue      = 256
)

// valueOf reads what the name that ends at end is said to be: "NAME is VALUE", "NAME for the router is
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

// isDecoration reports whether a byte may stand between a name or a value and what belongs to it:
// quotation marks and emphasis.
func isDecoration(b byte) bool {
	return b == '"' || b == '\'' || b == '`' || b == '*' || b == '\\'
}

// connector returns the offset behind "is", "=", ":" and the like at i, or -1.
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
	for _, words := range []string{"is now ", "is set to ", "was changed to ", "has been changed to ", "changed to ", "is: ", "is ", "was ", "to "} {
		if strings.HasPrefix(s.lower[i:], words) {
			v.sentence = true
			return i + len(words)
		}
	}
	return -1
}

func isDecorationOrStar(b byte) bool { return b == '*' }

// detail returns where the connector stands when a name is followed by what it is for: "for the guest
// wifi is …". It is 0 when there is none in the same sentence.
func (s *scanned) detail(i int) int {
	starts := slices.ContainsFunc([]string{"for ", "of ", "on ", "to ", "at ", "in "}, func(word string) bool { return strings.HasPrefix(s.lower[i:], word) })
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

// isEnvironmentName reports whether the name that ends at end is one of capitals: DB_PASSWORD.
func (s *scanned) isEnvironmentName(start, end int) bool {
	for start > 0 && end-start < 64 && inWord(s.text[start-1]) {
		start--
	}
	name := s.text[start:end]
	return strings.IndexFunc(name, func(r rune) bool { return r >= 'a' && r <= 'z' || r >= 0x80 }) < 0
}

// value reads a value, without its quotation marks and the punctuation behind it.
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

// isPassword reports whether the value could be what somebody types in. A plain word is one only in
// quotation marks or in an environment: passwords are required, wrong and forgotten.
func (v namedValue) isPassword(phrase bool) bool {
	text := v.text
	if len(text) < 4 || len(text) > 128 || isPlaceholder(text) || strings.Contains(text, "://") {
		return false
	}
	if strings.ContainsAny(text, " \t") {
		return phrase && v.quoted && strings.Count(text, " ") >= 2
	}
	digit, letter := hasDigit(text), strings.IndexFunc(text, func(r rune) bool { return r >= 0x80 || isLetter(byte(r)) }) >= 0
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

// isSecret reports whether the value looks as if a program had made it.
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

// looksRandom reports whether a text changes between capitals, small letters and digits as no word
// does, and does not repeat itself.
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

// placeholders are what stands in documentation and code where a secret would be.
var placeholders = []string{"example", "changeme", "change-me", "change_me", "your", "placeholder", "redacted", "dummy", "xxxx", "****", "....",
	"<", "{{", "${", "%(", "password", "passwd", "secret", "token", "hidden", "insert"}

// plainWords are values of configuration, types and states, not secrets.
var plainWords = set("none null nil undefined true false string str text required optional empty missing unset default value invalid valid incorrect " +
	"correct wrong expired unknown forgotten test input varchar char bytes integer number boolean object prompt")

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

// isYear reports whether a number reads as a year of ours.
func isYear(s string) bool {
	return len(s) == 4 && (strings.HasPrefix(s, "19") || strings.HasPrefix(s, "20"))
}

var measures = set("bit bits byte bytes kb mb gb char chars character characters digit digits letter letters day days hour hours hr hrs min mins minute " +
	"minutes sec second seconds s h d ms week weeks month months year years yrs st nd rd th x px")

// isMeasure reports whether a value is a number with a unit, an ordinal, a date, a clock time or a
// version: 256-bit, 3rd, 12:30pm, 2024-05-08, v1.2.
func isMeasure(s string) bool {
	lowered := asciiLower(s)
	end := span(lowered, 0, len(lowered), isDigit)
	if end > 0 && measures[strings.TrimLeft(lowered[end:], "-")] {
		return true
	}
	rest := strings.TrimSuffix(strings.TrimSuffix(strings.TrimPrefix(lowered, "v"), "am"), "pm")
	return span(rest, 0, len(rest), func(b byte) bool { return isDigit(b) || strings.IndexByte("-/:.,t+z", b) >= 0 }) == len(rest)
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
		return stop, ok && len(password) >= 3 && !isPlaceholder(password) && password != "pass" && password != "pwd" && password != "pw"
	})
}

// Financial and government identifiers.

// digitRun is digits with single separators between groups: 4111 1111 1111 1111.
type digitRun struct {
	start, end int
	groups     []digitGroup
}

type digitGroup struct {
	start, end int
	after      byte // separator behind the group, 0 behind the last
}

func (g digitGroup) len() int { return g.end - g.start }

// maxGroups bounds the groups of a run; what is longer is a table, and is read on from there.
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
		if before := at(s.text, run.start-1); len(run.groups) > 0 && (inWord(before) || strings.IndexByte("$#.,/=", before) >= 0 && before != 0) {
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

// isCard reports whether a number is that of a payment card: its issuer gives out numbers of this
// length, and the check digit is right (ISO/IEC 7812).
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
	for _, entry := range strings.Fields("AD24 AE23 AL28 AT20 AZ28 BA20 BE16 BG22 BH22 BR29 BY28 CH21 CR22 CY28 CZ24 DE22 DK18 DO28 EE20 EG29 ES24 FI18 " +
		"FO18 FR27 GB22 GE22 GI23 GL18 GR27 GT28 HR21 HU28 IE22 IL23 IQ23 IS26 IT27 JO30 KW30 KZ20 LB28 LC32 LI21 LT20 LU20 LV21 LY25 MC27 MD24 ME22 " +
		"MK19 MR27 MT31 MU30 NL18 NO15 PK24 PL28 PS29 PT25 QA29 RO24 RS22 SA24 SC31 SE24 SI19 SK24 SM27 ST25 SV28 TL23 TN24 TR26 UA29 VA22 VG24 XK20") {
		out[entry[:2]] = int(entry[2]-'0')*10 + int(entry[3]-'0')
	}
	return out
}()

func (s *scanned) iban() bool {
	for i := 0; i+15 <= len(s.text); i++ {
		if !isUpper(s.text[i]) || !isUpper(s.text[i+1]) || !isDigit(s.text[i+2]) || !isDigit(s.text[i+3]) || inWord(at(s.text, i-1)) {
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

// ibanChecks computes the check of ISO 7064, mod 97-10.
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

// numberBehind looks at what a phrase announces: "bank account number is 12 3456 78". ok is given at
// most that many characters of it: letters, digits, blanks and hyphens.
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

// leadingNumber returns the digits that a text begins with, blanks and hyphens between them left out.
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
			if before := at(s.text, run.groups[i].start-1); alone && before != '-' && before != '+' && at(s.text, run.groups[i+2].end) != '-' {
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
	for _, phrase := range []string{"passport", "driver's license", "drivers license", "driver license", "driving licence", "driver's licence",
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

// Contact data.

func (s *scanned) email() bool {
	return each(s.text, "@", func(start, end int) (int, bool) {
		local := start
		for local > 0 && start-local < 64 && (isAlnum(s.text[local-1]) || strings.IndexByte("._%+-", s.text[local-1]) >= 0) {
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

// fileEndings are what follows the dot in icon@2x.png.
var fileEndings = set("png jpg jpeg gif svg webp css js ts json html md txt yaml yml")

// phoneWords announce a number that has no form of its own.
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
			if strings.IndexByte(" -.()", c) < 0 || !isDigit(at(s.text, stop+1)) && strings.IndexByte("( ", at(s.text, stop+1)) < 0 {
				break
			}
			groups++
		}
		number := s.text[end:stop]
		return end, !inWord(at(s.text, stop)) && digits <= 15 && !strings.HasSuffix(number, "0000") && (digits >= 10 || groups > 1 && digits >= 8)
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
			if ok && isNorthAmerican(n) && (i == 0 || country) && run.groups[i+2].after == 0 && before != '-' && before != '+' && at(s.text, run.end) != '-' {
				return true
			}
		}
		if first := run.groups[0]; total >= 7 && total <= 13 && len(run.groups) <= 6 && s.announcedPhone(first.start) {
			return true
		}
		if first := run.groups[0]; first.len() == 3 && at(s.text, first.start-1) == '(' && at(s.text, first.end) == ')' {
			rest := span(s.text, first.end+1, 1, isBlank)
			local := s.text[rest:min(len(s.text), rest+8)]
			if len(local) == 8 && onlyDigits(local[:3]) && strings.IndexByte("- .", local[3]) >= 0 && onlyDigits(local[4:]) && !inWord(at(s.text, rest+8)) {
				return true
			}
		}
	}
	return false
}

// isNorthAmerican reports whether ten digits follow the plan of North America.
func isNorthAmerican(n string) bool { return n[0] >= '2' && n[3] >= '2' }

// announcedPhone reports whether the words before i say that a telephone number follows.
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
	streetWords  = set("street st avenue ave road rd boulevard blvd lane ln drive")
	addressWords = set("at address to is from on lives")
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
