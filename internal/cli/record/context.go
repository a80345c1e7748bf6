package record

import (
	"os"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/mneme/mneme/internal/cli/app"
	"github.com/mneme/mneme/recall/contexts"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/schema/ledger"
)

// NewContext returns the command that shows the context that an agent would read before it acts.
func NewContext(a *app.App) *cobra.Command {
	in := ledger.ContextRequest{Memory: ledger.MemorySettings{Window: 8}}
	identity, ceiling := "", string(schema.SensitivityMedium)
	cmd := &cobra.Command{
		Use:   "context STREAM...",
		Short: "Show the context that an agent gets from streams",
		Long: `Show the context that an agent gets from streams, such as its run and its world: its identity, the
current scene, its memory, what users said, and the output format. The memory section begins with the state of its
work, if the agent has an open session on one of the streams. Only the events that the views need are read, even if the
streams are long. The same events give the same context. If an index or a recall fails, the context is built without
it, and the command says so.`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			p := a.Cfg.Principal
			if err := app.CheckPrincipal(p); err != nil {
				return err
			}
			if err := settingsWithoutEffect(cmd.Flags()); err != nil {
				return err
			}
			if identity != "" {
				text, err := os.ReadFile(identity)
				if err != nil {
					return app.WithCode(app.ExitUsage, err)
				}
				in.Identity = string(text)
			}
			in.Principal, in.Streams, in.MaxSensitivity = p, args, schema.Sensitivity(ceiling)
			if !in.MaxSensitivity.Valid() {
				return app.Invalid("max-sensitivity", "must be public, low, medium, high or hyper")
			}
			if err := in.Validate(); err != nil {
				return err
			}
			builder, err := contextBuilder(cmd, a)
			if err != nil {
				return err
			}
			ctx, cancel := a.Within(cmd.Context())
			defer cancel()
			built, err := builder.Build(ctx, in)
			if err != nil {
				return err
			}
			return a.Print(built, func(t *app.Text) {
				t.Line("%s", built.Text)
				if len(built.Degraded) > 0 {
					t.Line("\nleft out: %s", strings.Join(built.Degraded, ", "))
				}
			})
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&identity, "identity", "", "file with the text of IDENTITY")
	flags.StringVar(&in.OutputFormat, "format", "", "text of OUTPUT FORMAT")
	flags.StringVar(&in.Scene, "scene", "", "text of CURRENT SCENE, instead of a summary of the events")
	flags.StringVar(&in.Extra, "extra", "", "text of EXTRA")
	flags.StringVar(&ceiling, "max-sensitivity", ceiling, "show events up to this class")
	flags.IntVar(&in.Turn, "turn", 0, "the current turn; the latest by default")
	flags.IntVar(&in.BudgetTokens, "budget", 0, "maximum number of tokens; 0 for the limit")
	flags.StringVar(&in.Session, "session", "",
		"the session whose state of the work is shown while it is open; the latest on one of the streams by default")
	flags.StringVar(&in.Recall, "recall", "", "a question; YOUR MEMORY also shows its answers")
	flags.IntVar(&in.Memory.Window, "window", in.Memory.Window, "number of the latest events in YOUR MEMORY")
	flags.BoolVar(&in.Memory.UseSalience, "use-salience", false, "show the most salient events instead of the latest")
	flags.BoolVar(&in.Memory.UseIndex, "use-index", false,
		"with --use-salience: judge relevance by meaning (MNEME_MEMORY_INDEX)")
	flags.IntVar(&in.Memory.TopK, "top-k", 0, "number of salient events; 0: as many as --window")
	flags.IntVar(&in.Memory.ReflectionThreshold, "reflection-threshold", 0,
		"show a belief instead of the events that it covers")
	flags.IntVar(&in.Memory.MaxBeliefs, "max-beliefs", 0, "number of beliefs with --reflection-threshold; 0 for 32")
	return cmd
}

// settingsWithoutEffect refuses the flags that set a form of memory that is not chosen.
func settingsWithoutEffect(flags *pflag.FlagSet) error {
	if !flags.Changed("use-salience") {
		if err := app.RefuseWithout(flags, "--use-salience", "use-index", "top-k"); err != nil {
			return err
		}
	}
	if !flags.Changed("reflection-threshold") {
		return app.RefuseWithout(flags, "--reflection-threshold", "max-beliefs")
	}
	return nil
}

func contextBuilder(cmd *cobra.Command, a *app.App) (*contexts.Builder, error) {
	recaller, err := a.Recaller(cmd.Context())
	if err != nil {
		return nil, err
	}
	st, err := a.OpenStore(cmd.Context())
	if err != nil {
		return nil, err
	}
	brain, err := a.Cfg.NewBrain(cmd.Context())
	if err != nil {
		return nil, err
	}
	index, closeIndex, err := a.Cfg.OpenIndex(st)
	if err != nil {
		return nil, err
	}
	a.Closers = append(a.Closers, closeIndex)
	return &contexts.Builder{Store: st, Recaller: recaller,
		Index: a.Cfg.OpenMemoryIndex(st, index, brain.Embedder, nil)}, nil
}
