package events

import (
	"context"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/schema/ledger"
	"github.com/mneme/mneme/store/pg"
)

// PendingInput is a request for the events that an agent has seen in a stream since its last reflection.
type PendingInput struct {
	Principal      schema.Principal
	Stream         string
	Through        int64              // only events up to this number; 0: all
	MaxSensitivity schema.Sensitivity // empty: medium
	Limit          int
}

// frontierSQL reads the number up to which the agent's reflections cover the events. A reflection covers all events
// up to the one that it names. If it names none or is erased, it covers all events before itself. The latest
// reflections are enough, because at least one of them names an event of this stream.
const frontierSQL = `
	SELECT coalesce(max(CASE WHEN r.through <> '' THEN least(r.seq, coalesce(i.seq, 0)) ELSE r.seq END), 0)
	FROM (
		SELECT seq, coalesce(payload->>'through', '') AS through
		FROM events
		WHERE tenant = @tenant AND agent_id = @agent AND stream = @stream AND kind = 'agent.reflected'
		ORDER BY seq DESC
		LIMIT 32) r
		LEFT JOIN LATERAL (
			SELECT seq
			FROM event_ids
			WHERE tenant = @tenant AND id = r.through AND stream = @stream
			OFFSET 0) i ON true`

// pendingSQL is latestSQL in the other direction: the agent's own events and those of each audience after a number.
// The agent's own reflections are never pending.
const pendingSQL = `
	SELECT ` + columns + `
	FROM (
		SELECT DISTINCT ON (u.seq) u.*
		FROM (
			(SELECT *
			FROM events
			WHERE tenant = @tenant AND stream = @stream
				AND (agent_id, seq) > (@agent, @after) AND (agent_id, seq) <= (@agent, @through)
				AND kind <> 'agent.reflected' AND erased_at IS NULL AND sensitivity = ANY(@sensitivities)
			ORDER BY agent_id, seq
			LIMIT @limit)
			UNION ALL
			(SELECT o.*
			FROM unnest(@audiences::text[]) a(audience)
				CROSS JOIN LATERAL (
					SELECT *
					FROM events
					WHERE tenant = @tenant AND stream = @stream AND visibility <> 'private' AND seq > @after
						AND seq <= @through AND ` + audienceSQL + ` = a.audience
						AND (visibility <> 'group' OR policy_group = a.audience AND policy_group <> '')
						AND (kind <> 'agent.reflected' OR agent_id <> @agent AND NOT @happened)
						AND erased_at IS NULL AND sensitivity = ANY(@sensitivities)
					ORDER BY seq
					LIMIT @limit) o)) u
		ORDER BY u.seq) e
	ORDER BY e.seq
	LIMIT @limit`

// Pending reads at most Limit events of a stream after an agent's last reflection, oldest first, if the agent may
// see them. If these are only reflections of others, the first later event of another kind is added:
// views.ReflectionTracker needs it to decide whether anything happened. That package applies the same rule to all
// events, and a test checks that both agree.
func (s *Events) Pending(ctx context.Context, in PendingInput) ([]ledger.Event, error) {
	through := in.Through
	if through <= 0 {
		through = 1 << 62
	}
	limit := max(1, min(in.Limit, MaxPage))
	args := pg.Args{
		"tenant":        in.Principal.Tenant,
		"stream":        in.Stream,
		"agent":         in.Principal.Agent,
		"audiences":     audiences(in.Principal.PolicyGroup),
		"after":         int64(0),
		"through":       through,
		"sensitivities": pg.SensitivitiesUpTo(in.MaxSensitivity),
		"happened":      false,
		"limit":         limit,
	}
	after, err := s.reflectedUpTo(ctx, in)
	if err != nil {
		return nil, fmt.Errorf("read pending events: %w", err)
	}
	args["after"] = after
	out, err := s.queryFor(ctx, in.Principal.Tenant, in.Principal.User, pendingSQL, args)
	if err != nil {
		return nil, fmt.Errorf("read pending events: %w", err)
	}
	happened := func(e ledger.Event) bool { return e.Kind != ledger.KindAgentReflected }
	if len(out) < limit || slices.ContainsFunc(out, happened) {
		return out, nil
	}
	args["after"], args["happened"], args["limit"] = out[len(out)-1].Seq, true, 1
	more, err := s.queryFor(ctx, in.Principal.Tenant, in.Principal.User, pendingSQL, args)
	if err != nil {
		return nil, fmt.Errorf("read pending events: %w", err)
	}
	return append(out, more...), nil
}

func (s *Events) reflectedUpTo(ctx context.Context, in PendingInput) (seq int64, err error) {
	err = s.Read(ctx, in.Principal.Tenant, func(tx pgx.Tx) error {
		return tx.QueryRow(ctx, frontierSQL, pg.Args{"tenant": in.Principal.Tenant, "stream": in.Stream,
			"agent": in.Principal.Agent}).Scan(&seq)
	})
	return seq, err
}
