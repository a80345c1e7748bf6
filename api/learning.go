package api

import (
	"maps"
	"time"

	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/schema/check"
)

// LearnScope identifies the memories that one run of learning reads and writes: memories of a tenant with the same
// readers.
type LearnScope struct {
	Tenant  string `json:"tenant"`
	Agent   string `json:"agent,omitempty"`   // private memories of this agent; empty for memories that all agents see
	Project string `json:"project,omitempty"` // empty for memories without a project
	Scope   string `json:"scope,omitempty"`   // empty for memories without a scope
}

// ValidateScope returns a *schema.ValidationError if the scope has no tenant.
func (s LearnScope) ValidateScope() error {
	if s.Tenant == "" {
		return &schema.ValidationError{Fields: []schema.FieldError{{Field: "tenant", Problem: "is required"}}}
	}
	return nil
}

// LearnInput starts Consolidate for one scope, and each of the workflows that Consolidate starts: UpdateFacts,
// CompressEpisodes, ExtractCompetence, ExtractPlans and ResolveDuplicates.
type LearnInput struct {
	LearnScope
	Shadow bool `json:"shadow,omitempty"` // decide and report, but write nothing
	Full   bool `json:"full,omitempty"`   // read all evidence, including evidence before the watermark

	// Set by continue-as-new.
	Cursor string       `json:"cursor,omitempty" decode:"state"`
	SoFar  *LearnResult `json:"so_far,omitempty" decode:"state"`
	At     *time.Time   `json:"at,omitempty" decode:"state"`

	strict
}

// UnmarshalJSON reads the input strictly; DecodeErr reports what it found.
func (in *LearnInput) UnmarshalJSON(data []byte) error {
	type plain LearnInput
	in.decoded = check.DecodeInput(data, (*plain)(in))
	return nil
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

// Plus adds the counts of another result. Parts and outcome are not changed.
func (r LearnResult) Plus(o LearnResult) LearnResult {
	r.Read, r.Groups, r.Added, r.Updated = r.Read+o.Read, r.Groups+o.Groups, r.Added+o.Added, r.Updated+o.Updated
	r.Replaced, r.Merged, r.Contested = r.Replaced+o.Replaced, r.Merged+o.Merged, r.Contested+o.Contested
	r.Dropped, r.Tokens, r.Held = r.Dropped+o.Dropped, r.Tokens+o.Tokens, r.Held || o.Held
	if len(o.Refused) > 0 {
		sum := make(map[string]int, len(r.Refused)+len(o.Refused))
		for reason, n := range r.Refused {
			sum[reason] += n
		}
		for reason, n := range o.Refused {
			sum[reason] += n
		}
		r.Refused = sum
	}
	return r
}

// Changes returns the number of records that a run changed.
func (r LearnResult) Changes() int { return r.Added + r.Updated + r.Replaced + r.Merged + r.Contested }

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
	After string `json:"after,omitempty" decode:"state"`
	Runs  int    `json:"runs,omitempty" decode:"state"`

	SoFar *ConsolidateAllResult `json:"so_far,omitempty" decode:"state"`

	strict
}

// UnmarshalJSON reads the input strictly; DecodeErr reports what it found.
func (in *ConsolidateAllInput) UnmarshalJSON(data []byte) error {
	type plain ConsolidateAllInput
	in.decoded = check.DecodeInput(data, (*plain)(in))
	return nil
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
	Failures int                         `json:"failures,omitempty" decode:"state"` // consecutive failures
	Runs     int                         `json:"runs,omitempty" decode:"state"`
	SoFar    *ConsolidateWhenQuietResult `json:"so_far,omitempty" decode:"state"`

	strict
}

// UnmarshalJSON reads the input strictly; DecodeErr reports what it found.
func (in *ConsolidateWhenQuietInput) UnmarshalJSON(data []byte) error {
	type plain ConsolidateWhenQuietInput
	in.decoded = check.DecodeInput(data, (*plain)(in))
	return nil
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
