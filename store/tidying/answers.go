package tidying

import (
	"bytes"
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/mneme/mneme/store/commit"
	"github.com/mneme/mneme/store/pg"
)

// Purpose is the kind of question that a model was asked.
type Purpose string

// The purposes.
const (
	AskFacts      Purpose = "facts"      // which statements of episodes say the same
	AskConflicts  Purpose = "conflicts"  // whether a fact and a statement can both hold
	AskDuplicates Purpose = "duplicates" // whether two facts in different words say the same
)

// Answers about statements of episodes and about duplicates. Answers about conflicts are of type facts.Verdict.
const (
	AnswerShown   = "shown"
	AnswerSame    = "same"
	AnswerDiffers = "differs"
)

// Answer is a model's answer about one or two memories. It is stored without content, so that the same question is not
// asked again, and deleted when one of the memories is no longer live.
type Answer struct {
	Memory   uuid.UUID
	Other    uuid.UUID // the second memory, or Memory if there is none
	Question []byte    // hash of the question, 32 bytes
	Text     string
}

// About returns the memories of an answer.
func (a Answer) About() [2]uuid.UUID { return [2]uuid.UUID{a.Memory, a.Other} }

// Pair returns an answer about two memories, which are stored in the order of their ids.
func Pair(one, other uuid.UUID, question []byte) Answer {
	if bytes.Compare(one[:], other[:]) > 0 {
		one, other = other, one
	}
	return Answer{Memory: one, Other: other, Question: question}
}

// ModelAnswers returns the stored texts of answers to the questions, by their memories (Answer.About).
func (t *Tidying) ModelAnswers(ctx context.Context, tenant string, purpose Purpose, asked []Answer) (
	map[[2]uuid.UUID]string, error) {
	out := map[[2]uuid.UUID]string{}
	if len(asked) == 0 {
		return out, nil
	}
	memories, others, questions, _ := columns(asked)
	err := t.Read(ctx, tenant, func(tx pgx.Tx) error {
		rows, err := commit.Rows[struct {
			MemoryID uuid.UUID
			Other    uuid.UUID
			Answer   string
		}](ctx, tx, `
			SELECT a.memory_id, a.other, a.answer
			FROM unnest(@memories::uuid[], @others::uuid[], @questions::bytea[]) x(memory_id, other, question)
			JOIN model_answers a ON a.tenant = @tenant AND a.memory_id = x.memory_id AND a.purpose = @purpose
				AND a.other = x.other AND a.question = x.question`,
			pg.Args{"tenant": tenant, "purpose": string(purpose), "memories": memories, "others": others,
				"questions": questions})
		for _, r := range rows {
			out[[2]uuid.UUID{r.MemoryID, r.Other}] = r.Answer
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("answers of a model: %w", err)
	}
	return out, nil
}

// KeepModelAnswers stores answers. It replaces earlier answers about the same memories, and drops answers about memories
// that are no longer live.
func (t *Tidying) KeepModelAnswers(ctx context.Context, tenant string, purpose Purpose, answers []Answer,
	now time.Time) error {
	if len(answers) == 0 {
		return nil
	}
	memories, others, questions, texts := columns(answers)
	err := pg.RetryChange(ctx, func() error {
		return commit.Write(ctx, t.DB, tenant, now, func(c *commit.Change) error {
			_, err := c.Tx.Exec(ctx, `
				WITH kept AS MATERIALIZED (
					SELECT m.id
					FROM memories m
					WHERE m.tenant = @tenant AND m.live
						AND m.id IN (SELECT unnest(@memories::uuid[]) UNION SELECT unnest(@others::uuid[]))
					ORDER BY m.id
					FOR KEY SHARE OF m
				)
				INSERT INTO model_answers AS a (tenant, memory_id, other, purpose, question, answer, at)
				SELECT DISTINCT ON (x.memory_id, x.other) @tenant, x.memory_id, x.other, @purpose, x.question, x.answer,
					@now::timestamptz
				FROM unnest(@memories::uuid[], @others::uuid[], @questions::bytea[], @answers::text[])
					x(memory_id, other, question, answer)
				JOIN kept one ON one.id = x.memory_id
				JOIN kept other ON other.id = x.other
				ORDER BY x.memory_id, x.other
				ON CONFLICT (tenant, memory_id, purpose, other) DO UPDATE
				SET question = excluded.question, answer = excluded.answer, at = excluded.at`,
				pg.Args{"tenant": tenant, "purpose": string(purpose), "memories": memories, "others": others,
					"questions": questions, "answers": texts, "now": c.Now})
			return err
		})
	})
	if err != nil {
		return fmt.Errorf("answers of a model: %w", err)
	}
	return nil
}

func columns(answers []Answer) (memories, others []uuid.UUID, questions [][]byte, texts []string) {
	for _, a := range answers {
		memories, others = append(memories, a.Memory), append(others, a.Other)
		questions, texts = append(questions, a.Question), append(texts, a.Text)
	}
	return memories, others, questions, texts
}
