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
	brain, err := cfg.NewBrain()
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

	index := vector.PGVector{Store: st}
	fatal := make(chan error, 1)
	w := worker.New(temporal, cfg.TaskQueue, worker.Options{WorkerStopTimeout: stopTimeout, OnFatalError: func(err error) { fatal <- err }})
	workflows.Register(w, workflows.Dependencies{
		Store: st, Brain: brain, Index: index, Policy: cfg.Policy, Concurrency: cfg.Concurrency,
	})
	if err := w.Start(); err != nil {
		return fmt.Errorf("start worker: %w", err)
	}
	defer w.Stop()
	if err := workflows.EnsureSyncIndexSchedule(ctx, temporal, cfg.TaskQueue, index.Name()); err != nil {
		return err
	}
	stopHealth, err := serveHealth(cfg.HealthAddress, st, temporal, log)
	if err != nil {
		return err
	}
	defer stopHealth()
	log.Info("worker ready", "task_queue", cfg.TaskQueue, "namespace", cfg.Namespace, "health", cfg.HealthAddress,
		"brain", cfg.Brain, "embedder", brain.Embedder.Model().Name, "mode", cfg.Policy.Mode, "index", index.Name())
	select {
	case <-ctx.Done():
		log.Info("worker stopping", "grace", stopTimeout.String())
		return nil
	case err := <-fatal:
		return fmt.Errorf("worker: %w", err)
	}
}

// serveHealth answers /livez while the process runs, and /readyz while Postgres and Temporal answer.
func serveHealth(address string, st *store.Store, temporal client.Client, log *slog.Logger) (stop func(), err error) {
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
