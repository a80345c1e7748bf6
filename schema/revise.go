package schema

// ReviseAction is a revision operation (document 004 §7, §12 and §15.7).
type ReviseAction string

// The revision operations.
const (
	ReviseSupersede ReviseAction = "supersede" // the record replaces the targets
	ReviseFork      ReviseAction = "fork"      // the record holds beside the target, under disjoint conditions
	ReviseRetract   ReviseAction = "retract"   // the targets are no longer held to be true
	ReviseMerge     ReviseAction = "merge"     // the record unites the targets
	ReviseContest   ReviseAction = "contest"   // target and record contradict each other until it is resolved
	ReviseResolve   ReviseAction = "resolve"   // one of the contested targets, or the record, is what holds
	ReviseReconcile ReviseAction = "reconcile" // choose supersede, fork or contest by policy and evidence
)

// Target names a memory to be revised in the version that the caller saw.
type Target struct {
	ID        string `json:"id"`
	IfVersion int    `json:"if_version"` // required: another version means version_conflict
}

// ReviseRequest revises what is known, in one transaction.
type ReviseRequest struct {
	Operation
	Action  ReviseAction `json:"action"`
	Targets []Target     `json:"targets"`
	// Record is the new truth: required by supersede, fork, merge, contest and reconcile; an alternative
	// to winner for resolve.
	Record *MemoryRecord `json:"record,omitempty"`
	// TargetConditions is what a fork leaves to a target that is global or whose conditions overlap
	// those of the record: the target is then replaced by a copy with this validity.
	TargetConditions *Validity `json:"target_conditions,omitempty"`
	Winner           string    `json:"winner,omitempty"` // resolve: which target holds; the others are superseded by it
	Evidence         []Ref     `json:"evidence"`         // at least one
}

// ReviseStatus is what became of a revision.
type ReviseStatus string

// The revision statuses. All but applied leave everything as it was.
const (
	ReviseApplied         ReviseStatus = "applied"
	ReviseVersionConflict ReviseStatus = "version_conflict"
	ReviseNotFound        ReviseStatus = "not_found"
	ReviseNotLive         ReviseStatus = "not_live"    // deleted, archived, superseded or retracted
	ReviseEpisodic        ReviseStatus = "append_only" // episodes are not corrected
	ReviseOverlap         ReviseStatus = "conditions_overlap"
	ReviseActiveFact      ReviseStatus = "active_fact_exists" // a third memory makes the claim
	ReviseDuplicate       ReviseStatus = "duplicate_content_hash"
	ReviseCycle           ReviseStatus = "cyclic_supersession"
	RevisePinned          ReviseStatus = "pinned"
	ReviseFrozen          ReviseStatus = "mutations_frozen"
)

// RevisedMemory is a target after the revision, or what stood in its way.
type RevisedMemory struct {
	ID      string `json:"id"`
	Version int    `json:"version"`
	Status  Status `json:"status,omitempty"`
}

// ReviseResult says what was done. Action is what reconcile chose, or the request's.
type ReviseResult struct {
	Status  ReviseStatus    `json:"status"`
	Action  ReviseAction    `json:"action"`
	Why     string          `json:"why,omitempty"`     // reconcile: which rule chose; a refusal: what stood in the way
	Created []string        `json:"created,omitempty"` // ids of new memories
	Targets []RevisedMemory `json:"targets,omitempty"`
}

// Validate reports every field that is wrong, as a *ValidationError.
func (r *ReviseRequest) Validate() error {
	var p problems
	r.Operation.validate(&p)
	return p.err()
}

// Summary is a word for operators: what became of the request.
func (r ReviseResult) Summary() string { return "ok" }

// Changed lists the memories that the request changed.
func (r ReviseResult) Changed() []string { return nil }
