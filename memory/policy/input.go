package policy

import (
	"cmp"
	"time"

	"github.com/mneme/mneme/memory"
	"github.com/mneme/mneme/schema"
)

// Kind is the kind of the classified input. Rules see it as kind.
type Kind string

// Input is what rules may read in addition to the classification.
type Input struct {
	Kind Kind
	// Candidate is the input. For a fact it has the fact's text and otherwise the values of the source; for a record it
	// has the corresponding values of the record (RecordInput).
	Candidate  schema.Candidate
	Principal  schema.Principal
	Visibility schema.Visibility // of the request, or of a fact's source; private when empty
	Claim      memory.Claim      // of a fact or a semantic record, if it states one
	// TrustCap is the trust of the least trusted source of a derived memory, in [0,1], or nil if it has no source. No
	// rule can exceed it.
	TrustCap *float64
}

// policyCandidate has the fields of a candidate for rules.
type policyCandidate struct {
	Content     string    `cel:"content"`
	SourceKind  string    `cel:"source_kind"`
	Speaker     string    `cel:"speaker"`
	Session     string    `cel:"session"`
	OccurredAt  time.Time `cel:"occurred_at"`
	Tags        []string  `cel:"tags"`
	Category    string    `cel:"category"`
	Sensitivity string    `cel:"sensitivity"`
	Importance  float64   `cel:"importance"`
	Refs        []string  `cel:"refs"` // kinds of the evidence
}

// policyPrincipal has the fields of the principal for rules.
type policyPrincipal struct {
	Tenant      string `cel:"tenant"`
	Agent       string `cel:"agent"`
	Project     string `cel:"project"`
	Scope       string `cel:"scope"`
	User        string `cel:"user"`
	PolicyGroup string `cel:"policy_group"`
}

// policyFact has the fields of a claim for rules.
type policyFact struct {
	Subject   string `cel:"subject"`
	Predicate string `cel:"predicate"`
	Object    string `cel:"object"`
}

// newPolicyVars returns the variables of conditions that no rule changes.
func newPolicyVars(in Input, cl memory.Classification) map[string]any {
	c, p := &in.Candidate, in.Principal
	candidate := policyCandidate{
		Content:    c.Content,
		SourceKind: string(c.SourceKind),
		Speaker:    c.Speaker,
		Session:    c.Session,
		Tags: append(
			[]string{},
			c.Tags...),
		Category:    string(c.Category),
		Sensitivity: string(c.Sensitivity),
		Refs:        []string{},
	}
	if in.Kind == KindCandidate {
		candidate.SourceKind = string(cmp.Or(c.SourceKind, schema.SourceObservation))
	}
	if c.OccurredAt != nil {
		candidate.OccurredAt = c.OccurredAt.UTC()
	}
	if c.Importance != nil {
		candidate.Importance = *c.Importance
	}
	for _, ref := range c.Refs {
		candidate.Refs = append(candidate.Refs, ref.Kind)
	}
	return map[string]any{
		"kind":      string(in.Kind),
		"candidate": candidate,
		"principal": policyPrincipal{
			Tenant:      p.Tenant,
			Agent:       p.Agent,
			Project:     p.Project,
			Scope:       p.Scope,
			User:        schema.UserOf(p.Scope),
			PolicyGroup: p.PolicyGroup,
		},
		"detected": append([]string{}, cl.Detected...),
		"fact":     policyFact{Subject: in.Claim.Subject, Predicate: in.Claim.Predicate, Object: in.Claim.Object},
	}
}

// RecordInput returns the input of a full record with the given text.
func RecordInput(m schema.MemoryRecord, text string, p schema.Principal) Input {
	in := Input{Kind: KindRecord, Principal: p, Visibility: m.Visibility, Candidate: schema.Candidate{
		Content: text, Speaker: m.Who, Session: m.Session, Refs: m.Provenance.Sources, Category: m.Category,
		Tags:        m.Tags,
		Sensitivity: m.Sensitivity, Importance: &m.Importance}}
	if !m.OccurredAt.IsZero() {
		in.Candidate.OccurredAt = &m.OccurredAt
	}
	if m.Type == schema.TypeSemantic {
		in.Claim = memory.RecordClaim(memory.PayloadOf[schema.SemanticPayload](m))
	}
	in.Principal = p.Owner()
	in.Principal.Scope = cmp.Or(in.Principal.Scope, m.Scope)
	return in
}
