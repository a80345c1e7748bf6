package cli

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"

	"github.com/mneme/mneme/internal/cli/app"
	"github.com/mneme/mneme/internal/config"
	"github.com/mneme/mneme/internal/doctor"
	"github.com/mneme/mneme/internal/testkit"
	"github.com/mneme/mneme/internal/testkit/harness"
	"github.com/mneme/mneme/store/admin"
)

// stuck is a Temporal client that answers a number of queries about runs and then blocks.
type stuck struct {
	client.Client
	after int
}

func (s *stuck) DescribeWorkflowExecution(ctx context.Context, id,
	run string) (*workflowservice.DescribeWorkflowExecutionResponse, error) {
	if s.after--; s.after < 0 {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	return s.Client.DescribeWorkflowExecution(ctx, id, run)
}

// A missing service fails only the checks that need it, and the exit code reports it.
func TestDoctorContinuesAfterFailures(t *testing.T) {
	t.Parallel()
	c := &cli{t: t, cfg: config.Config{TemporalEnv: noTemporal(), DatabaseURL: "postgres://127.0.0.1:1/x",
		Namespace: harness.Namespace, TaskQueue: "none", Brain: "rules", Embedder: "hash"}}
	var d doctor.Diagnosis
	o := c.run("doctor", "--json", "--timeout", "1s").is(app.ExitUnavailable)
	o.json(&d)
	require.Equal(t, map[string]doctor.CheckStatus{"postgres": doctor.CheckFail, "temporal": doctor.CheckFail},
		complaints(d))
	require.Equal(t, len(doctor.DoctorChecks())-5, d.Counts[doctor.CheckSkipped])
	require.Contains(t, o.err, "2 of ")
	require.Equal(t, "name", c.run("schedules", "pause", "dream", "--json", "--reason",
		"x").is(app.ExitUsage).problem().Fields[0].Field)
}

// The triggers that the doctor checks are those of the migrations.
func TestDoctorKnowsEveryGuard(t *testing.T) {
	t.Parallel()
	url := testkit.DatabaseURL(t)
	db := testkit.Owner(t, url)
	in, err := admin.Inspect(t.Context(), url)
	require.NoError(t, err)
	defer in.Close(context.Background())
	absent, err := in.AbsentGuards(t.Context())
	require.NoError(t, err)
	require.Empty(t, absent)
	_, err = db.Exec(t.Context(), `DO $$ DECLARE r record; BEGIN
		FOR r IN SELECT c.relname, t.tgname FROM pg_trigger t JOIN pg_class c ON c.oid = t.tgrelid WHERE c.relnamespace = current_schema()::regnamespace AND NOT t.tgisinternal AND t.tgparentid = 0 LOOP
			EXECUTE format('DROP TRIGGER %I ON %I', r.tgname, r.relname);
		END LOOP; END $$`)
	require.NoError(t, err)
	absent, err = in.AbsentGuards(t.Context())
	require.NoError(t, err)
	fresh := testkit.Owner(t, testkit.DatabaseURL(t))
	require.Equal(t, testkit.Strings(t, fresh,
		`SELECT t.tgname::text FROM pg_trigger t JOIN pg_class c ON c.oid = t.tgrelid
		WHERE c.relnamespace = current_schema()::regnamespace AND NOT t.tgisinternal AND t.tgparentid = 0 ORDER BY 1`),
		absent)
}

func TestDoctorJudges(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		open, most int
		as         doctor.CheckStatus
	}{{10, 100, doctor.CheckOK}, {80, 100, doctor.CheckWarn}, {95, 100, doctor.CheckFail}, {1, 0, doctor.CheckFail}} {
		require.Equal(t, test.as, doctor.JudgeConnections(admin.Connections{Open: test.open, Most: test.most}).Status,
			"%+v", test)
	}
	for code, found := range map[string]string{"53300": "no more connections", "53200": "lacks resources",
		"57P03": "not ready yet", "28P01": "it refuses"} {
		v := doctor.JudgeRefusal(code, "as configured")
		require.Contains(t, v.Found, found)
		require.Equal(t, code == "28P01", strings.Contains(v.Do, "DATABASE_URL"), code)
	}
	for version, old := range map[string]bool{"0.8.0": false, "0.8.1": false, "0.10": false, "1": false, "0.7.9": true,
		"0.8": false, "": true} {
		require.Equal(t, old, doctor.OlderThan(version, "0.8.0"), version)
	}
	with := func(key string) converter.DataConverter {
		options := client.Options{DataConverter: converter.GetDefaultDataConverter()}
		require.NoError(t, config.Encrypt(&options, []byte(key)))
		return options.DataConverter
	}
	one, other, none := with(strings.Repeat("1", 32)), with(strings.Repeat("2", 32)), with("")
	for _, test := range []struct {
		worker, here converter.DataConverter
		as           doctor.CheckStatus
	}{{none, none, doctor.CheckOK}, {one, one, doctor.CheckOK}, {one, none, doctor.CheckFail},
		{one, other, doctor.CheckFail}, {none, one, doctor.CheckWarn}} {
		payload, err := test.worker.ToPayload(map[string]int{"n": 1})
		require.NoError(t, err)
		require.Equal(t, test.as, doctor.JudgePayload(test.here, test.here != none, payload).Status)
	}
}

// The `mneme nexus apply` of the README on a private server must not be reported forever.
func TestJudgeCallers(t *testing.T) {
	t.Parallel()
	require.Equal(t, doctor.CheckOK, doctor.JudgeCallers(nil, false, "shop").Status)
	require.Equal(t, doctor.CheckOK, doctor.JudgeCallers([]string{"mneme"}, false, "").Status)
	require.Equal(t, doctor.CheckOK, doctor.JudgeCallers([]string{"mneme"}, true, "shop").Status)
	v := doctor.JudgeCallers([]string{"mneme"}, false, "shop")
	require.Equal(t, doctor.CheckWarn, v.Status)
	require.Contains(t, v.Found, "shop")
	require.Contains(t, v.Do, "MNEME_NEXUS_CALLERS")
}
