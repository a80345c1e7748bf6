package store_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mneme/mneme/internal/testkit"
	"github.com/mneme/mneme/schema"
)

// countStatements counts the rows that each statement writes to a table, in the table written.
func (w *world) countStatements(table string) {
	w.t.Helper()
	w.exec(`CREATE TABLE IF NOT EXISTS written (at text, rows bigint)`)
	w.exec(`CREATE OR REPLACE FUNCTION count_written() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$ BEGIN
		INSERT INTO written SELECT TG_TABLE_NAME, count(*) FROM fresh; RETURN NULL; END $$`)
	for _, event := range []string{"INSERT", "UPDATE"} {
		w.exec(fmt.Sprintf(`CREATE TRIGGER zzz_written_%s AFTER %s ON %s REFERENCING NEW TABLE AS fresh
			FOR EACH STATEMENT EXECUTE FUNCTION count_written()`, strings.ToLower(event), event, table))
	}
}

// mostWritten returns the most rows that one statement has written to a table, and forgets them.
func (w *world) mostWritten(table string) int64 {
	w.t.Helper()
	var most int64
	require.NoError(w.t, w.owner.QueryRow(ctx, `SELECT max(rows) FROM written WHERE at = $1`, table).Scan(&most))
	w.exec(`DELETE FROM written WHERE at = $1`, table)
	return most
}

// manyWords is a text of n words of four letters, from the given one on.
func manyWords(from, n int) string {
	var b strings.Builder
	for i := from; i < from+n; i++ {
		word := [4]byte{}
		for at, left := 0, i; at < len(word); at, left = at+1, left/26 {
			word[at] = byte('a' + left%26)
		}
		b.Write(word[:])
		b.WriteByte(' ')
	}
	return b.String()
}

// A statement has a time limit, so no statement counts more than 20,000 words, however many the texts of one change
// have.
func TestWordsAreCountedInParts(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.countStatements("lexeme_stats")
	w.stage(say(manyWords(0, 30_000), manyWords(25_000, 30_000))...)
	require.LessOrEqual(t, w.mostWritten("lexeme_stats"), int64(20_000))
	require.Greater(t, w.count("lexeme_stats", "docs = 1"), 40_000)
	require.Greater(t, w.count("lexeme_stats", "docs = 2"), 4_000, "words that both texts have")
	w.requireExactStats()
	w.forgetAll(w.forgets(schema.ForgetForce, schema.Selector{All: true}))
	require.LessOrEqual(t, w.mostWritten("lexeme_stats"), int64(20_000))
	require.Zero(t, w.count("lexeme_stats", "docs <> 0"))
	w.requireExactStats()
	testkit.CheckInvariants(t, w.owner)
}

// For the same reason no statement stores more text than one memory may have.
func TestLongTextsAreStoredInParts(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.countStatements("memories")
	long := strings.Repeat("green tea, ", schema.MaxContentBytes/11-10)
	w.stage(say("one "+long, "two "+long, "three "+long, "four "+long)...)
	require.EqualValues(t, 1, w.mostWritten("memories"))
	w.stage(say("five", "six", "seven")...)
	require.EqualValues(t, 3, w.mostWritten("memories"))
}
