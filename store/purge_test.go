package store_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/require"

	"github.com/mneme/mneme/internal/testkit"
	"github.com/mneme/mneme/memory"
	"github.com/mneme/mneme/memory/lifecycle"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/store/search"
	"github.com/mneme/mneme/store/sweeping"
)

const day = 24 * time.Hour

// purge runs the steps for the tenant in batches of limit rows, and returns how many rows each removed.
func (w *world) purge(limit int, steps ...schema.PurgeStep) map[schema.PurgeStep]int {
	w.t.Helper()
	if len(steps) == 0 {
		steps = lifecycle.PurgeSteps
	}
	out := map[schema.PurgeStep]int{}
	for _, step := range steps {
		var after schema.HistoryCursor
		for more := true; more; {
			b, err := w.Purge(ctx, sweeping.PurgeInput{Tenant: w.p.Tenant, Run: "run", Step: step, After: after,
				Limit: limit, At: w.now, Now: w.now})
			require.NoError(w.t, err)
			require.LessOrEqual(w.t, b.Removed, limit, "a batch is capped")
			if out[step] += b.Counts[string(step)]; step == lifecycle.PurgeExpire {
				out[step] += b.Removed
			}
			after, more = b.Next, b.More
		}
	}
	return out
}

// linked writes a memory that names entities, with an embedding, and completes its job.
func (w *world) linked(content string, triples ...memory.Triple) uuid.UUID {
	w.t.Helper()
	id, r := w.linkable(content, triples...)
	w.link(r)
	require.NoError(w.t, w.CompleteJobs(ctx, r, w.now))
	w.exec(`INSERT INTO memory_embeddings (tenant, id, memory_id, model, dims, embedding, tier, typology, content_hash,
		created_at)
		SELECT tenant, gen_random_uuid(), id, 'm' || g, 3, '[1,2,3]', tier, typology, content_hash, now()
			FROM memories, generate_series(1, 2) g WHERE id = $1`, id)
	return id
}

// deletion is a transaction that deleted rows, as triggers recorded it.
type deletion struct {
	Table, Step string
	Tx          int64
	Rows        int
}

// watchDeletions records every deleted row with its transaction.
func (w *world) watchDeletions(tables ...string) func() []deletion {
	w.t.Helper()
	w.exec(`CREATE TABLE deletions (seq bigint GENERATED ALWAYS AS IDENTITY, place text, what text, tx bigint)`)
	w.exec(`CREATE FUNCTION note_deletion() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$ BEGIN
		INSERT INTO deletions (place, what, tx) VALUES (TG_TABLE_NAME, coalesce(to_jsonb(OLD)->>'state', ''), txid_current()); RETURN NULL; END $$`)
	for _, table := range tables {
		w.exec(`CREATE TRIGGER zzz_note AFTER DELETE ON ` + table + ` FOR EACH ROW EXECUTE FUNCTION note_deletion()`)
	}
	return func() []deletion {
		rows, err := w.owner.Query(ctx,
			`SELECT place, what, tx, count(*) FROM deletions GROUP BY place, what, tx ORDER BY min(seq)`)
		require.NoError(w.t, err)
		out, err := pgx.CollectRows(rows, pgx.RowToStructByPos[deletion])
		require.NoError(w.t, err)
		return out
	}
}

// Document 002 "Retention Worker": the order is mandatory, each step has its own short transactions, and none of them
// removes more rows than the batch's limit.
func TestPurgeOrder(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	const n, limit = 7, 3
	var gone []uuid.UUID
	knows := func(a, b string) memory.Triple {
		return memory.Triple{Source: a, Relationship: "knows", Target: b, Confidence: 1}
	}
	for i := range n {
		gone = append(gone, w.linked(fmt.Sprintf("Person %d knows Alice and Bob.", i),
			knows(fmt.Sprintf("Person %d", i), "Alice"), knows("Alice", "Bob")))
	}
	stays := w.linked("Carol knows Alice.", knows("Carol", "Alice"))
	for i := range 2 { // dead jobs
		_, r := w.stage(say(fmt.Sprintf("A poisoned note %d.", i))...)
		_, err := w.MarkRangeDead(ctx, r, "extract", "broken", w.now)
		require.NoError(t, err)
	}
	require.NoError(t, w.TrackRetrieval(ctx, search.Retrieval{ID: uuid.New(), Principal: w.p,
		MemoryIDs: []uuid.UUID{stays}}, w.now))
	for _, id := range gone {
		w.softDelete(id)
	}
	alice := w.mentions("alice")
	require.Equal(t, n+1, alice)

	require.Equal(t, map[schema.PurgeStep]int{}, nonzero(w.purge(limit)), "no window is over yet")
	preview, err := w.PreviewPurge(ctx, "t", 0.5, w.now.Add(200*day))
	require.NoError(t, err)

	seen := w.watchDeletions("memory_entity_mentions", "entity_relation_sources", "entity_claims", "memory_embeddings",
		"memories", "memory_history", "jobs", "retrievals", "entities")
	w.now = w.now.Add(31 * day)
	require.Equal(t, schema.RecoverExpired, w.recoverOne(gone[0]).Status)
	first := w.purge(limit)
	require.Equal(t, []int{n, 2 * n, n, 0},
		[]int{first[lifecycle.PurgeExpire], first[lifecycle.PurgeEmbeddings], first[lifecycle.PurgeTombstones],
			first[lifecycle.PurgeHistory]})
	require.Equal(t, []int{n + 1, 2, 1},
		[]int{first[lifecycle.PurgeJobsCompleted], first[lifecycle.PurgeJobsDead], first[lifecycle.PurgeRetrievals]})

	order := []string{"entity_relation_sources", "memory_entity_mentions", "entity_claims", "entities",
		"memory_embeddings", "memories", "jobs completed", "jobs dead", "retrievals"}
	stepOf := func(d deletion) string {
		switch d.Table {
		case "entity_relation_sources", "memory_entity_mentions", "entity_claims", "entities":
			return "graph"
		case "jobs":
			return "jobs " + d.Step
		}
		return d.Table
	}
	steps := map[int64]string{}
	capped := map[int64]int{}
	var passed []string
	for _, d := range seen() {
		step := stepOf(d)
		if known, ok := steps[d.Tx]; ok {
			require.Equal(t, known, step, "a transaction belongs to one step")
		}
		steps[d.Tx] = step
		if d.Table != "entities" { // entities are removed with their last mention
			capped[d.Tx] += d.Rows
		}
		if len(passed) == 0 || passed[len(passed)-1] != step {
			passed = append(passed, step)
		}
	}
	require.Equal(t, []string{"graph", "memory_embeddings", "memories", "jobs completed", "jobs dead", "retrievals"},
		passed, "of %v", order)
	for _, rows := range capped {
		require.LessOrEqual(t, rows, limit)
	}

	// Exactly the mentions of the removed memories are subtracted.
	require.Equal(t, 1, w.mentions("alice"))
	require.Equal(t, []string{"alice", "carol"},
		testkit.Strings(t, w.owner, `SELECT canonical_name FROM entities ORDER BY 1`))
	require.Zero(t, w.count("memories", "id = ANY($1)", gone))
	require.Equal(t, n, w.count("memory_history",
		"memory_id = ANY($1) AND action = 'purge' AND changed_by = 'retention'", gone))
	require.Equal(t, n, w.count("memory_history", "memory_id = ANY($1) AND action = 'delete' AND old_content <> ''",
		gone), "history keeps its texts for its own window")
	require.Zero(t, w.count("memory_candidates", "memory_id = ANY($1) AND content <> ''", gone))
	w.requireExactStats()
	w.requireExactMentions()
	testkit.CheckInvariants(t, w.owner)
	runs, err := w.SweepRuns(ctx, "t", schema.SweepRetention, 10)
	require.NoError(t, err)
	require.Equal(t, []int64{n, 2 * n, n + 1, 2},
		[]int64{runs[0].Counts["tombstones"], runs[0].Counts["embeddings"], runs[0].Counts["jobs_completed"],
			runs[0].Counts["jobs_dead"]})

	require.Empty(t, nonzero(w.purge(limit)), "a second run finds nothing")
	w.now = w.now.Add(170 * day) // the rows from before the first run are now older than their windows
	second := w.purge(limit)
	require.NotZero(t, second[lifecycle.PurgeHistory])
	require.Equal(t, 1, second[lifecycle.PurgeSweepRuns], "from the previous run")
	require.Zero(t, w.count("memory_history", "created_at < $1", w.now.Add(-lifecycle.HistoryWindow)))
	require.NotZero(t, w.count("memory_history", "action = 'purge'"), "the rows of the first run are younger")
	for _, step := range []schema.PurgeStep{lifecycle.PurgeGraphLinks, lifecycle.PurgeEmbeddings,
		lifecycle.PurgeTombstones, lifecycle.PurgeJobsCompleted, lifecycle.PurgeJobsDead, lifecycle.PurgeRetrievals} {
		require.EqualValues(t, first[step], preview.Would[step], "a dry run counts the rows of step %s", step)
	}
}

func nonzero(m map[schema.PurgeStep]int) map[schema.PurgeStep]int {
	out := map[schema.PurgeStep]int{}
	for k, v := range m {
		if v != 0 {
			out[k] = v
		}
	}
	return out
}

// In any other order a step finds nothing that it may remove, and the foreign keys enforce that.
func TestPurgeInTheWrongOrder(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	id := w.linked("Alice knows Bob.",
		memory.Triple{Source: "Alice", Relationship: "knows", Target: "Bob", Confidence: 1})
	w.softDelete(id)
	w.now = w.now.Add(31 * day)
	for _, step := range []schema.PurgeStep{lifecycle.PurgeTombstones, lifecycle.PurgeEmbeddings,
		lifecycle.PurgeGraphLinks} {
		require.Zero(t, w.purge(500, step)[step], "%s before anything is marked", step)
	}
	w.purge(500, lifecycle.PurgeExpire)
	require.Zero(t, w.purge(500, lifecycle.PurgeTombstones)[lifecycle.PurgeTombstones])
	require.Zero(t, w.purge(500, lifecycle.PurgeEmbeddings)[lifecycle.PurgeEmbeddings], "graph links are still there")
	forbidden := func(sql string) {
		t.Helper()
		_, err := w.owner.Exec(ctx, sql)
		var pgErr *pgconn.PgError
		require.ErrorAs(t, err, &pgErr)
		require.Equal(t, "23503", pgErr.Code, "a foreign key")
	}
	forbidden(`DELETE FROM memories`)
	forbidden(`DELETE FROM entities`)
	w.purge(500, lifecycle.PurgeGraphLinks)
	require.Zero(t, w.purge(500, lifecycle.PurgeTombstones)[lifecycle.PurgeTombstones], "embeddings are still there")
	forbidden(`DELETE FROM memories`)
	w.purge(500, lifecycle.PurgeEmbeddings)
	require.Equal(t, 1, w.purge(500, lifecycle.PurgeTombstones)[lifecycle.PurgeTombstones])
	require.Zero(t, w.count("memories", "true"))
}

// Document 003 D10: a purge removes neither memories of a world, nor the basis of an action, nor archived memories.
// An erased row stays for the audit.
func TestPurgeKeepsProtectedMemories(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ofWorld, acted, archived, erased, plain, decision := w.fading("Of a world.", func(m *schema.MemoryRecord) {
		m.WorldID = "w"
	}), w.fading("Acted on."),
		w.fading("Archived."), w.fading("Erased."), w.fading("Plain."), w.fading("The decision.",
			func(m *schema.MemoryRecord) { m.Lifecycle.Pinned = true; m.Importance = 1 })
	w.exec(`INSERT INTO memory_links (tenant, source_id, predicate, target_id, created_at)
		VALUES ('t', $1, 'published_as', $2, now())`, acted, decision)
	w.exec(`UPDATE memories SET archived_at = $2 WHERE id = $1`, archived, w.now)
	w.exec(`DELETE FROM lexeme_stats`)
	w.exec(`INSERT INTO lexeme_stats SELECT m.tenant, l.lexeme, count(*) FROM memories m, unnest(m.tsv) l WHERE live
		GROUP BY 1, 2`)
	for _, id := range []uuid.UUID{ofWorld, acted, plain} {
		w.softDelete(id)
	}
	w.forgetAll(w.forgets(schema.ForgetErase, schema.Selector{IDs: []string{erased.String()}}))
	w.now = w.now.Add(400 * day)
	w.purge(500)
	require.Zero(t, w.count("memories", "id = $1", plain))
	require.Equal(t, 2, w.count("memories", "id = ANY($1) AND retained_at IS NOT NULL AND archived_at IS NOT NULL",
		[]uuid.UUID{ofWorld, acted}))
	require.Equal(t, 2, w.count("memories", "id = ANY($1)", []uuid.UUID{archived, erased}))
	for _, id := range []uuid.UUID{ofWorld, acted} {
		h := w.last(id)
		require.Equal(t, []any{schema.AuditArchive, "retention"}, []any{h.Action, h.ChangedBy})
		require.Equal(t, schema.EventCreated, w.history(id)[0].Event, "its history stays with it")
		require.Equal(t, schema.RecoverExpired, w.recoverOne(id).Status, "archived permanently")
	}
	require.Empty(t, nonzero(w.purge(500)), "kept rows are not visited again")
}

// A tombstone that a purge has begun to remove cannot be recovered, even if the policy has changed since.
func TestPurgeAndRecover(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	id := w.linked("Alice knows Bob.",
		memory.Triple{Source: "Alice", Relationship: "knows", Target: "Bob", Confidence: 1})
	longer := schema.RetentionPolicy{Domain: schema.RetainMemory, Tier: schema.Any, Typology: schema.Any,
		KeepSeconds: int64((60 * day).Seconds()),
		OnExpiry:    schema.ExpiryPurge, UpdatedBy: "alice", Reason: "a test"}
	w.softDelete(id)
	w.now = w.now.Add(31 * day)
	_, err := w.SetRetention(ctx, "t", longer, nil, nil, w.now)
	require.NoError(t, err)
	require.Zero(t, w.purge(500)[lifecycle.PurgeExpire])
	require.Equal(t, schema.RecoverRecovered, w.recoverOne(id).Status, "the policy sets the window")
	w.softDelete(id)
	require.NoError(t, w.ResetRetention(ctx, "t", longer, "alice", "a test", w.now))
	w.now = w.now.Add(31 * day)
	w.purge(500, lifecycle.PurgeExpire)
	_, err = w.SetRetention(ctx, "t", longer, nil, nil, w.now)
	require.NoError(t, err)
	require.Equal(t, schema.RecoverExpired, w.recoverOne(id).Status)
	w.purge(500)
	require.Equal(t, schema.RecoverNotFound, w.recoverOne(id).Status)
}

// A run uses the policy that it was confirmed with. If the policy has changed since, the run begins again and asks
// for approval.
func TestSweepsUseConfirmedRulesOnly(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.insertMany(lifecycle.SweepFree + 10)
	for keep, sweep := range map[int64]schema.Sweep{3600: schema.SweepRetention, 7200: schema.SweepDecay} {
		begun, err := w.BeginSweep(ctx, "t", sweep, 0.5, w.now)
		require.NoError(t, err)
		require.Nil(t, begun.Held)
		batch := func() error {
			if sweep == schema.SweepDecay {
				return second(w.DecayBatch(ctx, sweeping.DecayInput{Tenant: "t", Run: "run", Rules: begun.Rules,
					Until: w.now, Limit: 10, Now: w.now}))
			}
			return second(w.Purge(ctx, sweeping.PurgeInput{Tenant: "t", Run: "run", Rules: begun.Rules,
				Step: lifecycle.PurgeHistory, Limit: 10, At: w.now, Now: w.now}))
		}
		require.NoError(t, batch())
		hasty := schema.RetentionPolicy{Domain: schema.RetainHistory, Tier: schema.Any, Typology: schema.Any,
			KeepSeconds: keep, OnExpiry: schema.ExpiryPurge, UpdatedBy: "alice", Reason: "a slip"}
		require.NoError(t, second(w.SetRetention(ctx, "t", hasty, nil, nil, w.now)))
		history := w.count("memory_history", "true")
		w.now = w.now.Add(3 * time.Hour)
		require.ErrorIs(t, batch(), sweeping.ErrRulesChanged)
		require.Equal(t, history, w.count("memory_history", "true"))
		require.NoError(t, w.ResetRetention(ctx, "t", hasty, "alice", "corrected", w.now))
	}
}

// A memory that a purge has marked is removed, so that no new link to it is allowed. Until then, a link to an action
// keeps it.
func TestNoLinkToAMemoryBeingPurged(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	kept, gone := w.linked("Kept is here."), w.linked("Gone is here.")
	w.softDelete(kept)
	w.softDelete(gone)
	lean := func(target uuid.UUID) schema.PutStatus {
		m := task(t, uuid.NewString(), "planning", "It leans on "+target.String())
		m.Relations = []schema.Relation{{Predicate: lifecycle.ActionLinks[1], TargetID: target.String(), Weight: 1}}
		return w.putOne(m).Status
	}
	require.Equal(t, schema.PutCreated, lean(kept))
	w.now = w.now.Add(40 * day)
	require.Equal(t, 2, w.purge(500, lifecycle.PurgeExpire)[lifecycle.PurgeExpire])
	require.Equal(t, schema.PutBadRef, lean(gone))
	w.purge(500)
	require.Equal(t, []int{1, 0}, []int{w.count("memories", "id = $1", kept), w.count("memories", "id = $1", gone)})
}

// A purge affects no other tenant's rows, and history cannot be removed in any other way.
func TestPurgeAffectsOneTenant(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	other := *w
	other.p.Tenant = "u"
	mine, theirs := w.linked("Mine is here."), other.linked("Theirs is there.")
	w.softDelete(mine)
	other.softDelete(theirs)
	w.now = w.now.Add(400 * day)
	before := testkit.Digest(t, w.owner, "memory_history", "tenant = 'u'")
	w.purge(500)
	require.Equal(t, []int{0, 1}, []int{w.count("memories", "tenant = 't'"), w.count("memories", "tenant = 'u'")})
	require.Equal(t, before, testkit.Digest(t, w.owner, "memory_history", "tenant = 'u'"))
	_, err := w.owner.Exec(ctx, `DELETE FROM memory_history`)
	require.ErrorContains(t, err, "append-only")
	_, err = w.owner.Exec(ctx, `SELECT set_config('mneme.tenant', 'u', false)`)
	require.NoError(t, err)
	tenants, err := w.Tenants(ctx, "", 10)
	require.NoError(t, err)
	require.True(t, slices.Equal([]string{"t", "u"}, tenants))
}

// Retrievals and their history expire even in a tenant that never stored a memory.
func TestSweepsVisitTenantsWithoutMemories(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	id := w.linked("Alice lives in Rome.")
	asked, worked := *w, *w
	asked.p.Tenant, worked.p.Tenant = "asked", "worked"
	require.NoError(t, w.TrackRetrieval(ctx, search.Retrieval{ID: uuid.New(), Principal: asked.p,
		MemoryIDs: []uuid.UUID{id}}, w.now))
	worked.stage(say("A note.")...)
	for _, c := range []struct {
		after string
		limit int
		want  []string
	}{{"", 10, []string{"asked", "t", "worked"}}, {"", 2, []string{"asked", "t"}}, {"asked", 1, []string{"t"}},
		{"t", 10, []string{"worked"}}, {"worked", 10, nil}, {"", 0, nil}} {
		tenants, err := w.Tenants(ctx, c.after, c.limit)
		require.NoError(t, err)
		require.ElementsMatch(t, c.want, tenants, "%d after %q", c.limit, c.after)
		require.True(t, slices.IsSorted(tenants))
	}
	asked.now = w.now.Add(31 * day)
	require.Equal(t, 1, asked.purge(500)[lifecycle.PurgeRetrievals])
}
