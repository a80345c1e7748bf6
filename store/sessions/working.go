package sessions

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/mneme/mneme/memory/session"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/store/commit"
	"github.com/mneme/mneme/store/pg"
)

// WorkingInput is a request for the state of an agent's work.
type WorkingInput struct {
	Principal schema.Principal
	Session   string   // its name; empty: the session on one of the streams that changed last
	Streams   []string // used only if Session is empty
}

// WorkingOf computes the state of the work of an open session of the agent up to the end of its stream, and writes
// nothing. It returns nil if the agent has no such session or it is closed.
func (s *Sessions) WorkingOf(ctx context.Context, in WorkingInput) (out *session.Working, err error) {
	p := in.Principal
	id := uuid.Nil
	if in.Session != "" {
		id = Key{Principal: p, Session: in.Session}.ID()
	}
	err = s.Read(ctx, p.Tenant, func(tx pgx.Tx) error {
		c := &commit.Change{Tx: tx, Tenant: p.Tenant}
		r, err := commit.Row[row](ctx, tx, `
			SELECT `+rowColumns+`
			FROM sessions s
			WHERE s.tenant = @tenant AND s.state = 'open' AND s.agent_id = @agent AND s.scope = @scope
				AND CASE WHEN @named::boolean THEN s.id = @id ELSE s.stream = ANY(@streams) END
			ORDER BY s.updated_at DESC, s.id
			LIMIT 1`,
			pg.Args{"tenant": p.Tenant, "agent": p.Agent, "scope": p.EffectiveScope(), "named": in.Session != "",
				"id":      id,
				"streams": in.Streams})
		if errors.Is(err, pgx.ErrNoRows) {
			return nil
		}
		if err != nil {
			return err
		}
		if r.Principal == nil || r.Principal.PolicyGroup != p.PolicyGroup {
			r.Working = nil // it was computed from the events of another group
		}
		key := Key{Principal: p, Stream: r.Stream}
		st, err := stateOf(ctx, c, key, r, math.MaxInt)
		if err == nil {
			_, err = takeIn(ctx, c, key, &st, math.MaxInt)
		}
		if err == nil {
			out = &st.Working
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("state of the work: %w", err)
	}
	return out, nil
}
