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
	// MaxForgetSample is how many ids a preview shows.
	MaxForgetSample = 100
	// MaxForgetBatch is how many memories one transaction forgets (document 002 "Retention Worker": each
	// step is capped, so that no writer waits long).
	MaxForgetBatch = 500
)

// ForgetMode is how much is removed.
type ForgetMode string

// The forget modes.
const (
	ForgetSoft  ForgetMode = "soft"  // a tombstone, recoverable within the window
	ForgetForce ForgetMode = "force" // the row and its texts go; history keeps who, when and why
	ForgetErase ForgetMode = "erase" // the texts go everywhere; an empty row and the audit stay
)

var forgetModes = []ForgetMode{ForgetSoft, ForgetForce, ForgetErase}

// Valid reports whether the value is one of the enumeration.
func (v ForgetMode) Valid() bool { return slices.Contains(forgetModes, v) }

// Selector chooses memories to forget. Conditions narrow each other.
//
// Ids name memories that the principal may read, in any state; force and erase do not change those of other agents. A
// query finds live memories of the principal's own that match it in full text: words that must all occur, "a phrase",
// or, and -not together with a word that must occur. Filters alone find the principal's own memories in its project
// and scope: for soft those that are not forgotten yet, including archived and superseded ones; for force and erase
// also soft-deleted ones.
type Selector struct {
	IDs            []string     `json:"ids,omitempty"`
	Query          string       `json:"query,omitempty"` // full text; all that match, best first
	Limit          int          `json:"limit,omitempty"` // of a query: the best so many
	Types          []MemoryType `json:"types,omitempty"`
	Categories     []Category   `json:"categories,omitempty"`
	Tags           []string     `json:"tags,omitempty"`
	Who            string       `json:"who,omitempty"`
	SourceKind     SourceKind   `json:"source_kind,omitempty"`
	Session        string       `json:"session,omitempty"`
	Since          *time.Time   `json:"since,omitempty"`
	Until          *time.Time   `json:"until,omitempty"`
	IncludeDerived bool         `json:"include_derived,omitempty"` // also memories derived from the selected ones
	All            bool         `json:"all,omitempty"`             // needed to select without any other condition

	// Everywhere also selects memories with the same content: the sources of the selected memories, their
	// restatements, and memories extracted from them. An erase does so unless OnlyNamed is set.
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
	// IfVersion forgets the one memory that the selector names only if this is its current version; 0: any. Otherwise
	// the run fails with a *VersionConflict, and nothing is changed (document 002 "Forget").
	IfVersion int `json:"if_version,omitempty"`
	// ExpiresSeconds is how long the run waits; default and at most a day.
	ExpiresSeconds int `json:"expires_seconds,omitempty"`
	// BatchSize is how many memories one transaction forgets; default and at most MaxForgetBatch. Fewer hold
	// their locks for less long.
	BatchSize int `json:"batch_size,omitempty"`

	problems []FieldError // what decoding found wrong
}

// ForgetPreview is what a run would forget.
type ForgetPreview struct {
	RunID      string      `json:"run_id"`
	WorkflowID string      `json:"workflow_id"`
	Mode       ForgetMode  `json:"mode"`
	State      ForgetState `json:"state"`               // preview, or confirmed if it continues at once
	Total      int         `json:"total"`               // ids named, or memories selected
	NotFound   int         `json:"not_found,omitempty"` // named ids that the principal has no memory for
	Pinned     int         `json:"pinned"`              // not changed by soft
	// Other agents' memories that the principal may read: not changed by force and erase.
	NotOwner int `json:"not_owner,omitempty"`
	// Of a world or linked to an action: not changed by force, emptied by erase.
	MustStay int      `json:"must_stay,omitempty"`
	Derived  int      `json:"derived"` // memories derived from the selected that are not selected
	Sample   []string `json:"sample"`  // ids, at most 100
	// Memories with the same content as the selected ones: selected too with Everywhere, otherwise only listed.
	Everywhere bool         `json:"everywhere,omitempty"`
	SaysSame   int          `json:"says_same,omitempty"`
	Echoes     []ForgetEcho `json:"echoes,omitempty"` // at most 100
	// other agents' memories, not changed by force and erase
	SaysSameNotOwner int `json:"says_same_not_owner,omitempty"`
	// From Store.ForgetToken alone: it stays out of results that Temporal keeps.
	ConfirmToken string    `json:"confirm_token,omitempty"`
	ExpiresAt    time.Time `json:"expires_at"`
}

// ForgetEcho is a memory that says what a selected one says, or a part of it.
type ForgetEcho struct {
	ID  string `json:"id"`
	Tie string `json:"tie"` // source, restatement or derived
	// AlsoSays is how many other things its text says. They are lost with the text; facts extracted from it stay.
	AlsoSays int `json:"also_says,omitempty"`
}

// ForgetConfirmation lets a run go ahead.
type ForgetConfirmation struct {
	Token  string `json:"token"`
	Actor  string `json:"actor,omitempty"`
	Reason string `json:"reason,omitempty"` // default: the request's

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

// ForgetReceipt says what was removed where: rows by place.
type ForgetReceipt struct {
	State     ForgetState `json:"state"`
	RunID     string      `json:"run_id"`
	Mode      ForgetMode  `json:"mode"`
	Total     int         `json:"total"`
	Forgotten int         `json:"forgotten"`
	// By reason: version_conflict, pinned, deleted, not_owner, world, action_linked, not_found, ….
	Skipped   map[string]int `json:"skipped,omitempty"`
	Removed   map[string]int `json:"removed,omitempty"`   // rows by table, vectors by index, runs of Temporal
	Stopped   int            `json:"stopped,omitempty"`   // pipelines that were still processing forgotten memories
	Remaining int            `json:"remaining,omitempty"` // of a run that was cancelled
	// Places that could not be reached: the text there must be removed later, or by hand.
	Pending []string `json:"pending,omitempty"`

	Everywhere bool `json:"everywhere,omitempty"` // memories with the same content were selected too
	// Of a run that has ended:
	// What was forgotten, at most MaxForgetIDs; a run's items list all.
	IDs       []string     `json:"ids,omitempty"`
	StillSaid int          `json:"still_said,omitempty"` // memories that are left and say the same
	Echoes    []ForgetEcho `json:"echoes,omitempty"`     // those, at most 100
}

// selectorFilters says whether the selector has a condition other than ids.
func (s *Selector) selectorFilters() bool {
	return s.Query != "" || len(s.Types) > 0 || len(s.Categories) > 0 || len(s.Tags) > 0 ||
		s.Who != "" || s.SourceKind != "" ||
		s.Session != "" || s.Since != nil || s.Until != nil
}

// Named reports whether the selector names its memories one by one, and selects in no other way.
func (s *Selector) Named() bool {
	return len(s.IDs) > 0 && !s.selectorFilters() && !s.IncludeDerived && !s.Everywhere
}

// maxListedIDs bounds how many invalid ids of a request are reported one by one.
const maxListedIDs = 20

func (s *Selector) validate(p *check.Problems, path string) {
	if len(s.IDs) == 0 && !s.selectorFilters() && !s.All {
		p.Add(strings.TrimSuffix(path, "."), "must have a condition, or all set")
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
	ExpiresAt   time.Time  `json:"expires_at"` // of the confirmation
	ConfirmedAt *time.Time `json:"confirmed_at,omitempty"`
	FinishedAt  *time.Time `json:"finished_at,omitempty"`
	CreatedAt   time.Time  `json:"created_at"`
}

// ForgetItem is one memory of a run's selection.
type ForgetItem struct {
	Ordinal  int    `json:"ordinal"` // from 0; the memories that are selected, then ids that are not found
	MemoryID string `json:"memory_id"`
	Version  int    `json:"version,omitempty"` // version when it was selected; 0 if it was not found
	Outcome  string `json:"outcome,omitempty"` // forgotten, or why not; empty while it waits
	// Of what was taken because it says the same: source, restatement or derived.
	Tie string `json:"tie,omitempty"`
}

// ForgetApproval is the answer to a confirmation.
type ForgetApproval struct {
	State   ForgetState `json:"state"`
	Already bool        `json:"already,omitempty"` // the run had been confirmed before; nothing was done
}

// Validate reports every field that is wrong, as a *ValidationError. It changes nothing: see Mode and
// ExpiresSeconds for what their zero values mean.
func (r *ForgetRequest) Validate() error {
	if len(r.problems) > 0 { // other checks would report consequences of these
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
			"is allowed only with a single id: no other condition, nothing derived, and only_named with erase")
	}
	if r.ExpiresSeconds < 0 || r.ExpiresSeconds > DefaultForgetExpiry {
		p.Add("expires_seconds", "must be between 1 and %d", DefaultForgetExpiry)
	}
	if r.BatchSize < 0 || r.BatchSize > MaxForgetBatch {
		p.Add("batch_size", "must be between 1 and %d", MaxForgetBatch)
	}
	return p.Err()
}

// HowMuch is the mode, soft when none is given.
func (r *ForgetRequest) HowMuch() ForgetMode {
	if r.Mode == "" {
		return ForgetSoft
	}
	return r.Mode
}

// TakesEverywhere reports whether what says the same as the selected is forgotten with them.
func (r *ForgetRequest) TakesEverywhere() bool {
	return r.Selector.Everywhere || r.HowMuch() == ForgetErase && !r.Selector.OnlyNamed
}

// Expiry is how long the run waits for its confirmation.
func (r *ForgetRequest) Expiry() time.Duration {
	if r.ExpiresSeconds == 0 {
		return DefaultForgetExpiry * time.Second
	}
	return time.Duration(r.ExpiresSeconds) * time.Second
}

// maxTokenLength is longer than any token.
const maxTokenLength = 200

// Validate reports every field that is wrong, as a *ValidationError. Whether the token is right is
// another question, which needs the run.
func (c *ForgetConfirmation) Validate() error {
	if err := c.decoded.Err(); err != nil { // other checks would report consequences of these
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

// Processed is how many of the selected have been dealt with.
func (r ForgetReceipt) Processed() int {
	n := r.Forgotten
	for _, skipped := range r.Skipped {
		n += skipped
	}
	return n
}

// Summary is a word for operators: the outcome of the run.
func (r ForgetReceipt) Summary() string { return string(r.State) }

// Skip counts one memory that was not changed.
func (r *ForgetReceipt) Skip(reason string, n int) { tally(&r.Skipped, reason, n) }

// Remove counts rows that went from a place.
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

// Why a confirm token is refused. None of them says anything about the token's text.
var (
	// ErrTokenMalformed means that the text is not a token.
	ErrTokenMalformed = errors.New("the confirm token is malformed")
	// ErrTokenExpired means that the token was good and has expired.
	ErrTokenExpired = errors.New("the confirm token has expired")
	// ErrTokenOther means that the token is not for this run, its rows and its mode.
	ErrTokenOther = errors.New("the confirm token is for other memories")
)

// ErrForgetClosed means that a forget run has ended without having been confirmed.
var ErrForgetClosed = errors.New("the run has expired or was cancelled")
