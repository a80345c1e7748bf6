package forgetting

import (
	"context"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/mneme/mneme/memory/proposals"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/store/commit"
	"github.com/mneme/mneme/store/pg"
)

// notSelected is the condition that a run has neither selected the memory m nor found that it says the same.
const notSelected = `NOT EXISTS (
		SELECT FROM forget_items i
		WHERE i.tenant = @tenant AND i.run_id = @run AND i.memory_id = m.id)
	AND NOT EXISTS (
		SELECT FROM forget_echoes i
		WHERE i.tenant = @tenant AND i.run_id = @run AND i.memory_id = m.id)`

// countOthersSQL counts, for each of the first echoes, how much else it says. For a derived memory it counts the
// other sources. For any other it counts the other facts extracted from it and its proposals that wait for review.
const countOthersSQL = `
	SELECT e.memory_id, e.tie, t.content,
		e.also_says > 0 AS more,
		CASE e.tie
			WHEN 'derived' THEN (
				SELECT count(*)
				FROM memory_links r
				JOIN memories m ON m.tenant = @tenant AND m.id = r.target_id AND m.erased_at IS NULL
				WHERE r.tenant = @tenant AND r.source_id = e.memory_id AND r.predicate = 'derived_from'
					AND ` + notSelected + `
			)
			ELSE (
				SELECT count(*)
				FROM (
					SELECT r.source_id AS id
					FROM memory_links r
					WHERE r.tenant = @tenant AND r.target_id = e.memory_id AND r.predicate = 'derived_from'
					UNION
					SELECT p.memory_id
					FROM memory_candidates c
					JOIN proposals p ON p.tenant = @tenant AND p.candidate_id = c.id AND ` + linkedFact + `
					WHERE c.tenant = @tenant AND c.memory_id = e.memory_id AND p.memory_id <> e.memory_id
				) x
				JOIN memories m ON m.tenant = @tenant AND m.id = x.id
					AND m.erased_at IS NULL AND m.deleted_at IS NULL
					AND ` + notSelected + `
			) + (
				SELECT count(*)
				FROM memory_candidates c
				JOIN proposals p ON p.tenant = @tenant AND p.candidate_id = c.id
				WHERE c.tenant = @tenant AND c.memory_id = e.memory_id AND ` + pg.WaitsForReview + `
			)
		END AS others
	FROM forget_echoes e
	JOIN memories t ON t.tenant = @tenant AND t.id = e.memory_id
	WHERE e.tenant = @tenant AND e.run_id = @run AND NOT e.foreign_owner
	ORDER BY e.position
	LIMIT @limit`

// countedEcho is an echo with the number of other things that it says.
type countedEcho struct {
	MemoryID uuid.UUID
	Tie      proposals.Tie
	Content  string
	More     bool
	Others   int
}

// countOthers stores how much else the first echoes say. For a derived memory this is the number of its other
// sources. For any other it is the number of facts extracted from it that the run has neither selected nor found,
// with the proposals that wait for review.
func (s *echoSearch) countOthers(ctx context.Context) error {
	rows, err := s.Tx.Query(ctx, countOthersSQL,
		pg.Args{"tenant": s.Tenant, "run": s.run, "limit": schema.MaxForgetSample})
	if err != nil {
		return err
	}
	echoes, err := pgx.CollectRows(rows, pgx.RowToStructByName[countedEcho])
	if err != nil {
		return err
	}
	var ids []uuid.UUID
	var alsoSays []int32
	for _, e := range echoes {
		others := e.Others
		if e.Tie != proposals.TieDerived {
			others = proposals.AlsoSays(e.Content, others, e.More)
		}
		if others > 0 {
			ids, alsoSays = append(ids, e.MemoryID), append(alsoSays, int32(others))
		}
	}
	if len(ids) == 0 {
		return nil
	}
	_, err = s.Tx.Exec(ctx, `
		UPDATE forget_echoes e
		SET also_says = x.also_says
		FROM unnest(@ids::uuid[], @also_says::integer[]) x(id, also_says)
		WHERE e.tenant = @tenant AND e.run_id = @run AND e.memory_id = x.id`,
		pg.Args{"tenant": s.Tenant, "run": s.run, "ids": ids, "also_says": alsoSays})
	return err
}

// takeEchoes selects the echoes after the first items of a run, and returns how many there are.
func takeEchoes(ctx context.Context, c *commit.Change, run uuid.UUID, first int) (int, error) {
	tag, err := c.Tx.Exec(ctx, `
		WITH taken AS (
			UPDATE forget_echoes
			SET taken = true
			WHERE tenant = @tenant AND run_id = @run AND NOT foreign_owner
			RETURNING memory_id, position
		)
		INSERT INTO forget_items (tenant, run_id, ordinal, memory_id, version)
		SELECT @tenant, @run, @first + row_number() OVER (ORDER BY t.position) - 1, m.id, m.version
		FROM taken t
		JOIN memories m ON m.tenant = @tenant AND m.id = t.memory_id`,
		pg.Args{"tenant": c.Tenant, "run": run, "first": first})
	return int(tag.RowsAffected()), err
}

// showEchoes adds to a preview the memories that say the same.
func showEchoes(ctx context.Context, c *commit.Change, run uuid.UUID, preview *schema.ForgetPreview) error {
	err := c.Tx.QueryRow(ctx, `
		SELECT count(*) FILTER (WHERE NOT foreign_owner), count(*) FILTER (WHERE foreign_owner)
		FROM forget_echoes
		WHERE tenant = @tenant AND run_id = @run`,
		pg.Args{"tenant": c.Tenant, "run": run}).Scan(&preview.SaysSame, &preview.SaysSameNotOwner)
	if err != nil || preview.SaysSame == 0 {
		return err
	}
	preview.Echoes, err = listEchoes(ctx, c, run, "true")
	return err
}

// remainingEchoes lists the first of the remaining echoes of a run that has forgotten anything, and returns how
// many remain.
func remainingEchoes(ctx context.Context, c *commit.Change, r *ForgetRow) (int, []schema.ForgetEcho, error) {
	left := `EXISTS (
			SELECT FROM memories m
			WHERE m.tenant = e.tenant AND m.id = e.memory_id AND ` + leftToForget(r.Mode) + `)`
	var n int
	err := c.Tx.QueryRow(ctx, `
		SELECT count(*)
		FROM forget_echoes e
		WHERE e.tenant = @tenant AND e.run_id = @run AND NOT e.foreign_owner
			AND `+left,
		pg.Args{"tenant": c.Tenant, "run": r.ID}).Scan(&n)
	if err != nil || n == 0 {
		return n, nil, err
	}
	echoes, err := listEchoes(ctx, c, r.ID, left)
	return n, echoes, err
}

// listEchoes lists the first echoes e of a run for which a condition holds.
func listEchoes(ctx context.Context, c *commit.Change, run uuid.UUID, where string) ([]schema.ForgetEcho, error) {
	rows, err := c.Tx.Query(ctx, `
		SELECT e.memory_id::text AS id, e.tie, e.also_says
		FROM forget_echoes e
		WHERE e.tenant = @tenant AND e.run_id = @run AND NOT e.foreign_owner
			AND `+where+`
		ORDER BY e.position
		LIMIT @limit`,
		pg.Args{"tenant": c.Tenant, "run": run, "limit": schema.MaxForgetSample})
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowToStructByName[schema.ForgetEcho])
}
