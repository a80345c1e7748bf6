package sweeping

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/mneme/mneme/memory"
	"github.com/mneme/mneme/memory/lifecycle"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/store/commit"
	"github.com/mneme/mneme/store/forgetting"
	"github.com/mneme/mneme/store/pg"
)

// actorDecay is the actor that history names where a memory faded.
const actorDecay = "decay"

// DecayInput asks for one batch of what has fallen due.
type DecayInput struct {
	Tenant string
	Run    string           // the run whose counts are kept
	Rules  string           // Begun.Rules; empty: whatever is in force
	After  schema.DueCursor // where the batch before ended; zero at the start
	Until  time.Time        // what is due by then; the run's own time, so that it comes to an end
	Limit  int
	Now    time.Time
}

// DecayBatch is what one batch did.
type DecayBatch struct {
	Pruned   int              `json:"pruned"`
	Archived int              `json:"archived"`
	Kept     int              `json:"kept"`
	NotDue   int              `json:"not_due"` // what was stored of them was out of date, and is corrected
	Next     schema.DueCursor `json:"next"`
	More     bool             `json:"more"` // there may be more after Next
}

// decayVolumes counts what would be taken of what is live: what has fallen due, less what stays though it is due.
func decayVolumes(ctx context.Context, c *commit.Change, rules lifecycle.RetentionRules,
	share float64) ([]volume, error) {
	t := volume{Question: schema.SweepDecay}
	if err := c.Tx.QueryRow(ctx, `SELECT coalesce((SELECT docs FROM corpus_stats WHERE tenant = $1), 0)`,
		c.Tenant).Scan(&t.Stored); err != nil {
		return nil, err
	}
	var world []bool
	var tiers, typologies []string
	for _, d := range []schema.RetentionDomain{schema.RetainMemory, schema.RetainWorld} {
		for _, class := range lifecycle.RetentionClasses(d) {
			if rules.For(d, class.Tier, class.Typology).DecayExempt {
				world, tiers, typologies = append(world, d == schema.RetainWorld), append(tiers, string(class.Tier)),
					append(typologies, string(class.Typology))
			}
		}
	}
	err := c.Tx.QueryRow(ctx, `SELECT count(*) FROM (SELECT FROM memories m WHERE m.tenant = $1 AND m.live
		AND m.decay_due_at IS NOT NULL AND m.decay_due_at <= $2
			AND m.deletion_policy <> 'never' AND NOT (m.world_id IS NOT NULL AND m.tier = 'persistent'
				AND m.typology = 'semantic' AND coalesce(m.valid_until, 'infinity') > $2)
			AND NOT EXISTS (SELECT FROM unnest($4::boolean[], $5::text[], $6::text[]) x(world, tier, typology)
				WHERE x.world = (m.world_id IS NOT NULL) AND x.tier = m.tier AND x.typology = m.typology)
		LIMIT $3) due`, c.Tenant, c.Now, lifecycle.SweepAllowance(t.Stored, share)+1, world, tiers,
		typologies).Scan(&t.Would)
	return []volume{t}, err
}

// DecayBatch does to the next memories that have fallen due what lifecycle.JudgeDue says, in one transaction,
// with a history row for each. It reads what is due and nothing else. Memories that another change has locked, and
// those that a pipeline still works on, are left to the next run. A batch that is delivered again finds
// nothing to do, or the rest.
func (s *Sweeping) DecayBatch(ctx context.Context, in DecayInput) (DecayBatch, error) {
	var out DecayBatch
	err := pg.RetryChange(ctx, func() error {
		out = DecayBatch{}
		return commit.Write(ctx, s.DB, in.Tenant, in.Now, func(c *commit.Change) error {
			d := decaying{Change: c, in: in, out: &out}
			return d.run(ctx)
		})
	})
	if err != nil {
		return DecayBatch{}, fmt.Errorf("sweep what has decayed: %w", err)
	}
	return out, nil
}

// decaying is one batch at work.
type decaying struct {
	*commit.Change
	in  DecayInput
	out *DecayBatch
}

// dueRow is a memory that has fallen due, locked.
type dueRow struct {
	lifecycle.Decayed
	ID    uuid.UUID
	DueAt time.Time
	busy  bool // a pipeline still works on it
}

// judged are the memories of a batch with the same outcome, in columns.
type judged struct {
	ids      []uuid.UUID
	reasons  []string
	metadata []string
	next     []*time.Time
}

func (d *decaying) run(ctx context.Context) error {
	rules, err := rulesAsBegun(ctx, d.Change, d.in.Rules)
	if err != nil {
		return err
	}
	limit, err := admittedBy(ctx, d.Change, schema.SweepDecay, d.in.Limit)
	if err != nil || limit == 0 {
		return err
	}
	due, err := d.due(ctx, limit)
	if err != nil || len(due) == 0 {
		return err
	}
	by := map[lifecycle.SweepOutcome]*judged{lifecycle.SweepPrune: {}, lifecycle.SweepArchive: {},
		lifecycle.SweepKeep: {}, lifecycle.SweepNotDue: {}}
	for _, m := range due {
		if m.busy {
			continue
		}
		domain := schema.RetainMemory
		if m.World {
			domain = schema.RetainWorld
		}
		v := lifecycle.JudgeDue(m.Decayed, rules.For(domain, m.Tier, m.Typology), d.in.Until)
		metadata, err := json.Marshal(map[string]any{"sweep": schema.SweepDecay, "run": d.in.Run, "why": v.Why,
			"salience": v.Salience})
		if err != nil {
			return err
		}
		j := by[v.Outcome]
		j.ids, j.reasons, j.metadata, j.next = append(j.ids, m.ID),
			append(j.reasons, lifecycle.SweepReason(v, m.Decay)), append(j.metadata, string(metadata)),
			append(j.next, v.NextDue)
	}
	d.out.Pruned, d.out.Archived = len(by[lifecycle.SweepPrune].ids), len(by[lifecycle.SweepArchive].ids)
	d.out.Kept, d.out.NotDue = len(by[lifecycle.SweepKeep].ids), len(by[lifecycle.SweepNotDue].ids)
	last := due[len(due)-1]
	d.out.Next, d.out.More = schema.DueCursor{DueAt: last.DueAt, ID: last.ID}, len(due) == limit
	d.prune(by[lifecycle.SweepPrune])
	d.archive(by[lifecycle.SweepArchive])
	d.keep(by[lifecycle.SweepKeep], by[lifecycle.SweepNotDue])
	used(d.Change, schema.SweepDecay, d.out.Pruned+d.out.Archived)
	return noteSweep(d.Change, schema.SweepDecay, d.in.Run, map[string]int{"pruned": d.out.Pruned,
		"archived": d.out.Archived, "kept": d.out.Kept, "not_due": d.out.NotDue})
}

// due locks the next memories that have fallen due, oldest first.
func (d *decaying) due(ctx context.Context, limit int) ([]dueRow, error) {
	rows, err := d.Tx.Query(ctx, `SELECT m.id, m.decay_due_at, m.tier, m.typology, m.pinned, m.deletion_policy,
		m.world_id IS NOT NULL, m.valid_until, m.created_at,
			m.decay_curve, m.half_life, m.min_salience, m.max_age, m.decay_floor, m.reinforcement_gain, m.decay_points,
			m.salience, m.salience_at
		FROM memories m WHERE m.tenant = $1 AND m.live AND m.decay_due_at IS NOT NULL AND m.decay_due_at <= $2
		AND (m.decay_due_at, m.id) > ($3, $4)
		ORDER BY m.decay_due_at, m.id LIMIT $5 FOR UPDATE OF m SKIP LOCKED`,
		d.Tenant, d.in.Until, d.in.After.DueAt, d.in.After.ID, limit)
	if err != nil {
		return nil, err
	}
	due, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (dueRow, error) {
		var m dueRow
		var maxAge *time.Duration
		var points []schema.DecayPoint
		y := &m.Decay
		err := row.Scan(&m.ID, &m.DueAt, &m.Tier, &m.Typology, &m.Pinned, &m.DeletionPolicy, &m.World, &m.ValidUntil,
			&m.CreatedAt,
			&y.Curve, &y.HalfLife, &y.MinSalience, &maxAge, &y.Floor, &y.ReinforcementGain, &points, &m.Salience,
			&m.SalienceAt)
		if maxAge != nil {
			y.MaxAge = *maxAge
		}
		y.Points = memory.DecayPoints(points)
		return m, err
	})
	if err != nil || len(due) == 0 {
		return nil, err
	}
	ids := make([]uuid.UUID, len(due))
	for i, m := range due {
		ids[i] = m.ID
	}
	linked, err := forgetting.ActionLinkedAmong(ctx, d.Change, ids)
	if err != nil {
		return nil, err
	}
	busy, err := d.inPipeline(ctx, ids)
	if err != nil {
		return nil, err
	}
	for i := range due {
		due[i].ActionLinked, due[i].busy = linked[due[i].ID], busy[due[i].ID]
	}
	return due, nil
}

// inPipeline returns which of the memories, which are locked, a pipeline still works on.
func (d *decaying) inPipeline(ctx context.Context, ids []uuid.UUID) (map[uuid.UUID]bool, error) {
	return d.IdSet(ctx, `SELECT memory_id FROM jobs WHERE tenant = $1 AND kind = 'ingest' AND memory_id = ANY($2)
		AND state IN ('pending', 'leased', 'failed')`, d.Tenant, ids)
}

// prune makes tombstones, as a soft deletion does (document 004 §15B: safe deletion via decay rather than
// hard loss).
func (d *decaying) prune(j *judged) {
	d.takeAway(j, "deleted_at", "buried.content", schema.EventDeleted, schema.AuditDelete)
}

// archive takes memories out of sight for good, without deleting them.
func (d *decaying) archive(j *judged) {
	d.takeAway(j, "archived_at", "NULL", schema.EventModified, schema.AuditArchive)
}

// takeAway sets the moment at which memories ceased to be live. One statement, so that a batch costs little
// more than the update itself. Column and text are constants of this file.
func (d *decaying) takeAway(j *judged, column, text string, event schema.HistoryEvent, action schema.AuditAction) {
	if len(j.ids) == 0 {
		return
	}
	d.Queue.Queue(`
		WITH buried AS (
			UPDATE memories m SET `+column+` = $3, decay_due_at = NULL, updated_at = $3, version = m.version + 1
			FROM unnest($2::uuid[], $4::uuid[], $5::text[], $6::jsonb[]) x(id, entry, reason, metadata)
			WHERE m.tenant = $1 AND m.id = x.id
			RETURNING m.id, m.version, m.content, x.entry, x.reason, x.metadata
		), told AS (
			INSERT INTO memory_history (tenant, id, memory_id, event, old_content, changed_by, reason, metadata,
				created_at, action, version)
			SELECT $1, entry, id, $7, `+text+`, $8, reason, metadata, $3, $9, version FROM buried
		)
		INSERT INTO index_outbox (tenant, memory_id, version, op, created_at) SELECT $1, id, version, 'delete', $3
		FROM buried`,
		d.Tenant, j.ids, d.Now, pg.NewIDs(len(j.ids)), j.reasons, j.metadata, event, actorDecay, action)
	d.Uncounted = append(d.Uncounted, j.ids...)
}

// keep notes when to look again at what stays. Of what is kept although it is due, history says why.
func (d *decaying) keep(kept, notDue *judged) {
	for _, j := range []*judged{kept, notDue} {
		if len(j.ids) > 0 {
			d.Queue.Queue(`UPDATE memories m SET decay_due_at = x.next FROM unnest($2::uuid[], $3::timestamptz[]) x(id,
				next) WHERE m.tenant = $1 AND m.id = x.id`,
				d.Tenant, j.ids, j.next)
		}
	}
	if len(kept.ids) > 0 {
		d.Queue.Queue(`INSERT INTO memory_history (tenant, id, memory_id, event, changed_by, reason, metadata,
			created_at, action)
			SELECT $1, x.entry, x.id, 'none', $6, x.reason, x.metadata, $7, 'keep'
			FROM unnest($2::uuid[], $3::uuid[], $4::text[], $5::jsonb[]) x(id, entry, reason, metadata)`,
			d.Tenant, kept.ids, pg.NewIDs(len(kept.ids)), kept.reasons, kept.metadata, actorDecay, d.Now)
	}
}

// DecayOutlook is what falls due of a tenant's, and when.
type DecayOutlook struct {
	Due     int64      `json:"due"`              // now; counting ends at PreviewLimit
	Soon    int64      `json:"soon"`             // within the day after now, likewise
	Oldest  *time.Time `json:"oldest,omitempty"` // when what has been due for longest fell due
	NextDue *time.Time `json:"next_due,omitempty"`
}

// DecayOutlook counts what a sweep would look at now and within the next day.
func (s *Sweeping) DecayOutlook(ctx context.Context, tenant string, now time.Time) (DecayOutlook, error) {
	ctx = pg.WithClass(ctx, pg.ClassLong)
	var out DecayOutlook
	err := s.Read(ctx, tenant, func(tx pgx.Tx) error {
		const due = `FROM memories WHERE tenant = $1 AND live AND decay_due_at IS NOT NULL AND decay_due_at `
		return tx.QueryRow(ctx, `SELECT (SELECT count(*) FROM (SELECT `+due+`<= $2 LIMIT $4) x),
			(SELECT count(*) FROM (SELECT `+due+`> $2 AND decay_due_at <= $3 LIMIT $4) x),
			(SELECT min(decay_due_at) `+due+`<= $2), (SELECT min(decay_due_at) `+due+`> $2)`, tenant, now,
			now.Add(24*time.Hour), PreviewLimit).
			Scan(&out.Due, &out.Soon, &out.Oldest, &out.NextDue)
	})
	if err != nil {
		return DecayOutlook{}, fmt.Errorf("look ahead at decay: %w", err)
	}
	return out, nil
}
