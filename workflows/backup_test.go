package workflows_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/mneme/mneme/api"
	"github.com/mneme/mneme/inference"
	"github.com/mneme/mneme/internal/testkit"
	"github.com/mneme/mneme/internal/testkit/harness"
	"github.com/mneme/mneme/memory/rank"
	"github.com/mneme/mneme/recall"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/schema/migrations"
	"github.com/mneme/mneme/store/pg"
	"github.com/mneme/mneme/store/vector"
	"github.com/mneme/mneme/store/vector/qdranttest"
	"github.com/mneme/mneme/workflows"
)

// counted counts the embedded texts.
type counted struct {
	inference.Embedder
	texts *atomic.Int64
}

func (c counted) Embed(ctx context.Context, texts []string) ([][]float32, inference.Usage, error) {
	c.texts.Add(int64(len(texts)))
	return c.Embedder.Embed(ctx, texts)
}

// A dump of Postgres, restored into an empty database with an empty index, gives the same answers after a rebuild of
// the index. All rows, sequences, triggers, policies and grants are restored, and no text is embedded a second time.
func TestPostgresDumpRestoresEverything(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(context.Background(), harness.WaitLimit)
	defer cancel()
	x := newIndexed(t)
	other := testkit.Principal()
	x.fillForDump(other)
	require.Zero(t, x.drift().Left.Found())
	owner := testkit.Owner(t, x.DatabaseURL)
	wantRows, wantCatalogue := rowsOf(t, owner), catalogueOf(t, owner)
	for _, table := range []string{"memories", "memory_history", "memory_versions", "memory_embeddings", "memory_links",
		"memory_provenance", "jobs",
		"operations", "entities", "retrievals", "retrieval_feedback", "retention_policies", "retention_policy_changes",
		"index_generations"} {
		require.NotEmpty(t, wantRows[table], "%s: not covered by the test", table)
	}
	dump := testkit.Dump(t, x.DatabaseURL)
	at := time.Now().UTC().Truncate(time.Millisecond).Add(time.Second)
	want := x.answersAt(at)
	for i, answer := range want {
		require.NotEmpty(t, answer.Results, dumpQuestions[i])
		require.NotZero(t, answer.Meta.Channels[rank.ChannelVector], dumpQuestions[i])
	}
	x.StopWorker()

	// From here on the first database and the first index are not used.
	x.server.Stop()
	url := testkit.RestoreDump(t, dump)
	restored := testkit.Owner(t, url)
	require.Equal(t, wantRows, rowsOf(t, restored))
	require.Equal(t, wantCatalogue, catalogueOf(t, restored))
	applied, err := migrations.Up(ctx, url)
	require.NoError(t, err)
	require.Empty(t, applied, "the dump contains the schema version")

	server := qdranttest.Start(t)
	q, err := vector.OpenQdrant(vector.QdrantConfig{URL: server.URL})
	require.NoError(t, err)
	t.Cleanup(func() { _ = q.Close() })
	var embedded atomic.Int64
	y := indexed{t: t, qdrant: named{q, x.qdrant.name}, server: server, p: x.p}
	y.Harness = harness.NewIdle(t, url, x.Temporal, func(d *workflows.Dependencies) {
		d.Index, d.Embedders = y.qdrant, embedderOf
		d.Brain.Embedder = counted{d.Brain.Embedder, &embedded}
	})
	y.TaskQueue = x.TaskQueue // the same worker with another database

	// Without the index, only the vector channel is missing from the answers. The other tenant asks, because a recall
	// changes the salience of what it returns.
	lame, err := y.recaller().Recall(ctx, schema.RecallRequest{Principal: other,
		Query: "What does the keeper of the lighthouse grow?"})
	require.NoError(t, err)
	require.NotEmpty(t, lame.Results)
	require.Zero(t, lame.Meta.Channels[rank.ChannelVector])

	embedded.Store(0) // the question
	y.StartWorker(t)
	rebuilt, err := y.reindex(api.ReindexInput{})
	require.NoError(t, err)
	require.NotZero(t, rebuilt.Memories)
	require.Equal(t, rebuilt.Memories, rebuilt.Filled)
	require.Zero(t, embedded.Load(), "vectors are in Postgres")
	require.Zero(t, y.drift().Found.Found())
	got := y.answersAt(at)
	for i := range want {
		require.Equal(t, want[i].Results, got[i].Results, dumpQuestions[i])
		require.Equal(t, want[i].Meta.Channels, got[i].Meta.Channels, dumpQuestions[i])
		require.Empty(t, got[i].Meta.Degraded)
	}

	y.requireGuarded(restored)

	// The restored database can be written: known content is deduplicated, and new ids follow the old ones.
	var last int64
	require.NoError(t, restored.QueryRow(ctx, `SELECT max(seq) FROM memory_history`).Scan(&last))
	started, result := y.Ingest(t, testkit.Request(x.p, schema.SourceUserInput, dumpTexts[0],
		"The ferry to the island sails on Sundays only."))
	require.Empty(t, result.Deferred)
	require.Equal(t, []int{0}, started.Ack.Deduped)
	var first int64
	require.NoError(t, restored.QueryRow(ctx, `SELECT min(seq) FROM memory_history WHERE memory_id = $1`,
		started.Ack.MemoryIDs[1]).Scan(&first))
	require.Greater(t, first, last, "the sequence continues")
}

var dumpTexts = []string{
	"Nadia moved to Lisbon and works as a cartographer for the port authority.",
	"The lighthouse of Cabo da Roca was automated in 1990.",
	"Omar prefers tea with mint, and never drinks coffee after noon.",
	"The build of the harbour simulator fails when the clock of the runner is off by more than a minute.",
}

var dumpQuestions = []string{
	"Where does Nadia live and what is her work?", "When was the lighthouse automated?", "What does Omar drink?",
	"Why does the build of the simulator fail?",
	"Which editor does the user prefer?",
}

// fillForDump writes data of every kind: ingested, put, revised, modified, forgotten, recalled, rated, with a retention
// policy, and with a second tenant.
func (x indexed) fillForDump(other schema.Principal) {
	x.t.Helper()
	ctx := context.Background()
	_, result := x.Ingest(x.t, testkit.Request(x.p, schema.SourceUserInput, dumpTexts...))
	require.Empty(x.t, result.Deferred)
	_, result = x.Ingest(x.t, testkit.Request(other, schema.SourceUserInput,
		"The keeper of the lighthouse grows roses."))
	require.Empty(x.t, result.Deferred)
	editor := func(name string) string {
		return fmt.Sprintf(`{"type": "semantic", "confidence": 0.9, "payload": {"kind": "semantic", "evidence": [{"kind": "event", "ref": "evt://told"}], "subject": "the user", "predicate": "prefers_editor",
			"object": %q, "validity": {"mode": "global"}}}`, name)
	}
	req := putRequest(x.t, x.p, editor("emacs"), putSkill("clear_cache", "Clear the cache"),
		putSkill("reinstall", "Reinstall the toolchain"),
		`{"type": "working", "confidence": 1, "payload": {"kind": "working", "thread_id": "t1", "state": "planning", "context_summary": "draw the chart anew"},
			"lifecycle": {"decay": {"curve": "custom", "half_life_seconds": 3600, "points": [{"after_seconds": 3600, "share": 0.5}]}}}`)
	_, _, put := runPut(x.t, x.Harness, req)
	vim := putRequest(x.t, x.p, editor("vim")).Records[0]
	_, revised := revise(x.t, x.Temporal, x.TaskQueue,
		reviseRequest(x.p, schema.ReviseSupersede, &vim, schema.Target{ID: put.Items[0].ID, IfVersion: 1}))
	require.Equal(x.t, schema.ReviseApplied, revised.Status)
	_, modified := modify(x.t, x.Harness, modifyRequest(x.p, schema.Patch{ID: put.Items[1].ID, Pinned: new(true)}))
	require.Equal(x.t, 1, modified.Updated)
	for _, f := range []struct {
		mode schema.ForgetMode
		id   string
	}{{schema.ForgetSoft, put.Items[2].ID}, {schema.ForgetErase, put.Items[3].ID}} {
		run, preview := startForget(x.t, x.Harness, forgetRequest(x.p, f.mode, schema.Selector{IDs: []string{f.id}}))
		confirmForget(x.t, x.Harness, x.p, preview)
		require.Equal(x.t, 1, receiptOf(x.t, run).Forgotten)
	}
	answer, err := x.recaller().Recall(ctx, schema.RecallRequest{Principal: x.p, Query: dumpQuestions[0]})
	require.NoError(x.t, err)
	_, _, err = feedback(x.t, x.Harness,
		schema.FeedbackRequest{Operation: schema.Operation{Principal: x.p, OperationID: uuid.NewString()},
			RetrievalID: answer.RetrievalID,
			Items:       []schema.FeedbackItem{{MemoryID: answer.Results[0].ID, Verdict: schema.VerdictSucceeded}}})
	require.NoError(x.t, err)
	_, err = x.Store.SetRetention(ctx, x.p.Tenant,
		schema.RetentionPolicy{Domain: schema.RetainMemory, Tier: schema.TierSession, Typology: schema.Any,
			KeepSeconds: 90 * 86400, OnExpiry: schema.ExpiryArchive, UpdatedBy: "person:mia",
			Reason: "the audit wants them"}, new(schema.ExpiryArchive), new(true), time.Now())
	require.NoError(x.t, err)
}

func (x indexed) recallerAt(at time.Time) *recall.Recaller {
	r := x.recaller()
	r.Now = func() time.Time { return at }
	return r
}

// answersAt runs all queries at the given time, one after the other, because a recall changes the salience of what it
// returns.
func (x indexed) answersAt(at time.Time) []schema.RecallResponse {
	x.t.Helper()
	r := x.recallerAt(at)
	var out []schema.RecallResponse
	for _, question := range dumpQuestions {
		answer, err := r.Recall(context.Background(), schema.RecallRequest{Principal: x.p, Query: question})
		require.NoError(x.t, err)
		out = append(out, answer)
	}
	return out
}

// requireGuarded checks that a restored database still refuses what its constraints and policies forbid.
func (x indexed) requireGuarded(owner *pgx.Conn) {
	x.t.Helper()
	ctx := context.Background()
	for _, sql := range []string{`UPDATE memory_history SET changed_by = 'nobody'`, `DELETE FROM memory_history`,
		`TRUNCATE memory_history CASCADE`,
		`UPDATE retention_policy_changes SET reason = 'none'`, `DELETE FROM retention_policy_changes`,
		`UPDATE memories SET content = 'back again' WHERE erased_at IS NOT NULL`} {
		_, err := owner.Exec(ctx, sql)
		require.ErrorContains(x.t, err, "append-only", "refused even to the owner: %s", sql)
	}

	stranger := schema.Principal{Tenant: "tenant-" + uuid.NewString(), Agent: x.p.Agent}
	list, err := x.Store.List(ctx, pg.Filter{Principal: stranger}, pg.Page{})
	require.NoError(x.t, err)
	require.Empty(x.t, list)
	tx, err := owner.Begin(ctx)
	require.NoError(x.t, err)
	defer func() { _ = tx.Rollback(ctx) }()
	_, err = tx.Exec(ctx, `SET LOCAL ROLE `+pg.AppRole)
	require.NoError(x.t, err)
	seen := func(tenant string) (n int) {
		_, err := tx.Exec(ctx, `SELECT set_config('mneme.tenant', $1, true)`, tenant)
		require.NoError(x.t, err)
		require.NoError(x.t, tx.QueryRow(ctx, `SELECT count(*) FROM memories`).Scan(&n))
		return n
	}
	require.Zero(x.t, seen(""), "a connection without a tenant")
	require.Zero(x.t, seen(stranger.Tenant))
	require.NotZero(x.t, seen(x.p.Tenant))
	_, err = tx.Exec(ctx, `DELETE FROM memory_history`)
	require.ErrorContains(x.t, err, "permission denied", "the application has no permission")
}

// rowsOf reads every row of every table.
func rowsOf(t testing.TB, owner *pgx.Conn) map[string][]string {
	t.Helper()
	ctx := context.Background()
	rows, err := owner.Query(ctx,
		`SELECT relname::text FROM pg_class WHERE relnamespace = 'main'::regnamespace AND relkind IN ('r', 'p')`)
	require.NoError(t, err)
	tables, err := pgx.CollectRows(rows, pgx.RowTo[string])
	require.NoError(t, err)
	out := map[string][]string{}
	for _, table := range tables {
		rows, err := owner.Query(ctx, `SELECT to_jsonb(x)::text FROM `+pgx.Identifier{"main", table}.Sanitize()+
			` x ORDER BY 1`)
		require.NoError(t, err)
		out[table], err = pgx.CollectRows(rows, pgx.RowTo[string])
		require.NoError(t, err)
	}
	return out
}

// catalogueOf describes the schema of the database without its rows.
func catalogueOf(t testing.TB, owner *pgx.Conn) map[string][]string {
	t.Helper()
	out := map[string][]string{}
	for what, sql := range map[string]string{
		"extensions": `SELECT extname || ' ' || extversion FROM pg_extension`,
		"columns": `SELECT concat_ws(' ', table_name, column_name, udt_name, is_nullable, column_default,
			identity_generation, generation_expression)
			FROM information_schema.columns WHERE table_schema = 'main'`,
		"constraints": `SELECT concat_ws(' ', conrelid::regclass, conname, pg_get_constraintdef(oid), convalidated)
			FROM pg_constraint WHERE connamespace = 'main'::regnamespace`,
		"indexes": `SELECT indexdef FROM pg_indexes WHERE schemaname = 'main'`,
		"triggers": `SELECT concat_ws(' ', pg_get_triggerdef(t.oid), t.tgenabled) FROM pg_trigger t
			JOIN pg_class c ON c.oid = t.tgrelid
			WHERE c.relnamespace = 'main'::regnamespace AND NOT t.tgisinternal`,
		"policies": `SELECT concat_ws(' ', tablename, policyname, permissive, roles, cmd, qual, with_check)
			FROM pg_policies WHERE schemaname = 'main'`,
		"security": `SELECT concat_ws(' ', relname, relkind, relrowsecurity, relforcerowsecurity, relowner::regrole,
			reloptions) FROM pg_class
			WHERE relnamespace = 'main'::regnamespace`,
		"functions": `SELECT concat_ws(' ', oid::regprocedure, proowner::regrole, pg_get_functiondef(oid)) FROM pg_proc
			WHERE pronamespace = 'main'::regnamespace AND prokind = 'f'`,
		"sequences": `SELECT concat_ws(' ', sequencename, last_value, increment_by, max_value, cycle) FROM pg_sequences
			WHERE schemaname = 'main'`,
		"grants": `SELECT concat_ws(' ', x.name, a.grantee::regrole, a.privilege_type, a.is_grantable) FROM (
				SELECT relname::text AS name, coalesce(relacl,
				acldefault(CASE relkind WHEN 'S' THEN 's'::"char" ELSE 'r' END, relowner)) AS acl FROM pg_class
					WHERE relnamespace = 'main'::regnamespace AND relkind IN ('r', 'p', 'v', 'S')
				UNION ALL SELECT oid::regprocedure::text, coalesce(proacl, acldefault('f', proowner)) FROM pg_proc
				WHERE pronamespace = 'main'::regnamespace
				UNION ALL SELECT nspname::text, coalesce(nspacl, acldefault('n', nspowner)) FROM pg_namespace
				WHERE nspname = 'main'
				UNION ALL SELECT concat_ws('.', attrelid::regclass, attname), attacl FROM pg_attribute
				JOIN pg_class c ON c.oid = attrelid AND c.relnamespace = 'main'::regnamespace
					WHERE attacl IS NOT NULL) x, aclexplode(x.acl) a`,
	} {
		rows, err := owner.Query(context.Background(), sql+` ORDER BY 1`)
		require.NoError(t, err, what)
		out[what], err = pgx.CollectRows(rows, pgx.RowTo[string])
		require.NoError(t, err, what)
		require.NotEmpty(t, out[what], what)
	}
	return out
}
