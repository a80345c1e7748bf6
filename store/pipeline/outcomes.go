package pipeline

import (
	"context"
	"fmt"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/mneme/mneme/memory"
	"github.com/mneme/mneme/memory/revision"
	"github.com/mneme/mneme/memory/sensitive"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/store/commit"
	"github.com/mneme/mneme/store/pg"
)

// factOutcomes reads the outcome of the facts of a batch. The memory m is the one that the fact was written to. The
// memory t is the one that the fact changes or contradicts: the target, the contradicted memory, or the memory with
// its claim. It is read and named only if the batch's owner may see it.
var factOutcomes = `
	SELECT p.id AS proposal_id, p.fact AS extracted, p.action, p.state, p.outcome AS skipped,
		CASE WHEN t.sensitivity <> ALL(@sensitivities) OR ` + outOfSight("p.target_id") + ` THEN ''
			ELSE p.reason END AS reason,
		p.warnings,
		CASE WHEN p.state = 'blocked' AND ` + outOfSight("p.memory_id") + ` THEN ''
			ELSE coalesce(p.memory_id::text, '') END AS memory_id,
		CASE WHEN ` + outOfSight("p.target_id") + ` THEN '' ELSE coalesce(p.target_id::text, '') END AS target_id,
		p.contradiction_risk, p.review_needed,
		c.memory_id AS source_id,
		c.sensitivity AS source_sensitivity,
		coalesce(m.sensitivity, '') AS memory_sensitivity,
		p.state IN ('applied', 'expired') AND coalesce(m.status = 'contested', false) AS contested,
		CASE WHEN t.sensitivity = ANY(@sensitivities) THEN t.content ELSE '' END AS target
	FROM proposals p
		JOIN memory_candidates c ON c.tenant = p.tenant AND c.id = p.candidate_id
		JOIN ingest_batches b ON b.tenant = p.tenant AND b.id = p.batch_id
		LEFT JOIN memories m
			ON p.state IN ('applied', 'skipped', 'expired') AND m.tenant = p.tenant AND m.id = p.memory_id
		LEFT JOIN memories t
			ON t.tenant = p.tenant
			AND t.id = coalesce(p.target_id, CASE WHEN p.state = 'blocked' THEN p.memory_id ELSE (
				SELECT r.target_id
				FROM memory_links r
				WHERE p.state IN ('applied', 'expired')
					AND r.tenant = m.tenant
					AND r.source_id = m.id
					AND r.predicate = '` + revision.RelationContradicts + `'
				ORDER BY r.target_id
				LIMIT 1) END)
			AND ` + pg.SharedWith("t", "b.agent_id", "b.project", "ARRAY[b.policy_group]") + `
	WHERE p.tenant = @tenant AND p.batch_id = @batch_id
	ORDER BY c.ordinal, p.ordinal`

// outOfSight renders the condition that a memory exists and the owner of the batch b may not read it.
func outOfSight(id string) string {
	return `EXISTS (
			SELECT FROM memories h
			WHERE h.tenant = @tenant AND h.id = ` + id + `
				AND NOT (` + pg.SharedWith("h", "b.agent_id", "b.project", "ARRAY[b.policy_group]") + `
					AND h.sensitivity = ANY(@sensitivities)))`
}

// factOutcomeRow is a row of factOutcomes: an outcome, and the columns that the rest of it is computed from.
type factOutcomeRow struct {
	schema.FactOutcome
	Extracted struct {
		memory.Fact
		Retracts bool `json:"retracts"`
	}
	SourceSensitivity schema.Sensitivity
	MemorySensitivity schema.Sensitivity
}

// FactOutcomes returns the outcome of every fact of a batch, in order of candidate and fact. It is for the caller
// that ingested the batch. It has contents up to sensitive.DefaultLimit, so it must not go into a workflow's
// history.
func (s *Pipeline) FactOutcomes(ctx context.Context, tenant string, batchID uuid.UUID) ([]schema.FactOutcome, error) {
	ctx = pg.WithClass(ctx, pg.ClassPipeline)
	out := []schema.FactOutcome{}
	err := s.Read(ctx, tenant, func(tx pgx.Tx) error {
		rows, err := tx.Query(ctx, factOutcomes, pg.Args{
			"tenant":        tenant,
			"batch_id":      batchID,
			"sensitivities": pg.SensitivitiesUpTo(""),
		})
		if err != nil {
			return err
		}
		out, err = pgx.CollectRows(rows, scanFactOutcome)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read fact outcomes: %w", err)
	}
	return out, nil
}

func scanFactOutcome(row pgx.CollectableRow) (schema.FactOutcome, error) {
	r, err := pgx.RowToStructByNameLax[factOutcomeRow](row)
	f, fact := r.FactOutcome, r.Extracted
	f.Content, f.Category, f.Confidence, f.Retracts = fact.Content, fact.Category, fact.Confidence, fact.Retracts
	f.Sensitivity, f.Detected = sensitive.Disclosed(fact.Content, r.SourceSensitivity, r.MemorySensitivity)
	if sensitive.IsWithheld(f.Sensitivity) {
		f.Withheld, f.Content, f.Target, f.Reason, f.Warnings = true, "", "", "", []string{}
	}
	return f, err
}

// CandidateOutcomes returns the outcome of every candidate of a batch, in order. It has no contents.
func (s *Pipeline) CandidateOutcomes(ctx context.Context, tenant string, batchID uuid.UUID) ([]schema.CandidateOutcome,
	error) {
	ctx = pg.WithClass(ctx, pg.ClassPipeline)
	out := []schema.CandidateOutcome{}
	err := s.Read(ctx, tenant, func(tx pgx.Tx) error {
		found, err := commit.Rows[candidateOutcomeRow](ctx, tx, `
			SELECT c.memory_id, c.state, c.content,
				c.sensitivity AS declared,
				m.id IS NOT NULL AS is_stored,
				coalesce(m.sensitivity, '') AS stored
			FROM memory_candidates c
				LEFT JOIN memories m ON m.tenant = c.tenant AND m.id = c.memory_id
			WHERE c.tenant = @tenant AND c.batch_id = @batch_id
			ORDER BY c.ordinal`,
			pg.Args{"tenant": tenant, "batch_id": batchID})
		for _, r := range found {
			out = append(out, r.outcome())
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read outcomes: %w", err)
	}
	return out, nil
}

// candidateOutcomeRow is a candidate, and the memory that it became.
type candidateOutcomeRow struct {
	MemoryID uuid.UUID
	State    string
	Content  string
	Declared schema.Sensitivity // of the candidate
	IsStored bool
	Stored   schema.Sensitivity // of the memory
}

func (r candidateOutcomeRow) outcome() schema.CandidateOutcome {
	o := schema.CandidateOutcome{MemoryID: r.MemoryID.String(), Stored: r.IsStored,
		Deduped: r.State == stateDuplicate, Recalled: r.State == stateRecalled}
	o.Sensitivity, o.Detected = sensitive.Disclosed(r.Content, r.Declared, r.Stored)
	o.Withheld = sensitive.IsWithheld(o.Sensitivity)
	return o
}
