package schema

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/mneme/mneme/schema/check"
)

// MemoryRecord is the canonical record (document 004 §15A.2) with the fields that the other documents add. List, get
// and export return it.
type MemoryRecord struct {
	ID          string      `json:"id"`                    // UUID
	ExternalID  string      `json:"external_id,omitempty"` // id of the input, if it is not a UUID
	Type        MemoryType  `json:"type"`
	Sensitivity Sensitivity `json:"sensitivity"`
	Confidence  float64     `json:"confidence"` // [0,1]
	Salience    float64     `json:"salience"`   // [0,1], as of salience_at; readers apply decay
	Scope       string      `json:"scope"`
	Tags        []string    `json:"tags"`
	CreatedAt   time.Time   `json:"created_at"`
	UpdatedAt   time.Time   `json:"updated_at"`
	Lifecycle   Lifecycle   `json:"lifecycle"`
	Provenance  Provenance  `json:"provenance"`
	Relations   []Relation  `json:"relations"`

	// Payload is the structured content by type (document 004 §15A.6 to §15A.10).
	Payload json.RawMessage `json:"payload"`

	// AuditLog lists the changes of the record, oldest first (document 004 §15A.1). An export has all of them, and Get
	// the latest MaxAuditEntries.
	AuditLog []AuditEntry `json:"audit_log,omitempty"`
	// AuditOmitted is the number of changes before those of AuditLog. The history of the memory has them, page by page.
	AuditOmitted int `json:"audit_omitted,omitempty"`

	Tenant       string     `json:"tenant"`
	Agent        string     `json:"agent"`
	Project      string     `json:"project"`
	Visibility   Visibility `json:"visibility"`
	PolicyGroup  string     `json:"policy_group"`
	Version      int        `json:"version"`
	Category     Category   `json:"category"`
	Tier         Tier       `json:"tier"`
	Typology     Typology   `json:"typology"`
	Content      string     `json:"content"`
	Who          string     `json:"who"`
	Importance   float64    `json:"importance"` // [0,1], base importance
	SalienceAt   time.Time  `json:"salience_at"`
	Status       Status     `json:"status"`
	OccurredAt   time.Time  `json:"occurred_at"`
	Session      string     `json:"agent_session_id,omitempty"`
	AccessCount  int64      `json:"access_count"`
	LastAccessed *time.Time `json:"last_accessed_at,omitempty"`
	DeletedAt    *time.Time `json:"deleted_at,omitempty"`
	ArchivedAt   *time.Time `json:"archived_at,omitempty"`
	SupersededAt *time.Time `json:"superseded_at,omitempty"`
	ErasedAt     *time.Time `json:"erased_at,omitempty"`
	Supersedes   string     `json:"supersedes,omitempty"`
	SupersededBy string     `json:"superseded_by,omitempty"`
	SourceTrust  float64    `json:"source_trust"` // [0,1]; at most the trust of its sources
	Language     string     `json:"language,omitempty"`
	KeyID        string     `json:"key_id,omitempty"`
	WorldID      string     `json:"world_id,omitempty"`
	WorldVersion string     `json:"world_version,omitempty"`
	Interaction  string     `json:"agent_interaction_id,omitempty"`

	// SafeSummary may be shown to callers that may not read the content (document 004 §13). The writer of the record
	// provides it; Mneme never generates it.
	SafeSummary string `json:"safe_summary,omitempty"`

	problems []FieldError // found by decoding; validation reports it
	unbuilt  bool         // nothing else of the record was decoded
}

// ShowRevision sets the status of a semantic record and its place in the chain of revisions in its payload, as in
// document 004 §15A.8. They are stored in columns, not in the payload.
func (m *MemoryRecord) ShowRevision() error {
	if m.Type != TypeSemantic || m.ErasedAt != nil {
		return nil
	}
	var payload map[string]json.RawMessage
	if err := json.Unmarshal(m.Payload, &payload); err != nil {
		return fmt.Errorf("payload: %w", err)
	}
	revision, err := json.Marshal(Revision{Supersedes: m.Supersedes, SupersededBy: m.SupersededBy, Status: m.Status})
	if err != nil {
		return fmt.Errorf("payload: %w", err)
	}
	payload["revision"] = revision
	m.Payload, err = json.Marshal(payload)
	return err
}

// Lifecycle is document 004 §15A.3.
type Lifecycle struct {
	Decay            DecayProfile   `json:"decay"`
	LastReinforcedAt time.Time      `json:"last_reinforced_at"`
	Pinned           bool           `json:"pinned"`
	DeletionPolicy   DeletionPolicy `json:"deletion_policy"`
	DecayDueAt       *time.Time     `json:"decay_due_at,omitempty"` // when salience crosses min_salience
}

// DecayProfile is document 004 §15A.3 and §15A.7.
type DecayProfile struct {
	Curve             DecayCurve `json:"curve"`
	HalfLifeSeconds   int64      `json:"half_life_seconds"`
	MinSalience       float64    `json:"min_salience"`
	MaxAgeSeconds     int64      `json:"max_age_seconds,omitempty"`
	Floor             float64    `json:"floor,omitempty"` // [0,1]; minimum salience
	ReinforcementGain float64    `json:"reinforcement_gain"`
	// Points define a custom curve: the remaining share of the base salience over time, with linear interpolation. At 0
	// seconds the share is 1, even without a point, and after the last point the share is constant. Times must ascend
	// and shares must not rise, because decay is monotonic (document 004 §15A.7). A custom curve without points is
	// exponential.
	Points []DecayPoint `json:"points,omitempty"`
}

// DecayPoint is one point of a custom curve.
type DecayPoint struct {
	AfterSeconds int64   `json:"after_seconds"` // since salience_at; 0 to MaxDurationSeconds
	Share        float64 `json:"share"`         // remaining share of the base salience, [0,1]
}

// Provenance links a memory to its evidence (document 004 §15A.4).
type Provenance struct {
	Sources   []Ref  `json:"sources"`
	CreatedBy string `json:"created_by"`
}

// Relation is an edge from this memory to another (document 004 §15A.5).
type Relation struct {
	// Predicate is derived_from, supersedes, contradicts, supports, or a custom snake_case name.
	Predicate string  `json:"predicate"`
	TargetID  string  `json:"target_id"`
	Weight    float64 `json:"weight"`           // [0,1]
	Reason    string  `json:"reason,omitempty"` // why the edge exists
}

// HistoryEntry is one row of a memory's append-only history (document 002 "Memory History").
type HistoryEntry struct {
	ID         string          `json:"id"`
	MemoryID   string          `json:"memory_id"`
	Event      HistoryEvent    `json:"event"`
	OldContent *string         `json:"old_content"`
	NewContent *string         `json:"new_content"`
	ChangedBy  string          `json:"changed_by"`
	Reason     string          `json:"reason"`
	Metadata   json.RawMessage `json:"metadata"`
	CreatedAt  time.Time       `json:"created_at"`
	Action     AuditAction     `json:"action,omitempty"`    // empty if nothing changed
	Version    int             `json:"version,omitempty"`   // version of the memory after the step
	ErasedAt   *time.Time      `json:"erased_at,omitempty"` // when the texts were removed
}

// Job is the durable state of one memory in the pipeline (document 002 "Job Queue").
type Job struct {
	ID          string       `json:"id"`
	Kind        string       `json:"kind"`
	State       JobState     `json:"state"`
	Phase       string       `json:"phase"`
	BatchID     string       `json:"batch_id"`
	CandidateID string       `json:"candidate_id"`
	MemoryID    string       `json:"memory_id"`
	WorkflowID  string       `json:"workflow_id"`
	Attempts    int          `json:"attempts"`
	MaxAttempts int          `json:"max_attempts"`
	LastError   string       `json:"last_error,omitempty"`
	Log         []JobAttempt `json:"log"`
	CreatedAt   time.Time    `json:"created_at"`
	UpdatedAt   time.Time    `json:"updated_at"`
	FinishedAt  *time.Time   `json:"finished_at,omitempty"`
	RevivedAt   *time.Time   `json:"revived_at,omitempty"` // when it was last requeued
}

// WaitsSince returns when an open job was created or requeued.
func (j Job) WaitsSince() time.Time {
	if j.RevivedAt != nil {
		return *j.RevivedAt
	}
	return j.CreatedAt
}

// JobAttempt is one attempt at one phase of a job, with its cost.
type JobAttempt struct {
	Attempt          int       `json:"attempt"`
	Phase            string    `json:"phase"`
	At               time.Time `json:"at"`
	Outcome          string    `json:"outcome"` // ok, or the reason of the failure; never content
	Model            string    `json:"model,omitempty"`
	PromptTokens     int64     `json:"prompt_tokens,omitempty"`
	CompletionTokens int64     `json:"completion_tokens,omitempty"`
}

// FactOutcome is the outcome of one extracted fact.
type FactOutcome struct {
	Content           string        `json:"content"`
	Category          Category      `json:"category"`
	Confidence        float64       `json:"confidence"`
	Action            Action        `json:"action"`
	State             ProposalState `json:"state"`
	MemoryID          string        `json:"memory_id,omitempty"` // memory that was written or has the fact already
	TargetID          string        `json:"target_id,omitempty"`
	Reason            string        `json:"reason"`
	Skipped           string        `json:"skipped,omitempty"` // machine-readable reason why nothing was written
	ContradictionRisk bool          `json:"contradiction_risk,omitempty"`
	ReviewNeeded      bool          `json:"review_needed,omitempty"`
	Warnings          []string      `json:"warnings"`

	ProposalID string `json:"proposal_id,omitempty"`
	SourceID   string `json:"source_id,omitempty"` // the memory that it was extracted from
	// Target is the content of the memory that the fact changes or contradicts, as its owner may see it.
	Target    string `json:"target,omitempty"`
	Contested bool   `json:"contested,omitempty"` // written although it contradicts another memory; both are kept
	Retracts  bool   `json:"retracts,omitempty"`  // the fact takes a statement back

	// Withheld means that the fact is too sensitive to be shown by default. Content, target, reason and warnings are
	// empty.
	Withheld    bool        `json:"withheld,omitempty"`
	Sensitivity Sensitivity `json:"sensitivity,omitempty"`
	Detected    []string    `json:"detected,omitempty"` // kinds of sensitive data found in it, such as api_key
	Message     string      `json:"message,omitempty"`  // description of the outcome
}

// CandidateOutcome is the outcome of a candidate itself.
type CandidateOutcome struct {
	MemoryID    string      `json:"memory_id"`
	Stored      bool        `json:"stored"`             // as a memory; false in shadow mode
	Deduped     bool        `json:"deduped,omitempty"`  // its text was stored before
	Recalled    bool        `json:"recalled,omitempty"` // it is recalled text, which is not learned again
	Withheld    bool        `json:"withheld,omitempty"` // too sensitive to be shown by default
	Sensitivity Sensitivity `json:"sensitivity,omitempty"`
	Detected    []string    `json:"detected,omitempty"`
	Message     string      `json:"message,omitempty"`
}

// PutRequest writes full records of any type (document 004 §15A).
type PutRequest struct {
	Operation
	Visibility Visibility     `json:"visibility,omitempty"` // for records without one; default private
	Records    []MemoryRecord `json:"records"`
	Mode       WriteMode      `json:"mode,omitempty"` // can only restrict what the worker allows

	problems []FieldError // found by decoding
}

// PutStatus is the outcome of one record.
type PutStatus string

// The put statuses.
const (
	PutCreated   PutStatus = "created"
	PutUpdated   PutStatus = "updated"            // working memory replaced, or an episode that grew
	PutDiscarded PutStatus = "discarded"          // working memory whose task is done
	PutUnchanged PutStatus = "unchanged"          // the record is stored unchanged
	PutDuplicate PutStatus = "duplicate"          // a live memory has this content; its id is returned
	PutConflict  PutStatus = "active_fact_exists" // another active fact has the claim; revise it instead
	// Another record has this id, or had it until it was forgotten with force, or the record would supersede a live
	// memory.
	PutExists     PutStatus = "exists"
	PutAppendOnly PutStatus = "append_only" // an episode may grow, not change
	PutVersion    PutStatus = "version_conflict"
	PutFrozen     PutStatus = "mutations_frozen"
	PutShadow     PutStatus = "shadow_mode"
	PutBadRef     PutStatus = "unknown_reference"   // it names a relation or artifact that does not exist
	PutNoEvidence PutStatus = "no_evidence"         // a semantic record without evidence
	PutCycle      PutStatus = "cyclic_supersession" // its chain of successors leads back to it
)

// Stands reports whether the store contains the content of the record, written by this request or before.
func (s PutStatus) Stands() bool {
	switch s {
	case PutCreated, PutUpdated, PutDiscarded, PutUnchanged, PutDuplicate:
		return true
	}
	return false
}

// PutItem is the outcome of one record.
type PutItem struct {
	ID         string    `json:"id"` // id of the record, or of the one that conflicts with it
	ExternalID string    `json:"external_id,omitempty"`
	Status     PutStatus `json:"status"`
	Version    int       `json:"version,omitempty"`
	Problem    string    `json:"problem,omitempty"` // names a field, never a value
}

// PutResult holds the results in the order of the records.
type PutResult struct {
	Items []PutItem `json:"items"`
}

// Validate returns a *ValidationError that lists every invalid field. The records of a request are at
// most MaxRequestBytes as JSON, together.
func (r *PutRequest) Validate() error {
	if len(r.problems) > 0 { // other checks would report consequential errors
		return &ValidationError{Fields: r.problems}
	}
	var p check.Problems
	r.Operation.validate(&p)
	if r.Visibility != "" && !r.Visibility.Valid() {
		p.Add("visibility", "must be one of %s", check.Names(visibilities))
	}
	if r.Mode != "" && !r.Mode.Valid() {
		p.Add("mode", "must be one of %s", check.Names(writeModes))
	}
	switch n := len(r.Records); {
	case n == 0:
		p.Add("records", "must hold at least one record")
	case n > MaxPutRecords:
		p.Add("records", "must hold at most %d records, got %d", MaxPutRecords, n)
	}
	seen, size := map[string]int{}, 0
	for i := range r.Records {
		m := &r.Records[i]
		if encoded, err := json.Marshal(m); err == nil {
			size += len(encoded)
		}
		if i >= MaxPutRecords || size > MaxRequestBytes {
			continue // already refused
		}
		path := fmt.Sprintf("records[%d].", i)
		m.validate(&p, path)
		r.validateOwner(&p, m, path)
		for k, entry := range m.AuditLog { // required in every row of history
			if isBlank(entry.Actor) {
				p.Add(fmt.Sprintf("%saudit_log[%d].actor", path, k), "is required")
			}
			if isBlank(entry.Rationale) {
				p.Add(fmt.Sprintf("%saudit_log[%d].rationale", path, k), "is required")
			}
			if entry.Timestamp.IsZero() {
				p.Add(fmt.Sprintf("%saudit_log[%d].timestamp", path, k), "is required")
			}
		}
		for _, named := range [...]struct{ field, id string }{{"id", m.ID}, {"external_id", m.ExternalID}} {
			if first, ok := seen[named.id]; ok && named.id != "" && first != i {
				p.Add(path+named.field, "is that of records[%d] as well", first)
			}
			seen[named.id] = i
		}
	}
	if size > MaxRequestBytes {
		p.Add("records", "must be at most %d bytes together, got %d", MaxRequestBytes, size)
	}
	return p.Err()
}

// validateOwner reports a record of another owner. Missing fields are those of the principal.
func (r *PutRequest) validateOwner(p *check.Problems, m *MemoryRecord, path string) {
	o := &r.Principal
	same := func(field, value, principal string) {
		if value != "" && value != principal {
			p.Add(path+field, "is not the principal's")
		}
	}
	same("tenant", m.Tenant, o.Tenant)
	same("agent", m.Agent, o.Agent)
	same("project", m.Project, o.Project)
	same("policy_group", m.PolicyGroup, o.PolicyGroup)
	// a principal without a scope writes to the scopes of its records
	if scope := o.EffectiveScope(); scope != "" {
		same("scope", m.Scope, scope)
	}
	visibility := m.Visibility
	if visibility == "" {
		visibility = r.Visibility
	}
	if visibility == VisibilityGroup && o.PolicyGroup == "" {
		p.Add("principal.policy_group", "is required when visibility is group")
	}
	switch {
	case m.Status == StatusSuperseded && m.SupersededBy == "":
		p.Add(path+"superseded_by", "is required when status is superseded")
	case m.SupersededBy != "" && m.Status.Live():
		p.Add(path+"superseded_by", "must not be given when status is active or contested")
	}
	if m.DeletedAt != nil || m.ArchivedAt != nil || m.ErasedAt != nil {
		p.Add(path+"deleted_at", "must not be set: put the record, then forget it; import restores what was deleted")
	}
}

// Summary returns the outcome of the request in one word.
func (r PutResult) Summary() string {
	stand := 0
	for _, item := range r.Items {
		if item.Status.Stands() {
			stand++
		}
	}
	return summaryWord(stand, len(r.Items)-stand)
}

// Changed lists the memories that the request changed.
func (r PutResult) Changed() []string {
	var out []string
	for _, item := range r.Items {
		switch item.Status {
		case PutCreated, PutUpdated, PutDiscarded:
			out = append(out, item.ID)
		}
	}
	return out
}
