package pipeline

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/pgvector/pgvector-go"

	"github.com/mneme/mneme/inference"
	"github.com/mneme/mneme/memory"
	"github.com/mneme/mneme/memory/proposals"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/store/commit"
	"github.com/mneme/mneme/store/pg"
)

// Range is a run of candidates of one batch.
type Range = schema.Range

// InRange is the candidates c of a range: the tenant is $1, the batch $2, From $3 and To $4.
//
// What belongs to them is read by the set of their ids, never by a join: with a tenant that the planner takes for one
// row, a join reads all that the tenant has for each candidate, and a set reads it once at worst.
const InRange = `c AS MATERIALIZED (SELECT * FROM memory_candidates WHERE tenant = $1 AND batch_id = $2
	AND ordinal >= $3 AND ordinal < $4)`

// deadOfRange counts the jobs of inRange that died in a phase; one that was forgotten did not die of it.
func deadOfRange(phase string) string {
	return `(SELECT count(*) FROM jobs j WHERE j.tenant = $1 AND j.batch_id = $2
		AND j.candidate_id = ANY(ARRAY(SELECT id FROM c))
		AND j.state = 'dead' AND j.phase = ` + pg.QuoteLiteral(phase) + ` AND j.last_error <> 'forgotten')`
}

// Batch is the principal and the settings that a run works under.
type Batch struct {
	ID         uuid.UUID
	WorkflowID string
	Owner      schema.Principal
	Visibility schema.Visibility
	Policy     proposals.WritePolicy
	Size       int
}

// Batch reads the settings of a batch; ErrNotFound when the tenant has none such.
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
	b := Batch{ID: id, Owner: schema.Principal{Tenant: tenant}}
	err := tx.QueryRow(ctx, `SELECT workflow_id, agent_id, project, scope, policy_group, visibility, mode,
		allow_update_delete,
			min_fact_confidence, supersede, size
		FROM ingest_batches WHERE tenant = $1 AND id = $2`, tenant, id).
		Scan(&b.WorkflowID, &b.Owner.Agent, &b.Owner.Project, &b.Owner.Scope, &b.Owner.PolicyGroup, &b.Visibility,
			&b.Policy.Mode, &b.Policy.AllowUpdateDelete, &b.Policy.MinFactConfidence, &b.Policy.Supersede, &b.Size)
	if errors.Is(err, pgx.ErrNoRows) {
		return Batch{}, pg.ErrNotFound
	}
	return b, err
}

// Extractable is a staged candidate that no extraction has been stored for.
type Extractable struct {
	CandidateID uuid.UUID
	Attempts    int // with this one
	MaxAttempts int
	Source      inference.Source
}

// LeaseExtract returns the candidates of the range that still have to be extracted, and marks their
// jobs leased. Running it again returns what is left: an extraction that was paid for is kept.
func (s *Pipeline) LeaseExtract(ctx context.Context, r Range, now time.Time) ([]Extractable, error) {
	var out []Extractable
	err := commit.Write(ctx, s.DB, r.Tenant, now, func(c *commit.Change) error {
		rows, err := c.Tx.Query(ctx, `
			WITH `+InRange+`, due AS MATERIALIZED (SELECT * FROM c WHERE state = 'staged' AND extraction IS NULL),
			j AS (
				UPDATE jobs j SET `+leased("extract")+`, updated_at = $5
				WHERE tenant = $1 AND batch_id = $2 AND candidate_id = ANY(ARRAY(SELECT id FROM due))
				AND state IN ('pending', 'leased', 'failed')
				RETURNING candidate_id, attempts, max_attempts)
			SELECT due.id, j.attempts, j.max_attempts, due.content, due.source_kind, due.category, due.speaker,
			due.session, due.occurred_at
			FROM due JOIN j ON j.candidate_id = due.id ORDER BY due.ordinal`,
			r.Tenant, r.BatchID, r.From, r.To, c.Now)
		if err != nil {
			return err
		}
		out, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (Extractable, error) {
			var e Extractable
			err := row.Scan(&e.CandidateID, &e.Attempts, &e.MaxAttempts, &e.Source.Content, &e.Source.Kind,
				&e.Source.Category,
				&e.Source.Speaker, &e.Source.Session, &e.Source.OccurredAt)
			return e, err
		})
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

// SaveExtractions stores results as they come, so that a later attempt does not pay for them again.
func (s *Pipeline) SaveExtractions(ctx context.Context, tenant string, results []Extracted, now time.Time) error {
	err := commit.Write(ctx, s.DB, tenant, now, func(c *commit.Change) error {
		ids, encoded := make([]uuid.UUID, len(results)), make([]string, len(results))
		for i, r := range results {
			text, err := json.Marshal(r.Extraction)
			if err != nil {
				return err
			}
			ids[i], encoded[i] = r.CandidateID, string(text)
			logUsage(c, r.CandidateID, "extract", r.Usage)
		}
		// Not of a candidate that left the pipeline meanwhile: its text may have been erased.
		c.Queue.Queue(`UPDATE memory_candidates SET extraction = ($3::text[])[array_position($2::uuid[], id)]::jsonb
			WHERE tenant = $1 AND id = ANY($2::uuid[]) AND extraction IS NULL AND state = 'staged'`, tenant, ids,
			encoded)
		return nil
	})
	if err != nil {
		return fmt.Errorf("save extractions: %w", err)
	}
	return nil
}

// logUsage appends what a successful model call cost to the job. Calls that used no model leave no
// entry: the job's phase says that they happened.
func logUsage(c *commit.Change, candidate uuid.UUID, phase string, u inference.Usage) {
	if u.Calls == 0 {
		return
	}
	entry, err := json.Marshal(schema.JobAttempt{Phase: phase, At: c.Now, Outcome: "ok", Model: u.Model,
		PromptTokens: u.PromptTokens, CompletionTokens: u.CompletionTokens})
	if err != nil {
		return // strings and numbers always encode
	}
	c.Queue.Queue(`UPDATE jobs SET log = log || jsonb_set($3::jsonb, '{attempt}', to_jsonb(greatest(attempts, 1))),
		updated_at = $4
		WHERE tenant = $1 AND candidate_id = $2`, c.Tenant, candidate, string(entry), c.Now)
}

// Undecided is an extracted candidate whose facts have to be decided, or decided again.
type Undecided struct {
	CandidateID uuid.UUID
	MemoryID    uuid.UUID          // its source memory, which is never a neighbour of its own facts
	Content     string             // of the source
	Scope       *string            // of the source memory; nil in shadow mode, where there is none
	Type        schema.MemoryType  // of the source memory, or what it would be
	Visibility  *schema.Visibility // of the source memory; nil in shadow mode
	Attempts    int
	MaxAttempts int
	Stale       []int // ordinals of the stale proposals to decide again; empty means all facts
	Facts       []memory.Fact
}

// LeaseDecide returns the candidates of the range whose facts are not decided, or are stale.
func (s *Pipeline) LeaseDecide(ctx context.Context, r Range, now time.Time) ([]Undecided, error) {
	var out []Undecided
	err := commit.Write(ctx, s.DB, r.Tenant, now, func(c *commit.Change) error {
		rows, err := c.Tx.Query(ctx, `
			WITH `+InRange+`, stale AS MATERIALIZED (
				SELECT candidate_id, ordinal FROM proposals WHERE tenant = $1
				AND candidate_id = ANY(ARRAY(SELECT id FROM c)) AND state = 'stale'
			), due AS MATERIALIZED (
				SELECT c.id, c.ordinal, c.memory_id, c.content, c.extraction->'facts' AS facts, s.again,
					m.scope, m.visibility, coalesce(m.type, CASE WHEN c.source_kind = 'memory' THEN 'semantic'
						ELSE 'episodic' END) AS type
				FROM c CROSS JOIN LATERAL (SELECT array(SELECT s.ordinal FROM stale s WHERE s.candidate_id = c.id
					ORDER BY s.ordinal) AS again OFFSET 0) s
				LEFT JOIN `+pg.ByKey("m", "$1", "c.memory_id")+` ON true
				WHERE c.state = 'staged' AND c.extraction IS NOT NULL AND (c.decided_at IS NULL OR s.again <> '{}')
			), j AS (
				UPDATE jobs j SET `+leased("decide")+`, updated_at = $5
				WHERE tenant = $1 AND batch_id = $2 AND candidate_id = ANY(ARRAY(SELECT id FROM due))
				AND state IN ('pending', 'leased', 'failed')
				RETURNING candidate_id, attempts, max_attempts)
			SELECT due.id, due.memory_id, due.content, j.attempts, j.max_attempts, due.again, due.facts, due.scope,
			due.type, due.visibility
			FROM due JOIN j ON j.candidate_id = due.id ORDER BY due.ordinal`,
			r.Tenant, r.BatchID, r.From, r.To, c.Now)
		if err != nil {
			return err
		}
		out, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (Undecided, error) {
			var u Undecided
			err := row.Scan(&u.CandidateID, &u.MemoryID, &u.Content, &u.Attempts, &u.MaxAttempts, &u.Stale, &u.Facts,
				&u.Scope, &u.Type, &u.Visibility)
			return u, err
		})
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("lease decisions: %w", err)
	}
	return out, nil
}

// Decided is one fact with what is proposed for it and the neighbours that the proposal was based on.
type Decided struct {
	CandidateID uuid.UUID
	Ordinal     int // of the fact in its extraction
	Fact        memory.Fact
	Proposal    memory.Proposal
	Offered     []memory.Neighbor
	Embedding   *pg.Embedding // nil when the embedder was not available
	Usage       inference.Usage
}

// offeredRef is what is kept of a neighbour: enough to see at commit whether it has changed.
type offeredRef struct {
	ID      string  `json:"id"`
	Version int     `json:"version"`
	Score   float64 `json:"score"`
}

// StaleProposals counts the proposals of a range that are to be decided again.
func (s *Pipeline) StaleProposals(ctx context.Context, r Range) (n int, err error) {
	ctx = pg.WithClass(ctx, pg.ClassPipeline)
	err = s.Read(ctx, r.Tenant, func(tx pgx.Tx) error {
		return tx.QueryRow(ctx, `
			WITH `+InRange+`, j AS MATERIALIZED (
				SELECT candidate_id FROM jobs WHERE tenant = $1 AND batch_id = $2
					AND candidate_id = ANY(ARRAY(SELECT id FROM c WHERE state = 'staged'))
					AND state IN ('pending', 'leased', 'failed'))
			SELECT count(*) FROM proposals
			WHERE tenant = $1 AND candidate_id = ANY(ARRAY(SELECT candidate_id FROM j)) AND state = 'stale'`,
			r.Tenant, r.BatchID, r.From, r.To).Scan(&n)
	})
	if err != nil {
		return 0, fmt.Errorf("count stale proposals: %w", err)
	}
	return n, nil
}

// SaveDecisions stores proposals and marks their candidates decided. Deciding a stale proposal again
// replaces it and counts the round.
func (s *Pipeline) SaveDecisions(ctx context.Context, r Range, candidates []uuid.UUID, decided []Decided,
	now time.Time) error {
	err := pg.RetryChange(ctx, func() error {
		return commit.Write(ctx, s.DB, r.Tenant, now, func(c *commit.Change) error {
			return saveDecisions(ctx, c, r,
				candidates, decided)
		})
	})
	if err != nil {
		return fmt.Errorf("save decisions: %w", err)
	}
	return nil
}

func saveDecisions(ctx context.Context, c *commit.Change, r Range, candidates []uuid.UUID, decided []Decided) error {
	// Nothing about a candidate that left the pipeline meanwhile: its text may have been erased.
	rows, err := c.Tx.Query(ctx, `SELECT id FROM memory_candidates WHERE tenant = $1 AND id = ANY($2)
		AND state = 'staged' ORDER BY id FOR NO KEY UPDATE`, r.Tenant, candidates)
	if err != nil {
		return err
	}
	staged, err := pgx.CollectRows(rows, pgx.RowTo[uuid.UUID])
	if err != nil {
		return err
	}
	for _, d := range decided {
		if !slices.Contains(staged, d.CandidateID) {
			continue
		}
		if err := queueDecision(c, r, d); err != nil {
			return err
		}
	}
	c.Queue.Queue(`UPDATE memory_candidates SET decided_at = $3 WHERE tenant = $1 AND id = ANY($2)`, r.Tenant, staged,
		c.Now)
	return nil
}

func queueDecision(c *commit.Change, r Range, d Decided) error {
	fact, err := json.Marshal(d.Fact)
	if err != nil {
		return err
	}
	offered := make([]offeredRef, 0, len(d.Offered))
	var target *uuid.UUID
	var targetVersion *int
	for _, n := range d.Offered {
		offered = append(offered, offeredRef{ID: n.ID, Version: n.Version, Score: n.Score})
		if n.ID == d.Proposal.TargetID {
			id, err := uuid.Parse(n.ID)
			if err != nil {
				return fmt.Errorf("neighbour id: %w", err)
			}
			version := n.Version
			target, targetVersion = &id, &version
		}
	}
	offeredJSON, err := json.Marshal(offered)
	if err != nil {
		return err
	}
	var vector, model any
	if d.Embedding != nil {
		vector, model = pgvector.NewVector(d.Embedding.Vector), d.Embedding.Model.Name
	}
	also := []uuid.UUID{}
	for _, text := range d.Proposal.Also {
		id, err := uuid.Parse(text)
		if err != nil {
			return fmt.Errorf("id of a restatement: %w", err)
		}
		also = append(also, id)
	}
	c.Queue.Queue(`INSERT INTO proposals (tenant, id, batch_id, candidate_id, ordinal, state, action, fact, offered,
		target_id, target_version,
			confidence, reason, warnings, embedding, embedding_model, decided_at, change, own, also)
		VALUES ($1, $2, $3, $4, $5, 'proposed', $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19)
		ON CONFLICT (tenant, candidate_id, ordinal) DO UPDATE SET state = 'proposed', action = excluded.action,
		offered = excluded.offered,
			change = excluded.change, own = excluded.own, also = excluded.also,
			target_id = excluded.target_id, target_version = excluded.target_version, confidence = excluded.confidence,
			reason = excluded.reason, warnings = excluded.warnings, embedding = excluded.embedding,
			embedding_model = excluded.embedding_model, decided_at = excluded.decided_at, rounds = proposals.rounds + 1
		WHERE proposals.state = 'stale'`,
		c.Tenant, pg.NewID(), r.BatchID, d.CandidateID, d.Ordinal, d.Proposal.Action, string(fact), string(offeredJSON),
		target, targetVersion,
		d.Proposal.Confidence, d.Proposal.Reason, pg.TagList(d.Proposal.Warnings), vector, model, c.Now,
		cmp.Or(d.Proposal.Change, "none"), d.Proposal.Own, also)
	logUsage(c, d.CandidateID, "decide", d.Usage)
	return nil
}

// ExtractTotals says what the extractions of a range hold, over all attempts.
type ExtractTotals struct {
	Candidates, Facts, Triples, Warnings, Dead int
}

// ExtractTotals counts the stored extractions of a range and the jobs that died extracting; a job that
// was forgotten did not die of it.
func (s *Pipeline) ExtractTotals(ctx context.Context, r Range) (t ExtractTotals, err error) {
	ctx = pg.WithClass(ctx, pg.ClassPipeline)
	err = s.Read(ctx, r.Tenant, func(tx pgx.Tx) error {
		return tx.QueryRow(ctx, `
			WITH `+InRange+`
			SELECT count(c.extraction), coalesce(sum(n.facts), 0), coalesce(sum(n.triples), 0),
			coalesce(sum(n.warnings), 0), `+deadOfRange("extract")+`
			FROM c, LATERAL (SELECT jsonb_array_length(coalesce(nullif(c.extraction->'facts', 'null'), '[]')) AS facts,
				jsonb_array_length(coalesce(nullif(c.extraction->'triples', 'null'), '[]')) AS triples,
				jsonb_array_length(coalesce(nullif(c.extraction->'warnings', 'null'), '[]')) AS warnings) n`, r.Tenant,
			r.BatchID, r.From, r.To).
			Scan(&t.Candidates, &t.Facts, &t.Triples, &t.Warnings, &t.Dead)
	})
	if err != nil {
		return t, fmt.Errorf("count extractions: %w", err)
	}
	return t, nil
}

// DecideTotals says what is proposed for the facts of a range, over all attempts and rounds.
type DecideTotals struct {
	Candidates, Add, Update, Delete, None, Dead int
}

// DecideTotals counts the proposals of a range and the jobs that died deciding, forgotten ones left out.
func (s *Pipeline) DecideTotals(ctx context.Context, r Range) (t DecideTotals, err error) {
	ctx = pg.WithClass(ctx, pg.ClassPipeline)
	err = s.Read(ctx, r.Tenant, func(tx pgx.Tx) error {
		return tx.QueryRow(ctx, `
			WITH `+InRange+`, p AS MATERIALIZED (SELECT action FROM proposals WHERE tenant = $1
				AND candidate_id = ANY(ARRAY(SELECT id FROM c)))
			SELECT (SELECT count(decided_at) FROM c), (SELECT count(*) FROM p WHERE action = 'add'),
			(SELECT count(*) FROM p WHERE action = 'update'),
				(SELECT count(*) FROM p WHERE action = 'delete'), (SELECT count(*) FROM p WHERE action = 'none'),
				`+deadOfRange("decide")+``,
			r.Tenant, r.BatchID, r.From, r.To).Scan(&t.Candidates, &t.Add, &t.Update, &t.Delete, &t.None, &t.Dead)
	})
	if err != nil {
		return t, fmt.Errorf("count proposals: %w", err)
	}
	return t, nil
}
