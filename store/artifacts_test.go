package store_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mneme/mneme/internal/testkit"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/store/pg"
	"github.com/mneme/mneme/store/pipeline"
)

func TestArtifactsAreAddressedByContent(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	const body = "ld: cache mismatch"
	a, err := w.PutArtifact(ctx, w.p, strings.NewReader(body), "text/plain", "", w.now)
	require.NoError(t, err)
	require.Regexp(t, "^sha256:[0-9a-f]{64}$", a.Address)
	require.Equal(t, pipeline.Artifact{Address: a.Address, MediaType: "text/plain", Size: int64(len(body)),
		CreatedAt: a.CreatedAt}, a)
	again, err := w.PutArtifact(ctx, w.p, strings.NewReader(body), "", a.Address, w.now.Add(time.Hour))
	require.NoError(t, err)
	require.Equal(t, a, again, "stored once")
	require.Equal(t, 1, w.count("artifacts", "true"))
	_, err = w.PutArtifact(ctx, w.p, strings.NewReader("other"), "", a.Address, w.now)
	require.ErrorIs(t, err, pipeline.ErrAddressMismatch)
	var invalid *schema.ValidationError
	_, err = w.PutArtifact(ctx, w.p, strings.NewReader(body), "", strings.ToUpper(a.Address), w.now)
	require.ErrorAs(t, err, &invalid)
	_, _, err = w.GetArtifact(ctx, w.p, "md5:1")
	require.ErrorAs(t, err, &invalid)
	_, err = w.PutArtifact(ctx, w.p, strings.NewReader(strings.Repeat("x", pipeline.MaxArtifactBytes+1)), "", "", w.now)
	require.ErrorIs(t, err, pipeline.ErrArtifactTooLarge)
	// The database enforces this too.
	_, err = w.owner.Exec(ctx,
		`INSERT INTO artifacts (tenant, sha256, media_type, size, content, agent_id, created_at)
			VALUES ('t', sha256('a'), 'x', 1, 'b', 'a', now())`)
	require.ErrorContains(t, err, "check constraint")

	got, data, err := w.GetArtifact(ctx, w.p, a.Address)
	require.NoError(t, err)
	require.Equal(t, a, got)
	require.Equal(t, body, string(data))
	stranger := schema.Principal{Tenant: "t", Agent: "b", Project: "p"}
	for _, p := range []schema.Principal{stranger, {Tenant: "u", Agent: "a"}} {
		_, _, err = w.GetArtifact(ctx, p, a.Address)
		require.ErrorIs(t, err, pg.ErrNotFound)
	}
	// An address alone gives no access to the content.
	naming := episode(t, "", "saw it")
	naming.Payload = json.RawMessage(strings.Replace(string(naming.Payload), "{", `{"artifacts": ["`+a.Address+`"],`,
		1))
	mine := w.p
	w.p = stranger
	require.Equal(t, schema.PutBadRef, w.putAll(naming)[0].Status)
	w.p = mine
	w.p.Project, w.vis = "p", schema.VisibilityShared
	id := w.created(naming)
	_, data, err = w.GetArtifact(ctx, stranger, a.Address) // through the shared episode
	require.NoError(t, err)
	require.Equal(t, body, string(data))
	require.Equal(t, 1, w.count("memory_artifacts", "memory_id = $1", id))
	w.p, w.vis = stranger, schema.VisibilityPrivate
	require.Equal(t, schema.PutCreated, w.putAll(naming)[0].Status)
}

// A user removes what the user stored. The bytes stay while another user holds them, or a memory refers to them.
func TestArtifactsOfAUserAreRemoved(t *testing.T) {
	t.Parallel()
	agent := newWorld(t)
	maya, tom := agent.forUser("maya"), agent.forUser("tom")
	put := func(w *world, text string) string {
		t.Helper()
		a, err := w.PutArtifact(ctx, w.p, strings.NewReader(text), "text/plain", "", w.now)
		require.NoError(t, err)
		return a.Address
	}
	both := put(maya, "a map of the town")
	require.Equal(t, both, put(tom, "a map of the town"))
	own := put(maya, "a picture of maya")
	_, err := tom.RemoveArtifact(ctx, tom.by(), own, tom.now)
	require.ErrorIs(t, err, pg.ErrNotFound)
	removed, err := maya.RemoveArtifactsOf(ctx, maya.by(), maya.now)
	require.NoError(t, err)
	require.Equal(t, pipeline.RemovedArtifacts{Removed: 1, Kept: 1}, removed)
	_, _, err = maya.GetArtifact(ctx, maya.p, both)
	require.ErrorIs(t, err, pg.ErrNotFound)
	_, _, err = agent.GetArtifact(ctx, agent.p, own)
	require.ErrorIs(t, err, pg.ErrNotFound)
	_, data, err := tom.GetArtifact(ctx, tom.p, both)
	require.NoError(t, err)
	require.Equal(t, "a map of the town", string(data))
	removed, err = tom.RemoveArtifact(ctx, tom.by(), both, tom.now)
	require.NoError(t, err)
	require.Equal(t, pipeline.RemovedArtifacts{Removed: 1}, removed)
	require.Zero(t, agent.count("artifacts", "true"))
}

// An agent removes an artifact for all of its users, however many have stored it.
func TestAnArtifactOfManyUsersIsRemovedOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	a, err := w.PutArtifact(ctx, w.p, strings.NewReader("a map of the town"), "text/plain", "", w.now)
	require.NoError(t, err)
	w.exec(`INSERT INTO artifact_holders (tenant, sha256, agent_id, scope)
		SELECT tenant, sha256, agent_id, 'user/u' || n FROM artifact_holders, generate_series(1, 250) n`)
	removed, err := w.RemoveArtifact(ctx, w.by(), a.Address, w.now)
	require.NoError(t, err)
	require.Equal(t, pipeline.RemovedArtifacts{Removed: 1}, removed)
	require.Zero(t, w.count("artifact_holders", "true"))
}

// An artifact that a user stores while another user removes the same bytes is not lost.
func TestAnArtifactIsStoredDuringARemoval(t *testing.T) {
	t.Parallel()
	agent := newWorld(t)
	maya, tom := agent.forUser("maya"), agent.forUser("tom")
	const body = "a map of the town"
	put := func(w *world) error {
		_, err := w.PutArtifact(ctx, w.p, strings.NewReader(body), "text/plain", "", w.now)
		return err
	}
	require.NoError(t, put(maya))
	// Tom's transaction waits after it has inserted its holder.
	const lock = `hashtextextended('test/' || current_schema(), 0)`
	agent.exec(`CREATE FUNCTION test_wait() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
		PERFORM pg_advisory_xact_lock(` + lock + `); RETURN NULL; END $$`)
	agent.exec(`CREATE TRIGGER zzz_wait AFTER INSERT ON artifact_holders FOR EACH ROW EXECUTE FUNCTION test_wait()`)
	agent.exec(`SELECT pg_advisory_lock(` + lock + `)`)
	stored, removed := make(chan error, 1), make(chan error, 1)
	go func() { stored <- put(tom) }()
	agent.awaitWaiter()
	go func() {
		_, err := maya.RemoveArtifactsOf(ctx, maya.by(), maya.now)
		removed <- err
	}()
	watch := testkit.Owner(t, agent.url)
	waiting, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	require.NoError(t, testkit.Eventually(waiting, func() error {
		var waits bool
		err := watch.QueryRow(waiting, `
			SELECT EXISTS (
				SELECT FROM pg_stat_activity tom JOIN pg_stat_activity maya ON tom.pid = ANY(pg_blocking_pids(maya.pid))
				WHERE $1 = ANY(pg_blocking_pids(tom.pid)))`, int32(agent.owner.PgConn().PID())).Scan(&waits)
		if err == nil && !waits {
			err = errors.New("the removal does not wait")
		}
		return err
	}))
	agent.exec(`SELECT pg_advisory_unlock(` + lock + `)`)
	require.NoError(t, <-stored)
	require.NoError(t, <-removed)
	require.Equal(t, []string{schema.UserScope("tom")}, testkit.Strings(t, watch, `SELECT scope FROM artifact_holders`))
	require.Equal(t, 1, agent.count("artifacts", "true"))
}
