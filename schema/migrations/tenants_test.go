package migrations_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/mneme/mneme/inference"
	"github.com/mneme/mneme/internal/testkit"
	"github.com/mneme/mneme/memory"
	"github.com/mneme/mneme/memory/proposals"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/schema/ledger"
	"github.com/mneme/mneme/store"
	"github.com/mneme/mneme/store/edit"
	"github.com/mneme/mneme/store/events"
	"github.com/mneme/mneme/store/pg"
	"github.com/mneme/mneme/store/pipeline"
	"github.com/mneme/mneme/store/search"
)

// tenantTables lists the tables ("r") or views ("v") that have a tenant column.
func tenantTables(t *testing.T, owner *pgx.Conn, kind string) []string {
	t.Helper()
	rows, err := owner.Query(ctx,
		`SELECT c.relname::text FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attname = 'tenant'
		WHERE c.relnamespace = current_schema()::regnamespace AND (c.relkind::text = $1 OR c.relkind = 'p' AND $1 = 'r')
			AND NOT c.relispartition ORDER BY 1`, kind) // partitions are accessible only through their table
	require.NoError(t, err)
	names, err := pgx.CollectRows(rows, pgx.RowTo[string])
	require.NoError(t, err)
	require.NotEmpty(t, names)
	return names
}

func TestEveryTableIsBoundToATenant(t *testing.T) {
	t.Parallel()
	owner := testkit.Owner(t, testkit.DatabaseURL(t))
	rows, err := owner.Query(ctx, `
		SELECT c.relname::text, EXISTS (SELECT FROM pg_attribute a WHERE a.attrelid = c.oid AND a.attname = 'tenant'
		AND a.attnotnull),
			c.relrowsecurity, (SELECT count(*) FROM pg_policy p WHERE p.polrelid = c.oid AND p.polcmd = '*'
			AND p.polqual IS NOT NULL AND p.polwithcheck IS NOT NULL),
			EXISTS (SELECT FROM pg_index i JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum = i.indkey[0]
			WHERE i.indrelid = c.oid AND i.indisprimary AND a.attname = 'tenant'),
			has_table_privilege('mneme_app', c.oid, 'TRUNCATE') OR has_table_privilege('mneme_app', c.oid, 'TRIGGER')
			OR has_table_privilege('mneme_app', c.oid, 'REFERENCES')
		FROM pg_class c WHERE c.relnamespace = current_schema()::regnamespace AND c.relkind IN ('r', 'p')
		AND c.relname NOT IN ('goose_db_version',
			'index_generations')`) // data of the installation, not of a tenant
	require.NoError(t, err)
	var name string
	var tenant, rls, keyed, tooMuch bool
	var policies int
	n := 0
	_, err = pgx.ForEachRow(rows, []any{&name, &tenant, &rls, &policies, &keyed, &tooMuch}, func() error {
		n++
		require.True(t, tenant, "%s has no tenant", name)
		require.True(t, rls, "%s has no row-level security", name)
		require.Equal(t, 1, policies, "%s: one policy for every command; more would widen each other", name)
		require.True(t, keyed, "the key of %s does not start with the tenant", name)
		require.False(t, tooMuch, "mneme_app may do too much with %s", name)
		return nil
	})
	require.NoError(t, err)
	require.GreaterOrEqual(t, n, 20)
}

// Every table has a comment, which \dt+ shows.
func TestEveryTableHasComment(t *testing.T) {
	t.Parallel()
	owner := testkit.Owner(t, testkit.DatabaseURL(t))
	rows, err := owner.Query(ctx,
		`SELECT c.relname::text, coalesce(obj_description(c.oid, 'pg_class'), '') FROM pg_class c
		WHERE c.relnamespace = current_schema()::regnamespace AND c.relkind IN ('r', 'p')
			AND c.relname <> 'goose_db_version'`)
	require.NoError(t, err)
	said := map[string]string{}
	var name, comment string
	_, err = pgx.ForEachRow(rows, []any{&name, &comment}, func() error {
		require.Regexp(t, `^[A-Z].{20,118}\.$`, comment, "%s: one sentence that says what it is", name)
		require.NotContains(t, said, comment, "%s is what %s is", name, said[comment])
		said[comment] = name
		return nil
	})
	require.NoError(t, err)
	require.NotEmpty(t, said)
}

// The application may not call the procedures of the migrations.
func TestApplicationCannotCallMigrationProcedures(t *testing.T) {
	t.Parallel()
	conn := app(t, testkit.DatabaseURL(t))
	for _, call := range []string{`CALL mneme_protect_table('memories')`,
		`CALL mneme_protect_function('mneme_live_total()')`} {
		_, err := conn.Exec(ctx, call)
		requireCode(t, err, insufficientPrivilege, call)
	}
}

func TestFunctionsThatActAsTheOwnerAreGuarded(t *testing.T) {
	t.Parallel()
	owner := testkit.Owner(t, testkit.DatabaseURL(t))
	rows, err := owner.Query(ctx, `SELECT proname::text, coalesce(array_to_string(proconfig, ','), ''),
			NOT EXISTS (SELECT FROM aclexplode(coalesce(proacl, acldefault('f', proowner))) WHERE grantee = 0)
		FROM pg_proc WHERE pronamespace = current_schema()::regnamespace AND prosecdef`)
	require.NoError(t, err)
	var name, settings string
	var private bool
	n := 0
	_, err = pgx.ForEachRow(rows, []any{&name, &settings, &private}, func() error {
		n++
		require.Regexp(t, `search_path=[^,]+, pg_temp$`, settings, "%s could be led to other tables", name)
		require.True(t, private, "anyone may call %s", name)
		return nil
	})
	require.NoError(t, err)
	require.Positive(t, n)
}

func TestApplicationRoleIsRestricted(t *testing.T) {
	t.Parallel()
	url := testkit.DatabaseURL(t)
	conn := app(t, url)
	var super, bypass, create, owns bool
	require.NoError(t, conn.QueryRow(ctx, `SELECT rolsuper, rolbypassrls, rolcreatedb OR rolcreaterole,
		EXISTS (SELECT FROM pg_class WHERE relowner = r.oid AND relnamespace = current_schema()::regnamespace)
		FROM pg_roles r WHERE rolname = current_user`).Scan(&super, &bypass, &create, &owns))
	require.False(t, super || bypass || create || owns)

	_, err := conn.Exec(ctx, `SET row_security = off`)
	require.NoError(t, err)
	_, err = conn.Exec(ctx, `SELECT * FROM memories`)
	requireCode(t, err, insufficientPrivilege, "switching row security off must not show rows")
	for _, sql := range []string{
		`ALTER TABLE memories DISABLE ROW LEVEL SECURITY`, `DROP POLICY tenant_only ON memories`,
		`CREATE TABLE mine (x int)`,
		`ALTER TABLE memory_history DISABLE TRIGGER ALL`,
		`CREATE OR REPLACE FUNCTION mneme_tenant() RETURNS text LANGUAGE sql AS 'SELECT ''x'''`,
		`SET session_replication_role = replica`,
	} {
		_, err := conn.Exec(ctx, sql)
		requireCode(t, err, insufficientPrivilege, sql)
	}
}

// fill puts rows of a tenant into every table, through the store.
func fill(t *testing.T, s *store.Store, tenant string) {
	t.Helper()
	now := time.Now()
	p := schema.Principal{Tenant: tenant, Agent: "agent"}
	req := schema.IngestRequest{Principal: p, Visibility: schema.VisibilityGlobal, Candidates: []schema.Candidate{
		{Content: "Alice lives in Paris and knows Bob.", Refs: []schema.Ref{{Kind: "event", Ref: "e1"}}},
	}}
	ack, err := s.Stage(ctx, pipeline.StageInput{OperationID: "op", WorkflowID: "wf", Request: req,
		Policy: proposals.DefaultWritePolicy(), MaxAttempts: 3, Now: now})
	require.NoError(t, err)
	r := schema.Range{Tenant: tenant, BatchID: uuid.MustParse(ack.BatchID), From: 0, To: 1}
	id := uuid.MustParse(ack.MemoryIDs[0])
	fact := memory.Fact{Content: "Alice lives in Paris", Category: schema.CategoryFact, Confidence: 1,
		Claim: memory.Claim{Subject: "Alice", Predicate: "lives_in", Object: "Paris", Functional: true}}
	require.NoError(t, s.SaveExtractions(ctx, tenant,
		[]pipeline.Extracted{{CandidateID: id, Extraction: memory.Extraction{Facts: []memory.Fact{fact},
			Triples: []memory.Triple{{Source: "Alice", Relationship: "knows", Target: "Bob", Confidence: 1}}}}}, now))
	vector := make([]float32, 384)
	vector[0] = 1
	require.NoError(t, s.SaveDecisions(ctx, r, []uuid.UUID{id},
		[]pipeline.Decided{{CandidateID: id, Fact: fact,
			Proposal: memory.Proposal{Action: schema.ActionAdd, Confidence: 1, Reason: "new"},
			Embedding: &pg.Embedding{Model: inference.EmbeddingModel{Name: "hash-v1", Dimensions: 384},
				Vector: vector}}},
		now))
	counts, err := s.Write(ctx, pipeline.WriteInput{Range: r, MaxRounds: 3, Now: now})
	require.NoError(t, err)
	require.Equal(t, 1, counts.Added)
	_, err = s.Link(ctx, r, now)
	require.NoError(t, err)
	_, err = s.Append(ctx, events.AppendInput{Tenant: tenant, Now: now,
		Events: []ledger.Event{{ID: "seen", Stream: "world/town",
			Agent: p.Agent, Kind: ledger.KindWorldObserved, OccurredAt: now,
			Payload: json.RawMessage(`{"oven":"hot"}`)}}})
	require.NoError(t, err)
	require.NoError(t, s.PutVectors(ctx, tenant, inference.EmbeddingModel{Name: "hash-v1", Dimensions: 384},
		[]string{"seen"}, [][]float32{vector}, now))
	require.NoError(t, s.TrackRetrieval(ctx, search.Retrieval{ID: uuid.New(), Principal: p,
		MemoryIDs: []uuid.UUID{id}}, now))

	// Data that changes: a growing episode with an artifact, a running request, a waiting run.
	artifact, err := s.PutArtifact(ctx, p, strings.NewReader("a log of "+tenant), "text/plain", "", now)
	require.NoError(t, err)
	episode := testkit.RecordGen(schema.TypeEpisodic).Example(1)
	episode.Tenant, episode.Agent, episode.Project, episode.Scope, episode.PolicyGroup, episode.ExternalID = tenant, p.Agent, "", "", "", ""
	for i := range 2 {
		payload := schema.EpisodicPayload{Kind: schema.TypeEpisodic, Artifacts: []string{artifact.Address}}
		for k := range i + 1 {
			payload.Timeline = append(payload.Timeline,
				schema.TimelineEvent{T: now.Add(time.Duration(k) * time.Second), EventKind: "note", Ref: "evt://1"})
		}
		episode.Payload, err = json.Marshal(payload)
		require.NoError(t, err)
		episode.SafeSummary = "what was done is on record"
		put := schema.PutRequest{Operation: schema.Operation{Principal: p}, Records: []schema.MemoryRecord{episode}}
		require.NoError(t, put.Validate())
		result, err := s.Put(ctx, edit.PutInput{Operation: schema.OperationRef{Tenant: tenant, ID: fmt.Sprint("put", i),
			WorkflowID: "put"}, Request: put,
			Policy: proposals.DefaultWritePolicy(), Now: now.Add(time.Duration(i) * time.Second)})
		require.NoError(t, err)
		require.Equal(t, []schema.PutStatus{schema.PutCreated, schema.PutUpdated}[i], result.Items[0].Status)
	}
	others := schema.PutRequest{Operation: schema.Operation{Principal: p}}
	for i, kind := range testkit.MemoryTypes[1:] {
		m := testkit.RecordGen(kind).Example(i + 10)
		m.Tenant, m.Agent, m.Project, m.Scope, m.PolicyGroup, m.ExternalID = tenant, p.Agent, "", "", "", ""
		if kind == schema.TypeSemantic {
			m.Payload = json.RawMessage(`{"kind":"semantic","evidence":[{"kind":"event","ref":"evt://told"}],"subject":"Bob","predicate":"likes","object":"tea","validity":{"mode":"global"},"cardinality":"many"}`)
		}
		others.Records = append(others.Records, m)
	}
	require.NoError(t, others.Validate())
	created, err := s.Put(ctx, edit.PutInput{Operation: schema.OperationRef{Tenant: tenant, ID: "others",
		WorkflowID: "put"}, Request: others, Policy: proposals.DefaultWritePolicy(), Now: now})
	require.NoError(t, err)
	for _, item := range created.Items {
		require.Equal(t, schema.PutCreated, item.Status)
	}
	require.NoError(t, s.Accept(ctx, schema.OperationRef{Tenant: tenant, ID: "later"}, "put", schema.PutRequest{}, now))
	preview, err := s.SelectForget(ctx, schema.OperationRef{Tenant: tenant, ID: "forget", WorkflowID: "forget"},
		schema.ForgetRequest{
			Operation: schema.Operation{Principal: p, Reason: "a test"},
			Selector:  schema.Selector{IDs: []string{id.String()}}}, now)
	require.NoError(t, err)
	_, err = s.ForgetToken(ctx, p, uuid.MustParse(preview.RunID), now)
	require.NoError(t, err)
}

// fillSweeps adds a row of each kind that feedback and sweeps write.
func fillSweeps(t *testing.T, owner *pgx.Conn, tenant string) {
	t.Helper()
	for _, sql := range []string{
		`INSERT INTO retrieval_feedback (tenant, retrieval_id, memory_id, verdict, weight, moved, effective_at, actor,
			created_at, updated_at)
			SELECT tenant, id, memory_ids[1], 'succeeded', 1, 0.1, now(), 'agent', now(), now() FROM retrievals
				WHERE tenant = $1`,
		`INSERT INTO retention_policies (tenant, domain, keep, on_expiry, updated_at, updated_by, reason)
			VALUES ($1, 'history', '90 days', 'purge', now(), 'alice', 'a test')`,
		`INSERT INTO retention_policy_changes (tenant, id, domain, tier, typology, changed_by, reason, changed_at)
			VALUES ($1, gen_random_uuid(), 'history', '', '', 'alice', 'a test', now())`,
		`INSERT INTO removals (tenant, id, kind, removed, removed_by, removed_at)
			VALUES ($1, gen_random_uuid(), 'topics', 1, 'alice', now())`,
		`INSERT INTO sweep_holds (tenant, sweep, would_take, stored, share, asked_at)
			VALUES ($1, 'decay', 90, 100, 0.5, now())`,
		`INSERT INTO sessions (tenant, id, workflow_id, agent_id, session, stream, state, first_seq, last_seq,
			opened_at, updated_at)
			VALUES ($1, '5b0c9a3e-6c1f-4f0e-9d0a-0d6f1f0f2a77', 'session/t/a/x', 'a', 'x', 'run/x', 'open', 1, 0, now(),
				now())`,
		`INSERT INTO session_episodes (tenant, session_id, first_seq, last_seq, events, outcome, closed, closed_at)
			SELECT tenant, id, 1, 1, 1, 'success', 'idle', now() FROM sessions WHERE tenant = $1`,
		`INSERT INTO sweep_runs (tenant, id, sweep, started_at, updated_at)
			VALUES ($1, 'decay', 'decay', now(), now())`,
		`INSERT INTO topics (tenant, id, agent_id, read_policy, question, evidence_limit, created_at)
			VALUES ($1, gen_random_uuid(), 'agent', 'isolated', 'What?', 3, now())`,
		`INSERT INTO topic_answers (tenant, topic_id, number, parts, memories, versions, evidence_hash, written_by,
			as_of, created_at)
			SELECT tenant, id, 1, '[]', '{}', '{}', '', 'rules', now(), now() FROM topics WHERE tenant = $1`,
		`INSERT INTO topic_drafts (tenant, topic_id, parts, memories, versions, evidence_hash, written_by, as_of,
			created_at)
			SELECT tenant, id, '[]', '{}', '{}', '', 'rules', now(), now() FROM topics WHERE tenant = $1`,
		`INSERT INTO advice (tenant, id, agent_id, offered, created_at)
			VALUES ($1, gen_random_uuid(), 'agent', '[]', now())`,
		`INSERT INTO solution_outcomes (tenant, memory_id, stats, updated_at) SELECT tenant, id, '{}', now()
			FROM memories WHERE tenant = $1 LIMIT 1`,
		`INSERT INTO outcome_reports (tenant, memory_id, advice_id, at) SELECT tenant, id, gen_random_uuid(), now()
			FROM memories WHERE tenant = $1 LIMIT 1`,
		`INSERT INTO verdict_sources (tenant, memory_id, agent_id, used, verdict, times, days, counted, moved, at)
			SELECT tenant, id, 'agent', true, 'failed', 1, 1, 1, -0.1, now() FROM memories WHERE tenant = $1 LIMIT 1`,
		`INSERT INTO token_budgets (tenant, day) VALUES ($1, now())`,
		`INSERT INTO token_reservations (tenant, key, day, purpose, tokens, created_at)
			VALUES ($1, 'k', now(), 'topic', 1, now())`,
		`INSERT INTO learning_watermarks (tenant, workflow, at, memory_id, run_at)
			VALUES ($1, 'attempts', now(), gen_random_uuid(), now())`,
		`INSERT INTO learning_groups (tenant, id, kind, updated_at)
			VALUES ($1, '1d1fd9a2-58c4-4a8f-9b43-7d0f6f6f1f55', 'error', now())`,
		`INSERT INTO learning_drafts (tenant, group_id, kind, attempts, deltas, memories, created_at)
			SELECT tenant, id, 'competence', 1, '[]', '{}', now() FROM learning_groups WHERE tenant = $1`,
		`INSERT INTO learning_attempts (tenant, memory_id, ordinal, at) SELECT tenant, id, 0, now() FROM memories
			WHERE tenant = $1 LIMIT 1`,
		`INSERT INTO learned (tenant, memory_id, kind, group_id, key, updated_at)
			SELECT tenant, id, 'competence', id, 'error:x', now() FROM memories WHERE tenant = $1 LIMIT 1`,
		`INSERT INTO duplicate_keys (tenant, memory_id, version, key)
			SELECT tenant, id, 1, sha256('x') FROM memories WHERE tenant = $1 LIMIT 1`,
		`INSERT INTO model_answers (tenant, memory_id, other, purpose, question, at)
			SELECT tenant, id, id, 'facts', sha256('x'), now() FROM memories WHERE tenant = $1 LIMIT 1`,
		`INSERT INTO memory_source_kinds (tenant, memory_id, source_kind) SELECT tenant, id, 'observation' FROM memories
			WHERE tenant = $1 LIMIT 1`,
	} {
		_, err := owner.Exec(ctx, sql, tenant)
		require.NoError(t, err)
	}
}

func TestTenantsAreSeparatedInEveryTable(t *testing.T) {
	t.Parallel()
	url := testkit.DatabaseURL(t)
	s := testkit.OpenStore(t, url)
	fill(t, s, "tenant-a")
	fill(t, s, "tenant-b")
	owner, conn := testkit.Owner(t, url), app(t, url)
	for _, tenant := range []string{"tenant-a", "tenant-b"} {
		fillSweeps(t, owner, tenant)
	}
	count := func(c *pgx.Conn, table, where string) int {
		var n int
		require.NoError(t, c.QueryRow(ctx, `SELECT count(*) FROM `+table+` WHERE `+where).Scan(&n))
		return n
	}
	tables := tenantTables(t, owner, "r")
	for _, table := range slices.Concat(tables, tenantTables(t, owner, "v")) {
		_, err := conn.Exec(ctx, `RESET mneme.tenant`)
		require.NoError(t, err)
		require.Zero(t, count(conn, table, "true"), "%s shows rows without a tenant", table)
		bind(t, conn, "")
		require.Zero(t, count(conn, table, "true"), "%s shows rows to the empty tenant", table)
		bind(t, conn, "tenant-a")
		require.Positive(t, count(conn, table, "true"), "%s: fill puts no row here; extend it", table)
		require.Zero(t, count(conn, table, "tenant <> 'tenant-a'"), "%s shows another tenant's rows", table)
	}
	for _, table := range tables {
		bOwn := count(owner, table, "tenant = 'tenant-b'")
		require.Positive(t, bOwn, "%s: fill puts no row here; extend it", table)
		var columns string
		require.NoError(t, owner.QueryRow(ctx,
			`SELECT string_agg(quote_ident(column_name), ', ' ORDER BY ordinal_position) FROM information_schema.columns
			WHERE table_schema = current_schema() AND table_name = $1 AND is_generated = 'NEVER'
				AND is_identity = 'NO'`, table).Scan(&columns))
		for _, as := range []string{"tenant-b", "tenant-c"} {
			var row string
			require.NoError(t, owner.QueryRow(ctx,
				fmt.Sprintf(`SELECT to_jsonb(x)::text FROM %s x WHERE tenant = 'tenant-a' LIMIT 1`, table)).Scan(&row))
			_, err := conn.Exec(ctx,
				fmt.Sprintf(`INSERT INTO %[1]s (%[2]s) SELECT %[2]s
					FROM jsonb_populate_record(NULL::%[1]s, $1::jsonb || jsonb_build_object('tenant', $2::text))`,
					table, columns), row, as)
			requireCode(t, err, insufficientPrivilege, "insert into %s as %s", table, as)
			require.Contains(t, err.Error(), "row-level security", "%s", table)
		}
		tag, err := conn.Exec(ctx, `UPDATE `+table+` SET tenant = tenant WHERE tenant = 'tenant-b'`)
		if err != nil {
			requireCode(t, err, insufficientPrivilege, "update %s", table)
		}
		require.Zero(t, tag.RowsAffected(), "%s: another tenant's rows were updated", table)
		_, err = conn.Exec(ctx, `UPDATE `+table+` SET tenant = 'tenant-b'`)
		requireCode(t, err, insufficientPrivilege, "moving own rows of %s to another tenant", table)
		tag, err = conn.Exec(ctx, `DELETE FROM `+table+` WHERE tenant = 'tenant-b'`)
		if err != nil {
			requireCode(t, err, insufficientPrivilege, "delete from %s", table)
		}
		require.Zero(t, tag.RowsAffected(), "%s: another tenant's rows were deleted", table)
		require.Equal(t, bOwn, count(owner, table, "tenant = 'tenant-b'"), table)
	}
}

func TestHistoryAndLedgerAreAppendOnly(t *testing.T) {
	t.Parallel()
	url := testkit.DatabaseURL(t)
	fill(t, testkit.OpenStore(t, url), "tenant-a")
	owner, conn := testkit.Owner(t, url), app(t, url)
	bind(t, conn, "tenant-a")
	for _, table := range []string{"memory_history", "events"} {
		for _, sql := range []string{`UPDATE ` + table + ` SET created_at = now()`, `DELETE FROM ` + table,
			`TRUNCATE ` + table} {
			if table == "events" {
				sql = strings.ReplaceAll(sql, "created_at", "recorded_at")
			}
			_, err := conn.Exec(ctx, sql)
			requireCode(t, err, insufficientPrivilege, "as the application: %s", sql)
			_, err = owner.Exec(ctx, sql)
			requireCode(t, err, restrictViolation, "as the owner: %s", sql)
		}
		var n int
		require.NoError(t, owner.QueryRow(ctx, `SELECT count(*) FROM `+table).Scan(&n))
		require.Positive(t, n)
	}
}
