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
	"github.com/mneme/mneme/store/events"
	"github.com/mneme/mneme/store/pg"
)

// Erased is the result of erasing events, with the records that may repeat them.
type Erased struct {
	Events    int         `json:"events"`              // emptied by this call, or by the first with its operation
	Workflows []string    `json:"workflows,omitempty"` // of sessions of their streams, whose histories may have them
	Episodes  []uuid.UUID `json:"episodes,omitempty"`  // records of episodes with these events
	Unknown   []string    `json:"unknown,omitempty"`   // ids without an event in a stream that the request may change
}

// EraseInput names the events of a tenant to erase, and the receipt to leave in them.
type EraseInput struct {
	Tenant  string
	User    string // only events of this user's streams; empty: of all streams
	IDs     []string
	Receipt ledger.Receipt
	Now     time.Time
	// Operation is the id under which the result is kept: a call that is repeated with it changes nothing and returns
	// the first result. Empty: each call erases.
	Operation string
}

// kindEraseEvents is the kind of these operations.
const kindEraseEvents = "erase_events"

// EraseEvents empties events permanently. It also drops the state of the work of the sessions of their streams,
// which is computed again without them. A second call returns the same sessions and episodes.
func (s *Sessions) EraseEvents(ctx context.Context, in EraseInput) (Erased, error) {
	return eraseOnce(ctx, s, in, func(c *commit.Change) (Erased, error) { return eraseEvents(ctx, c, in) })
}

// ErasedPage is the result of erasing a page of a user's events.
type ErasedPage struct {
	Erased
	Read int          `json:"read"` // events of the page, with those that were erased before
	Last events.Place `json:"last"` // the place of the last of them
}

// EraseUserPage is EraseEvents for a page of a user's events. The tenant and the user of the page are those of the
// input, which has no ids.
func (s *Sessions) EraseUserPage(ctx context.Context, in EraseInput, page events.UserPage) (ErasedPage, error) {
	page.Tenant, page.User = in.Tenant, in.User
	return eraseOnce(ctx, s, in, func(c *commit.Change) (out ErasedPage, err error) {
		if in.IDs, out.Last, err = events.OfUser(ctx, c.Tx, page); err != nil || len(in.IDs) == 0 {
			return out, err
		}
		out.Read = len(in.IDs)
		out.Erased, err = eraseEvents(ctx, c, in)
		return out, err
	})
}

// eraseOnce runs fn in a transaction, unless the operation of the input was carried out before: then it returns the
// result of that.
func eraseOnce[T any](ctx context.Context, s *Sessions, in EraseInput,
	fn func(*commit.Change) (T, error)) (out T, err error) {
	err = commit.Write(ctx, s.DB, in.Tenant, in.Now, func(c *commit.Change) error {
		if in.Operation == "" {
			out, err = fn(c)
			return err
		}
		done, err := c.Operation(ctx, []string{in.Operation}, kindEraseEvents, &out)
		if err != nil || done {
			return err
		}
		if out, err = fn(c); err != nil {
			return err
		}
		return c.RecordOperation(in.Operation, kindEraseEvents, out)
	})
	if err != nil {
		var none T
		return none, fmt.Errorf("erase events: %w", err)
	}
	return out, nil
}

func eraseEvents(ctx context.Context, c *commit.Change, in EraseInput) (out Erased, err error) {
	if out.Unknown, err = unknownEvents(ctx, c, in); err != nil {
		return out, err
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
		return out, err
	}
	if err := commit.SetEventReceipt(ctx, c.Tx, in.Receipt); err != nil {
		return out, err
	}
	if err := c.Tx.QueryRow(ctx, `SELECT mneme_empty_events(@ids)`,
		pg.Args{"ids": ids}).Scan(&out.Events); err != nil {
		return out, err
	}
	_, err = c.Tx.Exec(ctx, `
		UPDATE sessions s
		SET working = NULL
		WHERE s.tenant = @tenant AND s.working IS NOT NULL AND s.workflow_id = ANY(@workflows)`,
		pg.Args{"tenant": in.Tenant, "workflows": out.Workflows})
	if err != nil {
		return out, err
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
	return out, err
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
