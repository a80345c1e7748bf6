package schema

import (
	"encoding/json"
	"fmt"
)

// PutRequest writes full records of any type (document 004 §15A).
type PutRequest struct {
	Operation
	Visibility Visibility     `json:"visibility,omitempty"` // of records that name none; default private
	Records    []MemoryRecord `json:"records"`
	Mode       WriteMode      `json:"mode,omitempty"` // can only narrow what the worker allows

	problems []FieldError // what decoding found wrong
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
	PutExists     PutStatus = "exists"             // another record has this id, or had it until it was forgotten by force; or the record would supersede a live memory
	PutAppendOnly PutStatus = "append_only"        // an episode may grow, not change
	PutVersion    PutStatus = "version_conflict"
	PutFrozen     PutStatus = "mutations_frozen"
	PutShadow     PutStatus = "shadow_mode"
	PutBadRef     PutStatus = "unknown_reference"   // a relation or artifact that it names is not there
	PutNoEvidence PutStatus = "no_evidence"         // a semantic record without evidence
	PutCycle      PutStatus = "cyclic_supersession" // what it supersedes, or is superseded by, leads back to it
)

// Stands reports whether what the record says is in the store now: written, or there already.
func (s PutStatus) Stands() bool {
	switch s {
	case PutCreated, PutUpdated, PutDiscarded, PutUnchanged, PutDuplicate:
		return true
	}
	return false
}

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

// Validate reports every field that is wrong, as a *ValidationError. The records of a request are at
// most MaxRequestBytes as JSON, together.
func (r *PutRequest) Validate() error {
	if len(r.problems) > 0 { // the rest is what is left when that is missing
		return &ValidationError{Fields: r.problems}
	}
	var p problems
	r.Operation.validate(&p)
	if r.Visibility != "" && !r.Visibility.Valid() {
		p.add("visibility", "must be one of %s", names(visibilities))
	}
	if r.Mode != "" && !r.Mode.Valid() {
		p.add("mode", "must be one of %s", names(writeModes))
	}
	switch n := len(r.Records); {
	case n == 0:
		p.add("records", "must hold at least one record")
	case n > MaxPutRecords:
		p.add("records", "must hold at most %d records, got %d", MaxPutRecords, n)
	}
	seen, size := map[string]int{}, 0
	for i := range r.Records {
		m := &r.Records[i]
		if encoded, err := json.Marshal(m); err == nil {
			size += len(encoded)
		}
		if i >= MaxPutRecords || size > MaxRequestBytes {
			continue // refused already: what else is wrong does not matter
		}
		path := fmt.Sprintf("records[%d].", i)
		m.validate(&p, path)
		r.validateOwner(&p, m, path)
		for k, entry := range m.AuditLog { // history has no row without
			if isBlank(entry.Actor) {
				p.add(fmt.Sprintf("%saudit_log[%d].actor", path, k), "is required")
			}
			if isBlank(entry.Rationale) {
				p.add(fmt.Sprintf("%saudit_log[%d].rationale", path, k), "is required")
			}
			if entry.Timestamp.IsZero() {
				p.add(fmt.Sprintf("%saudit_log[%d].timestamp", path, k), "is required")
			}
		}
		for _, named := range [...]struct{ field, id string }{{"id", m.ID}, {"external_id", m.ExternalID}} {
			if first, ok := seen[named.id]; ok && named.id != "" && first != i {
				p.add(path+named.field, "is that of records[%d] as well", first)
			}
			seen[named.id] = i
		}
	}
	if size > MaxRequestBytes {
		p.add("records", "must be at most %d bytes together, got %d", MaxRequestBytes, size)
	}
	return p.err()
}

// validateOwner refuses a record that is another's: what it does not say, the principal says.
func (r *PutRequest) validateOwner(p *problems, m *MemoryRecord, path string) {
	o := &r.Principal
	same := func(field, value, principal string) {
		if value != "" && value != principal {
			p.add(path+field, "is not the principal's")
		}
	}
	same("tenant", m.Tenant, o.Tenant)
	same("agent", m.Agent, o.Agent)
	same("project", m.Project, o.Project)
	same("policy_group", m.PolicyGroup, o.PolicyGroup)
	if scope := o.EffectiveScope(); scope != "" { // a principal without one writes into those that its records name
		same("scope", m.Scope, scope)
	}
	visibility := m.Visibility
	if visibility == "" {
		visibility = r.Visibility
	}
	if visibility == VisibilityGroup && o.PolicyGroup == "" {
		p.add("principal.policy_group", "is required when visibility is group")
	}
	switch {
	case m.Status == StatusSuperseded && m.SupersededBy == "":
		p.add(path+"superseded_by", "is required when status is superseded")
	case m.SupersededBy != "" && m.Status.Live():
		p.add(path+"superseded_by", "must not be given when status is active or contested")
	}
	if m.DeletedAt != nil || m.ArchivedAt != nil || m.ErasedAt != nil {
		p.add(path+"deleted_at", "must not be set: put the record, then forget it; import restores what was deleted")
	}
}

// Summary is a word for operators: what became of the request.
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
