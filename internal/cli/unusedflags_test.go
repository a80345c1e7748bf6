package cli

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/require"

	"github.com/mneme/mneme/internal/cli/app"
)

// leaves calls fn for every command that does something, with arguments that it accepts.
func leaves(fn func(name string, line []string)) {
	var walk func(*cobra.Command)
	walk = func(c *cobra.Command) {
		for _, sub := range c.Commands() {
			walk(sub)
		}
		line := strings.Fields(c.CommandPath())[1:]
		grouping := c.HasSubCommands() && c.Args != nil && c.Args(c, []string{"x"}) == nil && c.Args(c, nil) == nil
		if !c.Runnable() || len(line) == 0 || slices.Contains([]string{"help", "flags", "completion"}, line[0]) ||
			grouping && line[0] != "forget" {
			return
		}
		var args []string
		for c.Args != nil && len(args) < 3 && c.Args(c, args) != nil {
			args = append(args, "x")
		}
		fn(strings.Join(line, " "), append(line, args...))
	}
	walk(newRoot(&app.App{}))
}

// A command takes the flags that say for whom it runs only if it has a use for them. The others are refused by name,
// before the command does anything.
func TestNoCommandIgnoresForWhomItRuns(t *testing.T) {
	t.Parallel()
	tenants := map[string]string{ // commands that work for a whole tenant, and for the whole installation
		"jobs": "tenant", "rebuild": "tenant", "index": "tenant", "decay": "tenant", "retention": "tenant",
		"sweeps": "tenant", "status": "tenant", "stats": "tenant", "users": "tenant",
		"events replay": "tenant", "events streams": "tenant",
		"index drift": "", "reindex": "", "nexus": "", "schedules": "", "schema": "", "doctor": "", "migrate": "",
		"version": "", "policy check": "", "trust verify": "",
	}
	trusting := []string{"recall", "get", "list", "history", "contradictions", "lineage", "learned list", "learned show",
		"plan show", "review list", "review show", "trust sign"}
	checked := 0
	leaves(func(name string, line []string) {
		first, _, _ := strings.Cut(name, " ")
		class, known := tenants[name]
		if !known {
			class, known = tenants[first]
		}
		refuses := func(flag string) bool {
			value := map[string]string{"authenticated": "true"}[flag]
			if value == "" {
				value = "x"
			}
			code, problem := flagOf(line, flag, value)
			refused := strings.Contains(problem, " "+flag+": has no effect")
			if refused {
				require.Equal(t, app.ExitUsage, code, name)
			}
			return refused
		}
		for _, flag := range []string{"agent", "user", "project", "scope", "policy-group"} {
			require.Equal(t, known, refuses(flag), "%s --%s", name, flag)
		}
		require.Equal(t, known && class == "", refuses("tenant"), name)
		for _, flag := range []string{"authenticated", "trust-scope", "environment"} {
			require.Equal(t, !slices.Contains(trusting, name), refuses(flag), "%s --%s", name, flag)
		}
		checked++
	})
	require.Greater(t, checked, 80)
	_, problem := flagOf([]string{"stats"}, "user", "maya")
	require.Equal(t, "mneme: invalid request: user: has no effect: mneme stats works for a whole tenant; "+
		"leave the flag out\n", problem)
	_, problem = flagOf([]string{"stats"}, "user", "") // it clears a variable of the environment
	require.NotContains(t, problem, "user: ")
}

// A flag that has no effect together with the others is refused, and not ignored.
func TestNoCommandIgnoresAFlag(t *testing.T) {
	t.Parallel()
	export := filepath.Join(t.TempDir(), "export.jsonl")
	require.NoError(t, os.WriteFile(export, []byte(`{"kind":"header","format":"mneme-export","version":1}`+"\n"), 0o600))
	for line, field := range map[string]string{
		"consolidate --all --user=maya":              "user",
		"consolidate --all --agent=bot":              "agent",
		"consolidate --shared --agent=bot":           "agent",
		"topics refresh --all --user=maya":           "user",
		"decay run --all-tenants --tenant=t":         "tenant",
		"retention run --all-tenants --tenant=t":     "tenant",
		"session list --every-agent --agent=bot":     "agent",
		"export --all-agents --agent=bot":            "agent",
		"schedules apply --print --take-over":        "take-over",
		"schedules apply x --print":                  "print",
		"recall x --format=prompt --json":            "format",
		"recall --batch=- --format=text":             "format",
		"recall x --format=prompt --explain":         "explain",
		"lineage x --format=dot --json":              "format",
		"feedback x --actor=ana":                     "actor",
		"context run/x --top-k=3":                    "top-k",
		"context run/x --use-index":                  "use-index",
		"context run/x --max-beliefs=3":              "max-beliefs",
		"policy explain --record=x --kind=fact":      "kind",
		"policy explain --record=x --tag=ops":        "tag",
		"policy explain --candidate=x --speaker=Ana": "speaker",
		"policy explain x --claim=a,b,c":             "claim",
		"import --format=mem0 --wait " + export:      "wait",
		"import --wait " + export:                    "wait",
		"import --agent=bot " + export:               "agent",
		"import --visibility=shared " + export:       "visibility",
		"review list --all-scopes --user=maya":       "all-scopes",
		"review list --all-scopes --scope=kitchen":   "all-scopes",
		"contradictions --all-scopes --user=maya":    "all-scopes",
		"session list --all-scopes --user=maya":      "all-scopes",
		"session list --all-scopes --scope=kitchen":  "all-scopes",
		"events erase x --yes --operation-id=o":      "operation-id",
		"topics remove x --all --user=maya":          "id",
		"topics remove --all":                        "user",
		"artifact remove --all":                      "user",
	} {
		words := strings.Fields(line)
		for i, word := range words {
			if word == "x" && i > 0 && words[0] == "lineage" {
				words[i] = "0198c3f2-6f7d-7cc1-a1b0-5a2f0e3d4c5b"
			}
		}
		code, problem := lineOf(words)
		require.Equal(t, app.ExitUsage, code, "%s: %s", line, problem)
		require.Contains(t, problem, field+": ", line)
	}
}
