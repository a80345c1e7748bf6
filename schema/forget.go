package schema

import "time"

// ForgetMode says how much goes.
type ForgetMode string

// The forget modes.
const (
	ForgetSoft  ForgetMode = "soft"  // a tombstone, recoverable within the window
	ForgetForce ForgetMode = "force" // the row and its texts go; history keeps who, when and why
	ForgetErase ForgetMode = "erase" // the texts go everywhere; an empty row and the audit stay
)

// Selector chooses memories to forget: ids, or a query, or filters, among those of the principal.
type Selector struct {
	IDs            []string     `json:"ids,omitempty"`
	Query          string       `json:"query,omitempty"` // full text; all that match, best first
	Limit          int          `json:"limit,omitempty"` // of a query; default MaxForgetSelected
	Types          []MemoryType `json:"types,omitempty"`
	Categories     []Category   `json:"categories,omitempty"`
	Tags           []string     `json:"tags,omitempty"`
	Who            string       `json:"who,omitempty"`
	SourceKind     SourceKind   `json:"source_kind,omitempty"`
	Session        string       `json:"session,omitempty"`
	Since          *time.Time   `json:"since,omitempty"`
	Until          *time.Time   `json:"until,omitempty"`
	IncludeDerived bool         `json:"include_derived,omitempty"` // what was derived from the selected, too
	All            bool         `json:"all,omitempty"`             // needed to select without any other condition
}

// ForgetRequest forgets what the selector selects (document 002 "Forget"). The run selects, shows
// how many and a token, and waits until it is confirmed or the token expires; a small selection of
// ids with execute set needs no confirmation.
type ForgetRequest struct {
	Operation
	Mode     ForgetMode `json:"mode,omitempty"` // default soft
	Selector Selector   `json:"selector"`
	Execute  bool       `json:"execute,omitempty"` // go ahead where no confirmation is needed
	// ExpiresSeconds is how long the run waits; default and at most a day.
	ExpiresSeconds int `json:"expires_seconds,omitempty"`
}

// ForgetPreview is what a run would forget.
type ForgetPreview struct {
	RunID        string     `json:"run_id"`
	WorkflowID   string     `json:"workflow_id"`
	Mode         ForgetMode `json:"mode"`
	Total        int        `json:"total"`
	Pinned       int        `json:"pinned"`                  // soft leaves these alone
	Derived      int        `json:"derived"`                 // memories derived from the selected that are not selected
	Sample       []string   `json:"sample"`                  // ids, at most 100
	ConfirmToken string     `json:"confirm_token,omitempty"` // absent when none is needed
	ExpiresAt    time.Time  `json:"expires_at"`
}

// ForgetConfirmation lets a run go ahead.
type ForgetConfirmation struct {
	Token  string `json:"token"`
	Actor  string `json:"actor,omitempty"`
	Reason string `json:"reason,omitempty"` // default: the request's
}

// ForgetState is where a run stands.
type ForgetState string

// The forget states.
const (
	ForgetPreviewed ForgetState = "preview"
	ForgetConfirmed ForgetState = "confirmed"
	ForgetDone      ForgetState = "done"
	ForgetExpired   ForgetState = "expired"
	ForgetCancelled ForgetState = "cancelled"
)

// ForgetReceipt says what was removed where: rows by place.
type ForgetReceipt struct {
	State     ForgetState    `json:"state"`
	RunID     string         `json:"run_id"`
	Mode      ForgetMode     `json:"mode"`
	Total     int            `json:"total"`
	Forgotten int            `json:"forgotten"`
	Skipped   map[string]int `json:"skipped,omitempty"`   // by reason: version_conflict, pinned, deleted, not_found, …
	Removed   map[string]int `json:"removed,omitempty"`   // rows by table, vectors by index, runs of Temporal
	Stopped   int            `json:"stopped,omitempty"`   // pipelines that were still working on what is forgotten
	Remaining int            `json:"remaining,omitempty"` // of a run that was cancelled
}

// Validate reports every field that is wrong, as a *ValidationError.
func (r *ForgetRequest) Validate() error {
	var p problems
	r.Operation.validate(&p)
	return p.err()
}
