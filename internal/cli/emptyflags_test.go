package cli

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"github.com/stretchr/testify/require"

	"github.com/mneme/mneme/internal/cli/app"
	"github.com/mneme/mneme/schema"
)

// flagOf runs a command with one flag and without connections, and returns the exit code and the error.
func flagOf(line []string, flag, value string) (int, string) {
	return lineOf(append(append([]string{}, line...), "--"+flag+"="+value, "--timeout", "1s"))
}

// lineOf runs a command without connections, and returns the exit code and the error.
func lineOf(line []string) (int, string) {
	var out, errOut bytes.Buffer
	a := &app.App{In: strings.NewReader(""), Out: &out, ErrOut: &errOut}
	a.Cfg.Principal = schema.Principal{Tenant: "t", Agent: "a"}
	a.Cfg.DatabaseURL, a.Cfg.TemporalEnv = "postgres://ana@127.0.0.1:1/mneme", noTemporal()
	code := run(context.Background(), a, line)
	return code, errOut.String()
}

// No command takes the empty value of a flag for its absence. A script whose variable is not set would otherwise forget,
// export or rebuild more than was meant. The exceptions have a meaning.
func TestFlagsRefuseAnEmptyValue(t *testing.T) {
	t.Parallel()
	meant := map[string]bool{"modify --who": true, "advise report --used": true}
	checked := 0
	var walk func(*cobra.Command)
	walk = func(c *cobra.Command) {
		for _, sub := range c.Commands() {
			walk(sub)
		}
		line := strings.Fields(c.CommandPath())[1:]
		if !c.Runnable() || len(line) == 0 || line[0] == "help" || line[0] == "completion" {
			return
		}
		var args []string
		for c.Args != nil && len(args) < 3 && c.Args(c, args) != nil {
			args = append(args, "x")
		}
		c.LocalNonPersistentFlags().VisitAll(func(f *pflag.Flag) {
			name := strings.Join(strings.Fields(c.CommandPath())[1:], " ") + " --" + f.Name
			switch {
			case f.Name == "after" || f.Name == "before" || meant[name] || f.Value.Type() == "bool":
				return
			case f.Value.Type() != "string" && !strings.HasPrefix(f.Value.Type(), "string"):
				return // a number cannot be empty
			}
			checked++
			code, problem := flagOf(append(line, args...), f.Name, "")
			require.Equal(t, app.ExitUsage, code, "%s: %s", name, problem)
			if f.Value.Type() == "stringToString" {
				require.Contains(t, problem, f.Name+": must be key=value pairs", name)
			} else {
				require.Contains(t, problem, f.Name+": is empty", name)
			}
		})
	}
	walk(newRoot(&app.App{}))
	require.Greater(t, checked, 150)
}

// A negative number is not taken for none.
func TestFlagsRefuseANegativeNumber(t *testing.T) {
	t.Parallel()
	for line, flag := range map[string]string{"events replay run/x": "after", "events tail run/x": "before"} {
		code, problem := flagOf(strings.Fields(line), flag, "-1")
		require.Equal(t, app.ExitUsage, code, line)
		require.Contains(t, problem, flag+": must not be negative", line)
	}
}

// A tag of spaces is refused as well, by the request.
func TestRecallRefusesABlankTag(t *testing.T) {
	t.Parallel()
	for _, line := range []string{"list", "recall x", "export"} {
		code, problem := flagOf(strings.Fields(line), "tag", "a, ")
		require.Equal(t, app.ExitUsage, code, line)
		require.Contains(t, problem, "tag: must not hold an empty tag", line)
	}
}

// The error of a repeatable flag names the flag, although the field of the request has another name.
func TestErrorsNameRepeatableFlags(t *testing.T) {
	t.Parallel()
	for _, line := range []string{"list", "recall x", "export", "forget --reason r"} {
		for _, flag := range []string{"type", "category"} {
			code, problem := flagOf(strings.Fields(line), flag, "foo")
			require.Equal(t, app.ExitUsage, code, line)
			require.Contains(t, problem, "invalid request: "+flag+": must be ", line)
		}
	}
	for _, line := range []string{"remember x", "forget --reason r"} {
		code, problem := flagOf(strings.Fields(line), "tag", " ")
		require.Equal(t, app.ExitUsage, code, line)
		require.Contains(t, problem, "invalid request: tag: is empty", line)
	}
}
