package record

import (
	"os"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/mneme/mneme/internal/cli/app"
	"github.com/mneme/mneme/memory/views"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/store/events"
)

// contextEvents is how many of the latest events that an agent may see its context is built of.
const contextEvents = events.MaxPage

// NewContext returns the command that shows what an agent would read before it acts.
func NewContext(a *app.App) *cobra.Command {
	in := views.Request{Memory: views.Memory{Window: 8}}
	identity, ceiling := "", string(schema.SensitivityMedium)
	cmd := &cobra.Command{
		Use:   "context STREAM",
		Short: "Show the context that an agent gets of a stream",
		Long: `Show the context that an agent gets of a stream: who it is, the current scene, its memory, what users handed in,
and the output format. It is built of the latest ` + strconv.Itoa(contextEvents) + ` events that the agent may see. The same events give the
same context.`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			p := a.Cfg.Principal
			if err := app.CheckPrincipal(p); err != nil {
				return err
			}
			if identity != "" {
				text, err := os.ReadFile(identity)
				if err != nil {
					return app.WithCode(app.ExitUsage, err)
				}
				in.Identity = string(text)
			}
			in.Viewer = views.Viewer{Agent: p.Agent, PolicyGroup: p.PolicyGroup, MaxSensitivity: schema.Sensitivity(ceiling)}
			if !in.Viewer.MaxSensitivity.Valid() {
				return app.Invalid("max-sensitivity", "must be public, low, medium, high or hyper")
			}
			st, err := a.OpenStore(cmd.Context())
			if err != nil {
				return err
			}
			ctx, cancel := a.Within(cmd.Context())
			defer cancel()
			in.Events, err = st.Latest(ctx, events.LatestInput{Principal: p, Stream: args[0],
				MaxSensitivity: in.Viewer.MaxSensitivity, Limit: contextEvents})
			if err != nil {
				return err
			}
			built, err := views.Build(ctx, in)
			if err != nil {
				return err
			}
			return a.Print(built, func(t *app.Text) { t.Line("%s", built.Text()) })
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&identity, "identity", "", "file with the text of IDENTITY")
	flags.StringVar(&in.OutputFormat, "format", "", "text of OUTPUT FORMAT")
	flags.StringVar(&ceiling, "max-sensitivity", ceiling, "show events up to this class")
	flags.IntVar(&in.Turn, "turn", 0, "the turn of now; the latest by default")
	flags.IntVar(&in.BudgetTokens, "budget", 0, "at most so many tokens; 0 for no bound")
	flags.IntVar(&in.Memory.Window, "window", in.Memory.Window, "how many of the latest events YOUR MEMORY shows")
	flags.BoolVar(&in.Memory.UseSalience, "use-salience", false, "show the most salient events instead of the latest")
	flags.IntVar(&in.Memory.TopK, "top-k", 0, "how many salient events; 0 for the window")
	flags.IntVar(&in.Memory.ReflectionThreshold, "reflection-threshold", 0, "show a belief in place of the events that it stands for")
	return cmd
}
