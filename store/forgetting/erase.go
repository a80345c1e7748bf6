package forgetting

import (
	"context"
	"fmt"
	"maps"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/mneme/mneme/memory/lifecycle"
	"github.com/mneme/mneme/memory/proposals"
	"github.com/mneme/mneme/memory/revision"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/store/pg"
	"github.com/mneme/mneme/store/pipeline"
)

// reasonForgotten is the outcome of proposals removed together with a memory.
const reasonForgotten = "forgotten"

// remove removes the batch's memories permanently: force also deletes the rows; erase removes all texts and leaves an
// empty row. Dependent rows are removed before the rows that they refer to (document 002 "Retention Worker": graph
// links, embeddings, the memory, then history).
func (f *Forgetting) remove(ctx context.Context) error {
	if err := f.NoteRemoved(ctx, f.live); err != nil {
		return err
	}
	for _, step := range []func(context.Context) error{f.removeRepeated, f.removeFromGraph, f.blankRevised,
		f.blankDecisions, f.ForgetHints, f.removeDependents, f.blankPipeline, f.dropStaged, f.BlankResults, f.removeRows} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	return nil
}

// exec runs a statement with the arguments @tenant, @memories (the forgotten ones) and more. It adds the number of
// changed rows to the receipt.
func (f *Forgetting) exec(ctx context.Context, place, sql string, more pg.Args) error {
	args := pg.Args{"tenant": f.Tenant, "memories": f.Gone}
	maps.Copy(args, more)
	tag, err := f.Tx.Exec(ctx, sql, args)
	if err != nil {
		return fmt.Errorf("%s: %w", place, err)
	}
	f.Run.Receipt.Remove(place, int(tag.RowsAffected()))
	return nil
}

// blankRevised removes the reason and evidence of the revisions that created the memories, from the history of the
// memories that were revised. The relations remain.
func (f *Forgetting) blankRevised(ctx context.Context) error {
	var n int
	err := f.Tx.QueryRow(ctx, `
		WITH revised AS (
			SELECT target_id AS id
			FROM memory_links
			WHERE tenant = @tenant AND source_id = ANY(@memories)
			UNION
			SELECT source_id
			FROM memory_links
			WHERE tenant = @tenant AND target_id = ANY(@memories)
			UNION
			SELECT id
			FROM memories
			WHERE tenant = @tenant AND superseded_by = ANY(@memories)
		)
		SELECT coalesce(mneme_erase_evidence(@memories, array_agg(id)), 0)
		FROM revised
		WHERE id <> ALL(@memories)`,
		pg.Args{"tenant": f.Tenant, "memories": f.Gone}).Scan(&n)
	if err != nil {
		return fmt.Errorf("evidence: %w", err)
	}
	f.Run.Receipt.Remove("memory_history", n)
	return nil
}

// othersDecided selects the memories that the decisions about the memories @memories may also have made or changed. Of
// relations it follows only those of changes: a hundred thousand memories may be derived from one.
const othersDecided = `
	WITH p AS (
		SELECT p.memory_id, p.target_id, p.also
		FROM proposals p
		WHERE p.tenant = @tenant AND p.memory_id = ANY(@memories)
		UNION
		SELECT p.memory_id, p.target_id, p.also
		FROM proposals p
		WHERE p.tenant = @tenant AND p.target_id = ANY(@memories)
		UNION
		SELECT p.memory_id, p.target_id, p.also
		FROM memory_candidates c
		JOIN proposals p ON p.tenant = @tenant AND p.candidate_id = c.id
		WHERE c.tenant = @tenant AND c.memory_id = ANY(@memories)
	), made AS (
		SELECT unnest(@memories::uuid[]) AS id
		UNION
		SELECT memory_id FROM p WHERE memory_id IS NOT NULL
	), others AS (
		SELECT id FROM made
		UNION
		SELECT unnest(also || target_id) FROM p
		UNION
		SELECT l.target_id
		FROM made m
		JOIN memory_links l ON l.tenant = @tenant AND l.source_id = m.id AND l.predicate = ANY(@changes)
		UNION
		SELECT l.source_id
		FROM made m
		JOIN memory_links l ON l.tenant = @tenant AND l.target_id = m.id AND l.predicate = ANY(@changes)
	)
	SELECT coalesce(array_agg(id), '{}')
	FROM others
	WHERE id <> ALL(@memories)`

// blankDecisions removes the reasons of the decisions about the memories from the history of the other memories that
// these decisions have made or changed, and from the relations between them.
func (f *Forgetting) blankDecisions(ctx context.Context) error {
	args := pg.Args{"tenant": f.Tenant, "memories": f.Gone,
		"changes": []string{revision.RelationSupersedes, revision.RelationContradicts}}
	var others, changed []uuid.UUID
	if err := f.Tx.QueryRow(ctx, othersDecided, args).Scan(&others); err != nil || len(others) == 0 {
		return err
	}
	err := f.Tx.QueryRow(ctx, `SELECT mneme_erase_decisions($1, $2)`, f.Gone, others).Scan(&changed)
	if err != nil {
		return fmt.Errorf("decisions: %w", err)
	}
	if len(changed) == 0 {
		return nil
	}
	f.Run.Receipt.Remove("memory_history", len(changed))
	tag, err := f.Tx.Exec(ctx, `
		UPDATE memory_links
		SET reason = ''
		WHERE tenant = @tenant AND source_id = ANY(@changed) AND target_id = ANY(@changed) AND reason <> ''`,
		pg.Args{"tenant": f.Tenant, "changed": changed})
	f.Run.Receipt.Remove("memory_relations", int(tag.RowsAffected()))
	return err
}

// BlankResults removes the callers' external ids of the memories from the results of puts.
func (f *Forgetting) BlankResults(ctx context.Context) error {
	var n int
	if err := f.Tx.QueryRow(ctx, `SELECT mneme_erase_external($1)`, f.Gone).Scan(&n); err != nil {
		return fmt.Errorf("results: %w", err)
	}
	f.Run.Receipt.Remove("operations", n)
	return nil
}

// ForgetHints deletes the hints with which successors of the memories are found by the words of these.
func (f *Forgetting) ForgetHints(ctx context.Context) error {
	return f.exec(ctx, "memory_hints", `
		DELETE FROM memory_hints h
		USING memories g
		WHERE g.tenant = @tenant AND g.id = ANY(@memories) AND g.superseded_by IS NOT NULL
			AND h.tenant = @tenant AND h.memory_id = g.superseded_by AND h.memory_id <> ALL(@memories)
			AND h.hint LIKE @successor`,
		pg.Args{"successor": proposals.SuccessorHintBegins + "%"})
}

// dropStaged deletes requests that were not carried out and may contain a text of the memories: abandoned ones that
// name a memory, and all stale ones. Only a requested erasure may delete other callers' requests; a purge leaves
// them to SweepStaged.
func (f *Forgetting) dropStaged(ctx context.Context) error {
	return f.exec(ctx, "staged_requests", `
		DELETE FROM staged_requests r
		WHERE r.tenant = @tenant
			AND (r.created_at < @stale_before
				OR r.created_at < @abandoned_before
				AND EXISTS (
					SELECT FROM unnest(@memories::uuid[]) x(id)
					WHERE position(x.id::text IN r.body::text) > 0))`,
		pg.Args{
			"abandoned_before": f.Now.Add(-pipeline.AbandonedAfter),
			"stale_before":     f.Now.Add(-pipeline.StaleAfter),
		})
}

// removeHistory removes the texts from history. The actor, the action and the time remain.
func (f *Forgetting) removeHistory(ctx context.Context) error {
	var n int
	if err := f.Tx.QueryRow(ctx, `SELECT mneme_erase_history($1, $2)`, f.Gone, f.Now).Scan(&n); err != nil {
		return fmt.Errorf("history: %w", err)
	}
	f.Run.Receipt.Remove("memory_history", n)
	return nil
}

// removedRow is a memory whose row was emptied or deleted.
type removedRow struct {
	ID      uuid.UUID
	Version int32

	Owner, Sensitivity string // only if the row is deleted
}

// Statements that remove the rows of the memories. They return removedRows.
const (
	// The new hash must not be guessable, so it is neither the hash of the text nor that of the empty text.
	emptyRows = `
		UPDATE memories m
		SET content = '',
			normalized_content = '',
			content_hash = sha256(uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid())),
			payload = '{}',
			tags = '{}',
			who = '',
			safe_summary = '',
			subject = NULL,
			predicate = NULL,
			object = NULL,
			conditions = NULL,
			conditions_hash = '',
			external_id = NULL,
			key_id = NULL,
			embedding_id = NULL,
			agent_session_id = NULL,
			agent_interaction_id = NULL,
			decay_due_at = NULL,
			deleted_at = coalesce(m.deleted_at, @now),
			erased_at = @now,
			updated_at = @now,
			version = m.version + 1
		WHERE m.tenant = @tenant AND m.id = ANY(@memories)
		RETURNING m.id, m.version, '' AS owner, '' AS sensitivity`
	// After the row is deleted, only history says who owned the memory and how sensitive it was. Its owner may read the
	// history within that sensitivity.
	deleteRows = `
		DELETE FROM memories m
		WHERE m.tenant = @tenant AND m.id = ANY(@memories)
		RETURNING m.id, m.version + 1 AS version, m.agent_id AS owner, m.sensitivity`
)

// removeRows deletes or empties the memories and ends their history. History may lose its texts only after the
// memory has lost its text. A last history row names the actor.
func (f *Forgetting) removeRows(ctx context.Context) error {
	metadata, err := f.metadata()
	if err != nil {
		return err
	}
	action, remove := schema.AuditErase, emptyRows
	args := pg.Args{"tenant": f.Tenant, "memories": f.Gone}
	if lifecycle.DeletesRows(f.Run.Mode) {
		action, remove = schema.AuditDelete, deleteRows
	} else {
		args["now"] = f.Now
	}
	rows, err := f.Tx.Query(ctx, remove, args)
	if err != nil {
		return fmt.Errorf("memories: %w", err)
	}
	removed, err := pgx.CollectRows(rows, pgx.RowToStructByName[removedRow])
	if err != nil {
		return fmt.Errorf("memories: %w", err)
	}
	f.Run.Receipt.Remove("memories", len(removed))
	if err := f.removeHistory(ctx); err != nil {
		return err
	}
	ids, versions := make([]uuid.UUID, len(removed)), make([]int32, len(removed))
	owners, sensitivities := make([]string, len(removed)), make([]string, len(removed))
	for i, row := range removed {
		ids[i], versions[i], owners[i], sensitivities[i] = row.ID, row.Version, row.Owner, row.Sensitivity
	}
	_, err = f.Tx.Exec(ctx, `
		WITH removed AS (
			SELECT *
			FROM unnest(@memories::uuid[], @entries::uuid[], @versions::integer[], @owners::text[],
				@sensitivities::text[]) x(id, entry, version, owner, sensitivity)
		), told AS (
			INSERT INTO memory_history (tenant, id, memory_id, event, changed_by, reason, metadata, created_at, action,
				version)
			SELECT @tenant, r.entry, r.id, 'deleted', @changed_by, @reason,
				@metadata::jsonb || CASE r.owner
					WHEN '' THEN '{}'
					ELSE jsonb_build_object('agent', r.owner, 'sensitivity', r.sensitivity)
				END,
				@now, @action, r.version
			FROM removed r
		)
		INSERT INTO index_outbox (tenant, memory_id, version, op, created_at)
		SELECT @tenant, r.id, r.version, 'delete', @now
		FROM removed r`,
		pg.Args{
			"tenant":        f.Tenant,
			"memories":      ids,
			"entries":       pg.NewIDs(len(ids)), // of history
			"versions":      versions,
			"owners":        owners,
			"sensitivities": sensitivities,
			"changed_by":    f.Run.ConfirmedBy,
			"reason":        f.Run.Reason,
			"metadata":      metadata,
			"action":        action,
			"now":           f.Now,
		})
	if err != nil {
		return fmt.Errorf("history: %w", err)
	}
	return nil
}
