package budgets

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/mneme/mneme/memory/budget"
	"github.com/mneme/mneme/store/commit"
	"github.com/mneme/mneme/store/pg"
)

// keptDays is how long reservations and days are kept.
const keptDays = 35

// Reservation is a request for the tokens of one attempt at a call.
type Reservation struct {
	Tenant  string
	Key     string // of the attempt: workflow, step and number of the attempt. The same key reserves once
	Purpose string // what the call is for, such as topic
	Tokens  int64
	Limit   int64 // tokens of the tenant's day; 0: no limit
}

// ReserveTokens reserves tokens of the day. If they do not fit, it counts that and returns a *budget.ExceededError.
func (s *Budgets) ReserveTokens(ctx context.Context, r Reservation, now time.Time) error {
	var exceeded *budget.ExceededError
	err := commit.Write(ctx, s.DB, r.Tenant, now, func(c *commit.Change) error {
		exceeded = nil
		day := budget.DayOf(now)
		used, err := lockDay(ctx, c, day)
		if err != nil {
			return err
		}
		var there bool
		if err := c.Tx.QueryRow(ctx, `
			SELECT EXISTS (SELECT FROM token_reservations WHERE tenant = @tenant AND key = @key)`,
			pg.Args{"tenant": r.Tenant, "key": r.Key}).Scan(&there); err != nil || there {
			return err
		}
		used.Limit = r.Limit
		if !used.Admits(r.Tokens) {
			exceeded = &budget.ExceededError{Day: day, Limit: r.Limit, Used: used.Used(), Wanted: r.Tokens}
			_, err := c.Tx.Exec(ctx, `
				UPDATE token_budgets SET refused = refused + 1 WHERE tenant = @tenant AND day = @day`,
				pg.Args{"tenant": r.Tenant, "day": day})
			return err
		}
		if _, err := c.Tx.Exec(ctx, `
			INSERT INTO token_reservations (tenant, key, day, purpose, tokens, created_at)
			VALUES (@tenant, @key, @day, @purpose, @tokens, @now)`,
			pg.Args{"tenant": r.Tenant, "key": r.Key, "day": day, "purpose": r.Purpose, "tokens": r.Tokens,
				"now": c.Now}); err != nil {
			return err
		}
		_, err = c.Tx.Exec(ctx, `
			UPDATE token_budgets SET reserved = reserved + @tokens WHERE tenant = @tenant AND day = @day`,
			pg.Args{"tenant": r.Tenant, "day": day, "tokens": r.Tokens})
		return err
	})
	switch {
	case err != nil:
		return fmt.Errorf("reserve tokens: %w", err)
	case exceeded != nil:
		return exceeded
	}
	return nil
}

// lockDay locks the counter of a day, and creates it if necessary. Creating a new day deletes old ones.
func lockDay(ctx context.Context, c *commit.Change, day time.Time) (budget.Day, error) {
	args := pg.Args{"tenant": c.Tenant, "day": day}
	tag, err := c.Tx.Exec(ctx, `
		INSERT INTO token_budgets (tenant, day) VALUES (@tenant, @day) ON CONFLICT DO NOTHING`, args)
	if err != nil {
		return budget.Day{}, err
	}
	if tag.RowsAffected() > 0 {
		for _, table := range []string{"token_budgets", "token_reservations"} {
			if _, err := c.Tx.Exec(ctx, `DELETE FROM `+table+` WHERE tenant = @tenant AND day < @before`,
				pg.Args{"tenant": c.Tenant, "before": day.AddDate(0, 0, -keptDays)}); err != nil {
				return budget.Day{}, err
			}
		}
	}
	rows, err := c.Tx.Query(ctx, `
		SELECT settled, reserved, 0::bigint AS "limit"
		FROM token_budgets
		WHERE tenant = @tenant AND day = @day
		FOR UPDATE`, args)
	if err != nil {
		return budget.Day{}, err
	}
	return pgx.CollectExactlyOneRow(rows, pgx.RowToStructByName[budget.Day])
}

// SettleTokens records how many tokens a reserved call used. A reservation is settled once; later calls change
// nothing. A reservation whose attempt died is never settled and keeps counting.
func (s *Budgets) SettleTokens(ctx context.Context, tenant, key string, used int64, now time.Time) error {
	err := commit.Write(ctx, s.DB, tenant, now, func(c *commit.Change) error {
		_, err := c.Tx.Exec(ctx, `
			WITH settled AS (
				UPDATE token_reservations
				SET settled = @used
				WHERE tenant = @tenant AND key = @key AND settled IS NULL
				RETURNING day, tokens
			)
			UPDATE token_budgets b
			SET reserved = greatest(0, b.reserved - s.tokens), settled = b.settled + @used
			FROM settled s
			WHERE b.tenant = @tenant AND b.day = s.day`,
			pg.Args{"tenant": tenant, "key": key, "used": max(used, 0)})
		return err
	})
	if err != nil {
		return fmt.Errorf("settle tokens: %w", err)
	}
	return nil
}
