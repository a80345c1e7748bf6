package api

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/schema/check"
)

// Limits of advice and reports.
const (
	MaxAdviceError = 64 << 10 // bytes of an error
	MaxAdviceKeys  = 40       // of the context, and of the preferences
	MaxAdviceValue = 400      // bytes of a value of these
	MaxAdviceTool  = 200      // characters of the name of the tool that failed
	MaxAdviceArgs  = 64 << 10 // bytes of its arguments
	MaxReportSteps = 200
)

// AdviseRequest requests the best procedure or plan for a situation.
type AdviseRequest struct {
	Principal   schema.Principal  `json:"principal"`
	Task        string            `json:"task"`                  // description; task or error is required
	Error       string            `json:"error,omitempty"`       // error as the tool printed it
	Context     map[string]string `json:"context,omitempty"`     // os, project_kind, go_version and so on
	Preferences map[string]string `json:"preferences,omitempty"` // by the same keys; context takes precedence
	WorkingDir  string            `json:"working_dir,omitempty"`
	Failed      *FailedCall       `json:"failed,omitempty"`      // the call that failed with the error
	ReadPolicy  schema.ReadPolicy `json:"read_policy,omitempty"` // as in a recall; empty: the agent's own memories

	decoded check.Decoded
}

// UnmarshalJSON reads a request. Unknown fields, wrong types and duplicates are recorded, and Validate reports them.
func (r *AdviseRequest) UnmarshalJSON(data []byte) error {
	type plain AdviseRequest
	r.decoded = check.DecodeInput(data, (*plain)(r))
	return nil
}

// Misread returns the problems of decoding, except unknown fields.
func (r *AdviseRequest) Misread() []schema.FieldError { return r.decoded.Misread() }

// Unknown returns the names of fields that this version does not know.
func (r *AdviseRequest) Unknown() []string { return r.decoded.Unknown() }

// DropUnread ignores unknown fields, which a newer client may have set, and reports whether there were any.
func (r *AdviseRequest) DropUnread() bool { return r.decoded.DropUnread() }

// FailedCall is a tool call that failed. Its arguments may have values that the error does not repeat, such as the name
// of a file.
type FailedCall struct {
	Tool string          `json:"tool"`
	Args json.RawMessage `json:"args,omitempty"` // an object
}

// AdviseResponse is the best procedure or plan for a situation, with its parameters filled in.
type AdviseResponse struct {
	AdviceID string         `json:"advice_id"`      // for the report of the outcome
	Best     *AdviceOption  `json:"best,omitempty"` // absent if no option has enough confidence
	Others   []AdviceOption `json:"others,omitempty"`
	// MissingContext lists context keys that would help to choose.
	MissingContext []string `json:"missing_context,omitempty"`
	// DidNotHelp lists earlier attempts at the problem that probably do not help here, the most promising first. It is
	// set only if the best option is not certain.
	DidNotHelp []DidNotHelp `json:"did_not_help,omitempty"`
}

// DidNotHelp describes steps that did not solve the problem before.
type DidNotHelp struct {
	Steps   []AdviceStep `json:"steps"`
	Chance  float64      `json:"chance"`  // probability that they help now, [0,1]
	Episode string       `json:"episode"` // the newest episode in which they failed
}

// AdviceOption is a procedure or a plan for the situation.
type AdviceOption struct {
	MemoryID   string       `json:"memory_id"`
	Name       string       `json:"name"`
	Type       string       `json:"type"` // competence or plan_graph
	Steps      []AdviceStep `json:"steps"`
	Confidence float64      `json:"confidence"` // [0,1]
	Tentative  bool         `json:"tentative,omitempty"`
	Evidence   []string     `json:"evidence,omitempty"` // ids of episodes
	Missing    []string     `json:"missing,omitempty"`  // parameters that the caller must give
	// context keys that its conditions name and the request does not
	Unknown      []string `json:"unknown,omitempty"`
	Fallbacks    []string `json:"fallbacks,omitempty"`
	FailureModes []string `json:"failure_modes,omitempty"`
}

// AdviceStep is one step of an option.
type AdviceStep struct {
	Text       string         `json:"text"`
	Tool       string         `json:"tool,omitempty"`
	Args       map[string]any `json:"args,omitempty"` // parameters without a value stay in braces
	Validation string         `json:"validation,omitempty"`
	Optional   bool           `json:"optional,omitempty"`
	Missing    []string       `json:"missing,omitempty"`
}

// Validate returns a *schema.ValidationError that lists every invalid field.
func (r *AdviseRequest) Validate() error {
	if err := r.decoded.Err(); err != nil { // other checks would report consequential errors
		return err
	}
	var p check.Problems
	schema.CheckReader(&p, r.Principal, r.ReadPolicy)
	if strings.TrimSpace(r.Task) == "" && strings.TrimSpace(r.Error) == "" {
		p.Add("task", "is required, or error")
	}
	check.Text(&p, "task", r.Task, schema.MaxIntentLength)
	check.Text(&p, "error", r.Error, MaxAdviceError)
	check.Text(&p, "working_dir", r.WorkingDir, schema.MaxNameLength)
	keys(&p, "context", r.Context)
	keys(&p, "preferences", r.Preferences)
	r.Failed.check(&p, "failed")
	return p.Err()
}

func (c *FailedCall) check(p *check.Problems, field string) {
	if c == nil {
		return
	}
	if c.Tool == "" {
		p.Add(field+".tool", "is required")
	}
	check.Text(p, field+".tool", c.Tool, MaxAdviceTool)
	if args := bytes.TrimSpace(c.Args); len(args) > 0 {
		if args[0] != '{' {
			p.Add(field+".args", "must be an object")
			return
		}
		check.Scan(args, field+".args", check.MaxDepth, MaxAdviceArgs, p)
	}
}

// ReportRequest reports the outcome after advice.
type ReportRequest struct {
	Principal schema.Principal `json:"principal"`
	AdviceID  string           `json:"advice_id"`
	// the memory that was followed; empty if something else was done
	Used    string            `json:"used,omitempty"`
	Outcome schema.Outcome    `json:"outcome,omitempty"` // default: derived from the steps
	Steps   []StepReport      `json:"steps,omitempty"`
	Context map[string]string `json:"context,omitempty"`
	Session string            `json:"session,omitempty"` // the session of the work

	ReadPolicy schema.ReadPolicy `json:"read_policy,omitempty"` // the read policy of the request for advice

	decoded check.Decoded
}

// UnmarshalJSON reads a report. Unknown fields, wrong types and duplicates are recorded, and Validate reports them.
func (r *ReportRequest) UnmarshalJSON(data []byte) error {
	type plain ReportRequest
	r.decoded = check.DecodeInput(data, (*plain)(r))
	return nil
}

// Misread returns the problems of decoding, except unknown fields.
func (r *ReportRequest) Misread() []schema.FieldError { return r.decoded.Misread() }

// Unknown returns the names of fields that this version does not know.
func (r *ReportRequest) Unknown() []string { return r.decoded.Unknown() }

// DropUnread ignores unknown fields, which a newer client may have set, and reports whether there were any.
func (r *ReportRequest) DropUnread() bool { return r.decoded.DropUnread() }

// StepReport is the outcome of one step.
type StepReport struct {
	OK      bool   `json:"ok"`
	Skipped bool   `json:"skipped,omitempty"`
	Error   string `json:"error,omitempty"`
}

// ReportResult says what a report changed.
type ReportResult struct {
	Changed []string            `json:"changed,omitempty"` // ids of memories whose figures changed
	Status  schema.ReportStatus `json:"status,omitempty"`  // empty if no memory was used
	// Successor is the memory that is in the place of the one that was used now, if the agent may read it.
	Successor string `json:"successor,omitempty"`
	// CountsFor says in whose advice the outcome counts, and Held why only in the reporter's own. They are empty if the
	// outcome does not count.
	CountsFor schema.ReportReach `json:"counts_for,omitempty"`
	Held      schema.ReportHeld  `json:"held,omitempty"`
}

// Validate returns a *schema.ValidationError that lists every invalid field.
func (r *ReportRequest) Validate() error {
	if err := r.decoded.Err(); err != nil { // other checks would report consequential errors
		return err
	}
	var p check.Problems
	schema.CheckReader(&p, r.Principal, r.ReadPolicy)
	if _, err := uuid.Parse(r.AdviceID); err != nil {
		p.Add("advice_id", "must be the id of advice")
	}
	if r.Used != "" {
		if id, err := uuid.Parse(r.Used); err != nil || id.String() != r.Used {
			p.Add("used", "must be the id of a memory")
		}
	}
	if r.Outcome != "" && !slices.Contains([]schema.Outcome{schema.OutcomeSuccess, schema.OutcomeFailure,
		schema.OutcomePartial}, r.Outcome) {
		p.Add("outcome", "must be success, failure or partial")
	}
	if r.Outcome == "" && len(r.Steps) == 0 {
		p.Add("outcome", "is required, or steps")
	}
	if len(r.Steps) > MaxReportSteps {
		p.Add("steps", "has too many elements")
	}
	for i, step := range r.Steps[:min(len(r.Steps), MaxReportSteps)] {
		check.Text(&p, fmt.Sprintf("steps[%d].error", i), step.Error, MaxAdviceError)
	}
	check.Text(&p, "session", r.Session, schema.MaxNameLength)
	keys(&p, "context", r.Context)
	return p.Err()
}

func keys(p *check.Problems, field string, values map[string]string) {
	if len(values) > MaxAdviceKeys {
		p.Add(field, "has too many keys")
		return
	}
	for _, key := range slices.Sorted(maps.Keys(values)) { // deterministic errors
		value := values[key]
		if key == "" || len(key) > schema.MaxNameLength || len(value) > MaxAdviceValue {
			p.Add(field, "has a key or a value that is empty or too long")
			return
		}
		before := len(p.Fields)
		if check.Text(p, field, key, schema.MaxNameLength); len(p.Fields) == before {
			check.Text(p, field, value, MaxAdviceValue)
		}
		if len(p.Fields) > before {
			return
		}
	}
}
