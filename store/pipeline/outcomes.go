package pipeline

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/mneme/mneme/memory"
	"github.com/mneme/mneme/memory/revision"
	"github.com/mneme/mneme/memory/sensitive"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/store/pg"
)

// factOutcomes reads what became of the facts of a batch. The memory t is the one that a fact changes or
// speaks against: its target, the memory that it contradicts, or the one that makes its claim. It is read
// as the batch's owner may look at it.
var factOutcomes = `
	SELECT p.id, p.fact, p.action, p.state, p.outcome, p.reason, p.warnings, p.memory_id, p.target_id,
	p.contradiction_risk, p.review_needed,
		c.memory_id, c.sensitivity, coalesce(m.sensitivity, ''), p.state IN ('applied', 'expired')
		AND coalesce(m.status = 'contested', false),
		CASE WHEN t.sensitivity = ANY($3) THEN t.content ELSE '' END
	FROM proposals p JOIN memory_candidates c ON c.tenant = p.tenant AND c.id = p.candidate_id
	JOIN ingest_batches b ON b.tenant = p.tenant AND b.id = p.batch_id
	LEFT JOIN memories m ON p.state IN ('applied', 'skipped', 'expired') AND m.tenant = p.tenant AND m.id = p.memory_id
	LEFT JOIN memories t ON t.tenant = p.tenant AND t.id = coalesce(p.target_id,
		CASE WHEN p.state = 'blocked' THEN p.memory_id ELSE (SELECT r.target_id FROM memory_relations r
			WHERE p.state IN ('applied', 'expired') AND r.tenant = m.tenant AND r.source_id = m.id
			AND r.predicate = '` + revision.RelationContradicts + `' ORDER BY r.target_id LIMIT 1) END)
		AND ` + pg.SharedWith("t", "b.agent_id", "b.project", "ARRAY[b.policy_group]") + `
	WHERE p.tenant = $1 AND p.batch_id = $2 ORDER BY c.ordinal, p.ordinal`

// FactOutcomes returns what became of every fact of a batch, in order of candidate and fact. It is for
// the caller that handed the batch in: it has contents, up to sensitive.DefaultLimit, and goes into no workflow's
// history.
func (s *Pipeline) FactOutcomes(ctx context.Context, tenant string, batchID uuid.UUID) ([]schema.FactOutcome, error) {
	ctx = pg.WithClass(ctx, pg.ClassPipeline)
	out := []schema.FactOutcome{}
	err := s.Read(ctx, tenant, func(tx pgx.Tx) error {
		rows, err := tx.Query(ctx, factOutcomes, tenant, batchID, pg.SensitivitiesUpTo(""))
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
	var f schema.FactOutcome
	var proposal, source uuid.UUID
	var encoded json.RawMessage
	var memoryID, targetID *uuid.UUID
	var ofSource, ofMemory schema.Sensitivity
	err := row.Scan(&proposal, &encoded, &f.Action, &f.State, &f.Skipped, &f.Reason, &f.Warnings, &memoryID, &targetID,
		&f.ContradictionRisk, &f.ReviewNeeded,
		&source, &ofSource, &ofMemory, &f.Contested, &f.Target)
	if err != nil {
		return f, err
	}
	var fact struct {
		memory.Fact
		Retracts bool `json:"retracts"`
	}
	if err := json.Unmarshal(encoded, &fact); err != nil {
		return f, err
	}
	f.ProposalID, f.SourceID = proposal.String(), source.String()
	f.Content, f.Category, f.Confidence, f.Retracts = fact.Content, fact.Category, fact.Confidence, fact.Retracts
	if memoryID != nil {
		f.MemoryID = memoryID.String()
	}
	if targetID != nil {
		f.TargetID = targetID.String()
	}
	f.Sensitivity, f.Detected = sensitive.Disclosed(fact.Content, ofSource, ofMemory)
	if sensitive.IsWithheld(f.Sensitivity) {
		f.Withheld, f.Content, f.Target, f.Reason, f.Warnings = true, "", "", "", []string{}
	}
	return f, nil
}

// CandidateOutcomes returns what became of every candidate of a batch, in order. It has no contents.
func (s *Pipeline) CandidateOutcomes(ctx context.Context, tenant string, batchID uuid.UUID) ([]schema.CandidateOutcome,
	error) {
	ctx = pg.WithClass(ctx, pg.ClassPipeline)
	out := []schema.CandidateOutcome{}
	err := s.Read(ctx, tenant, func(tx pgx.Tx) error {
		rows, err := tx.Query(ctx, `SELECT c.memory_id, c.state, c.content, c.sensitivity, m.id IS NOT NULL,
			coalesce(m.sensitivity, '')
			FROM memory_candidates c LEFT JOIN memories m ON m.tenant = c.tenant AND m.id = c.memory_id
			WHERE c.tenant = $1 AND c.batch_id = $2 ORDER BY c.ordinal`, tenant, batchID)
		if err != nil {
			return err
		}
		out, err = pgx.CollectRows(rows, scanCandidateOutcome)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read outcomes: %w", err)
	}
	return out, nil
}

func scanCandidateOutcome(row pgx.CollectableRow) (schema.CandidateOutcome, error) {
	var o schema.CandidateOutcome
	var id uuid.UUID
	var state, content string
	var declared, stored schema.Sensitivity
	if err := row.Scan(&id, &state, &content, &declared, &o.Stored, &stored); err != nil {
		return o, err
	}
	o.MemoryID, o.Deduped, o.Recalled = id.String(), state == stateDuplicate, state == stateRecalled
	o.Sensitivity, o.Detected = sensitive.Disclosed(content, declared, stored)
	o.Withheld = sensitive.IsWithheld(o.Sensitivity)
	return o, nil
}
