package sensitive

import (
	"strings"

	"github.com/mneme/mneme/schema"
)

// Kinds of sensitive content. Rules see them in the list detected, and history records them: never change one.
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

// detectors are tried in this order, which is also the order of the kinds in results.
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

// Detect finds obvious secrets and personal data in a text. It returns the sensitivity of the most sensitive find and
// the distinct kinds, the most sensitive first. If there is nothing, it returns low and no kinds. Kinds are names,
// never the text found.
//
// Detect avoids false alarms on ordinary text and is not complete. It recognises data with a fixed form by the form
// and, if there is one, the check digit. It finds data without a form (passwords, account numbers) only if the text
// names it. The time is linear in the length of the text.
func Detect(text string) (schema.Sensitivity, []string) {
	s := scanned{text: text, lower: asciiLower(text)}
	level, kinds := schema.SensitivityLow, []string(nil)
	for _, d := range detectors {
		if d.find(&s) {
			kinds = append(kinds, d.kind)
			if Rank(d.level) > Rank(level) {
				level = d.level
			}
		}
	}
	return level, kinds
}

// Disclosed returns the sensitivity of a text and the kinds found in it. If a memory was made from the text (kept), its
// sensitivity counts, because rules have decided it. Otherwise the sensitivity follows from the source and the content.
func Disclosed(text string, source, kept schema.Sensitivity) (schema.Sensitivity, []string) {
	level, kinds := Detect(text)
	switch {
	case kept != "":
		level = kept
	case Rank(source) > Rank(level):
		level = source
	}
	return level, kinds
}

// Raised returns the sensitivity of a text: the stated one or, if Detect finds something more sensitive, that of the
// find.
func Raised(stated schema.Sensitivity, text string) schema.Sensitivity {
	if stated == schema.SensitivityHyper {
		return stated
	}
	if found, kinds := Detect(text); len(kinds) > 0 && Rank(found) > Rank(stated) {
		return found
	}
	return stated
}

// IsWithheld reports whether content of this sensitivity is only shown to requests with a limit above DefaultLimit.
func IsWithheld(s schema.Sensitivity) bool { return Rank(s) > Rank(DefaultLimit) }

// scanned is a text that is checked. Offsets into both forms are the same.
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

// each calls f for the occurrences of word in text, and stops when f returns true. f also returns the offset from which
// to continue.
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

// Rank returns a number that orders sensitivities, or 0 for an unknown one.
func Rank(s schema.Sensitivity) int { return len(s.AtMost()) }

// DefaultLimit is the limit of a recall if neither it nor its trust context sets one.
const DefaultLimit = schema.SensitivityMedium
