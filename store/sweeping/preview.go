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

// unprotected is the condition that a row of history or a version may be removed: its memory is not one of a world
// for which stays holds, and not action-linked. mneme_purge_history has the same condition for history.
func unprotected(row, stays string) string {
	return `NOT EXISTS (
			SELECT FROM memories m
			WHERE m.tenant = ` + row + `.tenant AND m.id = ` + row + `.memory_id AND m.world_id IS NOT NULL
				AND ` + stays + `)
		AND NOT ` + forgetting.ActionLinked(row, "memory_id")
}

// agedHistory selects the history rows h created before @before that a purge would remove: see unprotected.
func agedHistory(stays string) string {
	return `
	FROM memory_history h
	WHERE h.tenant = @tenant AND h.created_at < @before
		AND ` + unprotected("h", stays)
}

// countExpired counts the tombstones that a purge would delete. lifecycle.ExpiredTombstone archives action-linked
// ones.
var countExpired = `
	SELECT count(*)
	FROM (
		SELECT ` + expired + `
			AND w.purge
			AND NOT ` + forgetting.ActionLinked("m", "id") + `
		LIMIT @limit) x`

// countAgedHistory counts the history that a shortened window would remove. If a world's policy deletes its
// tombstones and their window is over, the run deletes them before their history.
var countAgedHistory = `
	SELECT count(*)
	FROM (
		SELECT ` + agedHistory(`(m.erased_at IS NOT NULL
				OR m.purging_at IS NULL AND (
					m.deleted_at IS NULL
					OR m.retained_at IS NOT NULL
					OR NOT EXISTS (
						SELECT
						FROM `+windowRows+`
						WHERE w.world AND w.purge AND w.tier = m.tier AND w.typology = m.typology
							AND m.deleted_at <= w.before)))`) + `
		LIMIT @limit) x`

// retentionVolumes counts the memories that a purge would remove and, if the window of history was shortened, the
// history. Data past the documents' own windows does not count: a tenant that was not used for half a year is
// expected to have no history left.
func retentionVolumes(ctx context.Context, c *commit.Change, rules lifecycle.RetentionRules,
	share float64) ([]volume, error) {
	memories, history := volume{Question: schema.SweepRetention}, volume{Question: schema.SweepHistory}
	if w := windowsOf(rules, c.Now); len(w.before) > 0 {
		t := &memories
		err := c.Tx.QueryRow(ctx, `
			SELECT coalesce((SELECT docs FROM corpus_stats WHERE tenant = $1), 0) + (
				SELECT count(*)
				FROM memories
				WHERE tenant = $1 AND deleted_at IS NOT NULL AND erased_at IS NULL
					AND retained_at IS NULL AND purging_at IS NULL)`, c.Tenant).Scan(&t.Stored)
		if err != nil {
			return nil, err
		}
		err = c.Tx.QueryRow(ctx, countExpired, w.args(pg.Args{
			"tenant":       c.Tenant,
			"last_before":  w.last,
			"action_links": lifecycle.ActionLinks,
			"limit":        lifecycle.SweepAllowance(t.Stored, share) + 1,
		})).Scan(&t.Would)
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
		err := c.Tx.QueryRow(ctx, countAgedHistory, windowsOf(rules, c.Now).args(pg.Args{
			"tenant":       c.Tenant,
			"before":       before,
			"action_links": lifecycle.ActionLinks,
			"limit":        lifecycle.SweepAllowance(t.Stored, share) + 1,
		})).Scan(&t.Would)
		if err != nil {
			return nil, err
		}
	}
	return []volume{memories, history}, nil
}

// PurgePreview counts what a run would remove of a tenant now, by step; the step ingest counts batches. Counting
// ends at PreviewLimit.
type PurgePreview struct {
	Tenant string                     `json:"tenant"`
	Would  map[schema.PurgeStep]int64 `json:"would"`
	// Archived is the number of tombstones that would be archived permanently.
	Archived int64 `json:"archived"`
	// Held is the first unanswered question of the run.
	Held *schema.SweepHold `json:"held,omitempty"`
}

// PreviewLimit is the number at which a preview stops counting.
const PreviewLimit = 100_000

// PreviewPurge counts what a run would remove of a tenant, without changing anything.
func (s *Sweeping) PreviewPurge(ctx context.Context, tenant string, share float64,
	now time.Time) (PurgePreview, error) {
	ctx = pg.WithClass(ctx, pg.ClassLong)
	out := PurgePreview{Tenant: tenant, Would: map[schema.PurgeStep]int64{}}
	err := s.Read(ctx, tenant, func(tx pgx.Tx) error {
		rules, err := RetentionRules(ctx, tx, tenant)
		if err != nil {
			return err
		}
		if err := out.countTombstones(ctx, tx, rules, now.UTC()); err != nil {
			return err
		}
		if err := out.countAged(ctx, tx, rules, now.UTC()); err != nil {
			return err
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
			err := tx.QueryRow(ctx, `
				SELECT EXISTS (
					SELECT FROM sweep_holds
					WHERE tenant = @tenant AND sweep = @sweep AND admitted > 0)`,
				pg.Args{"tenant": tenant, "sweep": t.Question}).Scan(&answered)
			if err != nil {
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

// goingTombstones defines two tables. going has the tombstones whose window is over, and whether each would be
// deleted. dying has the tombstones to delete: those of going, and those that are marked already.
// lifecycle.ExpiredTombstone archives action-linked ones.
var goingTombstones = `
	WITH going AS (
		SELECT m.id, w.purge AND NOT ` + forgetting.ActionLinked("m", "id") + ` AS purge ` + expired + `
		LIMIT @limit
	), dying AS (
		SELECT id
		FROM going
		WHERE purge
		UNION ALL
		SELECT id
		FROM memories m
		WHERE m.tenant = @tenant AND m.purging_at IS NOT NULL AND m.erased_at IS NULL
	)`

// countTombstones counts the tombstones whose window is over, and the dependent rows of those that would be
// deleted.
func (p *PurgePreview) countTombstones(ctx context.Context, tx pgx.Tx, rules lifecycle.RetentionRules,
	now time.Time) error {
	w := windowsOf(rules, now)
	if len(w.before) == 0 {
		return nil
	}
	args := w.args(pg.Args{
		"tenant":       p.Tenant,
		"last_before":  w.last,
		"action_links": lifecycle.ActionLinks,
		"limit":        PreviewLimit,
	})
	for step, query := range map[schema.PurgeStep]string{
		lifecycle.PurgeTombstones: `SELECT count(*) FROM dying`,
		lifecycle.PurgeEmbeddings: `
			SELECT count(*)
			FROM dying d
			JOIN memory_embeddings x ON x.tenant = @tenant AND x.memory_id = d.id`,
		lifecycle.PurgeGraphLinks: `
			SELECT (
				SELECT count(*)
				FROM dying d
				JOIN memory_entity_mentions x ON x.tenant = @tenant AND x.memory_id = d.id
			) + (
				SELECT count(*)
				FROM dying d
				JOIN entity_relation_sources x ON x.tenant = @tenant AND x.memory_id = d.id
			) + (
				SELECT count(*)
				FROM dying d
				JOIN entity_claims x ON x.tenant = @tenant AND x.memory_id = d.id
			)`,
	} {
		if err := p.count(ctx, tx, step, goingTombstones+` `+query, args); err != nil {
			return err
		}
	}
	return tx.QueryRow(ctx, goingTombstones+` SELECT count(*) FROM going WHERE NOT purge`, args).Scan(&p.Archived)
}

// agedRows describes what one step of a purge would remove by age.
type agedRows struct {
	step   schema.PurgeStep
	policy schema.RetentionPolicy
	rows   string // selects the expired rows, those before @before
	linked bool   // action-linked memories stay, so @action_links is needed
}

// countAged counts the rows that a purge would remove by age.
func (p *PurgePreview) countAged(ctx context.Context, tx pgx.Tx, rules lifecycle.RetentionRules, now time.Time) error {
	of := func(d schema.RetentionDomain) schema.RetentionPolicy { return rules.For(d, schema.Any, schema.Any) }
	for _, aged := range []agedRows{
		{step: lifecycle.PurgeHistory, policy: of(schema.RetainHistory), rows: agedHistory(`true`), linked: true},
		{step: lifecycle.PurgeJobsCompleted, policy: of(schema.RetainJobsCompleted), rows: `
			FROM jobs
			WHERE tenant = @tenant AND state = 'completed' AND finished_at < @before`},
		{step: lifecycle.PurgeJobsDead, policy: of(schema.RetainJobsDead), rows: `
			FROM jobs
			WHERE tenant = @tenant AND state = 'dead' AND finished_at < @before`},
		{step: lifecycle.PurgeRetrievals, policy: of(schema.RetainRetrievals), rows: `
			FROM retrievals
			WHERE tenant = @tenant AND created_at < @before`},
		{step: lifecycle.PurgeVersions, policy: of(schema.RetainHistory), rows: agedVersions, linked: true},
		{step: lifecycle.PurgeIngest, policy: of(schema.RetainIngest), rows: `
			FROM ingest_batches b
			WHERE b.tenant = @tenant AND b.created_at < @before AND ` + settledBatch},
		{step: lifecycle.PurgeForgetRuns, policy: of(schema.RetainForgetRuns), rows: `
			FROM (
				SELECT FROM forget_runs WHERE ` + endedRun + `
				UNION ALL
				SELECT FROM removals WHERE tenant = @tenant AND removed_at < @before) x`},
		{step: lifecycle.PurgeEvents, policy: of(schema.RetainEvents), rows: `
			FROM events e
			WHERE e.tenant = @tenant AND e.recorded_at < @before AND ` + freeEvent},
		{step: lifecycle.PurgeOperations, policy: rules.Keys(), rows: `
			FROM operations
			WHERE tenant = @tenant AND created_at < @before`},
		{step: lifecycle.PurgeArtifacts, policy: of(schema.RetainArtifacts), rows: agedArtifacts},
		{step: lifecycle.PurgePolicyChanges, policy: of(schema.RetainHistory), rows: `
			FROM retention_policy_changes
			WHERE tenant = @tenant AND changed_at < @before`},
		{step: lifecycle.PurgeSweepRuns, policy: of(schema.RetainJobsCompleted), rows: `
			FROM sweep_runs
			WHERE tenant = @tenant AND sweep IN ('decay', 'retention') AND started_at < @before`},
	} {
		before, ends := lifecycle.ExpiredBefore(aged.policy, now)
		if !ends {
			continue
		}
		args := pg.Args{"tenant": p.Tenant, "before": before, "limit": PreviewLimit}
		if aged.linked {
			args["action_links"] = lifecycle.ActionLinks
		}
		query := `SELECT count(*) FROM (SELECT ` + aged.rows + ` LIMIT @limit) x`
		if err := p.count(ctx, tx, aged.step, query, args); err != nil {
			return err
		}
	}
	return nil
}

// count adds the result of a query to the count of a step.
func (p *PurgePreview) count(ctx context.Context, tx pgx.Tx, step schema.PurgeStep, query string,
	args pg.Args) error {
	var n int64
	if err := tx.QueryRow(ctx, query, args).Scan(&n); err != nil {
		return fmt.Errorf("%s: %w", step, err)
	}
	p.Would[step] = n
	return nil
}
