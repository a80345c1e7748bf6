package learning

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/mneme/mneme/memory/learning/evidence"
	"github.com/mneme/mneme/memory/learning/trace"
	"github.com/mneme/mneme/memory/views"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/store/commit"
	"github.com/mneme/mneme/store/events"
	"github.com/mneme/mneme/store/pg"
)

// Limits of reading evidence.
const (
	EvidencePage = 500   // episodes in one page
	chunk        = 50    // episodes whose content is in memory at once
	maxEvents    = 4_000 // of an episode; a longer one is read from its record
)

// Overlap is how far before its watermark a run of learning starts to read, because a memory may be committed later
// than a newer one. What was read before is skipped, or changes nothing.
const Overlap = 10 * time.Minute

// Indexing is the name of the watermark of the index of attempts.
const Indexing = "attempts"

// Position is a place among the episodes of a scope.
type Position struct {
	At time.Time `json:"at"`
	ID uuid.UUID `json:"id"`
}

// Watermark returns how far a workflow has read a scope; the zero Position if it has read nothing.
func (s *Learning) Watermark(ctx context.Context, sc Scope, workflow string) (Position, error) {
	var out Position
	args := sc.args()
	args["workflow"] = workflow
	err := s.Read(ctx, sc.Tenant, func(tx pgx.Tx) error {
		err := tx.QueryRow(ctx, `
			SELECT at, memory_id
			FROM learning_watermarks
			WHERE tenant = @tenant AND agent_id = @agent AND project = @project AND scope = @scope
				AND workflow = @workflow`, args).Scan(&out.At, &out.ID)
		if errors.Is(err, pgx.ErrNoRows) {
			return nil
		}
		return err
	})
	if err != nil {
		return Position{}, fmt.Errorf("watermark: %w", err)
	}
	return out, nil
}

// MoveWatermark moves the watermark of a workflow within a change. It never moves back.
func MoveWatermark(ctx context.Context, c *commit.Change, sc Scope, workflow string, to Position, hash string) error {
	args := sc.args()
	args["workflow"], args["at"], args["id"], args["hash"], args["now"] = workflow, to.At, to.ID, hash, c.Now
	_, err := c.Tx.Exec(ctx, `
		INSERT INTO learning_watermarks AS w (tenant, agent_id, project, scope, workflow, at, memory_id, evidence_hash,
			run_at)
		VALUES (@tenant, @agent, @project, @scope, @workflow, @at, @id, @hash, @now)
		ON CONFLICT (tenant, agent_id, project, scope, workflow) DO UPDATE
		SET at = excluded.at, memory_id = excluded.memory_id, evidence_hash = excluded.evidence_hash,
			run_at = excluded.run_at
		WHERE (w.at, w.memory_id) < (excluded.at, excluded.memory_id)`, args)
	return err
}

// placedRow is an episode with its place.
type placedRow struct {
	ID    uuid.UUID
	At    time.Time
	Known bool
}

const placesSQL = `
	SELECT p.id, p.at, EXISTS (
		SELECT FROM learning_attempts a
		WHERE a.tenant = @tenant AND a.memory_id = p.id AND a.ordinal = 0) AS known
	FROM (
		SELECT m.id, ` + pg.RecordedAt + ` AS at
		FROM memories m
		WHERE ` + ofScope + ` AND m.live AND m.type = 'episodic'
			AND (` + pg.RecordedAt + `, m.id) > (@after_at, @after_id)
		ORDER BY ` + pg.RecordedAt + `, m.id
		LIMIT @limit) p
	ORDER BY p.at, p.id`

// Indexed is one page of indexed episodes.
type Indexed struct {
	Read     int // new episodes
	Attempts int // of the new episodes
	Next     Position
	More     bool
}

// IndexPage reads the episodes of a scope after a position, adds their attempts to the index, and moves the
// watermark. It skips indexed episodes.
func (s *Learning) IndexPage(ctx context.Context, sc Scope, after Position, now time.Time) (Indexed, error) {
	var places []placedRow
	args := sc.args()
	args["after_at"], args["after_id"], args["limit"] = after.At, after.ID, EvidencePage
	err := s.Read(ctx, sc.Tenant, func(tx pgx.Tx) (err error) {
		places, err = commit.Rows[placedRow](ctx, tx, placesSQL, args)
		return err
	})
	if err != nil {
		return Indexed{}, fmt.Errorf("page of evidence: %w", err)
	}
	out := Indexed{Next: after, More: len(places) == EvidencePage}
	if len(places) == 0 {
		return out, nil
	}
	last := places[len(places)-1]
	out.Next = Position{At: last.At, ID: last.ID}
	var fresh []uuid.UUID
	for _, p := range places {
		if !p.Known {
			fresh = append(fresh, p.ID)
		}
	}
	if len(fresh) == 0 {
		return out, nil
	}
	var entries []entry
	var set evidence.Set
	for ids := range slices.Chunk(fresh, chunk) {
		episodes, err := s.Episodes(ctx, sc.Tenant, ids)
		if err != nil {
			return Indexed{}, err
		}
		for _, e := range episodes {
			set.Add(e.ID.String())
			entries = append(entries, entry{memory: e.ID, at: e.OccurredAt, recorded: e.recorded})
			for i, a := range e.Attempts {
				entries = append(entries, entry{memory: e.ID, ordinal: i + 1, key: a.Key(), ok: a.Succeeded(),
					said: a.Succeeded() || a.Failed(), witnessed: a.Source.Witnessed, at: a.At,
					recorded: e.recorded})
			}
		}
		out.Read += len(episodes)
		pg.Progressed(ctx)
	}
	err = commit.Write(ctx, s.DB, sc.Tenant, now, func(c *commit.Change) error {
		out.Attempts, err = enter(ctx, c, sc, entries)
		if err != nil {
			return err
		}
		return MoveWatermark(ctx, c, sc, Indexing, notAfter(out.Next, c.Now), set.String())
	})
	if err != nil {
		return Indexed{}, fmt.Errorf("enter attempts: %w", err)
	}
	return out, nil
}

// notAfter returns a position that is not in the future. An episode from a writer whose clock is ahead must not hide
// those that others write until then.
func notAfter(p Position, now time.Time) Position {
	if p.At.After(now) {
		return Position{At: now}
	}
	return p
}

// entry is a row of learning_attempts.
type entry struct {
	memory    uuid.UUID
	ordinal   int
	key       string
	ok, said  bool
	witnessed bool
	at        time.Time
	recorded  time.Time // when the episode was recorded that was read
}

// enterSQL adds attempts, and counts those that are new in their groups. Groups are locked in the order of their ids.
// It skips an episode that has grown since it was read: the next run reads it. An attempt that has another outcome in
// the grown episode is new evidence. One at another problem gets a place of its own, because the former row stays.
const enterSQL = `
	WITH given AS (
		SELECT *
		FROM unnest(@memories::uuid[], @ordinals::smallint[], @groups::uuid[], @kinds::text[], @oks::boolean[],
			@witnessed::boolean[], @ats::timestamptz[], @recorded::timestamptz[])
			g(memory_id, ordinal, group_id, kind, ok, witnessed, at, recorded)
	), same AS (
		SELECT m.id
		FROM memories m
			JOIN given g ON g.memory_id = m.id AND g.ordinal = 0 AND g.recorded = ` + pg.RecordedAt + `
		WHERE m.tenant = @tenant AND m.erased_at IS NULL
		ORDER BY m.id
		FOR SHARE OF m
	), added AS (
		INSERT INTO learning_attempts AS a (tenant, memory_id, ordinal, group_id, ok, witnessed, at)
		SELECT @tenant, g.memory_id, CASE WHEN x.group_id <> g.group_id AND NOT EXISTS (
				SELECT FROM learning_attempts y
				WHERE y.tenant = @tenant AND y.memory_id = g.memory_id AND y.group_id = g.group_id AND y.ok = g.ok)
			THEN g.ordinal + greatest(
				(SELECT max(y.ordinal) FROM learning_attempts y WHERE y.tenant = @tenant AND y.memory_id = g.memory_id),
				(SELECT max(y.ordinal) FROM given y WHERE y.memory_id = g.memory_id))
			ELSE g.ordinal END, g.group_id, g.ok, g.witnessed, g.at
		FROM given g
			JOIN same s ON s.id = g.memory_id
			LEFT JOIN learning_attempts x ON x.tenant = @tenant AND x.memory_id = g.memory_id AND x.ordinal = g.ordinal
		ON CONFLICT (tenant, memory_id, ordinal) DO UPDATE
		SET ok = excluded.ok, witnessed = excluded.witnessed, at = excluded.at
		WHERE a.group_id = excluded.group_id AND (a.ok, a.witnessed) <> (excluded.ok, excluded.witnessed)
		RETURNING group_id
	), counted AS (
		SELECT a.group_id, count(*) AS n, (SELECT min(g.kind) FROM given g WHERE g.group_id = a.group_id) AS kind
		FROM added a
		WHERE a.group_id IS NOT NULL
		GROUP BY a.group_id
	), grouped AS (
		INSERT INTO learning_groups AS g (tenant, id, agent_id, project, scope, kind, attempts, updated_at)
		SELECT @tenant, c.group_id, @agent, @project, @scope, c.kind, c.n, @now
		FROM counted c
		ORDER BY c.group_id
		ON CONFLICT (tenant, id) DO UPDATE
		SET attempts = g.attempts + excluded.attempts, updated_at = excluded.updated_at
	)
	SELECT coalesce(sum(n), 0)::integer FROM counted`

// enter adds attempts to the index and returns how many of them are new. It skips attempts without a known outcome.
func enter(ctx context.Context, c *commit.Change, sc Scope, entries []entry) (int, error) {
	args := sc.args()
	var memories, groups []any
	var ordinals []int16
	var kinds []string
	var oks []*bool
	var witnessed []bool
	var ats, recorded []time.Time
	for _, e := range entries {
		if e.ordinal > 0 && (!e.said || e.key == "") {
			continue
		}
		memories, ordinals = append(memories, e.memory), append(ordinals, int16(e.ordinal))
		witnessed, ats = append(witnessed, e.witnessed), append(ats, e.at)
		recorded = append(recorded, e.recorded)
		if e.ordinal == 0 {
			groups, kinds, oks = append(groups, nil), append(kinds, ""), append(oks, nil)
			continue
		}
		kind, _, _ := strings.Cut(e.key, ":")
		ok := e.ok
		groups, kinds, oks = append(groups, sc.GroupID(e.key)), append(kinds, kind), append(oks, &ok)
	}
	args["memories"], args["ordinals"], args["groups"], args["kinds"] = memories, ordinals, groups, kinds
	args["oks"], args["witnessed"], args["ats"], args["now"] = oks, witnessed, ats, c.Now
	args["recorded"] = recorded
	var n int
	err := c.Tx.QueryRow(ctx, enterSQL, args).Scan(&n)
	return n, err
}

// Episode is an episodic record with its attempts.
type Episode struct {
	ID         uuid.UUID
	OccurredAt time.Time
	Attempts   []trace.Attempt

	recorded time.Time
}

// episodeRow is a stored episode, with the part of the ledger that it was made from.
type episodeRow struct {
	ID          uuid.UUID
	AgentID     string
	Session     string
	CreatedBy   string
	SourceTrust float64
	Sensitivity schema.Sensitivity
	PolicyGroup string
	OccurredAt  time.Time
	Recorded    time.Time
	Payload     json.RawMessage
	Stream      string
	FirstSeq    int64
	LastSeq     int64
	Events      int
	Handed      bool
}

const episodesSQL = `
	SELECT m.id, m.agent_id, coalesce(m.agent_session_id, '') AS session, m.created_by, m.source_trust, m.sensitivity,
		m.policy_group, m.occurred_at,
		` + pg.RecordedAt + ` AS recorded, m.payload, coalesce(e.stream, '') AS stream, coalesce(e.first_seq,
		0) AS first_seq,
		coalesce(e.last_seq, 0) AS last_seq, coalesce(e.events, 0) AS events,
		coalesce(e.handed, false) AS handed
	FROM memories m
		LEFT JOIN LATERAL (
			SELECT s.stream, x.first_seq, x.last_seq, x.events, x.handed
			FROM session_episodes x
				JOIN sessions s ON s.tenant = x.tenant AND s.id = x.session_id
			WHERE x.memory_id = m.id AND x.tenant = @tenant
			LIMIT 1) e ON true
	WHERE m.tenant = @tenant AND m.id = ANY(@ids) AND m.live AND m.type = 'episodic'
	ORDER BY m.id`

// Episodes reads live episodes with their attempts. It reads the ledger if that still has all events of the
// episode's session, and otherwise the record.
func (s *Learning) Episodes(ctx context.Context, tenant string, ids []uuid.UUID) ([]Episode, error) {
	var out []Episode
	err := s.Read(ctx, tenant, func(tx pgx.Tx) error {
		rows, err := commit.Rows[episodeRow](ctx, tx, episodesSQL, pg.Args{"tenant": tenant, "ids": ids})
		if err != nil {
			return err
		}
		var parts []events.Range
		part := make([]int, len(rows))
		for i, r := range rows {
			part[i] = -1
			if r.Stream != "" && r.LastSeq-r.FirstSeq < maxEvents {
				part[i] = len(parts)
				parts = append(parts, events.Range{Stream: r.Stream, First: r.FirstSeq, Last: r.LastSeq})
			}
		}
		found, err := events.RangesIn(ctx, tx, tenant, parts, maxEvents)
		if err != nil {
			return err
		}
		for i, r := range rows {
			e := Episode{ID: r.ID, OccurredAt: r.OccurredAt, recorded: r.Recorded}
			session, n := trace.NewSession(r.meta()), 0
			if part[i] >= 0 {
				sees := views.Viewer{Agent: r.AgentID, PolicyGroup: r.PolicyGroup}
				for _, event := range found[part[i]] {
					if sees.Sees(event) {
						session.Add(event)
						n++
					}
				}
			}
			if n > 0 && n >= r.Events {
				e.Attempts = session.Attempts()
			} else {
				var payload schema.EpisodicPayload
				if err := json.Unmarshal(r.Payload, &payload); err != nil {
					continue // written by another program, without attempts
				}
				e.Attempts = trace.OfEpisode(r.meta(), payload)
			}
			out = append(out, e)
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read episodes: %w", err)
	}
	return out, nil
}

// meta returns the origin of the episode. Only a session that the ledger recorded while it happened is witnessed. A
// session recorded afterwards, and any other record, is an account, even if it names a witness.
func (r episodeRow) meta() trace.Meta {
	return trace.Meta{Episode: r.ID.String(), Sensitivity: r.Sensitivity, Source: trace.Source{Agent: r.AgentID,
		Session: r.Session, Origin: r.CreatedBy, Witnessed: r.Stream != "" && !r.Handed, Trust: r.SourceTrust}}
}
