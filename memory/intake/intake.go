package intake

import (
	"encoding/json"

	"github.com/mneme/mneme/memory"
	"github.com/mneme/mneme/memory/normalize"
	"github.com/mneme/mneme/memory/policy"
	"github.com/mneme/mneme/schema"
)

// Intake is a candidate ready for staging: cleaned, classified, and marked if it came from recall.
type Intake struct {
	Text           normalize.Normalized
	Classification memory.Classification
	Explanation    policy.Explanation // which rule decided each field of the classification

	// Payload is the payload of a procedure, a plan or the state of a task; nil for other texts.
	Payload json.RawMessage

	// Recalled marks text that recall returned before. It is recorded but not learned again. Otherwise a memory would
	// copy itself until it fills the store.
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

// FactSource is the source of a fact.
type FactSource struct {
	// Candidate is the source as it was staged. Its sensitivity is the minimum for the fact, its tags are inherited by
	// the fact, and rules can use its other fields.
	Candidate  schema.Candidate
	Principal  schema.Principal  // the owner, with the source's scope
	Visibility schema.Visibility // of the source
	Trust      float64           // of the source, [0,1]
}

// AdmitFact classifies a fact that the pipeline extracted from a source, and applies the rules. A fact is never more
// trusted than its source. It is less sensitive only if a rule that matches the fact sets its sensitivity.
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

// AdmitRecord classifies a record that is put, and applies the rules. The record's own values apply unless a rule
// overrides them. Its sensitivity is a minimum (see memory.ClassifyRecord).
func AdmitRecord(m schema.MemoryRecord, p schema.Principal, rules *policy.Policy) policy.Explanation {
	text := memory.RecordContent(m)
	cl := memory.ClassifyRecord(m, text)
	cl.SourceTrust = &m.SourceTrust
	return rules.Explain(cl, policy.RecordInput(m, text.Storage, p))
}
