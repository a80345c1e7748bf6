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

// maxReports is the number of a tenant's reports in one page, and of the newest ones that Pending considers.
const maxReports = 2_000

// reported returns the newest reports of a scope after a position, as evidence.
func reported(ctx context.Context, tx pgx.Tx, sc Scope, after Position) ([]pendingRow, error) {
	args := sc.args()
	args["after_at"], args["after_id"], args["reports"], args["limit"] = after.At, after.ID, maxReports, maxCounted
	return commit.Rows[pendingRow](ctx, tx, `
		SELECT r.agent_id, r.session, r.agent_id AS created_by, NULL::bytea AS same, 1::double precision AS trust, r.at
		FROM (
			SELECT r.memory_id, r.agent_id, r.session, r.at
			FROM outcome_reports r
			WHERE r.tenant = @tenant AND (r.at, r.memory_id) > (@after_at, @after_id) AND r.ok IS NOT NULL
			ORDER BY r.at DESC, r.memory_id DESC
			LIMIT @reports) r
		JOIN memories m ON m.tenant = @tenant AND m.id = r.memory_id AND m.live
		WHERE `+ofScope+`
		ORDER BY r.at DESC
		LIMIT @limit`, args)
}

// TakeReports marks the groups of procedures with outcomes reported since the last run, so that they are decided again.
// It reads the tenant's reports in order of time, page by page, and moves the watermark after each page. It returns the
// number of groups.
func (s *Learning) TakeReports(ctx context.Context, sc Scope, now time.Time) (groups int, err error) {
	after, err := s.Watermark(ctx, sc, Reporting)
	if err != nil {
		return 0, err
	}
	for more := true; more; {
		var marked int
		next := after
		if marked, next, more, err = s.takePage(ctx, sc, after, now); err != nil {
			return groups, fmt.Errorf("take reports in: %w", err)
		}
		groups, after = groups+marked, next
		pg.Progressed(ctx)
	}
	return groups, nil
}

func (s *Learning) takePage(ctx context.Context, sc Scope, after Position, now time.Time) (marked int, next Position,
	more bool, err error) {
	err = pg.RetryChange(ctx, func() error {
		marked, next, more = 0, after, false
		return commit.Write(ctx, s.DB, sc.Tenant, now, func(c *commit.Change) error {
			page, err := commit.Rows[struct {
				MemoryID uuid.UUID
				At       time.Time
			}](ctx, c.Tx, `
				SELECT r.memory_id, r.at
				FROM outcome_reports r
				WHERE r.tenant = @tenant AND (r.at, r.memory_id) > (@after_at, @after_id) AND r.ok IS NOT NULL
				ORDER BY r.at, r.memory_id
				LIMIT @limit`,
				pg.Args{"tenant": sc.Tenant, "after_at": after.At, "after_id": after.ID, "limit": maxReports})
			if err != nil || len(page) == 0 {
				return err
			}
			ids := make([]uuid.UUID, len(page))
			for i, r := range page {
				ids[i] = r.MemoryID
			}
			args := sc.args()
			args["ids"] = ids
			tag, err := c.Tx.Exec(ctx, `
				UPDATE learning_groups g
				SET procedures = g.attempts - 1
				WHERE g.tenant = @tenant AND g.attempts > 0 AND g.procedures >= g.attempts AND g.id IN (
					SELECT l.group_id
					FROM learned l
					JOIN memories m ON m.tenant = @tenant AND m.id = l.memory_id AND m.live
					WHERE l.tenant = @tenant AND l.kind = 'competence' AND l.memory_id = ANY(@ids)
						AND `+ofScope+`)`, args)
			if err != nil {
				return err
			}
			last := page[len(page)-1]
			marked, more = int(tag.RowsAffected()), len(page) == maxReports
			next = Position{At: last.At, ID: last.MemoryID}
			return MoveWatermark(ctx, c, sc, Reporting, next, "")
		})
	})
	return marked, next, more, err
}

// ScopesOfReported returns the scopes of memories with a reported outcome.
func (s *Learning) ScopesOfReported(ctx context.Context, tenant string, ids []uuid.UUID) ([]Scope, error) {
	return s.scopesOf(ctx, tenant, ids, []schema.MemoryType{schema.TypeCompetence, schema.TypePlanGraph,
		schema.TypeEpisodic})
}
