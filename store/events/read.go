package events

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/schema/ledger"
	"github.com/mneme/mneme/store/pg"
)

// row is a stored event.
type row struct {
	Stream      string
	Seq         int64
	ID          string
	AgentID     string
	PolicyGroup string
	Kind        string
	Turn        int
	Visibility  schema.Visibility
	Sensitivity schema.Sensitivity
	Payload     json.RawMessage
	OccurredAt  time.Time
	RecordedAt  time.Time
	Erased      bool
}

const columns = `e.stream, e.seq, e.id, e.agent_id, e.policy_group, e.kind, e.turn, e.visibility, e.sensitivity, e.payload,
	e.occurred_at, e.recorded_at, e.erased_at IS NOT NULL AS erased`

func (r row) event() ledger.Event {
	recorded := r.RecordedAt.UTC()
	return ledger.Event{ID: r.ID, Stream: r.Stream, Seq: r.Seq, Agent: r.AgentID, PolicyGroup: r.PolicyGroup,
		Kind: r.Kind, Turn: r.Turn,
		OccurredAt: r.OccurredAt.UTC(), RecordedAt: &recorded, Visibility: r.Visibility, Sensitivity: r.Sensitivity,
		Payload: r.Payload, Erased: r.Erased}
}

// MaxPage is the number of events in a page.
const MaxPage = 1_000

const pageSQL = `
	SELECT ` + columns + `
	FROM events e
	WHERE e.tenant = @tenant AND e.stream = @stream AND e.seq > @after
	ORDER BY e.seq
	LIMIT @limit`

// Page reads at most MaxPage events of a stream in order, after a sequence number. It ignores visibility, because
// it is for the owner of the stream and for operators.
func (s *Events) Page(ctx context.Context, tenant, stream string, after int64, limit int) ([]ledger.Event, error) {
	out, err := s.query(ctx, tenant, pageSQL,
		pg.Args{"tenant": tenant, "stream": stream, "after": after, "limit": max(1, min(limit, MaxPage))})
	if err != nil {
		return nil, fmt.Errorf("read events: %w", err)
	}
	return out, nil
}

// PageIn is Page in a transaction bound to the tenant.
func PageIn(ctx context.Context, tx pgx.Tx, tenant, stream string, after, limit int64) ([]ledger.Event, error) {
	return collect(ctx, tx, pageSQL,
		pg.Args{"tenant": tenant, "stream": stream, "after": after, "limit": max(1, min(limit, MaxPage))})
}

// LatestInput is a request for the latest events of a stream that an agent may see.
type LatestInput struct {
	Principal      schema.Principal
	Stream         string
	Before         int64              // only events before this number; 0 for all
	MaxSensitivity schema.Sensitivity // medium if empty
	Limit          int
}

// latestSQL reads the agent's own events and the events of each of the agent's audiences, each from its own index and
// up to the limit. An event of the agent that others may see is found twice. The second part does not exclude it,
// because in a stream with only this agent's events it would have to skip all of them, possibly millions.
//
// The agent is compared together with the number, and is part of the order, so that only the index of the agent's events
// has the order (inIndexOrder). Without statistics, Postgres may prefer the primary key, and read a stream of other
// agents whole.
const latestSQL = `
	SELECT ` + columns + `
	FROM (
		SELECT DISTINCT ON (u.seq) u.*
		FROM (
			(SELECT *
			FROM events
			WHERE tenant = @tenant AND stream = @stream
				AND (agent_id, seq) < (@agent, @before) AND (agent_id, seq) > (@agent, 0)
				AND erased_at IS NULL AND sensitivity = ANY(@sensitivities)
				AND NOT (@skip_reflections AND kind = 'agent.reflected')
			ORDER BY agent_id DESC, seq DESC
			LIMIT @limit)
			UNION ALL
			(SELECT o.*
			FROM unnest(@audiences::text[]) a(audience)
				CROSS JOIN LATERAL (
					SELECT *
					FROM events
					WHERE tenant = @tenant AND stream = @stream AND visibility <> 'private' AND seq < @before
						AND ` + audienceSQL + ` = a.audience
						AND (visibility <> 'group' OR policy_group = a.audience AND policy_group <> '')
						AND erased_at IS NULL AND sensitivity = ANY(@sensitivities)
						AND NOT (@skip_reflections AND agent_id = @agent AND kind = 'agent.reflected')
					ORDER BY seq DESC
					LIMIT @limit) o)) u
		ORDER BY u.seq DESC) e
	ORDER BY e.seq DESC
	LIMIT @limit`

// Latest reads the latest events of a stream that an agent may see, oldest first. Package memory/views applies the
// same rule to single events; a test checks that both agree.
func (s *Events) Latest(ctx context.Context, in LatestInput) ([]ledger.Event, error) {
	before := in.Before
	if before <= 0 {
		before = 1 << 62
	}
	out, err := s.queryFor(ctx, in.Principal.Tenant, in.Principal.User, latestSQL, pg.Args{
		"tenant":           in.Principal.Tenant,
		"stream":           in.Stream,
		"agent":            in.Principal.Agent,
		"audiences":        audiences(in.Principal.PolicyGroup),
		"before":           before,
		"sensitivities":    pg.SensitivitiesUpTo(in.MaxSensitivity),
		"limit":            max(1, min(in.Limit, MaxPage)),
		"skip_reflections": false,
	})
	if err != nil {
		return nil, fmt.Errorf("read the latest events: %w", err)
	}
	for i, j := 0, len(out)-1; i < j; i, j = i+1, j-1 {
		out[i], out[j] = out[j], out[i]
	}
	return out, nil
}

const byIDSQL = `
	SELECT ` + columns + `
	FROM event_ids i
		CROSS JOIN LATERAL (
			SELECT *
			FROM events
			WHERE tenant = @tenant AND stream = i.stream AND seq = i.seq AND recorded_at = i.recorded_at
			OFFSET 0) e
	WHERE i.tenant = @tenant AND i.id = ANY(@ids)`

// ByID reads events by id, in no particular order. Unknown ids are ignored.
func (s *Events) ByID(ctx context.Context, tenant string, ids []string) ([]ledger.Event, error) {
	return s.ByIDFor(ctx, tenant, "", ids)
}

// ByIDFor is ByID for an agent that acts for a user: it leaves out the streams of other users. With an empty user it
// reads all streams.
func (s *Events) ByIDFor(ctx context.Context, tenant, user string, ids []string) ([]ledger.Event, error) {
	out, err := s.queryFor(ctx, tenant, user, byIDSQL, pg.Args{"tenant": tenant, "ids": ids})
	if err != nil {
		return nil, fmt.Errorf("read events by id: %w", err)
	}
	return out, nil
}

func (s *Events) query(ctx context.Context, tenant, sql string, args pg.Args) ([]ledger.Event, error) {
	var out []ledger.Event
	err := s.Read(ctx, tenant, func(tx pgx.Tx) (err error) {
		if err := inIndexOrder(ctx, tx); err != nil {
			return err
		}
		out, err = collect(ctx, tx, sql, args)
		return err
	})
	return out, err
}

// inIndexOrder makes the statements of a transaction read from an index that has their order, if there is one. Without
// statistics, Postgres expects one row of a stream, and would read all its rows from any index and sort them.
func inIndexOrder(ctx context.Context, tx pgx.Tx) error {
	_, err := tx.Exec(ctx, `SELECT set_config('enable_sort', 'off', true)`)
	return err
}

func collect(ctx context.Context, tx pgx.Tx, sql string, args pg.Args) ([]ledger.Event, error) {
	rows, err := tx.Query(ctx, sql, args)
	if err != nil {
		return nil, err
	}
	return collectRows(rows)
}

// Stream is one stream of a tenant.
type Stream struct {
	Stream    string    `json:"stream"`
	Scope     string    `json:"scope,omitempty"` // user/NAME for the stream of a user; empty for none
	LastSeq   int64     `json:"last_seq"`
	CreatedAt time.Time `json:"created_at"`
	UpdatedAt time.Time `json:"updated_at"` // when its newest event was recorded
}

// Streams lists at most limit streams of a tenant by name, after a name.
func (s *Events) Streams(ctx context.Context, tenant, after string, limit int) (out []Stream, err error) {
	err = s.Read(ctx, tenant, func(tx pgx.Tx) error {
		rows, err := tx.Query(ctx, `
			SELECT stream, scope, last_seq, created_at, updated_at
			FROM event_streams
			WHERE tenant = @tenant AND stream > @after
			ORDER BY stream
			LIMIT @limit`,
			pg.Args{"tenant": tenant, "after": after, "limit": max(1, min(limit, MaxPage))})
		if err != nil {
			return err
		}
		out, err = pgx.CollectRows(rows, pgx.RowToStructByName[Stream])
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("list streams: %w", err)
	}
	return out, nil
}
