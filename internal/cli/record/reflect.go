package record

import (
	"github.com/spf13/cobra"

	"github.com/mneme/mneme/api"
	mneme "github.com/mneme/mneme/client"
	"github.com/mneme/mneme/internal/cli/app"
	"github.com/mneme/mneme/schema"
)

// NewReflect returns the command that lets an agent reflect.
func NewReflect(a *app.App) *cobra.Command {
	var in api.ReflectInput
	visibility, ceiling := "", ""
	cmd := &cobra.Command{
		Use:   "reflect STREAM",
		Short: "Let the agent reflect on the events of a stream, if a reflection is due",
		Long: `Let the agent reflect on the events of a stream that it saw since its last reflection, if these are at least
--threshold events. The belief is appended to the stream, with the events that it is based on. Every agent of the tenant
sees it, unless --visibility or the deployment limits that.`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			in.Principal, in.Stream = a.Cfg.Principal, args[0]
			in.Visibility, in.MaxSensitivity = schema.Visibility(visibility), schema.Sensitivity(ceiling)
			if err := in.Validate(); err != nil {
				return err
			}
			c, err := a.OpenTemporal(cmd.Context())
			if err != nil {
				return err
			}
			ctx, cancel := a.Within(cmd.Context())
			defer cancel()
			result, err := mneme.Reflect(ctx, c, a.Cfg.TaskQueue, in)
			if err != nil {
				return err
			}
			return a.Print(result, func(t *app.Text) { reflected(t, in.Stream, result) })
		},
	}
	flags := cmd.Flags()
	flags.IntVar(&in.Threshold, "threshold", 8, "number of events that the agent must have seen")
	flags.Int64Var(&in.Through, "through", 0, "only events up to this number; 0 for all")
	flags.StringVar(&visibility, "visibility", "", "who else sees the belief: private, group, shared or global")
	flags.StringVar(&ceiling, "max-sensitivity", "", "reflect on events up to this class; medium by default")
	return cmd
}

func reflected(t *app.Text, stream string, r api.ReflectResult) {
	if !r.Due {
		t.Line("not due")
		return
	}
	if r.Beliefs > 0 {
		t.Line("%s: event %d of %s, for %d events, based on %d", r.EventID, r.Seq, stream, r.Covers, r.BasedOn)
	}
	if r.Beliefs > 1 {
		t.Line("%d beliefs in all", r.Beliefs)
	}
	if r.Refused != "" {
		t.Line("refused: %s", r.Refused)
	}
}
