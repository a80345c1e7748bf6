package store_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/store/transfer"
)

// Files from elsewhere: no value appears in an error, and no row of the batch stays.
func TestRestoreRefusesInvalidLines(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.explicit("Secret words")
	good := w.export(w.whole())
	for name, change := range map[string][2]string{
		"payload of another type": {`"kind":"semantic"`, `"kind":"episodic"`},
		"not a time":              {`"created_at":"2026`, `"created_at":"Secret`},
		"no such visibility":      {`"visibility":"private"`, `"visibility":"Secret"`},
		"hash of wrong length":    {`"content_hash":"\\x`, `"content_hash":"\\x00`},
		"no normalized content":   {`"normalized_content":`, `"abnormal_content":`},
	} {
		to := newWorld(t)
		before := to.snapshot()
		var lines []transfer.ExportLine
		var refused error
		changed := false
		for _, line := range good {
			text := strings.ReplaceAll(string(line), change[0], change[1])
			changed = changed || text != string(line)
			parsed, err := transfer.DecodeExportLine([]byte(text))
			if err != nil {
				refused = err
			}
			if err := json.Unmarshal([]byte(text), &parsed); err == nil { // the database must refuse it too
				lines = append(lines, parsed)
			}
		}
		require.True(t, changed, name)
		if refused != nil {
			require.NotContains(t, refused.Error(), "Secret", name)
		}
		if len(lines) < len(good) {
			continue
		}
		_, err := to.Restore(ctx, "t", lines, to.now)
		require.Error(t, err, name)
		require.NotContains(t, err.Error(), "Secret", name)
		require.Equal(t, before, to.snapshot(), name)
	}
	bad := parsed(t, good...)
	bad = append(bad, transfer.ExportLine{Kind: transfer.LineArtifact,
		Artifact: &transfer.ExportArtifact{SHA256: strings.Repeat("00", 32), MediaType: "x", Agent: "a",
			CreatedAt: w.now, Content: []byte("other bytes")}})
	_, err := newWorld(t).Restore(ctx, "t", bad, w.now)
	require.Error(t, err, "bytes that do not match their address")
}

func TestSupersessionCheck(t *testing.T) {
	t.Parallel()
	ids := make([]uuid.UUID, 6)
	for i := range ids {
		ids[i] = uuid.New()
	}
	line := func(id int, supersedes, by int, edges ...int) transfer.ExportLine {
		l := transfer.ExportLine{Kind: transfer.LineMemory, Record: &schema.MemoryRecord{ID: ids[id].String()}}
		if supersedes >= 0 {
			l.Record.Supersedes = ids[supersedes].String()
		}
		if by >= 0 {
			l.Record.SupersededBy = ids[by].String()
		}
		for _, e := range edges {
			l.Relations = append(l.Relations, transfer.ExportRelation{Predicate: "supersedes", TargetID: ids[e]})
		}
		return l
	}
	for name, c := range map[string]struct {
		lines []transfer.ExportLine
		want  bool
	}{
		"none":               {[]transfer.ExportLine{line(0, -1, -1)}, false},
		"a chain, both ways": {[]transfer.ExportLine{line(0, -1, 1), line(1, 0, 2), line(2, 1, -1)}, false},
		"a merge":            {[]transfer.ExportLine{line(0, -1, 2), line(1, -1, 2), line(2, 0, -1, 0, 1)}, false},
		"a diamond": {[]transfer.ExportLine{line(0, -1, 1, 4), line(1, 0, 3), line(2, 0, 3),
			line(3, 1, -1, 2)}, false},
		"itself":                {[]transfer.ExportLine{line(0, -1, 0)}, true},
		"two":                   {[]transfer.ExportLine{line(0, -1, 1), line(1, -1, 0)}, true},
		"through a relation":    {[]transfer.ExportLine{line(0, -1, 1), line(1, -1, 2), line(0, -1, -1, 2)}, true},
		"columns that disagree": {[]transfer.ExportLine{line(0, 1, 1), line(1, -1, -1)}, true},
	} {
		var check transfer.SupersessionCheck
		for _, l := range c.lines {
			check.Add(l)
		}
		_, cyclic := check.Cycle()
		require.Equal(t, c.want, cyclic, name)
	}
	var long transfer.SupersessionCheck
	previous := uuid.New()
	for range 200_000 {
		next := uuid.New()
		long.Add(transfer.ExportLine{Record: &schema.MemoryRecord{ID: next.String(), Supersedes: previous.String()}})
		previous = next
	}
	_, cyclic := long.Cycle()
	require.False(t, cyclic)
}

// A line from before a column existed gets the column's default, also among lines that have the column.
func TestRestoreSetsDefaultsOfMissingColumns(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	older, newer := w.explicit("From an older release"), w.explicit("From this release")
	w.exec(`UPDATE memories SET revision_policy = 'fork' WHERE id = $1`, newer)
	lines := parsed(t, w.export(w.whole())...)
	for i := range lines {
		if lines[i].Kind != transfer.LineMemory || lines[i].Record.ID != older.String() {
			continue
		}
		for _, name := range []string{"revision_policy", "conditions_hash", "functional"} {
			require.Contains(t, lines[i].Columns, name)
			delete(lines[i].Columns, name)
		}
		for h := range lines[i].History {
			var row map[string]any
			require.NoError(t, json.Unmarshal(lines[i].History[h], &row))
			delete(row, "metadata")
			var err error
			lines[i].History[h], err = json.Marshal(row)
			require.NoError(t, err)
		}
	}
	to := newWorld(t)
	got, err := to.Restore(ctx, "t", lines, w.now)
	require.NoError(t, err)
	require.Equal(t, 2, got.Restored)
	require.Equal(t, 1, to.count("memories",
		"id = $1 AND revision_policy = 'replace' AND conditions_hash = '' AND NOT functional", older))
	require.Equal(t, 1, to.count("memories", "id = $1 AND revision_policy = 'fork'", newer))
	require.Equal(t, 1, to.count("memory_history", "memory_id = $1 AND metadata = '{}'", older))
}

// A memory is exported with a history that is longer than a JSON value in Postgres may be, and a restore inserts a long
// history in parts.
func TestExportOfALongHistory(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	id := w.explicit("A memory with a past")
	const rows, size = 300, 1 << 20 // more than 256 MB
	w.exec(`INSERT INTO memory_history (tenant, id, memory_id, event, old_content, changed_by, reason, created_at)
		SELECT 't', gen_random_uuid(), $1, 'none', repeat('x', $2), 'alice', 'a test', now()
		FROM generate_series(1, $3)`, id, size, rows)
	var lines []transfer.ExportLine
	_, err := w.Export(ctx, w.whole(), w.now, func(line transfer.ExportLine) error {
		lines = append(lines, line)
		return nil
	})
	require.NoError(t, err)
	require.Len(t, lines[1].History, rows+1)

	const some = 40 // more than one statement inserts
	lines[1].History = lines[1].History[:some]
	to := newWorld(t)
	_, err = to.Restore(ctx, "t", lines, w.now)
	require.NoError(t, err)
	require.Equal(t, some, to.count("memory_history", "memory_id = $1", id))
}

// A restore refuses what the tables have no column for, and says where it is.
func TestRestoreRefusesUnknownColumns(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.explicit("A memory")
	good := w.export(w.whole())
	for field, change := range map[string][2]string{
		"columns.revision_polcy": {`"revision_policy":`, `"revision_polcy":`},
		"history.motive":         {`"changed_by":`, `"motive":"x","changed_by":`},
		"provenance.colour":      {`"position":`, `"colour":"x","position":`},
	} {
		lines := make([][]byte, len(good))
		for i, line := range good {
			lines[i] = []byte(strings.Replace(string(line), change[0], change[1], 1))
		}
		require.NotEqual(t, good, lines, field)
		to := newWorld(t)
		before := to.snapshot()
		_, err := to.Restore(ctx, "t", parsed(t, lines...), to.now)
		var invalid *schema.ValidationError
		require.ErrorAs(t, err, &invalid, field)
		require.Equal(t, field, invalid.Fields[0].Field)
		require.Equal(t, before, to.snapshot())
	}
}

// After a deadlock with other writers a restore repeats the batch, and loses no line of the file.
func TestRestoreAfterADeadlock(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	a, b := w.explicit("This one"), w.explicit("That one")
	w.exec(`INSERT INTO memory_links (tenant, source_id, predicate, target_id, created_at)
		VALUES ('t', $1, 'supports', $2, now())`, a, b)
	lines := parsed(t, w.export(w.whole())...)
	to := newWorld(t)
	for _, table := range []string{"memories", "memory_links"} { // once each
		to.exec(`CREATE SEQUENCE ` + table + `_tries`)
		to.exec(`CREATE FUNCTION ` + table + `_once() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$ BEGIN
			IF nextval(TG_TABLE_SCHEMA || '.` + table +
			`_tries') = 1 THEN RAISE EXCEPTION 'deadlock' USING ERRCODE = 'deadlock_detected'; END IF; RETURN NEW; END $$`)
		to.exec(`CREATE TRIGGER once BEFORE INSERT ON ` + table + ` FOR EACH STATEMENT EXECUTE FUNCTION ` + table +
			`_once()`)
	}
	got, err := to.Restore(ctx, "t", lines, w.now)
	require.NoError(t, err)
	require.Equal(t, []int{2, 1, 0}, []int{got.Restored, got.Relations, got.Unchanged})
	require.Equal(t, w.dump("t"), to.dump("t"))

	to.exec(`DELETE FROM memory_links; ALTER SEQUENCE memory_links_tries RESTART`)
	added, missing, err := to.RestoreRelations(ctx, "t",
		[]transfer.PendingRelation{{Source: a,
			ExportRelation: transfer.ExportRelation{Predicate: "supports", TargetID: b, Weight: 1, CreatedAt: w.now}}},
		w.now)
	require.NoError(t, err)
	require.Equal(t, []int{1, 0}, []int{added, missing})
}
