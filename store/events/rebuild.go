package events

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/mneme/mneme/store/commit"
	"github.com/mneme/mneme/store/pg"
)

// expectedMarksSQL computes the marks of the events of a stream.
const expectedMarksSQL = `
	SELECT e.seq, v.audience, m.mark, e.sensitivity
	FROM events e
		CROSS JOIN LATERAL mneme_event_audiences(e.visibility, e.agent_id, e.policy_group) v(audience)
		CROSS JOIN LATERAL mneme_event_marks(e.kind, e.payload) m(mark)
	WHERE e.tenant = @tenant AND e.stream = @stream
	AND e.kind IN ('world.observed', 'world.environment', 'user.injected')
		AND e.erased_at IS NULL`

// RebuildInput is a request to compare the data derived from single events with the events.
type RebuildInput struct {
	Tenant string
	Stream string
	Verify bool // only compare
	Drop   bool // rebuild everything, even if it is equal
	Now    time.Time
}

// StreamCompared holds the differences between the events of a stream and the data derived from them.
type StreamCompared struct {
	Marks   []int64 // numbers of events whose marks differ, at most 1,000
	Rebuilt bool
}

// RebuildStream compares the marks of a stream's events with the events. If any differ, it replaces all marks of the
// stream, unless the request only verifies. Meanwhile no event is appended to the stream and no event of the tenant is
// erased.
func (s *Events) RebuildStream(ctx context.Context, in RebuildInput) (out StreamCompared, err error) {
	args := pg.Args{"tenant": in.Tenant, "stream": in.Stream}
	err = commit.Write(pg.WithClass(ctx, pg.ClassPipeline), s.DB, in.Tenant, in.Now, func(c *commit.Change) error {
		out = StreamCompared{}
		if _, err := c.Tx.Exec(ctx, `
			SELECT FROM event_streams s WHERE s.tenant = @tenant AND s.stream = @stream FOR UPDATE`, args); err != nil {
			return err
		}
		if _, err := c.Tx.Exec(ctx, `SELECT pg_advisory_xact_lock_shared(mneme_event_vectors_lock(@tenant))`,
			pg.Args{"tenant": in.Tenant}); err != nil {
			return err
		}
		out.Marks, err = commit.Values[int64](ctx, c.Tx, `
			WITH expected AS MATERIALIZED (`+expectedMarksSQL+`
			), stored AS MATERIALIZED (
				SELECT seq, audience, mark, sensitivity
				FROM event_marks
				WHERE tenant = @tenant AND stream = @stream)
			SELECT DISTINCT d.seq
			FROM (
				(SELECT * FROM expected EXCEPT SELECT * FROM stored)
				UNION ALL
				(SELECT * FROM stored EXCEPT SELECT * FROM expected)) d
			ORDER BY d.seq
			LIMIT 1000`, args)
		if err != nil || in.Verify || len(out.Marks) == 0 && !in.Drop {
			return err
		}
		out.Rebuilt = true
		if _, err := c.Tx.Exec(ctx, `DELETE FROM event_marks WHERE tenant = @tenant AND stream = @stream`,
			args); err != nil {
			return err
		}
		_, err = c.Tx.Exec(ctx, `
			INSERT INTO event_marks (tenant, stream, seq, audience, mark, sensitivity)
			SELECT @tenant, @stream, x.seq, x.audience, x.mark, x.sensitivity
			FROM (`+expectedMarksSQL+`) x
			ON CONFLICT DO NOTHING`, args)
		return err
	})
	if err != nil {
		return StreamCompared{}, fmt.Errorf("rebuild a stream: %w", err)
	}
	return out, nil
}

// StrayVectors returns, sorted and after the given id, the ids of events that have vectors although they were erased
// or do not exist. Unless the request only verifies, it removes these vectors.
func (s *Events) StrayVectors(ctx context.Context, in RebuildInput, after string, limit int) (out []string, err error) {
	args := pg.Args{"tenant": in.Tenant, "after": after, "limit": max(1, min(limit, MaxPage))}
	const sql = `
		SELECT DISTINCT v.event_id
		FROM event_vectors v
		WHERE v.tenant = @tenant AND v.event_id > @after AND NOT EXISTS (
			SELECT
			FROM event_ids i
				CROSS JOIN LATERAL (
					SELECT FROM events
					WHERE tenant = @tenant AND stream = i.stream AND seq = i.seq AND recorded_at = i.recorded_at
						AND erased_at IS NULL
					OFFSET 0) e
			WHERE i.tenant = @tenant AND i.id = v.event_id)
		ORDER BY v.event_id
		LIMIT @limit`
	if in.Verify {
		err = s.Read(ctx, in.Tenant, func(tx pgx.Tx) (err error) {
			out, err = commit.Values[string](ctx, tx, sql, args)
			return err
		})
	} else {
		err = commit.Write(ctx, s.DB, in.Tenant, in.Now, func(c *commit.Change) (err error) {
			out, err = commit.Values[string](ctx, c.Tx, `
				WITH stray AS (`+sql+`)
				DELETE FROM event_vectors v
				USING stray s
				WHERE v.tenant = @tenant AND v.event_id = s.event_id
				RETURNING v.event_id`, args)
			return err
		})
	}
	if err != nil {
		return nil, fmt.Errorf("find stray vectors: %w", err)
	}
	return out, nil
}
