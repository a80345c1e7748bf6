package admin

import (
	"context"
	"errors"
	"fmt"

	"github.com/google/uuid"
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

// Removals lists removals of topics and artifacts of a tenant, newest first, after the one with an id. With a user it
// lists those of the user's.
func (s *Admin) Removals(ctx context.Context, tenant, user string, after uuid.UUID,
	limit int) ([]schema.Removal, error) {
	condition, args := "", pg.Args{"tenant": tenant, "limit": pg.PageLimit(limit)}
	if user != "" {
		condition, args["scope"] = " AND scope = @scope", schema.UserScope(user)
	}
	if after != uuid.Nil {
		condition, args["after"] = condition+" AND id < @after", after
	}
	var out []schema.Removal
	err := s.Read(ctx, tenant, func(tx pgx.Tx) error {
		if err := knownRemoval(ctx, tx, tenant, after); err != nil {
			return err
		}
		rows, err := tx.Query(ctx, `
			SELECT id::text, kind, agent_id AS agent, scope, removed, kept, removed_by, reason, removed_at
			FROM removals
			WHERE tenant = @tenant`+condition+`
			ORDER BY id DESC
			LIMIT @limit`, args)
		if err != nil {
			return err
		}
		out, err = pgx.CollectRows(rows, pgx.RowToStructByName[schema.Removal])
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("list removals: %w", err)
	}
	return out, nil
}

// knownRemoval refuses a page after a removal that is not stored: it could leave out newer ones.
func knownRemoval(ctx context.Context, tx pgx.Tx, tenant string, after uuid.UUID) error {
	if after == uuid.Nil {
		return nil
	}
	var id uuid.UUID
	err := tx.QueryRow(ctx, `SELECT id FROM removals WHERE tenant = $1 AND id = $2`, tenant, after).Scan(&id)
	if errors.Is(err, pgx.ErrNoRows) {
		return &schema.ValidationError{Fields: []schema.FieldError{{Field: "after",
			Problem: "names no removal that is still stored: begin with the first page"}}}
	}
	return err
}
