package edit

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/mneme/mneme/memory"
	"github.com/mneme/mneme/memory/policy"
	"github.com/mneme/mneme/memory/proposals"
	"github.com/mneme/mneme/memory/revision"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/store/commit"
	"github.com/mneme/mneme/store/pg"
	"github.com/mneme/mneme/store/pipeline"
)

// ReviseInput is a validated revise request.
type ReviseInput struct {
	Operation schema.OperationRef
	Request   schema.ReviseRequest
	Policy    proposals.WritePolicy
	Rules     *policy.Policy // classification rules for the record; nil for none
	Embedding *pg.Embedding  // of the record's text; nil if there is none
	Kept      *Kept          // for a record that is already stored; nil does not change it
	Now       time.Time
}

// Kept holds the values that a memory takes over from the memories that it replaces.
type Kept struct {
	Confidence float64
	Tags       []string
}

// Revise carries out a revision in one transaction (document 004 §7, §12, §15.1 and §15.7): the targets, the
// record, relations, provenance, history, text statistics and the outbox change together or not at all. A refusal
// is a status; then only the result is written.
//
// The record belongs to the owner of the targets, or to the principal if they have several owners. It has the
// visibility of the least visible target unless it or a rule sets one, and at least the sensitivity of the most
// sensitive target. A revision of another agent's memory must be visible to the memory's owner: otherwise the owner
// would lose a memory without seeing its replacement. Nothing is added to the owner's private memories. See
// revision.Plan for the actions.
func (s *Editing) Revise(ctx context.Context, in ReviseInput) (schema.ReviseResult, error) {
	return once(ctx, s, in.Operation, pipeline.KindRevise, in.Now,
		func(c *commit.Change) (schema.ReviseResult, error) {
			if len(in.Request.Targets) == 0 {
				return schema.ReviseResult{}, fmt.Errorf("request of operation %s: %w", in.Operation.ID, pg.ErrNotFound)
			}
			return revise(ctx, c, in)
		})
}

// revising is the state of one revision.
type revising struct {
	*commit.Change
	in        ReviseInput
	ids       []uuid.UUID // of the targets
	named     uuid.UUID   // id of a record that exists already
	rows      map[uuid.UUID]commit.MemoryRow
	record    *commit.NewMemory // the record, when it is new
	textFault string            // why the text of the record could not be made from its first target
	unseen    bool              // the first target has changed since the text of the record was made
	narrowed  uuid.UUID         // id of the narrowed copy of a fork's target, if it needs one
	plan      revision.RevisionPlan
	versions  map[uuid.UUID]int // after the revision
}

// revise carries out a revision as part of a change.
func revise(ctx context.Context, c *commit.Change, in ReviseInput) (schema.ReviseResult, error) {
	r := revising{Change: c, in: in, narrowed: pg.NewID(), versions: map[uuid.UUID]int{}}
	refused, err := r.decide(ctx)
	if err != nil || refused != nil {
		return orZero(refused), err
	}
	if err := r.carry(ctx); err != nil {
		return schema.ReviseResult{}, err
	}
	return r.result(), nil
}

func orZero(r *schema.ReviseResult) schema.ReviseResult {
	if r == nil {
		return schema.ReviseResult{}
	}
	return *r
}

// decide locks the memories and plans the revision. It writes nothing. If the revision is refused, it returns the
// result.
func (r *revising) decide(ctx context.Context) (*schema.ReviseResult, error) {
	req := r.in.Request
	for i, t := range req.Targets {
		id, err := uuid.Parse(t.ID)
		if err != nil {
			return nil, pg.InvalidID(fmt.Sprintf("targets[%d].id", i))
		}
		r.ids = append(r.ids, id)
	}
	known := slices.Clone(r.ids)
	if req.Names() {
		id, err := uuid.Parse(req.Record.ID)
		if err != nil {
			return nil, pg.InvalidID("record.id")
		}
		r.named, known = id, append(known, id)
	}
	// Locks in order: scopes, claims, rows. Owners and claims are read before the rows are locked. If a memory
	// changes in between, its version differs afterwards and the revision is refused.
	before, err := r.PeekRows(ctx, req.Principal, known)
	if err != nil {
		return nil, err
	}
	if req.Record != nil && r.named == uuid.Nil {
		if refused, err := r.prepare(ctx, before); err != nil || refused != nil {
			return refused, err
		}
	}
	if err := r.LockScopesOf(ctx, req.Principal, known); err != nil {
		return nil, err
	}
	claims, err := r.lockClaimsOf(ctx, before)
	if err != nil {
		return nil, err
	}
	if err := r.LockContests(ctx, slices.Collect(maps.Keys(before)), known...); err != nil {
		return nil, err
	}
	if r.rows, err = r.LockRows(ctx, req.Principal, known); err != nil {
		return nil, err
	}
	asked, err := r.revision(ctx, claims)
	if err != nil {
		return nil, err
	}
	r.plan = revision.Plan(asked)
	if r.plan.Status != schema.ReviseApplied {
		return r.refuseFor(ctx, r.plan.Status, r.plan.Why, r.plan.Conflicts)
	}
	switch {
	case r.unseen:
		return r.refuse(schema.ReviseVersionConflict, "the target had another version when the revision began"), nil
	case r.textFault != "":
		return r.refuse(schema.ReviseInvalid, r.textFault), nil
	case r.hidden():
		return r.refuse(schema.ReviseNotOwner,
			"another agent's target would be replaced by a memory that this agent cannot see"), nil
	}
	return r.refuseDuplicates(ctx)
}

// takenSQL reports whether the id of a memory is in use.
const takenSQL = `
	SELECT EXISTS (
		SELECT FROM memories
		WHERE tenant = @tenant AND (id = @id OR external_id = @external_id)
	)`

// prepare converts the record to a row to insert, with the owner and the visibility that follow from the targets.
func (r *revising) prepare(ctx context.Context, targets map[uuid.UUID]commit.MemoryRow) (*schema.ReviseResult, error) {
	req := r.in.Request
	first := targets[r.ids[0]]
	r.unseen = first.ID != uuid.Nil && first.Version != req.Targets[0].IfVersion
	m, fault, err := wordedRecord(req, first)
	if err != nil {
		return nil, err
	}
	r.textFault = fault
	// The record is created now, and this revision decides its place among its revisions.
	m.CreatedAt, m.UpdatedAt = time.Time{}, time.Time{}
	m.SalienceAt, m.Lifecycle.LastReinforcedAt = time.Time{}, time.Time{}
	m.Status, m.Supersedes, m.SupersededBy, m.SupersededAt = "", "", "", nil
	m.AuditLog, m.AuditOmitted = nil, 0
	m.DeletedAt, m.ArchivedAt, m.ErasedAt = nil, nil, nil
	m.Provenance.CreatedBy = ""
	payload, err := commit.StoredPayload(m)
	if err != nil {
		return nil, &schema.ValidationError{Fields: []schema.FieldError{{Field: "record.payload",
			Problem: "must be an object"}}}
	}
	m.Payload = payload
	m.Provenance.Sources = evidenceAnd(req.Evidence, m.Provenance.Sources)
	// The record is classified for the scope where it will be stored, so that rules have the last word on that
	// scope. The memories that it refers to must be visible to the writer.
	kept := memory.RevisionHolding(req.Principal, r.holdings(targets))
	m.Scope, m.Visibility = kept.Owner.Scope, cmp.Or(m.Visibility, kept.Visibility)
	where := commit.RecordDefaults{Owner: kept.Owner, Rules: r.in.Rules}
	class := where.Classify(m)
	if !memory.InTheOpen(req.Principal, memory.Holding{Owner: class.Owner, Visibility: class.Visibility},
		r.holdings(targets)) {
		return r.refuse(schema.ReviseNotOwner, "agents that see another agent's target would not see the record"),
			nil
	}
	row, err := r.FromRecord(ctx, m, commit.RecordDefaults{
		Owner:      req.Principal,
		By:         req.By(),
		Reason:     req.Reason,
		Classified: &class,
		Embedding:  r.in.Embedding,
		Metadata:   r.metadata(nil),
		Evidence:   req.Evidence,
	})
	var reference *commit.ReferenceError
	var invalid *schema.ValidationError
	switch {
	case errors.As(err, &reference):
		return r.refuse(schema.ReviseBadRef, "record."+reference.Field), nil
	case errors.As(err, &invalid) && len(invalid.Fields) > 0:
		return r.refuse(schema.ReviseInvalid, "record."+invalid.Fields[0].Field+" "+invalid.Fields[0].Problem), nil
	case err != nil:
		return nil, err
	}
	r.record = &row
	var taken bool
	err = r.Tx.QueryRow(ctx, takenSQL, pg.Args{
		"tenant":      r.Tenant,
		"id":          row.ID,
		"external_id": commit.Nullable(row.ExternalID),
	}).Scan(&taken)
	if err != nil {
		return nil, err
	}
	forgotten, err := r.ForgottenIDs(ctx, []uuid.UUID{row.ID})
	if err != nil {
		return nil, err
	}
	if taken || len(forgotten) > 0 {
		return r.refuse(schema.ReviseExists, "another memory has the record's id"), nil
	}
	return nil, nil
}

// evidenceAnd returns the evidence of a revision and that of its record, without duplicates.
func evidenceAnd(evidence, own []schema.Ref) []schema.Ref {
	out := make([]schema.Ref, 0, len(evidence)+len(own))
	for _, ref := range slices.Concat(evidence, own) {
		if !slices.ContainsFunc(out, func(o schema.Ref) bool { return o.Kind == ref.Kind && o.Ref == ref.Ref }) {
			out = append(out, ref)
		}
	}
	return out
}

// holdings returns the owner and the visibility of each target that was found.
func (r *revising) holdings(targets map[uuid.UUID]commit.MemoryRow) []memory.Holding {
	var out []memory.Holding
	for _, id := range r.ids {
		if m, ok := targets[id]; ok { // the revision will be refused for a missing target
			out = append(out, m.Holding())
		}
	}
	return out
}

// hidden reports whether the owner of a target could not see the existing record, or the winner of a contest, that
// replaces it.
func (r *revising) hidden() bool {
	successor, ok := r.rows[r.named]
	if winner, err := uuid.Parse(r.in.Request.Winner); err == nil && !ok {
		successor, ok = r.rows[winner]
	}
	if !ok {
		return false
	}
	for _, id := range r.ids {
		m, found := r.rows[id]
		if !found || id == successor.ID {
			continue
		}
		p, contest := r.in.Request.Principal, r.in.Request.Action == schema.ReviseContest
		if memory.Hides(p, successor.Holding(), m.Holding()) || contest &&
			memory.Hides(p, m.Holding(), successor.Holding()) {
			return true
		}
	}
	return false
}

// lockClaimsOf locks the functional claims of the memories and the record, and returns them by key.
func (r *revising) lockClaimsOf(ctx context.Context, rows map[uuid.UUID]commit.MemoryRow) (map[string]commit.ClaimOf,
	error) {
	claims := map[string]commit.ClaimOf{}
	for _, m := range rows {
		if c, ok := m.FunctionalClaim(); ok {
			claims[c.Key()] = c
		}
	}
	if m := r.record; m != nil && m.Claim.Functional {
		c := commit.ClaimOf{Owner: m.Owner, Visibility: m.Visibility, Subject: m.Claim.Subject,
			Predicate: m.Claim.Predicate}
		claims[c.Key()] = c
		if err := r.LockScope(ctx, m.Owner); err != nil {
			return nil, err
		}
	}
	return claims, r.LockClaims(ctx, slices.Collect(maps.Values(claims)))
}

// revision reads the input of the decision under the locks.
func (r *revising) revision(ctx context.Context, claims map[string]commit.ClaimOf) (revision.Revision, error) {
	req := r.in.Request
	out := revision.Revision{Action: req.Action, Frozen: r.in.Policy.MutationsFrozen(), Narrowed: r.narrowed.String(),
		TargetConditions: req.TargetConditions, Winner: strings.ToLower(req.Winner)}
	sources := map[uuid.UUID]int{}
	if req.Action == schema.ReviseReconcile {
		var err error
		if sources, err = r.CountSources(ctx, r.ids); err != nil {
			return out, err
		}
	}
	for i, id := range r.ids {
		m, ok := r.rows[id]
		s := m.Standing()
		s.ID, s.Found, s.IfVersion, s.Sources = id.String(), ok, req.Targets[i].IfVersion, sources[id]
		out.Targets = append(out.Targets, s)
	}
	switch {
	case r.named != uuid.Nil:
		m, ok := r.rows[r.named]
		s := m.Standing()
		s.ID, s.Found, s.IfVersion = r.named.String(), ok, req.Record.Version
		out.Record, out.Exists = &s, true
		var err error
		if out.Chain, err = r.chainOf(ctx, r.named); err != nil {
			return out, err
		}
	case r.record != nil:
		s := r.record.Standing()
		out.Record = &s
	}
	for _, key := range slices.Sorted(maps.Keys(claims)) {
		c := claims[key]
		holders, err := r.Claimants(ctx, c.Owner, c.Visibility, c.Subject, c.Predicate)
		if err != nil {
			return out, err
		}
		for _, h := range holders {
			s := h.Standing()
			s.ClaimKey = key
			out.Holders = append(out.Holders, s)
		}
	}
	var err error
	out.Evidence, err = r.evidenceMemories(ctx)
	return out, err
}

// successorsSQL lists the successors of a memory, nearest first.
const successorsSQL = `
	WITH RECURSIVE chain AS (
		SELECT superseded_by AS id, 1 AS n
		FROM memories
		WHERE tenant = @tenant AND id = @id AND superseded_by IS NOT NULL
		UNION ALL
		SELECT m.superseded_by, c.n + 1
		FROM chain c
		JOIN memories m ON m.tenant = @tenant AND m.id = c.id
		WHERE m.superseded_by IS NOT NULL
	) CYCLE id SET met USING path
	SELECT id FROM chain WHERE NOT met ORDER BY n`

// chainOf lists the successors of a memory, nearest first. It stops at a cycle.
func (r *revising) chainOf(ctx context.Context, id uuid.UUID) ([]string, error) {
	rows, _ := r.Tx.Query(ctx, successorsSQL, pg.Args{"tenant": r.Tenant, "id": id})
	ids, err := pgx.CollectRows(rows, pgx.RowTo[uuid.UUID])
	if err != nil {
		return nil, err
	}
	out := make([]string, 0, len(ids))
	for _, id := range ids {
		out = append(out, id.String())
	}
	return out, nil
}

// evidenceSQL reads the trust and sensitivity of memories cited as evidence, if the principal may read them.
var evidenceSQL = `
	SELECT m.id, m.source_trust, m.sensitivity
	FROM memories m
	WHERE m.tenant = @tenant AND m.id = ANY(@ids) AND m.erased_at IS NULL
		AND ` + pg.SharedWith("m", "@agent", "@project", "@grants") + `
	ORDER BY m.id
	FOR SHARE OF m`

// evidenceMemories finds the memories cited as evidence: refs that are ids of memories that the principal may see.
// A ref of the host system that only looks like an id is ignored.
func (r *revising) evidenceMemories(ctx context.Context) ([]revision.EvidenceMemory, error) {
	var ids []uuid.UUID
	for _, ref := range r.in.Request.Evidence {
		if id, err := uuid.Parse(ref.Ref); err == nil && len(ref.Ref) == 36 {
			ids = append(ids, id)
		}
	}
	if len(ids) == 0 {
		return nil, nil
	}
	p := r.in.Request.Principal
	rows, _ := r.Tx.Query(ctx, evidenceSQL, pg.Args{
		"tenant":  r.Tenant,
		"ids":     ids,
		"agent":   p.Agent,
		"project": p.Project,
		"grants":  pg.ReadGrants(p),
	})
	found, err := pgx.CollectRows(rows, pgx.RowToStructByName[struct {
		ID          uuid.UUID
		SourceTrust float64
		Sensitivity schema.Sensitivity
	}])
	if err != nil {
		return nil, err
	}
	out := make([]revision.EvidenceMemory, 0, len(found))
	for _, m := range found {
		out = append(out,
			revision.EvidenceMemory{ID: m.ID.String(), SourceTrust: m.SourceTrust, Sensitivity: m.Sensitivity})
	}
	return out, nil
}
