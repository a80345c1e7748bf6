package forgetting

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/mneme/mneme/store/commit"
	"github.com/mneme/mneme/store/pg"
)

// SweepLexemes removes the lexemes that no live memory has any more, because a word may be as private as its text.
// It locks rows in the order of other writers, at most sweepPage at a time, so that writers do not wait for a whole
// vocabulary.
func (s *Forgetter) SweepLexemes(ctx context.Context, tenant string, now time.Time) (int, error) {
	ctx = pg.WithClass(ctx, pg.ClassLong)
	removed := 0
	for last := ""; ; {
		n := 0
		next := last
		err := pg.RetryChange(ctx, func() error {
			return commit.Write(ctx, s.DB, tenant, now, func(c *commit.Change) error {
				return c.Tx.QueryRow(ctx, `
					WITH unused AS (
						SELECT lexeme
						FROM lexeme_stats
						WHERE tenant = @tenant AND docs = 0 AND lexeme > @last
						ORDER BY lexeme
						LIMIT @limit
						FOR UPDATE
					), swept AS (
						DELETE FROM lexeme_stats s
						USING unused u
						WHERE s.tenant = @tenant AND s.lexeme = u.lexeme
					)
					SELECT count(*), coalesce(max(lexeme), '')
					FROM unused`,
					pg.Args{"tenant": c.Tenant, "last": last, "limit": sweepPage}).Scan(&n, &next)
			})
		})
		if err != nil {
			return removed, fmt.Errorf("sweep lexemes: %w", err)
		}
		removed, last = removed+n, next
		if n < sweepPage {
			return removed, nil
		}
	}
}

// SweepPurgedLexemes is SweepLexemes after purges. A purge counts its tombstones, and this sweep records how many
// of them it has covered. It is separate from the purge's transaction; the next run completes an interrupted sweep.
func (s *Forgetter) SweepPurgedLexemes(ctx context.Context, tenant string, now time.Time) error {
	ctx = pg.WithClass(ctx, pg.ClassLong)
	var runs []string
	err := s.Read(ctx, tenant, func(tx pgx.Tx) error {
		rows, err := tx.Query(ctx, `
			SELECT id
			FROM sweep_runs
			WHERE tenant = $1 AND sweep = 'retention'
				AND (counts->>'tombstones')::bigint > coalesce((counts->>'without_words')::bigint, 0)`, tenant)
		if err != nil {
			return err
		}
		runs, err = pgx.CollectRows(rows, pgx.RowTo[string])
		return err
	})
	if err != nil {
		return fmt.Errorf("read what was purged: %w", err)
	}
	if len(runs) == 0 {
		return nil
	}
	if _, err := s.SweepLexemes(ctx, tenant, now); err != nil {
		return err
	}
	err = commit.Write(ctx, s.DB, tenant, now, func(c *commit.Change) error {
		c.Queue.Queue(`
			UPDATE sweep_runs
			SET counts = counts || jsonb_build_object('without_words', counts->'tombstones')
			WHERE tenant = @tenant AND id = ANY(@runs)`,
			pg.Args{"tenant": c.Tenant, "runs": runs})
		return nil
	})
	if err != nil {
		return fmt.Errorf("note what was purged: %w", err)
	}
	return nil
}

// sweepPage is the number of lexemes that one transaction of a sweep removes.
const sweepPage = 5000
