package recall_test

import (
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// These are searched for in every value that Postgres returns, and in every answer.
var (
	// leakMarks are marks in texts: of a memory, of a memory but in no request, of an entity, and of an artifact.
	leakMarks = newPattern("0000", "mk", "zz", "kn", "ar")
	// summaryMarks are the marks of safe summaries.
	summaryMarks = newPattern("0000", "sm")
	anyHash      = newPattern(strings.Repeat("x", 64))
	anyID        = newPattern("xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx")
)

// pattern matches texts of one length: one of the beginnings, and then a byte for each byte of the form: a decimal
// digit for 0, a hexadecimal digit for x, and a hyphen for itself. Searching takes a fraction of the time of a regular
// expression.
type pattern struct {
	form   string
	begins []string // of the same length
}

func newPattern(form string, begins ...string) pattern {
	if len(begins) == 0 {
		begins = []string{""}
	}
	return pattern{form, begins}
}

// findAll returns the matches in a text, as regexp.Regexp.FindAllString does.
func (p pattern) findAll(text string) []string {
	var out []string
	begin := len(p.begins[0])
	for size := begin + len(p.form); len(text) >= size; {
		if n := p.misfit(text[begin:]); n > 0 {
			text = text[n:]
		} else if p.hasBegin(text[:begin]) {
			out = append(out, text[:size])
			text = text[size:]
		} else {
			text = text[1:]
		}
	}
	return out
}

// misfit returns 0 if a text begins with the form, and otherwise the number of bytes before the next place where the
// form can be. It compares backwards: no match includes a byte that is nowhere in the form.
func (p pattern) misfit(text string) int {
	for i := len(p.form) - 1; i >= 0; i-- {
		if b := text[i]; !fits(b, p.form[i]) {
			if b == '-' || isHex(b) {
				return 1
			}
			return i + 1
		}
	}
	return 0
}

func (p pattern) hasBegin(text string) bool {
	for _, b := range p.begins {
		if text == b {
			return true
		}
	}
	return false
}

func fits(b, form byte) bool {
	switch form {
	case '0':
		return '0' <= b && b <= '9'
	case 'x':
		return isHex(b)
	}
	return b == form
}

func isHex(b byte) bool { return '0' <= b && b <= '9' || 'a' <= b && b <= 'f' }

// A pattern finds exactly what the regular expression finds.
func TestPatternsAreRegularExpressions(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 1))
	for expression, p := range map[string]pattern{
		`(?:mk|zz|kn|ar)\d{4}`: leakMarks,
		`sm\d{4}`:              summaryMarks,
		`[0-9a-f]{64}`:         anyHash,
		`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`: anyID,
	} {
		re := regexp.MustCompile(expression)
		found := 0
		for range 20_000 {
			var text strings.Builder
			for range r.IntN(12) {
				text.WriteString(oneOf(r, "mk", "zz", "kn", "ar", "sm", "0", "12", "0815", "mk0815", "x", "é", "-",
					"f", "\x00\xff", strings.Repeat("0f", 16), "ea41ea4-1ea4-4ea4",
					"1ea41ea4-1ea4-4ea4-8123-0123456789ab"))
			}
			want := re.FindAllString(text.String(), -1)
			found += len(want)
			require.Equal(t, want, p.findAll(text.String()), "%s in %q", expression, text.String())
		}
		require.Positive(t, found, expression)
	}
}
