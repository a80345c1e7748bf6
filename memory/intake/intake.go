package intake

import (
	"encoding/json"

	"github.com/mneme/mneme/memory"
	"github.com/mneme/mneme/memory/normalize"
	"github.com/mneme/mneme/memory/policy"
	"github.com/mneme/mneme/schema"
)

// Intake is a candidate as it is staged: cleaned, classified, and marked when it came out of recall.
type Intake struct {
	Text           normalize.Normalized
	Classification memory.Classification
	Explanation    policy.Explanation // who decided what of the classification

	// Payload is that of a procedure, a plan or the state of a task; nil where the text is all there is.
	Payload json.RawMessage

	// Recalled marks text that recall handed out before. It is recorded and not learned again:
	// otherwise one memory feeds on itself until it fills the store (notes on peers).
	Recalled bool
}

// Admit prepares a valid candidate of a principal's request for staging: it classifies the candidate and applies the
// rules to it (document 004 §15.5). Text that recall returned is cut from the content. A candidate is Recalled if
// nothing else remains, or if it names a retrieval as its source.
func Admit(c schema.Candidate, p schema.Principal, v schema.Visibility, rules *policy.Policy) Intake {
	rest, cut := StripRecalled(c.Content)
	recalled := cut && normalize.StorageContent(rest) == ""
	for _, ref := range c.Refs {
		recalled = recalled || ref.Kind == schema.RefRetrieval
	}
	if !recalled {
		c.Content = rest
	}
	prefix := normalize.CandidatePrefix(c)
	cl := memory.Classify(c, prefix)
	c.Content, c.Tags = prefix.Content, cl.Tags
	e := rules.Explain(cl, policy.Input{Kind: policy.KindCandidate, Candidate: c, Principal: p, Visibility: v})
	in := Intake{
		Text:           normalize.Normalize(prefix.Content),
		Classification: e.Classification,
		Explanation:    e,
		Recalled:       recalled,
	}
	switch t := e.Classification.Type; t {
	case schema.TypeWorking, schema.TypeCompetence, schema.TypePlanGraph:
		in.Payload, _ = memory.ShapedAs(t, c.SourceKind, prefix.Content)
	}
	return in
}

// FactSource is what a fact was drawn from.
type FactSource struct {
	// Candidate is the source as it was staged: its sensitivity is a floor for the fact's, its tags
	// are the fact's, and rules see its other fields.
	Candidate  schema.Candidate
	Principal  schema.Principal  // whose it is, with the source's scope
	Visibility schema.Visibility // of the source
	Trust      float64           // of the source, [0,1]
}

// AdmitFact classifies a fact that the pipeline drew from a source, and applies the rules. A fact is
// never less sensitive than its source and never more trusted, unless, for sensitivity, a rule that
// matches the fact says so.
func AdmitFact(f memory.Fact, src FactSource, rules *policy.Policy) policy.Explanation {
	cl := memory.ClassifyFact(f).DerivedFrom(src.Candidate.Sensitivity)
	cl.Tags = src.Candidate.Tags
	c := src.Candidate
	c.Content, c.Category = f.Content, f.Category
	trust := memory.ClampUnit(src.Trust)
	e := rules.Explain(
		cl,
		policy.Input{
			Kind:       policy.KindFact,
			Candidate:  c,
			Principal:  src.Principal,
			Visibility: src.Visibility,
			Claim:      f.Claim,
			TrustCap:   &trust,
		},
	)
	if e.Classification.SourceTrust == nil {
		e.Classification.SourceTrust = &trust
	}
	return e
}

// AdmitRecord classifies a record as it is put, and applies the rules. The record's own values apply unless a rule
// overrides them; its sensitivity is a floor (ClassifyRecord).
func AdmitRecord(m schema.MemoryRecord, p schema.Principal, rules *policy.Policy) policy.Explanation {
	text := memory.RecordContent(m)
	cl := memory.ClassifyRecord(m, text)
	cl.SourceTrust = &m.SourceTrust
	return rules.Explain(cl, policy.RecordInput(m, text.Storage, p))
}
