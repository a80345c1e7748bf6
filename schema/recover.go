package schema

import "fmt"

// RecoverRequest takes back soft deletions inside the window (document 002 "Recovery").
type RecoverRequest struct {
	Operation
	Targets []Target `json:"targets"` // 1 to MaxRecoverIDs, each once; if_version 0: any

	problems []FieldError // what decoding found wrong
}

// RecoverStatus is what became of one recovery.
type RecoverStatus string

// The recover statuses. All but recovered leave the memory as it was.
const (
	RecoverRecovered       RecoverStatus = "recovered"
	RecoverNotFound        RecoverStatus = "not_found"
	RecoverNotDeleted      RecoverStatus = "not_deleted"
	RecoverExpired         RecoverStatus = "retention_expired" // the window is over
	RecoverErased          RecoverStatus = "erased"            // there is nothing left to recover
	RecoverVersionConflict RecoverStatus = "version_conflict"
	RecoverDuplicate       RecoverStatus = "duplicate_content_hash" // a live memory has the same content
	RecoverActiveFact      RecoverStatus = "active_fact_exists"     // another active fact makes the claim
	RecoverFrozen          RecoverStatus = "mutations_frozen"
)

// RecoverItem is what became of one recovery.
type RecoverItem struct {
	ID             string        `json:"id"`
	Status         RecoverStatus `json:"status"`
	CurrentVersion int           `json:"current_version,omitempty"` // before, or what stands
	NewVersion     int           `json:"new_version,omitempty"`
	ConflictID     string        `json:"conflict_id,omitempty"` // the live memory in the way
}

// RecoverResult is in the order of the targets.
type RecoverResult struct {
	Items []RecoverItem `json:"items"`
}

// Validate reports every field that is wrong, as a *ValidationError.
func (r *RecoverRequest) Validate() error {
	if len(r.problems) > 0 { // the rest is what is left when that is missing
		return &ValidationError{Fields: r.problems}
	}
	var p problems
	r.Operation.validate(&p)
	r.requireReason(&p)
	switch n := len(r.Targets); {
	case n == 0:
		p.add("targets", "must hold at least one memory")
	case n > MaxRecoverIDs:
		p.add("targets", "must hold at most %d memories, got %d", MaxRecoverIDs, n)
	}
	ids := distinctIDs{}
	for i := range r.Targets[:min(len(r.Targets), MaxRecoverIDs)] {
		path := fmt.Sprintf("targets[%d]", i)
		ids.check(&p, path+".id", r.Targets[i].ID)
		if r.Targets[i].IfVersion < 0 {
			p.add(path+".if_version", "must not be negative")
		}
	}
	return p.err()
}

// Refused counts the memories that were not recovered.
func (r RecoverResult) Refused() int { return len(r.Items) - len(r.Changed()) }

// Summary is a word for operators: ok, partial or refused.
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
