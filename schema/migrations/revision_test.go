package migrations_test

import (
	"crypto/sha256"
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/mneme/mneme/internal/testkit"
)

// hashes is a counter for distinct content hashes.
var hashes atomic.Int64

// remembered inserts a memory without the store, and returns its id.
func remembered(t *testing.T, conn *pgx.Conn, kind, payload string) uuid.UUID {
	t.Helper()
	id, err := row{tenant: "t", agent: "a", visibility: "private", kind: kind, hash: byte(hashes.Add(1))}.insert(conn)
	require.NoError(t, err)
	if payload != "" {
		_, err = conn.Exec(ctx, `UPDATE memories SET payload = $2 WHERE id = $1`, id, payload)
		require.NoError(t, err)
	}
	return id
}

const episodePayload = `{"kind": "episodic", "timeline": [{"t": 1}, {"t": 2}], "artifacts": ["x", "y"], "tool_graph": [{"id": "a"}], "outcome": "success", "tool_graph_ref": "r"}`

func TestEpisodeOnlyGrows(t *testing.T) {
	t.Parallel()
	url := testkit.DatabaseURL(t)
	owner, conn := testkit.Owner(t, url), app(t, url)
	bind(t, conn, "t")
	id := remembered(t, conn, "episodic", episodePayload)
	for name, set := range map[string]string{
		"an event edited":            `payload = jsonb_set(payload, '{timeline,0,t}', '9')`,
		"an event removed":           `payload = payload #- '{timeline,1}'`,
		"an event in front":          `payload = jsonb_insert(payload, '{timeline,0}', '{"t": 0}')`,
		"events reordered":           `payload = jsonb_set(payload, '{timeline}', '[{"t": 2}, {"t": 1}]')`,
		"the timeline gone":          `payload = payload - 'timeline'`,
		"the timeline null":          `payload = jsonb_set(payload, '{timeline}', 'null')`,
		"the timeline another thing": `payload = jsonb_set(payload, '{timeline}', '{"0": {"t": 1}}')`,
		"an artifact replaced":       `payload = jsonb_set(payload, '{artifacts,1}', '"z"')`,
		"the artifacts gone":         `payload = payload - 'artifacts'`,
		"a call edited":              `payload = jsonb_set(payload, '{tool_graph,0,id}', '"b"')`,
		"the calls gone":             `payload = payload - 'tool_graph'`,
		"the outcome changed":        `payload = jsonb_set(payload, '{outcome}', '"failure"')`,
		"the outcome gone":           `payload = payload - 'outcome'`,
		"the payload empty":          `payload = '{}'`,
		"the content":                `content = 'y'`,
		"the type":                   `type = 'semantic', payload = '{"kind": "semantic"}'`,
	} {
		for who, c := range map[string]*pgx.Conn{"owner": owner, "application": conn} {
			_, err := c.Exec(ctx, `UPDATE memories SET `+set+` WHERE id = $1`, id)
			requireCode(t, err, restrictViolation, "%s, by the %s", name, who)
		}
	}
	for name, set := range map[string]string{
		"nothing":           `payload = payload, content = content`,
		"an event more":     `payload = jsonb_insert(payload, '{timeline,-1}', '{"t": 3}', true)`,
		"an artifact more":  `payload = jsonb_insert(payload, '{artifacts,-1}', '"z"', true)`,
		"a call more":       `payload = jsonb_insert(payload, '{tool_graph,-1}', '{"id": "b"}', true)`,
		"what was not said": `payload = payload || '{"environment": {"os": "linux"}}'`,
		"its worth":         `salience = 0.5, pinned = true, tags = '{x}'`,
	} {
		_, err := conn.Exec(ctx, `UPDATE memories SET `+set+` WHERE id = $1`, id)
		require.NoError(t, err, name)
	}
	_, err := conn.Exec(ctx,
		`UPDATE memories SET payload = '{}', content = '', deleted_at = now(), erased_at = now() WHERE id = $1`, id)
	require.NoError(t, err, "erasure")
	other := remembered(t, conn, "working", `{"kind": "working", "timeline": [1]}`)
	_, err = conn.Exec(ctx, `UPDATE memories SET payload = '{"kind": "working"}', content = 'y' WHERE id = $1`, other)
	require.NoError(t, err, "working memory is freely edited")
}

func TestErasedMemoryStaysErased(t *testing.T) {
	t.Parallel()
	url := testkit.DatabaseURL(t)
	owner, conn := testkit.Owner(t, url), app(t, url)
	bind(t, conn, "t")
	id := remembered(t, conn, "semantic", "")
	_, err := conn.Exec(ctx, `UPDATE memories SET payload = '{}', content = '', erased_at = now() WHERE id = $1`, id)
	requireCode(t, err, checkViolation, "what is erased is deleted")
	_, err = conn.Exec(ctx,
		`UPDATE memories SET payload = '{}', content = '', deleted_at = now(), erased_at = now() WHERE id = $1`, id)
	require.NoError(t, err)
	for _, set := range []string{`content = 'x'`, `erased_at = NULL`, `deleted_at = NULL, erased_at = NULL`,
		`salience = 0`} {
		for _, c := range []*pgx.Conn{owner, conn} {
			_, err = c.Exec(ctx, `UPDATE memories SET `+set+` WHERE id = $1`, id)
			requireCode(t, err, restrictViolation, set)
		}
	}
}

func TestPayloadMatchesTypeOfRow(t *testing.T) {
	t.Parallel()
	owner := testkit.Owner(t, testkit.DatabaseURL(t))
	id := remembered(t, owner, "semantic", "")
	for _, payload := range []string{`{}`, `{"kind": null}`, `{"kind": "episodic"}`, `[]`, `"semantic"`, `null`} {
		_, err := owner.Exec(ctx, `UPDATE memories SET payload = $2 WHERE id = $1`, id, payload)
		requireCode(t, err, checkViolation, payload)
	}
	_, err := owner.Exec(ctx, `UPDATE memories SET type = 'working' WHERE id = $1`, id)
	requireCode(t, err, checkViolation)
}

func TestEveryReplacedVersionIsKept(t *testing.T) {
	t.Parallel()
	url := testkit.DatabaseURL(t)
	owner, conn := testkit.Owner(t, url), app(t, url)
	bind(t, conn, "t")
	var ids []uuid.UUID
	for range 3 {
		ids = append(ids, remembered(t, conn, "semantic", ""))
	}
	kept := func() int {
		var n int
		require.NoError(t, conn.QueryRow(ctx, `SELECT count(*) FROM memory_versions`).Scan(&n))
		return n
	}
	_, err := conn.Exec(ctx, `UPDATE memories SET salience = 0.5, content = 'y', updated_at = now()`)
	require.NoError(t, err)
	require.Zero(t, kept(), "the version is the same")

	_, err = conn.Exec(ctx,
		`UPDATE memories SET version = version + 1, content = 'z', updated_at = updated_at + interval '1 minute'
			WHERE id = ANY($1)`, ids[:2])
	require.NoError(t, err)
	require.Equal(t, 2, kept(), "one a row of one statement")
	_, err = conn.Exec(ctx,
		`UPDATE memories SET version = version + 1, updated_at = updated_at + interval '1 minute' WHERE id = $1`,
		ids[0])
	require.NoError(t, err)
	rows, err := conn.Query(ctx,
		`SELECT v.version, v.record->>'content', (v.record->>'salience')::float8,
			v.until - v.since = interval '1 minute', v.record ? 'tsv'
		FROM memory_versions v WHERE v.memory_id = $1 ORDER BY v.version`, ids[0])
	require.NoError(t, err)
	type version struct {
		Version  int
		Content  string
		Salience float64
		Minute   bool
		Derived  bool
	}
	got, err := pgx.CollectRows(rows, pgx.RowToStructByPos[version])
	require.NoError(t, err)
	require.Len(t, got, 2)
	require.Equal(t, version{Version: 2, Content: "z", Salience: 0.5, Minute: true}, got[1])
	require.Equal(t, "y", got[0].Content)

	before := kept()
	_, err = conn.Exec(ctx,
		`UPDATE memories SET version = version + 1, payload = '{}', content = '', deleted_at = now(), erased_at = now()
			WHERE id = $1`, ids[2])
	require.NoError(t, err)
	require.Equal(t, before, kept(), "erasing keeps nothing of what it removes")
	_, err = conn.Exec(ctx, `UPDATE memory_versions SET record = '{}'`)
	requireCode(t, err, insufficientPrivilege, "kept versions are not rewritten")
	bind(t, conn, "t2")
	require.Zero(t, kept())
	_, err = owner.Exec(ctx, `DELETE FROM memories WHERE id = $1`, ids[0])
	require.NoError(t, err)
	bind(t, conn, "t")
	require.Equal(t, before-2, kept(), "what is really deleted takes its versions along")
}

func TestHistoryAllowsOnlyErasure(t *testing.T) {
	t.Parallel()
	url := testkit.DatabaseURL(t)
	owner, conn := testkit.Owner(t, url), app(t, url)
	mine, theirs := uuid.New(), uuid.New()
	for tenant, id := range map[string]uuid.UUID{"t": mine, "t2": theirs} {
		_, err := owner.Exec(ctx,
			`INSERT INTO memory_history (tenant, id, memory_id, event, old_content, new_content, changed_by, reason,
				metadata, created_at, action, version)
			VALUES ($1, $2, $3, 'modified', 'old', 'new', 'me', 'why', '{"fact": "new", "batch_id": "b"}', now(),
				'modify', 2)`, tenant, uuid.New(), id)
		require.NoError(t, err)
	}
	bind(t, conn, "t")
	const erase = `UPDATE memory_history
		SET old_content = NULL, new_content = NULL, reason = '[erased]', erased_at = now()`
	_, err := conn.Exec(ctx, erase)
	requireCode(t, err, insufficientPrivilege, "the application erases through the function alone")
	for _, set := range []string{
		`new_content = 'forged'`, `new_content = NULL`, `reason = 'forged'`, `erased_at = now()`,
		`old_content = NULL, new_content = NULL`,
	} {
		_, err := owner.Exec(ctx, `UPDATE memory_history SET `+set)
		requireCode(t, err, restrictViolation, set)
	}
	for _, set := range []string{`changed_by = 'another'`, `created_at = now() + interval '1 day'`, `event = 'created'`,
		`action = 'create'`, `version = 7`, `memory_id = gen_random_uuid()`, `tenant = 't3'`} {
		_, err := owner.Exec(ctx, erase+`, `+set)
		requireCode(t, err, restrictViolation, "erasing does not change who, when and what kind: %s", set)
	}
	_, err = owner.Exec(ctx, `DELETE FROM memory_history`)
	requireCode(t, err, restrictViolation)

	_, err = conn.Exec(ctx, `SELECT mneme_erase_history($1, now())`, []uuid.UUID{theirs})
	require.NoError(t, err)
	var n int
	require.NoError(t, owner.QueryRow(ctx, `SELECT count(*) FROM memory_history WHERE erased_at IS NOT NULL`).Scan(&n))
	require.Zero(t, n, "another tenant's history is out of reach")
	require.NoError(t, conn.QueryRow(ctx, `SELECT mneme_erase_history($1, now())`, []uuid.UUID{mine, theirs}).Scan(&n))
	require.Equal(t, 1, n)
	var old, new *string
	var by, reason, action, metadata string
	var version int
	require.NoError(t, owner.QueryRow(ctx,
		`SELECT old_content, new_content, changed_by, reason, action, version, metadata::text FROM memory_history
			WHERE memory_id = $1`, mine).
		Scan(&old, &new, &by, &reason, &action, &version, &metadata))
	require.Nil(t, old)
	require.Nil(t, new)
	require.Equal(t, []any{"me", "[erased]", "modify", 2}, []any{by, reason, action, version},
		"who, what kind and which version stay")
	require.JSONEq(t, `{"batch_id": "b"}`, metadata)
	require.NoError(t, conn.QueryRow(ctx, `SELECT mneme_erase_history($1, now())`, []uuid.UUID{mine}).Scan(&n))
	require.Zero(t, n, "a second time there is nothing left")
	require.NoError(t, owner.QueryRow(ctx,
		`SELECT count(*) FROM memory_history WHERE memory_id = $1 AND new_content = 'new'`, theirs).Scan(&n))
	require.Equal(t, 1, n)
}

func TestArtifactMatchesItsAddress(t *testing.T) {
	t.Parallel()
	url := testkit.DatabaseURL(t)
	owner, conn := testkit.Owner(t, url), app(t, url)
	bind(t, conn, "t")
	put := func(content string, sum [32]byte, size int) error {
		_, err := conn.Exec(ctx,
			`INSERT INTO artifacts (tenant, sha256, media_type, size, content, agent_id, created_at)
				VALUES ('t', $1, 'text/plain', $2, $3, 'a', now())`,
			sum[:], size, []byte(content))
		return err
	}
	requireCode(t, put("bytes", sha256.Sum256([]byte("others")), 5), checkViolation,
		"the bytes are not those of the address")
	requireCode(t, put("bytes", sha256.Sum256([]byte("bytes")), 6), checkViolation, "the size is not theirs")
	require.NoError(t, put("bytes", sha256.Sum256([]byte("bytes")), 5))
	requireCode(t, put("bytes", sha256.Sum256([]byte("bytes")), 5), uniqueViolation, "stored once")
	_, err := conn.Exec(ctx, `UPDATE artifacts SET content = 'x'`)
	requireCode(t, err, insufficientPrivilege)
	_, err = owner.Exec(ctx, `UPDATE artifacts SET content = 'x'`)
	requireCode(t, err, checkViolation)
}

func TestRelationsHaveNamesAndTwoEnds(t *testing.T) {
	t.Parallel()
	owner := testkit.Owner(t, testkit.DatabaseURL(t))
	a, b := remembered(t, owner, "semantic", ""), remembered(t, owner, "semantic", "")
	relate := func(predicate string, to uuid.UUID) error {
		_, err := owner.Exec(ctx,
			`INSERT INTO memory_links (tenant, source_id, predicate, target_id, weight, created_at)
				VALUES ('t', $1, $2, $3, 1, now())`, a, predicate, to)
		return err
	}
	for _, predicate := range []string{"", "Supports", "two words", "1st", "a-b", "supports ",
		fmt.Sprintf("a%064d", 0)} {
		requireCode(t, relate(predicate, b), checkViolation, "%q", predicate)
	}
	for _, predicate := range []string{"derived_from", "supersedes", "contradicts", "supports", "blocks_2"} {
		require.NoError(t, relate(predicate, b))
	}
	requireCode(t, relate("supports", a), checkViolation, "to itself")
	for _, column := range []string{"supersedes", "superseded_by"} {
		_, err := owner.Exec(ctx, `UPDATE memories SET `+column+` = id WHERE id = $1`, a)
		requireCode(t, err, checkViolation, column)
	}
}

// mneme_applies gives the results that the RFC's example needs (document 004 §7).
func TestConditionsApply(t *testing.T) {
	t.Parallel()
	owner := testkit.Owner(t, testkit.DatabaseURL(t))
	for _, c := range []struct {
		conditions, context any
		want                bool
	}{
		{nil, `{"a": 1}`, true},
		{`{"a": 1}`, nil, true},
		{`{"a": 1}`, `{}`, true},
		{`{"a": 1}`, `{"a": 1, "b": 2}`, true},
		{`{"a": 1}`, `{"a": 2}`, false},
		{`{"a": [1, 2]}`, `{"a": 2}`, true},
		{`{"a": [1, 2]}`, `{"a": 3}`, false},
		{`{"a": 1, "b": 2}`, `{"a": 1, "b": 3}`, false},
		{`{"a": null}`, `{"a": 1}`, false},
	} {
		var got bool
		require.NoError(t, owner.QueryRow(ctx, `SELECT mneme_applies($1::jsonb, $2::jsonb)`, c.conditions,
			c.context).Scan(&got))
		require.Equal(t, c.want, got, "%v in %v", c.conditions, c.context)
	}
}

// A function with the owner's rights must not read a caller's temporary table of the same name as its own.
func TestTemporaryTablesDoNotReplaceTables(t *testing.T) {
	t.Parallel()
	url := testkit.DatabaseURL(t)
	owner, conn := testkit.Owner(t, url), app(t, url)
	_, err := owner.Exec(ctx,
		`INSERT INTO index_outbox (tenant, memory_id, version, op, created_at)
			VALUES ('t', gen_random_uuid(), 1, 'delete', now())`)
	require.NoError(t, err)
	_, err = conn.Exec(ctx,
		`CREATE TEMPORARY TABLE index_outbox (tenant text); INSERT INTO index_outbox VALUES ('forged'); GRANT
			SELECT ON index_outbox TO PUBLIC`)
	require.NoError(t, err)
	rows, err := conn.Query(ctx, `SELECT mneme_outbox_tenants()`)
	require.NoError(t, err)
	tenants, err := pgx.CollectRows(rows, pgx.RowTo[string])
	require.NoError(t, err)
	require.Equal(t, []string{"t"}, tenants)
}

func TestErasedHistoryOnlyShrinks(t *testing.T) {
	t.Parallel()
	url := testkit.DatabaseURL(t)
	owner, conn := testkit.Owner(t, url), app(t, url)
	bind(t, conn, "t")
	id := remembered(t, conn, "semantic", "")
	_, err := owner.Exec(ctx,
		`INSERT INTO memory_history (tenant, id, memory_id, event, new_content, changed_by, reason, metadata,
			created_at, action, version)
		VALUES ('t', gen_random_uuid(), $1, 'created', 'new', 'me', 'why', '{"fact": "new", "batch_id": "b", "x": 1}',
			now(), 'create', 1)`, id)
	require.NoError(t, err)
	erase := func() (n int) {
		require.NoError(t, conn.QueryRow(ctx, `SELECT mneme_erase_history($1, now())`, []uuid.UUID{id}).Scan(&n))
		return n
	}
	require.Zero(t, erase(), "the memory stands")
	var repeated int
	require.NoError(t, conn.QueryRow(ctx, `SELECT mneme_erase_repeated($1, now())`, []uuid.UUID{id}).Scan(&repeated))
	require.Zero(t, repeated, "it was not learned")
	for _, set := range []string{`reason = 'forged'`, `reason = '[erased]', metadata = '{"forged": 1}'`} {
		_, err = owner.Exec(ctx,
			`UPDATE memory_history SET old_content = NULL, new_content = NULL, erased_at = now(), `+set)
		requireCode(t, err, restrictViolation, set)
	}
	_, err = conn.Exec(ctx,
		`UPDATE memories SET payload = '{}', content = '', deleted_at = now(), erased_at = now() WHERE id = $1`, id)
	require.NoError(t, err)
	require.Equal(t, 1, erase())
	for _, set := range []string{`erased_at = erased_at + interval '1 day'`, `erased_at = NULL`, `reason = 'forged'`,
		`reason = ''`, `metadata = metadata || '{"forged": 1}'`, `new_content = 'forged'`} {
		_, err = owner.Exec(ctx, `UPDATE memory_history SET `+set)
		requireCode(t, err, restrictViolation, set)
	}
	_, err = owner.Exec(ctx, `UPDATE memory_history SET metadata = metadata - 'x'`)
	require.NoError(t, err)
}

func TestSecretsAreKept(t *testing.T) {
	t.Parallel()
	conn := app(t, testkit.DatabaseURL(t))
	bind(t, conn, "t")
	_, err := conn.Exec(ctx, `INSERT INTO tenant_secrets VALUES ('t', 'forget', sha256('x'), now())`)
	require.NoError(t, err)
	for _, sql := range []string{`DELETE FROM tenant_secrets`, `UPDATE tenant_secrets SET secret = sha256('y')`} {
		_, err = conn.Exec(ctx, sql)
		requireCode(t, err, insufficientPrivilege, sql)
	}
}
