package cli

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mneme/mneme/internal/cli/app"
	"github.com/mneme/mneme/internal/config"
	"github.com/mneme/mneme/internal/testkit"
)

// An error of the command line says what would be right, or where that is described.
func TestMistakesNameTheWayOut(t *testing.T) {
	t.Parallel()
	c := &cli{t: t, cfg: config.Config{Principal: testkit.Principal()}}
	for _, tt := range []struct{ line, want string }{
		{"get", "an argument is missing; usage: mneme get ID [flags]"},
		{"get a b", "wrong number of arguments (2); usage: mneme get ID [flags]"},
		{"version extra", "wrong number of arguments (1); usage: mneme version [flags]"},
		{"remember", "an argument is missing; usage: mneme remember TEXT|- [flags]"},
		{"list --nonsense", "unknown flag: --nonsense; see `mneme list --help`"},
		{"advise x --context foo", "context: must be key=value pairs separated by commas"},
		{"events tail nosuch", "stream: must be world/NAME, run/NAME or conversation/NAME"},
		{"events replay nosuch", "stream: must be world/NAME, run/NAME or conversation/NAME"},
		{"nosuch", "mneme has no command \"nosuch\"; see `mneme --help`"},
		{"nosuch --help", "mneme has no command \"nosuch\"; see `mneme --help`"},
		{"help nosuch", "mneme has no command \"nosuch\"; see `mneme --help`"},
		{"--tenant acme revise nosuch --help", "mneme revise has no command \"nosuch\"; see `mneme revise --help`"},
		{"help revise supercede", "mneme revise has no command \"supercede\"; did you mean supersede?"},
	} {
		o := c.run(strings.Fields(tt.line)...).is(app.ExitUsage)
		require.Contains(t, o.err, tt.want, tt.line)
		require.Empty(t, o.out, tt.line)
	}
	for _, line := range []string{"help", "help revise", "help revise supersede", "revise --help", "--tenant acme --help",
		"list --tenant acme -h"} {
		require.Contains(t, c.run(strings.Fields(line)...).is(app.ExitOK).out, "Usage:", line)
	}
}

// A DATABASE_URL that cannot be parsed is an error of the settings. The message does not quote it.
func TestMalformedDatabaseURL(t *testing.T) {
	t.Parallel()
	c := &cli{t: t, cfg: config.Config{Principal: testkit.Principal(), TemporalEnv: noTemporal(),
		DatabaseURL: "postgres://ana:canary@:nowhere"}}
	for _, line := range []string{"list", "recall x", "status --timeout 1s"} {
		o := c.run(strings.Fields(line)...).is(app.ExitUsage)
		require.Contains(t, o.err, "mneme: DATABASE_URL cannot be parsed; it must be like postgres://", line)
		require.NotContains(t, o.out+o.err, "canary", line)
	}
}

// A namespace that does not exist is named, with the variable that sets it.
func TestNamespaceThatDoesNotExist(t *testing.T) {
	t.Parallel()
	c := &cli{t: t, cfg: config.Config{Principal: testkit.Principal(), TaskQueue: "any", Namespace: "nosuch",
		TemporalEnv: temporalAt(testkit.TemporalAddress(t), "nosuch")}}
	o := c.run("remember", "x").is(app.ExitUnavailable)
	require.Contains(t, o.err, `Temporal has no namespace "nosuch"; set TEMPORAL_NAMESPACE`)
}

// Each attempt to connect is reported once, and the meaning of the error is not repeated.
func TestErrorsAreNotRepeated(t *testing.T) {
	t.Parallel()
	c := &cli{t: t, cfg: config.Config{Principal: testkit.Principal(), TemporalEnv: noTemporal(),
		DatabaseURL: "postgres://ana@127.0.0.1:1/mneme"}}
	require.Equal(t, 1, strings.Count(c.run("list").is(app.ExitUnavailable).err, "connection refused"))
	o := c.run("status", "--timeout", "2s").is(app.ExitUnavailable)
	for line := range strings.Lines(o.out) {
		require.LessOrEqual(t, strings.Count(line, "does not answer"), 1, line)
	}
	require.Equal(t, 2, strings.Count(o.out, "connection refused"), o.out)
}
