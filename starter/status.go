package main

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/mneme/mneme/schema/migrations"
	"github.com/mneme/mneme/store/pg"
	"github.com/mneme/mneme/store/read"
)

// systemStatus is what `status` prints.
type systemStatus struct {
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
	Denied    bool   `json:"denied,omitempty"` // it answers, and does not let this user in
	Error     string `json:"error,omitempty"`
}

type temporalStatus struct {
	Reachable bool   `json:"reachable"`
	Namespace string `json:"namespace"`
	Error     string `json:"error,omitempty"`
}

type workerStatus struct {
	Polling   bool       `json:"polling"`           // one takes work
	Answers   bool       `json:"answers,omitempty"` // one has just answered
	TaskQueue string     `json:"task_queue"`
	Seen      *time.Time `json:"seen,omitempty"` // when one last asked for work
}

func newStatus(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "status",
		Short: "Show what is there, what runs, and how much a tenant holds",
		Long: `Show whether Postgres is there and migrated, whether Temporal is, whether a worker answers, and how much the
tenant holds. The exit code is 4 when something is missing. Before the first run has completed there is
nothing to ask a worker about; then one that was killed still counts for a minute.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			s := a.systemStatus(cmd.Context())
			if err := a.print(s, s.text); err != nil {
				return err
			}
			if err := cmd.Context().Err(); err != nil {
				return err
			}
			switch {
			case s.Postgres.Denied:
				return unavailable("Postgres refuses the connection: correct DATABASE_URL")
			case !s.Postgres.Reachable:
				return unavailable("Postgres does not answer: run `make up`")
			case !s.Postgres.Migrated:
				return &codedError{exitUnavailable, pg.ErrNotMigrated}
			case !s.Temporal.Reachable:
				return unavailable("Temporal does not answer: run `make up`")
			case !s.Worker.Polling:
				return unavailable("no worker is there: run `make worker`")
			}
			return nil
		},
	}
}

func (a *app) systemStatus(ctx context.Context) systemStatus {
	s := systemStatus{UI: a.cfg.TemporalUI, Tenant: a.cfg.Principal.Tenant,
		Postgres: postgresStatus{Latest: migrations.Latest()}, Temporal: temporalStatus{Namespace: a.cfg.Namespace},
		Worker: workerStatus{TaskQueue: a.cfg.TaskQueue}}
	if err := a.lookAtPostgres(ctx, &s); err != nil {
		s.Postgres.Error, s.Postgres.Denied = oneLine(err.Error()), denied(err)
	}
	if err := a.lookAtTemporal(ctx, &s); err != nil {
		s.Temporal.Error = oneLine(err.Error())
	}
	s.OK = s.Postgres.Migrated && s.Temporal.Reachable && s.Worker.Polling
	return s
}

func (a *app) lookAtPostgres(ctx context.Context, s *systemStatus) error {
	databaseURL, err := a.databaseURL()
	if err != nil {
		return err
	}
	ctx, cancel := a.within(ctx)
	defer cancel()
	known, err := migrations.List(ctx, databaseURL)
	if err != nil {
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
	st, err := a.openStore(ctx)
	if err != nil {
		return err
	}
	counts, err := st.Stats(ctx, s.Tenant)
	if err != nil {
		return err
	}
	s.Counts = &counts
	s.Note, err = a.unknownTenant(ctx)
	return err
}

func (a *app) lookAtTemporal(ctx context.Context, s *systemStatus) error {
	c, err := a.openTemporal(ctx)
	if err != nil {
		return err
	}
	ctx, cancel := a.within(ctx)
	defer cancel()
	w, err := a.workerState(ctx, c)
	if err != nil {
		return err
	}
	s.Temporal.Reachable = true
	s.Worker.Polling, s.Worker.Answers = w.there(), w.answered
	if !w.seen.IsZero() {
		s.Worker.Seen = &w.seen
	}
	return nil
}

func (s systemStatus) text(t *text) {
	postgres := "does not answer: " + s.Postgres.Error
	switch p := s.Postgres; {
	case p.Denied:
		postgres = "refuses the connection: " + p.Error
	case p.Reachable && p.Migrated:
		postgres = fmt.Sprintf("up, migrated (version %d)", p.Version)
	case p.Reachable:
		postgres = fmt.Sprintf("up, but at version %d of %d: run `mneme migrate up`", p.Version, p.Latest)
	}
	temporal := "does not answer: " + s.Temporal.Error
	if s.Temporal.Reachable {
		temporal = "up (namespace " + s.Temporal.Namespace + ")"
	}
	worker := "none on task queue " + s.Worker.TaskQueue
	switch w := s.Worker; {
	case w.Answers:
		worker = "answers on task queue " + w.TaskQueue
	case w.Polling:
		worker = fmt.Sprintf("asked for work %s ago on task queue %s", span(time.Since(*w.Seen)), w.TaskQueue)
	case w.Seen != nil:
		worker += fmt.Sprintf(": the last one asked for work %s ago, and does not answer", span(time.Since(*w.Seen)))
	}
	t.fields("postgres", postgres, "temporal", temporal, "worker", worker, "ui", s.UI)
	if s.Counts == nil {
		return
	}
	c := s.Counts
	t.line("")
	t.note(s.Note)
	t.fields(
		"tenant", s.Tenant,
		"memories", counts(c.Memories),
		"entities", fmt.Sprintf("%d, with %d relations", c.Entities, c.Relations),
		"jobs", counts(c.Jobs),
		"oldest open job", whenSet(c.OldestJob),
		"to review", fmt.Sprint(c.ToReview),
		"history", fmt.Sprint(c.History),
		"to index", fmt.Sprint(c.IndexPending),
	)
}
