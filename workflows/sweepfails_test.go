package workflows_test

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/testsuite"

	"github.com/mneme/mneme/activities"
	"github.com/mneme/mneme/api"
	"github.com/mneme/mneme/internal/testkit"
	"github.com/mneme/mneme/internal/testkit/harness"
)

// attempts runs a sweep attempt by attempt, as Temporal does, and keeps the heartbeats.
type attempts struct {
	owner   *pgx.Conn
	tenants []string // in order, with two faded memories each
	a       *activities.Sweeping
	purges  bool // a purge rather than a decay sweep
	request activities.SweepRequest
	// crashes is set if a failed attempt crashes the worker. Then only its first heartbeat arrives, because Temporal's
	// SDK holds the later ones back for 16 seconds.
	crashes bool

	mu   sync.Mutex
	last *api.SweepResult // heartbeat
}

func newAttempts(t *testing.T, tenants int) *attempts {
	t.Helper()
	h := harness.New(t, nil)
	x := &attempts{owner: testkit.Owner(t, h.DatabaseURL),
		a:       &activities.Sweeping{Store: h.Store, Now: time.Now},
		request: activities.SweepRequest{Run: "run", At: time.Now(), MaxBatches: 400}}
	for range tenants {
		p := testkit.Principal()
		faded(t, h, p, 2)
		x.tenants = append(x.tenants, p.Tenant)
	}
	slices.SortFunc(x.tenants, strings.Compare)
	return x
}

// attempt runs one attempt with a. It continues from the last heartbeat.
func (x *attempts) attempt(a *activities.Sweeping) (out api.SweepResult, err error) {
	var suite testsuite.WorkflowTestSuite
	env := suite.NewTestActivityEnvironment()
	env.RegisterActivity(a)
	x.mu.Lock()
	if x.last != nil {
		env.SetHeartbeatDetails(*x.last)
	}
	x.mu.Unlock()
	arrived := false
	env.SetOnActivityHeartbeatListener(func(_ *activity.Info, details converter.EncodedValues) {
		var at api.SweepResult
		x.mu.Lock()
		defer x.mu.Unlock()
		if (!arrived || !x.crashes) && details.Get(&at) == nil {
			arrived, x.last = true, &at
		}
	})
	step := a.SweepDecay
	if x.purges {
		step = a.PurgeExpired
	}
	value, err := env.ExecuteActivity(step, x.request)
	if err == nil {
		err = value.Get(&out)
	}
	return out, err
}

// run runs attempts until the sweep is done, and returns its result and the number of failed attempts. It calls failed
// after each of these.
func (x *attempts) run(t *testing.T, failed func()) (out api.SweepResult, failures int) {
	t.Helper()
	for !out.Done {
		require.Less(t, failures, 20, "the run ends")
		part, err := x.attempt(x.a)
		if err == nil {
			out, x.last = out.Add(part), nil
			x.request.Cursor = out.Cursor
			continue
		}
		failures++
		// Until the ended connection has released its rows, another attempt would skip them.
		_, err = x.owner.Exec(context.Background(), `BEGIN; LOCK TABLE memories IN SHARE MODE; COMMIT`)
		require.NoError(t, err)
		if failed != nil {
			failed()
		}
	}
	return out, failures
}

// onUpdate runs a statement of PL/pgSQL whenever a memory of the tenant is updated.
func (x *attempts) onUpdate(t *testing.T, tenant, statement string) {
	t.Helper()
	_, err := x.owner.Exec(context.Background(),
		`CREATE FUNCTION on_update() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$ BEGIN
			`+statement+`; RETURN NEW; END $$;
		CREATE TRIGGER aaa_on_update BEFORE UPDATE ON memories FOR EACH ROW WHEN (OLD.tenant = '`+tenant+
			`') EXECUTE FUNCTION on_update()`)
	require.NoError(t, err)
}

// live returns the tenants with live memories.
func (x *attempts) live(t *testing.T) []string {
	t.Helper()
	return testkit.Strings(t, x.owner, `SELECT DISTINCT tenant FROM memories WHERE live`)
}

const cutConnection = `PERFORM pg_terminate_backend(pg_backend_pid())`

// A tenant whose statements end the connection, so that each attempt of the activity fails, does not prevent the
// others. An outage is no failure of a tenant, however long it lasts.
func TestSweepPassesByATenantThatEndsEveryAttempt(t *testing.T) {
	t.Parallel()
	x := newAttempts(t, 3)
	x.onUpdate(t, x.tenants[1], cutConnection)
	away := testkit.OpenStore(t, testkit.DatabaseURL(t))
	away.Close()
	out, failures := x.run(t, func() {
		for range 10 {
			_, err := x.attempt(&activities.Sweeping{Store: away, Now: time.Now})
			require.Error(t, err)
		}
	})
	require.Equal(t, 6, failures, "the first attempt swept another tenant, and five got no further")
	require.Equal(t, []string{x.tenants[1]}, out.Failed)
	require.Equal(t, []int{3, 4, 1}, []int{out.Tenants, out.Counts["pruned"], out.Counts["failed"]})
	require.Equal(t, []string{x.tenants[1]}, x.live(t))
}

// A tenant that crashes the worker crashes it six times, however many tenants come before it.
func TestSweepFindsTheTenantThatCrashesTheWorker(t *testing.T) {
	t.Parallel()
	x := newAttempts(t, 8)
	_, err := x.owner.Exec(context.Background(),
		`UPDATE memories SET deleted_at = now() - interval '40 days'; UPDATE corpus_stats SET docs = 0`)
	require.NoError(t, err)
	x.purges, x.crashes = true, true // a purge visits tenants that it has visited before
	x.onUpdate(t, x.tenants[6], cutConnection)
	out, failures := x.run(t, nil)
	require.Equal(t, 6, failures, "one to find it, and five that got no further")
	require.Equal(t, []string{x.tenants[6]}, out.Failed)
	require.Equal(t, []string{x.tenants[6]}, testkit.Strings(t, x.owner, `SELECT DISTINCT tenant FROM memories`))
	require.Zero(t, out.Cursor.Careful, "the others are swept as fast as before")
}

// A disk that is full, or a server without memory or connections, is no failure of a tenant, however long it lasts.
func TestSweepWaitsForResourcesOfTheServer(t *testing.T) {
	t.Parallel()
	for _, code := range []string{"53100", "53200", "53300"} {
		x := newAttempts(t, 2)
		x.onUpdate(t, x.tenants[0], `RAISE EXCEPTION 'full' USING ERRCODE = '`+code+`'`)
		full := 0
		out, failures := x.run(t, func() {
			if full++; full == 8 {
				_, err := x.owner.Exec(context.Background(), `DROP TRIGGER aaa_on_update ON memories`)
				require.NoError(t, err)
			}
		})
		require.Equal(t, 8, failures)
		require.Empty(t, out.Failed)
		require.Equal(t, 4, out.Counts["pruned"])
	}
}

// A tenant whose own statement always needs more disk or memory than there is holds up no other tenant for good.
func TestSweepPassesByATenantThatExhaustsTheServer(t *testing.T) {
	t.Parallel()
	for _, code := range []string{"53100", "53200"} {
		x := newAttempts(t, 2)
		x.onUpdate(t, x.tenants[0], `RAISE EXCEPTION 'full' USING ERRCODE = '`+code+`'`)
		out, failures := x.run(t, nil)
		require.Equal(t, 19, failures, "a run has more attempts: flow.InfrastructureAttempts")
		require.Equal(t, []string{x.tenants[0]}, out.Failed)
		require.Equal(t, []string{x.tenants[0]}, x.live(t))
	}
	x := newAttempts(t, 2)
	x.onUpdate(t, x.tenants[0], `RAISE EXCEPTION 'no connection is left' USING ERRCODE = '53300'`)
	for range 30 {
		_, err := x.attempt(x.a)
		require.Error(t, err, "other clients use the connections")
	}
}

// A batch that needs too much disk or memory is repeated with fewer rows.
func TestSweepWithTooLittleMemoryForABatch(t *testing.T) {
	t.Parallel()
	x := newAttempts(t, 2)
	_, err := x.owner.Exec(context.Background(),
		`CREATE FUNCTION too_many() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$ BEGIN
			IF (SELECT count(*) FROM changed) > 1 THEN RAISE EXCEPTION 'full' USING ERRCODE = '53200'; END IF;
			RETURN NULL; END $$;
		CREATE TRIGGER zzz_too_many AFTER UPDATE ON memories REFERENCING NEW TABLE AS changed FOR EACH STATEMENT
			EXECUTE FUNCTION too_many()`)
	require.NoError(t, err)
	out, failures := x.run(t, nil)
	require.Equal(t, []int{0, 4}, []int{failures, out.Counts["pruned"]})
}
