package cli

import (
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/require"

	"github.com/mneme/mneme/internal/cli/app"
	"github.com/mneme/mneme/internal/config"
	"github.com/mneme/mneme/schema"
)

// Global flags are listed once, and the help of each command refers to them.
func TestHelpPointsToGlobalFlags(t *testing.T) {
	t.Parallel()
	c := &cli{t: t}
	global := c.run("help", "flags").is(app.ExitOK).out
	for _, name := range []string{"--json", "--tenant", "--timeout", "--trust-token"} {
		require.Contains(t, global, name)
		require.Contains(t, c.run("--help").is(app.ExitOK).out, name)
	}
	var check func(*cobra.Command)
	check = func(cmd *cobra.Command) {
		for _, sub := range cmd.Commands() {
			check(sub)
		}
		if cmd.HasParent() && cmd.Runnable() {
			out := c.run(append(strings.Fields(cmd.CommandPath())[1:], "--help")...).is(app.ExitOK).out
			require.Contains(t, out, "mneme help flags", cmd.CommandPath())
			require.NotContains(t, out, "(MNEME_TENANT)", cmd.CommandPath())
			require.NotContains(t, out, "document 00", cmd.CommandPath())
		}
	}
	check(newRoot(&app.App{}))
	require.Contains(t, c.run("help", "recall").is(app.ExitOK).out, "--limit")
}

// Errors of flags describe the expected value, instead of quoting a parse function.
func TestFlagErrors(t *testing.T) {
	t.Parallel()
	c := &cli{t: t}
	for _, test := range []struct{ flag, value, problem string }{
		{"limit", "abc", "must be a whole number"},
		{"limit", "99999999999999999999", "must be a whole number"},
		{"importance-min", "abc", "must be a number"},
		{"pinned", "abc", "must be true or false"},
		{"timeout", "3", "must be a duration such as 30s, 5m or 36h"},
		{"tag", `a"b`, "must be values separated by commas; quote a value that contains a double quote as in CSV"},
	} {
		args := []string{"recall", "x", "--" + test.flag + "=" + test.value}
		fields := c.run(append(args, "--json")...).is(app.ExitUsage).problem().Fields
		require.Len(t, fields, 1, args)
		require.Equal(t, test.flag+": "+test.problem, fields[0].Error(), args)
		require.NotContains(t, c.run(args...).is(app.ExitUsage).err, "strconv")
	}
}

// The value of a flag that comes from the environment is its default, which help shows. A token is no default.
func TestHelpShowsNoToken(t *testing.T) {
	t.Setenv("MNEME_TRUST_TOKEN", "mt1.canary")
	c := &cli{t: t, cfg: config.Config{Principal: schema.Principal{Tenant: "acme", Agent: "a"}}}
	for _, args := range [][]string{{"help", "flags"}, {"recall", "--help"}, {"trust", "verify", "--help"}} {
		o := c.run(args...).is(app.ExitOK)
		require.NotContains(t, o.out+o.err, "canary", args)
	}
	o := c.run("help", "flags")
	require.Contains(t, o.out+o.err, `(default "acme")`)
}
