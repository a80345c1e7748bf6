package rank

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/google/uuid"

	"github.com/mneme/mneme/memory/normalize"
	"github.com/mneme/mneme/schema"
)

// Noted is a record of a session: its working state, or a memory from it.
type Noted struct {
	ID       uuid.UUID
	Type     schema.MemoryType
	Category schema.Category
	Text     string
}

// SessionDigest joins the records of a session in at most MaxSupplementChars, one line each with its kind: "working:
// …", "decision: …". Equal records are shown once. Records that do not fit are omitted as a whole, and CutMark marks
// this. Only the first record may be cut. SessionDigest returns the ids of the records shown.
func SessionDigest(records []Noted) (text string, shown []uuid.UUID, cut bool) {
	var lines []string
	room := MaxSupplementChars - utf8.RuneCountInString(normalize.CutMark)
	for _, r := range records {
		label := string(r.Category)
		if r.Type != schema.TypeSemantic {
			label = strings.ReplaceAll(string(r.Type), "_", " ")
		}
		one := label + ": " + strings.Join(strings.Fields(r.Text), " ")
		if slices.Contains(lines, one) {
			continue
		}
		if n := utf8.RuneCountInString(one); n > room {
			cut = true
			if len(lines) > 0 {
				continue
			}
			one, _ = normalize.CutChars(one, room)
		}
		room -= utf8.RuneCountInString(one) + 1
		lines, shown = append(lines, one), append(shown, r.ID)
	}
	text = strings.Join(lines, "\n")
	if cut && !strings.HasSuffix(text, normalize.CutMark) {
		text += normalize.CutMark
	}
	return text, shown, cut
}
