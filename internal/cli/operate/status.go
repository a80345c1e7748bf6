package operate

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/mneme/mneme/internal/cli/app"
	"github.com/mneme/mneme/schema/migrations"
	"github.com/mneme/mneme/store/pg"
	"github.com/mneme/mneme/store/read"
)

// SystemStatus is the output of `status`.
type SystemStatus struct {
	OK       bool           `json:"ok"`
	Postgres postgresStatus `json:"postgres"`
	Temporal temporalStatus `json:"temporal"`
	Worker   workerStatus   `json:"worker"`
	UI       string         `json:"ui,omitempty"`
	Tenant   string         `json:"tenant"`
	Note     string         `json:"note,omitempty"`   // that the tenant is not known
	Counts   *read.Stats    `json:"counts,omitempty"` // of the tenant
}

type postgresStatus struct {
	Reachable bool   `json:"reachable"`
	Migrated  bool   `json:"migrated"`
	Version   int64  `json:"version"`          // newest migration applied
	Latest    int64  `json:"latest"`           // newest that this program knows
	Denied    bool   `json:"denied,omitempty"` // it answers, but refuses this user
	Error     string `json:"error,omitempty"`
}

type temporalStatus struct {
	Reachable bool   `json:"reachable"`
	Namespace string `json:"namespace"`
	Error     string `json:"error,omitempty"`
}

type workerStatus struct {
	Polling   bool       `json:"polling"`           // a worker polls for work
	Answers   bool       `json:"answers,omitempty"` // a worker has just answered
	TaskQueue string     `json:"task_queue"`
	Seen      *time.Time `json:"seen,omitempty"` // last poll for work
}

// NewStatus returns the command that shows whether the services run.
func NewStatus(a *app.App) *cobra.Command {
	return &cobra.Command{
		Use:   "status",
		Short: "Show whether the services run, and how much a tenant has stored",
		Long: `Show whether Postgres runs and is migrated, whether Temporal runs, whether a worker answers, and how much the
tenant has stored. The exit code is 4 if something is missing. Until the first run has completed, a worker cannot be
queried, and a worker that was killed still counts for a minute.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			s := statusOfSystem(cmd.Context(), a)
			if err := a.Print(s, s.text); err != nil {
				return err
			}
			if err := cmd.Context().Err(); err != nil {
				return err
			}
			if _, err := a.DatabaseURL(); err != nil {
				return err
			}
			switch {
			case s.Postgres.Denied:
				return app.Unavailable("Postgres refuses the connection: fix DATABASE_URL")
			case !s.Postgres.Reachable:
				return app.Unavailable("Postgres does not answer: run `make up`")
			case !s.Postgres.Migrated:
				return app.WithCode(app.ExitUnavailable, pg.ErrNotMigrated)
			case !s.Temporal.Reachable:
				return app.Unavailable("Temporal does not answer: run `make up`")
			case !s.Worker.Polling:
				return app.Unavailable("no worker is running: run `make worker`")
			}
			return nil
		},
	}
}

func statusOfSystem(ctx context.Context, a *app.App) SystemStatus {
	s := SystemStatus{UI: a.Cfg.TemporalUI, Tenant: a.Cfg.Principal.Tenant,
		Postgres: postgresStatus{Latest: migrations.Latest()}, Temporal: temporalStatus{Namespace: a.Cfg.Namespace},
		Worker: workerStatus{TaskQueue: a.Cfg.TaskQueue}}
	if err := checkPostgres(ctx, a, &s); err != nil {
		s.Postgres.Error, s.Postgres.Denied = app.Message(err), app.Denied(err)
	}
	if err := checkTemporal(ctx, a, &s); err != nil {
		s.Temporal.Error = app.Message(app.Advise(err))
	}
	s.OK = s.Postgres.Migrated && s.Temporal.Reachable && s.Worker.Polling
	return s
}

func checkPostgres(ctx context.Context, a *app.App, s *SystemStatus) error {
	databaseURL, err := a.DatabaseURL()
	if err != nil {
		return err
	}
	ctx, cancel := a.Within(ctx)
	defer cancel()
	known, err := migrations.List(ctx, databaseURL)
	if err != nil {
		s.Postgres.Reachable = errors.Is(err, migrations.ErrFormerSeries)
		return err
	}
	s.Postgres.Reachable, s.Postgres.Migrated = true, true
	for _, m := range known {
		if m.Applied {
			s.Postgres.Version = m.Version
		} else {
			s.Postgres.Migrated = false
		}
	}
	if !s.Postgres.Migrated {
		return nil
	}
	st, err := a.OpenStore(ctx)
	if err != nil {
		return err
	}
	counts, err := st.Stats(ctx, s.Tenant)
	if err != nil {
		return err
	}
	s.Counts = &counts
	s.Note, err = a.UnknownTenant(ctx)
	return err
}

func checkTemporal(ctx context.Context, a *app.App, s *SystemStatus) error {
	c, err := a.OpenTemporal(ctx)
	if err != nil {
		return err
	}
	ctx, cancel := a.Within(ctx)
	defer cancel()
	w, err := a.WorkerState(ctx, c)
	if err != nil {
		return err
	}
	s.Temporal.Reachable = true
	s.Worker.Polling, s.Worker.Answers = w.There(), w.Answered
	if !w.Seen.IsZero() {
		s.Worker.Seen = &w.Seen
	}
	return nil
}

func (s SystemStatus) text(t *app.Text) {
	postgres := withMeaning("does not answer", s.Postgres.Error)
	switch p := s.Postgres; {
	case p.Denied:
		postgres = "refuses the connection: " + p.Error
	case p.Reachable && p.Migrated:
		postgres = fmt.Sprintf("up, migrated (version %d)", p.Version)
	case p.Reachable && p.Error != "":
		postgres = "up, but " + p.Error
	case p.Reachable:
		postgres = fmt.Sprintf("up, but at version %d of %d: run `mneme migrate up`", p.Version, p.Latest)
	}
	temporal := withMeaning("does not answer", s.Temporal.Error)
	if s.Temporal.Reachable {
		temporal = "up (namespace " + s.Temporal.Namespace + ")"
	}
	worker := "none on task queue " + s.Worker.TaskQueue
	switch w := s.Worker; {
	case w.Answers:
		worker = "answers on task queue " + w.TaskQueue
	case w.Polling:
		worker = fmt.Sprintf("polled %s ago on task queue %s", app.Span(time.Since(*w.Seen)), w.TaskQueue)
	case w.Seen != nil:
		worker += fmt.Sprintf(": the last one polled %s ago, and does not answer",
			app.Span(time.Since(*w.Seen)))
	}
	t.Fields("postgres", postgres, "temporal", temporal, "worker", worker, "ui", s.UI)
	if s.Counts == nil {
		return
	}
	c := s.Counts
	t.Line("")
	t.Note(s.Note)
	t.Fields(
		"tenant", s.Tenant,
		"memories", app.Counts(c.Memories),
		"entities", fmt.Sprintf("%d, with %d relations", c.Entities, c.Relations),
		"jobs", app.Counts(c.Jobs),
		"oldest open job", app.WhenSet(c.OldestJob),
		"to review", fmt.Sprint(c.ToReview),
		"history", fmt.Sprint(c.History),
		"to index", fmt.Sprint(c.IndexPending),
	)
}

// withMeaning returns what an error means, and the error if it does not say so itself.
func withMeaning(meaning, problem string) string {
	if strings.Contains(problem, meaning) {
		return problem
	}
	return meaning + ": " + problem
}
