package edit

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/mneme/mneme/memory"
	"github.com/mneme/mneme/memory/lifecycle"
	"github.com/mneme/mneme/memory/proposals"
	"github.com/mneme/mneme/memory/revision"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/store/commit"
	"github.com/mneme/mneme/store/pg"
	"github.com/mneme/mneme/store/pipeline"
	"github.com/mneme/mneme/store/sweeping"
)

// RecoverInput is a validated recover request.
type RecoverInput struct {
	Operation schema.OperationRef
	Request   schema.RecoverRequest
	Policy    proposals.WritePolicy
	Now       time.Time
}

// Recover undoes soft deletions, and archiving by decay, independently for each memory, in one transaction
// (document 002 "Soft-Delete and Recovery"). A memory returns to its former state: one that was superseded,
// retracted or archived before its deletion does not become live. A memory that becomes live must have no
// duplicate. If it makes a functional claim, no other live memory may make that claim under overlapping conditions,
// except that a contested memory returns beside other contested ones. A memory that was in a contest contests again the
// live memories that it contradicts, and those that make its claim and were in a contest too; if there are none, it
// returns as active.
// Memories recovered earlier in the same request count too.
func (s *Editing) Recover(ctx context.Context, in RecoverInput) (schema.RecoverResult, error) {
	return once(ctx, s, in.Operation, pipeline.KindRecover, in.Now,
		func(c *commit.Change) (schema.RecoverResult, error) {
			r := recovering{Change: c, in: in}
			return r.run(ctx)
		})
}

// recovering is the state of one Recover.
type recovering struct {
	*commit.Change
	in    RecoverInput
	rows  map[uuid.UUID]commit.MemoryRow
	rules lifecycle.RetentionRules
	again map[uuid.UUID]int // versions of memories that are contested again
}

func (r *recovering) run(ctx context.Context) (schema.RecoverResult, error) {
	targets := r.in.Request.Targets
	out := schema.RecoverResult{Items: make([]schema.RecoverItem, 0, len(targets))}
	if len(targets) == 0 {
		return out, fmt.Errorf("request of operation %s: %w", r.in.Operation.ID, pg.ErrNotFound)
	}
	ids := make([]uuid.UUID, len(targets))
	for i, t := range targets {
		id, err := uuid.Parse(t.ID)
		if err != nil {
			return out, pg.InvalidID(fmt.Sprintf("targets[%d].id", i))
		}
		ids[i] = id
	}
	principal := r.in.Request.Principal
	if err := r.LockScopesOf(ctx, principal, ids); err != nil {
		return out, err
	}
	if err := r.lockDeletedClaims(ctx, principal, ids); err != nil {
		return out, err
	}
	var err error
	if r.rules, err = sweeping.RetentionRules(ctx, r.Tx, r.Tenant); err != nil {
		return out, err
	}
	if r.rows, err = r.LockRows(ctx, principal, ids); err != nil {
		return out, err
	}
	for i, id := range ids {
		item, err := r.recover(ctx, id, targets[i].IfVersion)
		if err != nil {
			return out, fmt.Errorf("targets[%d]: %w", i, err)
		}
		out.Items = append(out.Items, item)
	}
	for i, id := range ids { // another one of the request may have contested it again
		if version := r.again[id]; version > out.Items[i].NewVersion && out.Items[i].NewVersion > 0 {
			out.Items[i].NewVersion = version
		}
	}
	return out, nil
}

// mayChange is the condition that the principal may change the memory m. Its arguments are agent, project and grants
// (pg.ChangeGrants).
var mayChange = pg.SharedWith("m", "@agent", "@project", "@grants")

// goneClaimsSQL reads the claims of the deleted or archived memories that the principal may change.
var goneClaimsSQL = `
	SELECT m.agent_id, m.project, m.scope, m.policy_group, m.visibility, m.subject, m.predicate
	FROM memories m
	WHERE m.tenant = @tenant AND m.id = ANY(@ids)
		AND (m.deleted_at IS NOT NULL OR m.archived_at IS NOT NULL)
		AND m.type = 'semantic' AND m.functional AND m.status IN ('active', 'contested')
		AND m.subject IS NOT NULL AND m.predicate IS NOT NULL
		AND ` + mayChange

// claimRow is a row of goneClaimsSQL.
type claimRow struct {
	Agent       string            `db:"agent_id"`
	Project     string            `db:"project"`
	Scope       string            `db:"scope"`
	PolicyGroup string            `db:"policy_group"`
	Visibility  schema.Visibility `db:"visibility"`
	Subject     string            `db:"subject"`
	Predicate   string            `db:"predicate"`
}

func (r claimRow) claim() commit.ClaimOf {
	owner := schema.Principal{Agent: r.Agent, Project: r.Project, Scope: r.Scope, PolicyGroup: r.PolicyGroup}
	return commit.ClaimOf{Owner: owner, Visibility: r.Visibility, Subject: r.Subject, Predicate: r.Predicate}
}

// lockDeletedClaims locks the claims that recovery would make active again, before the rows are locked.
func (r *recovering) lockDeletedClaims(ctx context.Context, p schema.Principal, ids []uuid.UUID) error {
	rows, _ := r.Tx.Query(ctx, goneClaimsSQL, pg.Args{
		"tenant":  r.Tenant,
		"ids":     ids,
		"agent":   p.Agent,
		"project": p.Project,
		"grants":  pg.ChangeGrants(p),
	})
	claims, err := pgx.CollectRows(rows, pgx.RowToStructByName[claimRow])
	if err != nil {
		return err
	}
	locks := make([]commit.ClaimOf, len(claims))
	for i, c := range claims {
		locks[i] = c.claim()
	}
	return r.LockClaims(ctx, locks)
}

// recover undoes one deletion.
func (r *recovering) recover(ctx context.Context, id uuid.UUID, ifVersion int) (schema.RecoverItem, error) {
	out := schema.RecoverItem{ID: id.String(), Status: schema.RecoverNotFound}
	row, ok := r.rows[id]
	if !ok {
		return out, nil
	}
	out.CurrentVersion = row.Version
	window := time.Duration(r.rules.For(row.Domain(), row.Tier, row.Typology).KeepSeconds) * time.Second
	fading, status := revision.EvaluateRecovery(row.Snapshot(), ifVersion, window, r.Now)
	if r.in.Policy.MutationsFrozen() {
		status = schema.RecoverFrozen
	}
	archived := row.DeletedAt == nil // archived but not deleted
	live := (archived || row.ArchivedAt == nil) && row.Status.Live()
	set := map[string]any{
		"deleted_at":   nil,
		"salience":     fading.Salience,
		"salience_at":  fading.SalienceAt,
		"decay_due_at": fading.DueAt,
	}
	if fading.MaxAge != nil {
		set["max_age"] = *fading.MaxAge
	}
	if archived {
		set["archived_at"] = nil
	}
	var opponents []commit.MemoryRow
	if status == schema.RecoverRecovered && live {
		was := row.Status
		var err error
		if opponents, err = r.LockOpponents(ctx, row); err != nil {
			return out, fmt.Errorf("find what contests it: %w", err)
		}
		row.Status = schema.StatusActive
		if len(opponents) > 0 {
			row.Status = schema.StatusContested
		}
		if row.Status != was {
			set["status"] = row.Status
		}
		inTheWay, why, err := r.obstacle(ctx, row, opponents)
		if err != nil {
			return out, err
		}
		if why != "" {
			status, out.ConflictID = why, inTheWay.String()
		}
	}
	out.Status = status
	by, reason, workflow := r.in.Request.By(), r.in.Request.Reason, r.in.Operation.WorkflowID
	if status != schema.RecoverRecovered {
		r.History(commit.HistoryRow{
			MemoryID: id,
			Event:    schema.EventNone,
			By:       by,
			Reason:   fmt.Sprintf("recover refused (%s): %s", status, reason),
			Metadata: map[string]any{"refused": status, "workflow_id": workflow},
		})
		return out, nil
	}
	version, err := r.ApplyStep(ctx, row, commit.Step{
		Set:      set,
		NowLive:  live,
		Event:    schema.EventRecovered,
		Action:   schema.AuditRecover,
		New:      &row.Content,
		By:       by,
		Reason:   reason,
		Metadata: map[string]any{"workflow_id": workflow},
	})
	if err != nil {
		return out, err
	}
	out.NewVersion = version
	return out, r.contestAgain(ctx, id, opponents)
}

// contestAgain marks the opponents of a recovered memory as contested, unless they are. Those that only make its claim
// contradict it from now on.
func (r *recovering) contestAgain(ctx context.Context, id uuid.UUID, opponents []commit.MemoryRow) error {
	for _, m := range opponents {
		r.Relate(id, revision.RelationContradicts, m.ID)
		r.Relate(m.ID, revision.RelationContradicts, id)
		if m.Status == schema.StatusContested {
			continue
		}
		version, err := r.ApplyStep(ctx, m, commit.Step{
			Set:      map[string]any{"status": schema.StatusContested},
			NowLive:  true,
			Event:    schema.EventModified,
			Action:   schema.AuditContest,
			By:       r.in.Request.By(),
			Reason:   revision.ContestAgain,
			Metadata: map[string]any{"workflow_id": r.in.Operation.WorkflowID, memory.HistoryOther: id.String()},
		})
		if err != nil {
			return err
		}
		if r.again == nil {
			r.again = map[uuid.UUID]int{}
		}
		r.again[m.ID] = version
	}
	return nil
}

// obstacle returns the live memory with the content or the claim of a deleted one, and which of the two it has.
// Opponents, which it contests again, are no obstacle.
func (r *recovering) obstacle(ctx context.Context, row commit.MemoryRow,
	opponents []commit.MemoryRow) (uuid.UUID, schema.RecoverStatus, error) {
	duplicate, err := r.LiveByHash(ctx, placeOf(row, row.Hash))
	if err == nil {
		return duplicate, schema.RecoverDuplicate, nil
	}
	if !errors.Is(err, pgx.ErrNoRows) {
		return uuid.Nil, "", fmt.Errorf("find duplicate: %w", err)
	}
	if row.Type != schema.TypeSemantic || !row.Functional || row.Subject == "" {
		return uuid.Nil, "", nil
	}
	holders, err := r.Claimants(ctx, row.Owner, row.Visibility, row.Subject, row.Predicate)
	if err != nil {
		return uuid.Nil, "", fmt.Errorf("find active fact: %w", err)
	}
	for _, h := range holders {
		if row.Status == schema.StatusContested && (h.Status == schema.StatusContested ||
			slices.ContainsFunc(opponents, func(m commit.MemoryRow) bool { return m.ID == h.ID })) {
			continue // a contest has several parties
		}
		if memory.SameGround(h.Validity, row.Validity) {
			return h.ID, schema.RecoverActiveFact, nil
		}
	}
	return uuid.Nil, "", nil
}
