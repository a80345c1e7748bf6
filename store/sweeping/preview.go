package sweeping

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/mneme/mneme/memory/lifecycle"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/store/commit"
	"github.com/mneme/mneme/store/forgetting"
	"github.com/mneme/mneme/store/pg"
)

// agedHistory is the condition of history rows h that would go, created before $2, of no memory of a world for
// which stays holds, and of none that has one of the links $4: as mneme_purge_history has it.
func agedHistory(stays string) string {
	return `FROM memory_history h WHERE h.tenant = $1 AND h.created_at < $2
	AND NOT EXISTS (SELECT FROM memories m WHERE m.tenant = h.tenant AND m.id = h.memory_id AND m.world_id IS NOT NULL
		AND ` + stays + `)
	AND NOT EXISTS (SELECT FROM memory_relations r WHERE r.tenant = h.tenant AND r.source_id = h.memory_id
		AND r.predicate = ANY($4)
		UNION ALL SELECT FROM memory_relations r WHERE r.tenant = h.tenant AND r.target_id = h.memory_id
		AND r.predicate = ANY($4))`
}

// retentionVolumes counts what would go of memories and, where its window was shortened, of history. What is over by
// the documents' windows is over: a tenant that was not used for half a year has no history left, and that is as it
// should be.
func retentionVolumes(ctx context.Context, c *commit.Change, rules lifecycle.RetentionRules,
	share float64) ([]volume, error) {
	memories, history := volume{Question: schema.SweepRetention}, volume{Question: schema.SweepHistory}
	if w := windowsOf(rules, c.Now); len(w.before) > 0 {
		t := &memories
		err := c.Tx.QueryRow(ctx, `SELECT coalesce((SELECT docs FROM corpus_stats WHERE tenant = $1), 0)
			+ (SELECT count(*) FROM memories WHERE tenant = $1 AND deleted_at IS NOT NULL AND erased_at IS NULL
				AND retained_at IS NULL AND purging_at IS NULL)`, c.Tenant).Scan(&t.Stored)
		if err != nil {
			return nil, err
		}
		err = c.Tx.QueryRow(ctx, `SELECT count(*) FROM (SELECT `+expired+` AND w.purge
			AND NOT `+forgetting.ActionLinked("$9")+` LIMIT $8) x`,
			append(w.args(c.Tenant), lifecycle.SweepAllowance(t.Stored, share)+1,
				lifecycle.ActionLinks)...).Scan(&t.Would)
		if err != nil {
			return nil, err
		}
	}
	policy := rules.For(schema.RetainHistory, schema.Any, schema.Any)
	before, ends := lifecycle.ExpiredBefore(policy, c.Now)
	if ends && time.Duration(policy.KeepSeconds)*time.Second < lifecycle.HistoryWindow {
		t := &history
		if err := c.Tx.QueryRow(ctx, `SELECT count(*) FROM memory_history WHERE tenant = $1`,
			c.Tenant).Scan(&t.Stored); err != nil {
			return nil, err
		}
		// A tombstone of a world goes ahead of its history in the same run, if its policy says so and its window is
		// over.
		w := windowsOf(rules, c.Now)
		const stays = `(m.erased_at IS NOT NULL OR m.purging_at IS NULL
			AND (m.deleted_at IS NULL OR m.retained_at IS NOT NULL OR NOT EXISTS (
			SELECT FROM unnest($5::boolean[], $6::text[], $7::text[], $8::timestamptz[], $9::boolean[]) w(world, tier,
				typology, before, purge)
			WHERE w.world AND w.purge AND w.tier = m.tier AND w.typology = m.typology AND m.deleted_at <= w.before)))`
		err := c.Tx.QueryRow(ctx, `SELECT count(*) FROM (SELECT `+agedHistory(stays)+` LIMIT $3) x`,
			c.Tenant, before, lifecycle.SweepAllowance(t.Stored, share)+1, lifecycle.ActionLinks, w.world, w.tiers,
			w.typologies, w.before, w.purge).Scan(&t.Would)
		if err != nil {
			return nil, err
		}
	}
	return []volume{memories, history}, nil
}

// PurgePreview is what a run would remove of a tenant now, by step: of ingest, batches. Counting ends at PreviewLimit.
type PurgePreview struct {
	Tenant string                     `json:"tenant"`
	Would  map[schema.PurgeStep]int64 `json:"would"`
	// Archived is how many tombstones would stay for good.
	Archived int64 `json:"archived"`
	// the first question that the run would ask, and that is not answered yet
	Held *schema.SweepHold `json:"held,omitempty"`
}

// PreviewLimit is where a preview stops to count.
const PreviewLimit = 100_000

// PreviewPurge counts what a run would do to a tenant, and changes nothing.
func (s *Sweeping) PreviewPurge(ctx context.Context, tenant string, share float64,
	now time.Time) (PurgePreview, error) {
	ctx = pg.WithClass(ctx, pg.ClassLong)
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
				dying AS (SELECT id FROM going WHERE purge UNION ALL SELECT id FROM memories m WHERE m.tenant = $1
					AND m.purging_at IS NOT NULL AND m.erased_at IS NULL) `
			args := append(w.args(tenant), PreviewLimit, lifecycle.ActionLinks)
			for step, query := range map[schema.PurgeStep]string{
				lifecycle.PurgeTombstones: `SELECT count(*) FROM dying`,
				lifecycle.PurgeEmbeddings: `SELECT count(*) FROM dying d JOIN memory_embeddings x ON x.tenant = $1
					AND x.memory_id = d.id`,
				lifecycle.PurgeGraphLinks: `SELECT (SELECT count(*) FROM dying d
					JOIN memory_entity_mentions x ON x.tenant = $1 AND x.memory_id = d.id)
					+ (SELECT count(*) FROM dying d JOIN memory_entity_relations x ON x.tenant = $1
						AND x.memory_id = d.id)
					+ (SELECT count(*) FROM dying d JOIN entity_claims x ON x.tenant = $1 AND x.memory_id = d.id)`,
			} {
				if err := count(step, going+query, args...); err != nil {
					return err
				}
			}
			if err := tx.QueryRow(ctx, going+`SELECT count(*) FROM going WHERE NOT purge`,
				args...).Scan(&out.Archived); err != nil {
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
			{lifecycle.PurgeJobsCompleted, of(schema.RetainJobsCompleted), `SELECT FROM jobs WHERE tenant = $1
				AND state = 'completed' AND finished_at < $2` + unused},
			{lifecycle.PurgeJobsDead, of(schema.RetainJobsDead), `SELECT FROM jobs WHERE tenant = $1 AND state = 'dead'
				AND finished_at < $2` + unused},
			{lifecycle.PurgeRetrievals, of(schema.RetainRetrievals), `SELECT FROM retrievals WHERE tenant = $1
				AND created_at < $2` + unused},
			{lifecycle.PurgeVersions, of(schema.RetainHistory), `SELECT ` + agedVersions},
			{lifecycle.PurgeIngest, of(schema.RetainIngest), `SELECT FROM ingest_batches b WHERE b.tenant = $1
				AND b.created_at < $2 AND ` + settledBatch + unused},
			{lifecycle.PurgeForgetRuns, of(schema.RetainForgetRuns), `SELECT FROM forget_runs WHERE tenant = $1
				AND created_at < $2
				AND coalesce(finished_at, confirmed_at, expires_at) < $2` + unused},
			{lifecycle.PurgeEvents, of(schema.RetainEvents), `SELECT FROM events WHERE tenant = $1
				AND recorded_at < $2` + unused},
			{lifecycle.PurgeOperations, rules.Keys(), `SELECT FROM operations WHERE tenant = $1 AND created_at < $2` +
				unused},
			{lifecycle.PurgeArtifacts, of(schema.RetainArtifacts), `SELECT ` + agedArtifacts + unused},
			{lifecycle.PurgePolicyChanges, of(schema.RetainHistory), `SELECT FROM retention_policy_changes
				WHERE tenant = $1 AND changed_at < $2` + unused},
			{lifecycle.PurgeSweepRuns, of(schema.RetainJobsCompleted), `SELECT FROM sweep_runs WHERE tenant = $1
				AND sweep IN ('decay', 'retention') AND started_at < $2` + unused},
		} {
			before, ends := lifecycle.ExpiredBefore(aged.policy, now.UTC())
			if !ends {
				continue
			}
			if err := count(aged.step, `SELECT count(*) FROM (`+aged.query+` LIMIT $3) x`, tenant, before, PreviewLimit,
				lifecycle.ActionLinks); err != nil {
				return err
			}
		}
		c := commit.Change{Tx: tx, Tenant: tenant, Now: now.UTC()}
		takes, err := retentionVolumes(ctx, &c, rules, share)
		if err != nil {
			return err
		}
		for _, t := range takes {
			if out.Held != nil || !t.tooMuch(share) {
				continue
			}
			var answered bool
			if err := tx.QueryRow(ctx, `SELECT EXISTS (SELECT FROM sweep_holds WHERE tenant = $1 AND sweep = $2
				AND admitted > 0)`, tenant, t.Question).Scan(&answered); err != nil {
				return err
			}
			if !answered {
				out.Held = &schema.SweepHold{Tenant: tenant, Sweep: t.Question, WouldTake: t.Would, Stored: t.Stored,
					Share: share}
			}
		}
		return nil
	})
	if err != nil {
		return PurgePreview{}, fmt.Errorf("preview purge: %w", err)
	}
	return out, nil
}
