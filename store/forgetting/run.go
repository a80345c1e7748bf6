package forgetting

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/store/commit"
	"github.com/mneme/mneme/store/pg"
)

// ForgetRow is a stored run. A change that reads it has locked it until commit.
type ForgetRow struct {
	ID          uuid.UUID
	WorkflowID  string
	Agent       string `db:"agent_id"`
	Scope       string // of the user; empty for an agent
	Mode        schema.ForgetMode
	State       schema.ForgetState
	Digest      []byte
	Reason      string
	RequestedBy string
	ConfirmedBy string
	ExpiresAt   time.Time
	ConfirmedAt *time.Time
	FinishedAt  *time.Time
	CreatedAt   time.Time
	Receipt     schema.ForgetReceipt
}

// forgetRowColumns are the columns of a ForgetRow.
const forgetRowColumns = `id, workflow_id, agent_id, scope, mode, state, digest, reason, requested_by, confirmed_by,
	expires_at, confirmed_at, finished_at, created_at, receipt`

// ownRun is the condition that a run belongs to the principal's agent and, if the principal acts for a user, to
// that user.
const ownRun = `tenant = @tenant AND id = @run AND agent_id = @agent AND (@user_scope = '' OR scope = @user_scope)`

// ownRunArgs returns the arguments of ownRun.
func ownRunArgs(p schema.Principal, run uuid.UUID) pg.Args {
	return pg.Args{"tenant": p.Tenant, "run": run, "agent": p.Agent, "user_scope": pg.UserScope(p)}
}

// readRun reads the one run that a query selects. Without one it returns ErrNotFound.
func readRun(ctx context.Context, tx pgx.Tx, query string, args pg.Args) (ForgetRow, error) {
	rows, err := tx.Query(ctx, query, args)
	if err != nil {
		return ForgetRow{}, err
	}
	r, err := pgx.CollectExactlyOneRow(rows, pgx.RowToStructByName[ForgetRow])
	if errors.Is(err, pgx.ErrNoRows) {
		return r, pg.ErrNotFound
	}
	return r, err
}

func lockForget(ctx context.Context, c *commit.Change, run uuid.UUID) (ForgetRow, error) {
	return readRun(ctx, c.Tx, `
		SELECT `+forgetRowColumns+`
		FROM forget_runs
		WHERE tenant = @tenant AND id = @run
		FOR UPDATE`,
		pg.Args{"tenant": c.Tenant, "run": run})
}

// progress returns the receipt as of now.
func (r *ForgetRow) progress() schema.ForgetReceipt {
	out := r.Receipt.Clone()
	out.State, out.Remaining = r.State, r.Receipt.Total-r.Receipt.Processed()
	return out
}

func saveReceipt(c *commit.Change, r *ForgetRow) error {
	encoded, err := json.Marshal(r.Receipt)
	if err != nil {
		return err
	}
	c.Queue.Queue(`UPDATE forget_runs SET receipt = @receipt WHERE tenant = @tenant AND id = @run`,
		pg.Args{"tenant": c.Tenant, "run": r.ID, "receipt": string(encoded)})
	return nil
}

// ForgetNote is the part of a run's result from outside of Postgres.
type ForgetNote struct {
	Removed map[string]int // by place: vectors by index, runs of Temporal
	Stopped int            // pipelines
	Pending []string       // places that could not be reached
}

// NoteForget adds a note to a run's receipt.
func (s *Forgetter) NoteForget(ctx context.Context, tenant string, run uuid.UUID, note ForgetNote,
	now time.Time) error {
	err := commit.Write(ctx, s.DB, tenant, now, func(c *commit.Change) error {
		r, err := lockForget(ctx, c, run)
		if err != nil {
			return err
		}
		for place, n := range note.Removed {
			r.Receipt.Remove(place, n)
		}
		r.Receipt.Stopped += note.Stopped
		for _, place := range note.Pending {
			if !slices.Contains(r.Receipt.Pending, place) {
				r.Receipt.Pending = append(r.Receipt.Pending, place)
			}
		}
		return saveReceipt(c, &r)
	})
	if err != nil {
		return fmt.Errorf("note on run %s: %w", run, err)
	}
	return nil
}

// ForgetStatus reads a run of the principal's agent and user. For any other run it returns ErrNotFound.
func (s *Forgetter) ForgetStatus(ctx context.Context, p schema.Principal, run uuid.UUID) (schema.ForgetStatus, error) {
	var r ForgetRow
	err := s.Read(ctx, p.Tenant, func(tx pgx.Tx) (err error) {
		r, err = readRun(ctx, tx, `SELECT `+forgetRowColumns+` FROM forget_runs WHERE `+ownRun, ownRunArgs(p, run))
		return err
	})
	if err != nil {
		return schema.ForgetStatus{}, fmt.Errorf("read run %s: %w", run, err)
	}
	out := schema.ForgetStatus{
		ForgetReceipt: r.Receipt,
		WorkflowID:    r.WorkflowID,
		Agent:         r.Agent,
		Reason:        r.Reason,
		RequestedBy:   r.RequestedBy,
		ConfirmedBy:   r.ConfirmedBy,
		ExpiresAt:     r.ExpiresAt,
		ConfirmedAt:   r.ConfirmedAt,
		FinishedAt:    r.FinishedAt,
		CreatedAt:     r.CreatedAt,
	}
	out.State, out.Remaining = r.State, r.Receipt.Total-r.Receipt.Processed()
	return out, nil
}

// ForgetItems lists the items of a run of the principal's agent and user, from an ordinal on, at most limit (0 and
// more than 500 mean 500). For any other run it returns ErrNotFound.
func (s *Forgetter) ForgetItems(ctx context.Context, p schema.Principal, run uuid.UUID, from,
	limit int) ([]schema.ForgetItem, error) {
	ctx = pg.WithClass(ctx, pg.ClassPipeline)
	if limit <= 0 || limit > ForgetBatchSize {
		limit = ForgetBatchSize
	}
	out := []schema.ForgetItem{}
	err := s.Read(ctx, p.Tenant, func(tx pgx.Tx) error {
		var known bool
		err := tx.QueryRow(ctx, `SELECT EXISTS (SELECT FROM forget_runs WHERE `+ownRun+`)`,
			ownRunArgs(p, run)).Scan(&known)
		if err == nil && !known {
			err = pg.ErrNotFound
		}
		if err != nil {
			return err
		}
		rows, err := tx.Query(ctx, `
			SELECT i.ordinal, i.memory_id::text, i.version, i.outcome, coalesce(e.tie, '') AS tie
			FROM forget_items i
			LEFT JOIN forget_echoes e ON e.tenant = i.tenant AND e.run_id = i.run_id AND e.memory_id = i.memory_id
			WHERE i.tenant = @tenant AND i.run_id = @run AND i.ordinal >= @first
			ORDER BY i.ordinal
			LIMIT @limit`,
			pg.Args{"tenant": p.Tenant, "run": run, "first": from, "limit": limit})
		if err != nil {
			return err
		}
		out, err = pgx.CollectRows(rows, pgx.RowToStructByName[schema.ForgetItem])
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("list items of run %s: %w", run, err)
	}
	return out, nil
}
