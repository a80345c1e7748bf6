package pg_test

import (
	"encoding/json"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/mneme/mneme/internal/testkit"
	"github.com/mneme/mneme/store/pg"
)

type part struct {
	Size *int `db:"part_size"`
}

type row struct {
	Name    string
	Tags    []string
	Payload json.RawMessage
	NotRead string
	part
}

func TestColumnsGoToTheFieldsOfTheirNames(t *testing.T) {
	t.Parallel()
	s := testkit.OpenStore(t, testkit.DatabaseURL(t))
	read := func(query string, args pg.Args) ([]row, error) {
		batch, err := pg.QueryBatchRows[row](t.Context(), s.DB, "t", pg.PlanOnce, query, args)
		require.NoError(t, s.Read(t.Context(), "t", func(tx pgx.Tx) error {
			alone, alike := pg.CollectByName[row](t.Context(), tx, query, args)
			require.Equal(t, batch, alone)
			require.Equal(t, err == nil, alike == nil)
			return nil
		}))
		return batch, err
	}
	const query = `
		SELECT part_size, tags, payload, name
		FROM (VALUES
			(1, 'a', 7, ARRAY['x', 'y'], '{"k": 1}'::jsonb),
			(2, 'b', NULL, NULL, NULL),
			(3, 'c', 9, ARRAY['z'], '{"k": 2}'::jsonb)
		) v(n, name, part_size, tags, payload)
		WHERE n <= @most
		ORDER BY n`
	seven, nine := 7, 9
	found, err := read(query, pg.Args{"most": 3})
	require.NoError(t, err)
	require.Equal(t, []row{
		{Name: "a", Tags: []string{"x", "y"}, Payload: json.RawMessage(`{"k": 1}`), part: part{&seven}},
		{Name: "b"}, // not the value of the previous row
		{Name: "c", Tags: []string{"z"}, Payload: json.RawMessage(`{"k": 2}`), part: part{&nine}},
	}, found)

	none, err := read(query, pg.Args{"most": 0})
	require.NoError(t, err)
	require.Empty(t, none)
}

func TestAColumnWithoutAFieldIsAnError(t *testing.T) {
	t.Parallel()
	s := testkit.OpenStore(t, testkit.DatabaseURL(t))
	_, err := pg.QueryBatchRows[row](t.Context(), s.DB, "t", pg.PlanOnce, `SELECT 'a' AS nom`, pg.Args{})
	require.ErrorContains(t, err, "nom")
}
