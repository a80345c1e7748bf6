package schema

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/mneme/mneme/schema/check"
)

// Limits of a forget.
const (
	// DefaultForgetExpiry is how long a run waits for its confirmation, in seconds. A request can shorten it, not
	// extend it.
	DefaultForgetExpiry = 86_400
	// MaxForgetSample is the maximum number of ids that a preview shows.
	MaxForgetSample = 100
	// MaxForgetBatch is the maximum number of memories that one transaction forgets. It is small, so that other
	// writers do not wait long (document 002 "Retention Worker").
	MaxForgetBatch = 500
)

// ForgetMode determines how much is removed.
type ForgetMode string

// The forget modes.
const (
	ForgetSoft  ForgetMode = "soft"  // leaves a tombstone, which can be recovered within the window
	ForgetForce ForgetMode = "force" // deletes the row and its texts; history keeps actor, time and reason
	ForgetErase ForgetMode = "erase" // removes the texts everywhere; an empty row and the audit remain
)

var forgetModes = []ForgetMode{ForgetSoft, ForgetForce, ForgetErase}

// Valid reports whether v is a value of the enumeration.
func (v ForgetMode) Valid() bool { return slices.Contains(forgetModes, v) }

// Selector chooses memories to forget. A memory must meet all conditions.
//
//   - IDs name memories that the principal may read, in any state. Force and erase skip memories of other agents.
//   - Query finds the principal's own live memories by full-text search. All its words must occur. It may contain
//     "a phrase", the operator or, and -word for a word that must not occur; -word needs another word that must occur.
//   - Filters without ids or a query find the principal's own memories in its project and scope. With soft, they find
//     memories that are not forgotten yet, including archived and superseded ones. With force and erase, they also
//     find soft-deleted memories.
type Selector struct {
	IDs            []string     `json:"ids,omitempty"`
	Query          string       `json:"query,omitempty"` // full-text search; selects all matches, best first
	Limit          int          `json:"limit,omitempty"` // with a query: at most this many best matches
	Types          []MemoryType `json:"types,omitempty"`
	Categories     []Category   `json:"categories,omitempty"`
	Tags           []string     `json:"tags,omitempty"`
	Who            string       `json:"who,omitempty"`
	SourceKind     SourceKind   `json:"source_kind,omitempty"`
	Session        string       `json:"session,omitempty"`
	Since          *time.Time   `json:"since,omitempty"`
	Until          *time.Time   `json:"until,omitempty"`
	IncludeDerived bool         `json:"include_derived,omitempty"` // also memories derived from the selected ones
	All            bool         `json:"all,omitempty"`             // all memories; only without another condition

	// Everywhere also selects memories with the same content: the sources of the selected memories, their
	// restatements, and memories extracted from them. An erase always selects these, unless OnlyNamed is set.
	Everywhere bool `json:"everywhere,omitempty"`
	OnlyNamed  bool `json:"only_named,omitempty"`
}

// ForgetRequest forgets the memories that the selector selects (document 002 "Forget"). The run selects them, shows
// how many and a token, and waits until it is confirmed or the token expires. With Execute, a small selection of ids
// needs no confirmation.
type ForgetRequest struct {
	Operation
	Mode     ForgetMode `json:"mode,omitempty"` // default soft
	Selector Selector   `json:"selector"`
	Execute  bool       `json:"execute,omitempty"` // execute if no confirmation is needed
	// IfVersion is the version that the one selected memory must have; 0 accepts any version. If the memory has
	// another version, the run fails with a *VersionConflict and changes nothing (document 002 "Forget").
	IfVersion int `json:"if_version,omitempty"`
	// ExpiresSeconds is how long the run waits for its confirmation. The default and the maximum are a day.
	ExpiresSeconds int `json:"expires_seconds,omitempty"`
	// BatchSize is how many memories one transaction forgets. The default and the maximum are MaxForgetBatch.
	// Smaller batches hold locks for a shorter time.
	BatchSize int `json:"batch_size,omitempty"`

	problems []FieldError // found by decoding
}

// ForgetPreview is what a run would forget.
type ForgetPreview struct {
	RunID      string      `json:"run_id"`
	WorkflowID string      `json:"workflow_id"`
	Mode       ForgetMode  `json:"mode"`
	State      ForgetState `json:"state"`               // preview, or confirmed if the run needs no confirmation
	Total      int         `json:"total"`               // ids named, or memories selected
	NotFound   int         `json:"not_found,omitempty"` // named ids of memories that do not exist for the principal
	Pinned     int         `json:"pinned"`              // pinned memories; soft skips them
	// NotOwner counts other agents' memories that the principal may read. Force and erase skip them.
	NotOwner int `json:"not_owner,omitempty"`
	// MustStay counts memories that have a world_id or are linked to an action. Force skips them; erase removes their
	// texts and keeps their rows.
	MustStay int `json:"must_stay,omitempty"`
	// Learned counts procedures and plans that were learned only from the selected episodes. They are selected too.
	Learned int      `json:"learned,omitempty"`
	Derived int      `json:"derived"` // memories derived from the selected ones and not selected themselves
	Sample  []string `json:"sample"`  // ids, at most 100
	// SaysSame counts memories with the same content as the selected ones. With Everywhere they are selected too;
	// otherwise they are only listed.
	Everywhere bool         `json:"everywhere,omitempty"`
	SaysSame   int          `json:"says_same,omitempty"`
	Echoes     []ForgetEcho `json:"echoes,omitempty"` // memories with the same content, at most 100
	// SaysSameNotOwner counts those of other agents. Force and erase skip them.
	SaysSameNotOwner int `json:"says_same_not_owner,omitempty"`
	// ConfirmToken is set only by Store.ForgetToken, so that results kept in Temporal do not contain it.
	ConfirmToken string    `json:"confirm_token,omitempty"`
	ExpiresAt    time.Time `json:"expires_at"`
}

// ForgetEcho is a memory with the same content as a selected one, or with a part of it.
type ForgetEcho struct {
	ID  string `json:"id"`
	Tie string `json:"tie"` // source, restatement or derived
	// AlsoSays is how many other statements the text contains. They are lost with the text; the facts that were
	// extracted from it remain.
	AlsoSays int `json:"also_says,omitempty"`
}

// ForgetConfirmation lets a run go ahead.
type ForgetConfirmation struct {
	Token  string `json:"token"`
	Actor  string `json:"actor,omitempty"`
	Reason string `json:"reason,omitempty"` // empty: the reason of the request

	decoded check.Decoded
}

// ForgetState is the state of a run.
type ForgetState string

// The forget states.
const (
	ForgetPreviewed ForgetState = "preview"
	ForgetConfirmed ForgetState = "confirmed"
	ForgetDone      ForgetState = "done"
	ForgetExpired   ForgetState = "expired"
	ForgetCancelled ForgetState = "cancelled"
)

// ForgetReceipt counts what a run removed, by place.
type ForgetReceipt struct {
	State     ForgetState `json:"state"`
	RunID     string      `json:"run_id"`
	Mode      ForgetMode  `json:"mode"`
	Total     int         `json:"total"`
	Forgotten int         `json:"forgotten"`
	// Skipped counts unchanged memories by reason: version_conflict, pinned, deleted, not_owner, world, action_linked,
	// not_found, ….
	Skipped   map[string]int `json:"skipped,omitempty"`
	Removed   map[string]int `json:"removed,omitempty"`   // rows by table, vectors by index, runs of Temporal
	Stopped   int            `json:"stopped,omitempty"`   // pipelines that were still processing forgotten memories
	Remaining int            `json:"remaining,omitempty"` // memories not processed when the run was cancelled
	// Pending lists places that could not be reached. Their texts must be removed later, or by hand.
	Pending []string `json:"pending,omitempty"`

	Everywhere bool `json:"everywhere,omitempty"` // memories with the same content were selected too

	// The following fields are set when the run has ended.

	// IDs lists forgotten memories, at most MaxForgetIDs. The items of the run list all of them.
	IDs       []string     `json:"ids,omitempty"`
	StillSaid int          `json:"still_said,omitempty"` // remaining memories with the same content
	Echoes    []ForgetEcho `json:"echoes,omitempty"`     // these memories, at most 100
}

// selectorFilters reports whether the selector has a condition other than ids.
func (s *Selector) selectorFilters() bool {
	return s.Query != "" || len(s.Types) > 0 || len(s.Categories) > 0 || len(s.Tags) > 0 ||
		s.Who != "" || s.SourceKind != "" ||
		s.Session != "" || s.Since != nil || s.Until != nil
}

// Named reports whether the selector has only ids, and selects no derived memories or memories with the same content.
func (s *Selector) Named() bool {
	return len(s.IDs) > 0 && !s.selectorFilters() && !s.IncludeDerived && !s.Everywhere
}

// maxListedIDs is the maximum number of invalid ids of a request that are reported.
const maxListedIDs = 20

func (s *Selector) validate(p *check.Problems, path string) {
	if len(s.IDs) == 0 && !s.selectorFilters() && !s.All {
		p.Add(strings.TrimSuffix(path, "."), "must have a condition, or all must be set")
	}
	if s.All && (len(s.IDs) > 0 || s.selectorFilters()) {
		p.Add(path+"all", "must not be set together with a condition")
	}
	if s.Everywhere && s.OnlyNamed {
		p.Add(path+"only_named", "must not be set together with everywhere")
	}
	if len(s.IDs) > MaxForgetIDs {
		p.Add(path+"ids", "must hold at most %d ids, got %d", MaxForgetIDs, len(s.IDs))
	}
	bad := 0
	for i, id := range s.IDs {
		if !isUUID(id) && bad < maxListedIDs {
			bad++
			p.Add(fmt.Sprintf("%sids[%d]", path, i), "must be a UUID")
		}
	}
	if s.Query != "" && isBlank(s.Query) {
		p.Add(path+"query", "is blank")
	}
	check.Text(p, path+"query", s.Query, MaxQueryBytes)
	switch {
	case s.Limit < 0 || s.Limit > MaxForgetSelected:
		p.Add(path+"limit", "must be between 1 and %d", MaxForgetSelected)
	case s.Limit > 0 && s.Query == "":
		p.Add(path+"limit", "is allowed only with a query")
	}
	for i, t := range s.Types {
		if !t.Valid() {
			p.Add(fmt.Sprintf("%stypes[%d]", path, i), "must be one of %s", check.Names(memoryTypes))
		}
	}
	for i, c := range s.Categories {
		if !c.Valid() {
			p.Add(fmt.Sprintf("%scategories[%d]", path, i), "must be one of %s", check.Names(categories))
		}
	}
	if len(s.Tags) > MaxTags {
		p.Add(path+"tags", "must hold at most %d tags", MaxTags)
	}
	for i, tag := range s.Tags {
		field := fmt.Sprintf("%stags[%d]", path, i)
		if isBlank(tag) {
			p.Add(field, "is empty")
		}
		check.Text(p, field, tag, MaxTagLength)
	}
	check.Text(p, path+"who", s.Who, MaxNameLength)
	check.Text(p, path+"session", s.Session, MaxNameLength)
	if s.SourceKind != "" && !s.SourceKind.Valid() {
		p.Add(path+"source_kind", "must be one of %s", check.Names(sourceKinds))
	}
	if s.Since != nil && s.Until != nil && !s.Since.Before(*s.Until) {
		p.Add(path+"until", "must be after since")
	}
}

// ForgetStatus is the current state of a run.
type ForgetStatus struct {
	ForgetReceipt
	WorkflowID  string     `json:"workflow_id"`
	Agent       string     `json:"agent"`
	Reason      string     `json:"reason"`
	RequestedBy string     `json:"requested_by"`
	ConfirmedBy string     `json:"confirmed_by,omitempty"`
	ExpiresAt   time.Time  `json:"expires_at"` // when the run stops waiting for its confirmation
	ConfirmedAt *time.Time `json:"confirmed_at,omitempty"`
	FinishedAt  *time.Time `json:"finished_at,omitempty"`
	CreatedAt   time.Time  `json:"created_at"`
}

// ForgetItem is one memory of a run's selection.
type ForgetItem struct {
	Ordinal  int    `json:"ordinal"` // from 0: first the selected memories, then the ids that were not found
	MemoryID string `json:"memory_id"`
	Version  int    `json:"version,omitempty"` // the memory's version when it was selected; 0 if it was not found
	Outcome  string `json:"outcome,omitempty"` // forgotten, or why the memory was skipped; empty until it is processed
	// Tie says why a memory with the same content was selected: source, restatement or derived.
	Tie string `json:"tie,omitempty"`
}

// ForgetApproval is the answer to a confirmation.
type ForgetApproval struct {
	State   ForgetState `json:"state"`
	Already bool        `json:"already,omitempty"` // the run was confirmed before, and this call changed nothing
}

// Validate returns a *ValidationError that lists every invalid field. It does not set defaults: see HowMuch and Expiry.
func (r *ForgetRequest) Validate() error {
	if len(r.problems) > 0 { // other checks would report consequential errors
		return &ValidationError{Fields: r.problems}
	}
	var p check.Problems
	r.Operation.validate(&p)
	r.requireReason(&p)
	if r.Mode != "" && !r.Mode.Valid() {
		p.Add("mode", "must be one of %s", check.Names(forgetModes))
	}
	r.Selector.validate(&p, "selector.")
	switch {
	case r.IfVersion < 0:
		p.Add("if_version", "must not be negative")
	case r.IfVersion > 0 && (len(r.Selector.IDs) != 1 || !r.Selector.Named() || r.TakesEverywhere()):
		p.Add("if_version",
			"is allowed only with a single id, without other conditions; erase also needs only_named")
	}
	if r.ExpiresSeconds < 0 || r.ExpiresSeconds > DefaultForgetExpiry {
		p.Add("expires_seconds", "must be between 1 and %d", DefaultForgetExpiry)
	}
	if r.BatchSize < 0 || r.BatchSize > MaxForgetBatch {
		p.Add("batch_size", "must be between 1 and %d", MaxForgetBatch)
	}
	return p.Err()
}

// HowMuch returns the mode, or soft if the request has none.
func (r *ForgetRequest) HowMuch() ForgetMode {
	if r.Mode == "" {
		return ForgetSoft
	}
	return r.Mode
}

// TakesEverywhere reports whether memories with the same content as the selected ones are forgotten too.
func (r *ForgetRequest) TakesEverywhere() bool {
	return r.Selector.Everywhere || r.HowMuch() == ForgetErase && !r.Selector.OnlyNamed
}

// Expiry returns how long the run waits for its confirmation.
func (r *ForgetRequest) Expiry() time.Duration {
	if r.ExpiresSeconds == 0 {
		return DefaultForgetExpiry * time.Second
	}
	return time.Duration(r.ExpiresSeconds) * time.Second
}

// maxTokenLength is longer than any token.
const maxTokenLength = 200

// Validate returns a *ValidationError that lists every invalid field. It cannot check whether the token belongs to the
// run.
func (c *ForgetConfirmation) Validate() error {
	if err := c.decoded.Err(); err != nil { // other checks would report consequential errors
		return err
	}
	var p check.Problems
	switch {
	case c.Token == "":
		p.Add("token", "is required")
	case len(c.Token) > maxTokenLength || !utf8.ValidString(c.Token):
		p.Add("token", "is not a token")
	}
	check.Text(&p, "actor", c.Actor, MaxNameLength)
	check.Text(&p, "reason", c.Reason, MaxReasonLength)
	return p.Err()
}

// Processed returns how many selected memories were forgotten or skipped.
func (r ForgetReceipt) Processed() int {
	n := r.Forgotten
	for _, skipped := range r.Skipped {
		n += skipped
	}
	return n
}

// Summary returns the outcome of the run in one word.
func (r ForgetReceipt) Summary() string { return string(r.State) }

// Skip counts n memories that were not changed.
func (r *ForgetReceipt) Skip(reason string, n int) { tally(&r.Skipped, reason, n) }

// Remove counts n rows that were removed from a place.
func (r *ForgetReceipt) Remove(place string, n int) { tally(&r.Removed, place, n) }

// Clone returns a receipt that shares no map with this one.
func (r ForgetReceipt) Clone() ForgetReceipt {
	r.IDs, r.Echoes = slices.Clone(r.IDs), slices.Clone(r.Echoes)
	r.Skipped, r.Removed = maps.Clone(r.Skipped), maps.Clone(r.Removed)
	return r
}

func tally(m *map[string]int, key string, n int) {
	if n == 0 {
		return
	}
	if *m == nil {
		*m = map[string]int{}
	}
	(*m)[key] += n
}

// Reasons for refusing a confirm token. The errors do not quote the token.
var (
	// ErrTokenMalformed means that the text is not a token.
	ErrTokenMalformed = errors.New("the confirm token is malformed")
	// ErrTokenExpired means that the token was valid and has expired.
	ErrTokenExpired = errors.New("the confirm token has expired")
	// ErrTokenOther means that the token is not for this run, its rows and its mode.
	ErrTokenOther = errors.New("the confirm token is for other memories")
)

// ErrForgetClosed means that a forget run has ended without a confirmation.
var ErrForgetClosed = errors.New("the run has expired or was cancelled")
