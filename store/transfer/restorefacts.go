package transfer

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/mneme/mneme/memory"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/store/commit"
)

// activeFact is an active fact in a line that makes a functional claim under conditions or for a time.
type activeFact struct {
	id       uuid.UUID
	claim    commit.ClaimOf
	validity schema.Validity
}

// activeFactOf returns the fact in a line. Global facts are left to the unique index, which has no conditions to
// compare.
func activeFactOf(line ExportLine) (activeFact, bool) {
	m := line.Record
	if m.Type != schema.TypeSemantic || m.Status != schema.StatusActive || m.DeletedAt != nil || m.ArchivedAt != nil {
		return activeFact{}, false
	}
	var columns struct {
		Functional bool
		Subject    string
		Predicate  string
		Validity   schema.ValidityMode
		Conditions json.RawMessage
		ValidFrom  *time.Time `json:"valid_from"`
		ValidUntil *time.Time `json:"valid_until"`
	}
	encoded, err := json.Marshal(line.Columns)
	if err != nil || json.Unmarshal(encoded, &columns) != nil {
		return activeFact{}, false // the insert reports the value
	}
	id, err := uuid.Parse(m.ID)
	fact := activeFact{
		id: id,
		claim: commit.ClaimOf{Owner: schema.Principal{Agent: m.Agent, Project: m.Project, Scope: m.Scope,
			PolicyGroup: m.PolicyGroup}, Visibility: m.Visibility, Subject: columns.Subject,
			Predicate: columns.Predicate},
		validity: schema.Validity{Mode: columns.Validity, Start: columns.ValidFrom, End: columns.ValidUntil},
	}
	if string(columns.Conditions) != "null" {
		fact.validity.Conditions = columns.Conditions
	}
	global := memory.ConditionsHash(fact.validity) == ""
	return fact, err == nil && columns.Functional && columns.Subject != "" && columns.Predicate != "" && !global
}

// withoutRivals returns the lines without those whose fact would be active beside another with the same claim on the
// same ground, and reports these as conflicts. The unique index compares only conditions and windows that are equal.
func (r *restoring) withoutRivals(ctx context.Context, lines []ExportLine) ([]ExportLine, error) {
	facts := map[string]activeFact{} // by the id in the line
	var claims []commit.ClaimOf
	var ids []uuid.UUID
	for _, line := range lines {
		if fact, ok := activeFactOf(line); ok {
			facts[line.Record.ID] = fact
			claims, ids = append(claims, fact.claim), append(ids, fact.id)
		}
	}
	if len(facts) == 0 {
		return lines, nil
	}
	if err := r.LockClaims(ctx, claims); err != nil {
		return nil, err
	}
	stored, err := r.stored(ctx, ids)
	if err != nil {
		return nil, err
	}
	var out []ExportLine
	var taken []activeFact
	for _, line := range lines {
		fact, ok := facts[line.Record.ID]
		if !ok || stored[fact.id] { // a stored memory is compared with the line
			out = append(out, line)
			continue
		}
		rival, err := r.hasRival(ctx, fact, taken)
		if err != nil {
			return nil, err
		}
		if rival {
			r.out.Conflicts = append(r.out.Conflicts, RestoreConflict{ID: fact.id.String(), Reason: ConflictFact})
			continue
		}
		out, taken = append(out, line), append(taken, fact)
	}
	return out, nil
}

// hasRival reports whether a stored active fact, or one of the facts taken before, excludes a fact.
func (r *restoring) hasRival(ctx context.Context, fact activeFact, taken []activeFact) (bool, error) {
	if slices.ContainsFunc(taken, func(o activeFact) bool {
		return o.claim.Key() == fact.claim.Key() && memory.SameGround(o.validity, fact.validity)
	}) {
		return true, nil
	}
	holders, err := r.Claimants(ctx, fact.claim.Owner, fact.claim.Visibility, fact.claim.Subject, fact.claim.Predicate)
	return slices.ContainsFunc(holders, func(h commit.MemoryRow) bool {
		return h.Status == schema.StatusActive && memory.SameGround(h.Validity, fact.validity)
	}), err
}
