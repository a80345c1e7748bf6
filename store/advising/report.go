package advising

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/mneme/mneme/memory/learning/advice"
	"github.com/mneme/mneme/memory/learning/evidence"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/store/pg"
)

// ErrReported means that another outcome was reported for the same memory and advice before.
var ErrReported = errors.New("another outcome was reported before")

// reported is a report as it is stored.
type reported struct {
	Outcome schema.Outcome `json:"outcome,omitempty"`
	Reported
}

// Reported is the effect of a report.
type Reported struct {
	Changed   []string            `json:"changed"`
	Status    schema.ReportStatus `json:"status,omitempty"`
	Successor string              `json:"successor,omitempty"`
	CountsFor schema.ReportReach  `json:"counts_for,omitempty"`
	Held      schema.ReportHeld   `json:"held,omitempty"`
}

// adviceRow is advice as it is stored.
type adviceRow struct {
	Offered []Offer
	Reports map[string]reported
	Problem string
}

// Count counts a report. It changes the offered memories that the filter still admits, the memory that was used also
// if it was superseded since, and the memory that is in its place now if the outcome counts for that (advice.Carries).
// It skips memories that were forgotten or erased. A repeated report changes nothing and returns the first result. It
// returns pg.ErrNotFound if the principal was not given the advice, and a *schema.ValidationError if the memory that
// was used was not offered.
func (a *Advising) Count(ctx context.Context, f pg.Filter, id uuid.UUID, r advice.Report,
	now time.Time) (out Reported, err error) {
	err = pg.RetryChange(ctx, func() error {
		return a.write(ctx, f.Principal.Tenant, func(tx pgx.Tx) error {
			out, err = count(ctx, tx, f, id, r, now)
			return err
		})
	})
	if err != nil {
		return Reported{}, fmt.Errorf("count a report: %w", err)
	}
	return out, nil
}

func count(ctx context.Context, tx pgx.Tx, f pg.Filter, id uuid.UUID, r advice.Report,
	now time.Time) (Reported, error) {
	given, err := lockAdvice(ctx, tx, f.Principal, id)
	if err != nil {
		return Reported{}, err
	}
	outcome := r.Counted()
	if before, ok := given.Reports[r.Used]; ok {
		if before.Outcome != outcome {
			return Reported{}, ErrReported
		}
		return before.Reported, nil
	}
	if r.Used != "" && !slices.ContainsFunc(given.Offered, func(o Offer) bool { return o.ID == r.Used }) {
		return Reported{}, &schema.ValidationError{Fields: []schema.FieldError{
			{Field: "used", Problem: "must be a memory that was advised"}}}
	}
	place, err := placeOf(ctx, tx, f, given.Problem, r)
	if err != nil {
		return Reported{}, err
	}
	if place.carries {
		r.Successor = place.successor
	}
	offered, kept, err := lockOutcomes(ctx, tx, f, given.Offered, place, now)
	if err != nil {
		return Reported{}, err
	}
	for _, c := range []string{r.Used, r.Successor} {
		if seen, err := shown(ctx, tx, f.Principal, r.Session, c); err != nil {
			return Reported{}, err
		} else if seen {
			r.Shown = append(r.Shown, c)
		}
	}
	if err := logReports(ctx, tx, f.Principal.Tenant, id, given.Problem, r, offered); err != nil {
		return Reported{}, err
	}
	out := Reported{Changed: []string{}, Successor: place.successor}
	counted, c := false, counting{Tx: tx, tenant: f.Principal.Tenant, advice: id, report: r, now: now}
	for i, change := range advice.Apply(r, offered) {
		about := change.ID == r.Used || change.ID == r.Successor
		counted = counted || about && change.Counted != ""
		if change.Counted != "" || !about {
			out.Changed = append(out.Changed, change.ID)
		}
		held, err := c.save(ctx, offered[i], change, kept[change.ID])
		if err != nil {
			return Reported{}, err
		}
		if about && change.Counted != "" && (out.CountsFor == "" || held != "") {
			out.CountsFor, out.Held = schema.ReachAll, held
			if held != "" {
				out.CountsFor = schema.ReachOwn
			}
		}
	}
	out.Status = place.status(r, counted)
	report, err := json.Marshal(map[string]reported{r.Used: {Outcome: outcome, Reported: out}})
	if err != nil {
		return Reported{}, err
	}
	_, err = tx.Exec(ctx, `UPDATE advice SET reports = reports || @report::jsonb WHERE tenant = @tenant AND id = @id`,
		pg.Args{"report": string(report), "tenant": f.Principal.Tenant, "id": id})
	return out, err
}

func lockAdvice(ctx context.Context, tx pgx.Tx, p schema.Principal, id uuid.UUID) (adviceRow, error) {
	rows, err := pg.CollectByName[adviceRow](ctx, tx, `
		SELECT offered, reports, problem
		FROM advice
		WHERE tenant = @tenant AND id = @id AND agent_id = @agent AND project = @project AND scope = @scope
		FOR UPDATE`,
		pg.Args{"tenant": p.Tenant, "id": id, "agent": p.Agent, "project": p.Project, "scope": p.EffectiveScope()})
	if err == nil && len(rows) == 0 {
		err = pg.ErrNotFound
	}
	if err != nil {
		return adviceRow{}, err
	}
	return rows[0], nil
}

// Tables with the outcomes of a memory.
const (
	inLearned  = "learned"
	inOutcomes = "solution_outcomes"
)

// saveSQL writes the outcomes of a memory to each of the tables.
var saveSQL = map[string]string{
	inLearned: `
		UPDATE learned
		SET stats = @stats, base = nullif(@base::jsonb, 'null'), version = version + 1, updated_at = @now
		WHERE tenant = @tenant AND memory_id = @id`,
	inOutcomes: `
		UPDATE solution_outcomes
		SET stats = @stats, base = nullif(@base::jsonb, 'null'), updated_at = @now
		WHERE tenant = @tenant AND memory_id = @id`,
}

// lockOutcomes locks the outcomes of the offered memories that still exist, and of the one in the place of the memory
// that was used, in the order of ids, and returns their tables. Procedures and plans unknown to learning have their
// outcomes in solution_outcomes from their first report on; these begin with the outcomes in the advice.
func lockOutcomes(ctx context.Context, tx pgx.Tx, f pg.Filter, offered []Offer, at place, now time.Time) (
	[]advice.Candidate, map[string]figures, error) {
	if len(offered) == 0 { // a nil slice would be null in JSON
		return nil, nil, nil
	}
	offers := slices.Clone(offered)
	if at.carries && !slices.ContainsFunc(offered, func(o Offer) bool { return o.ID == at.successor }) {
		offers = append(offers, Offer{ID: at.successor, Stats: at.claimed})
	}
	encoded, err := json.Marshal(offers)
	if err != nil {
		return nil, nil, err
	}
	args := pg.Args{"offered": string(encoded)}
	type row struct {
		ID         string
		Kept       string
		Scope      string
		Visibility schema.Visibility
		Stats      evidence.Stats
		Base       *evidence.Stats
	}
	learned, err := pg.CollectByName[row](ctx, tx, `
		SELECT l.memory_id::text AS id, 'learned' AS kept, m.scope, m.visibility, l.stats, l.base
		FROM jsonb_to_recordset(@offered::jsonb) o(id uuid)
		JOIN memories m ON m.id = o.id AND `+at.admits(f, "m", args)+`
		JOIN learned l ON l.tenant = m.tenant AND l.memory_id = m.id
		ORDER BY l.memory_id
		FOR UPDATE OF l`, args)
	if err != nil {
		return nil, nil, err
	}
	args = pg.Args{"offered": string(encoded), "now": now}
	if _, err := tx.Exec(ctx, `
		INSERT INTO solution_outcomes (tenant, memory_id, stats, updated_at)
		SELECT m.tenant, m.id, o.stats, @now
		FROM jsonb_to_recordset(@offered::jsonb) o(id uuid, stats jsonb)
		JOIN memories m ON m.id = o.id AND m.type <> 'episodic' AND `+at.admits(f, "m", args)+`
		WHERE NOT EXISTS (SELECT FROM learned l WHERE l.tenant = m.tenant AND l.memory_id = m.id)
		ORDER BY m.id
		ON CONFLICT DO NOTHING`, args); err != nil {
		return nil, nil, err
	}
	args = pg.Args{"offered": string(encoded)}
	others, err := pg.CollectByName[row](ctx, tx, `
		SELECT s.memory_id::text AS id, 'solution_outcomes' AS kept, m.scope, m.visibility, s.stats, s.base
		FROM jsonb_to_recordset(@offered::jsonb) o(id uuid)
		JOIN memories m ON m.id = o.id AND `+at.admits(f, "m", args)+`
		JOIN solution_outcomes s ON s.tenant = m.tenant AND s.memory_id = m.id
		ORDER BY s.memory_id
		FOR UPDATE OF s`, args)
	if err != nil {
		return nil, nil, err
	}
	args = pg.Args{"offered": string(encoded)}
	episodes, err := pg.CollectByName[row](ctx, tx, `
		SELECT m.id::text AS id, '' AS kept, m.scope, m.visibility, o.stats, NULL::jsonb AS base
		FROM jsonb_to_recordset(@offered::jsonb) o(id uuid, stats jsonb)
		JOIN memories m ON m.id = o.id AND m.type = 'episodic' AND `+at.admits(f, "m", args)+`
		ORDER BY m.id
		FOR KEY SHARE OF m`, args)
	if err != nil {
		return nil, nil, err
	}
	kept := map[string]figures{}
	var out []advice.Candidate
	for _, r := range slices.Concat(learned, others, episodes) {
		if _, twice := kept[r.ID]; !twice {
			kept[r.ID] = figures{r.Kept, r.Base}
			out = append(out, advice.Candidate{ID: r.ID, Stats: r.Stats,
				Foreign: f.Principal.User != "" && r.Scope != f.Principal.EffectiveScope(),
				Shared:  r.Visibility != schema.VisibilityPrivate})
		}
	}
	return out, kept, nil
}

// shown reports whether an episode of a session has shown the outcome of a record before: the record was learned from
// more episodes of the session than the session has reported.
func shown(ctx context.Context, tx pgx.Tx, p schema.Principal, session, record string) (out bool, err error) {
	if session == "" || record == "" {
		return false, nil
	}
	err = tx.QueryRow(ctx, `
		SELECT (SELECT count(*)
				FROM memory_links l
				JOIN memories e ON e.tenant = l.tenant AND e.id = l.target_id
				WHERE l.tenant = @tenant AND l.source_id = @used AND l.predicate = 'derived_from'
				AND e.type = 'episodic'
					AND e.agent_id = @agent AND e.agent_session_id = @session)
			> (SELECT count(*)
				FROM outcome_reports o
				WHERE o.tenant = @tenant AND o.memory_id = @used AND o.agent_id = @agent AND o.session = @session
					AND o.ok IS NOT NULL)`,
		pg.Args{"tenant": p.Tenant, "used": record, "agent": p.Agent, "session": session}).Scan(&out)
	return out, err
}

// Numbers of reports kept of a source on a memory, and of all sources. Earlier ones of a source no longer have weight.
// If all sources have too many, those of the agent with the most reports go first: an agent with many users must not
// displace the reports of other agents.
const (
	maxReports    = 100
	maxAllReports = 1_000
)

// logReports stores the outcome of a report for each offered memory.
func logReports(ctx context.Context, tx pgx.Tx, tenant string, id uuid.UUID, problem string, r advice.Report,
	offered []advice.Candidate) error {
	for _, c := range offered {
		o, ok := r.Of(c)
		if !ok {
			continue
		}
		var worked *bool
		if !o.Idle {
			worked = &o.OK
		}
		context := o.Context
		if context == nil {
			context = map[string]string{}
		}
		if _, err := tx.Exec(ctx, `
			WITH old AS (
				DELETE FROM outcome_reports o
				WHERE o.tenant = @tenant AND o.memory_id = @memory AND (o.advice_id, o.used) IN (
					(SELECT x.advice_id, x.used
					FROM outcome_reports x
					WHERE x.tenant = @tenant AND x.memory_id = @memory AND x.agent_id = @agent AND x.user_key = @user
					ORDER BY x.at DESC, x.advice_id, x.used
					OFFSET @kept)
					UNION ALL
					(SELECT y.advice_id, y.used
					FROM (
						SELECT x.advice_id, x.used, x.at, row_number() OVER (PARTITION BY x.agent_id
							ORDER BY x.at DESC, x.advice_id, x.used) AS n
						FROM outcome_reports x
						WHERE x.tenant = @tenant AND x.memory_id = @memory) y
					ORDER BY y.n, y.at DESC, y.advice_id, y.used
					OFFSET @all))
			)
			INSERT INTO outcome_reports (tenant, memory_id, advice_id, used, problem, agent_id, user_key, session, context,
				ok, based, at)
			VALUES (@tenant, @memory, @advice, @used, @problem, @agent, @user, @session, @context, @ok, @based, @at)
			ON CONFLICT DO NOTHING`,
			pg.Args{"tenant": tenant, "memory": c.ID, "advice": id, "used": r.Used, "problem": problem,
				"agent": o.Agent, "user": o.User, "session": o.Session, "context": context, "ok": worked,
				"based": slices.Contains(r.Shown, c.ID), "at": o.At, "kept": maxReports - 1,
				"all": maxAllReports - 1}); err != nil {
			return err
		}
	}
	return nil
}
