package sessions

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/mneme/mneme/memory/session"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/store/commit"
	"github.com/mneme/mneme/store/pg"
)

// MaxPage is the number of sessions in a page.
const MaxPage = 1_000

// Session is a session as it is shown to people.
type Session struct {
	ID         uuid.UUID `json:"id"`
	WorkflowID string    `json:"workflow_id"`
	AgentID    string    `json:"agent"`
	Scope      string    `json:"scope,omitempty"`
	Session    string    `json:"session"`
	Stream     string    `json:"stream"`
	State      string    `json:"state"` // open or closed
	FirstSeq   int64     `json:"first_seq"`
	LastSeq    int64     `json:"last_seq"`
	Events     int       `json:"events"`
	OpenedAt   time.Time `json:"opened_at"`
	UpdatedAt  time.Time `json:"updated_at"`

	ClosedAt *time.Time `json:"closed_at,omitempty"`
}

const sessionColumns = `s.id, s.workflow_id, s.agent_id, s.scope, s.session, s.stream, s.state, s.first_seq, s.last_seq,
	s.events, s.opened_at, s.updated_at, s.closed_at`

// ListInput is a request to list sessions of a tenant.
type ListInput struct {
	Tenant string
	Agent  string   // only its sessions; empty: all
	Scopes []string // only sessions of these scopes; none: all
	Open   bool     // only those that are open
	Limit  int
}

// ListSessions lists sessions, the last changed first.
func (s *Sessions) ListSessions(ctx context.Context, in ListInput) (out []Session, err error) {
	err = s.Read(ctx, in.Tenant, func(tx pgx.Tx) error {
		out, err = commit.Rows[Session](ctx, tx, `
			SELECT `+sessionColumns+`
			FROM sessions s
			WHERE s.tenant = @tenant AND (@agent = '' OR s.agent_id = @agent) AND (NOT @open OR s.state = 'open')
				AND (@every OR s.scope = ANY(@scopes))
			ORDER BY s.updated_at DESC, s.id
			LIMIT @limit`,
			pg.Args{"tenant": in.Tenant, "agent": in.Agent, "open": in.Open, "every": len(in.Scopes) == 0,
				"scopes": in.Scopes, "limit": max(1, min(in.Limit, MaxPage))})
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("list sessions: %w", err)
	}
	return out, nil
}

// Shown is a session with its episodes and, while it is open, the last stored state of the work.
type Shown struct {
	Session
	Working  *schema.WorkingPayload `json:"working,omitempty"`
	Episodes []Closed               `json:"episodes"` // the latest first
}

// ShowSession reads a session. It returns pg.ErrNotFound if there is none.
func (s *Sessions) ShowSession(ctx context.Context, key Key) (out Shown, err error) {
	err = s.Read(ctx, key.Principal.Tenant, func(tx pgx.Tx) error {
		args := pg.Args{"tenant": key.Principal.Tenant, "id": key.ID()}
		found, err := commit.Row[struct {
			Session
			Working json.RawMessage
		}](ctx, tx, `
			SELECT `+sessionColumns+`, s.working
			FROM sessions s
			WHERE s.tenant = @tenant AND s.id = @id`, args)
		if errors.Is(err, pgx.ErrNoRows) {
			return pg.ErrNotFound
		}
		if err != nil {
			return err
		}
		out.Session = found.Session
		if len(found.Working) > 0 {
			var working session.Working
			if err := json.Unmarshal(found.Working, &working); err != nil {
				return err
			}
			out.Working = &working.Payload
		}
		out.Episodes, err = commit.Rows[Closed](ctx, tx, `
			SELECT `+closedColumns+`
			FROM session_episodes e
			WHERE e.tenant = @tenant AND e.session_id = @id
			ORDER BY e.first_seq DESC
			LIMIT 100`, args)
		return err
	})
	if err != nil {
		return Shown{}, fmt.Errorf("session: %w", err)
	}
	return out, nil
}
