package transfer

import (
	"context"
	"encoding/json"
	"time"

	"github.com/google/uuid"

	"github.com/mneme/mneme/memory"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/store/commit"
	"github.com/mneme/mneme/store/pg"
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
	held, err := r.grounds(ctx, facts, stored)
	if err != nil {
		return nil, err
	}
	var out []ExportLine
	for _, line := range lines {
		fact, ok := facts[line.Record.ID]
		// A stored memory is compared with the line.
		if ok && !stored[fact.id] && !held.Add(fact.claim.Key(), fact.validity) {
			r.out.Conflicts = append(r.out.Conflicts, RestoreConflict{ID: fact.id.String(), Reason: ConflictFact})
			continue
		}
		out = append(out, line)
	}
	return out, nil
}

// grounds locks the stored active facts with the claims of the facts that are not stored, and returns their grounds. It
// reads each claim once, however many of the facts make it.
func (r *restoring) grounds(ctx context.Context, facts map[string]activeFact,
	stored map[uuid.UUID]bool) (memory.Grounds, error) {
	claims := map[string]commit.ClaimOf{}
	for _, f := range facts {
		if !stored[f.id] {
			claims[f.claim.Key()] = f.claim
		}
	}
	var keys, scopes, spaces, subjects, predicates []string
	for key, c := range claims {
		keys, scopes = append(keys, key), append(scopes, c.Owner.Scope)
		spaces = append(spaces, commit.ClaimSpace(c.Owner, c.Visibility))
		subjects, predicates = append(subjects, c.Subject), append(predicates, c.Predicate)
	}
	held := memory.Grounds{}
	rows, err := commit.Rows[heldRow](ctx, r.Tx, `
		SELECT x.key, m.validity, m.conditions, m.valid_from, m.valid_until
		FROM unnest(@keys::text[], @scopes::text[], @spaces::text[], @subjects::text[], @predicates::text[])
				x(key, scope, space, subject, predicate)
			JOIN memories m ON m.tenant = @tenant AND m.scope = x.scope AND m.claim_space = x.space
				AND m.claim_key = mneme_claim_key(x.subject, x.predicate) AND m.type = 'semantic' AND m.functional
				AND m.live AND m.deleted_at IS NULL AND m.status = 'active'
		ORDER BY m.id
		FOR UPDATE OF m`,
		pg.Args{"tenant": r.Tenant, "keys": keys, "scopes": scopes, "spaces": spaces, "subjects": subjects,
			"predicates": predicates})
	for _, row := range rows {
		held.Add(row.Key, schema.Validity{Mode: row.Validity, Conditions: row.Conditions, Start: row.ValidFrom,
			End: row.ValidUntil})
	}
	return held, err
}

// heldRow is a stored active fact: the key of its claim, and its validity.
type heldRow struct {
	Key        string
	Validity   schema.ValidityMode
	Conditions json.RawMessage
	ValidFrom  *time.Time
	ValidUntil *time.Time
}
