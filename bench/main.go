package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"os/signal"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/worker"

	mneme "github.com/mneme/mneme/client"
	"github.com/mneme/mneme/inference"
	"github.com/mneme/mneme/internal/config"
	"github.com/mneme/mneme/memory/proposals"
	"github.com/mneme/mneme/schema/migrations"
	"github.com/mneme/mneme/store"
	"github.com/mneme/mneme/store/pg"
	"github.com/mneme/mneme/store/vector"
	"github.com/mneme/mneme/workflows"
)

// part is one of the measurements.
type part struct {
	name string
	run  func(*bench, context.Context) error
}

// withoutTemporal are the parts that need only Postgres.
var withoutTemporal = []string{"changes", "beam", "both"}

var parts = []part{
	{"ingest", (*bench).ingest},
	{"remember", (*bench).remember},
	{"recall", (*bench).recall},
	{"tenants", (*bench).tenants},
	{"metrics", (*bench).metrics},
	{"quality", (*bench).quality},
	{"ablation", (*bench).ablation},
	{"revise", (*bench).revise},
	{"forget", (*bench).forget},
	{"decay", (*bench).decay},
	{"retention", (*bench).retention},
	{"changes", (*bench).changes},
	{"beam", (*bench).beam},
	{"both", (*bench).both},
}

func main() {
	config.CollectGarbageLess() // as a worker does
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	b := &bench{}
	only := flag.String("only", "", "comma-separated parts: "+strings.Join(partNames(), ", "))
	flag.IntVar(&b.observations, "observations", 10_000, "observations to ingest")
	flag.StringVar(&b.sizes, "sizes", "10000,100000", "numbers of memories to recall over")
	flag.IntVar(&b.queries, "queries", 400, "recall queries a measurement")
	flag.IntVar(&b.ofTenant, "of-tenant", 100, "memories of each of a thousand tenants")
	flag.IntVar(&b.singles, "singles", 100, "single remembers a measurement")
	flag.IntVar(&b.revisions, "revisions", 1_000, "revisions a measurement")
	flag.IntVar(&b.forgotten, "forgotten", 50_000, "memories to forget")
	flag.StringVar(&b.stock, "stock", "10000,100000,1000000", "decay: numbers of memories stored, growing")
	flag.IntVar(&b.purged, "purged", 20_000, "retention: tombstones to purge")
	flag.StringVar(&b.variants, "variants", "",
		"ablation, both: only the default and variants whose name contains one of these, comma-separated")
	flag.StringVar(&b.data, "data", "../shared/data/locomo-dev.jsonl",
		"evaluation conversations; that part is left out when they are absent")
	flag.Uint64Var(&b.changing.seed, "seed", 1, "changes: of the generator")
	flag.StringVar(&b.changing.half, "half", "all", "changes: dev, second, third, heldout or all")
	flag.StringVar(&b.changing.scenarios, "scenarios", "",
		"changes: a file of scenarios to measure instead, see changes.FromScenarios")
	flag.StringVar(&b.changing.questions, "questions", "",
		"changes: a file of statements with questions to measure instead, see changes.FromQuestions")
	flag.BoolVar(&b.changing.quick, "quick", false, "changes, beam: a fifth of them")
	flag.BoolVar(&b.changing.atOnce, "at-once", false,
		"changes: send all statements of a tenant in one request, as an import does")
	flag.BoolVar(&b.changing.showFailures, "failures", false,
		"changes, beam, both: print what went wrong; of the held-out half only with -show-heldout")
	flag.BoolVar(&b.changing.showHidden, "show-heldout", false,
		"changes: also print single failures of the held-out half; not for people who write the rules")
	flag.StringVar(&b.corpus, "corpus", "", "recall: templates or natural; empty for both")
	clients := flag.String("clients", "1,8", "recall: numbers of clients")
	flag.StringVar(&b.site, "site", "",
		"recall, both: prefix of the names of schemas that are kept for the next run and reused")
	flag.StringVar(&b.answers, "answers", "",
		"recall: write the answers to all questions to this file and measure nothing, to compare two programs")
	flag.StringVar(&b.profile, "profile", "",
		"ingest, recall: write processor profiles to files whose names begin with this")
	flag.StringVar(&b.beamData, "beam", "../shared/data/beam-dev.jsonl",
		"conversations of BEAM; that part is left out when they are absent")
	flag.Parse()
	for _, field := range strings.Split(*clients, ",") {
		n, err := strconv.Atoi(field)
		if err != nil || n < 1 {
			fmt.Fprintln(os.Stderr, "bench: -clients must be numbers")
			os.Exit(2)
		}
		b.clients = append(b.clients, n)
	}
	if err := b.main(ctx, *only); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func partNames() (out []string) {
	for _, p := range parts {
		out = append(out, p.name)
	}
	return out
}

// bench is one run of the measurements.
type bench struct {
	observations, queries, singles int
	revisions, forgotten, ofTenant int
	purged                         int
	sizes, data, variants, stock   string
	beamData                       string
	corpus, site, answers, profile string
	clients                        []int
	changing                       changing

	cfg      config.Config
	brain    inference.Brain
	temporal client.Client
}

func (b *bench) main(ctx context.Context, only string) error {
	var err error
	if b.cfg, err = config.Load(); err != nil {
		return err
	}
	if b.cfg.DatabaseURL == "" {
		return errors.New("no stack was found: run `make up`")
	}
	if b.brain, err = b.cfg.NewBrain(ctx); err != nil {
		return err
	}
	chosen := slices.DeleteFunc(slices.Clone(parts), func(p part) bool {
		return only != "" && !strings.Contains(","+only+",", ","+p.name+",")
	})
	if slices.ContainsFunc(chosen, func(p part) bool { return !slices.Contains(withoutTemporal, p.name) }) {
		if b.temporal, err = b.cfg.DialTemporal(ctx, slog.New(slog.DiscardHandler)); err != nil {
			return err
		}
		defer b.temporal.Close()
		if err := mneme.RegisterSearchAttributes(ctx, b.temporal, b.cfg.Namespace); err != nil {
			return err
		}
	}
	fmt.Printf("# mneme bench, %s, %s/%s, %d cores, brain %s, embedder %s\n",
		time.Now().UTC().Format("2006-01-02 15:04"),
		runtime.GOOS, runtime.GOARCH, runtime.NumCPU(), b.cfg.Brain, b.brain.Embedder.Model().Name)
	for _, p := range chosen {
		if err := p.run(b, ctx); err != nil {
			return fmt.Errorf("%s: %w", p.name, err)
		}
	}
	return nil
}

// site is a migrated schema with a store on it.
type site struct {
	*store.Store
	url, schema string
}

// newSite creates a separate schema; drop removes it.
func (b *bench) newSite(ctx context.Context) (s site, drop func(), err error) {
	return b.siteIn(ctx, "bench_"+strings.ReplaceAll(uuid.NewString(), "-", ""))
}

// applicationName is the application name of the store's connections.
const applicationName = "mneme-bench"

// siteIn is newSite with a named schema, which may already exist.
func (b *bench) siteIn(ctx context.Context, name string) (s site, drop func(), err error) {
	s.schema = name
	u, err := url.Parse(b.cfg.DatabaseURL)
	if err != nil {
		return s, nil, errors.New("DATABASE_URL cannot be parsed")
	}
	q := u.Query()
	q.Set("search_path", s.schema+",public")
	u.RawQuery = q.Encode()
	s.url = u.String()
	if err := b.owner(ctx, b.cfg.DatabaseURL, func(conn *pgx.Conn) error {
		_, err := conn.Exec(ctx, "CREATE SCHEMA IF NOT EXISTS "+s.schema)
		return err
	}); err != nil {
		return s, nil, err
	}
	drop = func() {
		if s.Store != nil {
			s.Close()
		}
		// Clean up even if the run's context has ended.
		_ = b.owner(context.Background(), b.cfg.DatabaseURL, func(conn *pgx.Conn) error {
			_, err := conn.Exec(context.Background(), "DROP SCHEMA "+s.schema+" CASCADE")
			return err
		})
	}
	if _, err = migrations.Up(ctx, s.url); err == nil {
		s.Store, err = store.Open(ctx, pg.Config{URL: s.url, MaxConns: 24, ApplicationName: applicationName})
	}
	if err != nil {
		drop()
		return s, nil, err
	}
	return s, drop, nil
}

// owner runs fn on a connection that is not subject to row-level security.
func (b *bench) owner(ctx context.Context, databaseURL string, fn func(*pgx.Conn) error) error {
	conn, err := pgx.Connect(ctx, databaseURL)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(context.Background()) }()
	return fn(conn)
}

// startWorker runs the pipeline for a site on a separate task queue.
func (b *bench) startWorker(s site) (taskQueue string, stop func(), err error) {
	taskQueue = "bench-" + s.schema
	w := worker.New(b.temporal, taskQueue, worker.Options{})
	workflows.Register(w, workflows.Dependencies{Store: s.Store, Brain: b.brain, Index: vector.PGVector{Store: s.Store},
		Policy: proposals.DefaultWritePolicy(), Concurrency: b.cfg.Concurrency})
	if err := w.Start(); err != nil {
		return "", nil, err
	}
	return taskQueue, w.Stop, nil
}

// siteWithWorker creates a schema and runs the pipeline for it. stop stops the worker and removes the schema.
func (b *bench) siteWithWorker(ctx context.Context) (s site, taskQueue string, stop func(), err error) {
	s, drop, err := b.newSite(ctx)
	if err != nil {
		return s, "", nil, err
	}
	taskQueue, stopWorker, err := b.startWorker(s)
	if err != nil {
		drop()
		return s, "", nil, err
	}
	return s, taskQueue, func() { stopWorker(); drop() }, nil
}
