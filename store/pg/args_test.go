package pg_test

import (
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/mneme/mneme/memory/timeexpr"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/store/pg"
)

func rewrite(t *testing.T, sql string, args pg.Args) (string, []any) {
	t.Helper()
	text, values, err := args.RewriteQuery(t.Context(), nil, sql, nil)
	require.NoError(t, err)
	return text, values
}

func TestNamesBecomePositions(t *testing.T) {
	t.Parallel()
	const sql = `SELECT '@c', a @> @a FROM t WHERE b = @b::text AND c = @a`
	for _, want := range [][]any{{1, "x"}, {2, "y"}} { // the second time from the cache
		text, values := rewrite(t, sql, pg.Args{"a": want[0], "b": want[1]})
		require.Equal(t, `SELECT '@c', a @> $1 FROM t WHERE b = $2::text AND c = $1`, text)
		require.Equal(t, want, values)
	}
}

func TestArgumentsMustMatchTheText(t *testing.T) {
	t.Parallel()
	const sql = `SELECT @only, @these`
	refuse := func(args pg.Args) {
		_, _, err := args.RewriteQuery(t.Context(), nil, sql, nil)
		require.Error(t, err)
	}
	for range 2 { // the second time from the cache
		refuse(pg.Args{"only": 1})
		refuse(pg.Args{"only": 1, "others": 2})
		refuse(pg.Args{"only": 1, "these": 2, "others": 3})
		rewrite(t, sql, pg.Args{"only": 1, "these": 2})
	}
}

func TestAFilterIsTheSameByNameAndByPosition(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 5, 1, 0, 0, 0, 0, time.UTC)
	pinned := true
	f := pg.Filter{Principal: schema.Principal{Tenant: "t", Agent: "a", Project: "p", Scope: "s"},
		Scopes: []string{"other"}, ReadPolicy: schema.ReadShared, Types: []schema.MemoryType{schema.TypeSemantic},
		Categories: []schema.Category{"fact"}, Tags: []string{"x"}, Who: "w", Pinned: &pinned, ImportanceMin: 0.5,
		Since: &now, Until: &now, At: now, Now: now, Context: []byte(`{}`),
		During: []timeexpr.TimeWindow{{Start: now, End: now}, {Start: now, End: now}}}

	args, params := pg.Args{}, pg.Params{"before"}
	text, values := rewrite(t, f.Where("m", args), args)
	byPosition := f.Where("m", &params)
	require.NotContains(t, byPosition, "@f_")
	require.Equal(t, strings.Count(text, "$"), strings.Count(byPosition, "$"))
	require.Equal(t, "before", params[0])
	for _, value := range values {
		require.Contains(t, params, value)
	}
}

func TestPartsOfAStatementShareOneFilter(t *testing.T) {
	t.Parallel()
	ours := pg.Filter{Principal: schema.Principal{Tenant: "t", Agent: "a"}}
	args := pg.Args{}
	sql := ours.Where("m", args) + " AND " + ours.Visible("o", args)
	_, values := rewrite(t, sql, args)
	require.Len(t, values, 4, "tenant, agent, scope, sensitivities")

	theirs := ours
	theirs.Principal.Agent = "b"
	require.Panics(t, func() { theirs.Visible("n", args) }, "one filter would get the arguments of the other")
}

var _ pgx.QueryRewriter = pg.Args{}
