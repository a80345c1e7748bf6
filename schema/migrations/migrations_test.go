package migrations_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/require"

	"github.com/mneme/mneme/inference"
	"github.com/mneme/mneme/internal/testkit"
	"github.com/mneme/mneme/memory"
	"github.com/mneme/mneme/memory/proposals"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/schema/migrations"
	"github.com/mneme/mneme/store"
	"github.com/mneme/mneme/store/edit"
	"github.com/mneme/mneme/store/pg"
	"github.com/mneme/mneme/store/pipeline"
	"github.com/mneme/mneme/store/search"
)

var ctx = context.Background()

// emptySchema is a schema without any table.
func emptySchema(t *testing.T) string {
	t.Helper()
	return emptySchemaIn(t, testkit.DatabaseURL(t))
}

// emptySchemaIn is one beside another schema.
func emptySchemaIn(t *testing.T, base string) string {
	t.Helper()
	owner := testkit.Owner(t, base)
	name := "e_" + strings.ReplaceAll(uuid.NewString(), "-", "")
	_, err := owner.Exec(ctx, "CREATE SCHEMA "+name)
	require.NoError(t, err)
	t.Cleanup(func() { _, _ = owner.Exec(ctx, "DROP SCHEMA "+name+" CASCADE") })
	u, err := url.Parse(base)
	require.NoError(t, err)
	q := u.Query()
	q.Set("search_path", name+",public")
	u.RawQuery = q.Encode()
	return u.String()
}

// app connects as the application does.
func app(t *testing.T, databaseURL string) *pgx.Conn {
	t.Helper()
	cfg, err := pgx.ParseConfig(databaseURL)
	require.NoError(t, err)
	cfg.RuntimeParams["role"] = pg.AppRole
	conn, err := pgx.ConnectConfig(ctx, cfg)
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close(ctx) })
	return conn
}

func bind(t *testing.T, conn *pgx.Conn, tenant string) {
	t.Helper()
	_, err := conn.Exec(ctx, `SELECT set_config('mneme.tenant', $1, false)`, tenant)
	require.NoError(t, err)
}

func requireCode(t *testing.T, err error, code string, msg ...any) {
	t.Helper()
	var pgErr *pgconn.PgError
	require.ErrorAs(t, err, &pgErr, msg...)
	require.Equal(t, code, pgErr.Code, append([]any{pgErr.Message}, msg...)...)
}

const (
	insufficientPrivilege = "42501"
	restrictViolation     = "23001"
	checkViolation        = "23514"
	uniqueViolation       = "23505"
)

func TestUpFromEmptyOnceAndForAll(t *testing.T) {
	t.Parallel()
	url := emptySchema(t)
	before, err := migrations.List(ctx, url)
	require.NoError(t, err)
	require.NotEmpty(t, before)
	for i, m := range before {
		require.False(t, m.Applied)
		require.EqualValues(t, i+1, m.Version, "versions have no gaps")
	}
	require.Equal(t, migrations.Latest(), before[len(before)-1].Version)
	_, err = store.Open(ctx, pg.Config{URL: url})
	require.ErrorIs(t, err, pg.ErrNotMigrated)

	applied, err := migrations.Up(ctx, url)
	require.NoError(t, err)
	require.Len(t, applied, len(before))
	again, err := migrations.Up(ctx, url)
	require.NoError(t, err)
	require.Empty(t, again, "the second time is a no-op")

	after, err := migrations.List(ctx, url)
	require.NoError(t, err)
	for i, m := range after {
		require.True(t, m.Applied)
		require.False(t, m.AppliedAt.IsZero())
		require.Equal(t, before[i].Name, m.Name)
	}
	testkit.OpenStore(t, url)
}

func TestUpBySeveralAtOnceAppliesEachOnce(t *testing.T) {
	t.Parallel()
	url := emptySchema(t)
	var mu sync.Mutex
	var applied []string
	var wg sync.WaitGroup
	errs := make([]error, 4)
	for i := range errs {
		wg.Go(func() {
			names, err := migrations.Up(ctx, url)
			mu.Lock()
			defer mu.Unlock()
			errs[i], applied = err, append(applied, names...)
		})
	}
	wg.Wait()
	for _, err := range errs {
		require.NoError(t, err)
	}
	known, err := migrations.List(ctx, url)
	require.NoError(t, err)
	var want []string
	for _, m := range known {
		want = append(want, m.Name)
	}
	slices.Sort(applied)
	require.Equal(t, want, applied)
}

func TestUpNamesNoPasswordWhenItFails(t *testing.T) {
	t.Parallel()
	_, err := migrations.Up(ctx, "postgres://mneme:hunter2secret@127.0.0.1:1/none?connect_timeout=1")
	require.Error(t, err)
	require.NotContains(t, err.Error(), "hunter2secret")
	_, err = migrations.Up(ctx, "postgres://mneme:hunter2secret@127.0.0.1:port/none")
	require.Error(t, err)
	require.NotContains(t, err.Error(), "hunter2secret")
}

// tenantTables lists what has a tenant column: tables ("r") or views ("v").
func tenantTables(t *testing.T, owner *pgx.Conn, kind string) []string {
	t.Helper()
	rows, err := owner.Query(ctx, `SELECT c.relname::text FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attname = 'tenant'
		WHERE c.relnamespace = current_schema()::regnamespace AND c.relkind::text = $1 ORDER BY 1`, kind)
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
		SELECT c.relname::text, EXISTS (SELECT FROM pg_attribute a WHERE a.attrelid = c.oid AND a.attname = 'tenant' AND a.attnotnull),
			c.relrowsecurity, (SELECT count(*) FROM pg_policy p WHERE p.polrelid = c.oid AND p.polcmd = '*' AND p.polqual IS NOT NULL AND p.polwithcheck IS NOT NULL),
			EXISTS (SELECT FROM pg_index i JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum = i.indkey[0] WHERE i.indrelid = c.oid AND i.indisprimary AND a.attname = 'tenant'),
			has_table_privilege('mneme_app', c.oid, 'TRUNCATE') OR has_table_privilege('mneme_app', c.oid, 'TRIGGER') OR has_table_privilege('mneme_app', c.oid, 'REFERENCES')
		FROM pg_class c WHERE c.relnamespace = current_schema()::regnamespace AND c.relkind IN ('r', 'p') AND c.relname NOT IN ('goose_db_version',
			'index_generations')`) // which index is searched is the installation's: nothing of a tenant's is in it
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

func TestTheApplicationRoleIsBound(t *testing.T) {
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
		`ALTER TABLE memories DISABLE ROW LEVEL SECURITY`, `DROP POLICY tenant_only ON memories`, `CREATE TABLE mine (x int)`,
		`ALTER TABLE memory_history DISABLE TRIGGER ALL`, `CREATE OR REPLACE FUNCTION mneme_tenant() RETURNS text LANGUAGE sql AS 'SELECT ''x'''`,
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
	ack, err := s.Stage(ctx, pipeline.StageInput{OperationID: "op", WorkflowID: "wf", Request: req, Policy: proposals.DefaultWritePolicy(), MaxAttempts: 3, Now: now})
	require.NoError(t, err)
	r := pipeline.Range{Tenant: tenant, BatchID: uuid.MustParse(ack.BatchID), From: 0, To: 1}
	id := uuid.MustParse(ack.MemoryIDs[0])
	fact := memory.Fact{Content: "Alice lives in Paris", Category: schema.CategoryFact, Confidence: 1, Claim: memory.Claim{Subject: "Alice", Predicate: "lives_in", Object: "Paris", Functional: true}}
	require.NoError(t, s.SaveExtractions(ctx, tenant, []pipeline.Extracted{{CandidateID: id, Extraction: memory.Extraction{Facts: []memory.Fact{fact},
		Triples: []memory.Triple{{Source: "Alice", Relationship: "knows", Target: "Bob", Confidence: 1}}}}}, now))
	vector := make([]float32, 384)
	vector[0] = 1
	require.NoError(t, s.SaveDecisions(ctx, r, []uuid.UUID{id}, []pipeline.Decided{{CandidateID: id, Fact: fact, Proposal: memory.Proposal{Action: schema.ActionAdd, Confidence: 1, Reason: "new"},
		Embedding: &pg.Embedding{Model: inference.EmbeddingModel{Name: "hash-v1", Dimensions: 384}, Vector: vector}}}, now))
	counts, err := s.Write(ctx, pipeline.WriteInput{Range: r, MaxRounds: 3, Now: now})
	require.NoError(t, err)
	require.Equal(t, 1, counts.Added)
	_, err = s.Link(ctx, r, now)
	require.NoError(t, err)
	require.NoError(t, s.TrackRetrieval(ctx, search.Retrieval{ID: uuid.New(), Principal: p, QueryHash: []byte{1}, MemoryIDs: []uuid.UUID{id}}, now))

	// What is revised: an episode with an artifact that grows, a request under way, a run that waits.
	artifact, err := s.PutArtifact(ctx, p, strings.NewReader("a log of "+tenant), "text/plain", "", now)
	require.NoError(t, err)
	episode := testkit.RecordGen(schema.TypeEpisodic).Example(1)
	episode.Tenant, episode.Agent, episode.Project, episode.Scope, episode.PolicyGroup, episode.ExternalID = tenant, p.Agent, "", "", "", ""
	for i := range 2 {
		payload := schema.EpisodicPayload{Kind: schema.TypeEpisodic, Artifacts: []string{artifact.Address}}
		for k := range i + 1 {
			payload.Timeline = append(payload.Timeline, schema.TimelineEvent{T: now.Add(time.Duration(k) * time.Second), EventKind: "note", Ref: "evt://1"})
		}
		episode.Payload, err = json.Marshal(payload)
		require.NoError(t, err)
		episode.SafeSummary = "what was done is on record"
		put := schema.PutRequest{Operation: schema.Operation{Principal: p}, Records: []schema.MemoryRecord{episode}}
		require.NoError(t, put.Validate())
		result, err := s.Put(ctx, edit.PutInput{Operation: pipeline.Operation{Tenant: tenant, ID: fmt.Sprint("put", i), WorkflowID: "put"}, Request: put,
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
	created, err := s.Put(ctx, edit.PutInput{Operation: pipeline.Operation{Tenant: tenant, ID: "others", WorkflowID: "put"}, Request: others, Policy: proposals.DefaultWritePolicy(), Now: now})
	require.NoError(t, err)
	for _, item := range created.Items {
		require.Equal(t, schema.PutCreated, item.Status)
	}
	require.NoError(t, s.Accept(ctx, pipeline.Operation{Tenant: tenant, ID: "later"}, "put", schema.PutRequest{}, now))
	preview, err := s.SelectForget(ctx, pipeline.Operation{Tenant: tenant, ID: "forget", WorkflowID: "forget"}, schema.ForgetRequest{
		Operation: schema.Operation{Principal: p, Reason: "a test"}, Selector: schema.Selector{IDs: []string{id.String()}}}, now)
	require.NoError(t, err)
	_, err = s.ForgetToken(ctx, p, uuid.MustParse(preview.RunID), now)
	require.NoError(t, err)
}

// fillSweeps puts what feedback and sweeps leave: a row of each kind.
func fillSweeps(t *testing.T, owner *pgx.Conn, tenant string) {
	t.Helper()
	for _, sql := range []string{
		`INSERT INTO retrieval_feedback (tenant, retrieval_id, memory_id, verdict, weight, moved, effective_at, actor, created_at, updated_at)
			SELECT tenant, id, memory_ids[1], 'succeeded', 1, 0.1, now(), 'agent', now(), now() FROM retrievals WHERE tenant = $1`,
		`INSERT INTO retention_policies (tenant, domain, keep, on_expiry, updated_at, updated_by, reason) VALUES ($1, 'history', '90 days', 'purge', now(), 'alice', 'a test')`,
		`INSERT INTO retention_policy_changes (tenant, id, domain, tier, typology, changed_by, reason, changed_at)
			VALUES ($1, gen_random_uuid(), 'history', '', '', 'alice', 'a test', now())`,
		`INSERT INTO sweep_holds (tenant, sweep, would_take, stored, share, asked_at) VALUES ($1, 'decay', 90, 100, 0.5, now())`,
		`INSERT INTO sweep_runs (tenant, id, sweep, started_at, updated_at) VALUES ($1, 'decay', 'decay', now(), now())`,
		`INSERT INTO memory_source_kinds (tenant, memory_id, source_kind) SELECT tenant, id, 'observation' FROM memories WHERE tenant = $1 LIMIT 1`,
	} {
		_, err := owner.Exec(ctx, sql, tenant)
		require.NoError(t, err)
	}
}

func TestTenantsAreApartInEveryTable(t *testing.T) {
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
		require.NoError(t, owner.QueryRow(ctx, `SELECT string_agg(quote_ident(column_name), ', ' ORDER BY ordinal_position) FROM information_schema.columns
			WHERE table_schema = current_schema() AND table_name = $1 AND is_generated = 'NEVER' AND is_identity = 'NO'`, table).Scan(&columns))
		for _, as := range []string{"tenant-b", "tenant-c"} {
			var row string
			require.NoError(t, owner.QueryRow(ctx, fmt.Sprintf(`SELECT to_jsonb(x)::text FROM %s x WHERE tenant = 'tenant-a' LIMIT 1`, table)).Scan(&row))
			_, err := conn.Exec(ctx, fmt.Sprintf(`INSERT INTO %[1]s (%[2]s) SELECT %[2]s FROM jsonb_populate_record(NULL::%[1]s, $1::jsonb || jsonb_build_object('tenant', $2::text))`,
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
		for _, sql := range []string{`UPDATE ` + table + ` SET created_at = now()`, `DELETE FROM ` + table, `TRUNCATE ` + table} {
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

// enums are the values of every state column. A text column of the schema is either here or among
// the free ones below, so that a new one cannot be forgotten.
var enums = map[string]string{
	"memories.visibility":           "private group shared global",
	"memories.type":                 "episodic working semantic competence plan_graph",
	"memories.category":             "fact preference decision procedural semantic rule learning issue",
	"memories.tier":                 "interaction session persistent",
	"memories.typology":             "episodic semantic procedural",
	"memories.decay_curve":          "exponential linear custom",
	"memories.deletion_policy":      "auto_prune manual_only never",
	"memories.status":               "active contested superseded retracted",
	"memories.validity":             "global conditional timeboxed",
	"memories.revision_policy":      "replace fork contest",
	"memories.sensitivity":          "public low medium high hyper",
	"memory_embeddings.tier":        "interaction session persistent",
	"memory_embeddings.typology":    "episodic semantic procedural",
	"memory_provenance.kind":        "event artifact tool_call observation outcome human retrieval",
	"memory_history.event":          "created modified deleted recovered none",
	"memory_history.action":         "create revise fork merge delete recover contest resolve retract modify erase archive keep purge reinforce penalise",
	"staged_requests.kind":          "put revise modify forget recover review feedback",
	"operations.kind":               "put revise modify forget recover review ingest candidate resume feedback sweep",
	"forget_runs.mode":              "soft force erase",
	"forget_runs.state":             "preview confirmed done expired cancelled",
	"forget_echoes.tie":             "restatement source derived",
	"ingest_batches.visibility":     "private group shared global",
	"ingest_batches.mode":           "shadow frozen controlled",
	"ingest_batches.supersede":      "auto own review",
	"proposals.change":              "none supersede contest retract",
	"memory_candidates.state":       "staged duplicate recalled done dead",
	"memory_candidates.source_kind": "user_input tool_output observation outcome memory",
	"memory_candidates.category":    "fact preference decision procedural semantic rule learning issue",
	"memory_candidates.sensitivity": "public low medium high hyper",
	"proposals.state":               "proposed applied skipped blocked stale rejected expired",
	"proposals.action":              "add update delete none",
	"jobs.kind":                     "ingest",
	"jobs.state":                    "pending leased completed failed dead",
	"jobs.phase":                    "extract decide write link index done",
	"index_outbox.op":               "upsert delete",
	"index_generations.state":       "building active retired",
	"memory_hints.source":           "rules model",
	"retrieval_feedback.verdict":    "succeeded partly failed unused",
	"retrieval_feedback.counted":    "success failure",
	"retention_policies.domain":     "memory world history jobs_completed jobs_dead retrievals ingest forget_runs events operations artifacts",
	"retention_policies.tier":       "any interaction session persistent",
	"retention_policies.typology":   "any episodic semantic procedural",
	"retention_policies.on_expiry":  "purge archive",
	"sweep_holds.sweep":             "decay retention history",
	"sweep_runs.sweep":              "decay retention",

	"memory_source_kinds.source_kind": "user_input tool_output observation outcome memory",
}

var freeText = strings.Fields(`
	memories.agent_id memories.project memories.scope memories.policy_group memories.content memories.normalized_content memories.language
	memories.who memories.subject memories.predicate memories.conditions_hash memories.key_id memories.created_by memories.world_id
	memories.world_version memories.agent_session_id memories.agent_interaction_id memories.claim_space memories.subject_key
	memories.safe_summary memory_embeddings.model memory_provenance.ref memory_provenance.hash
	memory_history.old_content memory_history.new_content memory_history.changed_by memory_history.reason
	events.agent_id events.kind events.session lexeme_stats.lexeme
	ingest_batches.workflow_id ingest_batches.agent_id ingest_batches.project ingest_batches.scope ingest_batches.policy_group
	memory_candidates.content memory_candidates.speaker memory_candidates.session
	proposals.reason proposals.outcome proposals.embedding_model jobs.workflow_id jobs.last_error operations.id
	retrievals.agent_id retrievals.project retrievals.scope
	entities.canonical_name entities.name entity_relations.relationship
	entity_claims.subject entity_claims.predicate entity_claims.object entity_claims.subject_key
	memories.external_id memory_relations.predicate memory_relations.reason memory_entity_relations.relationship artifacts.media_type artifacts.agent_id
	artifact_holders.agent_id artifact_holders.scope staged_requests.id tenant_secrets.name proposals.reviewed_by proposals.review_reason
	forget_runs.workflow_id forget_runs.agent_id forget_runs.scope forget_runs.reason forget_runs.requested_by forget_runs.confirmed_by forget_items.outcome
	index_generations.index_name index_generations.model index_outbox.last_error memory_hints.hint
	retrieval_feedback.actor retention_policies.updated_by retention_policies.reason retention_policy_changes.domain retention_policy_changes.tier
	retention_policy_changes.typology retention_policy_changes.changed_by retention_policy_changes.reason sweep_holds.answered_by sweep_holds.reason sweep_runs.id`)

var quoted = regexp.MustCompile(`'([^']*)'::text`)

func TestEveryStateColumnRefusesUnknownValues(t *testing.T) {
	t.Parallel()
	owner := testkit.Owner(t, testkit.DatabaseURL(t))
	rows, err := owner.Query(ctx, `
		SELECT c.table_name::text, c.column_name::text,
			coalesce((SELECT pg_get_constraintdef(k.oid) FROM pg_constraint k JOIN pg_attribute a ON a.attrelid = k.conrelid AND a.attname = c.column_name
				WHERE k.conrelid = format('%I', c.table_name)::regclass AND k.contype = 'c' AND k.conkey = ARRAY[a.attnum] AND pg_get_constraintdef(k.oid) ~ '= ''|ANY \('), '')
		FROM information_schema.columns c JOIN information_schema.tables b USING (table_schema, table_name)
		WHERE c.table_schema = current_schema() AND b.table_type = 'BASE TABLE' AND c.data_type = 'text' AND c.column_name <> 'tenant' AND c.table_name <> 'goose_db_version'
		ORDER BY 1, 2`)
	require.NoError(t, err)
	type column struct{ Table, Name, Check string }
	columns, err := pgx.CollectRows(rows, pgx.RowToStructByPos[column])
	require.NoError(t, err)
	seen := 0
	for _, c := range columns {
		path := c.Table + "." + c.Name
		if slices.Contains(freeText, path) {
			continue
		}
		want, known := enums[path]
		require.True(t, known, "%s is a new text column: say which values it takes, or that it is free", path)
		require.NotEmpty(t, c.Check, "%s has no CHECK", path)
		var values []string
		for _, m := range quoted.FindAllStringSubmatch(c.Check, -1) {
			values = append(values, m[1])
		}
		require.ElementsMatch(t, strings.Fields(want), values, path)
		seen++
		// The very constraints of the table, on a table where the other columns may be missing.
		probe := "probe_" + c.Table + "_" + c.Name
		_, err := owner.Exec(ctx, fmt.Sprintf(`CREATE TEMP TABLE %s (LIKE %s INCLUDING CONSTRAINTS)`, probe, c.Table))
		require.NoError(t, err)
		loosen(t, owner, probe)
		for _, bad := range []string{"nonsense", "", strings.ToUpper(values[0]), values[0] + " "} {
			_, err = owner.Exec(ctx, fmt.Sprintf(`INSERT INTO %s (%s) VALUES ($1)`, probe, c.Name), bad)
			requireCode(t, err, checkViolation, "%s took %q", path, bad)
		}
	}
	require.Equal(t, len(enums), seen, "a column of the table above is gone")
}

// loosen lets every column of a table be missing.
func loosen(t *testing.T, owner *pgx.Conn, table string) {
	t.Helper()
	rows, err := owner.Query(ctx, `SELECT attname::text FROM pg_attribute WHERE attrelid = $1::text::regclass AND attnum > 0 AND attnotnull`, table)
	require.NoError(t, err)
	names, err := pgx.CollectRows(rows, pgx.RowTo[string])
	require.NoError(t, err)
	for _, n := range names {
		_, err := owner.Exec(ctx, fmt.Sprintf(`ALTER TABLE %s ALTER %s DROP NOT NULL`, table, n))
		require.NoError(t, err)
	}
}

func TestEveryShareIsBetweenZeroAndOne(t *testing.T) {
	t.Parallel()
	owner := testkit.Owner(t, testkit.DatabaseURL(t))
	rows, err := owner.Query(ctx, `SELECT c.table_name::text, c.column_name::text FROM information_schema.columns c JOIN information_schema.tables b USING (table_schema, table_name)
		WHERE c.table_schema = current_schema() AND b.table_type = 'BASE TABLE' AND c.data_type IN ('real', 'double precision') AND c.column_name <> 'took_ms'
		AND (c.table_name, c.column_name) NOT IN (('retrieval_feedback', 'weight'), ('retrieval_feedback', 'moved'))`) // these are signed
	require.NoError(t, err)
	type column struct{ Table, Name string }
	columns, err := pgx.CollectRows(rows, pgx.RowToStructByPos[column])
	require.NoError(t, err)
	require.GreaterOrEqual(t, len(columns), 9)
	for _, c := range columns {
		probe := "share_" + c.Table + "_" + c.Name
		_, err := owner.Exec(ctx, fmt.Sprintf(`CREATE TEMP TABLE %s (LIKE %s INCLUDING CONSTRAINTS)`, probe, c.Table))
		require.NoError(t, err)
		loosen(t, owner, probe)
		for _, bad := range []string{"-0.01", "1.01", "'NaN'", "'Infinity'"} {
			_, err = owner.Exec(ctx, fmt.Sprintf(`INSERT INTO %s (%s) VALUES (%s)`, probe, c.Name, bad))
			requireCode(t, err, checkViolation, "%s.%s took %s", c.Table, c.Name, bad)
		}
		_, err = owner.Exec(ctx, fmt.Sprintf(`INSERT INTO %[1]s (%[2]s) VALUES (0), (1)`, probe, c.Name))
		require.NoError(t, err)
	}
}

// row is a memory to insert past the store.
type row struct {
	tenant, agent, project, scope, visibility, group string
	hash                                             byte
	subject, predicate, conditions                   string
	functional                                       bool
	kind                                             string
}

func (r row) insert(conn interface {
	Exec(context.Context, string, ...any) (pgconn.CommandTag, error)
}) (uuid.UUID, error) {
	id := uuid.New()
	hash := make([]byte, 32)
	hash[0] = r.hash
	var subject, predicate any
	if r.subject != "" {
		subject, predicate = r.subject, r.predicate
	}
	if r.kind == "" {
		r.kind = "semantic"
	}
	_, err := conn.Exec(ctx, `INSERT INTO memories (tenant, id, agent_id, project, scope, visibility, policy_group, type, category, tier, typology,
			content, normalized_content, content_hash, subject, predicate, functional, conditions_hash, confidence, importance, salience, salience_at, decay_curve, half_life,
			min_salience, reinforcement_gain, last_reinforced_at, deletion_policy, occurred_at, created_at, updated_at, created_by, payload)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $13, 'fact', 'persistent', 'semantic', 'x', 'x', $8, $9, $10, $11, $12, 1, 1, 1, now(), 'exponential', '1 day', 0, 0, now(),
			'auto_prune', now(), now(), now(), 'test', jsonb_build_object('kind', $13::text))`,
		r.tenant, id, r.agent, r.project, r.scope, r.visibility, r.group, hash, subject, predicate, r.functional, r.conditions, r.kind)
	return id, err
}

func TestALiveHashIsUniqueInItsDedupScope(t *testing.T) {
	t.Parallel()
	owner := testkit.Owner(t, testkit.DatabaseURL(t))
	base := row{tenant: "t", agent: "a", project: "p", scope: "s", visibility: "private", hash: 1}
	id, err := base.insert(owner)
	require.NoError(t, err)
	_, err = base.insert(owner)
	requireCode(t, err, uniqueViolation)
	for name, change := range map[string]func(*row){
		"tenant": func(r *row) { r.tenant = "t2" }, "agent": func(r *row) { r.agent = "a2" }, "project": func(r *row) { r.project = "" },
		"scope": func(r *row) { r.scope = "" }, "visibility": func(r *row) { r.visibility = "shared" }, "content": func(r *row) { r.hash = 2 },
	} {
		other := base
		change(&other)
		_, err := other.insert(owner)
		require.NoError(t, err, "another %s", name)
		_, err = other.insert(owner)
		requireCode(t, err, uniqueViolation, name)
	}
	for _, dead := range []string{`deleted_at = now()`, `archived_at = now()`, `status = 'superseded'`, `status = 'retracted'`} {
		_, err = owner.Exec(ctx, `UPDATE memories SET `+dead+` WHERE id = $1`, id)
		require.NoError(t, err)
		id, err = base.insert(owner)
		require.NoError(t, err, "free again after %s", dead)
	}
	_, err = owner.Exec(ctx, `UPDATE memories SET status = 'contested' WHERE id = $1`, id)
	require.NoError(t, err)
	_, err = base.insert(owner)
	requireCode(t, err, uniqueViolation, "what is contested is still there")
}

func TestOneActiveFunctionalFact(t *testing.T) {
	t.Parallel()
	url := testkit.DatabaseURL(t)
	owner := testkit.Owner(t, url)
	hash := byte(0)
	insert := func(r row) (uuid.UUID, error) {
		hash++
		r.hash = hash
		return r.insert(owner)
	}
	base := row{tenant: "t", agent: "a", project: "p", visibility: "private", subject: "Alice", predicate: "lives_in", functional: true}
	id, err := insert(base)
	require.NoError(t, err)
	same := base
	same.subject = "ALICE"
	_, err = insert(same)
	requireCode(t, err, uniqueViolation, "subjects are compared without case")
	for name, change := range map[string]func(*row){
		"tenant": func(r *row) { r.tenant = "t2" }, "scope": func(r *row) { r.scope = "s" }, "predicate": func(r *row) { r.predicate = "works_at" },
		"conditions": func(r *row) { r.conditions = "c" }, "subject": func(r *row) { r.subject = "Bob" },
		"private space": func(r *row) { r.agent = "a2" }, "project": func(r *row) { r.project = "p2" },
		"shared space": func(r *row) { r.visibility = "shared" }, "group space": func(r *row) { r.visibility, r.group = "group", "g" },
		"global space": func(r *row) { r.visibility = "global" },
	} {
		other := base
		change(&other)
		_, err := insert(other)
		require.NoError(t, err, "another %s", name)
		_, err = insert(other)
		requireCode(t, err, uniqueViolation, name)
	}
	for name, change := range map[string]func(*row){
		"shared, other agent": func(r *row) { r.visibility, r.agent = "shared", "a3" },
		"group, other agent":  func(r *row) { r.visibility, r.agent, r.group = "group", "a3", "g" },
		"global, anyone":      func(r *row) { r.visibility, r.agent, r.project = "global", "a3", "p9" },
	} {
		other := base
		change(&other)
		_, err := insert(other)
		requireCode(t, err, uniqueViolation, name)
	}
	free := base
	free.functional = false
	_, err = insert(free)
	require.NoError(t, err, "someone may like many things")
	episode := base
	episode.kind = "episodic"
	_, err = insert(episode)
	require.NoError(t, err)
	_, err = owner.Exec(ctx, `UPDATE memories SET status = 'superseded' WHERE id = $1`, id)
	require.NoError(t, err)
	_, err = insert(base)
	require.NoError(t, err, "a superseded fact makes room")
}

func TestOneActiveFunctionalFactUnderConcurrency(t *testing.T) {
	t.Parallel()
	url := testkit.DatabaseURL(t)
	const writers = 6
	errs := make([]error, writers)
	var wg sync.WaitGroup
	for i := range writers {
		conn := app(t, url)
		bind(t, conn, "t")
		wg.Go(func() {
			_, errs[i] = row{tenant: "t", agent: "a", visibility: "private", hash: byte(i + 1), subject: "Alice", predicate: "lives_in", functional: true}.insert(conn)
		})
	}
	wg.Wait()
	won := 0
	for _, err := range errs {
		if err == nil {
			won++
			continue
		}
		requireCode(t, err, uniqueViolation)
	}
	require.Equal(t, 1, won)
}

func TestEntityNamesAndOpenJobsAreUnique(t *testing.T) {
	t.Parallel()
	owner := testkit.Owner(t, testkit.DatabaseURL(t))
	entity := func(tenant string) error {
		_, err := owner.Exec(ctx, `INSERT INTO entities (tenant, id, canonical_name, name, created_at, updated_at) VALUES ($1, $2, 'alice', 'Alice', now(), now())`, tenant, uuid.New())
		return err
	}
	require.NoError(t, entity("t"))
	requireCode(t, entity("t"), uniqueViolation)
	require.NoError(t, entity("t2"))
	mem := uuid.New()
	job := func(state string) error {
		_, err := owner.Exec(ctx, `INSERT INTO jobs (tenant, id, kind, state, phase, batch_id, candidate_id, memory_id, workflow_id, max_attempts, created_at, updated_at)
			VALUES ('t', $1, 'ingest', $2, 'extract', $1, $1, $3, 'w', 3, now(), now())`, uuid.New(), state, mem)
		return err
	}
	require.NoError(t, job("completed"))
	require.NoError(t, job("dead"))
	require.NoError(t, job("leased"))
	for _, state := range []string{"pending", "leased", "failed"} {
		requireCode(t, job(state), uniqueViolation, "one open job a memory")
	}
	require.NoError(t, job("dead"))
}

func TestOutboxTenantsTellsNamesOnly(t *testing.T) {
	t.Parallel()
	url := testkit.DatabaseURL(t)
	s := testkit.OpenStore(t, url)
	none, err := s.OutboxTenants(ctx)
	require.NoError(t, err)
	require.Empty(t, none)
	fill(t, s, "tenant-a")
	fill(t, s, "tenant-b")
	got, err := s.OutboxTenants(ctx)
	require.NoError(t, err)
	require.Equal(t, []string{"tenant-a", "tenant-b"}, got)
}
