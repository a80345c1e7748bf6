package main

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"
	"go.temporal.io/sdk/client"

	"github.com/mneme/mneme/internal/config"
	"github.com/mneme/mneme/internal/telemetry"
	"github.com/mneme/mneme/recall"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/store"
	"github.com/mneme/mneme/store/pg"
	"github.com/mneme/mneme/store/vector"
	"github.com/mneme/mneme/workflows"
)

// app is what the commands share. Connections are opened when a command first needs them.
type app struct {
	in          io.Reader
	out, errOut io.Writer

	cfg      config.Config       // its principal is what the flags say
	trust    schema.TrustContext // what the flags say
	cfgErr   error
	json     bool
	timeout  time.Duration
	patience float64       // multiplies the deadlines of a recall; 0 is 1
	probe    time.Duration // bounds the look at Postgres and the question to a worker; 0 is probeTimeout
	started  bool          // flags and arguments were understood

	interrupted string     // what to say of an interrupt
	told        sync.Map   // what noteOnce has said
	noting      sync.Mutex // one note at a time

	store    *store.Store
	temporal client.Client
	closers  []func()          // of what else was opened
	traces   *telemetry.Traces // nil unless OpenTelemetry's variables ask for traces
}

// prepare checks what holds for every command that does something.
func (a *app) prepare(cmd *cobra.Command) (err error) {
	if cmd.Name() == "version" {
		return nil
	}
	if a.cfgErr != nil && cmd.Name() != doctorName { // which says what is wrong with it, beside what else is
		return &codedError{exitUsage, a.cfgErr}
	}
	if a.timeout <= 0 {
		return invalid("timeout", "must be more than 0")
	}
	if err := a.cfg.Principal.CheckUser(); err != nil {
		return err
	}
	if a.traces, err = telemetry.OpenTraces(cmd.Context(), "mneme", versionName()); err != nil {
		return &codedError{exitUsage, err}
	}
	return nil
}

func (a *app) close() {
	for _, fn := range a.closers {
		fn()
	}
	if a.store != nil {
		a.store.Close()
	}
	if a.temporal != nil {
		a.temporal.Close()
	}
	a.traces.Close()
}

// within bounds ctx by --timeout.
func (a *app) within(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, a.timeout)
}

func (a *app) databaseURL() (string, error) {
	if a.cfg.DatabaseURL == "" {
		return "", unavailable("DATABASE_URL is not set, and no stack was found: run `make up`")
	}
	return a.cfg.DatabaseURL, nil
}

// openStore returns the store, connecting on first use.
func (a *app) openStore(ctx context.Context) (*store.Store, error) {
	if a.store != nil {
		return a.store, nil
	}
	databaseURL, err := a.databaseURL()
	if err != nil {
		return nil, err
	}
	ctx, cancel := a.within(ctx)
	defer cancel()
	st, err := store.Open(ctx, pg.Config{URL: databaseURL, MaxConns: int32(a.cfg.MaxConns), ApplicationName: "mneme-cli", Configure: a.traces.Pool})
	if err != nil {
		if ctx.Err() != nil {
			return nil, postgresAway(err)
		}
		return nil, databaseError(err)
	}
	a.store = st
	return st, nil
}

// openTemporal returns the Temporal client, connecting on first use. It must not be called from two
// goroutines before it has returned once.
func (a *app) openTemporal(ctx context.Context) (client.Client, error) {
	if a.temporal != nil {
		return a.temporal, nil
	}
	ctx, cancel := a.within(ctx)
	defer cancel()
	c, err := a.cfg.DialTemporal(ctx, slog.New(slog.DiscardHandler), a.traces.Client)
	if err != nil {
		switch {
		case temporalRefuses(err):
			return nil, unavailable("Temporal refuses the connection (correct its credentials: TEMPORAL_API_KEY, TEMPORAL_TLS_…): %w", err)
		case timedOut(err) || temporalAway(err):
			return nil, unavailable("Temporal does not answer (is it up? `make up`): %w", err)
		}
		return nil, err
	}
	a.temporal = c
	return c, nil
}

// unknownTenant says that nothing was ever handed in for the tenant, as where its name is misspelt; it is empty
// otherwise. A new tenant's first question is no error, so that the exit code stays 0.
func (a *app) unknownTenant(ctx context.Context) (string, error) {
	st, err := a.openStore(ctx)
	if err != nil {
		return "", err
	}
	tenant := a.cfg.Principal.Tenant
	known, err := st.KnowsTenant(ctx, tenant)
	if err != nil || known {
		return "", err
	}
	return "tenant " + tenant + " is not known here: nothing was ever handed in for it", nil
}

// recaller returns the read path.
func (a *app) recaller(ctx context.Context) (*recall.Recaller, error) {
	st, err := a.openStore(ctx)
	if err != nil {
		return nil, err
	}
	brain, err := a.cfg.NewBrain(ctx)
	if err != nil {
		return nil, err
	}
	index, closeIndex, err := a.cfg.OpenIndex(st)
	if err != nil {
		return nil, err
	}
	a.closers = append(a.closers, closeIndex)
	policy, err := a.policyInForce()
	if err != nil {
		return nil, err
	}
	return &recall.Recaller{TrustKey: a.cfg.TrustKey, Policy: policy, Store: st, Index: index, Embedder: a.cfg.QueryEmbedder(st, index, brain.Embedder), Reranking: brain.Reranking,
		With: a.cfg.RecallWith, Without: a.cfg.RecallWithout, DailyDecay: a.cfg.ImportanceDecay, Patience: a.patience}, nil
}

// watchEvery is how often a run that is waited for is looked at.
const watchEvery = 10 * time.Second

// follow waits for a run to end, and says what holds it up. It gives up when no worker is left to
// take it there; the run itself goes on when one comes back.
func (a *app) follow(ctx context.Context, run client.WorkflowRun, result any) error {
	c, err := a.openTemporal(ctx)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	var watch sync.WaitGroup
	defer watch.Wait() // it must not write to what the caller reads by then
	defer cancel(nil)
	watch.Go(func() {
		tick := time.NewTicker(watchEvery)
		defer tick.Stop()
		told := ""
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
			if w, err := a.workerState(ctx, c); err == nil && ctx.Err() == nil && !w.there() {
				if time.Since(w.seen) > workerAway {
					cancel(unavailable("no worker is there to go on with workflow %s; it is durable in Temporal and will run when a worker starts: `make worker`", run.GetID()))
					return
				}
				a.noteOnce("mneme: no worker answers; waiting until one has been gone for %s", workflows.ShortDuration(workerAway))
			}
			if trouble := heldUp(ctx, c, run); trouble != "" && trouble != told {
				told = trouble
				a.note("mneme: still trying: %s", oneLine(trouble))
			}
		}
	})
	err = run.Get(ctx, result)
	var coded *codedError
	if err != nil && errors.As(context.Cause(ctx), &coded) {
		return coded
	}
	return err
}

// heldUp says which step of a run failed and is being tried again, if any. Messages of failures hold
// no content.
func heldUp(ctx context.Context, c client.Client, run client.WorkflowRun) string {
	described, err := c.DescribeWorkflowExecution(ctx, run.GetID(), run.GetRunID())
	if err != nil {
		return ""
	}
	for _, activity := range described.GetPendingActivities() {
		if failure := activity.GetLastFailure(); failure != nil {
			return activity.GetActivityType().GetName() + " failed: " + failure.GetMessage()
		}
	}
	return ""
}

// runURL is the address of a run in Temporal's UI; empty when the UI's address is not known.
// Without a run id it is that of the latest run.
func (a *app) runURL(workflowID, runID string) string {
	if a.cfg.TemporalUI == "" {
		return ""
	}
	link := strings.TrimSuffix(a.cfg.TemporalUI, "/") + "/namespaces/" + url.PathEscape(a.cfg.Namespace) + "/workflows/" + url.PathEscape(workflowID)
	if runID != "" {
		link += "/" + url.PathEscape(runID)
	}
	return link
}

const doctorName = "doctor"

// indexName is the name of the index that the settings choose.
func (a *app) indexName() string {
	if a.cfg.Qdrant.URL != "" {
		return vector.QdrantName
	}
	return vector.PGVectorName
}
