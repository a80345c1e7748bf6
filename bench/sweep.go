package main

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/mneme/mneme/api"
	mneme "github.com/mneme/mneme/client"
	"github.com/mneme/mneme/memory/lifecycle"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/store/sweeping"
)

// stockSQL loads the memories of a range of numbers without the store, and counts their words. They are due in many
// years.
const stockSQL = `
	SET synchronous_commit = off;
	INSERT INTO memories (tenant, id, agent_id, type, category, tier, typology,
		content, normalized_content, content_hash, payload, confidence, importance, salience,
		salience_at, decay_curve, half_life, min_salience, reinforcement_gain, last_reinforced_at,
			deletion_policy, decay_due_at, occurred_at, created_at, updated_at, created_by)
	SELECT 'bench', lpad(to_hex(g), 32, '0')::uuid, 'a', 'episodic', 'fact', 'session',
		'episodic', c, c, sha256(c::bytea), '{"kind": "episodic", "timeline": []}', 1, 0.5, 1,
		now(), 'exponential', '3650 days', 0.5, 0.1, now(), 'auto_prune', now() + interval '3650 days',
			now(), now(), now(), 'x'
	FROM (SELECT g, format('word%%s met word%%s about topic%%s and rare%%s', g %% 977, g %% 1013, g %% 37, g) AS c
		FROM generate_series(%d, %d) g) x;
	TRUNCATE lexeme_stats, corpus_stats;
	INSERT INTO lexeme_stats SELECT m.tenant, l.lexeme, count(*) FROM memories m, unnest(m.tsv) l WHERE live GROUP BY 1, 2;
	INSERT INTO corpus_stats SELECT tenant, count(*), sum(length(tsv)) FROM memories WHERE live GROUP BY 1;`

// dueSQL restores the memories that the last sweep removed, and makes a number of memories due now, spread over all
// stored ones.
const dueSQL = `UPDATE memories SET deleted_at = NULL, half_life = '3650 days',
	decay_due_at = now() + interval '3650 days' WHERE deleted_at IS NOT NULL;
	UPDATE corpus_stats SET docs = (SELECT count(*) FROM memories WHERE live);
	UPDATE memories SET half_life = '1 hour', salience_at = now() - interval '1 hour',
		decay_due_at = now() - interval '1 second'
	WHERE id IN (SELECT id FROM memories WHERE live ORDER BY md5(id::text) LIMIT %d)`

// sweptAtOnce is the number of due memories in each measurement of a sweep.
const sweptAtOnce = 1000

// decay measures a sweep of a fixed number of due memories over growing numbers of stored ones. It compares it with one
// UPDATE of all memories, which would be needed if every memory's salience were written.
func (b *bench) decay(ctx context.Context) error {
	s, queue, stop, err := b.siteWithWorker(ctx)
	if err != nil {
		return err
	}
	defer stop()
	owner, err := pgx.Connect(ctx, s.url)
	if err != nil {
		return err
	}
	defer func() { _ = owner.Close(context.WithoutCancel(ctx)) }()
	exec := func(sql string) error { _, err := owner.Exec(ctx, sql); return err }

	var rows [][]string
	stored := 0
	for field := range strings.SplitSeq(b.stock, ",") {
		size, err := strconv.Atoi(strings.TrimSpace(field))
		if err != nil || size <= stored {
			return fmt.Errorf("-stock must be growing numbers")
		}
		if err := exec(fmt.Sprintf(stockSQL, stored+1, size)); err != nil {
			return err
		}
		stored = size
		const times = 5
		var store, flow durations
		var read int64
		for i := range 2 * times { // in turns: by the store alone, and through the workflow
			if err := exec(fmt.Sprintf(dueSQL, sweptAtOnce)); err != nil {
				return err
			}
			if i == 0 {
				err = exec(`VACUUM ANALYZE`)
			} else {
				err = exec(`ANALYZE memories`)
			}
			if err != nil {
				return err
			}
			before, err := rowsRead(ctx, owner)
			if err != nil {
				return err
			}
			began := time.Now()
			if i%2 == 0 {
				if err := sweepOnce(ctx, s, i); err != nil {
					return err
				}
				store = append(store, time.Since(began))
				after, err := rowsRead(ctx, owner)
				if err != nil {
					return err
				}
				read = max(read, after-before)
				continue
			}
			if err := b.decaySweep(ctx, queue, sweptAtOnce); err != nil {
				return err
			}
			flow = append(flow, time.Since(began))
		}
		share := size / 100
		if err := exec(fmt.Sprintf(dueSQL, share)); err != nil {
			return err
		}
		if err := exec(`ANALYZE memories`); err != nil {
			return err
		}
		began := time.Now()
		if err := b.decaySweep(ctx, queue, share); err != nil {
			return err
		}
		hundredth := time.Since(began)
		began = time.Now()
		if err := pgx.BeginFunc(ctx, owner, func(tx pgx.Tx) error {
			if _, err := tx.Exec(ctx, `UPDATE memories SET salience = salience * 0.99 WHERE live`); err != nil {
				return err
			}
			return errUndo
		}); err != errUndo {
			return err
		}
		plain := time.Since(began)
		rows = append(rows, []string{fmt.Sprint(size), ms(store.at(.5)), ms(flow.at(.5)), fmt.Sprint(read),
			ms(hundredth), ms(plain)})
		if err := exec(`VACUUM memories`); err != nil {
			return err
		}
	}
	table(fmt.Sprintf("Sweeping %d memories that are due (median of 5)", sweptAtOnce),
		[]string{"stored", "sweep, by the store", "DecaySweep, start to end", "rows of memories read (most)",
			"DecaySweep of 1 % due", "one UPDATE of all, nothing else"}, rows)
	return nil
}

var errUndo = fmt.Errorf("undo")

// decaySweep runs the workflow, which must prune the given number.
func (b *bench) decaySweep(ctx context.Context, queue string, want int) error {
	run, err := mneme.StartDecaySweep(ctx, b.temporal, queue, api.SweepInput{Tenant: "bench"})
	if err != nil {
		return err
	}
	var out api.SweepResult
	if err := run.Get(ctx, &out); err != nil {
		return err
	}
	if out.Counts["pruned"] != want {
		return fmt.Errorf("swept %v of %d", out.Counts, want)
	}
	return nil
}

// sweepOnce sweeps as the activity does.
func sweepOnce(ctx context.Context, s site, n int) error {
	now := time.Now()
	if _, err := s.BeginSweep(ctx, "bench", "decay", lifecycle.SweepShare, now); err != nil {
		return err
	}
	swept, at := 0, schema.DueCursor{}
	for {
		done, err := s.DecayBatch(ctx, sweeping.DecayInput{Tenant: "bench", Run: fmt.Sprint(n),
			After: at, Until: now, Limit: sweeping.SweepBatchSize, Now: now})
		if err != nil {
			return err
		}
		swept, at = swept+done.Pruned, done.Next
		if !done.More {
			break
		}
	}
	if swept != sweptAtOnce {
		return fmt.Errorf("swept %d of %d by the store", swept, sweptAtOnce)
	}
	return nil
}

// rowsRead returns how many rows of memories were read so far, by scans and by indexes. Sessions report their reads
// only when they are idle for a moment.
func rowsRead(ctx context.Context, owner *pgx.Conn) (n int64, err error) {
	select {
	case <-ctx.Done():
		return 0, ctx.Err()
	case <-time.After(1500 * time.Millisecond):
	}
	err = owner.QueryRow(ctx,
		`SELECT coalesce(seq_tup_read, 0) + coalesce(idx_tup_fetch, 0) FROM pg_stat_all_tables
			WHERE relid = 'memories'::regclass`).Scan(&n)
	return n, err
}

// retention measures each step of a purge: rows per second, and how long its transactions hold their locks.
func (b *bench) retention(ctx context.Context) error {
	s, drop, err := b.newSite(ctx)
	if err != nil {
		return err
	}
	defer drop()
	n := b.purged
	err = b.owner(ctx, s.url, func(conn *pgx.Conn) error {
		for _, sql := range []string{
			fmt.Sprintf(stockSQL, 1, 2*n),
			`INSERT INTO entities (tenant, id, canonical_name, name, mentions, created_at, updated_at)
				SELECT 'bench', lpad(to_hex(g), 32, '0')::uuid, 'entity ' || g, 'entity ' || g, 0, now(), now()
					FROM generate_series(1, 1000) g`,
			`INSERT INTO memory_entity_mentions (tenant, memory_id, entity_id, created_at)
				SELECT 'bench', m.id, lpad(to_hex(1 + (('x' || right(m.id::text, 7))::bit(28)::integer + k * 7) % 1000),
					32, '0')::uuid, now() FROM memories m, generate_series(1, 2) k`,
			`UPDATE entities e SET mentions = (SELECT count(*) FROM memory_entity_mentions x
				WHERE x.tenant = e.tenant AND x.entity_id = e.id)`,
			`INSERT INTO memory_embeddings (tenant, id, memory_id, model, dims, embedding,
				tier, typology, content_hash, created_at)
				SELECT tenant, gen_random_uuid(), id, 'm', 3, '[1,2,3]', tier, typology, content_hash, now()
					FROM memories`,
			`INSERT INTO memory_history (tenant, id, memory_id, event, new_content, changed_by, reason, created_at)
				SELECT tenant, gen_random_uuid(), id, 'created', content, 'x', 'y', now() - interval '200 days'
					FROM memories`,
			// Every second memory is a source whose request was extracted into the one after it.
			`INSERT INTO ingest_batches SELECT 'bench', lpad('1', 32, '0')::uuid, 'w',
				'a', '', '', '', 'private', 'controlled', true, 0.5, 500, now()`,
			`INSERT INTO memory_candidates (tenant, id, batch_id, ordinal, state, memory_id,
				source_kind, content, category, sensitivity, occurred_at, created_at, extraction)
				SELECT tenant, id, lpad('1', 32, '0')::uuid, row_number() OVER (ORDER BY id),
					'done', id, 'observation', content, category, sensitivity, now(), now(),
					jsonb_build_object('facts', jsonb_build_array(jsonb_build_object('content', content)))
				FROM memories WHERE ('x' || right(id::text, 7))::bit(28)::integer % 2 = 1`,
			`INSERT INTO proposals (tenant, id, batch_id, candidate_id, ordinal, state,
				action, fact, confidence, reason, memory_id, decided_at)
				SELECT c.tenant, c.id, c.batch_id, c.id, 0, 'applied', 'add', jsonb_build_object('content', c.content),
					1, 'r', m.id, now()
				FROM memory_candidates c JOIN memories m ON m.tenant = c.tenant
					AND m.id = lpad(to_hex(1 + ('x' || right(c.id::text, 7))::bit(28)::integer), 32, '0')::uuid`,
			`INSERT INTO memory_links (tenant, source_id, predicate, target_id, created_at)
				SELECT tenant, memory_id, 'derived_from', candidate_id, now() FROM proposals`,
			`INSERT INTO memory_versions SELECT tenant, id, 0, created_at - interval '1 day',
				created_at, to_jsonb(m) - '{tsv,normalized_content}'::text[] FROM memories m`,
			`INSERT INTO memory_provenance (tenant, memory_id, position, kind, ref, created_at)
				SELECT tenant, id, 0, 'event', 'e', now() FROM memories`,
			`INSERT INTO jobs (tenant, id, kind, state, phase, batch_id, candidate_id,
				memory_id, workflow_id, max_attempts, created_at, updated_at, finished_at)
				SELECT tenant, id, 'ingest', 'completed', 'index', batch_id, id, memory_id,
					'w', 3, now(), now(), now() - interval '20 days' FROM memory_candidates`,
			`UPDATE memories SET deleted_at = now() - interval '31 days' WHERE id <= lpad(to_hex(` + fmt.Sprint(n) +
				`), 32, '0')::uuid`,
			`VACUUM ANALYZE`,
		} {
			if _, err := conn.Exec(ctx, sql); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	var out [][]string
	for _, step := range lifecycle.PurgeSteps {
		var took durations
		removed := 0
		began := time.Now()
		for more := true; more; {
			start := time.Now()
			batch, err := s.Purge(ctx, sweeping.PurgeInput{Tenant: "bench", Run: uuid.NewString(),
				Step: step, Limit: sweeping.SweepBatchSize, At: time.Now(), Now: time.Now()})
			if err != nil {
				return err
			}
			took = append(took, time.Since(start))
			removed, more = removed+batch.Removed, batch.More
		}
		if removed == 0 {
			continue
		}
		out = append(out, []string{string(step), fmt.Sprint(removed), fmt.Sprintf("%.0f/s",
			float64(removed)/time.Since(began).Seconds()), ms(took.at(.5)), ms(took.at(.95)), ms(took.at(1))})
	}
	table(fmt.Sprintf("Purging %d of %d memories, batches of %d rows", n, 2*n, sweeping.SweepBatchSize),
		[]string{"step", "rows", "rate", "transaction p50", "p95", "longest"}, out)
	return nil
}
