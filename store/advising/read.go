package advising

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/mneme/mneme/memory/learning/evidence"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/store/pg"
)

// Advising reads the data for advice, and stores advice.
type Advising struct{ *pg.DB }

// New returns an Advising on a database.
func New(db *pg.DB) *Advising { return &Advising{db} }

// Limits of one read.
const (
	maxExact    = 50     // procedures for the same problem
	maxFailures = 20_000 // episodes with the words of a problem that are compared by time: 6 µs each
	maxEpisodes = 20
	maxWords    = 8 // of a problem by which episodes are found
	maxEvidence = 20
)

// ForProblem returns at most 50 ids of procedures that the filter admits and whose trigger is the problem, given as
// the text of its signature, last reinforced first.
func (a *Advising) ForProblem(ctx context.Context, f pg.Filter, problem string) ([]uuid.UUID, error) {
	args := pg.Args{"problem": problem, "limit": maxExact}
	type row struct{ ID uuid.UUID }
	found, err := pg.QueryBatchRows[row](ctx, a.DB, f.Principal.Tenant, pg.PlanOnce, `
		SELECT m.id
		FROM memory_problems m
		WHERE m.keys @> ARRAY[mneme_problem_key(@problem::text)] AND `+f.Where("m", args)+`
		ORDER BY m.last_reinforced_at DESC, m.id
		LIMIT @limit`, args)
	if err != nil {
		return nil, fmt.Errorf("read procedures by problem: %w", err)
	}
	out := make([]uuid.UUID, len(found))
	for i, r := range found {
		out[i] = r.ID
	}
	return out, nil
}

// Solution is a procedure or a plan with its outcomes.
type Solution struct {
	ID       uuid.UUID
	Type     schema.MemoryType
	Payload  json.RawMessage
	Trust    float64
	Stats    *evidence.Stats    // counted by runs and reports; nil if none has
	Evidence []string           // ids of the episodes it was learned from, if the filter admits them
	Shared   bool               // other agents may read it
	Base     *evidence.Stats    // without the reports that are not Based; nil if all reports are counted in Stats
	Reports  []evidence.Outcome // nil if all of the reader's agent count for everyone

	// Outcomes that the reader has reported by feedback, and that do not count for others.
	HeldSuccesses, HeldFailures int64
}

// For returns the outcomes that count in the advice for a reader.
func (s Solution) For(who evidence.Reader) evidence.Stats {
	if s.Base == nil || len(s.Reports) == 0 {
		return *s.Stats
	}
	reports := evidence.Reports{List: s.Reports, Shared: s.Shared}.On(*s.Base)
	return reports.Counted(reports.For(who))
}

// SolutionsWith reads the procedures and plans that the filter admits. It skips ids of other memories.
func (a *Advising) SolutionsWith(ctx context.Context, f pg.Filter, ids []uuid.UUID) ([]Solution, error) {
	args := pg.Args{"ids": ids, "types": []schema.MemoryType{schema.TypeCompetence, schema.TypePlanGraph},
		"evidence": maxEvidence, "reader": f.Principal.Agent, "newest": newestReports}
	out, err := pg.QueryBatchRows[Solution](ctx, a.DB, f.Principal.Tenant, pg.PlanOnce, `
		SELECT m.id, m.type, m.payload, m.source_trust AS trust, coalesce(r.stats, o.stats) AS stats, `+pg.Held+`,
			m.visibility <> 'private' AS shared,
			CASE WHEN r.stats IS NULL THEN o.base ELSE r.base END AS base,
			CASE WHEN m.visibility <> 'private' AND EXISTS (
					SELECT FROM outcome_reports x
					WHERE x.tenant = m.tenant AND x.memory_id = m.id AND x.agent_id = @reader)
				OR EXISTS (
					SELECT FROM outcome_reports x
					WHERE x.tenant = m.tenant AND x.memory_id = m.id AND x.user_key <> '')
				THEN (SELECT jsonb_agg(`+reportedJSON+` ORDER BY o.at, o.advice_id, o.used)
					FROM `+reportsOf("x.memory_id = m.id")+` o) END AS reports,
			ARRAY(
				SELECT e.id::text
				FROM memory_links l
				JOIN memories e ON e.tenant = l.tenant AND e.id = l.target_id
				WHERE l.tenant = m.tenant AND l.source_id = m.id AND l.predicate = 'derived_from'
				AND e.type = 'episodic'
					AND `+f.Where("e", args)+`
				ORDER BY e.occurred_at DESC, e.id
				LIMIT @evidence) AS evidence
		FROM memories m
		LEFT JOIN learned r ON r.tenant = m.tenant AND r.memory_id = m.id
		LEFT JOIN solution_outcomes o ON o.tenant = m.tenant AND o.memory_id = m.id`+
		pg.HeldVerdicts(f.Principal, args)+`
		WHERE m.id = ANY(@ids) AND m.type = ANY(@types) AND `+f.Where("m", args)+`
		ORDER BY m.id`, args)
	if err != nil {
		return nil, fmt.Errorf("read solutions: %w", err)
	}
	return out, nil
}

// reportedJSON is a report o as an evidence.Outcome.
const reportedJSON = `jsonb_build_object('agent', o.agent_id, 'user', o.user_key, 'session', o.session,
	'context', o.context, 'ok', coalesce(o.ok, false), 'idle', o.ok IS NULL, 'at', o.at, 'based', o.based)`

// newestReports is the number of reports of a source that are read.
const newestReports = 30

// reportsOf renders the newest reports x of each source that meet a condition.
func reportsOf(condition string) string {
	return `(
		SELECT y.*
		FROM (
			SELECT x.*, row_number() OVER (PARTITION BY x.agent_id, x.user_key ORDER BY x.at DESC, x.advice_id DESC,
				x.used DESC) AS n
			FROM outcome_reports x
			WHERE x.tenant = mneme_tenant() AND ` + condition + `) y
		WHERE y.n <= @newest)`
}

// Episode is an episode with a failure.
type Episode struct {
	ID        uuid.UUID
	AgentID   string
	Session   string
	CreatedBy string
	Payload   json.RawMessage
	Trust     float64
	Witnessed bool               // it is a session that the ledger recorded while it happened
	Reports   []evidence.Outcome // reports of agents that followed its solution
	Shared    bool               // other agents may read it
}

// EpisodesWith returns the newest episodes that the filter admits and that have a failure with the words, with the
// reports on them for a problem, given by its ProblemHash. If more than maxFailures have the words, it returns the
// newest of an arbitrary subset: the index has no order by time.
func (a *Advising) EpisodesWith(ctx context.Context, f pg.Filter, words []string, problem string) ([]Episode, error) {
	var quoted []string
	for _, w := range words[:min(len(words), maxWords)] {
		quoted = append(quoted, strings.Map(func(r rune) rune {
			if r == '\'' || r == '\\' {
				return ' '
			}
			return r
		}, w))
	}
	if len(quoted) == 0 {
		return nil, nil
	}
	args := pg.Args{"words": strings.Join(quoted, " "), "most": maxFailures, "limit": maxEpisodes,
		"problem": problem, "newest": newestReports}
	query := `
		SELECT m.id, m.agent_id, coalesce(m.agent_session_id, '') AS session, m.created_by, m.payload,
			m.source_trust AS trust, m.visibility <> 'private' AS shared,
			(SELECT coalesce(jsonb_agg(` + reportedJSON + ` ORDER BY o.at, o.advice_id, o.used), '[]')
				FROM ` + reportsOf("x.memory_id = m.id AND x.problem = @problem") + ` o) AS reports,
			EXISTS (SELECT FROM session_episodes s WHERE s.tenant = m.tenant AND s.memory_id = m.id
				AND NOT s.handed) AS witnessed
		FROM (
			SELECT x.id
			FROM (
				SELECT m.id, m.occurred_at
				FROM memory_failures m
				WHERE m.failures @@ plainto_tsquery('pg_catalog.simple'::regconfig,
						regexp_replace(@words::text, '[^[:alnum:]]+', ' ', 'g')) AND ` + f.Where("m", args) + `
				LIMIT @most
			) x
			ORDER BY x.occurred_at DESC, x.id
			LIMIT @limit
		) y
		JOIN memories m ON m.tenant = @f_tenant AND m.id = y.id
		ORDER BY m.occurred_at DESC, m.id`
	out, err := pg.QueryBatchRows[Episode](ctx, a.DB, f.Principal.Tenant, pg.PlanOnce, query, args)
	if err != nil {
		return nil, fmt.Errorf("read episodes by failure: %w", err)
	}
	return out, nil
}

// Offer is one candidate in advice, with its outcomes at that time. They are stored without those by situation, whose
// names are values of contexts and may be from an episode that is erased later.
type Offer struct {
	ID    string         `json:"id"`
	Stats evidence.Stats `json:"stats"`
}

// Advice is stored advice. It has no content.
type Advice struct {
	ID        uuid.UUID
	Principal schema.Principal
	Situation string
	Problem   string // its ProblemHash
	Offered   []Offer
}

// adviceKept is how long advice can be reported on, and advicePruned how many older ones each new advice deletes.
const (
	adviceKept   = 30 * 24 * time.Hour
	advicePruned = 20
)

// SaveAdvice stores advice, so that its outcome can be reported. A repeated call with the same id changes nothing.
func (a *Advising) SaveAdvice(ctx context.Context, in Advice, now time.Time) error {
	offers := make([]Offer, len(in.Offered))
	for i, o := range in.Offered {
		offers[i] = Offer{ID: o.ID, Stats: evidence.Stats{All: o.Stats.All}}
	}
	offered, err := json.Marshal(offers)
	if err != nil {
		return fmt.Errorf("save advice: %w", err)
	}
	err = a.write(ctx, in.Principal.Tenant, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, `
			DELETE FROM advice a
			WHERE a.tenant = @tenant AND a.id IN (
				SELECT o.id
				FROM advice o
				WHERE o.tenant = @tenant AND o.created_at < @until
				ORDER BY o.created_at
				LIMIT @most
				FOR UPDATE SKIP LOCKED)`,
			pg.Args{"tenant": in.Principal.Tenant, "until": now.Add(-adviceKept), "most": advicePruned}); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, `
			INSERT INTO advice (tenant, id, agent_id, project, scope, offered, situation, problem, created_at)
			VALUES (@tenant, @id, @agent, @project, @scope, @offered, @situation, @problem, @now)
			ON CONFLICT (tenant, id) DO NOTHING`,
			pg.Args{"tenant": in.Principal.Tenant, "id": in.ID, "agent": in.Principal.Agent,
				"project": in.Principal.Project, "scope": in.Principal.EffectiveScope(), "offered": string(offered),
				"situation": in.Situation, "problem": in.Problem, "now": now})
		return err
	})
	if err != nil {
		return fmt.Errorf("save advice: %w", err)
	}
	return nil
}

func (a *Advising) write(ctx context.Context, tenant string, fn func(pgx.Tx) error) error {
	class := pg.ClassOf(ctx, pg.ClassInteractive)
	return a.EndTransaction(ctx, class, pgx.BeginFunc(ctx, a.Pool, func(tx pgx.Tx) error {
		if err := pg.Bind(ctx, tx, tenant, false, a.Limits(class)); err != nil {
			return err
		}
		return fn(tx)
	}))
}
