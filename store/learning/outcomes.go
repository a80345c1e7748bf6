package learning

import (
	"context"
	"errors"
	"fmt"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/mneme/mneme/memory/learning/evidence"
	"github.com/mneme/mneme/store/commit"
	"github.com/mneme/mneme/store/pg"
)

// tally counts the outcomes in a delta's evidence and those that agents reported. It moves
// reports to the record: those on the episodes in which the tentative solution helped, and those on a record that this
// one supersedes for more agents.
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
	if _, err := c.Tx.Exec(ctx, `
		WITH moved AS (
			DELETE FROM outcome_reports o
			WHERE o.tenant = @tenant AND (o.memory_id = ANY(@episodes::uuid[]) AND o.problem = @problem
				OR o.memory_id = @from::uuid AND o.memory_id <> @id::uuid)
			RETURNING o.*
		)
		INSERT INTO outcome_reports (tenant, memory_id, advice_id, used, problem, agent_id, session, context, ok, at, taken)
		SELECT tenant, @id::uuid, advice_id, used, problem, agent_id, session, context, ok, at, true
		FROM moved
		ORDER BY advice_id, used, ok NULLS LAST, memory_id
		ON CONFLICT DO NOTHING`, pg.Args{"tenant": c.Tenant, "id": id, "problem": evidence.ProblemHash(d.Key),
		"from": from, "episodes": helped(d.Outcomes)}); err != nil {
		return evidence.Stats{}, err
	}
	reported, err := commit.Rows[evidence.Outcome](ctx, c.Tx, `
		SELECT o.agent_id AS agent, o.session, '' AS episode, o.context, coalesce(o.ok, false) AS ok,
			o.ok IS NULL AS idle, o.at
		FROM outcome_reports o
		WHERE o.tenant = @tenant AND o.memory_id = @id
		ORDER BY o.at, o.advice_id, o.used`, pg.Args{"tenant": c.Tenant, "id": id})
	if err != nil {
		return evidence.Stats{}, err
	}
	out := evidence.Tally(d.Outcomes, reported)
	if len(before) == 1 && d.Action == Update && before[0].All.Trials() > out.All.Trials() {
		// Outcomes that are too old to be read have no weight in out, but stay in its counts.
		out.All.Successes, out.All.Failures = before[0].All.Successes, before[0].All.Failures
	}
	return out, nil
}

// helped returns the episodes that show that a solution helped.
func helped(outcomes []evidence.Outcome) []string {
	out := []string{}
	for _, o := range outcomes {
		if o.OK && o.Episode != "" {
			out = append(out, o.Episode)
		}
	}
	return out
}

// carryOver returns the outcomes for a record that gets its row in learned: the reported outcomes, which include the
// claims of the record, or if there are none, only the claims. It removes the reported outcomes from solution_outcomes.
func carryOver(ctx context.Context, c *commit.Change, id uuid.UUID, claimed evidence.Stats) (evidence.Stats, error) {
	out, err := commit.Row[struct{ Stats evidence.Stats }](ctx, c.Tx, `
		DELETE FROM solution_outcomes WHERE tenant = @tenant AND memory_id = @id RETURNING stats`,
		pg.Args{"tenant": c.Tenant, "id": id})
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return claimed, nil
	case err != nil:
		return evidence.Stats{}, fmt.Errorf("carry outcomes over: %w", err)
	}
	return out.Stats, nil
}
