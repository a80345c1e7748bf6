package cli

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/spf13/cobra"
	"github.com/stretchr/testify/require"

	"github.com/mneme/mneme/internal/cli/app"
	"github.com/mneme/mneme/internal/config"
	"github.com/mneme/mneme/internal/testkit"
)

// The help of every --reason says whether it is required, and the command enforces it.
func TestHelpMarksRequiredReasons(t *testing.T) {
	t.Parallel()
	id := uuid.NewString()
	one, by, record := id+"@1", uuid.NewString()+"@1", writeFile(t, `{"type":"semantic"}`)
	required := map[string][]string{
		"mneme modify":           {id, "--pin"},
		"mneme forget":           {id},
		"mneme erase":            {id},
		"mneme recover":          {id},
		"mneme revise supersede": {one, "--by", by},
		"mneme revise fork":      {one, "--with", record},
		"mneme revise retract":   {one},
		"mneme revise merge":     {one, "--by", by},
		"mneme revise contest":   {one, "--by", by},
		"mneme revise resolve":   {one, by, "--winner", id},
		"mneme revise reconcile": {one, "--with", record},
		"mneme retention set":    {"memory", "--keep", "7d"},
		"mneme retention reset":  {"memory"},
		"mneme sweeps admit":     {"decay", "--up-to", "5"},
	}
	optional := []string{"mneme put", "mneme feedback", "mneme review approve", "mneme review reject",
		"mneme schedules pause", "mneme forget confirm", "mneme events erase", "mneme topics remove", "mneme artifact remove"}
	c := &cli{t: t, cfg: config.Config{Principal: testkit.Principal()}}
	var check func(*cobra.Command)
	check = func(cmd *cobra.Command) {
		for _, sub := range cmd.Commands() {
			check(sub)
		}
		flag := cmd.LocalFlags().Lookup("reason")
		if flag == nil {
			return
		}
		path := cmd.CommandPath()
		if args, ok := required[path]; ok {
			require.Contains(t, flag.Usage, "(required)", path)
			line := append(strings.Fields(path)[1:], append(args, "--json")...)
			require.Contains(t, c.run(line...).is(app.ExitUsage).problem().Message, "reason: is required", path)
			delete(required, path)
			return
		}
		require.Regexp(t, "optional|default", flag.Usage, path)
		i := slices.Index(optional, path)
		require.GreaterOrEqual(t, i, 0, path)
		optional = slices.Delete(optional, i, i+1)
	}
	check(newRoot(&app.App{}))
	require.Empty(t, required)
	require.Empty(t, optional)
}
