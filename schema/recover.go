package schema

// RecoverRequest takes back soft deletions inside the window (document 002 "Recovery").
type RecoverRequest struct {
	Operation
	Targets []Target `json:"targets"` // if_version 0: any
}

// RecoverStatus is what became of one recovery.
type RecoverStatus string

// The recover statuses.
const (
	RecoverRecovered       RecoverStatus = "recovered"
	RecoverNotFound        RecoverStatus = "not_found"
	RecoverNotDeleted      RecoverStatus = "not_deleted"
	RecoverExpired         RecoverStatus = "retention_expired"
	RecoverErased          RecoverStatus = "erased"
	RecoverVersionConflict RecoverStatus = "version_conflict"
	RecoverDuplicate       RecoverStatus = "duplicate_content_hash"
	RecoverActiveFact      RecoverStatus = "active_fact_exists"
	RecoverFrozen          RecoverStatus = "mutations_frozen"
)

// RecoverItem is what became of one recovery.
type RecoverItem struct {
	ID             string        `json:"id"`
	Status         RecoverStatus `json:"status"`
	CurrentVersion int           `json:"current_version,omitempty"`
	NewVersion     int           `json:"new_version,omitempty"`
	ConflictID     string        `json:"conflict_id,omitempty"` // the live memory in the way
}

// RecoverResult is in the order of the targets.
type RecoverResult struct {
	Items []RecoverItem `json:"items"`
}

// Validate reports every field that is wrong, as a *ValidationError.
func (r *RecoverRequest) Validate() error {
	var p problems
	r.Operation.validate(&p)
	return p.err()
}

// Summary is a word for operators: what became of the request.
func (r RecoverResult) Summary() string { return "ok" }

// Changed lists the memories that the request changed.
func (r RecoverResult) Changed() []string { return nil }
