package operate

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"

	mneme "github.com/mneme/mneme/client"
	"github.com/mneme/mneme/internal/cli/app"
	"github.com/mneme/mneme/internal/config"
)

// NewSchedules returns the command that shows and changes schedules.
func NewSchedules(a *app.App) *cobra.Command {
	cmd := app.Group(&cobra.Command{Use: "schedules",
		Short: "Show and change schedules: decay, retention, index maintenance"})
	cmd.AddCommand(newSchedulesApply(a), newSchedulesList(a), newSchedulesPause(a), newSchedulesResume(a),
		newSchedulesTrigger(a), newSchedulesBackfill(a))
	return cmd
}

// Schedules returns the schedules of the configured namespace and index.
func Schedules(ctx context.Context, a *app.App) (mneme.Schedules, error) {
	c, err := a.OpenTemporal(ctx)
	if err != nil {
		return mneme.Schedules{}, err
	}
	// Without ReadKeys: arguments under an earlier key count as different, so that `apply` writes them again, before
	// the key is removed and no worker can read them.
	var options client.Options
	if err := config.Encrypt(&options, a.Cfg.PayloadKey); err != nil {
		return mneme.Schedules{}, err
	}
	return mneme.Schedules{Client: c, Namespace: a.Cfg.Namespace, TaskQueue: a.Cfg.TaskQueue,
		Index: a.IndexName(), Converter: options.DataConverter}, nil
}

// scheduleError gives an error of a schedule its exit code.
func scheduleError(err error) error {
	var invalidSpec *serviceerror.InvalidArgument
	switch {
	case errors.Is(err, mneme.ErrNoSchedule):
		return app.WithCode(app.ExitNotFound, err)
	case errors.Is(err, mneme.ErrScheduleBusy), errors.Is(err, mneme.ErrScheduleElsewhere):
		return app.WithCode(app.ExitConflict, err)
	case errors.Is(err, mneme.ErrBackfillTooLong), errors.As(err, &invalidSpec):
		return app.WithCode(app.ExitUsage, err)
	}
	return err
}

// ReadSchedules reads a schedules file. "-" is standard input; without a path, it returns the defaults.
func ReadSchedules(a *app.App, path string) ([]mneme.ScheduleSpec, error) {
	var data []byte
	var err error
	switch path {
	case "":
		return mneme.DefaultSchedules(), nil
	case "-":
		data, err = io.ReadAll(io.LimitReader(a.In, 1<<20))
	default:
		data, err = os.ReadFile(path)
	}
	if err != nil {
		return nil, app.WithCode(app.ExitUsage, fmt.Errorf("read the schedules: %w", err))
	}
	return mneme.ParseSchedules(data)
}

func newSchedulesApply(a *app.App) *cobra.Command {
	var show, takeOver bool
	cmd := &cobra.Command{
		Use:   "apply [FILE]",
		Short: "Create and update schedules from a file; safe to repeat",
		Long: `Create and update schedules from a file (YAML; - reads standard input), or from the defaults when none is
given. Schedules that match their description, and schedules that the file does not name, are not changed. A
paused schedule stays paused and keeps its reason. --print prints the defaults, to start a file. A schedule of
another task queue (MNEME_TASK_QUEUE) is refused, with exit code 6, unless --take-over moves it to this one.

At its start the worker creates missing schedules from the defaults. It does not change existing ones.`,
		Example: "  mneme schedules apply --print > schedules.yaml\n  mneme schedules apply schedules.yaml",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if show {
				if len(args) > 0 {
					return app.Invalid("print", "takes no file")
				}
				if err := app.RefuseWith(cmd.Flags(), "--print", "take-over", "json"); err != nil {
					return err
				}
				_, err := io.WriteString(a.Out, mneme.DefaultSchedulesFile())
				return err
			}
			specs, err := ReadSchedules(a, strings.Join(args, ""))
			if err != nil {
				return err
			}
			s, err := Schedules(cmd.Context(), a)
			if err != nil {
				return err
			}
			ctx, cancel := a.Within(cmd.Context())
			defer cancel()
			s.TakeOver = takeOver
			applied, err := s.Apply(ctx, specs)
			if err != nil {
				return scheduleError(err)
			}
			return a.Print(app.Page[mneme.AppliedSchedule]{Items: applied}, func(t *app.Text) {
				rows := make([][]string, 0, len(applied))
				for _, s := range applied {
					note := strings.Join(s.Changed, ", ")
					if s.Paused {
						note = strings.TrimPrefix(note+"; it stays paused", "; ")
					}
					rows = append(rows, []string{s.Name, s.Outcome, s.ID, note})
				}
				t.Table("SCHEDULE OUTCOME ID NOTE", rows)
			})
		},
	}
	cmd.Flags().BoolVar(&show, "print", false, "print the default file, and do nothing")
	cmd.Flags().BoolVar(&takeOver, "take-over", false, "move schedules of another task queue to this one")
	return cmd
}

func newSchedulesList(a *app.App) *cobra.Command {
	return &cobra.Command{
		Use:   "list",
		Short: "Show every schedule: when it runs, whether it is paused and why, its last run and the next",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			s, err := Schedules(cmd.Context(), a)
			if err != nil {
				return err
			}
			ctx, cancel := a.Within(cmd.Context())
			defer cancel()
			known, err := s.Statuses(ctx, nil)
			if err != nil {
				return err
			}
			for i := range known {
				if known[i].Last != nil {
					if err := s.Outcome(ctx, known[i].Last); err != nil {
						return err
					}
				}
			}
			return a.Print(app.Page[mneme.ScheduleStatus]{Items: known}, func(t *app.Text) { schedulesText(t, known) })
		},
	}
}

func schedulesText(t *app.Text, known []mneme.ScheduleStatus) {
	rows := make([][]string, 0, len(known))
	var notes []string
	for _, s := range known {
		state, last, next := "active", "", app.WhenSet(s.Next)
		switch {
		case s.Missing:
			state, next = "missing", ""
			notes = append(notes, fmt.Sprintf("%s is missing: `mneme schedules apply` creates it", s.Name))
		case s.Paused:
			state = "paused by " + s.PausedBy
			notes = append(notes, fmt.Sprintf("%s: %s", s.Name, s.Note))
		}
		if s.Last != nil {
			last = app.When(s.Last.StartedAt) + " " + strings.ToLower(s.Last.Status)
			if s.Last.Error != "" {
				notes = append(notes, fmt.Sprintf("%s: the last run failed: %s", s.Name, s.Last.Error))
			}
		}
		rows = append(rows, []string{s.Name, s.When, state, last, next})
	}
	t.Table("SCHEDULE WHEN STATE LAST NEXT", rows)
	for _, note := range notes {
		t.Line("%s", app.OneLine(note))
	}
}

// ScheduleDone is the output of a command that changed a schedule.
type ScheduleDone struct {
	Schedule string `json:"schedule"`
	Done     string `json:"done"` // paused, resumed or backfilled
	Runs     int    `json:"runs,omitempty"`
	Reason   string `json:"reason,omitempty"`
}

// onSchedule returns a command for one schedule.
func onSchedule(
	a *app.App,
	cmd *cobra.Command,
	do func(context.Context, mneme.Schedules, string) (any, func(*app.Text), error),
) *cobra.Command {
	cmd.Args = cobra.ExactArgs(1)
	cmd.ValidArgs = mneme.ScheduleNames()
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		known := false
		for _, name := range mneme.ScheduleNames() {
			known = known || name == args[0]
		}
		if !known {
			return app.Invalid("name", "must be one of %s", strings.Join(mneme.ScheduleNames(), ", "))
		}
		s, err := Schedules(cmd.Context(), a)
		if err != nil {
			return err
		}
		ctx, cancel := a.Within(cmd.Context())
		defer cancel()
		out, human, err := do(ctx, s, args[0])
		if err != nil {
			return scheduleError(err)
		}
		return a.Print(out, human)
	}
	return cmd
}

func newSchedulesPause(a *app.App) *cobra.Command {
	var reason string
	cmd := onSchedule(a, &cobra.Command{
		Use:   "pause NAME",
		Short: "Pause a schedule",
		Long: `Pause a schedule. The schedule shows the reason, who paused it and on which day. A run that has
started is not stopped: cancel it in the UI.`,
		Example: `  mneme schedules pause retention --reason "an audit asks for everything until May"`,
	}, func(ctx context.Context, s mneme.Schedules, name string) (any, func(*app.Text), error) {
		if reason = strings.TrimSpace(reason); reason == "" {
			reason = "paused by hand"
		}
		if len(reason) > 500 {
			return nil, nil, app.Invalid("reason", "must be at most 500 bytes")
		}
		note := fmt.Sprintf("%s (%s, %s)", reason, app.Operator(), time.Now().UTC().Format(time.DateOnly))
		if err := s.Pause(ctx, name, note); err != nil {
			return nil, nil, err
		}
		return ScheduleDone{Schedule: name, Done: "paused", Reason: note}, func(t *app.Text) {
			t.Line("%s is paused: %s", name, app.OneLine(note))
		}, nil
	})
	cmd.Flags().StringVar(&reason, "reason", "", "reason, shown with the schedule (default: paused by hand)")
	return cmd
}

func newSchedulesResume(a *app.App) *cobra.Command {
	return onSchedule(a, &cobra.Command{
		Use:   "resume NAME",
		Short: "Resume a schedule",
		Long: `Resume a schedule. Its next run does everything that became due meanwhile. To start a run at once, use
` + "`mneme schedules trigger NAME`" + `.`,
	}, func(ctx context.Context, s mneme.Schedules, name string) (any, func(*app.Text), error) {
		note := "" // only for the defaults; a custom file takes effect when it is applied the next time
		for _, spec := range mneme.DefaultSchedules() {
			if spec.Name == name {
				note = spec.Note
			}
		}
		if err := s.Resume(ctx, name, note); err != nil {
			return nil, nil, err
		}
		return ScheduleDone{Schedule: name, Done: "resumed"}, func(t *app.Text) {
			t.Line("%s is active again", name)
		}, nil
	})
}

// Triggered is the output of `schedules trigger`.
type Triggered struct {
	Schedule string `json:"schedule"`
	mneme.ScheduleRun
	URL string `json:"url,omitempty"`
}

func newSchedulesTrigger(a *app.App) *cobra.Command {
	return onSchedule(a, &cobra.Command{
		Use:   "trigger NAME",
		Short: "Start a run of a schedule now",
		Long: `Start a run of a schedule now, even if it is paused. Two runs of a schedule never overlap: while a
run is open, nothing is started, and the exit code is 6.`,
	}, func(ctx context.Context, s mneme.Schedules, name string) (any, func(*app.Text), error) {
		run, err := s.Trigger(ctx, name)
		if err != nil {
			return nil, nil, err
		}
		out := Triggered{Schedule: name, ScheduleRun: run, URL: a.RunURL(run.WorkflowID, run.RunID)}
		return out, func(t *app.Text) { t.Fields("schedule", name, "workflow", run.WorkflowID, "ui", out.URL) }, nil
	})
}

func newSchedulesBackfill(a *app.App) *cobra.Command {
	var from, to string
	cmd := onSchedule(a, &cobra.Command{
		Use:   "backfill NAME",
		Short: "Start the runs that a schedule would have started between two times",
		Long: `Start the runs that a schedule would have started between two times, one after the other, at most a hundred.
This is seldom needed: a run does everything that is due, even if many runs were missed. Use it for a
workflow that depends on its start time, or to watch one run repeatedly.`,
		Example: "  mneme schedules backfill drift --from 2026-05-08T00:00:00Z --to 2026-05-08T06:00:00Z",
	}, func(ctx context.Context, s mneme.Schedules, name string) (any, func(*app.Text), error) {
		begin, err := app.ParseTime("from", from)
		if err != nil {
			return nil, nil, err
		}
		end, err := app.ParseTime("to", to)
		if err != nil {
			return nil, nil, err
		}
		switch now := time.Now(); {
		case begin == nil:
			return nil, nil, app.Invalid("from", "is required")
		case end == nil:
			end = &now
		case end.After(now):
			return nil, nil, app.Invalid("to", "must not be in the future: the schedule will run then")
		}
		if !begin.Before(*end) {
			return nil, nil, app.Invalid("from", "must be before to")
		}
		n, err := s.Backfill(ctx, name, *begin, *end)
		if err != nil {
			return nil, nil, err
		}
		return ScheduleDone{Schedule: name, Done: "backfilled", Runs: n}, func(t *app.Text) {
			t.Line("%d runs of %s are started, one after the other", n, name)
		}, nil
	})
	cmd.Flags().StringVar(&from, "from", "", "begin (RFC 3339, or a date; required)")
	cmd.Flags().StringVar(&to, "to", "", "end (RFC 3339, or a date; default now)")
	return cmd
}
