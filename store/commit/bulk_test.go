package commit

import (
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/mneme/mneme/store/pg"
)

func TestRowsAreBatchedBetweenOtherStatements(t *testing.T) {
	first := BulkInsert("one", "id text, tags text[]", "")
	second := BulkInsert("two", "id text", "ON CONFLICT (id) DO UPDATE SET id = excluded.id", "id")
	c := &Change{}
	for _, id := range []string{"a", "b"} {
		c.Add(first, pg.Args{"id": id, "tags": []string{id}})
		c.Add(second, pg.Args{"id": "same"})
	}
	c.Queue.Queue("DELETE FROM one")
	c.Add(first, pg.Args{"id": "c", "tags": []string{}})
	for range bulkMost {
		c.Add(second, pg.Args{"id": uuid.NewString()})
	}
	c.Add(second, pg.Args{"id": uuid.NewString()})

	var got []string
	for _, q := range c.queued().QueuedQueries {
		line := strings.Join(strings.Fields(q.SQL)[:3], " ")
		if len(q.Arguments) > 0 {
			ids := q.Arguments[0].(pg.Args)["id"].([]any)
			if line += " " + ids[0].(string)[:1]; len(ids) > 1 {
				line += "…"
			}
			if len(ids) == bulkMost {
				line = "a full statement"
			}
		}
		got = append(got, line)
	}
	require.Len(t, got, 7)
	require.Equal(t, []string{"INSERT INTO one a…", "INSERT INTO two s", "INSERT INTO two s", "DELETE FROM one",
		"INSERT INTO one c", "a full statement"}, got[:6], "rows with one key go in two statements")
	require.Equal(t, "INSERT INTO two", got[6][:len("INSERT INTO two")])
}

func TestArrayLiterals(t *testing.T) {
	require.Equal(t, `{}`, arrayLiteral([]string{}))
	require.Equal(t, `{"a","b c","d,e","{f}","\"g\"","\\h","","NULL"}`,
		arrayLiteral([]string{"a", "b c", "d,e", "{f}", `"g"`, `\h`, "", "NULL"}))
	require.Equal(t, `{"00000000-0000-0000-0000-000000000000"}`, arrayLiteral([]uuid.UUID{{}}))
}
