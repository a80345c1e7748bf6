package forgetting

import (
	"context"

	"github.com/google/uuid"

	"github.com/mneme/mneme/memory/lifecycle"
	"github.com/mneme/mneme/store/commit"
	"github.com/mneme/mneme/store/pg"
)

// ActionLinked renders the condition that a memory is action-linked: an action is based on it, or it is the record
// of such an action. The memory's id is in column id of row. Both ends of a link are protected: if one were
// deleted, its link would go with it, and the other would lose its protection. The statement needs the argument
// @action_links, which is lifecycle.ActionLinks.
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

// ActionLinkedAmong returns the action-linked memories among the ids, which the caller has locked. It is a separate
// statement because the one that locks does not see links made since it began. A writer of a link locks both ends,
// so the link is either seen here, or written after this change and aware of it.
func ActionLinkedAmong(ctx context.Context, c *commit.Change, ids []uuid.UUID) (map[uuid.UUID]bool, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	return c.IdSet(ctx, actionLinkedAmong,
		pg.Args{"tenant": c.Tenant, "ids": ids, "action_links": lifecycle.ActionLinks})
}
