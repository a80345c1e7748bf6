package intake

import (
	"strings"

	"github.com/mneme/mneme/memory"
	"github.com/mneme/mneme/memory/normalize"
	"github.com/mneme/mneme/schema"
)

// beginningChars is the number of characters of an oversized text that the memory keeps. With the marker, this is as
// much as an extractor reads.
const beginningChars = normalize.MaxExtractInput - 64

// Beginning returns the content of a memory whose whole text is stored as an artifact: the beginning of the text and a
// marker that names the artifact. The text is cut after a sentence, or after a word, if one ends near the limit. The
// marker makes the contents of two texts with the same beginning different.
func Beginning(content, address string) string {
	text := normalize.FirstChars(strings.TrimSpace(content), beginningChars)
	const near = 500 // bytes
	tail := text[max(0, len(text)-near):]
	switch end := max(strings.LastIndex(tail, ". "), strings.LastIndex(tail, "\n"), strings.LastIndex(tail, "! "),
		strings.LastIndex(tail, "? ")); {
	case end >= 0:
		text = text[:len(text)-len(tail)+end+1]
	default:
		if end := strings.LastIndexByte(tail, ' '); end >= 0 {
			text = text[:len(text)-len(tail)+end]
		}
	}
	sum := strings.TrimPrefix(address, schema.ArtifactPrefix)
	return strings.TrimRight(strings.ToValidUTF8(text, ""), " \n") + " [truncated " + sum[:min(len(sum), 12)] + "]"
}

// Abridge shortens a candidate whose whole text is stored as an artifact. The result has the beginning of the text, a
// reference to the artifact, and the sensitivity of the whole text.
func Abridge(c schema.Candidate, address string) schema.Candidate {
	level := memory.Classification{Sensitivity: schema.SensitivityLow}
	if c.Sensitivity.Valid() {
		level.Sensitivity = c.Sensitivity
	}
	c.Sensitivity = level.Detect(c.Content).Sensitivity
	c.Refs = append(append([]schema.Ref{}, c.Refs...), schema.Ref{Kind: "artifact", Ref: address})
	c.Content = Beginning(c.Content, address)
	return c
}
