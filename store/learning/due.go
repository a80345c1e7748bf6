package learning

import (
	"context"
	"encoding/hex"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/mneme/mneme/memory/learning/due"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/store/commit"
	"github.com/mneme/mneme/store/pg"
)

// maxCounted is the number of the newest and of the oldest unread episodes that are counted. It is enough to decide
// whether a run is due, and since when.
const maxCounted = 100

// maxOverlapping is the number of the newest episodes within Overlap before the watermark that are checked, because one
// of them may have been committed after the watermark was moved. Almost all of them have been read, so each costs one
// lookup by key. A scope with more episodes in that time has others soon, and the next run reads the whole overlap.
const maxOverlapping = 2_000

// Pending says whether a scope is due, and how far its evidence was read.
type Pending struct {
	due.Verdict
	Mark Position // the watermark, which a run moves when it reads evidence
	// Reports is the watermark of reported outcomes, which a run moves when it takes some in.
	Reports Position
}

// pendingRow is an episode that no run has read, without content.
type pendingRow struct {
	AgentID   string
	Session   string
	CreatedBy string
	Same      []byte
	Trust     float64
	At        time.Time
}

const pendingColumns = `m.agent_id, coalesce(m.agent_session_id, '') AS session, m.created_by, m.content_hash AS same,
	m.source_trust AS trust, ` + pg.RecordedAt + ` AS at, m.id`

const (
	pendingFrom = `
	FROM memories m
	WHERE ` + ofScope + ` AND m.live AND m.type = 'episodic'`
	pendingWhere = pendingFrom + `
		AND (` + pg.RecordedAt + `, m.id) > (@after_at, @after_id)`
)

const pendingSQL = `
	SELECT agent_id, session, created_by, same, trust, at
	FROM (
		(SELECT ` + pendingColumns + pendingWhere + `
		ORDER BY ` + pg.RecordedAt + ` DESC, m.id DESC
		LIMIT @limit)
		UNION
		(SELECT ` + pendingColumns + pendingWhere + `
		ORDER BY ` + pg.RecordedAt + `, m.id
		LIMIT @limit)
		UNION
		(SELECT ` + pendingColumns + pendingFrom + `
			AND (` + pg.RecordedAt + `, m.id) <= (@after_at, @after_id) AND ` + pg.RecordedAt + ` > @overlapping
		ORDER BY ` + pg.RecordedAt + ` DESC, m.id DESC
		LIMIT @most)) x
	WHERE ( -- not read before, also with a time in the future; looked up for each row, which NOT EXISTS is not
		SELECT a.memory_id
		FROM learning_attempts a
		WHERE a.tenant = @tenant AND a.memory_id = x.id AND a.ordinal = 0) IS NULL
	ORDER BY at, id`

// Pending judges the episodes and the reported outcomes of a scope that no run has read.
func (s *Learning) Pending(ctx context.Context, sc Scope, rule due.Rule, now time.Time) (Pending, error) {
	mark, err := s.Watermark(ctx, sc, Indexing)
	if err != nil {
		return Pending{}, err
	}
	reports, err := s.Watermark(ctx, sc, Reporting)
	if err != nil {
		return Pending{}, err
	}
	args := sc.args()
	args["after_at"], args["after_id"], args["limit"] = mark.At, mark.ID, maxCounted
	args["overlapping"], args["most"] = mark.At.Add(-Overlap), maxOverlapping
	var rows []pendingRow
	err = s.Read(ctx, sc.Tenant, func(tx pgx.Tx) error {
		if rows, err = commit.Rows[pendingRow](ctx, tx, pendingSQL, args); err != nil {
			return err
		}
		more, err := reported(ctx, tx, sc)
		rows = append(rows, more...)
		return err
	})
	if err != nil {
		return Pending{}, fmt.Errorf("evidence that waits: %w", err)
	}
	episodes := make([]due.Episode, len(rows))
	for i, r := range rows {
		episodes[i] = due.Episode{Agent: r.AgentID, Session: r.Session, Origin: r.CreatedBy,
			Same: hex.EncodeToString(r.Same), Trust: r.Trust, At: r.At}
	}
	return Pending{Verdict: rule.Judge(episodes, now), Mark: mark, Reports: reports}, nil
}

// ScopesOf returns the scopes of the live episodes among the given memories.
func (s *Learning) ScopesOf(ctx context.Context, tenant string, ids []uuid.UUID) ([]Scope, error) {
	return s.scopesOf(ctx, tenant, ids, []schema.MemoryType{schema.TypeEpisodic})
}

func (s *Learning) scopesOf(ctx context.Context, tenant string, ids []uuid.UUID, types []schema.MemoryType) ([]Scope,
	error) {
	type row struct{ Agent, Project, Scope string }
	var rows []row
	err := s.Read(ctx, tenant, func(tx pgx.Tx) (err error) {
		// What was learned belongs to the scope of its group (mneme_place_report).
		rows, err = commit.Rows[row](ctx, tx, `
			SELECT DISTINCT coalesce(g.agent_id, `+agentSQL+`) AS agent, coalesce(g.project, m.project) AS project,
				coalesce(g.scope, m.scope) AS scope
			FROM memories m
			LEFT JOIN learned l ON l.tenant = @tenant AND l.memory_id = m.id
			LEFT JOIN learning_groups g ON g.tenant = @tenant AND g.id = l.group_id
			WHERE m.tenant = @tenant AND m.id = ANY(@ids) AND m.live AND m.type = ANY(@types::text[])
			ORDER BY 1, 2, 3`, pg.Args{"tenant": tenant, "ids": ids, "types": types})
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("scopes of evidence: %w", err)
	}
	var out []Scope
	for _, r := range rows {
		out = append(out, Scope{Tenant: tenant, Agent: r.Agent, Project: r.Project, Scope: r.Scope})
	}
	return out, nil
}
