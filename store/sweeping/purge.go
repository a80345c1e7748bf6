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

// actorRetention is whom history names where a window was over.
const actorRetention = "retention"

// PurgeInput asks for one batch of one step of a retention purge.
type PurgeInput struct {
	Tenant string
	Run    string // of which the counts are kept
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
	More    bool                 `json:"more"`    // the step may have more to do, behind Next
}

// Purge carries out one batch of a step, in a short transaction of its own (document 002 "Retention
// Worker"). Steps are to be taken in the order of lifecycle.PurgeSteps, each until it has no more: one that is
// taken too early finds nothing that it may remove, and foreign keys stand behind that. A batch that is
// delivered again finds nothing to do, or the rest. ErrRulesChanged where the run has to begin anew.
//
// Each statement looks at a page of rows (lookFactor), whatever the table holds, so that the limits of the pipeline
// are enough.
func (s *Sweeping) Purge(ctx context.Context, in PurgeInput) (PurgeBatch, error) {
	ctx = pg.Within(ctx, pg.ClassPipeline)
	var out PurgeBatch
	err := pg.AgainAlone(ctx, func() error {
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
		return &schema.ValidationError{Fields: []schema.FieldError{{Field: "step", Problem: "is no step of a purge"}}}
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
		before, p.in.Limit, lifecycle.ActionLinks, after.CreatedAt, after.ID, p.in.Limit*lookFactor).
		Scan(&n, &p.out.Next.CreatedAt, &p.out.Next.ID, &p.out.More)
	p.removed(n)
	used(p.Change, schema.SweepHistory, n)
	return err
}

// jobs removes those that ended long enough ago. What one evaluated in shadow mode stands beside no memory that it
// could be forgotten with: it is emptied here, in parts ahead of the job.
func (p *purging) jobs(ctx context.Context, d schema.RetentionDomain, state schema.JobState) error {
	before, ends := lifecycle.ExpiredBefore(p.rules.For(d, schema.Any, schema.Any), p.in.At)
	if !ends {
		return nil
	}
	type ended struct {
		ID, MemoryID uuid.UUID
		Shadow       bool
	}
	old, err := pg.Collect[ended](ctx, p.Tx, `SELECT j.id, j.memory_id, EXISTS (SELECT FROM ingest_batches b WHERE b.tenant = j.tenant AND b.id = j.batch_id AND b.mode = 'shadow')
		FROM jobs j WHERE j.tenant = $1 AND j.state = $2 AND j.finished_at < $3 ORDER BY j.finished_at, j.id LIMIT $4 FOR UPDATE OF j SKIP LOCKED`, p.Tenant, state, before, p.in.Limit)
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
	beside := 0
	if len(evaluated) > 0 {
		f := forgetting.Forgetting{Change: p.Change, Run: &forgetting.ForgetRow{Mode: schema.ForgetForce}, Gone: evaluated, Sources: true}
		if beside, err = f.BlankPart(ctx, p.in.Limit); err != nil {
			return err
		}
		p.out.Removed += beside
		p.out.Counts["beside"] += beside
	}
	ids = ids[:min(len(ids), p.in.Limit-beside)]
	if len(ids) == 0 {
		return nil
	}
	tag, err := p.Tx.Exec(ctx, `DELETE FROM jobs WHERE tenant = $1 AND id = ANY($2)`, p.Tenant, ids)
	p.removed(int(tag.RowsAffected()))
	return err
}

// windows are the classes of memories whose tombstones expire, in columns, as of a time.
type windows struct {
	world      []bool
	tiers      []string
	typologies []string
	before     []time.Time // deleted by then: the window is over
	purge      []bool      // and not archive
	last       time.Time   // of before
}

func windowsOf(rules lifecycle.RetentionRules, now time.Time) windows {
	var w windows
	for _, d := range []schema.RetentionDomain{schema.RetainMemory, schema.RetainWorld} {
		for _, class := range lifecycle.RetentionClasses(d) {
			policy := rules.For(d, class.Tier, class.Typology)
			before, ends := lifecycle.ExpiredBefore(policy, now)
			if !ends {
				continue
			}
			w.world, w.tiers, w.typologies = append(w.world, d == schema.RetainWorld), append(w.tiers, string(class.Tier)), append(w.typologies, string(class.Typology))
			w.before, w.purge = append(w.before, before), append(w.purge, policy.OnExpiry == schema.ExpiryPurge)
			if before.After(w.last) {
				w.last = before
			}
		}
	}
	return w
}

// expired is the condition of tombstones m that are over and not yet marked, with their windows w. Its
// parameters are those of windows.args, behind the tenant.
const expired = `FROM memories m JOIN unnest($2::boolean[], $3::text[], $4::text[], $5::timestamptz[], $6::boolean[]) w(world, tier, typology, before, purge)
		ON w.world = (m.world_id IS NOT NULL) AND w.tier = m.tier AND w.typology = m.typology AND m.deleted_at <= w.before
	WHERE m.tenant = $1 AND ` + tombstone

// tombstone is the part of expired that an index serves: not yet marked, and over by the shortest window.
const tombstone = `m.deleted_at IS NOT NULL AND m.erased_at IS NULL AND m.retained_at IS NULL AND m.purging_at IS NULL
	AND m.deleted_at <= $7`

func (w windows) args(tenant string) []any {
	return []any{tenant, w.world, w.tiers, w.typologies, w.before, w.purge, w.last}
}

// expire marks the tombstones whose window is over: those that go are given to the steps behind, and those
// that stay are archived for good, with a history row.
func (p *purging) expire(ctx context.Context) error {
	w := windowsOf(p.rules, p.in.At)
	if len(w.before) == 0 {
		return nil
	}
	page, err := p.page(ctx, `SELECT m.deleted_at, m.id, '' AS key, 0 AS version, EXISTS (
			SELECT FROM unnest($2::boolean[], $3::text[], $4::text[], $5::timestamptz[], $6::boolean[]) w(world, tier, typology, before, purge)
			WHERE w.world = (m.world_id IS NOT NULL) AND w.tier = m.tier AND w.typology = m.typology AND m.deleted_at <= w.before)
		FROM memories m WHERE m.tenant = $1 AND `+tombstone+` AND (m.deleted_at, m.id) > ($8, $9)
		ORDER BY m.deleted_at, m.id LIMIT $10`, append(w.args(p.Tenant), p.in.After.CreatedAt, p.in.After.ID, p.in.Limit*lookFactor)...)
	if err != nil || len(page) == 0 {
		return err
	}
	chosen := make([]uuid.UUID, len(page))
	for i, row := range page {
		chosen[i] = row.ID
	}
	rows, err := p.Tx.Query(ctx, `SELECT m.id, w.purge `+expired+` AND m.id = ANY($8) ORDER BY m.deleted_at, m.id FOR UPDATE OF m SKIP LOCKED`,
		append(w.args(p.Tenant), chosen)...)
	if err != nil {
		return err
	}
	var over, going, staying []uuid.UUID
	purges := map[uuid.UUID]bool{}
	var id uuid.UUID
	var purge bool
	_, err = pgx.ForEachRow(rows, []any{&id, &purge}, func() error {
		over, purges[id] = append(over, id), purge
		return nil
	})
	if err != nil {
		return err
	}
	linked, err := forgetting.ActionLinkedAmong(ctx, p.Change, over)
	if err != nil {
		return err
	}
	for _, id := range over {
		if purges[id] && !linked[id] {
			going = append(going, id)
		} else {
			staying = append(staying, id)
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
			UPDATE memories m SET retained_at = $3, archived_at = coalesce(m.archived_at, $3), updated_at = $3, version = m.version + 1
			FROM unnest($2::uuid[], $4::uuid[]) x(id, entry) WHERE m.tenant = $1 AND m.id = x.id RETURNING m.id, m.version, x.entry
		)
		INSERT INTO memory_history (tenant, id, memory_id, event, changed_by, reason, metadata, created_at, action, version)
		SELECT $1, entry, id, 'modified', $5, 'its window is over: archived for good', $6, $3, 'archive', version FROM kept`,
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
	rows, err := p.Tx.Query(ctx, `SELECT m.id FROM memories m WHERE m.tenant = $1 AND m.purging_at IS NOT NULL AND m.erased_at IS NULL AND `+condition+`
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
		WITH chosen AS (SELECT memory_id, model FROM memory_embeddings WHERE tenant = $1 AND memory_id = ANY($2) ORDER BY memory_id, model LIMIT $3)
		DELETE FROM memory_embeddings d USING chosen c WHERE d.tenant = $1 AND d.memory_id = c.memory_id AND d.model = c.model RETURNING d.memory_id`,
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
		SELECT m.tenant, m.id, m.version, 'delete', $3 FROM memories m WHERE m.tenant = $1 AND m.id = ANY($2)`, p.Tenant, gone, p.Now)
	return nil
}

// tombstones deletes the memories that nothing holds any more, and ahead of them, in parts, empties the pipeline's
// copies of their texts and removes what commits beside a memory: a source may have brought a hundred facts, and a
// fact may have been said again a hundred thousand times. History keeps what it says until its own window is over.
func (p *purging) tombstones(ctx context.Context) error {
	ready := "NOT " + hasLinks + " AND NOT " + hasEmbeddings
	rows, err := p.Tx.Query(ctx, `SELECT m.id FROM memories m WHERE m.tenant = $1 AND m.purging_at IS NOT NULL AND m.erased_at IS NULL AND `+ready+`
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
	beside, err := f.BlankPart(ctx, p.in.Limit)
	p.out.Removed, p.out.Counts["beside"] = beside, beside
	if err != nil || beside >= p.in.Limit {
		return err
	}
	// Meanwhile somebody may have erased one: then it keeps its relations, for the audit.
	rows, err = p.Tx.Query(ctx, `SELECT m.id FROM memories m WHERE m.tenant = $1 AND m.id = ANY($2) AND m.purging_at IS NOT NULL AND m.erased_at IS NULL ORDER BY m.id FOR UPDATE`,
		p.Tenant, ids)
	if err != nil {
		return err
	}
	if ids, err = pgx.CollectRows(rows, pgx.RowTo[uuid.UUID]); err != nil {
		return err
	}
	p.out.More = chosen == p.in.Limit && len(ids) < chosen // behind those that another has taken
	// And somebody may have delivered one again, who held it until the copy of its text was there.
	f.Gone = ids
	n, err := f.BlankPart(ctx, p.in.Limit-beside)
	if beside += n; err == nil && beside < p.in.Limit {
		n, err = forgetting.RemovePart(ctx, p.Change, ids, p.in.Limit-beside)
		beside += n
	}
	p.out.Removed, p.out.Counts["beside"] = beside, beside
	if err != nil {
		return err
	}
	if ids = ids[:min(len(ids), p.in.Limit-beside)]; len(ids) == 0 {
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
			DELETE FROM memories m WHERE m.tenant = $1 AND m.id = ANY($2) AND m.purging_at IS NOT NULL AND m.erased_at IS NULL RETURNING m.id, m.version + 1 AS version, m.agent_id
		), told AS (
			INSERT INTO memory_history (tenant, id, memory_id, event, changed_by, reason, metadata, created_at, action, version)
			SELECT $1, x.entry, g.id, 'deleted', $4, 'its window is over', $5::jsonb || jsonb_build_object('agent', g.agent_id), $6, 'purge', g.version
			FROM gone g JOIN unnest($2::uuid[], $3::uuid[]) x(id, entry) ON x.id = g.id
		)
		SELECT count(*) FROM gone`, p.Tenant, ids, pg.NewIDs(len(ids)), actorRetention, metadata, p.Now).Scan(&n)
	p.removed(n)
	return err
}

// agedHistory is the condition of history rows h that would go, created before $2, of no memory of a world for
// which stays holds, and of none that has one of the links $4: as mneme_purge_history has it.
func agedHistory(stays string) string {
	return `FROM memory_history h WHERE h.tenant = $1 AND h.created_at < $2
	AND NOT EXISTS (SELECT FROM memories m WHERE m.tenant = h.tenant AND m.id = h.memory_id AND m.world_id IS NOT NULL AND ` + stays + `)
	AND NOT EXISTS (SELECT FROM memory_relations r WHERE r.tenant = h.tenant AND r.source_id = h.memory_id AND r.predicate = ANY($4)
		UNION ALL SELECT FROM memory_relations r WHERE r.tenant = h.tenant AND r.target_id = h.memory_id AND r.predicate = ANY($4))`
}

// retentionTakes counts what would go of memories and, where somebody has shortened its window, of history.
// What is over by the documents' windows is over: a tenant that nobody used for half a year has no history
// left, and that is as it should be.
func retentionTakes(ctx context.Context, c *commit.Change, rules lifecycle.RetentionRules, share float64) ([]take, error) {
	memories, history := take{Question: schema.SweepRetention}, take{Question: schema.SweepHistory}
	if w := windowsOf(rules, c.Now); len(w.before) > 0 {
		t := &memories
		err := c.Tx.QueryRow(ctx, `SELECT coalesce((SELECT docs FROM corpus_stats WHERE tenant = $1), 0)
			+ (SELECT count(*) FROM memories WHERE tenant = $1 AND deleted_at IS NOT NULL AND erased_at IS NULL AND retained_at IS NULL AND purging_at IS NULL)`, c.Tenant).Scan(&t.Stored)
		if err != nil {
			return nil, err
		}
		err = c.Tx.QueryRow(ctx, `SELECT count(*) FROM (SELECT `+expired+` AND w.purge AND NOT `+forgetting.ActionLinked("$9")+` LIMIT $8) x`,
			append(w.args(c.Tenant), lifecycle.SweepAllowance(t.Stored, share)+1, lifecycle.ActionLinks)...).Scan(&t.Would)
		if err != nil {
			return nil, err
		}
	}
	policy := rules.For(schema.RetainHistory, schema.Any, schema.Any)
	before, ends := lifecycle.ExpiredBefore(policy, c.Now)
	if ends && time.Duration(policy.KeepSeconds)*time.Second < lifecycle.HistoryWindow {
		t := &history
		if err := c.Tx.QueryRow(ctx, `SELECT count(*) FROM memory_history WHERE tenant = $1`, c.Tenant).Scan(&t.Stored); err != nil {
			return nil, err
		}
		// A tombstone of a world goes ahead of its history in the same run, if its policy says so and its window is over.
		w := windowsOf(rules, c.Now)
		const stays = `(m.erased_at IS NOT NULL OR m.purging_at IS NULL AND (m.deleted_at IS NULL OR m.retained_at IS NOT NULL OR NOT EXISTS (
			SELECT FROM unnest($5::boolean[], $6::text[], $7::text[], $8::timestamptz[], $9::boolean[]) w(world, tier, typology, before, purge)
			WHERE w.world AND w.purge AND w.tier = m.tier AND w.typology = m.typology AND m.deleted_at <= w.before)))`
		err := c.Tx.QueryRow(ctx, `SELECT count(*) FROM (SELECT `+agedHistory(stays)+` LIMIT $3) x`,
			c.Tenant, before, lifecycle.SweepAllowance(t.Stored, share)+1, lifecycle.ActionLinks, w.world, w.tiers, w.typologies, w.before, w.purge).Scan(&t.Would)
		if err != nil {
			return nil, err
		}
	}
	return []take{memories, history}, nil
}

// PurgePreview is what a run would remove of a tenant now, by step: of ingest, batches. Counting ends at PreviewLimit.
type PurgePreview struct {
	Tenant string                     `json:"tenant"`
	Would  map[schema.PurgeStep]int64 `json:"would"`
	// Archived is how many tombstones would stay for good.
	Archived int64             `json:"archived"`
	Held     *schema.SweepHold `json:"held,omitempty"` // the first question that the run would ask, and that nobody has answered yet
}

// PreviewLimit is where a preview stops to count.
const PreviewLimit = 100_000

// PreviewPurge counts what a run would do to a tenant, and changes nothing.
func (s *Sweeping) PreviewPurge(ctx context.Context, tenant string, share float64, now time.Time) (PurgePreview, error) {
	ctx = pg.Within(ctx, pg.ClassLong)
	out := PurgePreview{Tenant: tenant, Would: map[schema.PurgeStep]int64{}}
	err := s.Read(ctx, tenant, func(tx pgx.Tx) error {
		rules, err := RetentionRules(ctx, tx, tenant)
		if err != nil {
			return err
		}
		count := func(step schema.PurgeStep, query string, args ...any) error {
			var n int64
			if err := tx.QueryRow(ctx, query, args...).Scan(&n); err != nil {
				return fmt.Errorf("%s: %w", step, err)
			}
			out.Would[step] = n
			return nil
		}
		if w := windowsOf(rules, now.UTC()); len(w.before) > 0 {
			const chosen = `WITH going AS (SELECT m.id, w.purge AND NOT `
			going := chosen + forgetting.ActionLinked("$9") + ` AS purge ` + expired + ` LIMIT $8),
				dying AS (SELECT id FROM going WHERE purge UNION ALL SELECT id FROM memories m WHERE m.tenant = $1 AND m.purging_at IS NOT NULL AND m.erased_at IS NULL) `
			args := append(w.args(tenant), PreviewLimit, lifecycle.ActionLinks)
			for step, query := range map[schema.PurgeStep]string{
				lifecycle.PurgeTombstones: `SELECT count(*) FROM dying`,
				lifecycle.PurgeEmbeddings: `SELECT count(*) FROM dying d JOIN memory_embeddings x ON x.tenant = $1 AND x.memory_id = d.id`,
				lifecycle.PurgeGraphLinks: `SELECT (SELECT count(*) FROM dying d JOIN memory_entity_mentions x ON x.tenant = $1 AND x.memory_id = d.id)
					+ (SELECT count(*) FROM dying d JOIN memory_entity_relations x ON x.tenant = $1 AND x.memory_id = d.id)
					+ (SELECT count(*) FROM dying d JOIN entity_claims x ON x.tenant = $1 AND x.memory_id = d.id)`,
			} {
				if err := count(step, going+query, args...); err != nil {
					return err
				}
			}
			if err := tx.QueryRow(ctx, going+`SELECT count(*) FROM going WHERE NOT purge`, args...).Scan(&out.Archived); err != nil {
				return err
			}
		}
		of := func(d schema.RetentionDomain) schema.RetentionPolicy { return rules.For(d, schema.Any, schema.Any) }
		const unused = ` AND $4::text[] IS NOT NULL` // the links, which not every query needs
		for _, aged := range []struct {
			step   schema.PurgeStep
			policy schema.RetentionPolicy
			query  string
		}{
			{lifecycle.PurgeHistory, of(schema.RetainHistory), `SELECT ` + agedHistory(`true`)},
			{lifecycle.PurgeJobsCompleted, of(schema.RetainJobsCompleted), `SELECT FROM jobs WHERE tenant = $1 AND state = 'completed' AND finished_at < $2` + unused},
			{lifecycle.PurgeJobsDead, of(schema.RetainJobsDead), `SELECT FROM jobs WHERE tenant = $1 AND state = 'dead' AND finished_at < $2` + unused},
			{lifecycle.PurgeRetrievals, of(schema.RetainRetrievals), `SELECT FROM retrievals WHERE tenant = $1 AND created_at < $2` + unused},
			{lifecycle.PurgeVersions, of(schema.RetainHistory), `SELECT ` + agedVersions},
			{lifecycle.PurgeIngest, of(schema.RetainIngest), `SELECT FROM ingest_batches b WHERE b.tenant = $1 AND b.created_at < $2 AND ` + settledBatch + unused},
			{lifecycle.PurgeForgetRuns, of(schema.RetainForgetRuns), `SELECT FROM forget_runs WHERE tenant = $1 AND created_at < $2
				AND coalesce(finished_at, confirmed_at, expires_at) < $2` + unused},
			{lifecycle.PurgeEvents, of(schema.RetainEvents), `SELECT FROM events WHERE tenant = $1 AND recorded_at < $2` + unused},
			{lifecycle.PurgeOperations, rules.Keys(), `SELECT FROM operations WHERE tenant = $1 AND created_at < $2` + unused},
			{lifecycle.PurgeArtifacts, of(schema.RetainArtifacts), `SELECT ` + agedArtifacts + unused},
			{lifecycle.PurgePolicyChanges, of(schema.RetainHistory), `SELECT FROM retention_policy_changes WHERE tenant = $1 AND changed_at < $2` + unused},
			{lifecycle.PurgeSweepRuns, of(schema.RetainJobsCompleted), `SELECT FROM sweep_runs WHERE tenant = $1 AND sweep IN ('decay', 'retention') AND started_at < $2` + unused},
		} {
			before, ends := lifecycle.ExpiredBefore(aged.policy, now.UTC())
			if !ends {
				continue
			}
			if err := count(aged.step, `SELECT count(*) FROM (`+aged.query+` LIMIT $3) x`, tenant, before, PreviewLimit, lifecycle.ActionLinks); err != nil {
				return err
			}
		}
		c := commit.Change{Tx: tx, Tenant: tenant, Now: now.UTC()}
		takes, err := retentionTakes(ctx, &c, rules, share)
		if err != nil {
			return err
		}
		for _, t := range takes {
			if out.Held != nil || !t.tooMuch(share) {
				continue
			}
			var answered bool
			if err := tx.QueryRow(ctx, `SELECT EXISTS (SELECT FROM sweep_holds WHERE tenant = $1 AND sweep = $2 AND admitted > 0)`, tenant, t.Question).Scan(&answered); err != nil {
				return err
			}
			if !answered {
				out.Held = &schema.SweepHold{Tenant: tenant, Sweep: t.Question, WouldTake: t.Would, Stored: t.Stored, Share: share}
			}
		}
		return nil
	})
	if err != nil {
		return PurgePreview{}, fmt.Errorf("preview purge: %w", err)
	}
	return out, nil
}
