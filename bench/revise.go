package main

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"go.temporal.io/sdk/client"

	mneme "github.com/mneme/mneme/client"
	"github.com/mneme/mneme/memory/proposals"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/store/edit"
	"github.com/mneme/mneme/store/pg"
)

// revise measures supersession: the transaction alone, the workflow around it, and with them a
// bare transaction that writes the same rows and checks nothing.
func (b *bench) revise(ctx context.Context) error {
	s, queue, stop, err := b.siteWithWorker(ctx)
	if err != nil {
		return err
	}
	defer stop()
	pool, err := pgxpool.New(ctx, s.url)
	if err != nil {
		return err
	}
	defer pool.Close()

	var rows [][]string
	for _, clients := range []int{1, 8} {
		for _, t := range []struct {
			name  string
			calls int
			run   func(target uuid.UUID, n int) error
		}{
			{"Revise workflow, until the index has it", min(b.revisions, 200), func(target uuid.UUID, n int) error {
				run, err := mneme.StartRevise(ctx, b.temporal, queue, supersession(target, n))
				if err != nil {
					return err
				}
				result, err := mneme.Outcome[schema.ReviseResult](ctx, run)
				return applied(result, err)
			}},
			{"revision, as the workflow's activity commits it", b.revisions, func(target uuid.UUID, n int) error {
				return applied(s.Revise(ctx, edit.ReviseInput{Operation: schema.OperationRef{Tenant: principal.Tenant,
					ID: uuid.NewString(), WorkflowID: "bench"},
					Request: supersession(target, n), Policy: proposals.DefaultWritePolicy(), Now: time.Now()}))
			}},
			{"bare transaction, same rows", b.revisions, func(target uuid.UUID, n int) error {
				return bareSupersession(ctx, pool, target, n)
			}},
		} {
			targets, err := b.facts(ctx, s, t.calls)
			if err != nil {
				return err
			}
			d, took, err := measure(clients, t.calls, func(i int) error { return t.run(targets[i], i) })
			if err != nil {
				return fmt.Errorf("%s: %w", t.name, err)
			}
			rows = append(rows, []string{t.name, fmt.Sprint(clients), ms(d.at(.5)), ms(d.at(.95)),
				fmt.Sprintf("%.0f/s", float64(len(d))/took.Seconds())})
		}
	}
	table(fmt.Sprintf("Superseding %d facts (200 through the workflow)", b.revisions),
		[]string{"what", "clients", "p50", "p95", "rate"}, rows)
	return nil
}

// facts puts facts about different subjects, and returns their ids.
func (b *bench) facts(ctx context.Context, s site, n int) ([]uuid.UUID, error) {
	var out []uuid.UUID
	for len(out) < n {
		req := schema.PutRequest{Operation: schema.Operation{Principal: principal}}
		for range min(schema.MaxPutRecords, n-len(out)) {
			req.Records = append(req.Records, fact("service-"+uuid.NewString(), "Go"))
		}
		result, err := s.Put(ctx,
			edit.PutInput{Operation: schema.OperationRef{Tenant: principal.Tenant, ID: uuid.NewString(),
				WorkflowID: "bench"},
				Request: req, Policy: proposals.DefaultWritePolicy(), Now: time.Now()})
		if err != nil {
			return nil, err
		}
		for _, item := range result.Items {
			if item.Status != schema.PutCreated {
				return nil, fmt.Errorf("put: %s %s", item.Status, item.Problem)
			}
			out = append(out, uuid.MustParse(item.ID))
		}
	}
	// A table that was just filled has no statistics, and is scanned until autovacuum analyses it.
	return out, b.owner(ctx, s.url, func(conn *pgx.Conn) error {
		_, err := conn.Exec(ctx, `ANALYZE`)
		return err
	})
}

// fact is a semantic record.
func fact(subject, object string) schema.MemoryRecord {
	encoded, _ := json.Marshal(object)
	payload, _ := json.Marshal(schema.SemanticPayload{Kind: schema.TypeSemantic, Subject: subject,
		Predicate: "is_written_in", Object: encoded,
		Validity: schema.Validity{Mode: schema.ValidGlobal}})
	at := time.Now().UTC().Truncate(time.Microsecond)
	return schema.MemoryRecord{ID: uuid.Must(uuid.NewV7()).String(), Type: schema.TypeSemantic,
		Sensitivity: schema.SensitivityLow, Confidence: 0.9, Salience: 1,
		CreatedAt: at, UpdatedAt: at, Provenance: schema.Provenance{Sources: []schema.Ref{{Kind: "event",
			Ref: "bench"}}},
		Payload: payload,
		Lifecycle: schema.Lifecycle{Decay: schema.DecayProfile{Curve: schema.CurveExponential,
			HalfLifeSeconds: 90 * 86400},
			LastReinforcedAt: at}}
}

// supersession replaces a fact by one about another subject, because its content does not matter here.
func supersession(target uuid.UUID, n int) schema.ReviseRequest {
	record := fact(fmt.Sprintf("service-%d-%s", n, target), "Rust")
	return schema.ReviseRequest{Operation: schema.Operation{Principal: principal,
		OperationID: uuid.NewString(), Reason: "bench"},
		Action: schema.ReviseSupersede, Targets: []schema.Target{{ID: target.String(), IfVersion: 1}}, Record: &record,
		Evidence: []schema.Ref{{Kind: "event", Ref: "bench"}}}
}

func applied(result schema.ReviseResult, err error) error {
	if err == nil && result.Status != schema.ReviseApplied {
		err = fmt.Errorf("revision: %s %s", result.Status, result.Why)
	}
	return err
}

// bareSupersession writes the rows of a supersession as the owner, without reads and checks.
func bareSupersession(ctx context.Context, pool *pgxpool.Pool, target uuid.UUID, n int) error {
	id := uuid.Must(uuid.NewV7())
	text := fmt.Sprintf("service %d %s is written in Rust", n, target)
	return pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error {
		var batch pgx.Batch
		ids := pg.Args{"tenant": principal.Tenant, "target": target, "id": id}
		batch.Queue(`
			UPDATE memories
			SET status = 'superseded', superseded_by = @id, superseded_at = now(), updated_at = now(),
				version = version + 1
			WHERE tenant = @tenant AND id = @target AND version = 1`, ids)
		batch.Queue(`
			INSERT INTO memories (tenant, id, agent_id, project, type, category, tier, typology, content,
				normalized_content, content_hash, payload, confidence, importance, salience, salience_at, decay_curve,
				half_life, min_salience, reinforcement_gain, last_reinforced_at, deletion_policy, occurred_at,
				created_at, updated_at, created_by, supersedes)
			SELECT tenant, @id, agent_id, project, type, category, tier, typology, @text,
				@text, sha256(@text::text::bytea), payload, confidence, importance, 1, now(), decay_curve,
				half_life, min_salience, reinforcement_gain, now(), deletion_policy, now(),
				now(), now(), 'bench', id
			FROM memories
			WHERE tenant = @tenant AND id = @target`,
			pg.Args{"tenant": principal.Tenant, "target": target, "id": id, "text": text})
		batch.Queue(`
			INSERT INTO memory_links (tenant, source_id, predicate, target_id, created_at)
			VALUES (@tenant, @id, 'supersedes', @target, now())`, ids)
		batch.Queue(`
			INSERT INTO memory_provenance (tenant, memory_id, position, kind, ref, created_at)
			VALUES ($1, $2, 0, 'event', 'bench', now())`, principal.Tenant, id)
		for _, m := range []struct {
			id    uuid.UUID
			event string
		}{{target, "modified"}, {id, "created"}} {
			batch.Queue(`
				INSERT INTO memory_history (tenant, id, memory_id, event, new_content, changed_by, reason, created_at)
				VALUES (@tenant, @id, @memory, @event, @text, 'bench', 'bench', now())`,
				pg.Args{"tenant": principal.Tenant, "id": uuid.Must(uuid.NewV7()), "memory": m.id, "event": m.event,
					"text": text})
			batch.Queue(`
				INSERT INTO index_outbox (tenant, memory_id, version, op, created_at)
				VALUES ($1, $2, 1, 'upsert', now())`, principal.Tenant, m.id)
		}
		return tx.SendBatch(ctx, &batch).Close()
	})
}

// forget measures a run of Forget from its confirmation to its receipt, and one UPDATE that marks
// as many rows deleted and does nothing else.
func (b *bench) forget(ctx context.Context) error {
	s, drop, err := b.newSite(ctx)
	if err != nil {
		return err
	}
	defer drop()
	if err := b.load(ctx, s, observations(2*b.forgotten), 1); err != nil {
		return err
	}
	queue, stop, err := b.startWorker(s)
	if err != nil {
		return err
	}
	defer stop()
	// One half for each.
	if err := b.owner(ctx, s.url, func(conn *pgx.Conn) error {
		_, err := conn.Exec(ctx,
			`UPDATE memories SET tags = '{ours}' WHERE id IN (SELECT id FROM memories ORDER BY id LIMIT $1)`,
			b.forgotten)
		if err == nil {
			_, err = conn.Exec(ctx, `VACUUM ANALYZE memories`)
		}
		return err
	}); err != nil {
		return err
	}
	began := time.Now()
	run, err := mneme.StartForget(ctx, b.temporal, queue,
		schema.ForgetRequest{Operation: schema.Operation{Principal: principal, Reason: "bench"},
			Selector: schema.Selector{Tags: []string{"ours"}}})
	if err != nil {
		return err
	}
	preview, err := mneme.ForgetPreview(ctx, b.temporal, run)
	if err != nil {
		return err
	}
	selected := time.Since(began)
	token, err := s.ForgetToken(ctx, principal, uuid.MustParse(preview.RunID), time.Now())
	if err != nil {
		return err
	}
	began = time.Now()
	if _, err := mneme.ConfirmForget(ctx, b.temporal, run.GetID(),
		schema.ForgetConfirmation{Token: token}); err != nil {
		return err
	}
	var receipt schema.ForgetReceipt
	if err := b.outcome(ctx, run, &receipt); err != nil {
		return err
	}
	took := time.Since(began)
	var plain time.Duration
	err = b.owner(ctx, s.url, func(conn *pgx.Conn) error {
		began := time.Now()
		_, err := conn.Exec(ctx, `UPDATE memories SET deleted_at = now() WHERE tenant = $1 AND deleted_at IS NULL`,
			principal.Tenant)
		plain = time.Since(began)
		return err
	})
	if err != nil {
		return err
	}
	rate := func(n int, d time.Duration) string { return fmt.Sprintf("%.0f/s", float64(n)/d.Seconds()) }
	table(fmt.Sprintf("Forgetting %d of %d memories", b.forgotten, 2*b.forgotten),
		[]string{"what", "rows", "time", "rows/s"}, [][]string{
			{"selecting them, with their versions and a digest", fmt.Sprint(preview.Total),
				selected.Round(time.Millisecond).String(), rate(preview.Total, selected)},
			{"Forget, from confirmation to receipt", fmt.Sprint(receipt.Forgotten),
				took.Round(time.Millisecond).String(),
				rate(receipt.Forgotten, took)},
			{"one plain UPDATE, nothing else", fmt.Sprint(b.forgotten), plain.Round(time.Millisecond).String(),
				rate(b.forgotten, plain)},
		})
	return nil
}

// outcome follows a run over continue-as-new to its result.
func (b *bench) outcome(ctx context.Context, run client.WorkflowRun, result any) error {
	return b.temporal.GetWorkflow(ctx, run.GetID(), "").Get(ctx, result)
}
