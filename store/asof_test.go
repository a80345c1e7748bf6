package store_test

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/mneme/mneme/memory/policy"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/store/pg"
	"github.com/mneme/mneme/store/read"
)

// step changes a memory directly in the database as an operation would do at a time: the version goes up by one.
func (w *world) step(id uuid.UUID, at time.Time, set string, args ...any) {
	w.t.Helper()
	w.exec(`UPDATE memories SET version = version + 1, updated_at = $2`+set+` WHERE id = $1`,
		append([]any{id, at}, args...)...)
	w.exec(`INSERT INTO memory_history (tenant, id, memory_id, event, changed_by, reason, created_at, action, version)
		SELECT tenant, gen_random_uuid(), id, 'modified', 'human:dana', 'a step', $2, 'modify', version FROM memories
			WHERE id = $1`, id, at)
}

func (w *world) asOf(id uuid.UUID, at time.Time) schema.MemoryRecord {
	w.t.Helper()
	m, err := w.GetAsOf(ctx, w.p, id, at, policy.UpTo(schema.SensitivityHyper))
	require.NoError(w.t, err)
	return m
}

func (w *world) listAsOf(at, validAt time.Time) []string {
	w.t.Helper()
	found, err := w.List(ctx, pg.Filter{Principal: w.p, AsOf: &at, At: validAt}, pg.Page{})
	require.NoError(w.t, err)
	out := []string{}
	for _, m := range found {
		out = append(out, m.Content)
	}
	return out
}

// A fact is changed, superseded, contested, resolved, retracted, forgotten, recovered and erased. At each time, the
// fact and its successor are read as they were believed at that time.
func TestReadAsOf(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	first := w.now
	day := func(n int) time.Time { return first.AddDate(0, 0, n) }
	id := w.explicit("Dana drinks tea")
	w.step(id, day(1), `, content = 'Dana drinks green tea', tags = '{tea}'`)
	w.now = day(2)
	other := w.explicit("Dana drinks coffee")
	w.exec(`INSERT INTO memory_links VALUES ('t', $1, 'contradicts', $2, 1, $3, '')`, id, other, day(3))
	w.step(id, day(3), `, status = 'contested'`)
	w.step(other, day(3), `, status = 'contested'`)
	w.step(other, day(4), `, status = 'superseded', superseded_by = $3, superseded_at = $2`, id)
	w.step(id, day(4), `, status = 'active', supersedes = $3`, other)
	w.step(id, day(5), `, status = 'retracted'`)
	w.step(id, day(6), `, status = 'active'`)
	w.step(id, day(7), `, deleted_at = $2`)
	w.step(id, day(8), `, deleted_at = NULL`)
	late := time.Hour

	for n, want := range []struct {
		content string
		status  schema.Status
		version int
		edges   int
		audit   int
		listed  []string
	}{
		0: {"Dana drinks tea", schema.StatusActive, 1, 0, 1, []string{"Dana drinks tea"}},
		1: {"Dana drinks green tea", schema.StatusActive, 2, 0, 2, []string{"Dana drinks green tea"}},
		2: {"Dana drinks green tea", schema.StatusActive, 2, 0, 2,
			[]string{"Dana drinks coffee", "Dana drinks green tea"}},
		3: {"Dana drinks green tea", schema.StatusContested, 3, 1, 3,
			[]string{"Dana drinks coffee", "Dana drinks green tea"}},
		4: {"Dana drinks green tea", schema.StatusActive, 4, 1, 4, []string{"Dana drinks green tea"}},
		5: {"Dana drinks green tea", schema.StatusRetracted, 5, 1, 5, []string{}},
		6: {"Dana drinks green tea", schema.StatusActive, 6, 1, 6, []string{"Dana drinks green tea"}},
		7: {"Dana drinks green tea", schema.StatusActive, 7, 1, 7, []string{}},
		8: {"Dana drinks green tea", schema.StatusActive, 8, 1, 8, []string{"Dana drinks green tea"}},
	} {
		for _, at := range []time.Time{day(n), day(n).Add(late), day(n + 1).Add(-time.Microsecond)} {
			m := w.asOf(id, at)
			require.Equal(t, want.content, m.Content, at)
			require.Equal(t, want.status, m.Status, at)
			require.Equal(t, want.version, m.Version, at)
			require.Len(t, m.Relations, want.edges, at)
			require.Len(t, m.AuditLog, want.audit, at)
			require.Equal(t, n == 7, m.DeletedAt != nil, at)
			require.Equal(t, n >= 4, m.Supersedes != "", at)
			var payload schema.SemanticPayload
			require.NoError(t, json.Unmarshal(m.Payload, &payload))
			require.Equal(t, want.status, payload.Revision.Status, "the payload shows the status at that time")
			require.Equal(t, want.listed, w.listAsOf(at, time.Time{}), at)
		}
	}
	_, err := w.GetAsOf(ctx, w.p, id, first.Add(-time.Microsecond))
	require.ErrorIs(t, err, pg.ErrNotFound)
	require.Empty(t, w.listAsOf(first.Add(-time.Microsecond), time.Time{}))
	_, err = w.GetAsOf(ctx, w.p, other, day(-1))
	require.ErrorIs(t, err, pg.ErrNotFound)

	// As of a time in the future, the result is that of a plain read.
	require.Equal(t, w.get(id), w.asOf(id, time.Now().AddDate(1, 0, 0)))

	// A single read is authorized by the current state, the listing also by the state at that time.
	stranger := schema.Principal{Tenant: "t", Agent: "b"}
	_, err = w.GetAsOf(ctx, stranger, id, day(1))
	require.ErrorIs(t, err, pg.ErrNotFound)
	w.exec(`UPDATE memories SET visibility = 'global', version = version + 1, updated_at = $2 WHERE id = $1`, id,
		day(9))
	m, err := w.GetAsOf(ctx, stranger, id, day(1))
	require.NoError(t, err)
	require.Equal(t, schema.VisibilityPrivate, m.Visibility)
	shared := pg.Filter{Principal: stranger, ReadPolicy: schema.ReadShared}
	for at, want := range map[time.Time]int{day(8): 0, day(9): 1} {
		shared.AsOf = &at
		found, err := w.List(ctx, shared, pg.Page{})
		require.NoError(t, err)
		require.Len(t, found, want)
	}

	// An erased memory cannot be read as of any earlier time either.
	w.exec(`UPDATE memories SET erased_at = $2, deleted_at = $2, content = '', payload = '{}', version = version + 1,
		updated_at = $2 WHERE id = $1`, id, day(10))
	w.exec(`DELETE FROM memory_versions WHERE memory_id = $1`, id)
	_, err = w.GetAsOf(ctx, w.p, id, day(1))
	require.ErrorIs(t, err, pg.ErrNotFound)
}

// With two times, the listing has what was believed at the first about the second.
func TestListAsOfTwoTimes(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	day := func(n int) time.Time { return w.now.AddDate(0, 0, n) }
	id := w.explicit("The office is closed")
	from, until, later := day(10), day(20), day(30)
	w.setValidity(id, schema.Validity{Mode: schema.ValidTimeboxed, Start: &from, End: &until})
	w.step(id, day(5), `, valid_until = $3`, later)
	closed := []string{"The office is closed"}
	for _, c := range []struct {
		believed, valid time.Time
		want            []string
	}{
		{day(1), day(15), closed}, {day(1), day(25), []string{}}, {day(6), day(25), closed},
		{day(6), day(9), []string{}}, {day(25), day(1), []string{}},
	} {
		require.Equal(t, c.want, w.listAsOf(c.believed, c.valid), "believed at %s of %s", c.believed, c.valid)
	}
}

// Reading as of a time gives what a plain read gave at that time.
func TestReadAsOfMatchesThePlainRead(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	rapid.Check(t, func(rt *rapid.T) {
		w := *w
		w.p.Tenant, w.t = uuid.NewString(), t
		type captured struct {
			at   time.Time
			list []schema.MemoryRecord
			get  map[uuid.UUID]schema.MemoryRecord
		}
		var ids []uuid.UUID
		var past []captured
		steps := []string{
			`, content = content || ' more'`, `, tags = '{a,b}'`, `, pinned = NOT pinned`, `, importance = 0.123456789`,
			`, status = 'contested'`, `, status = 'active'`,
			`, status = 'retracted'`, `, deleted_at = updated_at`, `, deleted_at = NULL`, `, archived_at = updated_at`,
			`, archived_at = NULL`,
			`, valid_from = updated_at, validity = 'timeboxed'`,
			`, conditions = '{"k": [1, "x"]}', validity = 'conditional'`, `, max_age = '90 s'`,
			`, payload = payload || '{"evidence": [{"kind": "event", "ref": "é\"\\"}]}'`,
		}
		for n := range rapid.IntRange(1, 8).Draw(rt, "moments") {
			w.now = w.now.Add(time.Duration(rapid.IntRange(1, 3).Draw(rt, "pause")) * time.Minute)
			if len(ids) == 0 || rapid.IntRange(0, 3).Draw(rt, "new") == 0 {
				ids = append(ids, w.explicit(fmt.Sprintf("fact number %d", n)))
			} else {
				w.step(rapid.SampledFrom(ids).Draw(rt, "memory"), w.now, rapid.SampledFrom(steps).Draw(rt, "step"))
			}
			c := captured{at: w.now, get: map[uuid.UUID]schema.MemoryRecord{}}
			var err error
			c.list, err = w.List(ctx, pg.Filter{Principal: w.p}, pg.Page{})
			require.NoError(rt, err)
			for _, id := range ids {
				c.get[id] = w.get(id)
			}
			past = append(past, c)
		}
		for i, c := range past {
			until := w.now.Add(time.Hour)
			if i+1 < len(past) {
				until = past[i+1].at
			}
			for _, at := range []time.Time{c.at, until.Add(-time.Microsecond)} {
				list, err := w.List(ctx, pg.Filter{Principal: w.p, AsOf: &at}, pg.Page{})
				require.NoError(rt, err)
				require.Equal(rt, c.list, list)
				for id, want := range c.get {
					got, err := w.GetAsOf(ctx, w.p, id, at, policy.UpTo(schema.SensitivityHyper))
					require.NoError(rt, err)
					require.Equal(rt, want, got)
				}
				var paged []schema.MemoryRecord
				for before := ""; ; {
					part, err := w.List(ctx, pg.Filter{Principal: w.p, AsOf: &at}, pg.Page{Limit: 2, Before: before})
					require.NoError(rt, err)
					if paged = append(paged, part...); len(part) < 2 {
						break
					}
					before = part[1].ID
				}
				require.Len(rt, paged, len(list))
			}
		}
	})
}

func TestHistoryIsCompleteAndPaged(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	id := w.explicit("Dana drinks tea")
	for n := range 9 {
		w.step(id, w.now.Add(time.Duration(n)*time.Minute), `, tags = '{x}'`)
	}
	all := w.history(id)
	require.Len(t, all, 10)
	var paged []schema.HistoryEntry
	for after := ""; ; {
		part, err := w.HistoryAt(ctx, w.p, id, read.HistoryPage{After: after, Limit: 3})
		require.NoError(t, err)
		paged = append(paged, part...)
		if len(part) < 3 {
			break
		}
		after = part[2].ID
	}
	require.Equal(t, all, paged)
	for n, h := range all {
		require.Equal(t, n+1, h.Version)
	}
	for _, cursor := range []string{"x", uuid.NewString()} {
		_, err := w.HistoryAt(ctx, w.p, id, read.HistoryPage{After: cursor})
		var bad *schema.ValidationError
		require.ErrorAs(t, err, &bad)
	}
	audit := w.get(id).AuditLog
	require.Len(t, audit, 10)
	for n := range audit {
		require.Equal(t, schema.AuditEntry{Action: all[n].Action, Actor: all[n].ChangedBy,
			Timestamp: audit[n].Timestamp, Rationale: all[n].Reason}, audit[n])
		require.True(t, all[n].CreatedAt.Equal(audit[n].Timestamp))
	}
}
