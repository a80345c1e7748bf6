package learning

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/mneme/mneme/memory/learning/advice"
	"github.com/mneme/mneme/memory/learning/evidence"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/store/commit"
	"github.com/mneme/mneme/store/pg"
)

// tally counts the outcomes in a delta's evidence and those that agents reported. It moves reports to the record: those
// on the episodes in which the tentative solution helped, those on a record that this one supersedes for more agents,
// and those on a former version that count for this one too.
func tally(ctx context.Context, c *commit.Change, id string, d Delta) (evidence.Stats, error) {
	from := id
	if d.widened {
		from = d.Target
	}
	// A report locks this row before it is stored, so no report is missed between the two reads.
	before, err := commit.Values[evidence.Stats](ctx, c.Tx, `
		SELECT stats FROM learned WHERE tenant = @tenant AND memory_id = @id FOR UPDATE`,
		pg.Args{"tenant": c.Tenant, "id": from})
	if err != nil {
		return evidence.Stats{}, err
	}
	carried, err := carriedReports(ctx, c, d)
	if err != nil {
		return evidence.Stats{}, err
	}
	if _, err := c.Tx.Exec(ctx, `
		WITH moved AS (
			DELETE FROM outcome_reports o
			WHERE o.tenant = @tenant AND (o.memory_id = ANY(@episodes::uuid[]) AND o.problem = @problem
				OR o.memory_id = @from::uuid AND o.memory_id <> @id::uuid
				OR o.memory_id = @former::uuid AND o.advice_id::text || ' ' || o.used = ANY(@carried::text[]))
			RETURNING o.*
		)
		INSERT INTO outcome_reports (tenant, memory_id, advice_id, used, problem, agent_id, user_key, session, context, ok,
			at, taken)
		SELECT tenant, @id::uuid, advice_id, used, problem, agent_id, user_key, session, context, ok, at, true
		FROM moved
		ORDER BY advice_id, used, ok NULLS LAST, memory_id
		ON CONFLICT DO NOTHING`, pg.Args{"tenant": c.Tenant, "id": id, "problem": evidence.ProblemHash(d.Key),
		"from": from, "episodes": d.helped(), "former": d.former(), "carried": carried}); err != nil {
		return evidence.Stats{}, err
	}
	reported, err := commit.Rows[evidence.Outcome](ctx, c.Tx, `
		SELECT o.advice_id::text || ' ' || o.used AS id, o.agent_id AS agent, o.user_key AS user, o.session, '' AS episode,
			o.context, coalesce(o.ok, false) AS ok, o.ok IS NULL AS idle, o.at, o.based
		FROM outcome_reports o
		WHERE o.tenant = @tenant AND o.memory_id = @id
		ORDER BY o.at, o.advice_id, o.used`, pg.Args{"tenant": c.Tenant, "id": id})
	if err != nil {
		return evidence.Stats{}, err
	}
	visibility, err := visibilityOf(ctx, c, id)
	if err != nil {
		return evidence.Stats{}, err
	}
	stats, held := counted(d, before, reported, visibility)
	_, err = c.Tx.Exec(ctx, `
		UPDATE outcome_reports o
		SET based = NOT based
		WHERE o.tenant = @tenant AND o.memory_id = @id
			AND o.based = (o.advice_id::text || ' ' || o.used = ANY(@held::text[]))`,
		pg.Args{"tenant": c.Tenant, "id": id, "held": held})
	return stats, err
}

// visibilityOf returns the visibility of a memory, and "" if there is none.
func visibilityOf(ctx context.Context, c *commit.Change, id string) (schema.Visibility, error) {
	found, err := commit.Values[schema.Visibility](ctx, c.Tx, `
		SELECT visibility FROM memories WHERE tenant = @tenant AND id = @id`, pg.Args{"tenant": c.Tenant, "id": id})
	if err != nil || len(found) == 0 {
		return "", err
	}
	return found[0], nil
}

// foresee returns what tally will return for a delta, before the record of the delta is written with a visibility. It
// locks nothing, because a memory is locked before its figures. A report that is stored in between is in the record
// after the next run.
func foresee(ctx context.Context, c *commit.Change, d Delta, v schema.Visibility) (evidence.Stats, error) {
	target := uuid.Nil.String()
	if d.Action == Update {
		target = d.Target
	}
	before, err := commit.Values[evidence.Stats](ctx, c.Tx, `
		SELECT stats FROM learned WHERE tenant = @tenant AND memory_id = @id`,
		pg.Args{"tenant": c.Tenant, "id": target})
	if err != nil {
		return evidence.Stats{}, err
	}
	carried, err := carriedReports(ctx, c, d)
	if err != nil {
		return evidence.Stats{}, err
	}
	// As tally moves them: a report of the record itself takes precedence over one of an episode.
	reported, err := commit.Rows[evidence.Outcome](ctx, c.Tx, `
		SELECT '' AS id, agent, x.user, session, episode, context, ok, idle, at, false AS based
		FROM (
			SELECT DISTINCT ON (o.advice_id, o.used) o.advice_id, o.used, o.agent_id AS agent, o.user_key AS user, o.session,
				'' AS episode, o.context, coalesce(o.ok, false) AS ok, o.ok IS NULL AS idle, o.at
			FROM outcome_reports o
			WHERE o.tenant = @tenant AND (o.memory_id = @target
				OR o.memory_id = ANY(@episodes::uuid[]) AND o.problem = @problem
				OR o.memory_id = @former::uuid AND o.advice_id::text || ' ' || o.used = ANY(@carried::text[]))
			ORDER BY o.advice_id, o.used, o.memory_id = @target DESC, o.ok NULLS LAST, o.memory_id) x
		ORDER BY at, advice_id, used`, pg.Args{"tenant": c.Tenant, "target": target,
		"problem": evidence.ProblemHash(d.Key), "episodes": d.helped(), "former": d.former(), "carried": carried})
	if err != nil {
		return evidence.Stats{}, err
	}
	stats, _ := counted(d, before, reported, v)
	return stats, nil
}

// former returns the record that a delta supersedes by another version, or the nil id.
func (d Delta) former() string {
	if d.Action == Supersede && !d.widened {
		return d.Target
	}
	return uuid.Nil.String()
}

// carriedReports returns those of the reports on the former version that count for the record of a delta too
// (advice.Carries), each as the ids of its advice and of the memory that was used.
func carriedReports(ctx context.Context, c *commit.Change, d Delta) ([]string, error) {
	out := []string{}
	args := pg.Args{"tenant": c.Tenant, "id": d.former()}
	former, err := commit.Rows[struct {
		Type    schema.MemoryType
		Payload json.RawMessage
	}](ctx, c.Tx, `SELECT type, payload FROM memories WHERE tenant = @tenant AND id = @id`, args)
	if err != nil || len(former) == 0 {
		return out, err
	}
	before, ok := advice.CandidateOf(former[0].Type, former[0].Payload)
	now, also := advice.CandidateOf(former[0].Type, d.Payload)
	if !ok || !also {
		return out, nil
	}
	reports, err := commit.Rows[struct {
		Key     string
		Context map[string]string
	}](ctx, c.Tx, `
		SELECT o.advice_id::text || ' ' || o.used AS key, o.context
		FROM outcome_reports o
		WHERE o.tenant = @tenant AND o.memory_id = @id AND o.ok IS NOT NULL
		ORDER BY 1`, args)
	for _, r := range reports {
		if advice.Carries(before, now, r.Context) {
			out = append(out, r.Key)
		}
	}
	return out, err
}

// counted counts the outcomes in a delta's evidence and the reported ones that count for everyone who reads a record
// with a visibility. before has the stats of an updated record. It also returns the ids of the reports that are held:
// they may count later, or count only for their reporter.
func counted(d Delta, before []evidence.Stats, reported []evidence.Outcome, v schema.Visibility) (out evidence.Stats,
	held []string) {
	reports := evidence.Reports{List: reported, Shared: v != schema.VisibilityPrivate}.With(d.Outcomes)
	counts := reports.Public()
	held = []string{}
	for i, o := range reports.List {
		if !counts[i] {
			held = append(held, o.ID)
		}
	}
	out = reports.Counted(counts)
	if len(before) == 1 && d.Action == Update && before[0].All.Trials() > out.All.Trials() {
		// Outcomes that are too old to be read have no weight in out, but stay in its counts.
		out.All.Successes, out.All.Failures = before[0].All.Successes, before[0].All.Failures
	}
	return out, held
}

// figuresOf are the members of payloads with the outcomes of a record.
var figuresOf = map[schema.MemoryType]string{
	schema.TypeCompetence: "performance",
	schema.TypePlanGraph:  "metrics",
}

// withFigures returns the payload of a procedure or a plan with the outcomes of a track.
func withFigures(kind schema.MemoryType, payload json.RawMessage, t evidence.Track) (json.RawMessage, error) {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(payload, &members); err != nil {
		return nil, fmt.Errorf("payload: %w", err)
	}
	var p schema.Performance
	if raw, ok := members[figuresOf[kind]]; ok {
		if err := json.Unmarshal(raw, &p); err != nil {
			return nil, fmt.Errorf("performance: %w", err)
		}
	}
	t.Fill(&p)
	encoded, err := json.Marshal(p)
	if err != nil {
		return nil, fmt.Errorf("performance: %w", err)
	}
	members[figuresOf[kind]] = encoded
	return json.Marshal(members)
}

// helped returns the episodes that show that a solution helped.
func (d Delta) helped() []string {
	out := slices.Clone(d.Helped)
	for _, o := range d.Outcomes { // drafts of earlier program versions have only these
		if o.OK && o.Episode != "" {
			out = append(out, o.Episode)
		}
	}
	return slices.Compact(slices.Sorted(slices.Values(out)))
}

// keptFigures are the outcomes of a record, and those without the reports that are not based (evidence.Reports).
type keptFigures struct {
	Stats json.RawMessage
	Base  *json.RawMessage
}

// carryOver returns the outcomes for a record that gets its row in learned: the reported outcomes, which include the
// claims of the record, or if there are none, only the claims. It removes the reported outcomes from solution_outcomes.
func carryOver(ctx context.Context, c *commit.Change, id uuid.UUID, claimed evidence.Stats) (keptFigures, error) {
	out, err := commit.Row[keptFigures](ctx, c.Tx, `
		DELETE FROM solution_outcomes WHERE tenant = @tenant AND memory_id = @id RETURNING stats, base`,
		pg.Args{"tenant": c.Tenant, "id": id})
	if errors.Is(err, pgx.ErrNoRows) {
		out.Stats, err = json.Marshal(claimed)
	}
	if err != nil {
		return keptFigures{}, fmt.Errorf("carry outcomes over: %w", err)
	}
	return out, nil
}
