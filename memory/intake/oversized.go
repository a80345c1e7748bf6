package intake

import (
	"strings"

	"github.com/mneme/mneme/memory"
	"github.com/mneme/mneme/memory/normalize"
	"github.com/mneme/mneme/schema"
)

// beginningChars is how much of an oversized text is kept in the memory: as much as an extractor reads of any text,
// including the marker.
const beginningChars = normalize.MaxExtractInput - 64

// Beginning is the content of a memory whose whole text is an artifact: the beginning of the text, cut after a
// sentence or a word if one ends nearby, and a marker that names the artifact. The marker differs for two texts that
// begin alike.
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

// Abridge returns the candidate that is staged for one whose whole text is an artifact: it has the beginning of the
// text, refers to the artifact, and is as sensitive as the whole text.
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
