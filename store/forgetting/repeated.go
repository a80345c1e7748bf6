package forgetting

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/mneme/mneme/memory"
	"github.com/mneme/mneme/memory/normalize"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/store/commit"
	"github.com/mneme/mneme/store/pg"
)

const (
	// learner is the actor that makes learned records.
	learner = commit.ActorConsolidation
	// historyRepeated is the text in the history of a procedure.
	historyRepeated = "an episode that it may repeat was removed"
	// staleEvidence is the evidence hash of a procedure that the next run of learning must decide on again. It is
	// the hash of no evidence, and it is not empty, which would mean that the procedure was put.
	staleEvidence = "erased"
)

// removeRepeated removes what procedures and plans repeat of the memories: the failure modes, fallbacks and examples of
// parameters of each record that was learned from a group with an attempt in one of them. These words may come from
// any attempt of the group, so all of them are removed, with the former versions and the texts of history. The figures
// by situation go too, because their names are values of contexts. The next run of learning decides on the groups again
// and restores what the remaining episodes show.
//
// It must run while learning_attempts still has the memories.
func (f *Forgetting) removeRepeated(ctx context.Context) error {
	groups, err := commit.Values[uuid.UUID](ctx, f.Tx, `
		SELECT DISTINCT group_id
		FROM learning_attempts
		WHERE tenant = @tenant AND memory_id = ANY(@memories) AND group_id IS NOT NULL`,
		pg.Args{"tenant": f.Tenant, "memories": f.Gone})
	if err != nil {
		return fmt.Errorf("groups of attempts: %w", err)
	}
	if len(groups) == 0 {
		return nil
	}
	changed := false
	// A new version of a procedure may be written while its row is locked here. The next pass finds that version.
	for {
		rows, err := f.repeating(ctx, groups)
		if err != nil {
			return fmt.Errorf("what repeats the memories: %w", err)
		}
		if len(rows) == 0 {
			break
		}
		if err := f.strip(ctx, rows); err != nil {
			return err
		}
		changed = true
	}
	// Writers of what was learned lock a memory before its figures.
	situations, err := f.forgetSituations(ctx, groups)
	if err != nil {
		return fmt.Errorf("figures by situation: %w", err)
	}
	if !changed && !situations {
		return nil
	}
	return f.decideAgain(ctx, groups)
}

// forgetSituations removes the figures by situation of what was learned from the groups, and reports whether there were
// any. The totals stay.
func (f *Forgetting) forgetSituations(ctx context.Context, groups []uuid.UUID) (bool, error) {
	tag, err := f.Tx.Exec(ctx, `
		WITH chosen AS (
			SELECT memory_id
			FROM learned
			WHERE tenant = @tenant AND group_id = ANY(@groups) AND memory_id <> ALL(@memories) AND evidence_hash <> ''
				AND (stats ?| '{in,earned}' OR base ?| '{in,earned}')
			ORDER BY memory_id
			FOR UPDATE
		)
		UPDATE learned l
		SET stats = l.stats - '{in,earned}'::text[], base = l.base - '{in,earned}'::text[], evidence_hash = @hash,
			version = l.version + 1, updated_at = @now
		FROM chosen c
		WHERE l.tenant = @tenant AND l.memory_id = c.memory_id`,
		pg.Args{"tenant": f.Tenant, "groups": groups, "memories": f.Gone, "hash": staleEvidence, "now": f.Now})
	return tag.RowsAffected() > 0, err
}

// hasRepeated renders the condition that a payload has words that may come from any attempt of a group. Learning adds
// no fallbacks to a record with fallback_steps.
func hasRepeated(payload string) string {
	return `(` + payload + ` ? 'failure_modes'
		OR ` + payload + ` ? 'fallbacks' AND NOT ` + payload + ` ? 'fallback_steps'
		OR ` + hasExamples(payload) + `)`
}

var repeatingSQL = `
	SELECT ` + commit.RowColumns + `
	FROM learned l
		JOIN memories m ON m.tenant = @tenant AND m.id = l.memory_id
	WHERE l.tenant = @tenant AND l.group_id = ANY(@groups) AND m.` + pg.IsProcedure + `
		AND (l.evidence_hash <> '' OR m.created_by = @learner) -- others were put, and nothing was added to them
		AND m.erased_at IS NULL AND m.purging_at IS NULL AND m.id <> ALL(@memories)
		AND (` + hasRepeated("m.payload") + ` OR EXISTS (
			SELECT FROM memory_versions v
			WHERE v.tenant = @tenant AND v.memory_id = m.id AND ` + hasRepeated("(v.record->'payload')") + `))
	ORDER BY m.id
	FOR UPDATE OF m`

// repeating locks the procedures and plans of groups that may repeat the memories. It includes those of other agents,
// and those that are superseded or can be recovered.
func (f *Forgetting) repeating(ctx context.Context, groups []uuid.UUID) ([]commit.MemoryRow, error) {
	rows, err := f.Tx.Query(ctx, repeatingSQL,
		pg.Args{"tenant": f.Tenant, "groups": groups, "memories": f.Gone, "learner": learner})
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, commit.ScanRow)
}

// strip removes failure modes, fallbacks and examples from locked procedures and plans, and all copies of them.
func (f *Forgetting) strip(ctx context.Context, rows []commit.MemoryRow) error {
	ids := make([]uuid.UUID, len(rows))
	for i, row := range rows {
		ids[i] = row.ID
	}
	made, err := commit.Values[uuid.UUID](ctx, f.Tx, `
		SELECT id
		FROM memories
		WHERE tenant = @tenant AND id = ANY(@ids) AND created_by = @learner`,
		pg.Args{"tenant": f.Tenant, "ids": ids, "learner": learner})
	if err != nil {
		return fmt.Errorf("learned procedures: %w", err)
	}
	for _, row := range rows {
		if err := f.stripRow(ctx, row, slices.Contains(made, row.ID)); err != nil {
			return fmt.Errorf("procedure %s: %w", row.ID, err)
		}
	}
	for _, table := range []string{"memory_versions", "memory_embeddings"} {
		tag, err := f.Tx.Exec(ctx, `DELETE FROM `+table+` WHERE tenant = @tenant AND memory_id = ANY(@ids)`,
			pg.Args{"tenant": f.Tenant, "ids": ids})
		if err != nil {
			return fmt.Errorf("%s: %w", table, err)
		}
		f.Run.Receipt.Remove(table, int(tag.RowsAffected()))
	}
	var n int
	if err := f.Tx.QueryRow(ctx, `SELECT mneme_erase_repeated(@ids, @now)`,
		pg.Args{"ids": ids, "now": f.Now}).Scan(&n); err != nil {
		return fmt.Errorf("history: %w", err)
	}
	f.Run.Receipt.Remove("memory_history", n)
	_, err = f.Tx.Exec(ctx, `
		UPDATE learned
		SET evidence_hash = @hash, updated_at = @now
		WHERE tenant = @tenant AND memory_id = ANY(@ids) AND evidence_hash <> ''`,
		pg.Args{"tenant": f.Tenant, "ids": ids, "hash": staleEvidence, "now": f.Now})
	return err
}

// stripRow writes a version of a procedure or plan without failure modes, fallbacks and examples.
func (f *Forgetting) stripRow(ctx context.Context, row commit.MemoryRow, made bool) error {
	payload, text, lost, err := stripped(row, made)
	if err != nil {
		return err
	}
	for _, place := range lost {
		f.Run.Receipt.Remove(place, 1)
	}
	hash, err := f.hashOf(ctx, row, payload, text)
	if err != nil {
		return err
	}
	version, err := f.ApplyStep(ctx, row, commit.Step{
		Set: map[string]any{"payload": string(payload), "content": text.Storage,
			"normalized_content": text.Normalized, "content_hash": hash, "safe_summary": ""},
		NowLive: row.Live,
		NewText: true,
		Event:   schema.EventModified,
		Action:  schema.AuditModify,
		New:     &text.Storage,
		By:      f.Run.ConfirmedBy,
		Reason:  historyRepeated,
		Metadata: map[string]any{"forget_run": f.Run.ID, "workflow_id": f.Run.WorkflowID,
			"versions_erased": true},
	})
	if err != nil {
		return err
	}
	// A run that also selected the procedure still removes it.
	_, err = f.Tx.Exec(ctx, `
		UPDATE forget_items
		SET version = @new
		WHERE tenant = @tenant AND memory_id = @id AND run_id = @run AND outcome = '' AND version = @old`,
		pg.Args{"tenant": f.Tenant, "id": row.ID, "run": f.Run.ID, "old": row.Version, "new": version})
	return err
}

// stripped returns the payload and the text of a procedure or plan without failure modes, fallbacks and examples, and
// which of them it had. A content that learning made follows from the payload; a content that was put has none of the
// learned words.
func stripped(row commit.MemoryRow, made bool) (payload json.RawMessage, text normalize.Normalized, lost []string,
	err error) {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(row.Payload, &members); err != nil {
		return nil, text, nil, err
	}
	before := len(members)
	delete(members, "failure_modes")
	if _, own := members["fallback_steps"]; !own {
		delete(members, "fallbacks")
	}
	if len(members) < before {
		lost = append(lost, "failure_modes")
	}
	examples, err := withoutExamples(members)
	if err != nil {
		return nil, text, nil, err
	}
	if examples {
		lost = append(lost, "examples")
	}
	payload, err = json.Marshal(members)
	m := schema.MemoryRecord{Type: row.Type, Payload: payload, Content: row.Content}
	if made {
		m.Content = ""
	}
	return payload, memory.RecordContent(m), lost, err
}

// hashOf returns the content hash of a stripped procedure or plan. If a live memory already has this hash,
// hashOf returns a different one, because an erasure must not fail. ResolveDuplicates merges the two memories.
func (f *Forgetting) hashOf(ctx context.Context, row commit.MemoryRow, payload json.RawMessage,
	text normalize.Normalized) ([]byte, error) {
	hash := memory.RecordHash(schema.MemoryRecord{Type: row.Type, Payload: payload}, text)
	if !row.Live {
		return hash, nil
	}
	other, err := f.LiveByHash(ctx, commit.DedupKey{Owner: row.Owner, Visibility: row.Visibility, Type: row.Type,
		Hash: hash})
	switch {
	case errors.Is(err, pgx.ErrNoRows) || err == nil && other == row.ID:
		return hash, nil
	case err != nil:
		return nil, fmt.Errorf("find duplicate: %w", err)
	}
	own := sha256.Sum256(append(hash, row.ID[:]...))
	return own[:], nil
}

// decideAgain marks groups for a new decision, and removes their waiting decisions, which may have the removed words
// from the procedures.
func (f *Forgetting) decideAgain(ctx context.Context, groups []uuid.UUID) error {
	statements := []string{`
		DELETE FROM learning_drafts
		WHERE tenant = @tenant AND group_id = ANY(@groups)`}
	for _, decided := range []string{"procedures", "plans"} {
		statements = append(statements, `
		WITH chosen AS (
			SELECT id
			FROM learning_groups
			WHERE tenant = @tenant AND id = ANY(@groups) AND attempts > 0 AND `+decided+` >= attempts
			ORDER BY id
			FOR UPDATE
		)
		UPDATE learning_groups g
		SET `+decided+` = g.attempts - 1
		FROM chosen c
		WHERE g.tenant = @tenant AND g.id = c.id`)
	}
	for _, statement := range statements {
		if _, err := f.Tx.Exec(ctx, statement, pg.Args{"tenant": f.Tenant, "groups": groups}); err != nil {
			return fmt.Errorf("groups of attempts: %w", err)
		}
	}
	return nil
}
