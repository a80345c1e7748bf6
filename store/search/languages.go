package search

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/jackc/pgx/v5"
	"golang.org/x/text/unicode/norm"

	"github.com/mneme/mneme/memory/english"
	"github.com/mneme/mneme/memory/language"
	"github.com/mneme/mneme/memory/rank"
	"github.com/mneme/mneme/store/pg"
)

// Memories are indexed in the form in which they were written and in their own language. An é may be one character or
// an e and an accent, and each language has its own endings and function words. So a text to search for is read in both
// forms and, for full text, in all languages that the tenant has. Most texts and tenants have only one.

// maxLanguages is the number of languages of a tenant, besides English, in which a text is read.
const maxLanguages = "20"

// Places in the texts of analyseSQL: three texts, each in Unicode's composed form, then each in its decomposed form,
// and the vocabulary.
const (
	decomposedFrom = 3
	vocabularyAt   = 6
)

// formsOf returns texts for analyseSQL. A decomposed form that equals the composed one is empty. differ reports whether
// one is not.
func formsOf(query, keywords, expansion string) (texts []string, differ bool) {
	texts = make([]string, vocabularyAt, vocabularyAt+1)
	for i, t := range []string{query, keywords, expansion} {
		texts[i] = norm.NFC.String(t)
		if decomposed := norm.NFD.String(t); decomposed != texts[i] {
			texts[decomposedFrom+i], differ = decomposed, true
		}
	}
	return texts, differ
}

// analyseSQL is lexemesSQL for the texts of formsOf: query and keywords are also read in the other languages of the
// tenant. config is 0 for English, and others is the number of other configurations. Languages without a configuration
// of their own share one. The places of a lexeme in its text are read if they are used.
const analyseSQL = `
	WITH RECURSIVE used AS (
		(SELECT m.language
			FROM memories m
			WHERE m.tenant = @tenant AND m.live AND m.language <> 'en'
			ORDER BY m.language
			LIMIT 1)
		UNION ALL
		SELECT (
			SELECT m.language
			FROM memories m
			WHERE m.tenant = @tenant AND m.live AND m.language <> 'en' AND m.language > u.language
			ORDER BY m.language
			LIMIT 1)
		FROM used u
		WHERE u.language IS NOT NULL
	), others AS MATERIALIZED (
		SELECT row_number() OVER (ORDER BY c.config::text) AS n, c.config
		FROM (
			SELECT DISTINCT mneme_text_config(u.language) AS config
			FROM (SELECT language FROM used WHERE language IS NOT NULL LIMIT ` + maxLanguages + `) u
		) c
		WHERE c.config <> mneme_text_config('en')
	)
	SELECT l.n - 1, l.config, (SELECT count(*) FROM others) AS others, l.lexeme,
		CASE WHEN @placed OR EXISTS (SELECT FROM others) THEN l.positions END AS positions,
		coalesce((
			SELECT s.docs
			FROM lexeme_stats s
			WHERE s.tenant = @tenant AND s.lexeme = l.lexeme), 0)
	FROM (
		SELECT t.n, 0 AS config, l.lexeme, l.positions
		FROM unnest(@texts::text[]) WITH ORDINALITY t(text, n),
			unnest(to_tsvector(mneme_text_config('en'), mneme_split_words(t.text))) l
		UNION ALL
		SELECT t.n, o.n, l.lexeme, l.positions
		FROM unnest(@texts::text[]) WITH ORDINALITY t(text, n), others o,
			unnest(to_tsvector(o.config, mneme_split_words(t.text))) l
		WHERE t.n IN (1, 2, 4, 5)
	) l
	ORDER BY 1, 2, l.lexeme`

// readTexts reads the texts of formsOf in their forms and in the tenant's languages. It also reads the size of the
// tenant's text.
func (s *Search) readTexts(ctx context.Context, tenant string, texts []string, differ bool,
	corpus *rank.Corpus) ([]readText, error) {
	var out []readText
	b := s.NewQueryBatch(ctx, tenant, pg.PlanOnce)
	_, english := s.english.get(tenant, time.Now())
	// What nearly all texts are, and twice as fast.
	simple := english && !differ && language.Of(texts[0]) == language.English
	if simple {
		args := pg.Args{"tenant": tenant, "texts": texts,
			"languages": slices.Repeat([]string{language.English}, len(texts))}
		b.Queue(lexemesSQL, args).Query(func(rows pgx.Rows) error {
			lexemes, err := scanLexemes(rows, len(texts))
			out = englishTexts(lexemes)
			return err
		})
	} else {
		args := pg.Args{"tenant": tenant, "texts": texts, "placed": differ}
		b.Queue(analyseSQL, args).Query(func(rows pgx.Rows) (err error) {
			out, err = scanTexts(rows)
			return err
		})
	}
	b.Queue(corpusSQL, tenant).QueryRow(func(row pgx.Row) error { return row.Scan(&corpus.Docs, &corpus.Lexemes) })
	if err := s.SendQueryBatch(ctx, b); err != nil {
		return nil, err
	}
	if !simple && len(out[0].words) > 0 && out[0].others == 0 {
		s.english.put(tenant, struct{}{}, time.Now().Add(englishKept))
	}
	return out, nil
}

// englishKept is how long a tenant is taken to have memories in English only. For so long the first memory in another
// language may not be found by the words of a question that seems to be in English.
const englishKept = 10 * time.Second

// inEither returns the lexemes of a text in English and in its own language. Of those in one only, a lexeme that no
// memory has is left out: it is the wrong reading.
func inEither(english, own []rank.Lexeme) []rank.Lexeme {
	var out []rank.Lexeme
	for _, l := range own {
		if l.Docs > 0 || slices.Contains(english, l) {
			out = append(out, l)
		}
	}
	for _, l := range english {
		if l.Docs > 0 && !slices.Contains(out, l) {
			out = append(out, l)
		}
	}
	slices.SortFunc(out, func(a, b rank.Lexeme) int { return cmp.Compare(a.Text, b.Text) })
	return out
}

// withoutWholeRuns drops runs of at least three Chinese, Japanese or Korean characters that no memory has: their pairs
// are searched (mneme_split_words), and the run is no unknown word.
func withoutWholeRuns(lexemes []rank.Lexeme) []rank.Lexeme {
	return slices.DeleteFunc(slices.Clone(lexemes), func(l rank.Lexeme) bool {
		return l.Docs == 0 && utf8.RuneCountInString(l.Text) > 2 && strings.ContainsFunc(l.Text, english.IsIdeograph)
	})
}

// englishTexts returns texts that were read in English, as scanTexts does.
func englishTexts(lexemes [][]rank.Lexeme) []readText {
	out := make([]readText, decomposedFrom+1)
	for n, found := range lexemes {
		if n >= decomposedFrom && n < vocabularyAt {
			continue // empty
		}
		to := &out[n%decomposedFrom]
		if n == vocabularyAt {
			to = &out[decomposedFrom]
		}
		for _, l := range found {
			to.words = append(to.words, word{Lexeme: l})
		}
	}
	return out
}

// readText is a text in its forms and languages.
type readText struct {
	words  []word // the composed form first, then by language and lexeme
	others int    // number of languages other than English
}

// word is a lexeme of a text in one form and language, with its places in the text.
type word struct {
	rank.Lexeme
	config     int // 0: English
	decomposed bool
	at         []int16
}

func scanTexts(rows pgx.Rows) ([]readText, error) {
	out := make([]readText, decomposedFrom+1) // the last is the vocabulary
	var n, others int
	var w word
	_, err := pgx.ForEachRow(rows, []any{&n, &w.config, &others, &w.Text, &w.at, &w.Docs}, func() error {
		w.decomposed = n >= decomposedFrom && n < vocabularyAt
		to := &out[n%decomposedFrom]
		if n == vocabularyAt {
			to = &out[decomposedFrom]
		}
		to.others = others
		to.words = append(to.words, w)
		w.at = nil // the word holds the slice
		return nil
	})
	return out, err
}

// english returns the lexemes of a text in English.
func (t readText) english() []rank.Lexeme { return t.lexemes(0) }

// inAllLanguages returns the lexemes of a text in the languages of the tenant.
func (t readText) inAllLanguages() []rank.Lexeme { return t.lexemes(t.others) }

// lexemes returns the composed English lexemes of a text, and those of its other form and of others languages that
// memories have. An English lexeme that no memory has is dropped if memories have the word in another form or language,
// or if it is a function word in another language: it is not an unknown word.
func (t readText) lexemes(others int) []rank.Lexeme {
	known, languages := map[int16]bool{}, map[int16]int{} // by place
	for _, w := range t.words {
		for _, at := range w.at {
			if w.config > others || w.config == 0 && !w.decomposed {
				continue
			}
			known[at] = known[at] || w.Docs > 0
			if !w.decomposed {
				languages[at]++
			}
		}
	}
	var out []rank.Lexeme
	taken := map[string]bool{}
	for _, w := range t.words {
		plain := w.config == 0 && !w.decomposed
		elsewhere := slices.ContainsFunc(w.at, func(at int16) bool { return known[at] || languages[at] < others })
		if w.config > others || w.Docs == 0 && (!plain || elsewhere) || taken[w.Text] {
			continue
		}
		taken[w.Text] = true
		out = append(out, w.Lexeme)
	}
	slices.SortFunc(out, func(a, b rank.Lexeme) int { return cmp.Compare(a.Text, b.Text) })
	return out
}
