package sweeping

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/mneme/mneme/memory/lifecycle"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/store/commit"
	"github.com/mneme/mneme/store/forgetting"
	"github.com/mneme/mneme/store/pg"
)

// actorRetention is the actor that history names where a window was over.
const actorRetention = "retention"

// PurgeInput asks for one batch of one step of a retention purge.
type PurgeInput struct {
	Tenant string
	Run    string // the run whose counts are kept
	Rules  string // Begun.Rules; empty: whatever is in force
	Step   schema.PurgeStep
	After  schema.HistoryCursor // where the batch before ended; zero at the start, and for steps without a cursor
	Limit  int                  // rows
	At     time.Time            // what is over by then; the run's own time, and never later than Now
	Now    time.Time
}

// PurgeBatch is what one batch of a step removed.
type PurgeBatch struct {
	Removed int                  `json:"removed"` // rows that the limit is of
	Counts  map[string]int       `json:"counts"`  // by what was done
	Next    schema.HistoryCursor `json:"next"`    // of the steps that look at what stays as well
	More    bool                 `json:"more"`    // the step may have more to do, after Next
}

// Purge carries out one batch of a step, in a short transaction of its own (document 002 "Retention Worker"). Steps
// are to be taken in the order of lifecycle.PurgeSteps, each until it has no more: one that is taken too early finds
// nothing that it may remove, and foreign keys enforce that. A batch that is delivered again finds nothing to do, or
// the rest. ErrRulesChanged where the run has to begin again.
//
// Each statement looks at a page of rows (scanFactor), whatever the table holds, so that the limits of the pipeline
// are enough.
func (s *Sweeping) Purge(ctx context.Context, in PurgeInput) (PurgeBatch, error) {
	ctx = pg.WithClass(ctx, pg.ClassPipeline)
	var out PurgeBatch
	err := pg.RetryChange(ctx, func() error {
		out = PurgeBatch{Counts: map[string]int{}}
		return commit.Write(ctx, s.DB, in.Tenant, in.Now, func(c *commit.Change) error {
			rules, err := rulesAsBegun(ctx, c, in.Rules)
			if err != nil {
				return err
			}
			p := purging{Change: c, in: in, rules: rules, out: &out}
			if question, asks := lifecycle.AsksFirst(in.Step); asks {
				if p.in.Limit, err = admittedBy(ctx, c, question, in.Limit); err != nil || p.in.Limit == 0 {
					return err
				}
			}
			if err := p.step(ctx); err != nil {
				return err
			}
			out.More = out.More || out.Removed >= p.in.Limit
			if !out.More {
				out.Next = schema.HistoryCursor{} // the next step begins at its beginning
			}
			if in.Step == lifecycle.PurgeSweepRuns {
				return nil // or what a run notes of its predecessors would be the next one's work, for ever
			}
			return noteSweep(c, schema.SweepRetention, in.Run, out.Counts)
		})
	})
	if err != nil {
		return PurgeBatch{}, fmt.Errorf("purge %s: %w", in.Step, err)
	}
	return out, nil
}

// purging is one batch at work.
type purging struct {
	*commit.Change
	in    PurgeInput
	rules lifecycle.RetentionRules
	out   *PurgeBatch
}

func (p *purging) step(ctx context.Context) error {
	switch p.in.Step {
	case lifecycle.PurgeExpire:
		return p.expire(ctx)
	case lifecycle.PurgeGraphLinks:
		return p.graphLinks(ctx)
	case lifecycle.PurgeEmbeddings:
		return p.embeddings(ctx)
	case lifecycle.PurgeTombstones:
		return p.tombstones(ctx)
	case lifecycle.PurgeHistory:
		return p.history(ctx)
	case lifecycle.PurgeJobsCompleted:
		return p.jobs(ctx, schema.RetainJobsCompleted, schema.JobCompleted)
	case lifecycle.PurgeJobsDead:
		return p.jobs(ctx, schema.RetainJobsDead, schema.JobDead)
	case lifecycle.PurgeRetrievals:
		return p.aged(ctx, p.policy(schema.RetainRetrievals), purgeRetrievals)
	case lifecycle.PurgeVersions:
		return p.versions(ctx)
	case lifecycle.PurgeIngest:
		return p.ingest(ctx)
	case lifecycle.PurgeForgetRuns:
		return p.forgetRuns(ctx)
	case lifecycle.PurgeEvents:
		return p.aged(ctx, p.policy(schema.RetainEvents), purgeEvents)
	case lifecycle.PurgeOperations:
		return p.operations(ctx)
	case lifecycle.PurgeArtifacts:
		return p.artifacts(ctx)
	case lifecycle.PurgePolicyChanges:
		return p.aged(ctx, p.policy(schema.RetainHistory), purgePolicyChanges)
	case lifecycle.PurgeSweepRuns:
		return p.aged(ctx, p.policy(schema.RetainJobsCompleted), purgeSweepRuns)
	default:
		return &schema.ValidationError{Fields: []schema.FieldError{{Field: "step",
			Problem: "is not a step of a purge"}}}
	}
}

func (p *purging) removed(n int) {
	p.out.Removed += n
	p.out.Counts[string(p.in.Step)] += n
}

// policy is that of a domain without classes.
func (p *purging) policy(d schema.RetentionDomain) schema.RetentionPolicy {
	return p.rules.For(d, schema.Any, schema.Any)
}

// aged removes what has been there for longer than a policy keeps it. The statement's parameters are the tenant, the
// time before which a row is over, and the limit; it returns how many it removed.
func (p *purging) aged(ctx context.Context, policy schema.RetentionPolicy, remove string) error {
	before, ends := lifecycle.ExpiredBefore(policy, p.in.At)
	if !ends {
		return nil
	}
	n := 0
	err := p.Tx.QueryRow(ctx, remove, p.Tenant, before, p.in.Limit).Scan(&n)
	p.removed(n)
	return err
}

func (p *purging) history(ctx context.Context) error {
	before, ends := lifecycle.ExpiredBefore(p.rules.For(schema.RetainHistory, schema.Any, schema.Any), p.in.At)
	if !ends {
		return nil
	}
	n, after := 0, p.in.After
	err := p.Tx.QueryRow(ctx, `SELECT removed, coalesce(last_at, $4), coalesce(last_id, $5), more
		FROM mneme_purge_history($1, $2, $3, $4, $5, $6)`,
		before, p.in.Limit, lifecycle.ActionLinks, after.CreatedAt, after.ID, p.in.Limit*scanFactor).
		Scan(&n, &p.out.Next.CreatedAt, &p.out.Next.ID, &p.out.More)
	p.removed(n)
	used(p.Change, schema.SweepHistory, n)
	return err
}

// jobs removes those that ended long enough ago. A job that was evaluated in shadow mode has no memory that it could
// be forgotten with: it is emptied here, in parts ahead of the job.
func (p *purging) jobs(ctx context.Context, d schema.RetentionDomain, state schema.JobState) error {
	before, ends := lifecycle.ExpiredBefore(p.rules.For(d, schema.Any, schema.Any), p.in.At)
	if !ends {
		return nil
	}
	type ended struct {
		ID, MemoryID uuid.UUID
		Shadow       bool
	}
	old, err := pg.Collect[ended](ctx, p.Tx, `SELECT j.id, j.memory_id, EXISTS (SELECT FROM ingest_batches b
		WHERE b.tenant = j.tenant AND b.id = j.batch_id AND b.mode = 'shadow')
		FROM jobs j WHERE j.tenant = $1 AND j.state = $2 AND j.finished_at < $3 ORDER BY j.finished_at, j.id
		LIMIT $4 FOR UPDATE OF j SKIP LOCKED`, p.Tenant, state, before, p.in.Limit)
	if err != nil {
		return err
	}
	var ids, evaluated []uuid.UUID
	for _, j := range old {
		ids = append(ids, j.ID)
		if j.Shadow {
			evaluated = append(evaluated, j.MemoryID)
		}
	}
	dependents := 0
	if len(evaluated) > 0 {
		f := forgetting.Forgetting{Change: p.Change, Run: &forgetting.ForgetRow{Mode: schema.ForgetForce},
			Gone: evaluated, Sources: true}
		if dependents, err = f.BlankPart(ctx, p.in.Limit); err != nil {
			return err
		}
		p.out.Removed += dependents
		p.out.Counts["beside"] += dependents
	}
	ids = ids[:min(len(ids), p.in.Limit-dependents)]
	if len(ids) == 0 {
		return nil
	}
	tag, err := p.Tx.Exec(ctx, `DELETE FROM jobs WHERE tenant = $1 AND id = ANY($2)`, p.Tenant, ids)
	p.removed(int(tag.RowsAffected()))
	return err
}

// expire marks the tombstones whose window is over: those that go are given to the steps after, and those that stay
// are archived for good, with a history row.
func (p *purging) expire(ctx context.Context) error {
	w := windowsOf(p.rules, p.in.At)
	if len(w.before) == 0 {
		return nil
	}
	page, err := p.page(ctx, `SELECT m.deleted_at, m.id, '' AS key, 0 AS version, EXISTS (
			SELECT FROM unnest($2::boolean[], $3::text[], $4::text[], $5::timestamptz[], $6::boolean[]) w(world, tier,
				typology, before, purge)
			WHERE w.world = (m.world_id IS NOT NULL) AND w.tier = m.tier AND w.typology = m.typology
			AND m.deleted_at <= w.before)
		FROM memories m WHERE m.tenant = $1 AND `+tombstone+` AND (m.deleted_at, m.id) > ($8, $9)
		ORDER BY m.deleted_at, m.id LIMIT $10`, append(w.args(p.Tenant), p.in.After.CreatedAt, p.in.After.ID,
		p.in.Limit*scanFactor)...)
	if err != nil || len(page) == 0 {
		return err
	}
	chosen := make([]uuid.UUID, len(page))
	for i, row := range page {
		chosen[i] = row.ID
	}
	rows, err := p.Tx.Query(ctx, `SELECT m.id, m.world_id IS NOT NULL, m.tier, m.typology, m.deleted_at `+expired+`
		AND m.id = ANY($8) ORDER BY m.deleted_at, m.id FOR UPDATE OF m SKIP LOCKED`,
		append(w.args(p.Tenant), chosen)...)
	if err != nil {
		return err
	}
	found, err := pgx.CollectRows(rows, pgx.RowToStructByPos[deletedMemory])
	if err != nil {
		return err
	}
	ids := make([]uuid.UUID, len(found))
	for i, m := range found {
		ids[i] = m.ID
	}
	linked, err := forgetting.ActionLinkedAmong(ctx, p.Change, ids)
	if err != nil {
		return err
	}
	var going, staying []uuid.UUID
	for _, m := range found {
		end, over := lifecycle.ExpiredTombstone(m.policy(p.rules), m.DeletedAt, linked[m.ID], p.in.At)
		switch {
		case !over: // unreachable: the statement compares with the same windows
		case end == schema.ExpiryPurge:
			going = append(going, m.ID)
		default:
			staying = append(staying, m.ID)
		}
	}
	p.out.Removed = len(going) + len(staying)
	p.out.Counts["archived"] = len(staying)
	used(p.Change, schema.SweepRetention, len(going))
	p.Queue.Queue(`UPDATE memories SET purging_at = $3 WHERE tenant = $1 AND id = ANY($2)`, p.Tenant, going, p.Now)
	metadata, err := p.metadata()
	if err != nil {
		return err
	}
	p.Queue.Queue(`
		WITH kept AS (
			UPDATE memories m SET retained_at = $3, archived_at = coalesce(m.archived_at, $3), updated_at = $3,
			version = m.version + 1
			FROM unnest($2::uuid[], $4::uuid[]) x(id, entry) WHERE m.tenant = $1 AND m.id = x.id RETURNING m.id,
			m.version, x.entry
		)
		INSERT INTO memory_history (tenant, id, memory_id, event, changed_by, reason, metadata, created_at, action,
			version)
		SELECT $1, entry, id, 'modified', $5, 'its window is over: archived for good', $6, $3, 'archive', version
		FROM kept`,
		p.Tenant, staying, p.Now, pg.NewIDs(len(staying)), actorRetention, metadata)
	return nil
}

func (p *purging) metadata() (string, error) {
	encoded, err := json.Marshal(map[string]any{"sweep": schema.SweepRetention, "run": p.in.Run})
	return string(encoded), err
}

// marked returns the next memories that are to go, by when they were marked, whose row in another table is
// there, or is not.
func (p *purging) marked(ctx context.Context, condition string) ([]uuid.UUID, error) {
	rows, err := p.Tx.Query(ctx, `SELECT m.id FROM memories m WHERE m.tenant = $1 AND m.purging_at IS NOT NULL
		AND m.erased_at IS NULL AND `+condition+`
		ORDER BY m.purging_at, m.id LIMIT $2 FOR UPDATE OF m SKIP LOCKED`, p.Tenant, p.in.Limit)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowTo[uuid.UUID])
}

// Conditions of memories m on their way out. Links are looked for as one thing: of three conditions with OR
// between them, Postgres would read all of each table.
const (
	hasLinks = `EXISTS (SELECT FROM memory_entity_relations x WHERE x.tenant = m.tenant AND x.memory_id = m.id
		UNION ALL SELECT FROM memory_entity_mentions x WHERE x.tenant = m.tenant AND x.memory_id = m.id
		UNION ALL SELECT FROM entity_claims x WHERE x.tenant = m.tenant AND x.memory_id = m.id)`
	hasEmbeddings = `EXISTS (SELECT FROM memory_embeddings x WHERE x.tenant = m.tenant AND x.memory_id = m.id)`
)

func (p *purging) graphLinks(ctx context.Context) error {
	ids, err := p.marked(ctx, hasLinks)
	if err != nil || len(ids) == 0 {
		return err
	}
	u, err := forgetting.Unlink(ctx, p.Change, ids, p.in.Limit)
	p.removed(u.Rows())
	p.out.Counts["edges"], p.out.Counts["entities"] = u.Edges, u.Entities
	return err
}

// embeddings removes vectors, and has the index asked once more to forget their points: it was when the
// memory was deleted, and may have been rebuilt from an old copy since.
func (p *purging) embeddings(ctx context.Context) error {
	ids, err := p.marked(ctx, "NOT "+hasLinks+" AND "+hasEmbeddings)
	if err != nil || len(ids) == 0 {
		return err
	}
	rows, err := p.Tx.Query(ctx, `
		WITH chosen AS (SELECT memory_id, model FROM memory_embeddings WHERE tenant = $1 AND memory_id = ANY($2)
			ORDER BY memory_id, model LIMIT $3)
		DELETE FROM memory_embeddings d USING chosen c WHERE d.tenant = $1 AND d.memory_id = c.memory_id
		AND d.model = c.model RETURNING d.memory_id`,
		p.Tenant, ids, p.in.Limit)
	if err != nil {
		return err
	}
	gone, err := pgx.CollectRows(rows, pgx.RowTo[uuid.UUID])
	if err != nil {
		return err
	}
	p.removed(len(gone))
	p.Queue.Queue(`INSERT INTO index_outbox (tenant, memory_id, version, op, created_at)
		SELECT m.tenant, m.id, m.version, 'delete', $3 FROM memories m WHERE m.tenant = $1 AND m.id = ANY($2)`,
		p.Tenant, gone, p.Now)
	return nil
}

// tombstones deletes the memories that nothing holds any more, and ahead of them, in parts, empties the pipeline's
// copies of their texts and removes the rows that belong to a memory: a source may have brought a hundred facts, and
// a fact may have been said again a hundred thousand times. History keeps what it says until its own window is over.
func (p *purging) tombstones(ctx context.Context) error {
	ready := "NOT " + hasLinks + " AND NOT " + hasEmbeddings
	rows, err := p.Tx.Query(ctx, `SELECT m.id FROM memories m WHERE m.tenant = $1 AND m.purging_at IS NOT NULL
		AND m.erased_at IS NULL AND `+ready+`
		ORDER BY m.purging_at, m.id LIMIT $2`, p.Tenant, p.in.Limit)
	if err != nil {
		return err
	}
	ids, err := pgx.CollectRows(rows, pgx.RowTo[uuid.UUID])
	if err != nil || len(ids) == 0 {
		return err
	}
	chosen := len(ids)
	f := forgetting.Forgetting{Change: p.Change, Run: &forgetting.ForgetRow{Mode: schema.ForgetForce}, Gone: ids}
	// Pipelines lock jobs, candidates and proposals ahead of memories.
	if err := f.LockJobs(ctx, ids); err != nil {
		return err
	}
	dependents, err := f.BlankPart(ctx, p.in.Limit)
	p.out.Removed, p.out.Counts["beside"] = dependents, dependents
	if err != nil || dependents >= p.in.Limit {
		return err
	}
	// Another change may have erased one meanwhile: then it keeps its relations, for the audit.
	rows, err = p.Tx.Query(ctx, `SELECT m.id FROM memories m WHERE m.tenant = $1 AND m.id = ANY($2)
		AND m.purging_at IS NOT NULL AND m.erased_at IS NULL ORDER BY m.id FOR UPDATE`,
		p.Tenant, ids)
	if err != nil {
		return err
	}
	if ids, err = pgx.CollectRows(rows, pgx.RowTo[uuid.UUID]); err != nil {
		return err
	}
	p.out.More = chosen == p.in.Limit && len(ids) < chosen // after those that another has taken
	// And a request may have been delivered again by a caller that held it until the copy of its text was there.
	f.Gone = ids
	n, err := f.BlankPart(ctx, p.in.Limit-dependents)
	if dependents += n; err == nil && dependents < p.in.Limit {
		n, err = forgetting.RemovePart(ctx, p.Change, ids, p.in.Limit-dependents)
		dependents += n
	}
	p.out.Removed, p.out.Counts["beside"] = dependents, dependents
	if err != nil {
		return err
	}
	if ids = ids[:min(len(ids), p.in.Limit-dependents)]; len(ids) == 0 {
		return nil
	}
	f.Gone = ids
	if err := f.BlankResults(ctx); err != nil {
		return err
	}
	metadata, err := p.metadata()
	if err != nil {
		return err
	}
	err = p.Tx.QueryRow(ctx, `
		WITH gone AS (
			DELETE FROM memories m WHERE m.tenant = $1 AND m.id = ANY($2) AND m.purging_at IS NOT NULL
			AND m.erased_at IS NULL RETURNING m.id, m.version + 1 AS version, m.agent_id
		), told AS (
			INSERT INTO memory_history (tenant, id, memory_id, event, changed_by, reason, metadata, created_at, action,
				version)
			SELECT $1, x.entry, g.id, 'deleted', $4, 'its window is over', $5::jsonb || jsonb_build_object('agent',
				g.agent_id), $6, 'purge', g.version
			FROM gone g JOIN unnest($2::uuid[], $3::uuid[]) x(id, entry) ON x.id = g.id
		)
		SELECT count(*) FROM gone`, p.Tenant, ids, pg.NewIDs(len(ids)), actorRetention, metadata, p.Now).Scan(&n)
	p.removed(n)
	return err
}
