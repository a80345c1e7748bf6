package topics

import (
	"time"

	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/schema/check"
)

// Limits of topics.
const (
	MaxQuestion     = 500 // characters of a question
	DefaultEvidence = 12  // memories of an answer, if the topic does not set a number
	MaxEvidence     = 30  // maximum number that a topic may set
	MaxPerOwner     = 200 // open topics of one agent in one project and scope
	KeptAnswers     = 20  // answers that the history of a topic keeps
)

// TopicRequest opens a topic.
type TopicRequest struct {
	// owner of the topic; answers use only memories that this principal may see
	Principal  schema.Principal  `json:"principal"`
	ReadPolicy schema.ReadPolicy `json:"read_policy,omitempty"` // default isolated
	Question   string            `json:"question"`
	// maximum number of memories of an answer; 0 means DefaultEvidence
	Evidence int `json:"evidence,omitempty"`
}

// Validate returns a *schema.ValidationError that lists every invalid field.
func (r *TopicRequest) Validate() error {
	recall := schema.RecallRequest{Principal: r.Principal, ReadPolicy: r.ReadPolicy, Query: r.Question}
	var p check.Problems
	if err := recall.Validate(); err != nil {
		invalid, ok := err.(*schema.ValidationError) //nolint:errorlint // Validate returns it unwrapped
		if !ok {
			return err
		}
		for _, f := range invalid.Fields {
			if f.Field == "query" {
				f.Field = "question"
			}
			p.Add(f.Field, "%s", f.Problem)
		}
	}
	check.Text(&p, "question", r.Question, MaxQuestion)
	if r.Evidence < 0 || r.Evidence > MaxEvidence {
		p.Add("evidence", "must be between 1 and %d, or 0 for %d", MaxEvidence, DefaultEvidence)
	}
	return p.Err()
}

// Freshness tells whether an answer is based on the current evidence.
type Freshness string

// The kinds of freshness.
const (
	Fresh         Freshness = "fresh"          // no memory of the answer has changed since
	Stale         Freshness = "stale"          // memories of the answer have changed: see Topic.Changed
	NeverAnswered Freshness = "never_answered" // no refresh has answered it yet
)

// Topic is a standing question with its current answer.
type Topic struct {
	ID         string            `json:"id"`
	Principal  schema.Principal  `json:"principal"`
	ReadPolicy schema.ReadPolicy `json:"read_policy,omitempty"`
	Question   string            `json:"question"`
	Evidence   int               `json:"evidence"`
	CreatedAt  time.Time         `json:"created_at"`

	Freshness Freshness `json:"freshness"`
	// Changed counts the memories of the evidence that were changed, removed or added since the answer. Additions are
	// counted as of CheckedAt, changes and removals as of now.
	Changed   int        `json:"changed,omitempty"`
	CheckedAt *time.Time `json:"checked_at,omitempty"` // when the evidence was last compared
	Held      string     `json:"held,omitempty"`       // why the last refresh did not answer, such as token_budget

	Answer *TopicAnswer `json:"answer,omitempty"`
}

// TopicAnswer is one answer of a topic.
type TopicAnswer struct {
	Number       int       `json:"number"` // counts the answers of the topic, from 1
	Parts        []Part    `json:"parts"`  // empty if nothing is known, or the text is withheld or was blanked
	AsOf         time.Time `json:"as_of"`  // when the evidence was read
	Memories     int       `json:"memories"`
	EvidenceHash string    `json:"evidence_hash"`
	WrittenBy    string    `json:"written_by"` // rules, or the model's name
	// Fallback is the reason why the rules wrote the answer although a model is configured.
	Fallback string `json:"fallback,omitempty"`

	BlankedAt *time.Time `json:"blanked_at,omitempty"` // when a memory of the evidence was forgotten or erased
	Withheld  bool       `json:"withheld,omitempty"`   // the caller may no longer see all of the evidence
}

// Part is a sentence of an answer with the memories that support it.
type Part struct {
	Text     string   `json:"text"`
	Memories []string `json:"memories"` // ids, at least one
	// every memory that it cites was superseded or has a later statement
	Outdated  bool `json:"outdated,omitempty"`
	Contested bool `json:"contested,omitempty"` // a memory that it cites is contradicted
}

// Unknown reports whether the answer is that nothing is known.
func (a *TopicAnswer) Unknown() bool {
	return len(a.Parts) == 0 && a.BlankedAt == nil && !a.Withheld
}
