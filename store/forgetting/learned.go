package forgetting

import (
	"context"

	"github.com/google/uuid"

	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/store/commit"
	"github.com/mneme/mneme/store/pg"
)

// takeLearned selects the procedures and plans that were learned only from selected episodes, and returns how many
// there are. They repeat the content of the episodes. An episode in which one did not help does not count. A soft
// forget, which can be undone, does not select them.
func takeLearned(ctx context.Context, c *commit.Change, run uuid.UUID, req schema.ForgetRequest,
	first int) (int, error) {
	if req.HowMuch() == schema.ForgetSoft {
		return 0, nil
	}
	tag, err := c.Tx.Exec(ctx, `
		WITH alone AS (
			SELECT DISTINCT l.memory_id AS id
			FROM forget_items i
				JOIN memory_links r ON r.tenant = @tenant AND r.target_id = i.memory_id AND r.predicate = 'derived_from'
				JOIN learned l ON l.tenant = @tenant AND l.memory_id = r.source_id AND l.evidence_hash <> ''
			WHERE i.tenant = @tenant AND i.run_id = @run AND i.outcome = ''
				AND NOT EXISTS (
					SELECT FROM forget_items k
					WHERE k.tenant = @tenant AND k.run_id = @run AND k.memory_id = l.memory_id)
				AND NOT EXISTS (
					SELECT
					FROM memory_links o
						JOIN memories e ON e.tenant = @tenant AND e.id = o.target_id AND e.deleted_at IS NULL
							AND e.type = 'episodic'
					WHERE o.tenant = @tenant AND o.source_id = l.memory_id AND o.predicate = 'derived_from'
						AND coalesce((
							SELECT bool_or(a.ok)
							FROM learning_attempts a
							WHERE a.tenant = @tenant AND a.memory_id = e.id AND a.group_id = l.group_id), true)
						AND NOT EXISTS (
							SELECT FROM forget_items s
							WHERE s.tenant = @tenant AND s.run_id = @run AND s.memory_id = e.id AND s.outcome = ''))
		)
		INSERT INTO forget_items (tenant, run_id, ordinal, memory_id, version)
		SELECT @tenant, @run, @first + row_number() OVER (ORDER BY m.id) - 1, m.id, m.version
		FROM alone a
			JOIN memories m ON m.tenant = @tenant AND m.id = a.id AND m.erased_at IS NULL
		WHERE `+mayChange, askerArgs(req.Principal, pg.Args{"tenant": c.Tenant, "run": run, "first": first}))
	return int(tag.RowsAffected()), err
}
