package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"go.temporal.io/sdk/client"
	"golang.org/x/sync/errgroup"

	mneme "github.com/mneme/mneme/client"
	"github.com/mneme/mneme/internal/config"
	"github.com/mneme/mneme/schema/migrations"
	"github.com/mneme/mneme/store"
	"github.com/mneme/mneme/store/pg"
)

const (
	// readyWithin bounds one check, so that a probe gets an answer even if a dependency hangs. It is shorter than the
	// time-out that orchestrators usually give a probe.
	readyWithin = 2 * time.Second
	// readyFor is how long an answer is cached, which limits how often the parts are checked.
	readyFor = 3 * time.Second
	// schedulesFor is how long the states of schedules are cached: each check is a query of a workflow, and hours
	// pass between the runs of schedules.
	schedulesFor = 30 * time.Second
	// schedulesGrace is how long the states of schedules may be unknown at the start, and schedulesStale how old they
	// may get. A server that is too busy to answer is not a failure of a schedule, but it hides one.
	schedulesGrace = time.Minute
	schedulesStale = 5 * time.Minute
)

// health answers two different questions.
//
// Liveness (/livez) is about this process, and a restart is the remedy. It fails only if the worker's own loop has
// ended, not for anything that a restart does not fix: without Postgres, every worker would be restarted repeatedly,
// and none would be running when Postgres comes back.
//
// Readiness (/readyz) shows whether the installation keeps up with its work. Temporal's tasks do not come through this
// endpoint, so the worker keeps working if readiness fails. It is for operators and for rollouts, which should not
// replace the next worker while the current ones make no progress. A worker that starts or stops is not ready. Most of
// its checks are about the installation and not about this worker, so all workers report the same, and a rollout that
// should fix a backlog must be told to continue. A schedule that an operator paused is not a failure.
type health struct {
	store     *store.Store // openHealth's
	temporal  client.Client
	schedules mneme.Schedules
	policies  *config.Policies
	jobAge    time.Duration // how long a job may wait; 0: without limit
	indexLag  time.Duration // how late the index may be; 0: without limit
	now       func() time.Time

	died  atomic.Pointer[string] // why the worker's loop has ended
	phase atomic.Pointer[string] // why it is not ready although it is alive: it starts or stops

	mu        sync.Mutex // for one check at a time
	checkedAt time.Time
	reasons   []string

	begun     time.Time // when schedules were first to be read
	scheduled time.Time // when paused was read; zero: never
	missed    int       // consecutive failures to read it
	paused    []string  // schedules that a failure paused
}

// openHealth opens a separate connection to Postgres for health checks. Through the workers' connections, a check
// would wait in their queue and report a Postgres that is busy with an import as unavailable.
func openHealth(ctx context.Context, database pg.Config) (*store.Store, error) {
	database.MaxConns, database.ApplicationName = 2, "mneme-health" // one, and one more while that one is closed
	// the server ends statements that the check no longer waits for
	database.StatementTimeout = readyWithin
	return store.Open(ctx, database)
}

// ended records that the worker's loop has ended and does not restart.
func (h *health) ended(err error) {
	why := err.Error()
	h.died.CompareAndSwap(nil, &why)
}

// Phases of a worker.
const (
	starting = "the worker is starting"
	stopping = "the worker is stopping"
	running  = ""
)

// enter records the worker's phase.
func (h *health) enter(phase string) {
	if phase == running {
		h.phase.Store(nil)
		return
	}
	h.phase.Store(&phase)
}

// unready returns every reason why this installation is not ready, in a fixed order, or none. The answer is at most
// readyFor old. Cancelling the first caller does not cancel the check, because others wait for the same answer.
func (h *health) unready(ctx context.Context) []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	if now := h.now(); h.checkedAt.IsZero() || now.Sub(h.checkedAt) >= readyFor || now.Before(h.checkedAt) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), readyWithin)
		defer cancel()
		h.reasons = h.check(ctx)
		h.checkedAt = h.now()
	}
	return h.reasons
}

func (h *health) check(ctx context.Context) []string {
	var postgres, temporal []string
	var group errgroup.Group // neither waits for the other
	group.Go(func() error { postgres = h.checkPostgres(ctx); return nil })
	group.Go(func() error { temporal = h.checkTemporal(ctx); return nil })
	_ = group.Wait()
	return append(postgres, temporal...)
}

func (h *health) checkPostgres(ctx context.Context) (out []string) {
	if err := h.store.Ping(ctx); err != nil {
		return []string{"postgres does not answer"}
	}
	// A newer schema means that a rollout is under way: migrations only add, so that this version still works.
	switch version, err := h.store.MigrationVersion(ctx); {
	case err != nil:
		out = append(out, "the schema's version cannot be read")
	case version < migrations.Latest():
		out = append(out, fmt.Sprintf("migrations are missing: the database is at version %d and needs %d",
			version, migrations.Latest()))
	}
	if h.jobAge > 0 {
		switch queue, err := h.store.JobQueue(ctx); {
		case err != nil:
			out = append(out, "the job queue cannot be read")
		case queue.Oldest != nil && h.now().Sub(*queue.Oldest) > h.jobAge:
			out = append(out,
				fmt.Sprintf("the oldest of %d open jobs has waited %s, longer than MNEME_READY_JOB_AGE (%s)",
					queue.Waiting, age(h.now().Sub(*queue.Oldest)), age(h.jobAge)))
		}
	}
	if h.indexLag > 0 {
		switch lag, err := h.store.OutboxLag(ctx); {
		case err != nil:
			out = append(out, "the lag of the index cannot be read")
		case lag.Oldest != nil && h.now().Sub(*lag.Oldest) > h.indexLag:
			out = append(out,
				fmt.Sprintf("the index lags by %s with %d changes, longer than MNEME_READY_INDEX_LAG (%s)",
					age(h.now().Sub(*lag.Oldest)), lag.Pending, age(h.indexLag)))
		}
	}
	return out
}

func (h *health) checkTemporal(ctx context.Context) []string {
	if _, err := h.temporal.CheckHealth(ctx, nil); err != nil {
		return []string{"temporal does not answer"}
	}
	now := h.now()
	if h.begun.IsZero() || now.Before(h.begun) {
		h.begun = now
	}
	if h.scheduled.IsZero() || now.Sub(h.scheduled) >= schedulesFor || now.Before(h.scheduled) {
		// If the server is too busy to answer, its last answer is used for a while.
		known, err := h.schedules.Statuses(ctx, nil)
		if h.missed++; err == nil {
			h.scheduled, h.paused, h.missed = now, nil, 0
			for _, s := range known {
				// its note quotes a failure, which only users of the namespace may see
				if s.PausedBy == mneme.PausedByFailure {
					h.paused = append(h.paused,
						fmt.Sprintf("schedule %s is paused by a failure: `mneme schedules list` says which",
							s.Name))
				}
			}
		}
	}
	switch {
	case h.missed < 2: // one miss is ignored, even if checks are far apart
	case h.scheduled.IsZero() && now.Sub(h.begun) > schedulesGrace:
		return []string{"whether a failure has paused a schedule could never be read"}
	case !h.scheduled.IsZero() && now.Sub(h.scheduled) > schedulesStale:
		return []string{fmt.Sprintf("whether a failure has paused a schedule could not be read for %s",
			age(now.Sub(h.scheduled)))}
	}
	return h.paused
}

func age(d time.Duration) string { return mneme.ShortDuration(d.Truncate(time.Second)) }

// register adds the two endpoints. An invalid rules file does not make the worker unready: the worker continues with
// the previous rules, and otherwise every worker that reads the file would become unready at once. /readyz names the
// problem.
func (h *health) register(mux *http.ServeMux) {
	mux.HandleFunc("GET /livez", func(w http.ResponseWriter, _ *http.Request) {
		if why := h.died.Load(); why != nil {
			http.Error(w, "the worker has stopped: "+*why, http.StatusServiceUnavailable)
			return
		}
		_, _ = fmt.Fprintln(w, "ok")
	})
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, r *http.Request) {
		if phase := h.phase.Load(); phase != nil {
			http.Error(w, *phase, http.StatusServiceUnavailable)
			return
		}
		reasons := h.unready(r.Context())
		if why := h.died.Load(); why != nil {
			reasons = append([]string{"the worker has stopped: " + *why}, reasons...)
		}
		if len(reasons) > 0 {
			http.Error(w, strings.Join(reasons, "\n"), http.StatusServiceUnavailable)
			return
		}
		_, _ = fmt.Fprintln(w, "ok")
		if err := h.policies.Stale(); err != nil {
			_, _ = fmt.Fprintf(w, "degraded: policy %q stays in force: %v\n", h.policies.Current().Hash(), err)
		}
	})
}

// newServer returns a server that no client can hold: one that sends its request slowly, does not read the answer, or
// keeps its connection without asking again is disconnected.
func newServer(handler http.Handler) *http.Server {
	return &http.Server{Handler: handler, ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 10 * time.Second,
		WriteTimeout: 30 * time.Second, IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 64 << 10}
}

// serve answers what has been registered, until it is stopped.
func serve(address string, mux *http.ServeMux, log *slog.Logger) (stop func(), err error) {
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return nil, fmt.Errorf("health endpoint: %w", err)
	}
	server := newServer(mux)
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := server.Serve(listener); err != nil && !errors.Is(err, http.ErrServerClosed) {
			log.Error("health endpoint stopped", "error", err)
		}
	}()
	return func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		_ = server.Shutdown(ctx)
		<-done
	}, nil
}
