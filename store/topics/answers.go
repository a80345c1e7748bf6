package topics

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	rules "github.com/mneme/mneme/memory/topics"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/schema/topics"
	"github.com/mneme/mneme/store/commit"
	"github.com/mneme/mneme/store/pg"
)

// shown is an answer as the principal may see it, and how many memories of its evidence have changed since.
type shown struct {
	topics.TopicAnswer
	changed int
}

// answerRow is an answer as it is stored.
type answerRow struct {
	Number       int
	Parts        json.RawMessage
	Memories     []uuid.UUID
	Versions     []int32
	EvidenceHash string
	WrittenBy    string
	Fallback     string
	AsOf         time.Time
	BlankedAt    *time.Time
}

func (a answerRow) refs() []rules.Ref {
	out := make([]rules.Ref, len(a.Memories))
	for i, id := range a.Memories {
		out[i] = rules.Ref{ID: id.String(), Version: int(a.Versions[i])}
	}
	return out
}

const answerColumns = `a.number, a.parts, a.memories, a.versions, a.evidence_hash, a.written_by, a.fallback, a.as_of,
	a.blanked_at`

// readAnswers reads answers of a topic with numbers up to from, newest first. The text of an answer is withheld unless
// the filter admits all memories of its evidence, because the text may repeat any of them.
func readAnswers(ctx context.Context, tx pgx.Tx, t topics.Topic, f pg.Filter, from, limit int) ([]shown, error) {
	rows, err := tx.Query(ctx, `
		SELECT `+answerColumns+`
		FROM topic_answers a
		WHERE a.tenant = @tenant AND a.topic_id = @topic AND a.number <= @from
		ORDER BY a.number DESC
		LIMIT @limit`, pg.Args{"tenant": t.Principal.Tenant, "topic": t.ID, "from": from, "limit": limit})
	if err != nil {
		return nil, err
	}
	stored, err := pgx.CollectRows(rows, pgx.RowToStructByName[answerRow])
	if err != nil {
		return nil, err
	}
	var ids []uuid.UUID
	for _, a := range stored {
		ids = append(ids, a.Memories...)
	}
	versions, err := seen(ctx, tx, f, ids, "")
	if err != nil {
		return nil, err
	}
	out := make([]shown, len(stored))
	for i, a := range stored {
		s := shown{TopicAnswer: topics.TopicAnswer{Number: a.Number, AsOf: a.AsOf, Memories: len(a.Memories),
			EvidenceHash: a.EvidenceHash, WrittenBy: a.WrittenBy, Fallback: a.Fallback, BlankedAt: a.BlankedAt,
			Parts: []topics.Part{}}}
		var now []rules.Ref
		for _, id := range a.Memories {
			if version, ok := versions[id]; ok {
				now = append(now, rules.Ref{ID: id.String(), Version: version})
			}
		}
		s.changed = rules.Changed(a.refs(), now)
		s.Withheld = a.BlankedAt == nil && len(now) < len(a.Memories)
		if !s.Withheld {
			if err := json.Unmarshal(a.Parts, &s.Parts); err != nil {
				return nil, fmt.Errorf("answer %d: %w", a.Number, err)
			}
		}
		out[i] = s
	}
	return out, nil
}

// seen returns the versions of memories that pass a filter now. lock is FOR SHARE or empty.
func seen(ctx context.Context, tx pgx.Tx, f pg.Filter, ids []uuid.UUID, lock string) (map[uuid.UUID]int, error) {
	if len(ids) == 0 {
		return map[uuid.UUID]int{}, nil
	}
	f.Superseded = true
	args := pg.Args{"ids": ids}
	rows, err := tx.Query(ctx, `
		SELECT m.id, m.version
		FROM memories m
		WHERE m.id = ANY(@ids) AND `+f.State("m")+` AND `+f.Visible("m", args)+`
		ORDER BY m.id `+lock, args)
	if err != nil {
		return nil, err
	}
	type known struct {
		ID      uuid.UUID
		Version int
	}
	found, err := pgx.CollectRows(rows, pgx.RowToStructByName[known])
	if err != nil {
		return nil, err
	}
	out := make(map[uuid.UUID]int, len(found))
	for _, m := range found {
		out[m.ID] = m.Version
	}
	return out, nil
}

// Answers reads the history of a topic of the principal, newest first, with texts withheld as in Topic. If the
// principal has no such topic, it returns pg.ErrNotFound.
func (s *Topics) Answers(ctx context.Context, p schema.Principal, id uuid.UUID,
	see Seeing) ([]topics.TopicAnswer, error) {
	t, err := s.Topic(ctx, p, id, see)
	if err != nil {
		return nil, err
	}
	out := []topics.TopicAnswer{}
	err = s.Read(ctx, p.Tenant, func(tx pgx.Tx) error {
		found, err := readAnswers(ctx, tx, t, see(t), 1<<30, topics.KeptAnswers)
		for _, a := range found {
			out = append(out, a.TopicAnswer)
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("answers of a topic: %w", err)
	}
	return out, nil
}

// State is the input of a refresh: the current answer and its evidence.
type State struct {
	Number  int // of the current answer; 0: none
	Blanked bool
	Refs    []rules.Ref // its evidence

	Drafted    string // the evidence hash of the draft; empty: there is none
	DraftParts int
	DraftBy    string
}

// TopicState reads the input of a refresh.
func (s *Topics) TopicState(ctx context.Context, tenant string, id uuid.UUID) (out State, err error) {
	type stateRow struct {
		Number   int
		Blanked  bool
		Memories []uuid.UUID
		Versions []int32
		Drafted  string
		Parts    int
		DraftBy  string
	}
	err = s.Read(ctx, tenant, func(tx pgx.Tx) error {
		rows, err := tx.Query(ctx, `
			SELECT t.answer AS number, a.blanked_at IS NOT NULL AS blanked, coalesce(a.memories, '{}') AS memories,
				coalesce(a.versions, '{}') AS versions, coalesce(d.evidence_hash, '') AS drafted,
				coalesce(jsonb_array_length(d.parts), 0) AS parts, coalesce(d.written_by, '') AS draft_by
			FROM topics t
			LEFT JOIN topic_answers a ON a.tenant = t.tenant AND a.topic_id = t.id AND a.number = t.answer
			LEFT JOIN topic_drafts d ON d.tenant = t.tenant AND d.topic_id = t.id
			WHERE t.tenant = @tenant AND t.id = @id`, pg.Args{"tenant": tenant, "id": id})
		if err != nil {
			return err
		}
		found, err := pgx.CollectExactlyOneRow(rows, pgx.RowToStructByName[stateRow])
		if errors.Is(err, pgx.ErrNoRows) {
			return pg.ErrNotFound
		}
		out = State{Number: found.Number, Blanked: found.Blanked, Drafted: found.Drafted,
			DraftParts: found.Parts, DraftBy: found.DraftBy,
			Refs: answerRow{Memories: found.Memories, Versions: found.Versions}.refs()}
		return err
	})
	if err != nil {
		return State{}, fmt.Errorf("state of a topic: %w", err)
	}
	return out, nil
}

// evidenceRow is a memory as the input of the rules of topics.
type evidenceRow struct {
	ID         uuid.UUID
	Version    int
	Content    string
	Type       schema.MemoryType
	Subject    string
	Who        string
	OccurredAt time.Time
	Status     schema.Status
}

// Evidence reads memories that pass a filter, in the order of the ids.
func (s *Topics) Evidence(ctx context.Context, f pg.Filter, ids []uuid.UUID) ([]rules.Evidence, error) {
	f.Superseded = true
	var out []rules.Evidence
	err := s.Read(ctx, f.Principal.Tenant, func(tx pgx.Tx) error {
		args := pg.Args{"ids": ids}
		rows, err := tx.Query(ctx, `
			SELECT m.id, m.version, m.content, m.type, coalesce(m.subject, '') AS subject, m.who, m.occurred_at,
			m.status
			FROM memories m
			WHERE m.id = ANY(@ids) AND `+f.State("m")+` AND `+f.Visible("m", args), args)
		if err != nil {
			return err
		}
		found, err := pgx.CollectRows(rows, pgx.RowToStructByName[evidenceRow])
		if err != nil {
			return err
		}
		slices.SortFunc(found, func(a, b evidenceRow) int { return slices.Index(ids, a.ID) - slices.Index(ids, b.ID) })
		for _, m := range found {
			out = append(out, rules.Evidence{Ref: rules.Ref{ID: m.ID.String(), Version: m.Version}, Text: m.Content,
				Type: m.Type, Subject: m.Subject, Who: m.Who, OccurredAt: m.OccurredAt, Status: m.Status})
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("evidence of a topic: %w", err)
	}
	return out, nil
}

// NoteCheck records when the evidence of a topic was compared, how much of it has changed, and why the topic was
// not answered.
func (s *Topics) NoteCheck(ctx context.Context, tenant string, id uuid.UUID, changed int, held string,
	now time.Time) error {
	err := commit.Write(ctx, s.DB, tenant, now, func(c *commit.Change) error {
		_, err := c.Tx.Exec(ctx, `
			UPDATE topics
			SET changed = @changed, held = @held, checked_at = greatest(checked_at, @now)
			WHERE tenant = @tenant AND id = @id`,
			pg.Args{"tenant": tenant, "id": id, "changed": changed, "held": held, "now": c.Now})
		return err
	})
	if err != nil {
		return fmt.Errorf("note a check: %w", err)
	}
	return nil
}
