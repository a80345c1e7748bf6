package api

import (
	"encoding/json"
	"maps"
	"time"

	"github.com/mneme/mneme/schema"
)

// LearnScope identifies the memories that one run of learning reads and writes: memories of a tenant with the same
// readers.
type LearnScope struct {
	Tenant  string `json:"tenant"`
	Agent   string `json:"agent,omitempty"`   // private memories of this agent; empty for memories that all agents see
	Project string `json:"project,omitempty"` // empty for memories without a project
	Scope   string `json:"scope,omitempty"`   // empty for memories without a scope
}

// LearnInput starts Consolidate for one scope, and each of the workflows that Consolidate starts: UpdateFacts,
// CompressEpisodes, ExtractCompetence, ExtractPlans and ResolveDuplicates.
type LearnInput struct {
	LearnScope
	Shadow bool `json:"shadow,omitempty"` // decide and report, but write nothing
	Full   bool `json:"full,omitempty"`   // read all evidence, including evidence before the watermark

	// Set by continue-as-new.
	Cursor string       `json:"cursor,omitempty"`
	SoFar  *LearnResult `json:"so_far,omitempty"`
	At     *time.Time   `json:"at,omitempty"`
}

// LearnResult counts the changes of a run of learning. It has no content.
type LearnResult struct {
	Read      int `json:"read"`                 // records read as evidence
	Groups    int `json:"groups,omitempty"`     // problems, tasks, threads or sets of duplicates read
	Added     int `json:"added,omitempty"`      // records
	Updated   int `json:"updated,omitempty"`    // records whose evidence or figures changed
	Replaced  int `json:"superseded,omitempty"` // records that others have superseded
	Merged    int `json:"merged,omitempty"`
	Contested int `json:"contested,omitempty"`
	// Dropped counts changes whose evidence no longer existed when they were to be written.
	Dropped int            `json:"dropped,omitempty"`
	Refused map[string]int `json:"refused,omitempty"` // refused changes, by reason
	Tokens  int            `json:"tokens,omitempty"`  // tokens that models used, failed attempts included
	Held    bool           `json:"held,omitempty"`    // the token budget of the day was used up
	Parts   []LearnPart    `json:"parts,omitempty"`   // of Consolidate only: one for each workflow that it started
	Outcome string         `json:"outcome,omitempty"` // OutcomeOK or OutcomeHeld
}

// Verdicts counts the outcomes of changes: added, updated, superseded, merged, contested, dropped, or the reason of a
// refusal.
func (r LearnResult) Verdicts() map[string]int {
	out := map[string]int{"added": r.Added, "updated": r.Updated, "superseded": r.Replaced, "merged": r.Merged,
		"contested": r.Contested, "dropped": r.Dropped}
	for reason, n := range r.Refused {
		out[reason] += n
	}
	maps.DeleteFunc(out, func(_ string, n int) bool { return n == 0 })
	return out
}

// LearnPart is the result of one workflow that Consolidate started.
type LearnPart struct {
	Workflow string      `json:"workflow"`
	Result   LearnResult `json:"result"`
}

// ConsolidateAllInput starts ConsolidateAll, which pages through scopes with new evidence and starts Consolidate for
// each. The zero value is what the schedule starts.
type ConsolidateAllInput struct {
	Tenant string `json:"tenant,omitempty"` // only this tenant
	Shadow bool   `json:"shadow,omitempty"`

	// Set by continue-as-new.
	After string `json:"after,omitempty"`
	Runs  int    `json:"runs,omitempty"`

	SoFar *ConsolidateAllResult `json:"so_far,omitempty"`
}

// ConsolidateAllResult counts scopes.
type ConsolidateAllResult struct {
	Scopes  int `json:"scopes"`
	Changed int `json:"changed"` // scopes in which something was learned
	Failed  int `json:"failed,omitempty"`
}

// ConsolidateAllID is the prefix of the id of a run of ConsolidateAll. The scheduled time follows, or the name of the
// tenant for a run of one tenant.
const ConsolidateAllID = "consolidate-all"

// ConsolidateWorkflowID returns the id of a run that consolidates a scope. A scope has one run at a time.
func ConsolidateWorkflowID(s LearnScope) string {
	return WorkflowID("consolidate", s.Tenant, s.Agent, s.Project, s.Scope)
}

// ConsolidateWhenQuietInput starts ConsolidateWhenQuiet. Activities that write episodes start it, and signal further
// episodes to it.
type ConsolidateWhenQuietInput struct {
	LearnScope

	// Set by continue-as-new.
	Failures int                         `json:"failures,omitempty"` // consecutive failures of Consolidate
	Runs     int                         `json:"runs,omitempty"`
	SoFar    *ConsolidateWhenQuietResult `json:"so_far,omitempty"`
}

// ConsolidateWhenQuietResult counts runs of Consolidate over the scope.
type ConsolidateWhenQuietResult struct {
	Consolidated int `json:"consolidated"`      // runs that succeeded
	Changed      int `json:"changed,omitempty"` // successful runs that changed something
	Failed       int `json:"failed,omitempty"`
	New          int `json:"new"` // unprocessed independent episodes at the last check
}

// ConsolidateWhenQuietID returns the id of the run that waits for a scope to be quiet. A scope has one run at a time.
func ConsolidateWhenQuietID(s LearnScope) string {
	return WorkflowID("consolidate-when-quiet", s.Tenant, s.Agent, s.Project, s.Scope)
}

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
}

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
}

// StepReport is the outcome of one step.
type StepReport struct {
	OK      bool   `json:"ok"`
	Skipped bool   `json:"skipped,omitempty"`
	Error   string `json:"error,omitempty"`
}

// ReportResult lists the changes of a report.
type ReportResult struct {
	Changed []string `json:"changed,omitempty"` // ids of memories whose figures changed
}
