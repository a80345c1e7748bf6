package topics

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	rules "github.com/mneme/mneme/memory/topics"
	"github.com/mneme/mneme/schema/topics"
	"github.com/mneme/mneme/store/commit"
	"github.com/mneme/mneme/store/pg"
)

// Draft is an answer that is not published yet.
type Draft struct {
	Tenant   string
	Topic    uuid.UUID
	Filter   pg.Filter // of what the topic's principal may see
	Parts    []topics.Part
	Evidence []rules.Ref

	WrittenBy                      string
	Fallback                       string
	PromptTokens, CompletionTokens int64
	AsOf                           time.Time
}

// Outcome is the outcome of a draft.
type Outcome string

// The outcomes of a draft.
const (
	Written   Outcome = "written"   // drafted, or published as the current answer
	Unchanged Outcome = "unchanged" // the current answer is of the same evidence
	// Outdated means that the evidence has changed since it was read, and that the draft was dropped. The value is in
	// stored histories.
	Outdated   Outcome = "overtaken"
	NotDrafted Outcome = "not_drafted" // there is no draft of this evidence
)

// SaveDraft stores the draft of a topic, replacing an earlier one. It stores nothing if the evidence has changed, or
// if the topic's principal may no longer see all of it.
func (s *Topics) SaveDraft(ctx context.Context, d Draft, now time.Time) (out Outcome, err error) {
	parts, err := json.Marshal(d.Parts)
	if err != nil {
		return "", fmt.Errorf("save draft: %w", err)
	}
	ids, versions, err := split(d.Evidence)
	if err != nil {
		return "", fmt.Errorf("save draft: %w", err)
	}
	err = commit.Write(ctx, s.DB, d.Tenant, now, func(c *commit.Change) error {
		same, err := unchanged(ctx, c.Tx, d.Filter, d.Evidence, ids)
		if err != nil || !same {
			out = Outdated
			return err
		}
		out = Written
		tag, err := c.Tx.Exec(ctx, `
			INSERT INTO topic_drafts AS d (tenant, topic_id, parts, memories, versions, evidence_hash, written_by,
			fallback,
				prompt_tokens, completion_tokens, as_of, created_at)
			SELECT t.tenant, t.id, @parts, @memories, @versions, @hash, @written_by, @fallback, @prompt, @completion,
			@as_of,
				@now
			FROM topics t
			WHERE t.tenant = @tenant AND t.id = @topic
			ON CONFLICT (tenant, topic_id) DO UPDATE
			SET parts = excluded.parts, memories = excluded.memories, versions = excluded.versions,
				evidence_hash = excluded.evidence_hash, written_by = excluded.written_by, fallback = excluded.fallback,
				prompt_tokens = excluded.prompt_tokens, completion_tokens = excluded.completion_tokens,
				as_of = excluded.as_of, created_at = excluded.created_at`,
			pg.Args{"tenant": d.Tenant, "topic": d.Topic, "parts": string(parts), "memories": ids, "versions": versions,
				"hash": rules.Hash(d.Evidence), "written_by": d.WrittenBy, "fallback": d.Fallback,
				"prompt":     d.PromptTokens,
				"completion": d.CompletionTokens, "as_of": d.AsOf, "now": c.Now})
		if err == nil && tag.RowsAffected() == 0 {
			return pg.ErrNotFound
		}
		return err
	})
	if err != nil {
		return "", fmt.Errorf("save draft: %w", err)
	}
	return out, nil
}

func split(refs []rules.Ref) (ids []uuid.UUID, versions []int32, err error) {
	ids, versions = make([]uuid.UUID, len(refs)), make([]int32, len(refs))
	for i, r := range refs {
		if ids[i], err = uuid.Parse(r.ID); err != nil {
			return nil, nil, err
		}
		versions[i] = int32(r.Version)
	}
	return ids, versions, nil
}

// unchanged locks the memories of an evidence set and reports whether all still have the version that was read and
// pass the filter. None of them can be forgotten or changed until the transaction ends.
func unchanged(ctx context.Context, tx pgx.Tx, f pg.Filter, refs []rules.Ref, ids []uuid.UUID) (bool, error) {
	versions, err := seen(ctx, tx, f, ids, "FOR SHARE OF m")
	if err != nil {
		return false, err
	}
	for i, r := range refs {
		if version, ok := versions[ids[i]]; !ok || version != r.Version {
			return false, nil
		}
	}
	return true, nil
}

// draftRow is a draft as it is stored.
type draftRow struct {
	Memories     []uuid.UUID
	Versions     []int32
	EvidenceHash string
}

// PublishDraft makes the draft of an evidence set the current answer of a topic, if the topic's current answer has
// the given number. A second call returns Unchanged. A draft whose evidence has changed since is dropped.
func (s *Topics) PublishDraft(ctx context.Context, tenant string, topic uuid.UUID, f pg.Filter, hash string,
	now time.Time) (out Outcome, number int, err error) {
	err = commit.Write(ctx, s.DB, tenant, now, func(c *commit.Change) error {
		args := pg.Args{"tenant": tenant, "topic": topic}
		rows, err := c.Tx.Query(ctx, `
			SELECT memories, versions, evidence_hash
			FROM topic_drafts
			WHERE tenant = @tenant AND topic_id = @topic`, args)
		if err != nil {
			return err
		}
		drafts, err := pgx.CollectRows(rows, pgx.RowToStructByName[draftRow])
		if err != nil {
			return err
		}
		current := false
		if len(drafts) == 1 && drafts[0].EvidenceHash == hash { // memories are locked before the topic
			d := answerRow{Memories: drafts[0].Memories, Versions: drafts[0].Versions}
			if current, err = unchanged(ctx, c.Tx, f, d.refs(), d.Memories); err != nil {
				return err
			}
		}
		type lockedRow struct {
			Number int
			Same   bool
		}
		rows, err = c.Tx.Query(ctx, `
			SELECT t.answer AS number, EXISTS (
				SELECT FROM topic_answers a
				WHERE a.tenant = t.tenant AND a.topic_id = t.id AND a.number = t.answer AND a.evidence_hash = @hash
					AND a.blanked_at IS NULL) AS same
			FROM topics t
			WHERE t.tenant = @tenant AND t.id = @topic
			FOR UPDATE OF t`, pg.Args{"tenant": tenant, "topic": topic, "hash": hash})
		if err != nil {
			return err
		}
		locked, err := pgx.CollectRows(rows, pgx.RowToStructByName[lockedRow])
		switch {
		case err != nil:
			return err
		case len(locked) == 0:
			return pg.ErrNotFound
		case locked[0].Same:
			out, number = Unchanged, locked[0].Number
			return dropDraft(ctx, c, topic)
		case len(drafts) == 0 || drafts[0].EvidenceHash != hash:
			out = NotDrafted
			return nil
		case !current:
			out = Outdated
			return dropDraft(ctx, c, topic)
		}
		out, number = Written, locked[0].Number+1
		return publish(ctx, c, topic, hash, number)
	})
	if err != nil {
		return "", 0, fmt.Errorf("publish draft: %w", err)
	}
	return out, number, nil
}

func dropDraft(ctx context.Context, c *commit.Change, topic uuid.UUID) error {
	_, err := c.Tx.Exec(ctx, `DELETE FROM topic_drafts WHERE tenant = @tenant AND topic_id = @topic`,
		pg.Args{"tenant": c.Tenant, "topic": topic})
	return err
}

// publish adds the draft to the history of answers and makes it the current one. History keeps the last
// topics.KeptAnswers answers.
func publish(ctx context.Context, c *commit.Change, topic uuid.UUID, hash string, number int) error {
	tag, err := c.Tx.Exec(ctx, `
		WITH draft AS (
			DELETE FROM topic_drafts
			WHERE tenant = @tenant AND topic_id = @topic AND evidence_hash = @hash
			RETURNING *
		)
		INSERT INTO topic_answers (tenant, topic_id, number, parts, memories, versions, evidence_hash, written_by,
		fallback,
			prompt_tokens, completion_tokens, as_of, created_at)
		SELECT tenant, topic_id, @number, parts, memories, versions, evidence_hash, written_by, fallback, prompt_tokens,
			completion_tokens, as_of, @now
		FROM draft`,
		pg.Args{"tenant": c.Tenant, "topic": topic, "hash": hash, "number": number, "now": c.Now})
	if err != nil {
		return err
	}
	if tag.RowsAffected() != 1 {
		return fmt.Errorf("the draft no longer exists")
	}
	if _, err := c.Tx.Exec(ctx, `
		UPDATE topics
		SET answer = @number, changed = 0, held = '', checked_at = @now
		WHERE tenant = @tenant AND id = @topic`,
		pg.Args{"tenant": c.Tenant, "topic": topic, "number": number, "now": c.Now}); err != nil {
		return err
	}
	_, err = c.Tx.Exec(ctx, `
		DELETE FROM topic_answers
		WHERE tenant = @tenant AND topic_id = @topic AND number <= @before`,
		pg.Args{"tenant": c.Tenant, "topic": topic, "before": number - topics.KeptAnswers})
	return err
}
