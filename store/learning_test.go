package store_test

import (
	"bytes"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/mneme/mneme/memory/learning/due"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/store"
	"github.com/mneme/mneme/store/commit"
	"github.com/mneme/mneme/store/learning"
	"github.com/mneme/mneme/store/tidying"
)

// A page of evidence reads about a page of rows, whether the tables have statistics or not. The statements run as the
// worker's role, because row-level security limits the conditions that an index can serve.
func TestEvidenceIsReadByIndex(t *testing.T) {
	t.Parallel()
	rows := 20_000
	if n, err := strconv.Atoi(os.Getenv("MNEME_TEST_EPISODES")); err == nil {
		rows = n
	}
	w := newUnplannedWorld(t)
	story := episodeRecord()
	w.putAll(story)
	_, err := w.owner.Exec(ctx, `
		INSERT INTO memories (tenant, id, agent_id, project, scope, visibility, type, category, tier, typology,
		content,
			normalized_content, content_hash, payload, confidence, importance, salience, salience_at,
			decay_curve, half_life,
			min_salience, reinforcement_gain, last_reinforced_at, deletion_policy, occurred_at, created_at,
			updated_at,
			created_by)
		SELECT tenant, gen_random_uuid(), agent_id, project, scope, visibility, type, category, tier, typology,
		content,
			normalized_content, sha256(n::text::bytea), payload, confidence, importance, salience, salience_at,
			decay_curve,
			half_life, min_salience, reinforcement_gain, last_reinforced_at, deletion_policy, occurred_at,
			created_at + n * interval '1 second', updated_at, created_by
		FROM memories, generate_series(1, $1) n`, rows)
	require.NoError(t, err)
	sc := learning.Scope{Tenant: w.p.Tenant, Agent: w.p.Agent}
	same := tidying.Scope{Tenant: w.p.Tenant, Agent: w.p.Agent}
	middle := w.now.Add(time.Duration(rows/2) * time.Second)
	require.NoError(t, commit.Write(ctx, w.DB, w.p.Tenant, w.now, func(c *commit.Change) error {
		return learning.MoveWatermark(ctx, c, sc, learning.Indexing, learning.Position{At: middle}, "")
	}))
	page, err := w.Learning.IndexPage(ctx, sc, learning.Position{At: middle}, time.Now())
	require.NoError(t, err)
	require.Equal(t, learning.EvidencePage, page.Read)
	for _, analyzed := range []bool{false, true} {
		t.Run("analyzed="+strconv.FormatBool(analyzed), func(t *testing.T) {
			if analyzed {
				_, err = w.owner.Exec(ctx, `ANALYZE`)
				require.NoError(t, err)
			}
			listen := &tracer{}
			traced, err := store.OpenTraced(ctx, w.url, listen)
			require.NoError(t, err)
			t.Cleanup(traced.Close)
			for name, c := range map[string]struct {
				run  func() error
				most float64
			}{
				"enough evidence": {func() error {
					pending, err := traced.Learning.Pending(ctx, sc, due.DefaultRule(), time.Now())
					require.Equal(t, 1, pending.New, "all are of one session")
					return err
				}, 3_000}, // also the 600 episodes of the last ten minutes before the watermark, with a lookup each
				"page of evidence, again": {func() error {
					again, err := traced.Learning.IndexPage(ctx, sc, learning.Position{At: middle}, time.Now())
					require.Equal(t, page.Next, again.Next)
					return err
				}, 3 * learning.EvidencePage},
				"scopes": {func() error {
					return second(traced.Learning.Scopes(ctx, learning.Scope{Tenant: w.p.Tenant}, true, 3, 100))
				}, 2_000}, // the same
				"old threads": {func() error {
					return second(traced.OldThreads(ctx, same, tidying.Place{At: middle}, time.Now(), 100))
				}, 500},
				"statements": {func() error {
					_, _, _, err := traced.Statements(ctx, same, tidying.Place{At: middle}, 100)
					return err
				}, 500},
				"retired facts": {func() error { return second(traced.RetiredFacts(ctx, same)) }, 100},
			} {
				n, worst := rowsRead(t, traced, listen, c.run)
				require.LessOrEqual(t, n, c.most, "%s\n%s", name, worst)
			}
		})
	}
}

// The reports of a scope are found among many newer ones of other scopes, and are processed once.
func TestReportsOfAScopeAmongManyOthers(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	mine, other := episodeRecord(), episodeRecord()
	other.Payload = bytes.ReplaceAll(other.Payload, []byte("Build"), []byte("Test"))
	w.putAll(mine, other)
	w.exec(`UPDATE memories SET agent_id = 'b' WHERE id = $1`, other.ID)
	for _, agent := range []string{"a", "b"} {
		w.exec(`INSERT INTO learning_groups (tenant, id, agent_id, kind, attempts, procedures, updated_at)
			VALUES ('t', md5($1)::uuid, $1, 'error', 3, 3, now())`, agent)
	}
	w.exec(`INSERT INTO learned (tenant, memory_id, kind, group_id, key, updated_at)
		SELECT tenant, id, 'competence', md5(agent_id)::uuid, 'error:x', now() FROM memories`)
	w.exec(`INSERT INTO outcome_reports (tenant, memory_id, advice_id, ok, at)
		VALUES ('t', $1, gen_random_uuid(), true, '2026-01-01')`, mine.ID)
	w.exec(`INSERT INTO outcome_reports (tenant, memory_id, advice_id, ok, at)
		SELECT 't', $1, gen_random_uuid(), true, '2026-01-02'::timestamptz + n * interval '1 second'
		FROM generate_series(1, 5000) n`, other.ID)
	for _, agent := range []string{"a", "b"} {
		sc := learning.Scope{Tenant: "t", Agent: agent}
		groups, err := w.Learning.TakeReports(ctx, sc, w.now)
		require.NoError(t, err)
		require.Equal(t, 1, groups, agent)
		w.exec(`UPDATE learning_groups SET procedures = attempts WHERE agent_id = $1`, agent)
		groups, err = w.Learning.TakeReports(ctx, sc, w.now)
		require.NoError(t, err)
		require.Zero(t, groups, "a second run")
	}
}

// learnedRecord stores a procedure with an open group in the scope of an agent; an empty agent is the shared scope.
func (w *world) learnedRecord(agent string) uuid.UUID {
	w.t.Helper()
	id := w.procedure(uuid.NewString())
	w.exec(`INSERT INTO learning_groups (tenant, id, agent_id, kind, attempts, procedures, updated_at)
		VALUES ('t', $1, $2, 'error', 3, 3, now())`, id, agent)
	w.exec(`INSERT INTO learned (tenant, memory_id, kind, group_id, key, updated_at)
		VALUES ('t', $1, 'competence', $1, 'error:x', now())`, id)
	return id
}

func (w *world) reported(memory uuid.UUID, session, at string) {
	w.t.Helper()
	w.exec(`INSERT INTO outcome_reports (tenant, memory_id, advice_id, agent_id, session, ok, at)
		VALUES ('t', $1, gen_random_uuid(), 'a', $2, true, $3::timestamptz)`, memory, session, at)
}

// A report that is committed after a later one was taken in is not lost.
func TestAReportThatIsCommittedLate(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	sc := learning.Scope{Tenant: "t", Agent: w.p.Agent}
	first, second := w.learnedRecord(w.p.Agent), w.learnedRecord(w.p.Agent)
	w.reported(first, "", "2026-01-01 10:00")
	groups, err := w.Learning.TakeReports(ctx, sc, w.now)
	require.NoError(t, err)
	require.Equal(t, 1, groups)
	w.reported(second, "", "2026-01-01 09:59")
	pending, err := w.Learning.Pending(ctx, sc, due.Rule{Least: 1}, w.now)
	require.NoError(t, err)
	require.True(t, pending.Enough)
	groups, err = w.Learning.TakeReports(ctx, sc, w.now)
	require.NoError(t, err)
	require.Equal(t, 1, groups)
	groups, err = w.Learning.TakeReports(ctx, sc, w.now)
	require.NoError(t, err)
	require.Zero(t, groups)
}

// A scope is due by its own reports, however many newer ones other scopes have.
func TestPendingReportsAmongManyOthers(t *testing.T) {
	t.Parallel()
	w := newUnplannedWorld(t)
	mine, other := w.learnedRecord(w.p.Agent), w.learnedRecord("b")
	w.exec(`UPDATE memories SET agent_id = 'b' WHERE id = $1`, other)
	for n := range 3 {
		w.reported(mine, strconv.Itoa(n), "2026-01-01")
	}
	w.exec(`INSERT INTO outcome_reports (tenant, memory_id, advice_id, ok, at)
		SELECT 't', $1, gen_random_uuid(), true, '2026-01-02'::timestamptz + n * interval '1 second'
		FROM generate_series(1, 5000) n`, other)
	listen := &tracer{}
	traced, err := store.OpenTraced(ctx, w.url, listen)
	require.NoError(t, err)
	t.Cleanup(traced.Close)
	sc := learning.Scope{Tenant: "t", Agent: w.p.Agent}
	n, worst := rowsRead(t, traced, listen, func() error {
		pending, err := traced.Learning.Pending(ctx, sc, due.DefaultRule(), w.now)
		require.Equal(t, 3, pending.New)
		return err
	})
	require.LessOrEqual(t, n, 100.0, worst)
}

// A record that only one agent has may be learned from shared episodes. Its reports are for the scope of these.
func TestReportsOnARecordOfASharedScope(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	shared := learning.Scope{Tenant: "t"}
	record := w.learnedRecord("")
	w.reported(record, "", "2026-01-01")
	scopes, err := w.Learning.ScopesOfReported(ctx, "t", []uuid.UUID{record})
	require.NoError(t, err)
	require.Equal(t, []learning.Scope{shared}, scopes)
	pending, err := w.Learning.Pending(ctx, shared, due.Rule{Least: 1}, w.now)
	require.NoError(t, err)
	require.Equal(t, 1, pending.New)
	groups, err := w.Learning.TakeReports(ctx, shared, w.now)
	require.NoError(t, err)
	require.Equal(t, 1, groups)
}

// An episode from a writer whose clock is ahead does not hide those that others write before that time.
func TestAnEpisodeFromTheFuture(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	sc := learning.Scope{Tenant: "t", Agent: w.p.Agent}
	now := w.now
	read := func() int {
		mark, err := w.Learning.Watermark(ctx, sc, learning.Indexing)
		require.NoError(t, err)
		page, err := w.Learning.IndexPage(ctx, sc, learning.Position{At: mark.At.Add(-learning.Overlap)}, now)
		require.NoError(t, err)
		return page.Read
	}
	put := func(at time.Time, n string) {
		m := episodeRecord()
		m.Payload = bytes.ReplaceAll(m.Payload, []byte("Build"), []byte("Build "+n))
		w.putAll(m)
		w.exec(`UPDATE memories SET created_at = $1, recorded_at = NULL WHERE id = $2`, at, m.ID)
	}
	put(now.Add(24*time.Hour), "early")
	require.Equal(t, 1, read())
	pending, err := w.Learning.Pending(ctx, sc, due.Rule{Least: 1}, now)
	require.NoError(t, err)
	require.Zero(t, pending.New, "it was read")
	now = now.Add(time.Hour)
	put(now, "late")
	pending, err = w.Learning.Pending(ctx, sc, due.Rule{Least: 1}, now)
	require.NoError(t, err)
	require.Equal(t, 1, pending.New)
	require.Equal(t, 1, read())
	require.Zero(t, read())
}

// A procedure goes with the last episode in which it helped. One in which it did not help does not keep it.
func TestAProcedureGoesWithItsLastSuccess(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	procedure := w.learnedRecord(w.p.Agent)
	w.exec(`UPDATE learned SET evidence_hash = 'x' WHERE memory_id = $1`, procedure)
	episode := func(ok bool) uuid.UUID {
		m := episodeRecord()
		m.Payload = bytes.ReplaceAll(m.Payload, []byte("Build"), []byte("Build "+m.ID))
		w.putAll(m)
		w.exec(`INSERT INTO memory_links (tenant, source_id, predicate, target_id, created_at)
			VALUES ('t', $1, 'derived_from', $2, now())`, procedure, m.ID)
		w.exec(`INSERT INTO learning_attempts (tenant, memory_id, ordinal, group_id, ok, at)
			VALUES ('t', $1, 1, $2, $3, now())`, m.ID, procedure, ok)
		return uuid.MustParse(m.ID)
	}
	first, second, failed := episode(true), episode(true), episode(false)
	preview := w.selects(w.forgets(schema.ForgetErase, named(first, failed)))
	require.NotContains(t, w.chosen(preview), procedure)
	require.Zero(t, preview.Learned)
	preview = w.selects(w.forgets(schema.ForgetErase, named(first, second)))
	require.Contains(t, w.chosen(preview), procedure)
	require.Equal(t, 1, preview.Learned)
	require.Equal(t, 3, preview.Total)
}

func episodeRecord() schema.MemoryRecord {
	return schema.MemoryRecord{ID: uuid.NewString(), Type: schema.TypeEpisodic,
		Payload:    []byte(`{"kind":"episodic","timeline":[{"t":"2026-01-02T03:04:05Z","event_kind":"run.started","ref":"e","summary":"run.started: Build the app"}],"outcome":"success"}`),
		Confidence: 1, Salience: 1, Importance: 1, SourceTrust: 1}
}
