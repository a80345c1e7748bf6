package migrations_test

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/require"

	"github.com/mneme/mneme/internal/testkit"
)

// enums lists the values of every state column. Every text column of the schema must be either here or in the list of
// free columns below, so that new columns are not forgotten.
var enums = map[string]string{
	"model_answers.purpose":      "facts conflicts duplicates",
	"model_answers.answer":       "shown both excludes unsure same differs",
	"memories.visibility":        "private group shared global",
	"memories.type":              "episodic working semantic competence plan_graph",
	"memories.category":          "fact preference decision procedural semantic rule learning issue",
	"memories.tier":              "interaction session persistent",
	"memories.typology":          "episodic semantic procedural",
	"memories.decay_curve":       "exponential linear custom",
	"memories.deletion_policy":   "auto_prune manual_only never",
	"memories.status":            "active contested superseded retracted",
	"memories.validity":          "global conditional timeboxed",
	"memories.revision_policy":   "replace fork contest",
	"memories.sensitivity":       "public low medium high hyper",
	"memory_embeddings.tier":     "interaction session persistent",
	"memory_embeddings.typology": "episodic semantic procedural",
	"memory_provenance.kind":     "event artifact tool_call observation outcome human retrieval",
	"events.visibility":          "private group shared global",
	"events.sensitivity":         "public low medium high hyper",
	"event_marks.sensitivity":    "public low medium high hyper",
	"memory_history.event":       "created modified deleted recovered none",
	"memory_history.action": "create revise fork merge delete recover contest resolve retract modify erase " +
		"archive keep purge reinforce penalise",
	"staged_requests.kind": "put revise modify forget recover review feedback",
	"operations.kind": "put revise modify forget recover review ingest candidate resume feedback sweep " +
		"erase_events",
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
	"verdict_sources.verdict":       "succeeded partly failed unused",
	"retention_policies.domain": "memory world history jobs_completed jobs_dead retrievals ingest forget_runs " +
		"events operations artifacts",
	"retention_policies.tier":      "any interaction session persistent",
	"retention_policies.typology":  "any episodic semantic procedural",
	"retention_policies.on_expiry": "purge archive",
	"topics.read_policy":           "isolated shared group",
	"removals.kind":                "topics artifacts",
	"sweep_holds.sweep":            "decay retention history",
	"sweep_runs.sweep":             "decay retention",
	"sessions.state":               "open closed",
	"session_episodes.outcome":     "success failure partial",
	"session_episodes.closed":      "finished idle",

	"learning_groups.kind":            "error intent",
	"learning_drafts.kind":            "competence plan_graph",
	"learned.kind":                    "competence plan_graph",
	"memory_source_kinds.source_kind": "user_input tool_output observation outcome memory",
}

var freeText = strings.Fields(`
	memories.agent_id memories.project memories.scope memories.policy_group memories.content
	memories.normalized_content memories.language memories.who memories.subject memories.predicate
	memories.conditions_hash memories.key_id memories.created_by memories.world_id memories.world_version
	memories.agent_session_id memories.agent_interaction_id memories.claim_space memories.subject_key
	memories.safe_summary memory_embeddings.model memory_provenance.ref memory_provenance.hash
	memory_history.old_content memory_history.new_content memory_history.changed_by memory_history.reason
	events.agent_id events.kind events.session events.stream events.id events.policy_group event_ids.id
	event_ids.stream event_streams.stream event_streams.scope sessions.workflow_id sessions.agent_id sessions.scope
	sessions.session sessions.stream event_marks.stream event_marks.audience event_marks.mark event_vectors.event_id
	event_vectors.model lexeme_stats.lexeme ingest_batches.workflow_id ingest_batches.agent_id
	ingest_batches.project ingest_batches.scope ingest_batches.policy_group memory_candidates.content
	memory_candidates.speaker memory_candidates.session proposals.reason proposals.outcome proposals.embedding_model
	jobs.workflow_id jobs.last_error operations.id retrievals.agent_id retrievals.project retrievals.scope
	entities.canonical_name entities.name entity_relations.relationship entity_claims.subject
	entity_claims.predicate entity_claims.object entity_claims.subject_key memories.external_id
	memory_links.predicate memory_links.reason entity_relation_sources.relationship artifacts.media_type
	artifacts.agent_id artifact_holders.agent_id artifact_holders.scope staged_requests.id tenant_secrets.name
	proposals.reviewed_by proposals.review_reason forget_runs.workflow_id forget_runs.agent_id forget_runs.scope
	forget_runs.reason forget_runs.requested_by forget_runs.confirmed_by forget_items.outcome
	index_generations.index_name index_generations.model index_outbox.last_error memory_hints.hint
	retrieval_feedback.actor retention_policies.updated_by retention_policies.reason retention_policy_changes.domain
	retention_policy_changes.tier retention_policy_changes.typology retention_policy_changes.changed_by
	retention_policy_changes.reason sweep_holds.answered_by sweep_holds.reason sweep_runs.id advice.agent_id
	advice.project advice.scope advice.situation advice.problem outcome_reports.used outcome_reports.problem
	outcome_reports.agent_id outcome_reports.session outcome_reports.project outcome_reports.scope
	outcome_reports.scope_agent outcome_reports.user_key verdict_sources.agent_id
	verdict_sources.user_key topics.agent_id topics.project topics.scope
	topics.policy_group topics.acts_for
	topics.question topics.held topic_answers.evidence_hash topic_answers.written_by topic_answers.fallback
	topic_drafts.evidence_hash topic_drafts.written_by topic_drafts.fallback token_reservations.key
	token_reservations.purpose learning_watermarks.agent_id learning_watermarks.project learning_watermarks.scope
	learning_watermarks.workflow learning_watermarks.evidence_hash learning_groups.agent_id learning_groups.project
	learning_groups.scope learned.key learned.evidence_hash removals.agent_id removals.scope removals.removed_by
	removals.reason`)

var quoted = regexp.MustCompile(`'([^']*)'::text`)

func TestEveryStateColumnRefusesUnknownValues(t *testing.T) {
	t.Parallel()
	owner := testkit.Owner(t, testkit.DatabaseURL(t))
	rows, err := owner.Query(ctx, `
		SELECT c.table_name::text, c.column_name::text,
			coalesce((SELECT pg_get_constraintdef(k.oid) FROM pg_constraint k
			JOIN pg_attribute a ON a.attrelid = k.conrelid AND a.attname = c.column_name
				WHERE k.conrelid = format('%I', c.table_name)::regclass AND k.contype = 'c'
				AND k.conkey = ARRAY[a.attnum] AND pg_get_constraintdef(k.oid) ~ '= ''|ANY \('), '')
		FROM information_schema.columns c JOIN information_schema.tables b USING (table_schema, table_name)
		WHERE c.table_schema = current_schema() AND b.table_type = 'BASE TABLE'
		AND c.table_name !~ '^events_([0-9_]+|rest)$' AND c.data_type = 'text' AND c.column_name <> 'tenant'
		AND c.table_name <> 'goose_db_version'
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
		// A copy of the table with the same constraints, in which other columns may be null.
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

// loosen drops the NOT NULL constraints of a table.
func loosen(t *testing.T, owner *pgx.Conn, table string) {
	t.Helper()
	rows, err := owner.Query(ctx,
		`SELECT attname::text FROM pg_attribute WHERE attrelid = $1::text::regclass AND attnum > 0 AND attnotnull`,
		table)
	require.NoError(t, err)
	names, err := pgx.CollectRows(rows, pgx.RowTo[string])
	require.NoError(t, err)
	for _, n := range names {
		_, err := owner.Exec(ctx, fmt.Sprintf(`ALTER TABLE %s ALTER %s DROP NOT NULL`, table, n))
		require.NoError(t, err)
	}
}

func TestShareColumnsAreBetweenZeroAndOne(t *testing.T) {
	t.Parallel()
	owner := testkit.Owner(t, testkit.DatabaseURL(t))
	rows, err := owner.Query(ctx, // weights of feedback are signed
		`SELECT c.table_name::text, c.column_name::text FROM information_schema.columns c
			JOIN information_schema.tables b USING (table_schema, table_name)
		WHERE c.table_schema = current_schema() AND b.table_type = 'BASE TABLE'
		AND c.data_type IN ('real', 'double precision') AND c.column_name <> 'took_ms'
		AND (c.table_name, c.column_name) NOT IN (('retrieval_feedback', 'weight'), ('retrieval_feedback', 'moved'),
			('verdict_sources', 'moved'))`)
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

// row is a memory that is inserted without the store.
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
	_, err := conn.Exec(ctx,
		`INSERT INTO memories (tenant, id, agent_id, project, scope, visibility, policy_group, type, category, tier,
			typology,
			content, normalized_content, content_hash, subject, predicate, functional, conditions_hash, confidence,
			importance, salience, salience_at, decay_curve, half_life,
			min_salience, reinforcement_gain, last_reinforced_at, deletion_policy, occurred_at, created_at, updated_at,
			created_by, payload)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $13, 'fact', 'persistent', 'semantic', 'x', 'x', $8, $9, $10, $11, $12, 1,
		1, 1, now(), 'exponential', '1 day', 0, 0, now(),
			'auto_prune', now(), now(), now(), 'test', jsonb_build_object('kind', $13::text))`,
		r.tenant, id, r.agent, r.project, r.scope, r.visibility, r.group, hash, subject, predicate, r.functional,
		r.conditions, r.kind)
	return id, err
}

func TestLiveHashIsUniqueInDedupScope(t *testing.T) {
	t.Parallel()
	owner := testkit.Owner(t, testkit.DatabaseURL(t))
	base := row{tenant: "t", agent: "a", project: "p", scope: "s", visibility: "private", hash: 1}
	id, err := base.insert(owner)
	require.NoError(t, err)
	_, err = base.insert(owner)
	requireCode(t, err, uniqueViolation)
	for name, change := range map[string]func(*row){
		"tenant": func(r *row) { r.tenant = "t2" }, "agent": func(r *row) { r.agent = "a2" }, "project": func(r *row) {
			r.project = ""
		},
		"scope": func(r *row) { r.scope = "" }, "visibility": func(r *row) { r.visibility = "shared" },
		"content": func(r *row) { r.hash = 2 },
	} {
		other := base
		change(&other)
		_, err := other.insert(owner)
		require.NoError(t, err, "another %s", name)
		_, err = other.insert(owner)
		requireCode(t, err, uniqueViolation, name)
	}
	for _, dead := range []string{`deleted_at = now()`, `archived_at = now()`, `status = 'superseded'`,
		`status = 'retracted'`} {
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
	base := row{tenant: "t", agent: "a", project: "p", visibility: "private", subject: "Alice", predicate: "lives_in",
		functional: true}
	id, err := insert(base)
	require.NoError(t, err)
	same := base
	same.subject = "ALICE"
	_, err = insert(same)
	requireCode(t, err, uniqueViolation, "subjects are compared without case")
	for name, change := range map[string]func(*row){
		"tenant": func(r *row) { r.tenant = "t2" }, "scope": func(r *row) { r.scope = "s" }, "predicate": func(r *row) {
			r.predicate = "works_at"
		},
		"conditions": func(r *row) { r.conditions = "c" }, "subject": func(r *row) { r.subject = "Bob" },
		"private space": func(r *row) { r.agent = "a2" }, "project": func(r *row) { r.project = "p2" },
		"shared space": func(r *row) { r.visibility = "shared" }, "group space": func(r *row) {
			r.visibility, r.group = "group", "g"
		},
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
			_, errs[i] = row{tenant: "t", agent: "a", visibility: "private", hash: byte(i + 1), subject: "Alice",
				predicate: "lives_in", functional: true}.insert(conn)
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
		_, err := owner.Exec(ctx,
			`INSERT INTO entities (tenant, id, canonical_name, name, created_at, updated_at)
				VALUES ($1, $2, 'alice', 'Alice', now(), now())`, tenant, uuid.New())
		return err
	}
	require.NoError(t, entity("t"))
	requireCode(t, entity("t"), uniqueViolation)
	require.NoError(t, entity("t2"))
	mem := uuid.New()
	job := func(state string) error {
		_, err := owner.Exec(ctx,
			`INSERT INTO jobs (tenant, id, kind, state, phase, batch_id, candidate_id, memory_id, workflow_id,
				max_attempts, created_at, updated_at)
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

func TestOutboxTenantsReturnsOnlyNames(t *testing.T) {
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
