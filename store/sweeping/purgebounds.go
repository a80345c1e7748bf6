package sweeping

import (
	"context"
	"encoding/hex"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/mneme/mneme/memory/lifecycle"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/store/forgetting"
	"github.com/mneme/mneme/store/pg"
)

// Statements of purges by age. Parameters: the tenant, the time before which a row is over, and the limit.
const (
	purgeRetrievals = `
		WITH old AS (
			SELECT id FROM retrievals WHERE tenant = $1 AND created_at < $2 ORDER BY created_at, id LIMIT $3),
		gone AS (DELETE FROM retrievals r USING old WHERE r.tenant = $1 AND r.id = old.id RETURNING 1)
		SELECT count(*) FROM gone`
	purgeSweepRuns = `
		WITH old AS (
			SELECT id FROM sweep_runs WHERE tenant = $1 AND sweep IN ('decay', 'retention') AND started_at < $2
			LIMIT $3 FOR UPDATE SKIP LOCKED),
		gone AS (DELETE FROM sweep_runs r USING old WHERE r.tenant = $1 AND r.id = old.id RETURNING 1)
		SELECT count(*) FROM gone`
	// The parameter for the tenant is named for its type: the function reads the tenant of the transaction.
	purgeEvents        = `SELECT mneme_purge_events($2, $3) WHERE $1::text IS NOT NULL`
	purgePolicyChanges = `SELECT mneme_purge_policy_changes($2, $3) WHERE $1::text IS NOT NULL`
)

// scanFactor is how many rows a page looks at for each that it may remove. What stays, of worlds, of what was done or
// of what is still needed, may be most of a table: no statement goes through all of it.
const scanFactor = 20

// scannedRow is a row that a page has looked at, in the order of an index by age.
type scannedRow struct {
	At      time.Time
	ID      uuid.UUID
	Key     string // in place of the id
	Version int
	Goes    bool
}

// page looks at the next rows after the run's position, which the query gives in order, scanFactor times the limit at
// most. It returns those that are to go, up to the limit, and notes the row after which the next page begins.
func (p *purging) page(ctx context.Context, query string, args ...any) ([]scannedRow, error) {
	rows, err := pg.Collect[scannedRow](ctx, p.Tx, query, args...)
	if err != nil || len(rows) == 0 {
		return nil, err
	}
	var going []scannedRow
	last := 0
	for i, row := range rows {
		if last = i; row.Goes {
			going = append(going, row)
		}
		if len(going) == p.in.Limit {
			break
		}
	}
	p.out.Next = schema.HistoryCursor{CreatedAt: rows[last].At, ID: rows[last].ID, Key: rows[last].Key,
		Version: rows[last].Version}
	p.out.More = last < len(rows)-1 || len(rows) >= p.in.Limit*scanFactor
	return going, nil
}

// versions removes earlier versions of memories that ended before the history's window. Those of a world's memories,
// and of what is linked to an action, stay as their history does.
func (p *purging) versions(ctx context.Context) error {
	before, ends := lifecycle.ExpiredBefore(p.rules.For(schema.RetainHistory, schema.Any, schema.Any), p.in.At)
	if !ends {
		return nil
	}
	after := p.in.After
	going, err := p.page(ctx, `SELECT v.until, v.memory_id, '' AS key, v.version, `+freeVersion+` FROM memory_versions v
		WHERE v.tenant = $1 AND v.until < $2 AND (v.until, v.memory_id, v.version) > ($3, $5, $6)
		ORDER BY v.until, v.memory_id, v.version LIMIT $7`,
		p.Tenant, before, after.CreatedAt, lifecycle.ActionLinks, after.ID, after.Version, p.in.Limit*scanFactor)
	if err != nil || len(going) == 0 {
		return err
	}
	ids, versions := make([]uuid.UUID, len(going)), make([]int32, len(going))
	for i, row := range going {
		ids[i], versions[i] = row.ID, int32(row.Version)
	}
	tag, err := p.Tx.Exec(ctx, `DELETE FROM memory_versions v USING unnest($2::uuid[], $3::integer[]) old(memory_id,
		version)
		WHERE v.tenant = $1 AND v.memory_id = old.memory_id AND v.version = old.version AND `+freeVersion,
		p.Tenant, ids, versions, lifecycle.ActionLinks)
	p.removed(int(tag.RowsAffected()))
	return err
}

// freeVersion says of a version v that it may go: it is of no memory of a world, and of none with one of the links $4.
// agedVersions is the condition of those that would go, ended before $2, as agedHistory has it.
const (
	freeVersion = `(NOT EXISTS (SELECT FROM memories m WHERE m.tenant = v.tenant AND m.id = v.memory_id
	AND m.world_id IS NOT NULL)
	AND NOT EXISTS (
		SELECT FROM memory_relations r WHERE r.tenant = v.tenant AND r.source_id = v.memory_id AND r.predicate = ANY($4)
		UNION ALL
		SELECT FROM memory_relations r WHERE r.tenant = v.tenant AND r.target_id = v.memory_id
		AND r.predicate = ANY($4)))`
	agedVersions = `FROM memory_versions v WHERE v.tenant = $1 AND v.until < $2 AND ` + freeVersion
)

// operations removes idempotency keys. A key stays while its batch does: a batch may wait for a review longer than its
// window.
func (p *purging) operations(ctx context.Context) error {
	before, ends := lifecycle.ExpiredBefore(p.rules.Keys(), p.in.At)
	if !ends {
		return nil
	}
	const none = `'00000000-0000-0000-0000-000000000000'::uuid`
	going, err := p.page(ctx, `SELECT o.created_at, `+none+` AS no_id, o.id, 0 AS version, NOT (o.kind = 'ingest'
		AND EXISTS (
			SELECT FROM ingest_batches b WHERE b.tenant = o.tenant AND b.id = (o.result->>'batch_id')::uuid))
		FROM operations o WHERE o.tenant = $1 AND o.created_at < $2 AND (o.created_at, o.id) > ($3, $4)
		ORDER BY o.created_at, o.id LIMIT $5`,
		p.Tenant, before, p.in.After.CreatedAt, p.in.After.Key, p.in.Limit*scanFactor)
	if err != nil || len(going) == 0 {
		return err
	}
	keys := make([]string, len(going))
	for i, row := range going {
		keys[i] = row.Key
	}
	tag, err := p.Tx.Exec(ctx, `DELETE FROM operations WHERE tenant = $1 AND id = ANY($2)`, p.Tenant, keys)
	p.removed(int(tag.RowsAffected()))
	return err
}

// settledBatch says of a batch b that nothing needs it any more: it has no jobs, which have windows of their own, and
// no proposal that waits for a review. Without a job, nothing decides or writes a proposal.
const settledBatch = `NOT EXISTS (SELECT FROM jobs j WHERE j.tenant = b.tenant AND j.batch_id = b.id)
	AND NOT EXISTS (
		SELECT FROM proposals p WHERE p.tenant = b.tenant AND p.batch_id = b.id
			AND ` + pg.WaitsForReview + `)`

// ingest removes proposals, candidates and batches, in this order, of the batches that are over. A page of batches is
// gone through until nothing of it is left that may go; then the next one.
func (p *purging) ingest(ctx context.Context) error {
	before, ends := lifecycle.ExpiredBefore(p.rules.For(schema.RetainIngest, schema.Any, schema.Any), p.in.At)
	if !ends {
		return nil
	}
	type batch struct {
		ID        uuid.UUID
		CreatedAt time.Time
		Settled   bool
	}
	page, err := pg.Collect[batch](ctx, p.Tx, `SELECT b.id, b.created_at, `+settledBatch+` FROM ingest_batches b
		WHERE b.tenant = $1 AND b.created_at < $2 AND (b.created_at, b.id) > ($3, $4) ORDER BY b.created_at, b.id
		LIMIT $5`,
		p.Tenant, before, p.in.After.CreatedAt, p.in.After.ID, p.in.Limit)
	if err != nil || len(page) == 0 {
		return err
	}
	var settled []uuid.UUID
	for _, b := range page {
		if b.Settled {
			settled = append(settled, b.ID)
		}
	}
	left := p.in.Limit
	if len(settled) > 0 {
		if left, err = p.batches(ctx, settled, left); err != nil {
			return err
		}
	}
	p.out.Next = p.in.After
	if left > 0 { // nothing of the page is left to remove
		last := page[len(page)-1]
		p.out.Next, p.out.More = schema.HistoryCursor{CreatedAt: last.CreatedAt, ID: last.ID}, len(page) == p.in.Limit
	}
	return nil
}

// batches removes what is below batches, and then them, so many rows at most, and returns how many more it might.
// Candidates are locked ahead of proposals, as pipelines and forgetting lock them.
func (p *purging) batches(ctx context.Context, settled []uuid.UUID, left int) (int, error) {
	candidates, err := p.lockIDs(ctx, `SELECT id FROM memory_candidates WHERE tenant = $1 AND batch_id = ANY($2)
		ORDER BY id LIMIT $3 FOR UPDATE SKIP LOCKED`, settled, left)
	if err != nil {
		return 0, fmt.Errorf("candidates: %w", err)
	}
	if len(candidates) > 0 {
		proposals, err := p.lockIDs(ctx, `SELECT id FROM proposals WHERE tenant = $1 AND candidate_id = ANY($2)
			ORDER BY id LIMIT $3 FOR UPDATE`, candidates, left)
		if err != nil {
			return 0, fmt.Errorf("proposals: %w", err)
		}
		err = p.deleteIDs(ctx, `DELETE FROM proposals WHERE tenant = $1 AND id = ANY($2)`, "proposals", proposals)
		if err != nil {
			return 0, err
		}
		if left -= len(proposals); left == 0 {
			return 0, nil
		}
		candidates = candidates[:min(len(candidates), left)]
		// A selection by source kind still finds what they became.
		if _, err := p.Tx.Exec(ctx, `INSERT INTO memory_source_kinds (tenant, memory_id, source_kind)
			SELECT c.tenant, c.id, c.source_kind FROM memory_candidates c
			JOIN memories m ON m.tenant = c.tenant AND m.id = c.id AND m.erased_at IS NULL
			WHERE c.tenant = $1 AND c.id = ANY($2) ORDER BY c.id ON CONFLICT DO NOTHING`, p.Tenant,
			candidates); err != nil {
			return 0, fmt.Errorf("source kinds: %w", err)
		}
		err = p.deleteIDs(ctx, `DELETE FROM memory_candidates WHERE tenant = $1 AND id = ANY($2)`, "candidates",
			candidates)
		if err != nil {
			return 0, err
		}
		if left -= len(candidates); left == 0 {
			return 0, nil
		}
	}
	empty, err := p.lockIDs(ctx, `SELECT id FROM ingest_batches b WHERE tenant = $1 AND id = ANY($2)
		AND NOT EXISTS (SELECT FROM memory_candidates c WHERE c.tenant = b.tenant AND c.batch_id = b.id)
		ORDER BY id LIMIT $3 FOR UPDATE SKIP LOCKED`, settled, left)
	if err != nil {
		return 0, fmt.Errorf("batches: %w", err)
	}
	err = p.deleteIDs(ctx, `DELETE FROM ingest_batches WHERE tenant = $1 AND id = ANY($2)`, "batches", empty)
	return left - len(empty), err
}

func (p *purging) lockIDs(ctx context.Context, query string, of []uuid.UUID, limit int) ([]uuid.UUID, error) {
	rows, err := p.Tx.Query(ctx, query, p.Tenant, of, limit)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowTo[uuid.UUID])
}

// deleteIDs deletes rows by id and counts them under a name in addition to the step's.
func (p *purging) deleteIDs(ctx context.Context, query, name string, ids []uuid.UUID) error {
	if len(ids) == 0 {
		return nil
	}
	tag, err := p.Tx.Exec(ctx, query, p.Tenant, ids)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	p.removed(int(tag.RowsAffected()))
	p.out.Counts[name] += int(tag.RowsAffected())
	return nil
}

// forgetRuns removes runs of Forget: what says the same, what was selected, and the run, in this order. A run that was
// confirmed and has not ended stays until it has: its window begins with its end.
func (p *purging) forgetRuns(ctx context.Context) error {
	before, ends := lifecycle.ExpiredBefore(p.rules.For(schema.RetainForgetRuns, schema.Any, schema.Any), p.in.At)
	if !ends {
		return nil
	}
	rows, err := p.Tx.Query(ctx, `SELECT id FROM forget_runs WHERE tenant = $1 AND created_at < $2
		AND coalesce(finished_at, confirmed_at, expires_at) < $2
		ORDER BY created_at, id LIMIT $3 FOR UPDATE SKIP LOCKED`, p.Tenant, before, p.in.Limit)
	if err != nil {
		return err
	}
	ids, err := pgx.CollectRows(rows, pgx.RowTo[uuid.UUID])
	if err != nil || len(ids) == 0 {
		return err
	}
	left := p.in.Limit
	for _, table := range []struct{ name, key string }{{"forget_echoes", "memory_id"}, {"forget_items", "ordinal"}} {
		tag, err := p.Tx.Exec(ctx, `WITH old AS (SELECT x.run_id, x.`+table.key+` FROM unnest($2::uuid[]) r(id)
			CROSS JOIN LATERAL (
				SELECT run_id, `+table.key+` FROM `+table.name+` WHERE tenant = $1 AND run_id = r.id
				ORDER BY run_id, `+table.key+` LIMIT $3) x LIMIT $3)
			DELETE FROM `+table.name+` d USING old
			WHERE d.tenant = $1 AND d.run_id = old.run_id AND d.`+table.key+` = old.`+table.key, p.Tenant, ids, left)
		if err != nil {
			return fmt.Errorf("%s: %w", table.name, err)
		}
		n := int(tag.RowsAffected())
		p.removed(n)
		p.out.Counts[table.name] += n
		if left -= n; left == 0 {
			return nil
		}
	}
	ids = ids[:min(len(ids), left)]
	return p.deleteIDs(ctx, `DELETE FROM forget_runs WHERE tenant = $1 AND id = ANY($2)`, "runs", ids)
}

// artifacts removes those that no memory refers to. Where a memory comes to refer to one meanwhile, its foreign key
// refuses the deletion, and the batch is tried again.
func (p *purging) artifacts(ctx context.Context) error {
	before, ends := lifecycle.ExpiredBefore(p.rules.For(schema.RetainArtifacts, schema.Any, schema.Any), p.in.At)
	if !ends {
		return nil
	}
	const none = `'00000000-0000-0000-0000-000000000000'::uuid`
	after, err := hex.DecodeString(p.in.After.Key)
	if err != nil {
		return &schema.ValidationError{Fields: []schema.FieldError{{Field: "after.key",
			Problem: "must be hexadecimal"}}}
	}
	going, err := p.page(ctx, `SELECT a.created_at, `+none+` AS id, encode(a.sha256, 'hex'), 0 AS version,
			NOT EXISTS (SELECT FROM memory_artifacts x WHERE x.tenant = a.tenant AND x.sha256 = a.sha256)
		FROM artifacts a WHERE a.tenant = $1 AND a.created_at < $2 AND (a.created_at, a.sha256) > ($3, $4)
		ORDER BY a.created_at, a.sha256 LIMIT $5`,
		p.Tenant, before, p.in.After.CreatedAt, after, p.in.Limit*scanFactor)
	if err != nil || len(going) == 0 {
		return err
	}
	sums := make([][]byte, len(going))
	for i, row := range going {
		if sums[i], err = hex.DecodeString(row.Key); err != nil {
			return err
		}
	}
	n, err := forgetting.DropArtifacts(ctx, p.Change, sums) // looks again
	p.removed(n)
	return err
}

const agedArtifacts = `FROM artifacts a WHERE a.tenant = $1 AND a.created_at < $2
	AND NOT EXISTS (SELECT FROM memory_artifacts x WHERE x.tenant = a.tenant AND x.sha256 = a.sha256)`
