package main

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

	"github.com/mneme/mneme/internal/config"
	"github.com/mneme/mneme/workflows"
)

func newSchedules(a *app) *cobra.Command {
	cmd := group(&cobra.Command{Use: "schedules", Short: "What runs by itself: decay, retention, and looking after the index"})
	cmd.AddCommand(newSchedulesApply(a), newSchedulesList(a), newSchedulesPause(a), newSchedulesResume(a), newSchedulesTrigger(a), newSchedulesBackfill(a))
	return cmd
}

// schedules are those of the configured namespace and index.
func (a *app) schedules(ctx context.Context) (workflows.Schedules, error) {
	c, err := a.openTemporal(ctx)
	if err != nil {
		return workflows.Schedules{}, err
	}
	var options client.Options
	if err := config.Encrypt(&options, a.cfg.PayloadKey); err != nil {
		return workflows.Schedules{}, err
	}
	return workflows.Schedules{Client: c, Namespace: a.cfg.Namespace, TaskQueue: a.cfg.TaskQueue, Index: a.indexName(), Converter: options.DataConverter}, nil
}

// scheduleError gives an error of a schedule its exit code.
func scheduleError(err error) error {
	var invalidSpec *serviceerror.InvalidArgument
	switch {
	case errors.Is(err, workflows.ErrNoSchedule):
		return &codedError{exitNotFound, err}
	case errors.Is(err, workflows.ErrScheduleBusy), errors.Is(err, workflows.ErrScheduleElsewhere):
		return &codedError{exitConflict, err}
	case errors.Is(err, workflows.ErrBackfillTooLong), errors.As(err, &invalidSpec):
		return &codedError{exitUsage, err}
	}
	return err
}

// readSchedules reads a schedules file; - is standard input, and no path the default.
func (a *app) readSchedules(path string) ([]workflows.ScheduleSpec, error) {
	var data []byte
	var err error
	switch path {
	case "":
		return workflows.DefaultSchedules(), nil
	case "-":
		data, err = io.ReadAll(io.LimitReader(a.in, 1<<20))
	default:
		data, err = os.ReadFile(path)
	}
	if err != nil {
		return nil, &codedError{exitUsage, fmt.Errorf("read the schedules: %w", err)}
	}
	return workflows.ParseSchedules(data)
}

func newSchedulesApply(a *app) *cobra.Command {
	var show, takeOver bool
	cmd := &cobra.Command{
		Use:   "apply [FILE]",
		Short: "Create and update schedules from a file; safe to repeat",
		Long: `Create and update schedules from a file (YAML; - reads standard input), or from the defaults when none is
given. What is as described is not touched; one that is paused stays paused and keeps its reason; what the
file does not name is left alone. --print prints the defaults, to begin a file with. A schedule that another
task queue has (MNEME_TASK_QUEUE) is refused, with exit code 6, unless --take-over moves it to this one.

The worker creates what is missing at its start, from the defaults, and changes nothing that is there.`,
		Example: "  mneme schedules apply --print > schedules.yaml\n  mneme schedules apply schedules.yaml",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if show {
				_, err := io.WriteString(a.out, workflows.DefaultSchedulesFile())
				return err
			}
			specs, err := a.readSchedules(strings.Join(args, ""))
			if err != nil {
				return err
			}
			s, err := a.schedules(cmd.Context())
			if err != nil {
				return err
			}
			ctx, cancel := a.within(cmd.Context())
			defer cancel()
			s.TakeOver = takeOver
			applied, err := s.Apply(ctx, specs)
			if err != nil {
				return scheduleError(err)
			}
			return a.print(page[workflows.AppliedSchedule]{Items: applied}, func(t *text) {
				rows := make([][]string, 0, len(applied))
				for _, s := range applied {
					note := strings.Join(s.Changed, ", ")
					if s.Paused {
						note = strings.TrimPrefix(note+"; it stays paused", "; ")
					}
					rows = append(rows, []string{s.Name, s.Outcome, s.ID, note})
				}
				t.table("SCHEDULE OUTCOME ID NOTE", rows)
			})
		},
	}
	cmd.Flags().BoolVar(&show, "print", false, "print the default file, and do nothing")
	cmd.Flags().BoolVar(&takeOver, "take-over", false, "move schedules of another task queue to this one")
	return cmd
}

func newSchedulesList(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "list",
		Short: "Show every schedule: when it runs, whether it is paused and why, its last run and the next",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			s, err := a.schedules(cmd.Context())
			if err != nil {
				return err
			}
			ctx, cancel := a.within(cmd.Context())
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
			return a.print(page[workflows.ScheduleStatus]{Items: known}, func(t *text) { schedulesText(t, known) })
		},
	}
}

func schedulesText(t *text, known []workflows.ScheduleStatus) {
	rows := make([][]string, 0, len(known))
	var notes []string
	for _, s := range known {
		state, last, next := "runs by itself", "", whenSet(s.Next)
		switch {
		case s.Missing:
			state, next = "missing", ""
			notes = append(notes, fmt.Sprintf("%s is missing: `mneme schedules apply` makes it", s.Name))
		case s.Paused:
			state = "paused by " + s.PausedBy
			notes = append(notes, fmt.Sprintf("%s: %s", s.Name, s.Note))
		}
		if s.Last != nil {
			last = when(s.Last.StartedAt) + " " + strings.ToLower(s.Last.Status)
			if s.Last.Error != "" {
				notes = append(notes, fmt.Sprintf("%s: the last run failed: %s", s.Name, s.Last.Error))
			}
		}
		rows = append(rows, []string{s.Name, s.When, state, last, next})
	}
	t.table("SCHEDULE WHEN STATE LAST NEXT", rows)
	for _, note := range notes {
		t.line("%s", oneLine(note))
	}
}

// scheduleDone is what a command prints that changed a schedule.
type scheduleDone struct {
	Schedule string `json:"schedule"`
	Done     string `json:"done"` // paused, resumed or backfilled
	Runs     int    `json:"runs,omitempty"`
	Reason   string `json:"reason,omitempty"`
}

// onSchedule makes a command that does something with one schedule.
func onSchedule(a *app, cmd *cobra.Command, do func(context.Context, workflows.Schedules, string) (any, func(*text), error)) *cobra.Command {
	cmd.Args = cobra.ExactArgs(1)
	cmd.ValidArgs = workflows.ScheduleNames()
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		known := false
		for _, name := range workflows.ScheduleNames() {
			known = known || name == args[0]
		}
		if !known {
			return invalid("name", "must be one of %s", strings.Join(workflows.ScheduleNames(), ", "))
		}
		s, err := a.schedules(cmd.Context())
		if err != nil {
			return err
		}
		ctx, cancel := a.within(cmd.Context())
		defer cancel()
		out, human, err := do(ctx, s, args[0])
		if err != nil {
			return scheduleError(err)
		}
		return a.print(out, human)
	}
	return cmd
}

func newSchedulesPause(a *app) *cobra.Command {
	var reason string
	cmd := onSchedule(a, &cobra.Command{
		Use:   "pause NAME",
		Short: "Keep a schedule from starting runs",
		Long: `Keep a schedule from starting runs. The schedule shows the reason, who paused it and on which day. A run that
is under way is not stopped: cancel it in the UI.`,
		Example: `  mneme schedules pause retention --reason "an audit asks for everything until May"`,
	}, func(ctx context.Context, s workflows.Schedules, name string) (any, func(*text), error) {
		if reason = strings.TrimSpace(reason); reason == "" {
			reason = "paused by hand"
		}
		if len(reason) > 500 {
			return nil, nil, invalid("reason", "must be at most 500 bytes")
		}
		note := fmt.Sprintf("%s (%s, %s)", reason, operator(), time.Now().UTC().Format(time.DateOnly))
		if err := s.Pause(ctx, name, note); err != nil {
			return nil, nil, err
		}
		return scheduleDone{Schedule: name, Done: "paused", Reason: note}, func(t *text) { t.line("%s is paused: %s", name, oneLine(note)) }, nil
	})
	cmd.Flags().StringVar(&reason, "reason", "", "why, for who finds it paused (default: paused by hand)")
	return cmd
}

func newSchedulesResume(a *app) *cobra.Command {
	return onSchedule(a, &cobra.Command{
		Use:   "resume NAME",
		Short: "Let a schedule start runs again",
		Long: `Let a schedule start runs again. What came due meanwhile is done by the next run, which does whatever is
due: ` + "`mneme schedules trigger NAME`" + ` does not wait for it.`,
	}, func(ctx context.Context, s workflows.Schedules, name string) (any, func(*text), error) {
		note := "" // of the defaults; a file of one's own says its own when it is applied next
		for _, spec := range workflows.DefaultSchedules() {
			if spec.Name == name {
				note = spec.Note
			}
		}
		if err := s.Resume(ctx, name, note); err != nil {
			return nil, nil, err
		}
		return scheduleDone{Schedule: name, Done: "resumed"}, func(t *text) { t.line("%s runs by itself again", name) }, nil
	})
}

// triggered is what `schedules trigger` prints.
type triggered struct {
	Schedule string `json:"schedule"`
	workflows.ScheduleRun
	URL string `json:"url,omitempty"`
}

func newSchedulesTrigger(a *app) *cobra.Command {
	return onSchedule(a, &cobra.Command{
		Use:   "trigger NAME",
		Short: "Start a run of a schedule now",
		Long: `Start a run of a schedule now, also of one that is paused. Two runs of a schedule never overlap: while one
goes on nothing is started, and the exit code is 6.`,
	}, func(ctx context.Context, s workflows.Schedules, name string) (any, func(*text), error) {
		run, err := s.Trigger(ctx, name)
		if err != nil {
			return nil, nil, err
		}
		out := triggered{Schedule: name, ScheduleRun: run, URL: a.runURL(run.WorkflowID, run.RunID)}
		return out, func(t *text) { t.fields("schedule", name, "workflow", run.WorkflowID, "ui", out.URL) }, nil
	})
}

func newSchedulesBackfill(a *app) *cobra.Command {
	var from, to string
	cmd := onSchedule(a, &cobra.Command{
		Use:   "backfill NAME",
		Short: "Start the runs that a schedule would have started between two times",
		Long: `Start the runs that a schedule would have started between two times, one after the other, at most a hundred.
There is seldom a need: a run does whatever is due, however many before it were missed. It is for a
workflow that looks at its own time, and to see one work repeatedly.`,
		Example: "  mneme schedules backfill drift --from 2026-05-08T00:00:00Z --to 2026-05-08T06:00:00Z",
	}, func(ctx context.Context, s workflows.Schedules, name string) (any, func(*text), error) {
		begin, err := parseTime("from", from)
		if err != nil {
			return nil, nil, err
		}
		end, err := parseTime("to", to)
		if err != nil {
			return nil, nil, err
		}
		switch now := time.Now(); {
		case begin == nil:
			return nil, nil, invalid("from", "is required")
		case end == nil:
			end = &now
		case end.After(now):
			return nil, nil, invalid("to", "must not be in the future: the schedule will run then")
		}
		if !begin.Before(*end) {
			return nil, nil, invalid("from", "must be before to")
		}
		n, err := s.Backfill(ctx, name, *begin, *end)
		if err != nil {
			return nil, nil, err
		}
		return scheduleDone{Schedule: name, Done: "backfilled", Runs: n}, func(t *text) { t.line("%d runs of %s are started, one after the other", n, name) }, nil
	})
	cmd.Flags().StringVar(&from, "from", "", "begin (RFC 3339, or a date; required)")
	cmd.Flags().StringVar(&to, "to", "", "end (RFC 3339, or a date; default now)")
	return cmd
}
