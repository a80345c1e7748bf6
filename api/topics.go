package api

import (
	"github.com/google/uuid"

	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/schema/check"
)

// RefreshTopicInput starts a comparison of one topic with memory. The topic is answered again if its evidence has
// changed.
type RefreshTopicInput struct {
	Tenant string `json:"tenant"`
	Topic  string `json:"topic"`
	Shadow bool   `json:"shadow,omitempty"` // draft the answer, but do not publish it

	strict
}

// Validate returns a *schema.ValidationError that lists every invalid field.
func (in *RefreshTopicInput) Validate() error {
	if err := in.strict.Validate(); err != nil {
		return err
	}
	var p check.Problems
	if in.Tenant == "" {
		p.Add("tenant", "is required")
	}
	check.Text(&p, "tenant", in.Tenant, schema.MaxNameLength)
	if _, err := uuid.Parse(in.Topic); err != nil {
		p.Add("topic", "must be the id of a topic")
	}
	return p.Err()
}

// UnmarshalJSON reads the input strictly; Validate reports what it found.
func (in *RefreshTopicInput) UnmarshalJSON(data []byte) error {
	type plain RefreshTopicInput
	in.decoded = check.DecodeInput(data, (*plain)(in))
	return nil
}

// Outcomes of a refresh.
const (
	TopicFresh      = "fresh"       // its evidence has not changed: nothing was done
	TopicAnswered   = "answered"    // a new answer was published
	TopicWouldWrite = "would_write" // in shadow mode: the draft is ready
	TopicHeld       = "held"        // the token budget of the day is used up; the previous answer stays
	TopicMoving     = "moving"      // its evidence changed in each round; the next refresh answers it
)

// RefreshTopicResult is the result of a refresh. It has no content.
type RefreshTopicResult struct {
	Topic     string `json:"topic"`
	Outcome   string `json:"outcome"`
	Changed   int    `json:"changed"`              // memories of its evidence that were added, changed or removed
	Memories  int    `json:"memories"`             // memories of its evidence
	Number    int    `json:"number,omitempty"`     // number of the published answer
	Parts     int    `json:"parts,omitempty"`      // sentences of the answer or draft
	WrittenBy string `json:"written_by,omitempty"` // rules, or the model's name
	Fallback  string `json:"fallback,omitempty"`   // why the rules wrote it although a model is configured
	Rounds    int    `json:"rounds"`               // how often the evidence was read
	Tokens    int64  `json:"tokens,omitempty"`     // tokens of models, including failed attempts of the last draft
}

// RefreshTopicsInput starts a sweep over topics. Schedules use the zero value, which means every tenant.
type RefreshTopicsInput struct {
	Tenant string `json:"tenant,omitempty"` // only this tenant
	Shadow bool   `json:"shadow,omitempty"`

	// Set by continue-as-new.
	Sofar *RefreshTopicsResult `json:"so_far,omitempty" decode:"state"`

	strict
}

// Validate returns a *schema.ValidationError that lists every invalid field.
func (in *RefreshTopicsInput) Validate() error {
	if err := in.strict.Validate(); err != nil {
		return err
	}
	var p check.Problems
	check.Text(&p, "tenant", in.Tenant, schema.MaxNameLength)
	return p.Err()
}

// UnmarshalJSON reads the input strictly; Validate reports what it found.
func (in *RefreshTopicsInput) UnmarshalJSON(data []byte) error {
	type plain RefreshTopicsInput
	in.decoded = check.DecodeInput(data, (*plain)(in))
	return nil
}

// RefreshTopicsResult is the result of a sweep so far, with the cursor.
type RefreshTopicsResult struct {
	Checked  int         `json:"checked"` // topics whose evidence was compared
	Fresh    int         `json:"fresh"`
	Answered int         `json:"answered"`
	Would    int         `json:"would_write"`
	Held     int         `json:"held"`
	Moving   int         `json:"moving"`
	Failed   int         `json:"failed"`
	Tokens   int64       `json:"tokens"`
	Cursor   TopicCursor `json:"cursor"`
	Done     bool        `json:"done"`
}

// TopicCursor is the progress of a sweep: tenants by name, topics of one by id.
type TopicCursor struct {
	After  string `json:"after,omitempty"`  // last finished tenant
	Tenant string `json:"tenant,omitempty"` // current tenant
	Topic  string `json:"topic,omitempty"`  // last compared topic of the current tenant
}
