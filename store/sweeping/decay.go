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

// actorDecay is the actor in history when a memory decays.
const actorDecay = "decay"

// DecayInput is a request for one batch of due memories.
type DecayInput struct {
	Tenant string
	Run    string           // the run whose counts are kept
	Rules  string           // SweepStart.Rules; empty: those in force
	After  schema.DueCursor // end of the previous batch; zero at the start
	Until  time.Time        // memories due by then; the start of the run, so that the run ends
	Limit  int
	Now    time.Time
}

// DecayBatch is the result of one batch.
type DecayBatch struct {
	Pruned   int              `json:"pruned"`
	Archived int              `json:"archived"`
	Kept     int              `json:"kept"`
	NotDue   int              `json:"not_due"` // their stored due time was out of date and is corrected
	Next     schema.DueCursor `json:"next"`
	More     bool             `json:"more"` // there may be more after Next
}

// decayVolumes counts the live memories that a sweep would remove: those that are due, without those that stay.
func decayVolumes(ctx context.Context, c *commit.Change, rules lifecycle.RetentionRules,
	share float64) ([]volume, error) {
	t := volume{Question: schema.SweepDecay}
	err := c.Tx.QueryRow(ctx, `SELECT coalesce((SELECT docs FROM corpus_stats WHERE tenant = $1), 0)`,
		c.Tenant).Scan(&t.Stored)
	if err != nil {
		return nil, err
	}
	stays := stayingOf(rules)
	err = c.Tx.QueryRow(ctx, countDue, pg.Args{
		"tenant":           c.Tenant,
		"now":              c.Now,
		"limit":            lifecycle.SweepAllowance(t.Stored, share) + 1,
		"kept_policy":      lifecycle.KeptPolicy,
		"stays_world":      stays.world,
		"stays_tier":       stays.tiers,
		"stays_typology":   stays.typologies,
		"stays_when_valid": stays.whileValid,
	}).Scan(&t.Would)
	return []volume{t}, err
}

// countDue counts the due memories that lifecycle.JudgeDue would remove. Its arguments give the rule: the deletion
// policies and the classes of memories that stay, always or while they are valid.
const countDue = `
	SELECT count(*)
	FROM (
		SELECT
		FROM memories m
		WHERE m.tenant = @tenant AND m.live AND m.decay_due_at IS NOT NULL AND m.decay_due_at <= @now
			AND m.deletion_policy <> @kept_policy
			AND NOT EXISTS (
				SELECT
				FROM unnest(@stays_world::boolean[], @stays_tier::text[], @stays_typology::text[],
					@stays_when_valid::boolean[]) x(world, tier, typology, when_valid)
				WHERE x.world = (m.world_id IS NOT NULL) AND x.tier = m.tier AND x.typology = m.typology
					AND (NOT x.when_valid OR coalesce(m.valid_until, 'infinity') > @now))
		LIMIT @limit) due`

// staying holds the classes of memories that decay does not remove, as columns.
type staying struct {
	world      []bool
	tiers      []string
	typologies []string
	whileValid []bool // only as long as the memory is valid
}

func stayingOf(rules lifecycle.RetentionRules) staying {
	var s staying
	for _, d := range []schema.RetentionDomain{schema.RetainMemory, schema.RetainWorld} {
		for _, class := range lifecycle.RetentionClasses(d) {
			exempt := rules.For(d, class.Tier, class.Typology).DecayExempt
			if !exempt && !lifecycle.StaysWhileValid(d, class.Tier, class.Typology) {
				continue
			}
			s.world, s.tiers = append(s.world, d == schema.RetainWorld), append(s.tiers, string(class.Tier))
			s.typologies = append(s.typologies, string(class.Typology))
			s.whileValid = append(s.whileValid, !exempt)
		}
	}
	return s
}

// DecayBatch applies lifecycle.JudgeDue to the next due memories, in one transaction, with a history row for each.
// It reads only due memories. Memories that another change has locked, or that a pipeline still processes, are left
// to the next run. A repeated batch handles what is left, if anything.
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

// decaying is the state of one batch.
type decaying struct {
	*commit.Change
	in  DecayInput
	out *DecayBatch
}

// dueMemory is a due memory, locked.
type dueMemory struct {
	lifecycle.Decayed
	ID    uuid.UUID
	DueAt time.Time
	busy  bool // a pipeline still works on it
}

// dueRow is a dueMemory as it is stored.
type dueRow struct {
	ID                uuid.UUID
	DecayDueAt        time.Time
	Tier              schema.Tier
	Typology          schema.Typology
	Pinned            bool
	DeletionPolicy    schema.DeletionPolicy
	World             bool
	ValidUntil        *time.Time
	CreatedAt         time.Time
	DecayCurve        schema.DecayCurve
	HalfLife          time.Duration
	MinSalience       float64
	MaxAge            *time.Duration
	DecayFloor        float64
	ReinforcementGain float64
	DecayPoints       []schema.DecayPoint
	Salience          float64
	SalienceAt        time.Time
}

// dueColumns are the columns of a dueRow, from memories m.
const dueColumns = `m.id, m.decay_due_at, m.tier, m.typology, m.pinned, m.deletion_policy,
	m.world_id IS NOT NULL AS world,
	m.valid_until, m.created_at,
	m.decay_curve, m.half_life, m.min_salience, m.max_age, m.decay_floor, m.reinforcement_gain, m.decay_points,
	m.salience, m.salience_at`

// memory returns the row as the input of lifecycle.JudgeDue, without its links.
func (r dueRow) memory() dueMemory {
	decay := memory.Decay{Curve: r.DecayCurve, HalfLife: r.HalfLife, MinSalience: r.MinSalience, Floor: r.DecayFloor,
		ReinforcementGain: r.ReinforcementGain, Points: memory.DecayPoints(r.DecayPoints)}
	if r.MaxAge != nil {
		decay.MaxAge = *r.MaxAge
	}
	return dueMemory{ID: r.ID, DueAt: r.DecayDueAt, Decayed: lifecycle.Decayed{
		Tier:           r.Tier,
		Typology:       r.Typology,
		Pinned:         r.Pinned,
		DeletionPolicy: r.DeletionPolicy,
		World:          r.World,
		ValidUntil:     r.ValidUntil,
		CreatedAt:      r.CreatedAt,
		Decay:          decay,
		Salience:       r.Salience,
		SalienceAt:     r.SalienceAt,
	}}
}

// judged holds the memories of a batch with the same outcome, as columns.
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
		v := lifecycle.JudgeDue(m.Decayed, rules.For(m.Domain(), m.Tier, m.Typology), d.in.Until)
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

// dueNext selects the next due memories, oldest first.
const dueNext = `
		FROM memories m
		WHERE m.tenant = @tenant AND m.live AND m.decay_due_at IS NOT NULL AND m.decay_due_at <= @until
			AND (m.decay_due_at, m.id) > (@after_due_at, @after_id)
		ORDER BY m.decay_due_at, m.id
		LIMIT @limit`

// due locks the next due memories, oldest first, and the parties of their contests.
func (d *decaying) due(ctx context.Context, limit int) ([]dueMemory, error) {
	next := pg.Args{
		"tenant":       d.Tenant,
		"until":        d.in.Until,
		"after_due_at": d.in.After.DueAt,
		"after_id":     d.in.After.ID,
		"limit":        limit,
	}
	// The others are skipped if they are locked, so their order does not matter.
	expected, err := commit.Values[uuid.UUID](ctx, d.Tx, `SELECT m.id`+dueNext, next)
	if err != nil {
		return nil, err
	}
	if err := d.LockContests(ctx, expected); err != nil {
		return nil, err
	}
	rows, err := d.Tx.Query(ctx, `SELECT `+dueColumns+dueNext+` FOR UPDATE OF m SKIP LOCKED`, next)
	if err != nil {
		return nil, err
	}
	found, err := pgx.CollectRows(rows, pgx.RowToStructByName[dueRow])
	if err != nil || len(found) == 0 {
		return nil, err
	}
	due, ids := make([]dueMemory, len(found)), make([]uuid.UUID, len(found))
	for i, row := range found {
		due[i], ids[i] = row.memory(), row.ID
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

// inPipeline returns which of the locked memories a pipeline still works on.
func (d *decaying) inPipeline(ctx context.Context, ids []uuid.UUID) (map[uuid.UUID]bool, error) {
	return d.IdSet(ctx, `
		SELECT memory_id
		FROM jobs
		WHERE tenant = @tenant AND kind = 'ingest' AND memory_id = ANY(@memories)
			AND `+pg.JobIsOpen,
		pg.Args{"tenant": d.Tenant, "memories": ids})
}

// prune makes tombstones, as a soft deletion does (document 004 §15B: safe deletion via decay rather than hard
// loss).
func (d *decaying) prune(j *judged) {
	d.retire(j, prune, schema.EventDeleted, schema.AuditDelete)
}

// archive hides memories from all readers, without deleting them.
func (d *decaying) archive(j *judged) {
	d.retire(j, archive, schema.EventModified, schema.AuditArchive)
}

// Statements that end the life of memories by setting a time. History keeps the text of deleted memories.
var (
	prune   = retireSQL("deleted_at", "taken.content")
	archive = retireSQL("archived_at", "NULL")
)

// retireSQL renders one statement for a batch, so that it costs little more than the update itself.
func retireSQL(moment, oldContent string) string {
	return `
		WITH taken AS (
			UPDATE memories m
			SET ` + moment + ` = @now, decay_due_at = NULL, updated_at = @now, version = m.version + 1
			FROM unnest(@memories::uuid[], @entries::uuid[], @reasons::text[], @metadata::jsonb[])
				x(id, entry, reason, metadata)
			WHERE m.tenant = @tenant AND m.id = x.id
			RETURNING m.id, m.version, m.content, x.entry, x.reason, x.metadata
		), told AS (
			INSERT INTO memory_history (tenant, id, memory_id, event, old_content, changed_by, reason, metadata,
				created_at, action, version)
			SELECT @tenant, entry, id, @event, ` + oldContent + `, @actor, reason, metadata, @now, @action, version
			FROM taken
		)
		INSERT INTO index_outbox (tenant, memory_id, version, op, created_at)
		SELECT @tenant, id, version, 'delete', @now
		FROM taken`
}

// retire sets the time at which memories ceased to be live.
func (d *decaying) retire(j *judged, statement string, event schema.HistoryEvent, action schema.AuditAction) {
	if len(j.ids) == 0 {
		return
	}
	d.Queue.Queue(statement, pg.Args{
		"tenant":   d.Tenant,
		"memories": j.ids,
		"entries":  pg.NewIDs(len(j.ids)), // of history
		"reasons":  j.reasons,
		"metadata": j.metadata,
		"event":    event,
		"actor":    actorDecay,
		"action":   action,
		"now":      d.Now,
	})
	d.Uncounted = append(d.Uncounted, j.ids...)
}

// keep stores when the memories that stay are checked next. For memories that are due and stay, it also records the
// reason in history.
func (d *decaying) keep(kept, notDue *judged) {
	for _, j := range []*judged{kept, notDue} {
		if len(j.ids) > 0 {
			d.Queue.Queue(`
				UPDATE memories m
				SET decay_due_at = x.next
				FROM unnest(@memories::uuid[], @next::timestamptz[]) x(id, next)
				WHERE m.tenant = @tenant AND m.id = x.id`,
				pg.Args{"tenant": d.Tenant, "memories": j.ids, "next": j.next})
		}
	}
	if len(kept.ids) > 0 {
		d.Queue.Queue(`
			INSERT INTO memory_history (tenant, id, memory_id, event, changed_by, reason, metadata, created_at, action)
			SELECT @tenant, x.entry, x.id, 'none', @actor, x.reason, x.metadata, @now, 'keep'
			FROM unnest(@memories::uuid[], @entries::uuid[], @reasons::text[], @metadata::jsonb[])
				x(id, entry, reason, metadata)`,
			pg.Args{
				"tenant":   d.Tenant,
				"memories": kept.ids,
				"entries":  pg.NewIDs(len(kept.ids)), // of history
				"reasons":  kept.reasons,
				"metadata": kept.metadata,
				"actor":    actorDecay,
				"now":      d.Now,
			})
	}
}

// DecayOutlook is the number of a tenant's memories that are due now or soon.
type DecayOutlook struct {
	Due     int64      `json:"due"`              // now; counting ends at PreviewLimit
	Soon    int64      `json:"soon"`             // within the day after now, likewise
	Oldest  *time.Time `json:"oldest,omitempty"` // due time of the memory that has been due the longest
	NextDue *time.Time `json:"next_due,omitempty"`
}

// mayFallDue selects the tenant's memories that will be due at some time.
const mayFallDue = `FROM memories WHERE tenant = @tenant AND live AND decay_due_at IS NOT NULL`

const decayOutlook = `
	SELECT
		(SELECT count(*)
			FROM (SELECT ` + mayFallDue + ` AND decay_due_at <= @now LIMIT @limit) x) AS due,
		(SELECT count(*)
			FROM (SELECT ` + mayFallDue + ` AND decay_due_at > @now AND decay_due_at <= @soon LIMIT @limit) x) AS soon,
		(SELECT min(decay_due_at) ` + mayFallDue + ` AND decay_due_at <= @now) AS oldest,
		(SELECT min(decay_due_at) ` + mayFallDue + ` AND decay_due_at > @now) AS next_due`

// DecayOutlook counts what a sweep would check now and within the next day.
func (s *Sweeping) DecayOutlook(ctx context.Context, tenant string, now time.Time) (DecayOutlook, error) {
	ctx = pg.WithClass(ctx, pg.ClassLong)
	var out DecayOutlook
	err := s.Read(ctx, tenant, func(tx pgx.Tx) error {
		rows, err := tx.Query(ctx, decayOutlook, pg.Args{
			"tenant": tenant,
			"now":    now,
			"soon":   now.Add(24 * time.Hour),
			"limit":  PreviewLimit,
		})
		if err != nil {
			return err
		}
		out, err = pgx.CollectExactlyOneRow(rows, pgx.RowToStructByName[DecayOutlook])
		return err
	})
	if err != nil {
		return DecayOutlook{}, fmt.Errorf("look ahead at decay: %w", err)
	}
	return out, nil
}
