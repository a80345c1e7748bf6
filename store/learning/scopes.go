package learning

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/mneme/mneme/memory/learning/evidence"
	"github.com/mneme/mneme/memory/learning/signature"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/store/commit"
	"github.com/mneme/mneme/store/pg"
)

// scopesSQL steps from scope to scope in the index of evidence, whatever their size. It returns those with an
// episode after their watermark, with one that was committed late, or with a waiting group.
const scopesSQL = `
	WITH RECURSIVE scopes AS (
		(SELECT m.project, m.scope, ` + agentSQL + ` AS agent
		FROM memories m
		WHERE m.tenant = @tenant AND m.live AND m.type = 'episodic'
			AND (m.project, m.scope, ` + agentSQL + `) > (@project, @scope, @agent)
		ORDER BY m.project, m.scope, ` + agentSQL + `
		LIMIT 1)
		UNION ALL
		SELECT n.project, n.scope, n.agent
		FROM scopes s
			CROSS JOIN LATERAL (
				SELECT m.project, m.scope, ` + agentSQL + ` AS agent
				FROM memories m
				WHERE m.tenant = @tenant AND m.live AND m.type = 'episodic'
					AND (m.project, m.scope, ` + agentSQL + `) > (s.project, s.scope, s.agent)
				ORDER BY m.project, m.scope, ` + agentSQL + `
				LIMIT 1) n
	), page AS (
		SELECT * FROM scopes LIMIT @limit
	)
	SELECT p.project, p.scope, p.agent, EXISTS (
			SELECT FROM memories m
			WHERE m.tenant = @tenant AND m.project = p.project AND m.scope = p.scope AND ` + agentSQL + ` = p.agent
				AND m.live AND m.type = 'episodic'
				AND (` + pg.RecordedAt + `, m.id) > (
					CASE WHEN w.at IS NULL THEN '-infinity' ELSE w.at END,
					CASE WHEN w.memory_id IS NULL THEN '00000000-0000-0000-0000-000000000000' ELSE w.memory_id END))
		OR EXISTS (
			SELECT FROM (
				SELECT m.id
				FROM memories m
				WHERE m.tenant = @tenant AND m.project = p.project AND m.scope = p.scope AND ` + agentSQL + ` = p.agent
					AND m.live AND m.type = 'episodic'
					AND (` + pg.RecordedAt + `, m.id) <= (w.at, w.memory_id)
					AND ` + pg.RecordedAt + ` > w.at - @overlap::interval
				ORDER BY ` + pg.RecordedAt + ` DESC, m.id DESC
				LIMIT @latest) l
			WHERE (
				SELECT a.memory_id
				FROM learning_attempts a
				WHERE a.tenant = @tenant AND a.memory_id = l.id AND a.ordinal = 0) IS NULL)
		OR EXISTS (
			SELECT FROM learning_groups g
			WHERE g.tenant = @tenant AND g.project = p.project AND g.scope = p.scope AND g.agent_id = p.agent
				AND g.attempts > g.procedures AND g.attempts >= @least)
		OR EXISTS (
			SELECT FROM learning_groups g
			WHERE g.tenant = @tenant AND g.project = p.project AND g.scope = p.scope AND g.agent_id = p.agent
				AND g.attempts > g.plans AND g.attempts >= @least AND g.kind = 'intent') AS due
	FROM page p
		LEFT JOIN learning_watermarks w ON w.tenant = @tenant AND w.project = p.project AND w.scope = p.scope
			AND w.agent_id = p.agent AND w.workflow = '` + Indexing + `'
	ORDER BY p.project, p.scope, p.agent`

// ScopePage is a page of the scopes of a tenant.
type ScopePage struct {
	Due  []Scope // with evidence that no run has read
	Last Scope
	More bool
}

// Scopes lists the scopes of a tenant after a given one that have work to do. The zero Scope of a tenant sorts
// before all others; first means that it has not been checked itself.
func (s *Learning) Scopes(ctx context.Context, after Scope, first bool, least, limit int) (out ScopePage, err error) {
	type scopeRow struct {
		Project, Scope, Agent string
		Due                   bool
	}
	var rows []scopeRow
	err = s.Read(ctx, after.Tenant, func(tx pgx.Tx) error {
		args := after.args()
		args["least"], args["limit"], args["overlap"], args["latest"] = least, limit, Overlap, maxOverlapping
		sql := scopesSQL
		if first { // the first scope may have no project, scope or agent
			sql = strings.Replace(sql, "AND (m.project, m.scope, "+agentSQL+") > (@project, @scope, @agent)",
				"AND (m.project, m.scope, "+agentSQL+") >= (@project, @scope, @agent)", 1)
		}
		rows, err = commit.Rows[scopeRow](ctx, tx, sql, args)
		return err
	})
	if err != nil {
		return out, fmt.Errorf("scopes of a tenant: %w", err)
	}
	out.Last, out.More = after, len(rows) == limit
	for _, r := range rows {
		out.Last = Scope{Tenant: after.Tenant, Project: r.Project, Scope: r.Scope, Agent: r.Agent}
		if r.Due {
			out.Due = append(out.Due, out.Last)
		}
	}
	return out, nil
}

// adoptPage is the number of records that one adoption adds.
const adoptPage = 200

// unknownRow is a procedure or plan without a row in learned.
type unknownRow struct {
	ID      uuid.UUID
	Type    schema.MemoryType
	Payload json.RawMessage
	Agent   string `db:"agent_id"`
	Project string
	Scope   string
	Vis     schema.Visibility `db:"visibility"`
}

// Adopt creates the missing rows of a scope's procedures and plans, for records that an agent put or that were
// restored. Their outcomes are those in the records. It returns the number of new rows.
func (s *Learning) Adopt(ctx context.Context, sc Scope, now time.Time) (n int, err error) {
	err = commit.Write(ctx, s.DB, sc.Tenant, now, func(c *commit.Change) error {
		args := sc.args()
		args["limit"] = adoptPage
		rows, err := commit.Rows[unknownRow](ctx, c.Tx, `
			SELECT m.id, m.type, m.payload, m.agent_id, m.project, m.scope, m.visibility
			FROM memories m
			WHERE `+ofScope+` AND m.live AND m.`+pg.IsProcedure+`
				AND NOT EXISTS (SELECT FROM learned l WHERE l.tenant = @tenant AND l.memory_id = m.id)
			ORDER BY m.id
			LIMIT @limit
			FOR KEY SHARE OF m`, args)
		if err != nil {
			return err
		}
		for _, r := range rows {
			if err := adopt(ctx, c, sc.Tenant, r); err != nil {
				return err
			}
			n++
		}
		return nil
	})
	if err != nil {
		return 0, fmt.Errorf("adopt records: %w", err)
	}
	return n, nil
}

func adopt(ctx context.Context, c *commit.Change, tenant string, r unknownRow) error {
	key, words, performance := forWhat(r.Type, r.Payload)
	kept, err := carryOver(ctx, c, r.ID, evidence.Claimed(performance))
	if err != nil {
		return err
	}
	_, err = c.Tx.Exec(ctx, noteSQL, pg.Args{"tenant": tenant, "id": r.ID, "kind": r.Type,
		"group": scopeOf(tenant, r.Agent, r.Project, r.Scope, r.Vis).GroupID(key), "key": key,
		"words": pg.TagList(words), "hash": "", "stats": kept.Stats, "base": kept.Base,
		"tentative": true, "now": c.Now})
	return err
}

// forWhat returns the key and the words of a record's problem or task.
func forWhat(t schema.MemoryType, payload json.RawMessage) (key string, words []string, p *schema.Performance) {
	if t == schema.TypePlanGraph {
		var plan schema.PlanGraphPayload
		_ = json.Unmarshal(payload, &plan) // a payload that is not valid has no key
		intent := signature.OfIntent(plan.Intent)
		return "intent:" + intent.Key(), intent.Words, plan.Metrics
	}
	var c schema.CompetencePayload
	_ = json.Unmarshal(payload, &c)
	signal := c.SkillName
	if len(c.Triggers) > 0 {
		signal = c.Triggers[0].Signal
	}
	if signature.LooksLikeError(signal) || strings.Contains(signal, "<") {
		problem := signature.Parse(signal)
		return "error:" + problem.Key(), problem.Words, c.Performance
	}
	intent := signature.OfIntent(signal)
	return "intent:" + intent.Key(), intent.Words, c.Performance
}
