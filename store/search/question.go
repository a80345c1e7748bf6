package search

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/jackc/pgx/v5"

	"github.com/mneme/mneme/memory"
	"github.com/mneme/mneme/memory/language"
	"github.com/mneme/mneme/memory/rank"
	"github.com/mneme/mneme/store/pg"
)

// Wording is the text of a recall.
type Wording struct {
	Query     string // the text for claims and graph
	Keywords  string // the text for full text and hints; if empty, the query
	Expansion string // additional terms for full text and hints, with less weight (rank.ExpandQuery)
}

// Question is a wording parsed for the tenant's full text: its lexemes, and how many of the tenant's live memories
// have each. A recall makes one for all channels that use words.
//
// Document frequencies and the average length are those of all live memories of the tenant, including hidden ones:
// exact numbers would need a count over the visible rows for every query. They affect scores, and they affect which
// words of the query select memories if thousands of memories have a word. They never affect what may be seen.
type Question struct {
	query, keywords, expansion []rank.Lexeme
	texts                      []rank.Lexeme // keywords in the languages of the tenant's memories, for full text
	vocabulary                 []rank.Lexeme // of the hints that rules write
	names                      []string      // that may be an entity's
	corpus                     rank.Corpus
	busy                       bool // the tenant is large and searches often
}

// Analyse makes a question of a wording. Postgres parses the text from a parameter, with the configurations of the
// tenant's memories, so no text can be a syntax error.
func (s *Search) Analyse(ctx context.Context, tenant string, w Wording) (Question, error) {
	if tenant == "" {
		return Question{}, fmt.Errorf("analyse: %w", pg.ErrNoTenant)
	}
	keywords := w.Keywords
	if keywords == w.Query {
		keywords = ""
	}
	texts, differ := formsOf(w.Query, keywords, w.Expansion)
	known, cached := s.hints.get()
	if !cached {
		texts = append(texts, memory.HintVocabulary)
	}
	q := Question{names: rank.FocalNames(w.Query)}
	found, err := s.readTexts(ctx, tenant, texts, differ, &q.corpus)
	if err != nil {
		return Question{}, fmt.Errorf("analyse: %w", err)
	}
	q.busy = q.isLarge() && s.busyByWords.search(tenant)
	q.query, q.expansion, q.vocabulary = found[0].english(), found[2].english(), known
	asked := found[0]
	q.keywords = withoutWholeRuns(q.query)
	if keywords != "" {
		asked = found[1]
		q.keywords = withoutWholeRuns(asked.english())
	}
	q.texts = q.keywords
	if asked.others > 0 {
		q.texts = withoutWholeRuns(asked.inAllLanguages())
	}
	if !cached {
		q.vocabulary = found[3].english()
		s.hints.put(q.vocabulary)
	}
	return q, nil
}

// named prepares lexemes for a search in names, predicates or summaries, which may have words that no content has.
func named(lexemes []rank.Lexeme) []rank.Lexeme {
	out := slices.Clone(lexemes)
	for i := range out {
		out[i].Docs = max(1, out[i].Docs)
	}
	return out
}

// AllKnown reports whether the query has words, and memories of the tenant contain each of them. A misspelt word, for
// instance, is in none.
func (q Question) AllKnown() bool {
	return len(q.query) > 0 && !slices.ContainsFunc(q.query, func(l rank.Lexeme) bool { return l.Docs == 0 })
}

const (
	// A subquery instead of a join probes once per lexeme, whatever the planner's estimate of the tenant's
	// vocabulary.
	lexemesSQL = `
		SELECT t.n - 1, l.lexeme, coalesce((
			SELECT s.docs
			FROM lexeme_stats s
			WHERE s.tenant = @tenant AND s.lexeme = l.lexeme), 0)
		FROM unnest(@texts::text[], @languages::text[]) WITH ORDINALITY t(text, language, n),
			unnest(to_tsvector(mneme_text_config(t.language), mneme_split_words(t.text))) l
		ORDER BY 1, 2`

	corpusSQL = `
		SELECT coalesce(sum(docs), 0)::bigint, coalesce(sum(lexemes), 0)::bigint
		FROM corpus_stats
		WHERE tenant = $1`
)

func scanLexemes(rows pgx.Rows, texts int) ([][]rank.Lexeme, error) {
	out := make([][]rank.Lexeme, texts)
	var n int
	var l rank.Lexeme
	_, err := pgx.ForEachRow(rows, []any{&n, &l.Text, &l.Docs}, func() error {
		out[n] = append(out[n], l)
		return nil
	})
	return out, err
}

// planning returns how a search by words is planned. In a small tenant the search takes less time than its
// planning, so one plan serves all. That plan would not fit a tenant that is large among many small ones: such a tenant
// has its own plans if it is busy (ofTenant), and otherwise each search is planned.
func (q Question) planning() pg.Planning {
	if q.isLarge() && !q.busy {
		return pg.PlanForValues
	}
	return pg.PlanOnce
}

func (q Question) isLarge() bool { return q.corpus.Docs > planOnceUpTo }

// ofTenant renders a condition on a table's tenant, in addition to those of the filter. For a large and busy tenant it
// has the tenant as a literal, so that the statement is planned for that tenant, and once.
func (q Question) ofTenant(alias string, f pg.Filter) string {
	if !q.busy {
		return ""
	}
	return " AND " + alias + ".tenant = " + pg.QuoteLiteral(f.Principal.Tenant)
}

// planOnceUpTo is the number of memories of a tenant up to which one plan serves all its searches by words.
const planOnceUpTo = 20_000

// textLexemes analyses texts within a transaction: in English, and in their own language if it is another. Memories from
// before languages were recognised are indexed in English.
func textLexemes(ctx context.Context, tx pgx.Tx, tenant string, texts []string) ([][]rank.Lexeme, rank.Corpus, error) {
	var corpus rank.Corpus
	read, languages := slices.Clone(texts), slices.Repeat([]string{language.English}, len(texts))
	var of []int // the texts that are read again, in their own language
	for i, text := range texts {
		if own := language.Of(text); own != language.English {
			read, languages, of = append(read, text), append(languages, own), append(of, i)
		}
	}
	rows, err := tx.Query(ctx, lexemesSQL, pg.Args{"tenant": tenant, "texts": read, "languages": languages})
	if err != nil {
		return nil, corpus, err
	}
	lexemes, err := scanLexemes(rows, len(read))
	if err != nil {
		return nil, corpus, err
	}
	for n, i := range of {
		lexemes[i] = inEither(lexemes[i], lexemes[len(texts)+n])
	}
	lexemes = lexemes[:len(texts)]
	for i := range lexemes {
		lexemes[i] = withoutWholeRuns(lexemes[i])
	}
	err = tx.QueryRow(ctx, corpusSQL, tenant).Scan(&corpus.Docs, &corpus.Lexemes)
	return lexemes, corpus, err
}

// vocabulary caches the lexemes of memory.HintVocabulary, which are the same for every tenant. The zero value is
// ready.
type vocabulary struct {
	mu      sync.Mutex
	lexemes []rank.Lexeme
}

func (v *vocabulary) get() ([]rank.Lexeme, bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.lexemes, v.lexemes != nil
}

func (v *vocabulary) put(lexemes []rank.Lexeme) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.lexemes = make([]rank.Lexeme, len(lexemes))
	for i, l := range lexemes {
		v.lexemes[i] = rank.Lexeme{Text: l.Text} // without the tenant's frequency
	}
}
