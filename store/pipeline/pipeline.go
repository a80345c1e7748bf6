package pipeline

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/mneme/mneme/inference"
	"github.com/mneme/mneme/memory"
	"github.com/mneme/mneme/memory/proposals"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/store/commit"
	"github.com/mneme/mneme/store/pg"
)

// candidatesInRange selects the candidates c of a range. Its arguments are those of rangeArgs.
//
// Rows that belong to the candidates are read by the set of their ids, never by a join. If the planner expects one
// row of the tenant, a join reads all rows of the tenant for each candidate; a set reads them at most once.
const candidatesInRange = `c AS MATERIALIZED (
		SELECT *
		FROM memory_candidates
		WHERE tenant = @tenant AND batch_id = @batch_id AND ordinal >= @from AND ordinal < @to)`

// rangeArgs adds the range to the arguments of a statement.
func rangeArgs(r schema.Range, more pg.Args) pg.Args {
	out := pg.Args{"tenant": r.Tenant, "batch_id": r.BatchID, "from": r.From, "to": r.To}
	maps.Copy(out, more)
	return out
}

// asking adds the requesting principal to the arguments of a statement, under the names of commit.MayReadAs.
func asking(p schema.Principal, grants []string, more pg.Args) pg.Args {
	out := pg.Args{"tenant": p.Tenant, "agent": p.Agent, "project": p.Project, "grants": grants}
	maps.Copy(out, more)
	return out
}

// deadOfRange counts the jobs of candidatesInRange that died in a phase. Forgotten jobs do not count.
func deadOfRange(phase string) string {
	return `(
			SELECT count(*)
			FROM jobs j
			WHERE j.tenant = @tenant
				AND j.batch_id = @batch_id
				AND j.candidate_id = ANY(ARRAY(SELECT id FROM c))
				AND j.state = 'dead'
				AND j.phase = ` + pg.QuoteLiteral(phase) + `
				AND j.last_error <> 'forgotten')`
}

// Batch holds the principal and the settings of a run.
type Batch struct {
	ID         uuid.UUID
	WorkflowID string
	Owner      schema.Principal `db:"-"`
	Visibility schema.Visibility
	Policy     proposals.WritePolicy `db:"-"`
}

// Batch reads the settings of a batch. It returns ErrNotFound if the tenant has no batch with this id.
func (s *Pipeline) Batch(ctx context.Context, tenant string, id uuid.UUID) (Batch, error) {
	ctx = pg.WithClass(ctx, pg.ClassPipeline)
	var b Batch
	err := s.Read(ctx, tenant, func(tx pgx.Tx) error {
		var err error
		b, err = readBatch(ctx, tx, tenant, id)
		return err
	})
	if err != nil {
		return Batch{}, fmt.Errorf("read batch: %w", err)
	}
	return b, nil
}

func readBatch(ctx context.Context, tx pgx.Tx, tenant string, id uuid.UUID) (Batch, error) {
	b, err := commit.Row[batchRow](ctx, tx, `
		SELECT id, workflow_id, agent_id, project, scope, policy_group, visibility, mode, allow_update_delete,
			min_fact_confidence, supersede
		FROM ingest_batches
		WHERE tenant = @tenant AND id = @id`,
		pg.Args{"tenant": tenant, "id": id})
	if errors.Is(err, pgx.ErrNoRows) {
		return Batch{}, pg.ErrNotFound
	}
	b.Owner = schema.Principal{Tenant: tenant, Agent: b.Agent, Project: b.Project, Scope: b.Scope,
		PolicyGroup: b.PolicyGroup}
	b.Policy = b.WritePolicy
	return b.Batch, err
}

// batchRow is a Batch, and the columns of its parts.
type batchRow struct {
	Batch
	proposals.WritePolicy

	Agent       string `db:"agent_id"`
	Project     string
	Scope       string
	PolicyGroup string
}

// Extractable is a staged candidate without a stored extraction.
type Extractable struct {
	CandidateID uuid.UUID
	Attempts    int // including this one
	MaxAttempts int
	Source      inference.Source
}

// leaseExtract leases the jobs of the candidates without an extraction.
var leaseExtract = `
	WITH ` + candidatesInRange + `, due AS MATERIALIZED (
		SELECT *
		FROM c
		WHERE state = 'staged' AND extraction IS NULL
	), j AS (
		UPDATE jobs j
		SET ` + leased(schema.PhaseExtract) + `,
			updated_at = @now
		WHERE tenant = @tenant
			AND batch_id = @batch_id
			AND candidate_id = ANY(ARRAY(SELECT id FROM due))
			AND ` + pg.JobIsOpen + `
		RETURNING candidate_id, attempts, max_attempts
	)
	SELECT due.id, j.attempts, j.max_attempts,
		due.content, due.source_kind AS kind, due.category, due.speaker, due.session, due.occurred_at
	FROM due
		JOIN j ON j.candidate_id = due.id
	ORDER BY due.ordinal`

// LeaseExtract returns the candidates of the range that still have to be extracted, and marks their jobs leased. A
// second call returns only the remaining ones, so that no paid extraction is repeated.
func (s *Pipeline) LeaseExtract(ctx context.Context, r schema.Range, now time.Time) ([]Extractable, error) {
	var out []Extractable
	err := commit.Write(ctx, s.DB, r.Tenant, now, func(c *commit.Change) error {
		found, err := commit.Rows[struct {
			ID          uuid.UUID
			Attempts    int
			MaxAttempts int
			inference.Source
		}](ctx, c.Tx, leaseExtract, rangeArgs(r, pg.Args{"now": c.Now}))
		for _, e := range found {
			out = append(out, Extractable{CandidateID: e.ID, Attempts: e.Attempts, MaxAttempts: e.MaxAttempts,
				Source: e.Source})
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("lease candidates: %w", err)
	}
	return out, nil
}

// Extracted is the stored result of one extraction.
type Extracted struct {
	CandidateID uuid.UUID
	Extraction  memory.Extraction
	Usage       inference.Usage
}

// SaveExtractions stores each result at once, so that a later attempt does not pay for it again.
func (s *Pipeline) SaveExtractions(ctx context.Context, tenant string, results []Extracted, now time.Time) error {
	err := commit.Write(ctx, s.DB, tenant, now, func(c *commit.Change) error {
		ids, encoded := make([]uuid.UUID, len(results)), make([]string, len(results))
		for i, r := range results {
			text, err := json.Marshal(r.Extraction)
			if err != nil {
				return err
			}
			ids[i], encoded[i] = r.CandidateID, string(text)
			logUsage(c, r.CandidateID, schema.PhaseExtract, r.Usage)
		}
		// Only for candidates that are still in the pipeline: the text of others may have been erased.
		c.Queue.Queue(`
			UPDATE memory_candidates
			SET extraction = (@extractions::text[])[array_position(@ids::uuid[], id)]::jsonb
			WHERE tenant = @tenant AND id = ANY(@ids::uuid[]) AND extraction IS NULL AND state = 'staged'`,
			pg.Args{"tenant": tenant, "ids": ids, "extractions": encoded})
		return nil
	})
	if err != nil {
		return fmt.Errorf("save extractions: %w", err)
	}
	return nil
}

// logUsage appends the cost of a successful model call to the job. Calls without a model have no entry.
func logUsage(c *commit.Change, candidate uuid.UUID, phase string, u inference.Usage) {
	if u.Calls == 0 {
		return
	}
	entry, err := json.Marshal(schema.JobAttempt{Phase: phase, At: c.Now, Outcome: "ok", Model: u.Model,
		PromptTokens: u.PromptTokens, CompletionTokens: u.CompletionTokens})
	if err != nil {
		return // strings and numbers always encode
	}
	c.Queue.Queue(`
		UPDATE jobs
		SET log = log || jsonb_set(@entry::jsonb, '{attempt}', to_jsonb(greatest(attempts, 1))),
			updated_at = @now
		WHERE tenant = @tenant AND candidate_id = @candidate_id`,
		pg.Args{"tenant": c.Tenant, "candidate_id": candidate, "entry": string(entry), "now": c.Now})
}

// ExtractCounts counts the stored extractions of a range and the jobs that died in the extract phase. Forgotten
// jobs do not count.
func (s *Pipeline) ExtractCounts(ctx context.Context, r schema.Range) (t schema.ExtractCounts, err error) {
	ctx = pg.WithClass(ctx, pg.ClassPipeline)
	err = s.Read(ctx, r.Tenant, func(tx pgx.Tx) error {
		var err error
		t, err = commit.Row[schema.ExtractCounts](ctx, tx, `
			WITH `+candidatesInRange+`
			SELECT count(c.extraction) AS candidates,
				coalesce(sum(n.facts), 0) AS facts,
				coalesce(sum(n.triples), 0) AS triples,
				coalesce(sum(n.warnings), 0) AS warnings,
				`+deadOfRange(schema.PhaseExtract)+` AS dead
			FROM c,
				LATERAL (
					SELECT `+lengthOf("facts")+`, `+lengthOf("triples")+`, `+lengthOf("warnings")+`) n`,
			rangeArgs(r, nil))
		return err
	})
	if err != nil {
		return t, fmt.Errorf("count extractions: %w", err)
	}
	return t, nil
}

// lengthOf renders the length of a list in the extraction of a candidate c, or 0 if the extraction has no such
// list.
func lengthOf(list string) string {
	return `jsonb_array_length(coalesce(nullif(c.extraction->'` + list + `', 'null'), '[]')) AS ` + list
}
