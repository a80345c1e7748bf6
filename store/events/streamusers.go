package events

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/mneme/mneme/memory/views"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/schema/check"
	"github.com/mneme/mneme/schema/ledger"
	"github.com/mneme/mneme/store/commit"
	"github.com/mneme/mneme/store/pg"
)

// owned is a stream with the scope of its user.
type owned struct {
	Stream string
	Scope  string
}

// ClaimIn makes the streams that do not exist yet belong to a user, in a transaction bound to the tenant, and returns
// the scopes of the streams. Worlds belong to no user. It locks new streams until the transaction ends. Without a user
// it only reads the scopes.
func ClaimIn(ctx context.Context, tx pgx.Tx, tenant, user string, streams []string,
	now time.Time) (map[string]string, error) {
	if user != "" {
		_, err := tx.Exec(ctx, claimSQL, claimArgs(tenant, user, streams, now))
		if err != nil {
			return nil, err
		}
	}
	return scopesOf(ctx, tx, tenant, streams)
}

// QueueClaim adds to a batch of statements that a stream which does not exist yet belongs to a user.
func QueueClaim(batch *pgx.Batch, tenant, user, stream string, now time.Time) {
	batch.Queue(claimSQL, claimArgs(tenant, user, []string{stream}, now))
}

const claimSQL = `
	INSERT INTO event_streams (tenant, stream, last_seq, created_at, updated_at, scope)
	SELECT DISTINCT @tenant, n, 0, @now::timestamptz, @now::timestamptz, @scope
	FROM unnest(@streams::text[]) n
	WHERE n NOT LIKE 'world/%'
	ORDER BY n
	ON CONFLICT DO NOTHING`

func claimArgs(tenant, user string, streams []string, now time.Time) pg.Args {
	return pg.Args{"tenant": tenant, "streams": streams, "now": now, "scope": schema.UserScope(user)}
}

// claimFor is ClaimIn for the streams of events. It returns a *schema.ValidationError for the events that the user must
// not append (views.AppendProblem).
func claimFor(ctx context.Context, tx pgx.Tx, in AppendInput) error {
	if in.User == "" {
		return nil
	}
	streams := make([]string, len(in.Events))
	for i, e := range in.Events {
		streams[i] = e.Stream
	}
	scopes, err := ClaimIn(ctx, tx, in.Tenant, in.User, streams, in.Now)
	if err != nil {
		return err
	}
	var p check.Problems
	for i, e := range in.Events {
		if problem := views.AppendProblem(in.User, e.Stream, e.Kind, scopes[e.Stream]); problem != "" {
			p.Add(fmt.Sprintf("events[%d].stream", i), "%s", problem)
		}
	}
	return p.Err()
}

// scopesOf reads the scopes of streams. A stream that does not exist is left out.
func scopesOf(ctx context.Context, tx pgx.Tx, tenant string, streams []string) (map[string]string, error) {
	rows, err := commit.Rows[owned](ctx, tx, `
		SELECT stream, scope
		FROM event_streams
		WHERE tenant = @tenant AND stream = ANY(@streams)`, pg.Args{"tenant": tenant, "streams": streams})
	if err != nil {
		return nil, err
	}
	out := make(map[string]string, len(rows))
	for _, r := range rows {
		out[r.Stream] = r.Scope
	}
	return out, nil
}

// readable removes the events of streams that a user must not read.
func readable(ctx context.Context, tx pgx.Tx, tenant, user string, list []ledger.Event) ([]ledger.Event, error) {
	if user == "" || len(list) == 0 {
		return list, nil
	}
	streams := make([]string, len(list))
	for i, e := range list {
		streams[i] = e.Stream
	}
	slices.Sort(streams)
	scopes, err := scopesOf(ctx, tx, tenant, slices.Compact(streams))
	if err != nil {
		return nil, err
	}
	v := views.Viewer{User: user}
	return slices.DeleteFunc(list, func(e ledger.Event) bool { return !v.Reads(scopes[e.Stream]) }), nil
}

// queryFor is query for events that a user reads.
func (s *Events) queryFor(ctx context.Context, tenant, user, sql string, args pg.Args) ([]ledger.Event, error) {
	var out []ledger.Event
	err := s.Read(ctx, tenant, func(tx pgx.Tx) (err error) {
		if err := inIndexOrder(ctx, tx); err != nil {
			return err
		}
		if out, err = collect(ctx, tx, sql, args); err != nil {
			return err
		}
		out, err = readable(ctx, tx, tenant, user, out)
		return err
	})
	return out, err
}

// Place is the place of an event in a tenant's streams.
type Place struct {
	Stream string `json:"stream,omitempty"`
	Seq    int64  `json:"seq,omitempty"`
}

// UserPage names events of a user's streams. Events of other streams are not among them, whatever they say about the
// user.
type UserPage struct {
	Tenant string
	User   string
	After  Place // only events after this place
	Left   bool  // only events that are not erased
	Limit  int
}

// OfUser reads the ids of a page's events, and the place of the last.
func OfUser(ctx context.Context, tx pgx.Tx, page UserPage) (ids []string, last Place, err error) {
	type found struct {
		Place
		ID string
	}
	last = page.After
	rows, err := commit.Rows[found](ctx, tx, `
		SELECT s.stream, e.seq, e.id
		FROM event_streams s
			CROSS JOIN LATERAL (
				SELECT seq, id
				FROM events
				WHERE tenant = @tenant AND stream = s.stream
					AND seq > CASE WHEN s.stream = @stream THEN @seq ELSE 0 END
					AND (erased_at IS NULL OR NOT @left)
				ORDER BY seq
				LIMIT @limit) e
		WHERE s.tenant = @tenant AND s.scope = @scope AND s.scope <> '' AND s.stream >= @stream
		ORDER BY s.stream, e.seq
		LIMIT @limit`,
		pg.Args{"tenant": page.Tenant, "scope": schema.UserScope(page.User), "stream": page.After.Stream,
			"seq": page.After.Seq, "left": page.Left, "limit": max(1, min(page.Limit, MaxPage))})
	if err != nil {
		return nil, last, fmt.Errorf("read the events of a user: %w", err)
	}
	for _, row := range rows {
		ids, last = append(ids, row.ID), row.Place
	}
	return ids, last, nil
}
