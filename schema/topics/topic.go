package topics

import (
	"time"

	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/schema/check"
)

// Limits of topics.
const (
	MaxQuestion     = 500 // characters of a question
	DefaultEvidence = 12  // memories that an answer is made of, unless the topic says otherwise
	MaxEvidence     = 30  // the highest number that a topic may ask for
	MaxPerOwner     = 200 // open topics of one agent in one project and scope
	KeptAnswers     = 20  // answers of a topic that history keeps
)

// TopicRequest opens a topic.
type TopicRequest struct {
	// whose topic it is; it is answered from what this principal may see
	Principal  schema.Principal  `json:"principal"`
	ReadPolicy schema.ReadPolicy `json:"read_policy,omitempty"` // default isolated
	Question   string            `json:"question"`
	// memories that an answer is made of at most; 0: DefaultEvidence
	Evidence int `json:"evidence,omitempty"`
}

// Validate reports every field that is wrong, as a *schema.ValidationError.
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

// Freshness says whether an answer is that of the current evidence.
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
	// Changed is how many memories of the evidence were changed, removed or added since the answer. Additions are
	// known as of CheckedAt, changes and removals as of now.
	Changed   int        `json:"changed,omitempty"`
	CheckedAt *time.Time `json:"checked_at,omitempty"` // when the evidence was last compared
	Held      string     `json:"held,omitempty"`       // why the last refresh did not answer, such as token_budget

	Answer *TopicAnswer `json:"answer,omitempty"`
}

// TopicAnswer is one answer of a topic.
type TopicAnswer struct {
	Number       int       `json:"number"` // 1, 2, 3: the history of the topic
	Parts        []Part    `json:"parts"`  // empty: nothing is known, or the text is withheld or was blanked
	AsOf         time.Time `json:"as_of"`  // when the evidence was read
	Memories     int       `json:"memories"`
	EvidenceHash string    `json:"evidence_hash"`
	WrittenBy    string    `json:"written_by"` // rules, or the model's name
	// Fallback says why the rules wrote the answer although a model is configured.
	Fallback string `json:"fallback,omitempty"`

	BlankedAt *time.Time `json:"blanked_at,omitempty"` // a memory that it was made of was forgotten or erased
	Withheld  bool       `json:"withheld,omitempty"`   // the asker may no longer see all that it was made of
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
