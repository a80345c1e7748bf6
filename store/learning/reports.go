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

// Reporting is the name of the watermark of reported outcomes: when a run last took reports in.
const Reporting = "reports"

// maxReports is the number of reports in one page.
const maxReports = 2_000

// waitingReports is the condition that a report r of a scope was not taken in. Its index is outcome_reports_waiting.
const waitingReports = `r.tenant = @tenant AND r.project = @project AND r.scope = @scope AND r.scope_agent = @agent
	AND r.ok IS NOT NULL AND NOT r.taken`

// reported returns the newest reports of a scope that were not taken in, as evidence.
func reported(ctx context.Context, tx pgx.Tx, sc Scope) ([]pendingRow, error) {
	args := sc.args()
	args["limit"] = maxCounted
	return commit.Rows[pendingRow](ctx, tx, `
		SELECT r.agent_id, r.session, r.agent_id AS created_by, NULL::bytea AS same, 1::double precision AS trust, r.at
		FROM outcome_reports r
		JOIN memories m ON m.tenant = @tenant AND m.id = r.memory_id AND m.live
		WHERE `+waitingReports+`
		ORDER BY r.at DESC
		LIMIT @limit`, args)
}

// TakeReports marks the groups of procedures and plans with outcomes reported since the last run, so that they are
// decided again. It takes the reports of the scope in page by page. It returns the number of groups.
func (s *Learning) TakeReports(ctx context.Context, sc Scope, now time.Time) (groups int, err error) {
	for more := true; more; {
		var marked int
		if marked, more, err = s.takePage(ctx, sc, now); err != nil {
			return groups, fmt.Errorf("take reports in: %w", err)
		}
		groups += marked
		pg.Progressed(ctx)
	}
	return groups, nil
}

func (s *Learning) takePage(ctx context.Context, sc Scope, now time.Time) (marked int, more bool, err error) {
	err = pg.RetryChange(ctx, func() error {
		marked, more = 0, false
		return commit.Write(ctx, s.DB, sc.Tenant, now, func(c *commit.Change) error {
			args := sc.args()
			args["limit"] = maxReports
			// A locked report is being moved or deleted. It is left to the next run.
			ids, err := commit.Values[uuid.UUID](ctx, c.Tx, `
				WITH page AS (
					SELECT r.tenant, r.memory_id, r.advice_id, r.used
					FROM outcome_reports r
					WHERE `+waitingReports+`
					ORDER BY r.at, r.memory_id
					LIMIT @limit
					FOR UPDATE SKIP LOCKED
				)
				UPDATE outcome_reports r
				SET taken = true
				FROM page p
				WHERE r.tenant = p.tenant AND r.memory_id = p.memory_id AND r.advice_id = p.advice_id AND r.used = p.used
				RETURNING r.memory_id`, args)
			if err != nil || len(ids) == 0 {
				return err
			}
			tag, err := c.Tx.Exec(ctx, `
				WITH reported AS (
					SELECT l.group_id, bool_or(l.kind = 'competence') AS procedure, bool_or(l.kind = 'plan_graph') AS plan
					FROM learned l
					JOIN memories m ON m.tenant = @tenant AND m.id = l.memory_id AND m.live
					WHERE l.tenant = @tenant AND l.memory_id = ANY(@ids)
					GROUP BY l.group_id
				)
				UPDATE learning_groups g
				SET procedures = CASE WHEN r.procedure THEN least(g.procedures, g.attempts - 1) ELSE g.procedures END,
					plans = CASE WHEN r.plan THEN least(g.plans, g.attempts - 1) ELSE g.plans END
				FROM reported r
				WHERE g.tenant = @tenant AND g.id = r.group_id AND g.attempts > 0
					AND (r.procedure AND g.procedures >= g.attempts OR r.plan AND g.plans >= g.attempts)`,
				pg.Args{"tenant": sc.Tenant, "ids": ids})
			if err != nil {
				return err
			}
			marked, more = int(tag.RowsAffected()), len(ids) == maxReports
			return MoveWatermark(ctx, c, sc, Reporting, Position{At: c.Now, ID: ids[0]}, "")
		})
	})
	return marked, more, err
}

// ScopesOfReported returns the scopes of memories with a reported outcome.
func (s *Learning) ScopesOfReported(ctx context.Context, tenant string, ids []uuid.UUID) ([]Scope, error) {
	return s.scopesOf(ctx, tenant, ids, []schema.MemoryType{schema.TypeCompetence, schema.TypePlanGraph,
		schema.TypeEpisodic})
}
