package config_test

import (
	"context"
	"encoding/base64"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	commonpb "go.temporal.io/api/common/v1"
	failurepb "go.temporal.io/api/failure/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"
	"google.golang.org/protobuf/proto"

	"github.com/mneme/mneme/activities/step"
	"github.com/mneme/mneme/api"
	"github.com/mneme/mneme/inference"
	"github.com/mneme/mneme/inference/local"
	"github.com/mneme/mneme/inference/openai"
	"github.com/mneme/mneme/internal/config"
	"github.com/mneme/mneme/memory"
	"github.com/mneme/mneme/memory/learning/due"
	"github.com/mneme/mneme/memory/proposals"
	"github.com/mneme/mneme/memory/rank"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/store/eventindex"
)

// clean removes every variable that Load reads, for the duration of the test, and changes to a temporary directory.
func clean(t *testing.T) string {
	t.Helper()
	for _, kv := range os.Environ() {
		name, _, _ := strings.Cut(kv, "=")
		if strings.HasPrefix(name, "MNEME_") || strings.HasPrefix(name, "TEMPORAL_") || strings.HasPrefix(name,
			"QDRANT_") || name == "DATABASE_URL" {
			unset(t, name)
		}
	}
	dir := t.TempDir()
	t.Chdir(dir)
	return dir
}

func unset(t *testing.T, name string) {
	t.Helper()
	t.Setenv(name, "") // restores it after the test
	require.NoError(t, os.Unsetenv(name))
}

func TestLoadHasDefaultsThatWork(t *testing.T) {
	clean(t)
	c, err := config.Load()
	require.NoError(t, err)
	require.Equal(t, config.Config{MaxConns: 16, StickyRuns: 500, TaskQueue: api.TaskQueue,
		Namespace: client.DefaultNamespace, HealthAddress: "127.0.0.1:8085",
		Due:            due.Rule{Least: 3, Quiet: 5 * time.Minute},
		MetricsTenants: 50, SweepShare: 0.5, ImportanceDecay: 0.95, SweepBatch: 500, Pipeline: true, Graph: true,
		ReflectionVisibility: schema.VisibilityGlobal, ReadyJobAge: 15 * time.Minute, ReadyIndexLag: 15 * time.Minute,
		Principal: schema.Principal{Tenant: "default", Agent: "default"},
		Qdrant:    config.QdrantSettings{Prefix: "mneme"},
		MemoryIndex: config.MemoryIndexSettings{Kind: config.MemoryIndexOff,
			Hosted: eventindex.HostedConfig{Timeout: 5 * time.Second}}, Brain: "rules", Embedder: "hash",
		Reranker: "off", RerankTop: 20, RerankDeadline: 2 * time.Second, EmbedSpeakers: true, EmbedCache: 4096,
		Concurrency: 4,
		Policy:      proposals.DefaultWritePolicy()}, c)
	brain, err := c.NewBrain(t.Context())
	require.NoError(t, err)
	require.Equal(t, rank.HashModel, brain.Embedder.Model().Name)
}

func TestLoadReadsEveryVariable(t *testing.T) {
	clean(t)
	key := strings.Repeat("k", 32)
	for name, value := range map[string]string{
		"DATABASE_URL": "postgres://x", "MNEME_DB_MAX_CONNS": "3", "MNEME_ACTIVITY_SLOTS": "2",
		"MNEME_WORKFLOW_CACHE": "100", "MNEME_TASK_QUEUE": "q", "TEMPORAL_NAMESPACE": "n",
		"TEMPORAL_UI_URL": "http://ui", "MNEME_METRICS_TENANTS": "7", "MNEME_HEALTH_ADDR": ":1",
		"MNEME_READY_JOB_AGE": "5m", "MNEME_READY_INDEX_LAG": "0",
		"MNEME_TENANT": "t", "MNEME_AGENT": "a", "MNEME_PROJECT": "p", "MNEME_SCOPE": "s", "MNEME_USER": "m",
		"MNEME_POLICY_GROUP": "g", "MNEME_BRAIN": "openai", "MNEME_EMBEDDER": "openai",
		"MNEME_OPENAI_BASE_URL": "http://m", "MNEME_OPENAI_API_KEY": "sk", "MNEME_OPENAI_CHAT_MODEL": "chat",
		"MNEME_OPENAI_EMBEDDING_MODEL":      "emb",
		"MNEME_OPENAI_EMBEDDING_DIMENSIONS": "8", "MNEME_OPENAI_TIMEOUT_SECONDS": "9", "MNEME_MODEL_CONCURRENCY": "2",
		"MNEME_MODE":            "shadow",
		"MNEME_EMBED_MODEL_DIR": "/m", "MNEME_EMBED_MODEL": "o/m", "MNEME_EMBED_ONNX_FILE": "x.onnx",
		"MNEME_EMBED_POOLING": "cls", "MNEME_EMBED_QUERY_PREFIX": "q: ",
		"MNEME_EMBED_PASSAGE_PREFIX": "p: ", "MNEME_EMBED_CACHE": "7",
		"MNEME_EMBED_SPEAKERS": "false",
		"MNEME_RERANKER":       "model", "MNEME_RERANK_TOP": "5", "MNEME_RERANK_DEADLINE_MS": "300",
		"MNEME_RECALL_WITH": "expand_query", "MNEME_RECALL_WITHOUT": "graph, facets,",
		"MNEME_ALLOW_UPDATE_DELETE": "true", "MNEME_SUPERSEDE": "own", "MNEME_MIN_FACT_CONFIDENCE": "0.25",
		"MNEME_POLICY_FILE":  "/p.yaml",
		"MNEME_MEMORY_INDEX": "mem0", "MNEME_MEM0_URL": "https://m", "MNEME_MEM0_API_KEY": "secret",
		"MNEME_MEM0_ORG_ID": "o", "MNEME_MEM0_PROJECT_ID": "p", "MNEME_MEM0_TIMEOUT_SECONDS": "2",
		"QDRANT_URL": "https://i", "QDRANT_API_KEY": "key", "QDRANT_CA_FILE": "/ca.pem", "QDRANT_PREFIX": "pre",
		"MNEME_PAYLOAD_KEY": base64.StdEncoding.EncodeToString([]byte(key)),
		"MNEME_PAYLOAD_READ_KEYS": base64.StdEncoding.EncodeToString([]byte(strings.Repeat("1", 32))) + " , " +
			base64.StdEncoding.EncodeToString([]byte(strings.Repeat("2", 32))),
		"MNEME_SWEEP_SHARE": "0.2", "MNEME_IMPORTANCE_DECAY": "0.9", "MNEME_SWEEP_BATCH": "50",
		"MNEME_CONSOLIDATE_AFTER": "4", "MNEME_CONSOLIDATE_QUIET": "90s",
		"MNEME_LEARNING_TOKENS_PER_DAY": "9000", "MNEME_PIPELINE": "false", "MNEME_GRAPH": "0",
		"MNEME_GLOBAL_KINDS":          "user.injected, market.closed",
		"MNEME_REFLECTION_VISIBILITY": "private", "MNEME_TRUST_KEY": base64.StdEncoding.EncodeToString([]byte(key)),
	} {
		t.Setenv(name, value)
	}
	c, err := config.Load()
	require.NoError(t, err)
	require.Equal(t, config.Config{DatabaseURL: "postgres://x", MaxConns: 3, Slots: 2, StickyRuns: 100, TaskQueue: "q",
		Namespace: "n", TemporalUI: "http://ui", HealthAddress: ":1", MetricsTenants: 7, SweepShare: 0.2,
		ImportanceDecay: 0.9, TokenBudget: 9000, SweepBatch: 50, ReflectionVisibility: schema.VisibilityPrivate,
		GlobalKinds: []string{"user.injected", "market.closed"},
		ReadyJobAge: 5 * time.Minute, Due: due.Rule{Least: 4, Quiet: 90 * time.Second},
		Principal: schema.Principal{Tenant: "t", Agent: "a", Project: "p", Scope: "s", PolicyGroup: "g",
			User: "m"}, Brain: "openai", Embedder: "openai",
		OpenAI: openai.Config{BaseURL: "http://m", APIKey: "sk", ChatModel: "chat", EmbeddingModel: "emb",
			EmbeddingDimensions: 8, Timeout: 9 * time.Second},
		Reranker: "model", RerankTop: 5, RerankDeadline: 300 * time.Millisecond,
		RecallWith: []string{"expand_query"}, RecallWithout: []string{"graph", "facets"},
		Local: local.Config{Dir: "/m", Model: "o/m", Graph: "x.onnx", Pooling: "cls", QueryPrefix: "q: ",
			PassagePrefix: "p: "}, EmbedCache: 7,
		Concurrency: 2, Policy: proposals.WritePolicy{Mode: schema.ModeShadow, AllowUpdateDelete: true,
			Supersede: proposals.SupersedeOwn, MinFactConfidence: 0.25}, PolicyFile: "/p.yaml",
		MemoryIndex: config.MemoryIndexSettings{Kind: config.MemoryIndexHosted,
			Hosted: eventindex.HostedConfig{URL: "https://m", APIKey: "secret", OrgID: "o", ProjectID: "p",
				Timeout: 2 * time.Second}},
		Qdrant: config.QdrantSettings{URL: "https://i", APIKey: "key", CAFile: "/ca.pem",
			Prefix: "pre"}, PayloadKey: []byte(key), TrustKey: []byte(key),
		ReadKeys: [][]byte{[]byte(strings.Repeat("1", 32)), []byte(strings.Repeat("2", 32))}}, c)
}

func TestLoadNamesTheVariableThatIsWrong(t *testing.T) {
	for name, values := range map[string][]string{
		"MNEME_DB_MAX_CONNS": {"many", "-1", "1.5"}, "MNEME_OPENAI_EMBEDDING_DIMENSIONS": {"x"},
		"MNEME_OPENAI_TIMEOUT_SECONDS": {"10s", "150", "99999999999"}, "MNEME_MODEL_CONCURRENCY": {"x"},
		"MNEME_MEMORY_INDEX": {"faiss", "qdrant", "mem0"}, "MNEME_RERANKER": {"on"}, "MNEME_RERANK_TOP": {"-1"},
		"MNEME_RERANK_DEADLINE_MS": {"2s"},
		"MNEME_READY_JOB_AGE":      {"15", "-1m", "soon"}, "MNEME_READY_INDEX_LAG": {"x"},
		"MNEME_IMPORTANCE_DECAY": {"0", "1.5", "x"},
		"MNEME_RECALL_WITH":      {"vektor"}, "MNEME_RECALL_WITHOUT": {"graph,vektor"},
		"MNEME_BRAIN": {"gpt"}, "MNEME_EMBEDDER": {"none"}, "MNEME_MODE": {"open"},
		"MNEME_ALLOW_UPDATE_DELETE": {"perhaps"}, "MNEME_SUPERSEDE": {"always"},
		"MNEME_MIN_FACT_CONFIDENCE": {"1.1", "-0.1", "NaN", "high"},
		"MNEME_PIPELINE":            {"off"}, "MNEME_REFLECTION_VISIBILITY": {"nobody"}, "MNEME_GRAPH": {"2"},
		"MNEME_GLOBAL_KINDS": {"user.injected,Users", "none,user.injected"},
		"MNEME_SWEEP_BATCH":  {"0", "501", "some"}, "MNEME_SWEEP_SHARE": {"0", "2"},
		"MNEME_TRUST_KEY":   {"hunter2secret", base64.StdEncoding.EncodeToString([]byte("hunter2secret"))},
		"MNEME_PAYLOAD_KEY": {"hunter2secret", base64.StdEncoding.EncodeToString([]byte("hunter2secret"))},
		"MNEME_PAYLOAD_READ_KEYS": {"hunter2secret", strings.Repeat("A", 43) + "=,hunter2secret",
			base64.StdEncoding.EncodeToString([]byte("hunter2secret"))},
	} {
		for _, value := range values {
			t.Run(name+"="+value, func(t *testing.T) {
				clean(t)
				t.Setenv(name, value)
				_, err := config.Load()
				require.ErrorContains(t, err, name)
				require.NotContains(t, err.Error(), "hunter2secret")
			})
		}
	}
	clean(t)
	t.Setenv("MNEME_MODE", "open")
	t.Setenv("MNEME_BRAIN", "gpt")
	c, err := config.Load()
	require.ErrorContains(t, err, "MNEME_MODE")
	require.ErrorContains(t, err, "MNEME_BRAIN", "all problems at once")
	require.Equal(t, schema.ModeControlled, c.Policy.Mode)
}

// A model call without a heartbeat must end before the heartbeat timeout, or each attempt would be cancelled.
func TestAModelCallEndsBeforeItsAttemptIsCancelled(t *testing.T) {
	clean(t)
	t.Setenv("MNEME_OPENAI_TIMEOUT_SECONDS", "150")
	_, err := config.Load()
	require.ErrorContains(t, err, "MNEME_OPENAI_TIMEOUT_SECONDS must be less than 150")
	require.ErrorContains(t, err, "no progress for 150 s is cancelled")
	t.Setenv("MNEME_OPENAI_TIMEOUT_SECONDS", "149")
	c, err := config.Load()
	require.NoError(t, err)
	require.Equal(t, 149*time.Second, c.OpenAI.Timeout)
	require.Less(t, openai.DefaultTimeout, step.MaxStall)
}

func TestUnconfiguredBrainIsNamed(t *testing.T) {
	clean(t)
	t.Setenv("MNEME_OPENAI_BASE_URL", "http://127.0.0.1:1")
	t.Setenv("MNEME_BRAIN", "openai")
	c, err := config.Load()
	require.NoError(t, err)
	_, err = c.NewBrain(t.Context())
	require.ErrorContains(t, err, "MNEME_OPENAI_CHAT_MODEL")
	t.Setenv("MNEME_BRAIN", "rules")
	t.Setenv("MNEME_EMBEDDER", "openai")
	c, err = config.Load()
	require.NoError(t, err)
	_, err = c.NewBrain(t.Context())
	require.ErrorContains(t, err, "MNEME_OPENAI_EMBEDDING_MODEL")
	t.Setenv("MNEME_EMBEDDER", "hash")
	t.Setenv("MNEME_RERANKER", "model")
	c, err = config.Load()
	require.NoError(t, err)
	_, err = c.NewBrain(t.Context())
	require.ErrorContains(t, err, "MNEME_OPENAI_CHAT_MODEL")
}

func TestConfiguredRerankerIsUsed(t *testing.T) {
	for name, blend := range map[string]float64{"off": 0, "embedding": rank.RerankBlendEmbedding,
		"model": rank.RerankBlendModel} {
		clean(t)
		t.Setenv("MNEME_OPENAI_BASE_URL", "http://127.0.0.1:1")
		t.Setenv("MNEME_OPENAI_CHAT_MODEL", "chat")
		t.Setenv("MNEME_RERANKER", name)
		c, err := config.Load()
		require.NoError(t, err)
		brain, err := c.NewBrain(t.Context())
		require.NoError(t, err)
		require.Equal(t, name != "off", brain.Reranking.Reranker != nil, name)
		require.Equal(t, blend, brain.Reranking.Blend, name)
		require.Equal(t, name == "model", brain.Reranking.Summarizer != nil, "a model that reranks sums up, too: %s",
			name)
	}
}

// All calls to an endpoint go through one gate per process, including those of an embedder with prefixes and a cache;
// queries do not wait for it.
func TestEndpointCallsUseTheGate(t *testing.T) {
	clean(t)
	var asked atomic.Int32
	endpoint := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked.Add(1)
		w.WriteHeader(http.StatusBadRequest)
	}))
	t.Cleanup(endpoint.Close)
	for name, value := range map[string]string{"MNEME_BRAIN": "openai", "MNEME_EMBEDDER": "openai",
		"MNEME_OPENAI_BASE_URL": endpoint.URL, "MNEME_OPENAI_CHAT_MODEL": "chat",
		"MNEME_OPENAI_EMBEDDING_MODEL": "emb", "MNEME_OPENAI_EMBEDDING_DIMENSIONS": "8",
		"MNEME_EMBED_QUERY_PREFIX": "query: ", "MNEME_EMBED_PASSAGE_PREFIX": "passage: "} {
		t.Setenv(name, value)
	}
	c, err := config.Load()
	require.NoError(t, err)
	c.Gate = inference.NewGate(1)
	occupied, leave := make(chan struct{}), make(chan struct{})
	go func() {
		_, _, _ = c.Gate.Extractor(occupant{occupied, leave}).Extract(context.Background(), inference.Source{})
	}()
	<-occupied
	defer close(leave)
	brain, err := c.NewBrain(t.Context())
	require.NoError(t, err)
	brief := func() context.Context {
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		t.Cleanup(cancel)
		return ctx
	}
	_, _, err = brain.Extractor.Extract(brief(), inference.Source{Content: "x"})
	require.ErrorIs(t, err, context.DeadlineExceeded)
	_, _, err = brain.Decider.Decide(brief(), memory.Fact{Content: "x"}, []memory.Neighbor{{ID: "y"}})
	require.ErrorIs(t, err, context.DeadlineExceeded)
	_, _, err = brain.Embedder.Embed(brief(), []string{"x"})
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.Zero(t, asked.Load(), "no call was made")
	bounded, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	_, _, err = inference.EmbedQuery(bounded, brain.Embedder, "x")
	require.Error(t, err)
	require.Positive(t, asked.Load(), "a query does not wait")
}

// occupant is a call that runs until it is released.
type occupant struct{ occupied, leave chan struct{} }

func (o occupant) Extract(context.Context, inference.Source) (memory.Extraction, inference.Usage, error) {
	close(o.occupied)
	<-o.leave
	return memory.Extraction{}, inference.Usage{}, nil
}

func TestEnvFileSetsUnsetVariables(t *testing.T) {
	dir := clean(t)
	below := filepath.Join(dir, "a", "b")
	require.NoError(t, os.MkdirAll(below, 0o755))
	require.NoError(t, os.MkdirAll(filepath.Join(dir, ".local"), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(dir, ".local", "env"),
		[]byte("# made by make up\nDATABASE_URL=postgres://u:p=w@h/db?sslmode=disable\nMNEME_AGENT=from-file\n\nMNEME_TENANT=from-file\nMNEME_PROJECT=from-file\n"), 0o600))
	for _, name := range []string{"DATABASE_URL", "MNEME_AGENT", "MNEME_TENANT", "MNEME_PROJECT"} {
		unset(t, name)
	}
	t.Chdir(below)
	t.Setenv("MNEME_AGENT", "from-environment")
	t.Setenv("MNEME_PROJECT", "")
	c, err := config.Load()
	require.NoError(t, err)
	require.Equal(t, "postgres://u:p=w@h/db?sslmode=disable", c.DatabaseURL)
	require.Equal(t, "from-environment", c.Principal.Agent, "the real environment takes precedence")
	require.Equal(t, "from-file", c.Principal.Tenant)
	require.Empty(t, c.Principal.Project, "even if it is empty")
	_, commented := os.LookupEnv("# made by make up")
	require.False(t, commented)
}

// converters returns a data and a failure converter under a key.
func options(t *testing.T, key string) client.Options {
	t.Helper()
	var o client.Options
	require.NoError(t, config.Encrypt(&o, []byte(key)))
	return o
}

func TestEncryptedPayloadsComeBack(t *testing.T) {
	o := options(t, strings.Repeat("k", 32))
	in := schema.Candidate{Content: "XyzzyCanary"}
	p, err := o.DataConverter.ToPayload(in)
	require.NoError(t, err)
	raw, err := proto.Marshal(p)
	require.NoError(t, err)
	require.NotContains(t, string(raw), "XyzzyCanary")
	var out schema.Candidate
	require.NoError(t, o.DataConverter.FromPayload(p, &out))
	require.Equal(t, in, out)
	again, err := o.DataConverter.ToPayload(in)
	require.NoError(t, err)
	require.NotEqual(t, p.Data, again.Data, "a fresh nonce each")

	f := o.FailureConverter.ErrorToFailure(temporal.NewApplicationError("XyzzyCanary", "Kind"))
	raw, err = proto.Marshal(&failurepb.Failure{Message: f.Message, StackTrace: f.StackTrace})
	require.NoError(t, err)
	require.NotContains(t, string(raw), "XyzzyCanary", "messages of failures are encrypted too")
	require.ErrorContains(t, o.FailureConverter.FailureToError(f), "XyzzyCanary")
}

func TestAnotherKeyAndForeignPayloads(t *testing.T) {
	o, other := options(t, strings.Repeat("k", 32)), options(t, strings.Repeat("x", 32))
	p, err := o.DataConverter.ToPayload("XyzzyCanary")
	require.NoError(t, err)
	var out string
	err = other.DataConverter.FromPayload(p, &out)
	require.ErrorContains(t, err, "another key")
	require.NotContains(t, err.Error(), "XyzzyCanary")

	broken := proto.Clone(p).(*commonpb.Payload)
	broken.Data[len(broken.Data)-1] ^= 1
	require.Error(t, o.DataConverter.FromPayload(broken, &out), "a modified payload is refused")
	broken.Data = broken.Data[:5]
	require.ErrorContains(t, o.DataConverter.FromPayload(broken, &out), "too short")

	clear, err := converter.GetDefaultDataConverter().ToPayload("from before the key was set")
	require.NoError(t, err)
	require.NoError(t, o.DataConverter.FromPayload(clear, &out))
	require.Equal(t, "from before the key was set", out)

	var plain client.Options
	require.NoError(t, config.Encrypt(&plain, nil))
	require.Nil(t, plain.DataConverter, "without a key nothing changes")
	require.Error(t, config.Encrypt(&plain, []byte("short")))
}

// Without a graph no entity is written (workflows.Dependencies), and recall does not use it.
func TestRecallWithoutAGraph(t *testing.T) {
	clean(t)
	t.Setenv("MNEME_GRAPH", "false")
	t.Setenv("MNEME_RECALL_WITHOUT", "facets")
	c, err := config.Load()
	require.NoError(t, err)
	require.False(t, c.Graph)
	require.Equal(t, []string{"facets", rank.ChannelGraph}, c.RecallWithout)
}
