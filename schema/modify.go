package schema

// Patch changes one memory (document 002 "Modify"). A nil field stays as it is.
type Patch struct {
	ID         string    `json:"id"`
	IfVersion  int       `json:"if_version,omitempty"` // 0: any
	Reason     string    `json:"reason,omitempty"`     // default: the request's
	Content    *string   `json:"content,omitempty"`
	Category   *Category `json:"category,omitempty"` // document 002 calls it type
	Importance *float64  `json:"importance,omitempty"`
	Tags       *[]string `json:"tags,omitempty"`
	Pinned     *bool     `json:"pinned,omitempty"`
	Who        *string   `json:"who,omitempty"`
	Force      bool      `json:"force,omitempty"` // change the content of a pinned memory
}

// ModifyRequest applies patches, each on its own.
type ModifyRequest struct {
	Operation
	Patches []Patch `json:"patches"`
}

// PatchStatus is what became of a patch.
type PatchStatus string

// The patch statuses. All but updated leave the memory as it was.
const (
	PatchUpdated         PatchStatus = "updated"
	PatchNoChanges       PatchStatus = "no_changes"
	PatchNotFound        PatchStatus = "not_found"
	PatchDeleted         PatchStatus = "deleted"
	PatchVersionConflict PatchStatus = "version_conflict"
	PatchDuplicate       PatchStatus = "duplicate_content_hash"
	PatchPinned          PatchStatus = "pinned"
	PatchAppendOnly      PatchStatus = "append_only" // the content of an episode
	PatchNotLive         PatchStatus = "not_live"    // superseded, retracted or archived
	PatchFrozen          PatchStatus = "mutations_frozen"
)

// PatchResult is what became of one patch.
type PatchResult struct {
	ID             string      `json:"id"`
	Status         PatchStatus `json:"status"`
	CurrentVersion int         `json:"current_version,omitempty"` // before, or what stands
	NewVersion     int         `json:"new_version,omitempty"`
	ContentChanged bool        `json:"content_changed,omitempty"`
	Embedded       bool        `json:"embedded,omitempty"` // false: the embedding follows with the outbox
	DuplicateID    string      `json:"duplicate_memory_id,omitempty"`
}

// ModifyResult is in the order of the patches.
type ModifyResult struct {
	Results []PatchResult `json:"results"`
	Updated int           `json:"updated"`
}

// Validate reports every field that is wrong, as a *ValidationError.
func (r *ModifyRequest) Validate() error {
	var p problems
	r.Operation.validate(&p)
	return p.err()
}

// Summary is a word for operators: what became of the request.
func (r ModifyResult) Summary() string { return "ok" }

// Changed lists the memories that the request changed.
func (r ModifyResult) Changed() []string { return nil }
