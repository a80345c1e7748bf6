package proposals

import (
	"github.com/mneme/mneme/memory"
	"github.com/mneme/mneme/memory/frame"
	"github.com/mneme/mneme/memory/question"
)

// Readings parses texts of facts and memories, each once: facts of a batch have many neighbours in common, and parsing
// takes most of the time of a decision. The zero value is ready. Concurrent use is not allowed.
type Readings struct {
	frames map[quote][]frame.Frame
	texts  map[quote]question.Text
}

// quote is a text and who said it.
type quote struct{ text, who string }

// statements is frame.Read.
func (r *Readings) statements(text, who string) []frame.Frame {
	q := quote{text, who}
	read, ok := r.frames[q]
	if !ok {
		if r.frames == nil {
			r.frames = map[quote][]frame.Frame{}
		}
		read = frame.Read(text, who)
		r.frames[q] = read
	}
	return read
}

// text is question.ReadText.
func (r *Readings) text(text, who string) question.Text {
	q := quote{text, who}
	read, ok := r.texts[q]
	if !ok {
		if r.texts == nil {
			r.texts = map[quote]question.Text{}
		}
		read = question.ReadText(text, who)
		r.texts[q] = read
	}
	return read
}

// holdBoth reports whether a memory and a fact can both be true.
func (r *Readings) holdBoth(n memory.Neighbor, fact memory.Fact) bool {
	return question.Apart(r.text(n.Content, n.Who), r.text(fact.Content, fact.Speaker))
}
