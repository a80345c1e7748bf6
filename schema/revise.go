package schema

import (
	"fmt"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/mneme/mneme/schema/check"
)

// ReviseAction is a revision operation (document 004 §7, §12 and §15.7).
type ReviseAction string

// The revision operations.
const (
	ReviseSupersede ReviseAction = "supersede" // the record replaces the targets
	ReviseFork      ReviseAction = "fork"      // the record holds along with the target, under disjoint conditions
	ReviseRetract   ReviseAction = "retract"   // the targets are no longer considered true
	ReviseMerge     ReviseAction = "merge"     // the record combines the targets
	ReviseContest   ReviseAction = "contest"   // target and record contradict each other until it is resolved
	ReviseResolve   ReviseAction = "resolve"   // one of the contested targets, or the record, becomes active
	ReviseReconcile ReviseAction = "reconcile" // choose supersede, fork or contest by policy and evidence
)

// reviseActions lists the actions in the order in which they are documented.
var reviseActions = []ReviseAction{ReviseSupersede, ReviseFork, ReviseRetract, ReviseMerge,
	ReviseContest, ReviseResolve, ReviseReconcile}

// Valid reports whether v is a value of the enumeration.
func (v ReviseAction) Valid() bool { return slices.Contains(reviseActions, v) }

// Target names a memory and the version that the caller read.
type Target struct {
	ID        string `json:"id"`
	IfVersion int    `json:"if_version"` // required; another version results in version_conflict
}

// ReviseRequest revises memories in one transaction.
type ReviseRequest struct {
	Operation
	Action  ReviseAction `json:"action"`
	Targets []Target     `json:"targets"` // 1 to MaxRevisionTargets, each once
	// Record is the new statement. Supersede, fork, merge, contest and reconcile require it, resolve accepts it instead
	// of a winner, and retract does not allow it. A record that has an id and neither payload nor content names an
	// existing memory (supersede, merge and contest). Its version, if given, must be the current one.
	//
	// It belongs to the owner of the targets and is as visible as the least visible of them, unless it or a rule sets
	// a visibility. A revision must not hide another agent's targets from their readers: the record is then as
	// visible as the least visible of these targets. It is never less sensitive than any target, and a target's pin
	// passes to it.
	//
	// If a semantic record without content has the first target's subject and predicate, and another object, its text
	// is the target's sentence with the new object instead of the old one. If the old value does not occur exactly
	// once in the sentence, the revision is refused: give the record content, or Replace.
	Record *MemoryRecord `json:"record,omitempty"`
	// Replace is the text of the first target that the record's object replaces, by default the target's object. The
	// predicate states needs it for a new value, because its object is the whole sentence.
	Replace string `json:"replace,omitempty"`
	// TargetConditions is the new validity of the target of a fork, if the target is global or its conditions overlap
	// those of the record. The target is replaced by a copy with this validity, which must be within the target's
	// validity and disjoint from the record's.
	TargetConditions *Validity `json:"target_conditions,omitempty"`
	Winner           string    `json:"winner,omitempty"` // for resolve: the target that supersedes the others
	// Evidence justifies the revision. At least one ref is required. If a ref is the id of a memory that the caller may
	// see, a relation supports from that memory to the new one is added.
	Evidence []Ref `json:"evidence"`

	problems []FieldError // found by decoding
}

// Names reports whether the record only names an existing memory.
func (r *ReviseRequest) Names() bool {
	return r.Record != nil && r.Record.ID != "" && r.Record.Content == "" &&
		(len(r.Record.Payload) == 0 || string(r.Record.Payload) == "null")
}

// ReviseStatus is the outcome of a revision.
type ReviseStatus string

// The revision statuses. Only applied changes memories.
const (
	ReviseApplied         ReviseStatus = "applied"
	ReviseVersionConflict ReviseStatus = "version_conflict"
	ReviseNotFound        ReviseStatus = "not_found"
	ReviseNotLive         ReviseStatus = "not_live"           // deleted, archived, superseded or retracted
	ReviseEpisodic        ReviseStatus = "append_only"        // episodes cannot be corrected
	ReviseOverlap         ReviseStatus = "conditions_overlap" // a fork whose grounds are not disjoint
	ReviseActiveFact      ReviseStatus = "active_fact_exists" // a third memory has the claim
	ReviseDuplicate       ReviseStatus = "duplicate_content_hash"
	ReviseCycle           ReviseStatus = "cyclic_supersession"
	RevisePinned          ReviseStatus = "pinned" // reconcile does not change a pinned memory; an explicit action may
	ReviseFrozen          ReviseStatus = "mutations_frozen"
	// The types of the targets and the record differ, or do not allow the action.
	ReviseWrongType    ReviseStatus = "wrong_type"
	ReviseNotContested ReviseStatus = "not_contested" // resolve of a target that is not contested
	ReviseNoConflict   ReviseStatus = "no_conflict"   // reconcile of statements that can both hold
	ReviseExists       ReviseStatus = "exists"        // another memory has the record's id
	// A target belongs to another agent, and the record would have other readers than the target.
	ReviseNotOwner ReviseStatus = "not_owner"
	ReviseBadRef   ReviseStatus = "unknown_reference" // the record names a memory or an artifact that does not exist
	ReviseInvalid  ReviseStatus = "invalid_record"    // the database refused the record; Why names the field
)

// RevisedMemory is a target after the revision, or a memory that prevented it.
type RevisedMemory struct {
	ID      string `json:"id"`
	Version int    `json:"version"`
	Status  Status `json:"status,omitempty"`
}

// ReviseResult is the result of a revision. Action is the action that reconcile chose, or that of the request.
type ReviseResult struct {
	Status ReviseStatus `json:"status"`
	Action ReviseAction `json:"action"`
	Why    string       `json:"why,omitempty"` // the rule that reconcile applied, or the reason of a refusal
	// Created lists ids of new memories: the record first, then the copy of the target of a fork.
	Created []string        `json:"created,omitempty"`
	Targets []RevisedMemory `json:"targets,omitempty"` // in the order of the request; a refusal lists the current ones
	Record  *RevisedMemory  `json:"record,omitempty"`  // the record after the revision
	// Conflicts are other memories that prevent the revision, because they have the claim or the content.
	Conflicts []RevisedMemory `json:"conflicts,omitempty"`
}

// Validate returns a *ValidationError that lists every invalid field.
func (r *ReviseRequest) Validate() error {
	if len(r.problems) > 0 { // other checks would report consequential errors
		return &ValidationError{Fields: r.problems}
	}
	var p check.Problems
	r.Operation.validate(&p)
	r.requireReason(&p)
	if !r.Action.Valid() {
		p.Add("action", "must be one of %s", check.Names(reviseActions))
	}
	r.validateTargets(&p)
	r.validateRecord(&p)
	r.validateReplace(&p)
	if r.TargetConditions != nil {
		if r.Action != ReviseFork && r.Action != ReviseReconcile {
			p.Add("target_conditions", "are for fork and reconcile only")
		}
		if m := r.TargetConditions.Mode; m == "" || m == ValidGlobal {
			p.Add("target_conditions.mode", "must be conditional or timeboxed")
		} else {
			r.TargetConditions.validate(&p, "target_conditions.")
		}
	}
	switch n := len(r.Evidence); {
	case n == 0:
		p.Add("evidence", "must hold at least one ref")
	case n > MaxRefs:
		p.Add("evidence", "must hold at most %d refs", MaxRefs)
	}
	checkRefs(&p, "evidence", r.Evidence[:min(len(r.Evidence), MaxRefs)])
	return p.Err()
}

func (r *ReviseRequest) validateTargets(p *check.Problems) {
	switch n := len(r.Targets); {
	case n == 0:
		p.Add("targets", "must hold at least one memory")
	case n > MaxRevisionTargets:
		p.Add("targets", "must hold at most %d memories, got %d", MaxRevisionTargets, n)
	case n < 2 && r.Action == ReviseMerge:
		p.Add("targets", "must hold at least two memories to merge")
	case n > 1 && (r.Action == ReviseFork || r.Action == ReviseReconcile):
		p.Add("targets", "must hold exactly one memory to %s", r.Action)
	}
	ids := distinctIDs{}
	for i := range r.Targets[:min(len(r.Targets), MaxRevisionTargets)] {
		path := fmt.Sprintf("targets[%d]", i)
		ids.check(p, path+".id", r.Targets[i].ID)
		if r.Targets[i].IfVersion < 1 {
			p.Add(path+".if_version", "is required and must be at least 1")
		}
	}
	switch {
	case r.Winner == "":
	case r.Action != ReviseResolve:
		p.Add("winner", "is for resolve only")
	case !slices.ContainsFunc(r.Targets, func(t Target) bool { return sameID(t.ID, r.Winner) }):
		p.Add("winner", "must be one of the targets")
	}
}

func (r *ReviseRequest) validateRecord(p *check.Problems) {
	switch {
	case r.Action == ReviseRetract:
		if r.Record != nil {
			p.Add("record", "is not allowed with retract: nothing replaces the targets")
		}
		return
	case r.Action == ReviseResolve:
		if (r.Record == nil) == (r.Winner == "") {
			p.Add("record", "either a record or a winner is required to resolve, not both")
		}
	case r.Record == nil:
		p.Add("record", "is required")
	}
	if r.Record == nil {
		return
	}
	if r.Names() {
		switch {
		case r.Action != ReviseSupersede && r.Action != ReviseMerge && r.Action != ReviseContest:
			p.Add("record.payload", "is required: only supersede, merge and contest accept an existing memory")
		case !isUUID(r.Record.ID):
			p.Add("record.id", "must be a memory id")
		case slices.ContainsFunc(r.Targets, func(t Target) bool { return sameID(t.ID, r.Record.ID) }):
			p.Add("record.id", "is one of the targets")
		}
		return
	}
	if slices.ContainsFunc(r.Targets, func(t Target) bool { return sameID(t.ID, r.Record.ID) }) {
		p.Add("record.id", "is one of the targets: leave it out for a new memory")
	}
	if r.Record.Type == TypeEpisodic {
		p.Add("record.type", "episodes cannot be corrected; use another type")
	}
	r.Record.validate(p, "record.")
}

// validateReplace checks Replace, which only a record without its own content can have.
func (r *ReviseRequest) validateReplace(p *check.Problems) {
	switch {
	case r.Replace == "":
	case isBlank(r.Replace):
		p.Add("replace", "is blank")
	case r.Record == nil || r.Names() || r.Record.Type != TypeSemantic || r.Record.Content != "":
		p.Add("replace", "is allowed only with a semantic record that has an object and no content")
	}
	check.Text(p, "replace", r.Replace, MaxContentBytes)
}

// sameID reports whether two strings are the same UUID.
func sameID(a, b string) bool { return a != "" && strings.EqualFold(a, b) }

func isUUID(s string) bool {
	_, err := uuid.Parse(s)
	return err == nil && len(s) == 36
}

// Summary returns the outcome of the request in one word.
func (r ReviseResult) Summary() string { return string(r.Status) }

// Changed lists the memories that the request changed.
func (r ReviseResult) Changed() []string {
	if r.Status != ReviseApplied {
		return nil
	}
	out := slices.Clone(r.Created)
	if r.Record != nil && !slices.Contains(out, r.Record.ID) {
		out = append(out, r.Record.ID) // it existed already
	}
	for _, t := range r.Targets {
		out = append(out, t.ID)
	}
	return out
}

// RecoverRequest undoes soft deletions within the recovery window (document 002 "Recovery").
type RecoverRequest struct {
	Operation
	Targets []Target `json:"targets"` // 1 to MaxRecoverIDs, each once; if_version 0 accepts any version

	problems []FieldError // found by decoding
}

// RecoverStatus is the outcome of one recovery.
type RecoverStatus string

// The recover statuses. Only recovered changes the memory.
const (
	RecoverRecovered       RecoverStatus = "recovered"
	RecoverNotFound        RecoverStatus = "not_found"
	RecoverNotDeleted      RecoverStatus = "not_deleted"
	RecoverExpired         RecoverStatus = "retention_expired" // the window has ended
	RecoverErased          RecoverStatus = "erased"            // no content is left to recover
	RecoverVersionConflict RecoverStatus = "version_conflict"
	RecoverDuplicate       RecoverStatus = "duplicate_content_hash" // a live memory has the same content
	RecoverActiveFact      RecoverStatus = "active_fact_exists"     // another active fact has the claim
	RecoverFrozen          RecoverStatus = "mutations_frozen"
)

// RecoverItem is the outcome of one recovery.
type RecoverItem struct {
	ID             string        `json:"id"`
	Status         RecoverStatus `json:"status"`
	CurrentVersion int           `json:"current_version,omitempty"` // version before the change, or the current one
	NewVersion     int           `json:"new_version,omitempty"`
	ConflictID     string        `json:"conflict_id,omitempty"` // the live memory that prevents the recovery
}

// RecoverResult holds the results in the order of the targets.
type RecoverResult struct {
	Items []RecoverItem `json:"items"`
}

// Validate returns a *ValidationError that lists every invalid field.
func (r *RecoverRequest) Validate() error {
	if len(r.problems) > 0 { // other checks would report consequential errors
		return &ValidationError{Fields: r.problems}
	}
	var p check.Problems
	r.Operation.validate(&p)
	r.requireReason(&p)
	switch n := len(r.Targets); {
	case n == 0:
		p.Add("targets", "must hold at least one memory")
	case n > MaxRecoverIDs:
		p.Add("targets", "must hold at most %d memories, got %d", MaxRecoverIDs, n)
	}
	ids := distinctIDs{}
	for i := range r.Targets[:min(len(r.Targets), MaxRecoverIDs)] {
		path := fmt.Sprintf("targets[%d]", i)
		ids.check(&p, path+".id", r.Targets[i].ID)
		if r.Targets[i].IfVersion < 0 {
			p.Add(path+".if_version", "must not be negative")
		}
	}
	return p.Err()
}

// Refused counts the memories that were not recovered.
func (r RecoverResult) Refused() int { return len(r.Items) - len(r.Changed()) }

// Summary returns ok, partial or refused.
func (r RecoverResult) Summary() string { return summaryWord(len(r.Changed()), r.Refused()) }

// Changed lists the memories that the request changed.
func (r RecoverResult) Changed() []string {
	var out []string
	for _, item := range r.Items {
		if item.Status == RecoverRecovered {
			out = append(out, item.ID)
		}
	}
	return out
}
