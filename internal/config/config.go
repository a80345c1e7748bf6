package config

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/contrib/envconfig"
	tlog "go.temporal.io/sdk/log"

	"github.com/mneme/mneme/activities/step"
	"github.com/mneme/mneme/api"
	"github.com/mneme/mneme/inference"
	"github.com/mneme/mneme/inference/local"
	"github.com/mneme/mneme/inference/openai"
	"github.com/mneme/mneme/inference/rules"
	"github.com/mneme/mneme/inference/static"
	"github.com/mneme/mneme/internal/telemetry"
	"github.com/mneme/mneme/memory"
	"github.com/mneme/mneme/memory/learning/due"
	"github.com/mneme/mneme/memory/lifecycle"
	"github.com/mneme/mneme/memory/proposals"
	"github.com/mneme/mneme/memory/rank"
	"github.com/mneme/mneme/recall"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/store/sweeping"
	"github.com/mneme/mneme/workflows"
)

// Config has all settings. Load shows the variable of each field.
type Config struct {
	DatabaseURL   string
	MaxConns      int
	Slots         int // activities at once in a worker; 0: ActivitySlots
	StickyRuns    int // workflow runs that a worker keeps in memory
	TaskQueue     string
	Namespace     string
	TemporalUI    string // base URL, for links in output; may be empty
	HealthAddress string

	MetricsTenants int // tenants with their own label in metrics; 0: no label

	ReadyJobAge   time.Duration // a job that waits longer makes workers unready; 0 for never
	ReadyIndexLag time.Duration // likewise an index that lags further

	Principal schema.Principal // defaults of the command line

	Brain    string // rules or openai
	Embedder string // hash, static, local or openai
	OpenAI   openai.Config
	Local    local.Config // the prefixes apply to openai too
	// EmbedSpeakers puts the speaker's name before a memory's text; it applies to local and openai.
	EmbedSpeakers bool
	EmbedCache    int // vectors cached in the process; 0 for none
	Concurrency   int // model calls at once in the process; recalls do not count
	// Gate limits the calls of an endpoint that NewBrain makes; nil, as Load leaves it, for no limit.
	Gate *inference.Gate

	Reranker       string        // off, embedding or model
	RerankTop      int           // candidates that it reads
	RerankDeadline time.Duration // after it the order stays unchanged

	RecallWith, RecallWithout []string // channels and stages that every recall uses or leaves out (recall.IsSwitch)

	Policy     proposals.WritePolicy
	PolicyFile string // classification rules; empty for none

	Qdrant      QdrantSettings      // the vector index; without a URL it is in Postgres
	MemoryIndex MemoryIndexSettings // of events, for salience

	Callers workflows.Callers // of the Nexus service

	ImportanceDecay float64 // the share of its importance that a memory keeps for each day without access, (0,1]

	SweepShare  float64 // share of a tenant's memories above which a sweep asks first, [0,1]
	SweepBatch  int     // rows that one transaction of a sweep touches, at most sweeping.SweepBatchSize
	TokenBudget int64   // tokens of models that a tenant's learning may use in a day; 0: no limit

	Due due.Rule // when a scope is consolidated without a request

	Pipeline bool // extract facts from candidates; otherwise they are only stored, recalled and indexed
	Graph    bool // the entity graph is written, and recall walks it

	ReflectionVisibility schema.Visibility // the widest visibility of an agent's beliefs
	// kinds of events that every agent sees; nil: those of document 001, empty: none
	GlobalKinds []string

	// where DialTemporal reads Temporal's own variables; nil is the process's environment
	TemporalEnv envconfig.EnvLookup

	PayloadKey []byte // 32 bytes; if empty, payloads are not encrypted
	// ReadKeys are further keys of payloads, which only decrypt: those of earlier payloads, and the one to come.
	ReadKeys [][]byte
	TrustKey []byte // 32 bytes; if empty, unsigned trust contexts are accepted
}

// Load reads the environment. Variables that are not set are looked up in the env file that
// `make up` writes for this checkout: .local/env, in the working directory, next to the program, or
// above either.
func Load() (Config, error) {
	loadStackEnv()
	e := reader{}
	modelSeconds := e.number("MNEME_OPENAI_TIMEOUT_SECONDS", 0)
	c := Config{
		DatabaseURL:   e.text("DATABASE_URL", ""),
		MaxConns:      e.number("MNEME_DB_MAX_CONNS", 16),
		Slots:         e.number("MNEME_ACTIVITY_SLOTS", 0),
		StickyRuns:    e.number("MNEME_WORKFLOW_CACHE", 500),
		TaskQueue:     e.text("MNEME_TASK_QUEUE", api.TaskQueue),
		Namespace:     namespace(),
		TemporalUI:    e.text("TEMPORAL_UI_URL", ""),
		HealthAddress: e.text("MNEME_HEALTH_ADDR", "127.0.0.1:8085"),

		MetricsTenants: e.number("MNEME_METRICS_TENANTS", telemetry.DefaultTenants),

		ReadyJobAge:   e.duration("MNEME_READY_JOB_AGE", 15*time.Minute),
		ReadyIndexLag: e.duration("MNEME_READY_INDEX_LAG", 15*time.Minute),
		Principal: schema.Principal{
			Tenant: e.text("MNEME_TENANT", "default"), Agent: e.text("MNEME_AGENT", "default"),
			Project: e.text("MNEME_PROJECT", ""),
			Scope:   e.text("MNEME_SCOPE", ""), PolicyGroup: e.text("MNEME_POLICY_GROUP", ""),
			User: e.text("MNEME_USER", ""),
		},
		Brain:    e.choice("MNEME_BRAIN", "rules", "openai"),
		Embedder: e.choice("MNEME_EMBEDDER", "hash", "static", "local", "openai"),
		OpenAI: openai.Config{
			BaseURL: e.text("MNEME_OPENAI_BASE_URL", ""), APIKey: e.text("MNEME_OPENAI_API_KEY", ""),
			ChatModel:           e.text("MNEME_OPENAI_CHAT_MODEL", ""),
			EmbeddingModel:      e.text("MNEME_OPENAI_EMBEDDING_MODEL", ""),
			EmbeddingDimensions: e.number("MNEME_OPENAI_EMBEDDING_DIMENSIONS", 0),
			Timeout:             time.Duration(modelSeconds) * time.Second,
		},
		Local: local.Config{
			Dir: e.text("MNEME_EMBED_MODEL_DIR", ""), Model: e.text("MNEME_EMBED_MODEL", ""),
			Graph:         e.text("MNEME_EMBED_ONNX_FILE", ""),
			Pooling:       e.text("MNEME_EMBED_POOLING", ""),
			QueryPrefix:   e.text("MNEME_EMBED_QUERY_PREFIX", ""),
			PassagePrefix: e.text("MNEME_EMBED_PASSAGE_PREFIX", ""),
		},
		EmbedSpeakers: e.flag("MNEME_EMBED_SPEAKERS", true),
		EmbedCache:    e.number("MNEME_EMBED_CACHE", 4096),
		Concurrency:   e.number("MNEME_MODEL_CONCURRENCY", 4),

		Reranker:  e.choice("MNEME_RERANKER", "off", "embedding", "model"),
		RerankTop: e.number("MNEME_RERANK_TOP", rank.DefaultRerankTop),
		RerankDeadline: time.Duration(e.number("MNEME_RERANK_DEADLINE_MS",
			int(rank.DefaultRerankDeadline.Milliseconds()))) * time.Millisecond,
		RecallWith:    e.names("MNEME_RECALL_WITH", recall.IsSwitch),
		RecallWithout: e.names("MNEME_RECALL_WITHOUT", recall.IsSwitch),
		Policy: proposals.WritePolicy{
			Mode: schema.WriteMode(e.choice("MNEME_MODE", string(schema.ModeControlled),
				string(schema.ModeFrozen), string(schema.ModeShadow))),
			AllowUpdateDelete: e.flag("MNEME_ALLOW_UPDATE_DELETE", false),
			Supersede: proposals.Supersede(e.choice("MNEME_SUPERSEDE", string(proposals.SupersedeAuto),
				string(proposals.SupersedeOwn),
				string(proposals.SupersedeReview))),
			MinFactConfidence: e.fraction("MNEME_MIN_FACT_CONFIDENCE", proposals.DefaultMinFactConfidence),
		},
		PolicyFile: e.text("MNEME_POLICY_FILE", ""),
		Qdrant:     e.qdrant(),

		MemoryIndex: e.memoryIndex(),

		Callers:     e.callers("MNEME_NEXUS_CALLERS"),
		SweepShare:  e.fraction("MNEME_SWEEP_SHARE", lifecycle.SweepShare),
		SweepBatch:  e.number("MNEME_SWEEP_BATCH", sweeping.SweepBatchSize),
		Pipeline:    e.flag("MNEME_PIPELINE", true),
		Graph:       e.flag("MNEME_GRAPH", true),
		TokenBudget: int64(e.number("MNEME_LEARNING_TOKENS_PER_DAY", 0)),
		Due: due.Rule{Least: e.number("MNEME_CONSOLIDATE_AFTER", due.DefaultRule().Least),
			Quiet: e.duration("MNEME_CONSOLIDATE_QUIET", due.DefaultRule().Quiet)},

		ImportanceDecay: e.fraction("MNEME_IMPORTANCE_DECAY", memory.DefaultDailyDecay),

		ReflectionVisibility: schema.Visibility(e.choice("MNEME_REFLECTION_VISIBILITY", string(schema.VisibilityGlobal),
			string(schema.VisibilityShared), string(schema.VisibilityGroup), string(schema.VisibilityPrivate))),
		GlobalKinds: e.globalKinds(),

		PayloadKey: e.key("MNEME_PAYLOAD_KEY"),
		ReadKeys:   e.keys("MNEME_PAYLOAD_READ_KEYS"),
		TrustKey:   e.key("MNEME_TRUST_KEY"),
	}
	if most := int(step.MaxStall / time.Second); modelSeconds >= most {
		e.problems = append(e.problems,
			fmt.Sprintf("MNEME_OPENAI_TIMEOUT_SECONDS must be less than %d: an activity attempt that "+
				"makes no progress for %d s is cancelled, and a call that waits for its answer makes none", most, most))
	}
	if c.SweepShare == 0 {
		e.problems = append(e.problems, "MNEME_SWEEP_SHARE must be more than 0")
	}
	if c.SweepBatch < 1 || c.SweepBatch > sweeping.SweepBatchSize {
		e.problems = append(e.problems,
			fmt.Sprintf("MNEME_SWEEP_BATCH must be between 1 and %d", sweeping.SweepBatchSize))
	}
	if !c.Graph && !slices.Contains(c.RecallWithout, rank.ChannelGraph) {
		c.RecallWithout = append(c.RecallWithout, rank.ChannelGraph)
	}
	if c.ImportanceDecay == 0 {
		e.problems = append(e.problems, "MNEME_IMPORTANCE_DECAY must be more than 0")
	}
	return c, e.err()
}

// RecallSettings returns the settings of every recall.
func (c Config) RecallSettings() recall.Settings {
	return recall.Settings{With: c.RecallWith, Without: c.RecallWithout, TrustKey: c.TrustKey,
		DailyDecay: c.ImportanceDecay}
}

// NewBrain builds the brain that the configuration names. A local embedding model is read, and downloaded first if
// only its name is known; progress goes to standard error.
func (c Config) NewBrain(ctx context.Context) (inference.Brain, error) {
	brain, err := c.newBrain(ctx)
	if err == nil && !modelName.MatchString(brain.Embedder.Model().Name) {
		return inference.Brain{}, errors.New("the name of the embedding model must be at most 128 letters, digits and " +
			"the characters . _ : / @ + -, and begin with a letter or digit: the index is named after it")
	}
	return brain, err
}

// modelName matches the names of embedding models that the database accepts (index_generations).
var modelName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._:/@+-]{0,127}$`)

func (c Config) newBrain(ctx context.Context) (inference.Brain, error) {
	brain := rules.New()
	if c.Embedder == "local" {
		if c.Local.Dir == "" && c.Local.Model == "" {
			return inference.Brain{}, errors.New(
				"MNEME_EMBED_MODEL_DIR or MNEME_EMBED_MODEL: one is required when MNEME_EMBEDDER is local")
		}
		c.Local.Progress = os.Stderr
		embedder, err := local.New(ctx, c.Local)
		if err != nil {
			return inference.Brain{}, err
		}
		if brain.Embedder, err = c.cached(c.spoken(embedder)); err != nil {
			return inference.Brain{}, err
		}
	}
	if c.Embedder == "static" {
		if c.Local.Dir == "" {
			return inference.Brain{}, errors.New(
				"MNEME_EMBED_MODEL_DIR: is required when MNEME_EMBEDDER is static; `make model` downloads a model")
		}
		embedder, err := static.New(static.Config{Dir: c.Local.Dir, Name: c.Local.Model})
		if err != nil {
			return inference.Brain{}, err
		}
		brain.Embedder = embedder // no cache, because embedding is as fast as a lookup
	}
	if c.Brain == "rules" && c.Embedder != "openai" && c.Reranker != "model" {
		return c.reranked(brain, inference.Reranking{}), nil
	}
	if c.Brain == "openai" && c.OpenAI.ChatModel == "" {
		return inference.Brain{}, errors.New("MNEME_OPENAI_CHAT_MODEL: is required when MNEME_BRAIN is openai")
	}
	if c.Reranker == "model" && c.OpenAI.ChatModel == "" {
		return inference.Brain{}, errors.New("MNEME_OPENAI_CHAT_MODEL: is required when MNEME_RERANKER is model")
	}
	if c.Embedder == "openai" && c.OpenAI.EmbeddingModel == "" {
		return inference.Brain{}, errors.New("MNEME_OPENAI_EMBEDDING_MODEL: is required when MNEME_EMBEDDER is openai")
	}
	remote, err := openai.New(c.OpenAI)
	if err != nil {
		return inference.Brain{}, err
	}
	if c.Brain == "openai" {
		brain.Extractor, brain.Decider = c.Gate.Extractor(remote.Extractor), c.Gate.Decider(remote.Decider)
		brain.Reasoner = c.Gate.Reasoner(remote.Reasoner)
		brain.TopicWriter = c.Gate.TopicWriter(remote.TopicWriter)
		brain.EpisodeWriter = c.Gate.EpisodeWriter(remote.EpisodeWriter)
		brain.Describer = c.Gate.Describer(remote.Describer)
		brain.DuplicateJudge = c.Gate.DuplicateJudge(remote.DuplicateJudge)
		brain.FactReader = c.Gate.FactReader(remote.FactReader)
	}
	if c.Embedder == "openai" {
		embedder := inference.WithPrefixes(c.Gate.Embedder(remote.Embedder), local.Prefix(c.Local.QueryPrefix),
			local.Prefix(c.Local.PassagePrefix))
		if brain.Embedder, err = c.cached(c.spoken(embedder)); err != nil {
			return inference.Brain{}, err
		}
	}
	return c.reranked(brain, remote.Reranking), nil
}

// reranked adds the configured reranker to a brain; model is the reranker of the chat model.
func (c Config) reranked(brain inference.Brain, model inference.Reranking) inference.Brain {
	r := inference.Reranking{Top: c.RerankTop, Deadline: c.RerankDeadline}
	switch c.Reranker {
	case "embedding":
		r.Reranker, r.Blend = inference.EmbeddingReranker{Embedder: brain.Embedder}, rank.RerankBlendEmbedding
	case "model":
		r.Reranker, r.Blend, r.Summarizer = model.Reranker, rank.RerankBlendModel, model.Summarizer
	default:
		return brain
	}
	brain.Reranking = r
	return brain
}

// DialTemporal connects with the settings of Temporal's own variables and files (TEMPORAL_ADDRESS,
// TEMPORAL_NAMESPACE, TEMPORAL_TLS_…). With a payload key, payloads and failure messages are encrypted before they
// leave the process. change is applied to the options last.
func (c Config) DialTemporal(
	ctx context.Context,
	log *slog.Logger,
	change ...func(*client.Options) error,
) (client.Client, error) {
	options, err := envconfig.LoadClientOptions(envconfig.LoadClientOptionsRequest{EnvLookup: c.TemporalEnv})
	if err != nil {
		return nil, fmt.Errorf("temporal settings: %w", err)
	}
	options.Logger = tlog.NewStructuredLogger(log)
	if err := Encrypt(&options, c.PayloadKey, c.ReadKeys...); err != nil {
		return nil, err
	}
	for _, fn := range change {
		if err := fn(&options); err != nil {
			return nil, err
		}
	}
	dialed, err := client.DialContext(ctx, options)
	if err != nil {
		return nil, fmt.Errorf("reach Temporal at %s: %w", options.HostPort, err)
	}
	return dialed, nil
}

// namespace returns the namespace that DialTemporal uses if TemporalEnv is nil. It may come from a profile in a file of
// Temporal's. A file that cannot be read is an error of DialTemporal.
func namespace() string {
	profile, err := envconfig.LoadClientConfigProfile(envconfig.LoadClientConfigProfileOptions{})
	if err != nil {
		profile.Namespace = os.Getenv("TEMPORAL_NAMESPACE")
	}
	return cmp.Or(profile.Namespace, client.DefaultNamespace)
}

// loadStackEnv sets the variables of the nearest .local/env that the environment does not have.
func loadStackEnv() {
	var starts []string
	if wd, err := os.Getwd(); err == nil {
		starts = append(starts, wd)
	}
	if exe, err := os.Executable(); err == nil {
		starts = append(starts, filepath.Dir(exe))
	}
	for _, dir := range starts {
		for {
			file, err := os.Open(filepath.Join(dir, ".local", "env"))
			if err == nil {
				setMissing(file)
				_ = file.Close()
				return
			}
			if !errors.Is(err, fs.ErrNotExist) || filepath.Dir(dir) == dir {
				break
			}
			dir = filepath.Dir(dir)
		}
	}
}

func setMissing(file fs.File) {
	lines := bufio.NewScanner(file)
	for lines.Scan() {
		key, value, ok := strings.Cut(lines.Text(), "=")
		if _, set := os.LookupEnv(key); ok && !set {
			_ = os.Setenv(key, value)
		}
	}
}

// reader reads variables and collects their errors.
type reader struct{ problems []string }

func (r *reader) err() error {
	if len(r.problems) == 0 {
		return nil
	}
	return errors.New("configuration: " + strings.Join(r.problems, "; "))
}

func (r *reader) text(name, fallback string) string {
	if v, ok := os.LookupEnv(name); ok && v != "" {
		return v
	}
	return fallback
}

func (r *reader) number(name string, fallback int) int {
	v := os.Getenv(name)
	if v == "" {
		return fallback
	}
	n, err := strconv.Atoi(v)
	if err != nil || n < 0 {
		r.problems = append(r.problems, name+" must be a whole number, 0 or more")
	}
	return n
}

// duration reads a duration such as 15m.
func (r *reader) duration(name string, fallback time.Duration) time.Duration {
	v := os.Getenv(name)
	if v == "" {
		return fallback
	}
	d, err := time.ParseDuration(v)
	if err != nil || d < 0 {
		r.problems = append(r.problems, name+" must be a duration such as 15m, 0 or more")
	}
	return d
}

func (r *reader) fraction(name string, fallback float64) float64 {
	v := os.Getenv(name)
	if v == "" {
		return fallback
	}
	f, err := strconv.ParseFloat(v, 64)
	if err != nil || !(f >= 0 && f <= 1) {
		r.problems = append(r.problems, name+" must be a number between 0 and 1")
	}
	return f
}

func (r *reader) flag(name string, fallback bool) bool {
	v := os.Getenv(name)
	if v == "" {
		return fallback
	}
	b, err := strconv.ParseBool(v)
	if err != nil {
		r.problems = append(r.problems, name+" must be true or false")
	}
	return b
}

// choice reads one of the given values; the first is the default.
func (r *reader) choice(name string, values ...string) string {
	v := os.Getenv(name)
	if v == "" {
		return values[0]
	}
	for _, allowed := range values {
		if v == allowed {
			return v
		}
	}
	r.problems = append(r.problems, name+" must be one of "+strings.Join(values, ", "))
	return values[0]
}

// names reads known names, separated by commas.
func (r *reader) names(name string, known func(string) bool) []string {
	var out []string
	for field := range strings.SplitSeq(os.Getenv(name), ",") {
		field = strings.TrimSpace(field)
		switch {
		case field == "":
		case known(field):
			out = append(out, field)
		default:
			r.problems = append(r.problems, fmt.Sprintf("%s: %.40q is not a channel or stage of recall; choose from %s",
				name, field, strings.Join(recall.Switches(), ", ")))
		}
	}
	return out
}

// callers reads who may call the Nexus service for which tenants.
func (r *reader) callers(name string) workflows.Callers {
	out, err := workflows.ParseCallers(os.Getenv(name))
	if err != nil {
		r.problems = append(r.problems, name+": "+err.Error())
	}
	return out
}
