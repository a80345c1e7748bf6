// Command worker hosts Mneme's workflows and activities.
package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/worker"

	"github.com/mneme/mneme/activities/step"
	mneme "github.com/mneme/mneme/client"
	"github.com/mneme/mneme/inference"
	"github.com/mneme/mneme/internal/config"
	"github.com/mneme/mneme/internal/telemetry"
	"github.com/mneme/mneme/store"
	"github.com/mneme/mneme/store/pg"
	"github.com/mneme/mneme/store/vector"
	"github.com/mneme/mneme/workflows"
)

// stopTimeout is how long running activities may take to finish when the worker is stopped. Another worker retries
// those that do not finish.
const stopTimeout = 20 * time.Second

// version is set by the Makefile.
var version = ""

func main() {
	config.CollectGarbageLess()
	log := slog.New(slog.NewJSONHandler(os.Stderr, nil))
	slog.SetDefault(log) // also for package log, to which libraries report
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
	traces, err := telemetry.OpenTraces(ctx, "mneme-worker", version)
	if err != nil {
		return err
	}
	defer traces.Close()
	metrics, err := telemetry.NewMetrics(version)
	if err != nil {
		return err
	}
	database := pg.Config{URL: cfg.DatabaseURL, MaxConns: int32(cfg.MaxConns), ApplicationName: "mneme-worker",
		Configure: traces.Pool, TimedOut: metrics.StatementTimedOut}
	st, err := store.Open(ctx, database)
	if err != nil {
		return err
	}
	defer st.Close()
	healthStore, err := openHealth(ctx, database)
	if err != nil {
		return err
	}
	defer healthStore.Close()
	stopReading, err := metrics.Open(ctx, database, telemetry.Reading{Tenants: cfg.MetricsTenants, Log: log})
	if err != nil {
		return err
	}
	defer stopReading()
	policies, err := config.LoadPolicies(cfg.PolicyFile, log)
	if err != nil {
		return err
	}
	temporal, err := cfg.DialTemporal(ctx, log, metrics.Client, traces.Client)
	if err != nil {
		return err
	}
	defer temporal.Close()
	if err := mneme.RegisterSearchAttributes(ctx, temporal, cfg.Namespace); err != nil {
		return err
	}

	index, closeIndex, err := cfg.OpenIndex(st)
	if err != nil {
		return err
	}
	defer closeIndex()
	schedules := mneme.Schedules{Client: temporal, Namespace: cfg.Namespace, TaskQueue: cfg.TaskQueue,
		Index: index.Name()}
	h := &health{store: healthStore, temporal: temporal, schedules: schedules, policies: policies,
		jobAge: cfg.ReadyJobAge, indexLag: cfg.ReadyIndexLag, now: time.Now}
	h.enter(starting)
	mux := http.NewServeMux()
	h.register(mux)
	mux.Handle("GET /metrics", metrics.Handler(log))
	// From here on the start may take long, if a model is read or the index is slow: the process is alive meanwhile.
	stopHealth, err := serve(cfg.HealthAddress, mux, log)
	if err != nil {
		return err
	}
	defer stopHealth()

	cfg.Gate = inference.NewGate(cfg.Concurrency)
	brain, err := cfg.NewBrain(ctx)
	if err != nil {
		return err
	}
	brain = metrics.Count(brain)
	// Recall finds nothing by vector before there is a generation. If the index is unavailable, it gets one later.
	if _, err := vector.Ensure(ctx, st, index, brain.Embedder.Model(), time.Now()); err != nil {
		log.Warn("vector index not ready", "index", index.Name(), "error", err)
	}
	fatal := make(chan error, 1)
	worker.SetStickyWorkflowCacheSize(cfg.StickyRuns)
	w := worker.New(temporal, cfg.TaskQueue, workerOptions(cfg, metrics, func(err error) {
		h.ended(err)
		select {
		case fatal <- err:
		default: // an earlier error is pending already
		}
	}))
	workflows.Register(w, dependencies(cfg, log, st, index, brain, policies, metrics))
	if err := w.Start(); err != nil {
		return fmt.Errorf("start worker: %w", err)
	}
	defer w.Stop()
	if err := schedules.Ensure(ctx, mneme.DefaultSchedules()); err != nil {
		return err
	}
	defer watch(ctx, policies, cfg.PolicyFile)()
	h.enter(running)
	defer h.enter(stopping)
	log.Info("worker ready", "task_queue", cfg.TaskQueue, "activity_slots", cfg.ActivitySlots(),
		"namespace", cfg.Namespace, "health", cfg.HealthAddress,
		"brain", cfg.Brain, "embedder", brain.Embedder.Model().Name, "mode", cfg.Policy.Mode,
		"index", index.Name(), "policy", policies.Current().Hash())
	select {
	case <-ctx.Done():
		log.Info("worker stopping", "grace", stopTimeout.String())
		return nil
	case err := <-fatal:
		return fmt.Errorf("worker: %w", err)
	}
}

// workerOptions returns the options of the Temporal worker. It calls onFatal when its loop ends with an error.
func workerOptions(cfg config.Config, metrics *telemetry.Metrics, onFatal func(error)) worker.Options {
	options := cfg.WorkerOptions()
	options.WorkerStopTimeout = stopTimeout
	options.Interceptors = []interceptor.WorkerInterceptor{metrics.Interceptor(), step.Jitter()}
	options.OnFatalError = onFatal
	return options
}

// dependencies returns what the workflows and activities need, by the settings.
func dependencies(
	cfg config.Config,
	log *slog.Logger,
	st *store.Store,
	index vector.Index,
	brain inference.Brain,
	policies *config.Policies,
	metrics *telemetry.Metrics,
) workflows.Dependencies {
	return workflows.Dependencies{
		Store:       st,
		Brain:       brain,
		Index:       index,
		Embedders:   metrics.CountOthers(cfg.OtherEmbedder),
		Concurrency: cfg.Concurrency,

		Policy:  cfg.Policy,
		Rules:   policies.Current,
		Callers: cfg.Callers,
		Recall:  cfg.RecallSettings(),

		NoPipeline:           !cfg.Pipeline,
		NoGraph:              !cfg.Graph,
		TokenBudget:          cfg.TokenBudget,
		Due:                  cfg.Due,
		SweepShare:           cfg.SweepShare,
		SweepBatch:           cfg.SweepBatch,
		ReflectionVisibility: cfg.ReflectionVisibility,
		GlobalKinds:          cfg.GlobalKinds,

		MemoryIndex:      cfg.OpenMemoryIndex(st, index, brain.Embedder, log),
		SweepMemoryIndex: cfg.SweepMemoryIndex(st, index),
		WipeMemoryIndex:  cfg.WipeMemoryIndex(index),

		Observe:           metrics.ObserveRecall,
		ObserveAdvice:     metrics.ObserveAdvice,
		ObserveReflection: metrics.ObserveReflection,
		ObserveLearned:    metrics.ObserveLearned,
		ObserveArrival:    metrics.ObserveArrival,
		BudgetHeld:        metrics.BudgetHeld,
	}
}

// watch follows the rules file until ctx ends or stop is called; SIGHUP makes it check at once. Without a file SIGHUP
// has its usual effect.
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
