package recall_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/mneme/mneme/inference/rules"
	"github.com/mneme/mneme/internal/testkit"
	"github.com/mneme/mneme/memory/proposals"
	"github.com/mneme/mneme/memory/rank"
	"github.com/mneme/mneme/recall"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/store/pg"
	"github.com/mneme/mneme/store/pipeline"
	"github.com/mneme/mneme/store/search"
	"github.com/mneme/mneme/store/vector"
)

var ctx = context.Background()

// stubIndex is an index defined by its fields.
type stubIndex struct {
	vector.PGVector
	search func(context.Context) ([]search.Hit, error)
}

func (s stubIndex) Search(ctx context.Context, _ pg.Filter, _ pg.Embedding, _ int) ([]search.Hit, error) {
	return s.search(ctx)
}

func hitting(ids ...uuid.UUID) stubIndex {
	return stubIndex{search: func(context.Context) ([]search.Hit, error) {
		out := make([]search.Hit, len(ids))
		for i, id := range ids {
			out[i] = search.Hit{ID: id, Score: 0.9}
		}
		return out, nil
	}}
}

func failing(err error) stubIndex {
	return stubIndex{search: func(context.Context) ([]search.Hit, error) { return nil, err }}
}

type world struct {
	*recall.Recaller
	t     testing.TB
	owner *pgx.Conn
	p     schema.Principal
}

func newWorld(t testing.TB) *world {
	t.Helper()
	url := testkit.DatabaseURL(t)
	s := testkit.OpenStore(t, url)
	return &world{t: t, owner: testkit.Owner(t, url), p: schema.Principal{Tenant: "t", Agent: "a"},
		// the deadlines are long because other tests keep the machine busy
		Recaller: &recall.Recaller{Store: s, Index: vector.PGVector{Store: s}, Embedder: rules.New().Embedder,
			Settings: recall.Settings{TimeoutFactor: 10}}}
}

func (w *world) put(p schema.Principal, v schema.Visibility, c schema.Candidate) uuid.UUID {
	w.t.Helper()
	ack, err := w.Store.Stage(ctx, pipeline.StageInput{OperationID: uuid.NewString(), WorkflowID: "wf", MaxAttempts: 3,
		Now: time.Now(), Policy: proposals.DefaultWritePolicy(),
		Request: schema.IngestRequest{Principal: p, Visibility: v, Candidates: []schema.Candidate{c}}})
	require.NoError(w.t, err)
	return uuid.MustParse(ack.MemoryIDs[0])
}

func (w *world) remember(content string) uuid.UUID {
	w.t.Helper()
	return w.put(w.p, schema.VisibilityPrivate, schema.Candidate{Content: content})
}

func (w *world) recall(query string) schema.RecallResponse {
	w.t.Helper()
	out, err := w.Recall(ctx, schema.RecallRequest{Principal: w.p, Query: query})
	require.NoError(w.t, err)
	return out
}

func (w *world) exec(sql string, args ...any) {
	w.t.Helper()
	_, err := w.owner.Exec(ctx, sql, args...)
	require.NoError(w.t, err)
}

func ids(r schema.RecallResponse) []string {
	out := []string{}
	for _, x := range r.Results {
		out = append(out, x.ID)
	}
	return out
}

// row is a memory in the model of authorisation.
type row struct {
	id          string
	p           schema.Principal
	vis         schema.Visibility
	sensitivity schema.Sensitivity
	tags        []string
	dead        bool
}

// mayRead reports whether a request may see a memory, independently of the filter's SQL.
func mayRead(r row, q schema.RecallRequest) bool {
	p := q.Principal
	if r.dead || r.p.Tenant != p.Tenant || r.p.Scope != p.Scope || p.Project != "" && r.p.Project != p.Project {
		return false
	}
	ladder := []schema.Sensitivity{"public", "low", "medium", "high", "hyper"}
	limit := q.MaxSensitivity
	if limit == "" {
		limit = "medium"
	}
	if slices.Index(ladder, r.sensitivity) > slices.Index(ladder, limit) {
		return false
	}
	for _, tag := range q.Tags {
		if !slices.Contains(r.tags, strings.ToLower(tag)) {
			return false
		}
	}
	if r.p.Agent == p.Agent {
		return true
	}
	if q.ReadPolicy != schema.ReadShared && q.ReadPolicy != schema.ReadGroup {
		return false
	}
	switch r.vis {
	case schema.VisibilityGlobal:
		return true
	case schema.VisibilityShared:
		return r.p.Project == p.Project
	case schema.VisibilityGroup:
		return r.p.PolicyGroup != "" && r.p.PolicyGroup == p.PolicyGroup
	}
	return false
}

func pick[T any](of ...T) T { return of[rand.IntN(len(of))] }

func TestNothingUnauthorisedIsReturnedByAnyChannel(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var rows []row
	all := []uuid.UUID{uuid.New(), uuid.Nil} // an index may also return ids that never existed
	for i := range 150 {
		r := row{p: schema.Principal{Tenant: pick("t", "t", "t", "t2"), Agent: pick("a", "b", "c"),
			Project: pick("", "p", "q"), Scope: pick("", "", "s"), PolicyGroup: pick("", "g", "h")},
			vis: pick(schema.VisibilityPrivate, schema.VisibilityGroup, schema.VisibilityShared,
				schema.VisibilityGlobal), sensitivity: pick[schema.Sensitivity]("public", "low", "medium", "high",
				"hyper"),
			tags: pick(nil, []string{"x"}, []string{"x", "y"})}
		id := w.put(r.p, r.vis, schema.Candidate{Content: fmt.Sprintf("needle %d", i), Sensitivity: r.sensitivity,
			Tags: r.tags})
		if end := pick("", "", "", "", "deleted_at = now()", "archived_at = now()", "status = 'superseded'",
			"status = 'retracted'"); end != "" {
			w.exec(`UPDATE memories SET `+end+` WHERE id = $1`, id)
			r.dead = true
		}
		r.id = id.String()
		rows, all = append(rows, r), append(all, id)
	}
	byID := map[string]row{}
	for _, r := range rows {
		byID[r.id] = r
	}
	returned, some := 0, func(of ...string) *rapid.Generator[string] { return rapid.SampledFrom(of) }
	rapid.Check(t, func(rt *rapid.T) {
		req := schema.RecallRequest{Query: some("needle", "needle 7", "something else").Draw(rt, "query"),
			Limit: schema.MaxRecallLimit,
			Principal: schema.Principal{Tenant: some("t", "t2").Draw(rt, "tenant"),
				Agent: some("a", "b", "z").Draw(rt, "agent"), Project: some("", "p").Draw(rt, "project"),
				Scope: some("", "s").Draw(rt, "scope"), PolicyGroup: some("g", "h").Draw(rt, "group")},
			ReadPolicy:     schema.ReadPolicy(some("", "isolated", "shared", "group").Draw(rt, "policy")),
			MaxSensitivity: schema.Sensitivity(some("", "public", "hyper").Draw(rt, "sensitivity")),
			MinScore:       new(float64), Tags: rapid.SampledFrom([][]string{nil, {"X"}, {"x", "y"}}).Draw(rt, "tags"),
			Trust: &schema.TrustContext{Authenticated: true}}
		r := *w.Recaller
		everything := rapid.Bool().Draw(rt, "the index returns everything")
		if everything {
			r.Index = hitting(all...)
		}
		out, err := r.Recall(ctx, req)
		if err != nil {
			rt.Fatal(err)
		}
		if len(out.Meta.Degraded) > 0 {
			rt.Fatalf("degraded: %v", out.Meta.Degraded)
		}
		want := 0
		for _, x := range rows {
			if mayRead(x, req) {
				want++
			}
		}
		for _, x := range out.Results {
			known, ok := byID[x.ID]
			if !ok || !mayRead(known, req) {
				rt.Fatalf("%+v was shown %+v", req, known)
			}
			returned++
		}
		if everything && len(out.Results) != min(want, schema.MaxRecallLimit) {
			rt.Fatalf("%+v was shown %d of %d", req, len(out.Results), want)
		}
	})
	require.Positive(t, returned)
	// Only returned memories are tracked.
	var tracked int64
	require.NoError(t, w.owner.QueryRow(ctx, `SELECT sum(access_count) FROM memory_access`).Scan(&tracked))
	require.EqualValues(t, returned, tracked)
}

func TestRecallReturnsBestFirstWithEvidence(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	first := w.put(w.p, schema.VisibilityPrivate,
		schema.Candidate{Content: "critical: [ops]: Never deploy on Fridays.", SourceKind: schema.SourceMemory,
			Refs: []schema.Ref{{Kind: "event", Ref: "e1"}, {Kind: "event", Ref: "e2"}}})
	w.remember("The deploy pipeline takes an hour")
	w.remember("Lunch is at noon")
	out := w.recall("when may we deploy on fridays")
	require.Equal(t, first.String(), out.Results[0].ID)
	got := out.Results[0]
	require.Equal(t, "Never deploy on Fridays.", got.Content)
	require.Equal(t, "e1", got.Ref)
	require.Equal(t, []string{"ops"}, got.Tags)
	require.True(t, got.Pinned)
	require.Contains(t, got.Channels, rank.ChannelText)
	for i, r := range out.Results {
		require.True(t, r.Score > 0 && r.Score <= 1)
		if i > 0 {
			require.LessOrEqual(t, r.Score, out.Results[i-1].Score)
		}
	}
	for _, stage := range []string{"collect", "text", "vector", "embed", "authorize", "hydrate", "track", "total"} {
		require.Contains(t, out.Meta.TimingsMS, stage)
	}
	require.Contains(t, out.Meta.Channels, rank.ChannelText)
	require.NotNil(t, out.Meta.Degraded, "an empty list in JSON, not null")
	require.NotEmpty(t, out.RetrievalID)

	out = w.recall("zyzzyva")
	require.NotNil(t, out.Results)
	require.Empty(t, out.Results)
}

func TestTimingsAreByStage(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.Index = stubIndex{search: func(context.Context) ([]search.Hit, error) {
		time.Sleep(300 * time.Millisecond)
		return nil, nil
	}}
	ms := w.recall("canary").Meta.TimingsMS
	require.Less(t, ms["embed"], 290.0)
	require.GreaterOrEqual(t, ms["vector"], 300.0)
	require.GreaterOrEqual(t, ms["total"], ms["collect"])
}

func TestRecallLimitIsClamped(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var all []uuid.UUID
	for i := range schema.MaxRecallLimit + 10 {
		all = append(all, w.remember(fmt.Sprintf("needle %d", i)))
	}
	w.Index = hitting(all...)
	for limit, want := range map[int]int{math.MinInt: 1, -1: 1, 0: schema.DefaultRecallLimit, 1: 1, 7: 7, 50: 50,
		51: 50, 1 << 30: 50} {
		out, err := w.Recall(ctx, schema.RecallRequest{Principal: w.p, Query: "needle", Limit: limit})
		require.NoError(t, err)
		require.Len(t, out.Results, want)
	}
	_, err := w.Recall(ctx, schema.RecallRequest{Principal: w.p, Query: ""})
	var invalid *schema.ValidationError
	require.ErrorAs(t, err, &invalid)
}

func TestOnlyReturnedRowsAreTrackedAndNoneIsRewritten(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	one := w.remember("canary one")
	for i := range 5 {
		w.remember(fmt.Sprintf("a canary among other words, number %d", i))
	}
	state := func() (v string) {
		require.NoError(t, w.owner.QueryRow(ctx,
			`SELECT string_agg(xmin::text || ctid || version, ',' ORDER BY id) FROM memories`).Scan(&v))
		return v
	}
	before := state()
	for range 3 {
		out, err := w.Recall(ctx, schema.RecallRequest{Principal: w.p, Query: "canary one", Limit: 1})
		require.NoError(t, err)
		require.Equal(t, []string{one.String()}, ids(out))
	}
	require.Equal(t, before, state())
	var n, hits int
	require.NoError(t, w.owner.QueryRow(ctx, `SELECT count(*), sum(access_count) FROM memory_access`).Scan(&n, &hits))
	require.Equal(t, []int{1, 3}, []int{n, hits})
	var query, kept int
	require.NoError(t, w.owner.QueryRow(ctx,
		`SELECT count(*), count(*) FILTER (WHERE r::text LIKE '%canary%' OR query_hash <> '')
			FROM retrievals r`).Scan(&query, &kept))
	require.Equal(t, []int{3, 0}, []int{query, kept}, "the query itself is not stored")
}

// The clock is read at the start of each stage; a memory forgotten just before a stage must not be returned.
func TestForgottenBetweenTheStagesIsNotReturned(t *testing.T) {
	t.Parallel()
	for _, stage := range []string{"authorize", "assemble", "track"} {
		t.Run(stage, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			kept, gone := w.remember("canary one"), w.remember("canary two")
			var once sync.Once
			w.Now = func() time.Time {
				pcs := make([]uintptr, 8)
				frames := runtime.CallersFrames(pcs[:runtime.Callers(2, pcs)])
				for {
					f, more := frames.Next()
					if strings.HasSuffix(f.Function, "(*query)."+stage) {
						once.Do(func() { w.exec(`UPDATE memories SET deleted_at = now() WHERE id = $1`, gone) })
					}
					if !more {
						return time.Now()
					}
				}
			}
			out := w.recall("canary")
			var deleted int
			require.NoError(t, w.owner.QueryRow(ctx, `SELECT count(*) FROM memories WHERE NOT live`).Scan(&deleted))
			require.Equal(t, 1, deleted)
			if stage == "track" {
				require.Len(t, out.Results, 2, "rows that were already read are returned")
				return
			}
			require.Equal(t, []string{kept.String()}, ids(out))
		})
	}
}

func TestRecallByManyAtOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for i := range 10 {
		w.remember(fmt.Sprintf("canary %d", i))
	}
	errs := make(chan error, 16)
	for range cap(errs) {
		go func() {
			out, err := w.Recall(ctx, schema.RecallRequest{Principal: w.p, Query: "canary"})
			if err == nil && (len(out.Results) != 10 || len(out.Meta.Degraded) > 0) {
				err = fmt.Errorf("%d results, degraded %v", len(out.Results), out.Meta.Degraded)
			}
			errs <- err
		}()
	}
	for range cap(errs) {
		require.NoError(t, <-errs)
	}
	var n int
	require.NoError(t, w.owner.QueryRow(ctx, `SELECT sum(access_count) FROM memory_access`).Scan(&n))
	require.Equal(t, 160, n, "no access is lost")
}
