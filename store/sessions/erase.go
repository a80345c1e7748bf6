package sessions

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/schema/ledger"
	"github.com/mneme/mneme/store/commit"
	"github.com/mneme/mneme/store/pg"
)

// Erased is the result of erasing events, with the records that may repeat them.
type Erased struct {
	Events    int         // emptied by this call
	Workflows []string    // of sessions of their streams; their histories may contain the events
	Episodes  []uuid.UUID // records of episodes with these events
	Unknown   []string    // ids without an event in a stream that the request may change
}

// EraseInput names the events of a tenant to erase, and the receipt to leave in them.
type EraseInput struct {
	Tenant  string
	User    string // only events of this user's streams; empty: of all streams
	IDs     []string
	Receipt ledger.Receipt
	Now     time.Time
}

// EraseEvents empties events permanently. It also drops the state of the work of the sessions of their streams,
// which is computed again without them. A second call returns the same sessions and episodes.
func (s *Sessions) EraseEvents(ctx context.Context, in EraseInput) (Erased, error) {
	var out Erased
	err := commit.Write(ctx, s.DB, in.Tenant, in.Now, func(c *commit.Change) (err error) {
		if out.Unknown, err = unknownEvents(ctx, c, in); err != nil {
			return err
		}
		ids := slices.DeleteFunc(slices.Clone(in.IDs), func(id string) bool { return slices.Contains(out.Unknown, id) })
		args := pg.Args{"tenant": in.Tenant, "ids": ids}
		// Sessions are locked before the events, so that this waits for a session that is being closed.
		out.Workflows, err = commit.Values[string](ctx, c.Tx, `
			SELECT s.workflow_id
			FROM sessions s
			WHERE s.tenant = @tenant
				AND s.stream IN (SELECT i.stream FROM event_ids i WHERE i.tenant = @tenant AND i.id = ANY(@ids))
			ORDER BY s.id
			FOR UPDATE OF s`, args)
		if err != nil {
			return err
		}
		if err := commit.SetEventReceipt(ctx, c.Tx, in.Receipt); err != nil {
			return err
		}
		if err := c.Tx.QueryRow(ctx, `SELECT mneme_empty_events(@ids)`,
			pg.Args{"ids": ids}).Scan(&out.Events); err != nil {
			return err
		}
		_, err = c.Tx.Exec(ctx, `
			UPDATE sessions s
			SET working = NULL
			WHERE s.tenant = @tenant AND s.working IS NOT NULL AND s.workflow_id = ANY(@workflows)`,
			pg.Args{"tenant": in.Tenant, "workflows": out.Workflows})
		if err != nil {
			return err
		}
		out.Episodes, err = commit.Values[uuid.UUID](ctx, c.Tx, `
			SELECT DISTINCT e.memory_id
			FROM event_ids i
				JOIN sessions s ON s.tenant = @tenant AND s.stream = i.stream
				JOIN session_episodes e ON e.tenant = @tenant AND e.session_id = s.id AND i.seq BETWEEN e.first_seq
				AND e.last_seq
				JOIN memories m ON m.tenant = @tenant AND m.id = e.memory_id AND m.erased_at IS NULL
			WHERE i.tenant = @tenant AND i.id = ANY(@ids)
			ORDER BY 1`, args)
		return err
	})
	if err != nil {
		return Erased{}, fmt.Errorf("erase events: %w", err)
	}
	return out, nil
}

// unknownEvents returns the ids of a request that have no event, or one in a stream of another user or of none.
func unknownEvents(ctx context.Context, c *commit.Change, in EraseInput) ([]string, error) {
	return commit.Values[string](ctx, c.Tx, `
		SELECT DISTINCT id
		FROM unnest(@ids::text[]) id
		WHERE NOT EXISTS (
			SELECT
			FROM event_ids i
				JOIN event_streams s ON s.tenant = i.tenant AND s.stream = i.stream
			WHERE i.tenant = @tenant AND i.id = id.id AND (@user = '' OR s.scope = @scope))
		ORDER BY id`,
		pg.Args{"tenant": in.Tenant, "ids": in.IDs, "user": in.User, "scope": schema.UserScope(in.User)})
}

// Owner is an agent with episodes.
type Owner struct {
	Agent string
	IDs   []uuid.UUID
}

// EpisodeOwners groups episodes by agent, because only their agent may erase them.
func (s *Sessions) EpisodeOwners(ctx context.Context, tenant string, episodes []uuid.UUID) ([]Owner, error) {
	var out []Owner
	err := commit.Write(ctx, s.DB, tenant, time.Now(), func(c *commit.Change) error {
		rows, err := c.Tx.Query(ctx, `
			SELECT m.agent_id, array_agg(m.id ORDER BY m.id)
			FROM memories m
			WHERE m.tenant = @tenant AND m.id = ANY(@ids) AND m.erased_at IS NULL
			GROUP BY m.agent_id
			ORDER BY m.agent_id`, pg.Args{"tenant": tenant, "ids": episodes})
		if err != nil {
			return err
		}
		for rows.Next() {
			var o Owner
			if err := rows.Scan(&o.Agent, &o.IDs); err != nil {
				return err
			}
			out = append(out, o)
		}
		return rows.Err()
	})
	if err != nil {
		return nil, fmt.Errorf("owners of episodes: %w", err)
	}
	return out, nil
}
