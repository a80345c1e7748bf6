package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"go.temporal.io/sdk/client"

	mneme "github.com/mneme/mneme/client"
	"github.com/mneme/mneme/schema"
)

// ingest measures batch ingestion through the whole pipeline and compares it with a plain insert of the rows it made.
func (b *bench) ingest(ctx context.Context) error {
	s, queue, stop, err := b.siteWithWorker(ctx)
	if err != nil {
		return err
	}
	defer stop()

	batches := slices.Collect(slices.Chunk(observations(b.observations), schema.MaxBatch))
	runs := make([]client.WorkflowRun, len(batches))
	stopProfile, err := b.startProfile(true, "ingest")
	if err != nil {
		return err
	}
	_, took, err := measure(4, len(batches), func(i int) error {
		started, err := mneme.StartIngest(ctx, b.temporal, queue,
			schema.IngestRequest{Principal: principal, Candidates: batches[i]})
		if err != nil {
			return err
		}
		runs[i] = started.Run
		return started.Run.Get(ctx, nil)
	})
	stopProfile()
	if err != nil {
		return err
	}
	events := 0
	for _, run := range runs {
		d, err := b.temporal.DescribeWorkflowExecution(ctx, run.GetID(), run.GetRunID())
		if err != nil {
			return err
		}
		events += int(d.GetWorkflowExecutionInfo().GetHistoryLength())
	}
	stats, err := s.Stats(ctx, principal.Tenant)
	if err != nil {
		return err
	}
	memories := int64(0)
	for _, n := range stats.Memories {
		memories += n
	}
	plain, err := b.plainInsert(ctx, s)
	if err != nil {
		return err
	}
	rate := func(d time.Duration) string { return fmt.Sprintf("%.0f/s", float64(memories)/d.Seconds()) }
	table(fmt.Sprintf("Batch ingest of %d distinct observations, requests of %d, 4 in flight",
		b.observations, schema.MaxBatch),
		[]string{"what", "memories", "time", "memories/s", "history events a memory"},
		[][]string{
			{"Ingest workflow (stage to index)", fmt.Sprint(memories), took.Round(time.Millisecond).String(),
				rate(took), fmt.Sprintf("%.3f", float64(events)/float64(memories))},
			{"plain pgx batch insert, same rows and indexes", fmt.Sprint(memories),
				plain.Round(time.Millisecond).String(),
				rate(plain), "-"},
		})
	return nil
}

// plainInsert copies the memories and embeddings of a site into an empty one with batches of plain
// INSERT statements, from four connections, and returns how long that took.
func (b *bench) plainInsert(ctx context.Context, from site) (time.Duration, error) {
	to, drop, err := b.newSite(ctx)
	if err != nil {
		return 0, err
	}
	defer drop()
	const memoryColumns = `tenant, id, agent_id, project, visibility, type, category,
		tier, typology, content, normalized_content, content_hash, payload, tags, who,
		confidence, importance, salience, salience_at, decay_curve, half_life, min_salience,
			reinforcement_gain, last_reinforced_at, deletion_policy, decay_due_at,
		occurred_at, created_at, updated_at, created_by`
	const embeddingColumns = `tenant, id, memory_id, model, dims, embedding, tier, typology, content_hash, created_at`
	memories, err := b.rows(ctx, from, "SELECT "+memoryColumns+" FROM memories")
	if err != nil {
		return 0, err
	}
	embeddings, err := b.rows(ctx, from, "SELECT "+embeddingColumns+" FROM memory_embeddings")
	if err != nil {
		return 0, err
	}
	total := time.Duration(0)
	for _, t := range []struct {
		table, columns string
		rows           [][]any
	}{{"memories", memoryColumns, memories}, {"memory_embeddings", embeddingColumns, embeddings}} {
		chunks := slices.Collect(slices.Chunk(t.rows, schema.MaxBatch))
		_, took, err := measure(4, len(chunks), func(i int) error {
			return b.insertPlain(ctx, to, t.table, t.columns, chunks[i])
		})
		if err != nil {
			return 0, err
		}
		total += took
	}
	return total, nil
}

func (b *bench) rows(ctx context.Context, s site, query string) (out [][]any, err error) {
	err = b.owner(ctx, s.url, func(conn *pgx.Conn) error {
		rows, err := conn.Query(ctx, query)
		if err != nil {
			return err
		}
		out, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) ([]any, error) { return row.Values() })
		return err
	})
	return out, err
}

func (b *bench) insertPlain(ctx context.Context, s site, name, columns string, rows [][]any) error {
	return b.owner(ctx, s.url, func(conn *pgx.Conn) error {
		placeholders := ""
		for i := range rows[0] {
			if i > 0 {
				placeholders += ", "
			}
			placeholders += fmt.Sprintf("$%d", i+1)
		}
		return pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
			var batch pgx.Batch
			for _, row := range rows {
				batch.Queue("INSERT INTO "+name+" ("+columns+") VALUES ("+placeholders+")", row...)
			}
			return tx.SendBatch(ctx, &batch).Close()
		})
	})
}

// remember measures single requests: until acknowledged, and until the pipeline is done.
func (b *bench) remember(ctx context.Context) error {
	_, queue, stop, err := b.siteWithWorker(ctx)
	if err != nil {
		return err
	}
	defer stop()
	candidates := observations(3 * b.singles)
	next := 0
	var rows [][]string
	for _, clients := range []int{1, 8} {
		offset := next
		next += b.singles
		var acked durations = make([]time.Duration, b.singles)
		done, _, err := measure(clients, b.singles, func(i int) error {
			start := time.Now()
			started, err := mneme.StartIngest(ctx, b.temporal, queue,
				schema.IngestRequest{Principal: principal, Candidates: candidates[offset+i : offset+i+1]})
			acked[i] = time.Since(start)
			if err != nil {
				return err
			}
			return started.Run.Get(ctx, nil)
		})
		if err != nil {
			return err
		}
		rows = append(rows, []string{fmt.Sprint(clients), ms(acked.at(.5)), ms(acked.at(.95)),
			ms(done.at(.5)), ms(done.at(.95))})
	}
	table(fmt.Sprintf("Single remember, %d requests", b.singles),
		[]string{"clients", "acknowledged p50", "p95", "done p50", "p95"}, rows)
	return nil
}
