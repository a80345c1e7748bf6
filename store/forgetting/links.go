package forgetting

import (
	"context"

	"github.com/google/uuid"

	"github.com/mneme/mneme/memory/lifecycle"
	"github.com/mneme/mneme/store/commit"
	"github.com/mneme/mneme/store/pg"
)

// ActionLinked renders that the memory whose id is in a column of the row is action-linked: something that was done
// rests on it, or it is what was done. The link is deleted with the row that it leads to, and the memory at its start
// would no longer be protected, so both ends count. The statement needs the argument @action_links, which is
// lifecycle.ActionLinks.
func ActionLinked(row, id string) string {
	return `EXISTS (
		SELECT FROM memory_links r
		WHERE r.tenant = ` + row + `.tenant AND r.source_id = ` + row + `.` + id + `
			AND r.predicate = ANY(@action_links)
		UNION ALL
		SELECT FROM memory_links r
		WHERE r.tenant = ` + row + `.tenant AND r.target_id = ` + row + `.` + id + `
			AND r.predicate = ANY(@action_links))`
}

var actionLinkedAmong = `
	SELECT m.id
	FROM memories m
	WHERE m.tenant = @tenant AND m.id = ANY(@ids) AND ` + ActionLinked("m", "id")

// ActionLinkedAmong returns which of some memories are action-linked. The caller has locked them. A new link holds
// its ends while it is written, and so is either seen under the lock, or sees what was done under it; the statement
// that locks does not see what was linked since it began.
func ActionLinkedAmong(ctx context.Context, c *commit.Change, ids []uuid.UUID) (map[uuid.UUID]bool, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	return c.IdSet(ctx, actionLinkedAmong,
		pg.Args{"tenant": c.Tenant, "ids": ids, "action_links": lifecycle.ActionLinks})
}
