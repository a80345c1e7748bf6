package app

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

	mneme "github.com/mneme/mneme/client"
	"github.com/mneme/mneme/client/inprocess"
	"github.com/mneme/mneme/internal/config"
	"github.com/mneme/mneme/internal/telemetry"
	"github.com/mneme/mneme/recall"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/store"
	"github.com/mneme/mneme/store/pg"
	"github.com/mneme/mneme/store/vector"
)

// App has the settings and connections that all commands share. Connections are opened on first use.
type App struct {
	In          io.Reader
	Out, ErrOut io.Writer

	Cfg           config.Config       // its principal comes from the flags
	trust         schema.TrustContext // the trust context from the flags
	CfgErr        error
	JSON          bool
	Timeout       time.Duration
	TimeoutFactor float64       // multiplies the deadlines of a recall; 0 is 1
	Probe         time.Duration // bounds the check of Postgres and the query of a worker; 0 is probeTimeout
	Started       bool          // flags and arguments were understood

	Interrupted string     // the hint that is printed after an interrupt
	told        sync.Map   // the notes of NoteOnce
	noting      sync.Mutex // one note at a time

	Store    *store.Store
	Temporal client.Client
	Closers  []func()          // for everything else that was opened
	traces   *telemetry.Traces // nil unless OpenTelemetry's variables enable traces
}

// Prepare makes the checks that all commands share.
func (a *App) Prepare(cmd *cobra.Command) (err error) {
	if cmd.Name() == "version" {
		return refuseUnused(cmd)
	}
	if a.CfgErr != nil && cmd.Name() != DoctorName { // doctor reports the error together with other problems
		return WithCode(ExitUsage, a.CfgErr)
	}
	if err := refuseEmpty(cmd); err != nil {
		return err
	}
	if err := refuseUnused(cmd); err != nil {
		return err
	}
	if a.Timeout <= 0 {
		return Invalid("timeout", "must be more than 0")
	}
	if err := a.Cfg.Principal.CheckUser(); err != nil {
		return err
	}
	if a.traces, err = telemetry.OpenTraces(cmd.Context(), "mneme", Version()); err != nil {
		return WithCode(ExitUsage, err)
	}
	return nil
}

// Close runs the closers and closes the connections that were opened.
func (a *App) Close() {
	for _, fn := range a.Closers {
		fn()
	}
	if a.Store != nil {
		a.Store.Close()
	}
	if a.Temporal != nil {
		a.Temporal.Close()
	}
	a.traces.Close()
}

// Within bounds ctx by --timeout.
func (a *App) Within(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, a.Timeout)
}

// DatabaseURL returns the address of the database, or an error with an exit code if it is not set or cannot be parsed.
func (a *App) DatabaseURL() (string, error) {
	if a.Cfg.DatabaseURL == "" {
		return "", Unavailable("DATABASE_URL is not set, and no stack was found: run `make up`")
	}
	if pg.CheckURL(a.Cfg.DatabaseURL) != nil {
		return "", WithCode(ExitUsage,
			errors.New("DATABASE_URL cannot be parsed; it must be like postgres://USER:PASSWORD@HOST:5432/DATABASE"))
	}
	return a.Cfg.DatabaseURL, nil
}

// OpenStore returns the store, connecting on first use.
func (a *App) OpenStore(ctx context.Context) (*store.Store, error) {
	if a.Store != nil {
		return a.Store, nil
	}
	databaseURL, err := a.DatabaseURL()
	if err != nil {
		return nil, err
	}
	ctx, cancel := a.Within(ctx)
	defer cancel()
	st, err := store.Open(ctx, pg.Config{URL: databaseURL, MaxConns: int32(a.Cfg.MaxConns),
		ApplicationName: "mneme-cli", Configure: a.traces.Pool})
	if err != nil {
		if ctx.Err() != nil {
			return nil, postgresAway(err)
		}
		return nil, DatabaseError(err)
	}
	a.Store = st
	return st, nil
}

// OpenTemporal returns the Temporal client, connecting on first use. It must not be called from two
// goroutines before it has returned once.
func (a *App) OpenTemporal(ctx context.Context) (client.Client, error) {
	if a.Temporal != nil {
		return a.Temporal, nil
	}
	ctx, cancel := a.Within(ctx)
	defer cancel()
	c, err := a.Cfg.DialTemporal(ctx, slog.New(slog.DiscardHandler), a.traces.Client)
	if err != nil {
		switch {
		case temporalRefuses(err):
			return nil, Unavailable(
				"Temporal refuses the connection (fix its credentials: TEMPORAL_API_KEY, TEMPORAL_TLS_…): %w", err)
		case TimedOut(err) || temporalAway(err):
			return nil, Unavailable("Temporal does not answer (is it running? `make up`): %w", err)
		}
		return nil, err
	}
	a.Temporal = c
	return c, nil
}

// UnknownTenant returns a note if nothing was ever stored for the tenant, for example because its name is misspelt;
// otherwise it is empty. A new tenant's first question is not an error, so the exit code stays 0.
func (a *App) UnknownTenant(ctx context.Context) (string, error) {
	st, err := a.OpenStore(ctx)
	if err != nil {
		return "", err
	}
	tenant := a.Cfg.Principal.Tenant
	known, err := st.KnowsTenant(ctx, tenant)
	if err != nil || known {
		return "", err
	}
	return "tenant " + tenant + " is not known: nothing was ever stored for it", nil
}

// Recaller returns the read path.
func (a *App) Recaller(ctx context.Context) (*recall.Recaller, error) {
	st, err := a.OpenStore(ctx)
	if err != nil {
		return nil, err
	}
	brain, err := a.Cfg.NewBrain(ctx)
	if err != nil {
		return nil, err
	}
	index, closeIndex, err := a.Cfg.OpenIndex(st)
	if err != nil {
		return nil, err
	}
	a.Closers = append(a.Closers, closeIndex)
	policy, err := a.PolicyInForce()
	if err != nil {
		return nil, err
	}
	r := inprocess.New(inprocess.Options{Store: st, Index: index, Reranking: brain.Reranking})
	r.Embedder = a.Cfg.QueryEmbedder(st, index, brain.Embedder)
	r.Policy, r.Settings = policy, a.Cfg.RecallSettings()
	r.TimeoutFactor = a.TimeoutFactor
	return r, nil
}

// watchEvery is the interval at which the state of an awaited run is read.
const watchEvery = 10 * time.Second

// Follow waits for a run to end, and reports what delays it. If no worker is running, it stops waiting; the run
// continues when a worker comes back.
func (a *App) Follow(ctx context.Context, run client.WorkflowRun, result any) error {
	c, err := a.OpenTemporal(ctx)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	var watch sync.WaitGroup
	defer watch.Wait() // it must not write to values that the caller reads afterwards
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
			if w, err := a.WorkerState(ctx, c); err == nil && ctx.Err() == nil && !w.There() {
				if time.Since(w.Seen) > WorkerAway {
					cancel(Unavailable("no worker is running that could continue workflow %s; it is durable "+
						"in Temporal and will run when a worker starts: `make worker`", run.GetID()))
					return
				}
				a.NoteOnce("mneme: no worker answers; waiting until one has been gone for %s",
					mneme.ShortDuration(WorkerAway))
			}
			if trouble := heldUp(ctx, c, run); trouble != "" && trouble != told {
				told = trouble
				a.Note("mneme: still trying: %s", OneLine(trouble))
			}
		}
	})
	err = run.Get(ctx, result)
	var coded *CodedError
	if err != nil && errors.As(context.Cause(ctx), &coded) {
		return coded
	}
	return err
}

// heldUp names the step of a run that failed and is being retried, if any. Messages of failures contain no content.
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

// RunURL returns the address of a run in Temporal's UI, or "" if the UI's address is not known. Without a run id it is
// the address of the latest run.
func (a *App) RunURL(workflowID, runID string) string {
	if a.Cfg.TemporalUI == "" {
		return ""
	}
	link := strings.TrimSuffix(a.Cfg.TemporalUI,
		"/") + "/namespaces/" + url.PathEscape(a.Cfg.Namespace) + "/workflows/" +
		url.PathEscape(workflowID)
	if runID != "" {
		link += "/" + url.PathEscape(runID)
	}
	return link
}

const DoctorName = "doctor"

// IndexName returns the name of the configured index.
func (a *App) IndexName() string {
	if a.Cfg.Qdrant.URL != "" {
		return vector.QdrantName
	}
	return vector.PGVectorName
}
