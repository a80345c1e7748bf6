package forgetting

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/mneme/mneme/memory/lifecycle"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/store/commit"
	"github.com/mneme/mneme/store/pg"
)

// forgetKey returns the tenant's key for confirm tokens.
func forgetKey(ctx context.Context, c *commit.Change) ([]byte, error) { return c.Secret(ctx, "forget") }

func forgetSubject(c *commit.Change, r ForgetRow) lifecycle.ForgetSubject {
	return lifecycle.ForgetSubject{Tenant: c.Tenant, RunID: r.ID, Mode: r.Mode, Digest: r.Digest}
}

// ForgetToken makes the token that confirms a run of the principal. The token is in no workflow's history and in no
// table. For an expired run it returns schema.ErrTokenExpired, for a cancelled run schema.ErrForgetClosed, for a
// confirmed run an empty token, and for a run of another agent or user ErrNotFound.
func (s *Forgetter) ForgetToken(ctx context.Context, p schema.Principal, run uuid.UUID, now time.Time) (string, error) {
	token := ""
	err := commit.Write(ctx, s.DB, p.Tenant, now, func(c *commit.Change) error {
		r, err := lockForget(ctx, c, run)
		if err != nil {
			return err
		}
		switch {
		case r.Agent != p.Agent || p.User != "" && r.Scope != pg.UserScope(p):
			return pg.ErrNotFound
		case r.State == schema.ForgetExpired, r.State == schema.ForgetPreviewed && !c.Now.Before(r.ExpiresAt):
			return schema.ErrTokenExpired
		case r.State == schema.ForgetCancelled:
			return schema.ErrForgetClosed
		case r.State != schema.ForgetPreviewed:
			return nil
		}
		key, err := forgetKey(ctx, c)
		if err != nil {
			return err
		}
		token = lifecycle.ConfirmToken(key, forgetSubject(c, r), r.ExpiresAt)
		return nil
	})
	if err != nil {
		return "", fmt.Errorf("confirm token of run %s: %w", run, err)
	}
	return token, nil
}

// ConfirmForget confirms a run. It checks the token against the selected rows. Errors are schema.ErrTokenMalformed,
// ErrTokenExpired and ErrTokenOther, ErrForgetClosed and ErrNotFound. A repeated token changes nothing; the result
// says that the run is already confirmed.
func (s *Forgetter) ConfirmForget(ctx context.Context, tenant string, run uuid.UUID, in schema.ForgetConfirmation,
	now time.Time) (schema.ForgetApproval, error) {
	var out schema.ForgetApproval
	err := commit.Write(ctx, s.DB, tenant, now, func(c *commit.Change) error {
		r, err := lockForget(ctx, c, run)
		if err != nil {
			return err
		}
		key, err := forgetKey(ctx, c)
		if err != nil {
			return err
		}
		err = lifecycle.VerifyToken(key, forgetSubject(c, r), in.Token, c.Now)
		switch {
		case r.State == schema.ForgetConfirmed || r.State == schema.ForgetDone:
			if err != nil && !errors.Is(err, schema.ErrTokenExpired) {
				return err
			}
			out = schema.ForgetApproval{State: r.State, Already: true}
			return nil
		case err != nil:
			return err
		case r.State == schema.ForgetExpired:
			return schema.ErrTokenExpired
		case r.State == schema.ForgetCancelled:
			return schema.ErrForgetClosed
		}
		by := in.Actor
		if by == "" {
			by = r.RequestedBy
		}
		out.State = schema.ForgetConfirmed
		c.Queue.Queue(`
			UPDATE forget_runs
			SET state = @state,
				confirmed_by = @confirmed_by,
				confirmed_at = @now,
				reason = CASE WHEN @reason = '' THEN reason ELSE @reason END
			WHERE tenant = @tenant AND id = @run`,
			pg.Args{
				"tenant":       c.Tenant,
				"run":          run,
				"state":        out.State,
				"confirmed_by": by,
				"reason":       in.Reason,
				"now":          c.Now,
			})
		return nil
	})
	if err != nil {
		return schema.ForgetApproval{}, fmt.Errorf("confirm run %s: %w", run, err)
	}
	return out, nil
}

// CloseForget ends a run as done, expired or cancelled and returns its receipt. A confirmed run does not expire,
// and an ended run keeps its state; the receipt has the state.
func (s *Forgetter) CloseForget(ctx context.Context, tenant string, run uuid.UUID, state schema.ForgetState,
	now time.Time) (schema.ForgetReceipt, error) {
	ctx = pg.WithClass(ctx, pg.ClassPipeline)
	var receipt schema.ForgetReceipt
	err := commit.Write(ctx, s.DB, tenant, now, func(c *commit.Change) error {
		r, err := lockForget(ctx, c, run)
		if err != nil {
			return err
		}
		waiting := r.State == schema.ForgetPreviewed
		if state == schema.ForgetExpired && waiting || state != schema.ForgetExpired &&
			(waiting || r.State == schema.ForgetConfirmed) {
			r.State = state
			c.Queue.Queue(`
				UPDATE forget_runs
				SET state = @state, finished_at = @now
				WHERE tenant = @tenant AND id = @run`,
				pg.Args{"tenant": c.Tenant, "run": run, "state": state, "now": c.Now})
			if err := conclude(ctx, c, &r); err != nil {
				return err
			}
		}
		receipt = r.progress()
		return nil
	})
	if err != nil {
		return receipt, fmt.Errorf("close run %s: %w", run, err)
	}
	return receipt, nil
}

// conclude adds the forgotten ids to a receipt, and the remaining memories with the same content.
func conclude(ctx context.Context, c *commit.Change, r *ForgetRow) error {
	if r.Receipt.Forgotten == 0 {
		return nil
	}
	rows, err := c.Tx.Query(ctx, `
		SELECT memory_id::text
		FROM forget_items
		WHERE tenant = @tenant AND run_id = @run AND outcome = @forgotten
		ORDER BY ordinal
		LIMIT @limit`,
		pg.Args{
			"tenant":    c.Tenant,
			"run":       r.ID,
			"forgotten": lifecycle.OutcomeForgotten,
			"limit":     schema.MaxForgetIDs,
		})
	if err != nil {
		return err
	}
	if r.Receipt.IDs, err = pgx.CollectRows(rows, pgx.RowTo[string]); err != nil {
		return err
	}
	if r.Receipt.StillSaid, r.Receipt.Echoes, err = remainingEchoes(ctx, c, r); err != nil {
		return err
	}
	return saveReceipt(c, r)
}
