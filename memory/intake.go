package memory

import "github.com/mneme/mneme/schema"

// Intake is a candidate as it is staged: cleaned, classified, and marked when it came out of recall.
type Intake struct {
	Text           Normalized
	Classification Classification

	// Recalled marks text that recall handed out before. It is recorded and not learned again:
	// otherwise one memory feeds on itself until it fills the store (notes on peers).
	Recalled bool
}

// Admit prepares a valid candidate for staging. What recall handed out is cut from the content; a
// candidate of which nothing else remains, or that names a retrieval as its source, is Recalled.
func Admit(c schema.Candidate) Intake {
	rest, cut := StripRecalled(c.Content)
	recalled := cut && StorageContent(rest) == ""
	for _, ref := range c.Refs {
		recalled = recalled || ref.Kind == schema.RefRetrieval
	}
	if !recalled {
		c.Content = rest
	}
	prefix := CandidatePrefix(c)
	return Intake{Text: Normalize(prefix.Content), Classification: Classify(c, prefix), Recalled: recalled}
}
