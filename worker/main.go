// Command worker hosts Mneme's workflows and activities.
package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/worker"

	"github.com/mneme/mneme/internal/config"
	"github.com/mneme/mneme/store"
	"github.com/mneme/mneme/store/vector"
	"github.com/mneme/mneme/workflows"
)

// stopTimeout is how long running activities get to finish when the worker is told to stop. What
// is not finished by then is retried by another worker.
const stopTimeout = 20 * time.Second

func main() {
	log := slog.New(slog.NewJSONHandler(os.Stderr, nil))
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, log); err != nil {
		log.Error("worker stopped", "error", err)
		os.Exit(1)
	}
}

// run hosts everything until ctx ends.
func run(ctx context.Context, log *slog.Logger) error {
	cfg, err := config.Load()
	if err != nil {
		return err
	}
	if cfg.DatabaseURL == "" {
		return errors.New("DATABASE_URL: is not set, and no stack was found: run `make up`")
	}
	st, err := store.Open(ctx, store.Config{URL: cfg.DatabaseURL, MaxConns: int32(cfg.MaxConns), ApplicationName: "mneme-worker"})
	if err != nil {
		return err
	}
	defer st.Close()
	policies, err := config.LoadPolicies(cfg.PolicyFile, log)
	if err != nil {
		return err
	}
	brain, err := cfg.NewBrain(ctx)
	if err != nil {
		return err
	}
	temporal, err := cfg.DialTemporal(ctx, log)
	if err != nil {
		return err
	}
	defer temporal.Close()
	if err := workflows.RegisterSearchAttributes(ctx, temporal, cfg.Namespace); err != nil {
		return err
	}

	index, closeIndex, err := cfg.OpenIndex(st)
	if err != nil {
		return err
	}
	defer closeIndex()
	// Recall finds nothing by vector before there is a generation. An index that is away gets one later.
	if _, err := vector.Ensure(ctx, st, index, brain.Embedder.Model(), time.Now()); err != nil {
		log.Warn("vector index not ready", "index", index.Name(), "error", err)
	}
	fatal := make(chan error, 1)
	w := worker.New(temporal, cfg.TaskQueue, worker.Options{WorkerStopTimeout: stopTimeout, OnFatalError: func(err error) { fatal <- err }})
	workflows.Register(w, workflows.Dependencies{
		Store: st, Brain: brain, Index: index, Embedders: cfg.OtherEmbedder, Policy: cfg.Policy, Rules: policies.Current, Concurrency: cfg.Concurrency,
		Callers: cfg.Callers, TrustKey: cfg.TrustKey, With: cfg.RecallWith, Without: cfg.RecallWithout,
	})
	if err := w.Start(); err != nil {
		return fmt.Errorf("start worker: %w", err)
	}
	defer w.Stop()
	if err := workflows.EnsureSyncIndexSchedule(ctx, temporal, cfg.TaskQueue, index.Name()); err != nil {
		return err
	}
	if err := workflows.EnsureDriftSchedule(ctx, temporal, cfg.TaskQueue, index.Name()); err != nil {
		return err
	}
	defer watch(ctx, policies, cfg.PolicyFile)()
	stopHealth, err := serveHealth(cfg.HealthAddress, st, temporal, policies, log)
	if err != nil {
		return err
	}
	defer stopHealth()
	log.Info("worker ready", "task_queue", cfg.TaskQueue, "namespace", cfg.Namespace, "health", cfg.HealthAddress,
		"brain", cfg.Brain, "embedder", brain.Embedder.Model().Name, "mode", cfg.Policy.Mode, "index", index.Name(), "policy", policies.Current().Hash())
	select {
	case <-ctx.Done():
		log.Info("worker stopping", "grace", stopTimeout.String())
		return nil
	case err := <-fatal:
		return fmt.Errorf("worker: %w", err)
	}
}

// watch follows the rules file until ctx ends or stop is called; SIGHUP makes it look at once. Without a
// file SIGHUP means what it means to any program.
func watch(ctx context.Context, policies *config.Policies, path string) (stop func()) {
	if path == "" {
		return func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	hangup := make(chan os.Signal, 1)
	signal.Notify(hangup, syscall.SIGHUP)
	done := make(chan struct{})
	go func() {
		defer close(done)
		policies.Watch(ctx, config.PolicyPoll, hangup)
	}()
	return func() {
		cancel()
		<-done
		signal.Stop(hangup)
	}
}

// serveHealth answers /livez while the process runs, and /readyz while Postgres and Temporal answer. A
// rules file that could not be taken over does not make the worker unready: it works on under the
// rules before, and every worker that reads the file would be unready at once. /readyz names it.
func serveHealth(address string, st *store.Store, temporal client.Client, policies *config.Policies, log *slog.Logger) (stop func(), err error) {
	ready := func(ctx context.Context) error {
		if err := st.Ping(ctx); err != nil {
			return errors.New("postgres does not answer")
		}
		if _, err := temporal.CheckHealth(ctx, nil); err != nil {
			return errors.New("temporal does not answer")
		}
		return nil
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /livez", func(w http.ResponseWriter, _ *http.Request) { _, _ = fmt.Fprintln(w, "ok") })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(r.Context(), 2*time.Second)
		defer cancel()
		if err := ready(ctx); err != nil {
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
			return
		}
		_, _ = fmt.Fprintln(w, "ok")
		if err := policies.Stale(); err != nil {
			_, _ = fmt.Fprintf(w, "degraded: policy %q stays in force: %v\n", policies.Current().Hash(), err)
		}
	})
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return nil, fmt.Errorf("health endpoint: %w", err)
	}
	server := &http.Server{Handler: mux, ReadHeaderTimeout: 5 * time.Second}
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
