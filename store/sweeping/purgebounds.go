package sweeping

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/mneme/mneme/memory/lifecycle"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/store/commit"
	"github.com/mneme/mneme/store/pg"
)

// Statements of purges by age, for purging.aged.
const (
	purgeRetrievals = `
		WITH old AS (
			SELECT id
			FROM retrievals
			WHERE tenant = @tenant AND created_at < @before
			ORDER BY created_at, id
			LIMIT @limit
		), gone AS (
			DELETE FROM retrievals r
			USING old
			WHERE r.tenant = @tenant AND r.id = old.id
			RETURNING 1
		)
		SELECT count(*) FROM gone`
	purgeSweepRuns = `
		WITH old AS (
			SELECT id
			FROM sweep_runs
			WHERE tenant = @tenant AND sweep IN ('decay', 'retention') AND started_at < @before
			LIMIT @limit
			FOR UPDATE SKIP LOCKED
		), gone AS (
			DELETE FROM sweep_runs r
			USING old
			WHERE r.tenant = @tenant AND r.id = old.id
			RETURNING 1
		)
		SELECT count(*) FROM gone`
	purgePolicyChanges = `SELECT mneme_purge_policy_changes(@before, @limit)`
)

// scanFactor is how many rows a page reads for each row that it may remove. Rows that stay may be most of a table,
// for example open ones or those of worlds, and no statement may scan all of them.
const scanFactor = 20

// scannedRow is a row that a page has read, in the order of an index by age. A query selects those of ID, Key and
// Version that identify its rows.
type scannedRow struct {
	At      time.Time
	ID      uuid.UUID
	Key     string
	Version int
	Goes    bool
}

// page reads the next rows after the run's position, in the query's order, at most scanFactor times the limit. It
// returns the rows to remove, up to the limit, and stores the row after which the next page begins.
func (p *purging) page(ctx context.Context, query string, args pg.Args) ([]scannedRow, error) {
	rows, err := p.Tx.Query(ctx, query, args)
	if err != nil {
		return nil, err
	}
	scanned, err := pgx.CollectRows(rows, pgx.RowToStructByNameLax[scannedRow])
	if err != nil || len(scanned) == 0 {
		return nil, err
	}
	var going []scannedRow
	last := 0
	for i, row := range scanned {
		if last = i; row.Goes {
			going = append(going, row)
		}
		if len(going) == p.in.Limit {
			break
		}
	}
	end := scanned[last]
	p.out.Next = schema.HistoryCursor{CreatedAt: end.At, ID: end.ID, Key: end.Key, Version: end.Version}
	p.out.More = last < len(scanned)-1 || len(scanned) >= p.in.Limit*scanFactor
	return going, nil
}

// freeEvent is the condition that an event e may be deleted: it is not of a world, the memory that it became no
// longer exists, and no memory cites it as evidence.
var freeEvent = `e.stream NOT LIKE 'world/%'
	AND NOT EXISTS (SELECT FROM ` + pg.ByKey("m", "@tenant", "e.memory_id") + ` WHERE m.erased_at IS NULL)
	AND NOT EXISTS (
		SELECT FROM memory_provenance p
		WHERE p.ref = e.id AND p.tenant = @tenant AND p.kind = 'event')`

// sessions removes sessions that were closed before the window of events and whose episodes no longer exist. A
// session that is used again starts like a new one. Sessions are not counted, because all their data is in the
// ledger.
func (p *purging) sessions(ctx context.Context, before time.Time) error {
	_, err := p.Tx.Exec(ctx, `
		DELETE FROM sessions
		WHERE tenant = @tenant AND id IN (
			SELECT s.id
			FROM sessions s
			WHERE s.tenant = @tenant AND s.state = 'closed' AND s.closed_at < @before
				AND NOT EXISTS (
					SELECT FROM session_episodes e
						JOIN memories m ON m.tenant = @tenant AND m.id = e.memory_id
					WHERE e.tenant = @tenant AND e.session_id = s.id)
			ORDER BY s.closed_at
			LIMIT @limit)`,
		pg.Args{"tenant": p.Tenant, "before": before, "limit": p.in.Limit})
	return err
}

// events removes unreferenced events of the ledger that were recorded before the window.
func (p *purging) events(ctx context.Context) error {
	before, ends := lifecycle.ExpiredBefore(p.policy(schema.RetainEvents), p.in.At)
	if !ends {
		return nil
	}
	if err := p.sessions(ctx, before); err != nil {
		return err
	}
	going, err := p.page(ctx, `
		SELECT e.recorded_at AS at, e.stream AS key, e.seq AS version, (`+freeEvent+`) AS goes
		FROM events e
		WHERE e.tenant = @tenant AND e.recorded_at < @before
			AND (e.recorded_at, e.stream, e.seq) > (@after_at, @after_stream, @after_seq)
		ORDER BY e.recorded_at, e.stream, e.seq
		LIMIT @scan`,
		pg.Args{
			"tenant":       p.Tenant,
			"before":       before,
			"after_at":     p.in.After.CreatedAt,
			"after_stream": p.in.After.Key,
			"after_seq":    p.in.After.Version,
			"scan":         p.in.Limit * scanFactor,
		})
	if err != nil || len(going) == 0 {
		return err
	}
	streams, seqs := make([]string, len(going)), make([]int64, len(going))
	for i, row := range going {
		streams[i], seqs[i] = row.Key, int64(row.Version)
	}
	n := 0
	err = p.Tx.QueryRow(ctx, `SELECT mneme_purge_events(@streams, @seqs, @before)`,
		pg.Args{"streams": streams, "seqs": seqs, "before": before}).Scan(&n)
	p.removed(n)
	if err != nil {
		return err
	}
	// An empty stream that was idle for the window is removed. The next event under its name gets number 1.
	_, err = p.Tx.Exec(ctx, `
		DELETE FROM event_streams s
		WHERE s.tenant = @tenant AND s.stream = ANY(@streams) AND s.updated_at < @before
			AND NOT EXISTS (SELECT FROM events e WHERE e.tenant = @tenant AND e.stream = s.stream)`,
		pg.Args{"tenant": p.Tenant, "streams": streams, "before": before})
	return err
}

// versions removes versions of memories that ended before the window of history. Versions of action-linked memories
// and of a world's memories stay, as their history does.
func (p *purging) versions(ctx context.Context) error {
	before, ends := lifecycle.ExpiredBefore(p.rules.For(schema.RetainHistory, schema.Any, schema.Any), p.in.At)
	if !ends {
		return nil
	}
	going, err := p.page(ctx, `
		SELECT v.until AS at, v.memory_id AS id, v.version, (`+freeVersion+`) AS goes
		FROM memory_versions v
		WHERE v.tenant = @tenant AND v.until < @before
			AND (v.until, v.memory_id, v.version) > (@after_at, @after_id, @after_version)
		ORDER BY v.until, v.memory_id, v.version
		LIMIT @scan`,
		pg.Args{
			"tenant":        p.Tenant,
			"before":        before,
			"action_links":  lifecycle.ActionLinks,
			"after_at":      p.in.After.CreatedAt,
			"after_id":      p.in.After.ID,
			"after_version": p.in.After.Version,
			"scan":          p.in.Limit * scanFactor,
		})
	if err != nil || len(going) == 0 {
		return err
	}
	ids, versions := make([]uuid.UUID, len(going)), make([]int32, len(going))
	for i, row := range going {
		ids[i], versions[i] = row.ID, int32(row.Version)
	}
	tag, err := p.Tx.Exec(ctx, `
		DELETE FROM memory_versions v
		USING unnest(@memories::uuid[], @versions::integer[]) old(memory_id, version)
		WHERE v.tenant = @tenant AND v.memory_id = old.memory_id AND v.version = old.version
			AND `+freeVersion,
		pg.Args{
			"tenant":       p.Tenant,
			"memories":     ids,
			"versions":     versions,
			"action_links": lifecycle.ActionLinks,
		})
	p.removed(int(tag.RowsAffected()))
	return err
}

var (
	// freeVersion is the condition that a version v may be removed.
	freeVersion = unprotected("v", "true")
	// agedVersions selects the versions that a purge would remove, those that ended before @before.
	agedVersions = `
	FROM memory_versions v
	WHERE v.tenant = @tenant AND v.until < @before AND ` + freeVersion
)

// operations removes idempotency keys. A key is kept as long as its batch, which may wait for a review longer than
// the key's window.
func (p *purging) operations(ctx context.Context) error {
	before, ends := lifecycle.ExpiredBefore(p.rules.Keys(), p.in.At)
	if !ends {
		return nil
	}
	going, err := p.page(ctx, `
		SELECT o.created_at AS at, o.id AS key,
			NOT (o.kind = 'ingest' AND EXISTS (
				SELECT FROM ingest_batches b
				WHERE b.tenant = o.tenant AND b.id = (o.result->>'batch_id')::uuid)) AS goes
		FROM operations o
		WHERE o.tenant = @tenant AND o.created_at < @before AND (o.created_at, o.id) > (@after_at, @after_key)
		ORDER BY o.created_at, o.id
		LIMIT @scan`,
		pg.Args{
			"tenant":    p.Tenant,
			"before":    before,
			"after_at":  p.in.After.CreatedAt,
			"after_key": p.in.After.Key,
			"scan":      p.in.Limit * scanFactor,
		})
	if err != nil || len(going) == 0 {
		return err
	}
	keys := make([]string, len(going))
	for i, row := range going {
		keys[i] = row.Key
	}
	tag, err := p.Tx.Exec(ctx, `DELETE FROM operations WHERE tenant = @tenant AND id = ANY(@keys)`,
		pg.Args{"tenant": p.Tenant, "keys": keys})
	p.removed(int(tag.RowsAffected()))
	return err
}

// settledBatch is the condition that a batch b is no longer needed: it has no jobs, which have windows of their
// own, and no proposal that waits for a review. Without a job, no run decides or writes a proposal.
const settledBatch = `NOT EXISTS (
		SELECT FROM jobs j
		WHERE j.tenant = b.tenant AND j.batch_id = b.id)
	AND NOT EXISTS (
		SELECT FROM proposals p
		WHERE p.tenant = b.tenant AND p.batch_id = b.id AND ` + pg.WaitsForReview + `)`

// agedBatch is a batch older than its window.
type agedBatch struct {
	ID        uuid.UUID
	CreatedAt time.Time
	Settled   bool // no longer needed
}

// ingest removes proposals, candidates and batches, in this order, of batches past their window. It works on one
// page of batches until all removable rows of it are removed, then on the next.
func (p *purging) ingest(ctx context.Context) error {
	before, ends := lifecycle.ExpiredBefore(p.rules.For(schema.RetainIngest, schema.Any, schema.Any), p.in.At)
	if !ends {
		return nil
	}
	rows, err := p.Tx.Query(ctx, `
		SELECT b.id, b.created_at, (`+settledBatch+`) AS settled
		FROM ingest_batches b
		WHERE b.tenant = @tenant AND b.created_at < @before AND (b.created_at, b.id) > (@after_at, @after_id)
		ORDER BY b.created_at, b.id
		LIMIT @limit`,
		pg.Args{
			"tenant":   p.Tenant,
			"before":   before,
			"after_at": p.in.After.CreatedAt,
			"after_id": p.in.After.ID,
			"limit":    p.in.Limit,
		})
	if err != nil {
		return err
	}
	page, err := pgx.CollectRows(rows, pgx.RowToStructByName[agedBatch])
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
	if left > 0 { // the page is done
		last := page[len(page)-1]
		p.out.Next, p.out.More = schema.HistoryCursor{CreatedAt: last.CreatedAt, ID: last.ID}, len(page) == p.in.Limit
	}
	return nil
}

// batches removes the rows of batches and then the batches, at most left rows. It returns how many more it may
// remove. Candidates are locked before proposals, as pipelines and forgetting do.
func (p *purging) batches(ctx context.Context, settled []uuid.UUID, left int) (int, error) {
	candidates, err := p.lockIDs(ctx, `
		SELECT id
		FROM memory_candidates
		WHERE tenant = @tenant AND batch_id = ANY(@of)
		ORDER BY id
		LIMIT @limit
		FOR UPDATE SKIP LOCKED`, settled, left)
	if err != nil {
		return 0, fmt.Errorf("candidates: %w", err)
	}
	if len(candidates) > 0 {
		proposals, err := p.lockIDs(ctx, `
			SELECT id
			FROM proposals
			WHERE tenant = @tenant AND candidate_id = ANY(@of)
			ORDER BY id
			LIMIT @limit
			FOR UPDATE`, candidates, left)
		if err != nil {
			return 0, fmt.Errorf("proposals: %w", err)
		}
		err = p.deleteIDs(ctx, `DELETE FROM proposals WHERE tenant = @tenant AND id = ANY(@ids)`, "proposals",
			proposals)
		if err != nil {
			return 0, err
		}
		if left -= len(proposals); left == 0 {
			return 0, nil
		}
		candidates = candidates[:min(len(candidates), left)]
		// Source kinds are kept, so that a selection by source kind still finds the memories.
		_, err = p.Tx.Exec(ctx, `
			INSERT INTO memory_source_kinds (tenant, memory_id, source_kind)
			SELECT c.tenant, c.id, c.source_kind
			FROM memory_candidates c
			JOIN memories m ON m.tenant = c.tenant AND m.id = c.id AND m.erased_at IS NULL
			WHERE c.tenant = @tenant AND c.id = ANY(@candidates)
			ORDER BY c.id
			ON CONFLICT DO NOTHING`,
			pg.Args{"tenant": p.Tenant, "candidates": candidates})
		if err != nil {
			return 0, fmt.Errorf("source kinds: %w", err)
		}
		err = p.deleteIDs(ctx, `DELETE FROM memory_candidates WHERE tenant = @tenant AND id = ANY(@ids)`, "candidates",
			candidates)
		if err != nil {
			return 0, err
		}
		if left -= len(candidates); left == 0 {
			return 0, nil
		}
	}
	empty, err := p.lockIDs(ctx, `
		SELECT id
		FROM ingest_batches b
		WHERE tenant = @tenant AND id = ANY(@of)
			AND NOT EXISTS (
				SELECT FROM memory_candidates c
				WHERE c.tenant = b.tenant AND c.batch_id = b.id)
		ORDER BY id
		LIMIT @limit
		FOR UPDATE SKIP LOCKED`, settled, left)
	if err != nil {
		return 0, fmt.Errorf("batches: %w", err)
	}
	err = p.deleteIDs(ctx, `DELETE FROM ingest_batches WHERE tenant = @tenant AND id = ANY(@ids)`, "batches", empty)
	return left - len(empty), err
}

// lockIDs runs a query that locks rows of @of, at most @limit, and returns their ids.
func (p *purging) lockIDs(ctx context.Context, query string, of []uuid.UUID, limit int) ([]uuid.UUID, error) {
	rows, err := p.Tx.Query(ctx, query, pg.Args{"tenant": p.Tenant, "of": of, "limit": limit})
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowTo[uuid.UUID])
}

// deleteIDs deletes the rows @ids and counts them under a name as well as under the step.
func (p *purging) deleteIDs(ctx context.Context, query, name string, ids []uuid.UUID) error {
	if len(ids) == 0 {
		return nil
	}
	tag, err := p.Tx.Exec(ctx, query, pg.Args{"tenant": p.Tenant, "ids": ids})
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	p.removed(int(tag.RowsAffected()))
	p.out.Counts[name] += int(tag.RowsAffected())
	return nil
}

// endedRun is the condition of a run of Forget that ended before @before, or was confirmed or expired by then.
const endedRun = `tenant = @tenant AND created_at < @before
	AND coalesce(finished_at, confirmed_at, expires_at) < @before`

// forgetRuns removes runs of Forget: their echoes, their items, and then the runs. A confirmed run stays until it
// has ended, because its window begins with its end. Afterwards it removes the records of removed topics and
// artifacts.
func (p *purging) forgetRuns(ctx context.Context) error {
	before, ends := lifecycle.ExpiredBefore(p.rules.For(schema.RetainForgetRuns, schema.Any, schema.Any), p.in.At)
	if !ends {
		return nil
	}
	rows, err := p.Tx.Query(ctx, `
		SELECT id
		FROM forget_runs
		WHERE `+endedRun+`
		ORDER BY created_at, id
		LIMIT @limit
		FOR UPDATE SKIP LOCKED`,
		pg.Args{"tenant": p.Tenant, "before": before, "limit": p.in.Limit})
	if err != nil {
		return err
	}
	ids, err := pgx.CollectRows(rows, pgx.RowTo[uuid.UUID])
	if err != nil {
		return err
	}
	if len(ids) == 0 {
		return p.removals(ctx, before, p.in.Limit)
	}
	left := p.in.Limit
	for _, table := range []struct{ name, key string }{{"forget_echoes", "memory_id"}, {"forget_items", "ordinal"}} {
		tag, err := p.Tx.Exec(ctx, `
			WITH old AS (
				SELECT x.run_id, x.`+table.key+`
				FROM unnest(@runs::uuid[]) r(id)
				CROSS JOIN LATERAL (
					SELECT run_id, `+table.key+`
					FROM `+table.name+`
					WHERE tenant = @tenant AND run_id = r.id
					ORDER BY run_id, `+table.key+`
					LIMIT @limit) x
				LIMIT @limit
			)
			DELETE FROM `+table.name+` d
			USING old
			WHERE d.tenant = @tenant AND d.run_id = old.run_id AND d.`+table.key+` = old.`+table.key,
			pg.Args{"tenant": p.Tenant, "runs": ids, "limit": left})
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
	err = p.deleteIDs(ctx, `DELETE FROM forget_runs WHERE tenant = @tenant AND id = ANY(@ids)`, "runs", ids)
	if err != nil {
		return err
	}
	return p.removals(ctx, before, left-len(ids))
}

// removals removes at most limit records of removals of topics and artifacts.
func (p *purging) removals(ctx context.Context, before time.Time, limit int) error {
	ids, err := commit.Values[uuid.UUID](ctx, p.Tx, `
		SELECT id
		FROM removals
		WHERE tenant = @tenant AND removed_at < @before
		ORDER BY removed_at, id
		LIMIT @limit
		FOR UPDATE SKIP LOCKED`, pg.Args{"tenant": p.Tenant, "before": before, "limit": limit})
	if err != nil {
		return err
	}
	return p.deleteIDs(ctx, `DELETE FROM removals WHERE tenant = @tenant AND id = ANY(@ids)`, "removals", ids)
}
