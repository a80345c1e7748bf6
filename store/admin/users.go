package admin

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/store/pg"
)

// HeldOfUser counts what is stored of a user of a tenant, for all agents. Emptied events and erased memories do not
// count: they have no text.
type HeldOfUser struct {
	User      string         `json:"user"`
	Memories  []HeldMemories `json:"memories"`
	Events    int64          `json:"events"`    // in the user's streams
	Topics    int64          `json:"topics"`    // standing questions
	Artifacts int64          `json:"artifacts"` // that the user stored
}

// HeldMemories is the number of memories that an agent keeps for a user, deleted ones included.
type HeldMemories struct {
	Agent    string `json:"agent"`
	Memories int64  `json:"memories"`
}

// Nothing reports whether nothing is stored.
func (h HeldOfUser) Nothing() bool {
	return len(h.Memories) == 0 && h.Events+h.Topics+h.Artifacts == 0
}

// HeldOfUser counts what is stored of a user.
func (s *Admin) HeldOfUser(ctx context.Context, tenant, user string) (HeldOfUser, error) {
	out := HeldOfUser{User: user}
	err := s.Read(pg.WithClass(ctx, pg.ClassLong), tenant, func(tx pgx.Tx) error {
		args := pg.Args{"tenant": tenant, "scope": schema.UserScope(user)}
		rows, err := tx.Query(ctx, `
			SELECT agent_id AS agent, count(*) AS memories
			FROM memories
			WHERE tenant = @tenant AND scope = @scope AND erased_at IS NULL
			GROUP BY agent_id
			ORDER BY agent_id`, args)
		if err != nil {
			return err
		}
		if out.Memories, err = pgx.CollectRows(rows, pgx.RowToStructByName[HeldMemories]); err != nil {
			return err
		}
		return tx.QueryRow(ctx, `
			SELECT (
				SELECT count(*)
				FROM event_streams s
					JOIN events e ON e.tenant = s.tenant AND e.stream = s.stream AND e.erased_at IS NULL
				WHERE s.tenant = @tenant AND s.scope = @scope AND s.scope <> ''
			), (
				SELECT count(*)
				FROM topics
				WHERE tenant = @tenant AND scope = @scope
			), (
				SELECT count(DISTINCT sha256)
				FROM artifact_holders
				WHERE tenant = @tenant AND scope = @scope
			)`, args).Scan(&out.Events, &out.Topics, &out.Artifacts)
	})
	if err != nil {
		return HeldOfUser{}, fmt.Errorf("count what is stored of a user: %w", err)
	}
	if out.Memories == nil {
		out.Memories = []HeldMemories{}
	}
	return out, nil
}
