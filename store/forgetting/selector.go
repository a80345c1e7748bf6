package forgetting

import (
	"context"
	"strings"

	"github.com/google/uuid"

	"github.com/mneme/mneme/memory/normalize"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/store/commit"
	"github.com/mneme/mneme/store/pg"
)

// selectItems stores the selection of a request and returns the number of memories, or schema.MaxForgetSelected+1
// if there are too many.
func selectItems(ctx context.Context, c *commit.Change, run uuid.UUID, req schema.ForgetRequest) (int, error) {
	text, err := conditionsOfText(ctx, c, req.Selector.Query)
	if err != nil {
		return 0, err
	}
	query, args := selectItemsSQL(run, req, text)
	tag, err := c.Tx.Exec(ctx, query, args...)
	return int(tag.RowsAffected()), err
}

// leftToForget is the condition that a mode selects a memory m that the request does not name by id.
// lifecycle.ForgetOutcome would not change the others.
func leftToForget(mode schema.ForgetMode) string {
	if mode == schema.ForgetSoft {
		return "m.erased_at IS NULL AND m.deleted_at IS NULL"
	}
	return "m.erased_at IS NULL"
}

// selectItemsSQL renders the statement that stores a selection. Memories named by id are selected if the principal
// may change them. Otherwise the agent's own memories that match the shared filter are. Arguments are numbered,
// because pg.Filter renders a part of the statement.
func selectItemsSQL(run uuid.UUID, req schema.ForgetRequest, text textConditions) (string, []any) {
	sel, owner := req.Selector, req.Principal
	var p pg.Params
	tenant, runID := p.Add(owner.Tenant), p.Add(run)
	mayChange := func() string {
		return pg.SharedWith("m", p.Add(owner.Agent), p.Add(owner.Project), p.Add(pg.ChangeGrants(owner)))
	}
	asked := pg.Filter{Principal: owner, OwnScope: true, Types: sel.Types, Categories: sel.Categories,
		Tags: normalize.NormalizeTags(sel.Tags), Who: sel.Who, Since: sel.Since, Until: sel.Until}
	left := leftToForget(req.HowMuch())
	var where string
	if len(sel.IDs) > 0 {
		where = `m.tenant = ` + tenant + ` AND ` + mayChange() + ` AND m.id = ANY(` + p.Add(parseIDs(sel.IDs)) + `)`
	} else {
		where = left + ` AND ` + asked.Reachable("m", &p)
	}
	where += asked.Narrowed("m", &p)
	if len(sel.Tags) > 0 && len(asked.Tags) == 0 {
		where += ` AND FALSE` // tags that normalize to nothing must select no memory, not all
	}
	if sel.SourceKind != "" {
		// A candidate has the id of the memory that it became. A separate table keeps the source kind after the
		// candidate is deleted.
		kind := p.Add(sel.SourceKind)
		where += `
			AND EXISTS (
				SELECT FROM memory_candidates k
				WHERE k.tenant = m.tenant AND k.id = m.id AND k.source_kind = ` + kind + `
				UNION ALL
				SELECT FROM memory_source_kinds k
				WHERE k.tenant = m.tenant AND k.memory_id = m.id AND k.source_kind = ` + kind + `)`
	}
	if sel.Session != "" {
		where += ` AND m.agent_session_id = ` + p.Add(sel.Session)
	}
	limit, rank, from := schema.MaxForgetSelected+1, `0::float4`, `memories m`
	if sel.Query != "" {
		// The index finds matches in any language. The condition then checks the memory's own language, because a
		// memory must match and not only rank to be forgotten. The view is read in a subquery with OFFSET 0:
		// otherwise the row-level policy of memories would apply to it and prevent the use of its index.
		parts := make([]string, len(text.queries))
		for i, query := range text.queries {
			parts[i] = p.Add(query) + `::text::tsquery`
		}
		own := `websearch_to_tsquery(mneme_text_config(m.language), ` + p.Add(sel.Query) + `)`
		from = `(
				SELECT s.id
				FROM memory_text s
				WHERE s.live AND s.tsv @@ (` + strings.Join(parts, ` || `) + `)
				OFFSET 0) x
			JOIN memories m ON m.id = x.id`
		where += `
			AND m.live
			AND m.tsv @@ ` + own + `
			AND mneme_text_config(m.language) = ANY(` + p.Add(text.configs) + `::text[]::regconfig[])`
		rank = `ts_rank(m.tsv, ` + own + `)`
		if sel.Limit > 0 {
			limit = min(limit, sel.Limit)
		}
	}
	chosen := `
			SELECT m.id, m.version, ` + rank + ` AS rank
			FROM ` + from + `
			WHERE ` + where + `
			ORDER BY rank DESC, m.id
			LIMIT ` + p.Add(limit)
	insert := `
		INSERT INTO forget_items (tenant, run_id, ordinal, memory_id, version)
		SELECT ` + tenant + `, ` + runID + `,`
	if !sel.IncludeDerived {
		return insert + ` row_number() OVER (ORDER BY c.rank DESC, c.id) - 1, c.id, c.version
		FROM (` + chosen + `) c`, p
	}
	return `
		WITH RECURSIVE chosen AS MATERIALIZED (` + chosen + `
		), reached(id) AS (
			SELECT id
			FROM chosen
			UNION
			SELECT m.id
			FROM reached c
			JOIN memory_links r ON r.tenant = ` + tenant + ` AND r.target_id = c.id
				AND r.predicate = 'derived_from'
			JOIN memories m ON m.tenant = ` + tenant + ` AND m.id = r.source_id
				AND ` + left + ` AND ` + mayChange() + `
		)` + insert + ` row_number() OVER (ORDER BY c.rank DESC NULLS LAST, m.id) - 1, m.id, m.version
		FROM reached r
		JOIN memories m ON m.tenant = ` + tenant + ` AND m.id = r.id
		LEFT JOIN chosen c ON c.id = r.id
		LIMIT ` + p.Add(schema.MaxForgetSelected+1), p
}

// textConfigs are the configurations that mneme_text_config returns.
var textConfigs = []string{"pg_catalog.english", "pg_catalog.german", "pg_catalog.french", "pg_catalog.spanish",
	"pg_catalog.italian", "pg_catalog.portuguese",
	"pg_catalog.dutch", "pg_catalog.simple"}

// textConditions is a query parsed for full text in each language.
type textConditions struct {
	configs []string // those in which the query has a word to search for
	// the query in each of them, without repetitions: equal queries would make the planner expect more rows
	queries []string
}

// conditionsOfText parses a query in every language. A query left with only excluded words, such as "-zebra" alone
// or with a stop word, would select everything else. In such a language it selects nothing, and if all languages
// are like that, the query is refused.
func conditionsOfText(ctx context.Context, c *commit.Change, query string) (textConditions, error) {
	var t textConditions
	if query == "" {
		return t, nil
	}
	err := c.Tx.QueryRow(ctx, `
		SELECT coalesce(array_agg(config ORDER BY config), '{}'), coalesce(array_agg(DISTINCT q::text), '{}')
		FROM (
			SELECT config, websearch_to_tsquery(config::regconfig, @query) AS q
			FROM unnest(@configs::text[]) config) x
		WHERE querytree(q) NOT IN ('', 'T')`,
		pg.Args{"query": query, "configs": textConfigs}).Scan(&t.configs, &t.queries)
	if err == nil && len(t.queries) == 0 {
		err = &schema.ValidationError{Fields: []schema.FieldError{{Field: "selector.query",
			Problem: "has no word that must be there"}}}
	}
	return t, err
}
