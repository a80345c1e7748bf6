package pipeline

import (
	"cmp"
	"context"
	"encoding/json"
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

// Undecided is an extracted candidate with facts to decide for the first time or again.
type Undecided struct {
	CandidateID uuid.UUID          `db:"id"`
	MemoryID    uuid.UUID          // its source memory, which is never a neighbour of facts extracted from it
	Content     string             // of the source
	Speaker     string             // of the source, and of its facts
	Scope       *string            // of the source memory; nil in shadow mode, which has none
	Type        schema.MemoryType  `db:"-"` // of the source memory; in shadow mode, the type that it would have
	Visibility  *schema.Visibility // of the source memory; nil in shadow mode
	Stale       []int              // ordinals of the stale proposals to decide again; empty means all facts
	Facts       []memory.Fact
}

// undecidedRow is a row of leaseDecide: an Undecided, and the columns from which the type of its source follows.
type undecidedRow struct {
	Undecided
	StoredType *schema.MemoryType
	SourceKind schema.SourceKind
}

// leaseDecide leases the jobs of the candidates that are not decided or have stale proposals.
var leaseDecide = `
	WITH ` + candidatesInRange + `, again AS MATERIALIZED (
		SELECT candidate_id, ordinal
		FROM proposals
		WHERE tenant = @tenant AND candidate_id = ANY(ARRAY(SELECT id FROM c)) AND state = 'stale'
	), due AS MATERIALIZED (
		SELECT c.id, c.ordinal, c.memory_id, c.content, c.speaker, c.extraction->'facts' AS facts, s.stale,
			m.scope, m.visibility, m.type AS stored_type, c.source_kind
		FROM c
			CROSS JOIN LATERAL (
				SELECT array(
					SELECT again.ordinal FROM again WHERE again.candidate_id = c.id ORDER BY again.ordinal) AS stale
				OFFSET 0) s
			LEFT JOIN ` + pg.ByKey("m", "@tenant", "c.memory_id") + ` ON true
		WHERE c.state = 'staged' AND c.extraction IS NOT NULL AND (c.decided_at IS NULL OR s.stale <> '{}')
	), j AS (
		UPDATE jobs j
		SET ` + leased(schema.PhaseDecide) + `,
			updated_at = @now
		WHERE tenant = @tenant
			AND batch_id = @batch_id
			AND candidate_id = ANY(ARRAY(SELECT id FROM due))
			AND ` + pg.JobIsOpen + `
		RETURNING candidate_id
	)
	SELECT due.id, due.memory_id, due.content, due.speaker, due.scope, due.visibility, due.stored_type, due.source_kind,
		due.stale, due.facts
	FROM due
		JOIN j ON j.candidate_id = due.id
	ORDER BY due.ordinal`

// LeaseDecide returns the candidates of the range whose facts are not decided, or are stale.
func (s *Pipeline) LeaseDecide(ctx context.Context, r schema.Range, now time.Time) ([]Undecided, error) {
	var out []Undecided
	err := commit.Write(ctx, s.DB, r.Tenant, now, func(c *commit.Change) error {
		found, err := commit.Rows[undecidedRow](ctx, c.Tx, leaseDecide, rangeArgs(r, pg.Args{"now": c.Now}))
		for _, u := range found {
			u.Type = proposals.TypeOfSource(u.SourceKind)
			if u.StoredType != nil {
				u.Type = *u.StoredType
			}
			out = append(out, u.Undecided)
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("lease decisions: %w", err)
	}
	return out, nil
}

// Decided is one fact with its proposal and the neighbours that the proposal is based on.
type Decided struct {
	CandidateID uuid.UUID
	Ordinal     int // of the fact in its extraction
	Fact        memory.Fact
	Proposal    memory.Proposal
	Offered     []memory.Neighbor
	Embedding   *pg.Embedding // nil when the embedder was not available
	Usage       inference.Usage
}

// offeredRef is the stored part of a neighbour. It shows at commit whether the neighbour has changed.
type offeredRef struct {
	ID      string  `json:"id"`
	Version int     `json:"version"`
	Score   float64 `json:"score"`
}

// StaleProposals counts the proposals of a range that have to be decided again.
func (s *Pipeline) StaleProposals(ctx context.Context, r schema.Range) (n int, err error) {
	ctx = pg.WithClass(ctx, pg.ClassPipeline)
	err = s.Read(ctx, r.Tenant, func(tx pgx.Tx) error {
		return tx.QueryRow(ctx, `
			WITH `+candidatesInRange+`, j AS MATERIALIZED (
				SELECT candidate_id
				FROM jobs
				WHERE tenant = @tenant
					AND batch_id = @batch_id
					AND candidate_id = ANY(ARRAY(SELECT id FROM c WHERE state = 'staged'))
					AND `+pg.JobIsOpen+`
			)
			SELECT count(*)
			FROM proposals
			WHERE tenant = @tenant AND candidate_id = ANY(ARRAY(SELECT candidate_id FROM j)) AND state = 'stale'`,
			rangeArgs(r, nil)).Scan(&n)
	})
	if err != nil {
		return 0, fmt.Errorf("count stale proposals: %w", err)
	}
	return n, nil
}

// SaveDecisions stores proposals and marks their candidates decided. A new decision replaces a stale proposal and
// increments its rounds.
func (s *Pipeline) SaveDecisions(ctx context.Context, r schema.Range, candidates []uuid.UUID, decided []Decided,
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

func saveDecisions(
	ctx context.Context,
	c *commit.Change,
	r schema.Range,
	candidates []uuid.UUID,
	decided []Decided,
) error {
	// Only for candidates that are still in the pipeline: the text of others may have been erased.
	staged, err := commit.Values[uuid.UUID](ctx, c.Tx, `
		SELECT id
		FROM memory_candidates
		WHERE tenant = @tenant AND id = ANY(@ids) AND state = 'staged'
		ORDER BY id
		FOR NO KEY UPDATE`, pg.Args{"tenant": r.Tenant, "ids": candidates})
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
	c.Queue.Queue(`
		UPDATE memory_candidates
		SET decided_at = @now
		WHERE tenant = @tenant AND id = ANY(@ids)`,
		pg.Args{"tenant": r.Tenant, "ids": staged, "now": c.Now})
	return nil
}

func queueDecision(c *commit.Change, r schema.Range, d Decided) error {
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
	c.Add(proposalSQL, pg.Args{
		"tenant":          c.Tenant,
		"id":              pg.NewID(),
		"batch_id":        r.BatchID,
		"candidate_id":    d.CandidateID,
		"ordinal":         d.Ordinal,
		"state":           schema.ProposalProposed,
		"action":          d.Proposal.Action,
		"fact":            string(fact),
		"offered":         string(offeredJSON),
		"target_id":       target,
		"target_version":  targetVersion,
		"confidence":      d.Proposal.Confidence,
		"reason":          d.Proposal.Reason,
		"warnings":        pg.TagList(d.Proposal.Warnings),
		"embedding":       vector,
		"embedding_model": model,
		"decided_at":      c.Now,
		"change":          cmp.Or(d.Proposal.Change, "none"),
		"own":             d.Proposal.Own,
		"also":            also,
	})
	logUsage(c, d.CandidateID, schema.PhaseDecide, d.Usage)
	return nil
}

// proposalSQL stores a proposal, or replaces a stale one of the same fact and increments its rounds.
var proposalSQL = commit.BulkInsert("proposals", `tenant text, id uuid, batch_id uuid, candidate_id uuid,
	ordinal integer, state text, action text, fact jsonb, offered jsonb, target_id uuid, target_version integer,
	confidence float8, reason text, warnings text[], embedding vector, embedding_model text, decided_at timestamptz,
	change text, own boolean, also uuid[]`, `
	ON CONFLICT (tenant, candidate_id, ordinal) DO UPDATE
	SET state = excluded.state,
		action = excluded.action,
		offered = excluded.offered,
		change = excluded.change,
		own = excluded.own,
		also = excluded.also,
		target_id = excluded.target_id,
		target_version = excluded.target_version,
		confidence = excluded.confidence,
		reason = excluded.reason,
		warnings = excluded.warnings,
		embedding = excluded.embedding,
		embedding_model = excluded.embedding_model,
		decided_at = excluded.decided_at,
		rounds = proposals.rounds + 1
	WHERE proposals.state = 'stale'`, "candidate_id", "ordinal")

// WrittenCounts counts the written proposals of a range, over all runs.
type WrittenCounts struct {
	Added   int `json:"added"`
	Updated int `json:"updated"`
	Deleted int `json:"deleted"`
	Skipped int `json:"skipped"`
	Blocked int `json:"blocked"`
}

// Since returns what was written after an earlier count of the range. It is not negative: an erasure removes proposals.
func (w WrittenCounts) Since(earlier WrittenCounts) schema.WriteCounts {
	return schema.WriteCounts{Added: max(w.Added-earlier.Added, 0), Updated: max(w.Updated-earlier.Updated, 0),
		Deleted: max(w.Deleted-earlier.Deleted, 0), Skipped: max(w.Skipped-earlier.Skipped, 0),
		Blocked: max(w.Blocked-earlier.Blocked, 0)}
}

// DecideCounts counts the proposals of a range, those of them that were written, and the jobs that died in the decide
// phase. Forgotten proposals and jobs do not count. What a review has decided counts as blocked, because that is how it
// was written.
func (s *Pipeline) DecideCounts(ctx context.Context, r schema.Range) (out schema.DecideCounts, written WrittenCounts,
	err error) {
	ctx = pg.WithClass(ctx, pg.ClassPipeline)
	err = s.Read(ctx, r.Tenant, func(tx pgx.Tx) error {
		counted, err := commit.Row[struct {
			Candidates, Dead int
			WrittenCounts
			schema.ActionCounts
		}](ctx, tx, `
			WITH `+candidatesInRange+`, p AS MATERIALIZED (
				SELECT action,
					CASE WHEN reviewed_at IS NULL THEN state ELSE 'blocked' END AS written,
					action = 'update' OR action = 'delete' AND change = 'retract' AS updates
				FROM proposals
				WHERE tenant = @tenant AND candidate_id = ANY(ARRAY(SELECT id FROM c))
			)
			SELECT (SELECT count(decided_at) FROM c) AS candidates,
				(SELECT count(*) FROM p WHERE action = 'add') AS add,
				(SELECT count(*) FROM p WHERE action = 'update') AS update,
				(SELECT count(*) FROM p WHERE action = 'delete') AS delete,
				(SELECT count(*) FROM p WHERE action = 'none') AS none,
				(SELECT count(*) FROM p WHERE written = 'applied' AND action = 'add') AS added,
				(SELECT count(*) FROM p WHERE written = 'applied' AND updates) AS updated,
				(SELECT count(*) FROM p WHERE written = 'applied' AND action = 'delete' AND NOT updates) AS deleted,
				(SELECT count(*) FROM p WHERE written = 'skipped') AS skipped,
				(SELECT count(*) FROM p WHERE written = 'blocked') AS blocked,
				`+deadOfRange(schema.PhaseDecide)+` AS dead`, rangeArgs(r, nil))
		out = schema.DecideCounts{Candidates: counted.Candidates, Dead: counted.Dead, Actions: counted.ActionCounts}
		written = counted.WrittenCounts
		return err
	})
	if err != nil {
		return out, written, fmt.Errorf("count proposals: %w", err)
	}
	return out, written, nil
}
