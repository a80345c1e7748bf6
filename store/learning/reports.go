package learning

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/store/commit"
	"github.com/mneme/mneme/store/pg"
)

// Reporting is the name of the watermark of reported outcomes.
const Reporting = "reports"

// maxReports is how many of the newest reports of a tenant are looked at for one scope.
const maxReports = 2_000

// newReports selects the newest reports of a tenant after a time that are about memories of a scope.
const newReports = `
	FROM (
		SELECT r.memory_id, r.agent_id, r.session, r.at
		FROM outcome_reports r
		WHERE r.tenant = @tenant AND r.at > @reports_at AND r.ok IS NOT NULL
		ORDER BY r.at DESC
		LIMIT @reports) r
	JOIN memories m ON m.tenant = @tenant AND m.id = r.memory_id AND m.live
	WHERE ` + ofScope

// reported are the reports of a scope after a time, as evidence.
func reported(ctx context.Context, tx pgx.Tx, sc Scope, after time.Time) ([]pendingRow, error) {
	args := sc.args()
	args["reports_at"], args["reports"] = after, maxReports
	return commit.Rows[pendingRow](ctx, tx, `
		SELECT r.agent_id, r.session, r.agent_id AS created_by, NULL::bytea AS same, 1::double precision AS trust,
			r.at`+
		newReports+`
		ORDER BY r.at DESC
		LIMIT @limit`, withLimit(args, maxCounted))
}

func withLimit(args pg.Args, limit int) pg.Args {
	args["limit"] = limit
	return args
}

// TakeReports has the groups decided again whose procedures outcomes were reported of since the last run, and moves the
// watermark. It returns how many groups that are.
func (s *Learning) TakeReports(ctx context.Context, sc Scope, now time.Time) (groups int, err error) {
	mark, err := s.Watermark(ctx, sc, Reporting)
	if err != nil {
		return 0, err
	}
	err = pg.RetryChange(ctx, func() error {
		return commit.Write(ctx, s.DB, sc.Tenant, now, func(c *commit.Change) error {
			args := sc.args()
			args["reports_at"], args["reports"] = mark.At, maxReports
			last, err := commit.Values[*time.Time](ctx, c.Tx, `SELECT max(r.at)`+newReports, args)
			if err != nil || len(last) == 0 || last[0] == nil {
				groups = 0
				return err
			}
			tag, err := c.Tx.Exec(ctx, `
				UPDATE learning_groups g
				SET procedures = g.attempts - 1
				WHERE g.tenant = @tenant AND g.attempts > 0 AND g.procedures >= g.attempts AND g.id IN (
					SELECT l.group_id
					FROM learned l
					WHERE l.tenant = @tenant AND l.kind = 'competence' AND l.memory_id IN (SELECT r.memory_id`+
				newReports+`))`, args)
			if err != nil {
				return err
			}
			groups = int(tag.RowsAffected())
			return MoveWatermark(ctx, c, sc, Reporting, Position{At: *last[0]}, "")
		})
	})
	if err != nil {
		return 0, fmt.Errorf("take reports in: %w", err)
	}
	return groups, nil
}

// ScopesOfReported are the scopes of memories that an outcome was reported of.
func (s *Learning) ScopesOfReported(ctx context.Context, tenant string, ids []uuid.UUID) ([]Scope, error) {
	return s.scopesOf(ctx, tenant, ids, []schema.MemoryType{schema.TypeCompetence, schema.TypePlanGraph,
		schema.TypeEpisodic})
}
