package commit

import (
	"context"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/mneme/mneme/store/pg"
)

// wordsMost is the number of lexemes that one statement counts. A statement has a time limit, and a request may have
// 200,000 different words.
const wordsMost = 20_000

// changedWords begins a statement that reads by how much the document frequency of each lexeme changes.
const changedWords = `
	WITH delta AS (
		SELECT id, 1 AS n FROM unnest(@counted::uuid[]) id
		UNION ALL
		SELECT id, -1 FROM unnest(@uncounted::uuid[]) id
	), term AS (
		SELECT l.lexeme, d.n
		FROM delta d
			CROSS JOIN LATERAL (SELECT tsv FROM memories m WHERE m.tenant = @tenant AND m.id = d.id OFFSET 0) m,
			unnest(m.tsv) l
		UNION ALL
		SELECT lexeme, -1 FROM unnest(@lost::text[]) lexeme
	)`

// All writers of a tenant share the rows of lexeme_stats, so the rows are locked in lexeme order.
const (
	byWord = `
	FROM term
	GROUP BY lexeme
	HAVING sum(n) <> 0
	ORDER BY lexeme`
	addWords = `
	ON CONFLICT (tenant, lexeme) DO UPDATE
	SET docs = s.docs + excluded.docs`

	// countFirstWords adds to the document frequency of the first @most lexemes, moreWords reads the changes of the
	// others, and countMoreWords adds these.
	countFirstWords = changedWords + `
	INSERT INTO lexeme_stats AS s (tenant, lexeme, docs)
	SELECT @tenant, lexeme, sum(n)` + byWord + `
	LIMIT @most` + addWords
	moreWords = changedWords + `
	SELECT lexeme, sum(n) AS n` + byWord + `
	OFFSET @most`
	countMoreWords = `
	INSERT INTO lexeme_stats AS s (tenant, lexeme, docs)
	SELECT @tenant, x.lexeme, x.n
	FROM unnest(@lexemes::text[], @numbers::bigint[]) WITH ORDINALITY x(lexeme, n, place)
	ORDER BY x.place` + addWords
)

// countWords sends the queued statements and adds to the document frequency of each lexeme of the texts that have
// changed.
func (c *Change) countWords(ctx context.Context) error {
	args := pg.Args{
		"tenant":    c.Tenant,
		"counted":   c.Counted,
		"uncounted": c.Uncounted,
		"lost":      pg.TagList(c.lost),
		"most":      wordsMost,
	}
	first := int64(0)
	c.Queue.Queue(countFirstWords, args).Exec(func(tag pgconn.CommandTag) error {
		first = tag.RowsAffected()
		return nil
	})
	if err := c.Flush(ctx); err != nil || first < wordsMost {
		return err
	}
	more, err := Rows[struct {
		Lexeme string
		N      int64
	}](ctx, c.Tx, moreWords, args)
	if err != nil {
		return err
	}
	for len(more) > 0 {
		n := min(len(more), wordsMost)
		lexemes, numbers := make([]string, n), make([]int64, n)
		for i, word := range more[:n] {
			lexemes[i], numbers[i] = word.Lexeme, word.N
		}
		if _, err := c.Tx.Exec(ctx, countMoreWords,
			pg.Args{"tenant": c.Tenant, "lexemes": lexemes, "numbers": numbers}); err != nil {
			return err
		}
		more = more[n:]
	}
	return nil
}

// countTexts queues the change of the tenant's number of texts and of lexemes. Writers lock this row last.
func (c *Change) countTexts() {
	c.Queue.Queue(`
	WITH delta AS (
		SELECT id, 1 AS n FROM unnest(@counted::uuid[]) id
		UNION ALL
		SELECT id, -1 FROM unnest(@uncounted::uuid[]) id
	)
	INSERT INTO corpus_stats AS s (tenant, docs, lexemes)
	SELECT @tenant, coalesce(sum(d.n), 0) - @lost_docs, coalesce(sum(d.n * length(m.tsv)), 0) - @lost_lexemes
	FROM delta d
		CROSS JOIN LATERAL (SELECT tsv FROM memories m WHERE m.tenant = @tenant AND m.id = d.id OFFSET 0) m
	ON CONFLICT (tenant) DO UPDATE
	SET docs = s.docs + excluded.docs,
		lexemes = s.lexemes + excluded.lexemes`,
		pg.Args{
			"tenant":       c.Tenant,
			"counted":      c.Counted,
			"uncounted":    c.Uncounted,
			"lost_docs":    c.lostDocs,
			"lost_lexemes": len(c.lost),
		})
}
