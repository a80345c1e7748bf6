package recall_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/mneme/mneme/inference"
	"github.com/mneme/mneme/inference/rules"
	"github.com/mneme/mneme/internal/testkit"
	"github.com/mneme/mneme/memory/layers"
	"github.com/mneme/mneme/memory/policy"
	"github.com/mneme/mneme/memory/rank"
	"github.com/mneme/mneme/recall"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/store"
	"github.com/mneme/mneme/store/pg"
	"github.com/mneme/mneme/store/search"
	"github.com/mneme/mneme/store/vector"
)

// Each case is one numbered request, so that a failed case can be repeated alone:
//
//	go test ./recall -run TestNothingUnauthorisedLeaks -leak.cases 100000 -timeout 0 -v
//	go test ./recall -run TestNothingUnauthorisedLeaks -leak.first 40000 -leak.cases 60000 -timeout 0 -v
//	go test ./recall -run TestNothingUnauthorisedLeaks -leak.seed 7 -leak.case 4711
var (
	leakCases = flag.Int("leak.cases", 300, "random requests")
	leakFirst = flag.Int("leak.first", 0, "number of the first case, to run many cases in parts")
	leakSeed  = flag.Uint64("leak.seed", 1, "seed of the rows and the requests")
	leakCase  = flag.Int("leak.case", -1, "run only this case")
	leakTwins = flag.Int("leak.twins", 20,
		"one in this number of requests is compared with its answer in a world without hidden memories")
	leakAtOnce = flag.Int("leak.workers", runtime.GOMAXPROCS(0), "concurrent requests, at most 32")
)

const leakRows = 240

var leakKey = []byte("a key of thirty-two bytes or more")

// leakPolicies are the trust policies of the cases.
var leakPolicies = []string{"", `trust:
  environments: {kiosk: low, office: hyper, "*": high}
  above_limit: {medium: metadata, high: summary, hyper: summary}`, `trust:
  above_limit: {low: summary, medium: summary, high: metadata, hyper: metadata}`}

var leakSupplements = []string{"expand_sources", "expand_rationale", "expand_transcripts", "expand_artifacts",
	"expand_cards", "expand_sessions", "expand_summary"}

type leakWorld struct {
	rows    []leakRow
	byID    map[string]*leakRow
	holders map[string][]*leakRow // by mark, and by hash of an artifact
	all     []uuid.UUID
	twin    *leakTwin
	store   *store.Store
	policy  []*policy.Policy
	allOn   []string // all stages
	without []string // all channels and stages

	// by row: how often it was returned in full
	tracked                                                            []atomic.Int64
	full, summaries, stubs, extra, reads, barred, superseded, degraded atomic.Int64
	left, compared, untracked, records, payloads, passages             atomic.Int64
	// number of results by channel and by kind of supplement: *atomic.Int64
	channels sync.Map
}

// everything is an index that ignores tenants and queries, and returns everything.
type everything struct {
	vector.PGVector
	hits []search.Hit
}

func (e everything) Search(context.Context, pg.Filter, pg.Embedding, int) ([]search.Hit, error) {
	return slices.Clone(e.hits), nil
}

// listener records what is sent to the embedder and the reranker.
type listener struct {
	inference.Embedder
	heard func(texts []string)
}

func (l listener) Embed(ctx context.Context, texts []string) ([][]float32, inference.Usage, error) {
	l.heard(texts)
	return l.Embedder.Embed(ctx, texts)
}

// parrot is a language model that repeats its input and reports it like an embedder.
type parrot struct{ inference.Embedder }

func (p parrot) Summarize(_ context.Context, query string, texts []string) (string, inference.Usage, error) {
	if l, ok := p.Embedder.(listener); ok {
		l.heard(append([]string{query}, texts...))
	}
	return strings.Join(texts, " "), inference.Usage{}, nil
}

// run executes a case, and returns what is wrong.
func (w *leakWorld) run(q leakQuery) error {
	ctx, seen := watched(ctx)
	var mu sync.Mutex
	var sent []string
	embedder := listener{rules.New().Embedder, func(texts []string) {
		mu.Lock()
		defer mu.Unlock()
		sent = append(sent, texts...)
	}}
	var index vector.Index = vector.PGVector{Store: w.store}
	if q.hostile {
		hits := make([]search.Hit, 0, len(w.all))
		for i, id := range w.all {
			hits = append(hits, search.Hit{ID: id, Score: 1 / float64(1+i%7)})
		}
		index = everything{hits: hits}
	}
	var log bytes.Buffer
	out, err := w.recaller(q, w.store, index, embedder, &log).Recall(ctx, q.req)
	if err != nil {
		return err
	}
	if len(out.Meta.Degraded) > 0 { // a busy machine misses deadlines; the rest must still be correct
		w.degraded.Add(1)
		if slices.Contains(out.Meta.Degraded, "track") {
			w.untracked.Add(1)
		}
		for line := range strings.Lines(log.String()) {
			if !strings.Contains(line, "deadline exceeded") {
				return fmt.Errorf("degraded: %s", line)
			}
		}
	}
	if out.Meta.Trust.MaxSensitivity != q.limit || !slices.Equal(out.Meta.Trust.Scopes, trustedScopes(q)) {
		return fmt.Errorf("cleared up to %s in %v, not up to %s in %v", out.Meta.Trust.MaxSensitivity,
			out.Meta.Trust.Scopes, q.limit, q.scopes)
	}
	// Texts sent to a model.
	for _, text := range sent {
		if text == q.req.Query || text == q.req.KeywordQuery {
			continue
		}
		for _, mark := range leakMarks.findAll(text) {
			if !w.held(q, mark) {
				return fmt.Errorf("a model was sent %s", mark)
			}
		}
	}
	if marks := leakMarks.findAll(log.String()); len(marks) > 0 {
		return fmt.Errorf("the log contains %s", marks)
	}
	if err := w.read(q, seen); err != nil {
		return err
	}
	return w.judge(q, out)
}

// read checks what was read for a case.
func (w *leakWorld) read(q leakQuery, seen *watch) error {
	seen.mu.Lock()
	defer seen.mu.Unlock()
	// Columns loaded or ranked by text.
	for id, columns := range seen.reads {
		row := w.byID[id]
		for column := range columns {
			if !w.held(q, id) && !(row != nil && (q.readable(row) || column == "memories.safe_summary" &&
				q.redacts(row) == schema.RedactedSummary)) {
				return fmt.Errorf("%s of %s was read", column, id)
			}
			w.reads.Add(1)
		}
	}
	// Rows returned by Postgres.
	for l := range seen.left {
		if err := w.mayLeave(q, l); err != nil {
			return err
		}
	}
	return nil
}

// direct calls every function that reads by ids with all existing ids. Recall passes only authorised ids, but these
// functions must not rely on that.
func (w *leakWorld) direct(q leakQuery) error {
	ctx, seen := watched(ctx)
	f := w.filter(q)
	live := f
	f.Superseded = q.req.Superseded
	var known []uuid.UUID // the ids whose successors are named, too
	for i := range w.rows {
		if q.readable(&w.rows[i]) {
			known = append(known, w.rows[i].id)
		}
	}
	anchors := make([]rank.Anchor, len(w.all))
	for i, id := range w.all {
		anchors[i] = rank.Anchor{ID: w.all[0], Place: id, Radius: rank.ExcerptRadius}
	}
	failed := func(_ any, err error) error { return err }
	err := errors.Join(failed(w.store.Hydrate(ctx, f, w.all, time.Now())), failed(w.store.Contents(ctx, f, w.all)),
		failed(w.store.Accesses(ctx, f, w.all)),
		failed(w.store.Supersessions(ctx, f, w.all)), failed(w.store.Predecessors(ctx, f, known)),
		failed(w.store.LowestDegrees(ctx, f, w.all)),
		failed(w.store.Solutions(ctx, f, w.all)), failed(w.store.Payloads(ctx, f, w.all)),
		failed(w.store.Sources(ctx, f, w.all)), failed(w.store.Rationale(ctx, f, w.all)),
		failed(w.store.Artifacts(ctx, f, w.all)),
		failed(w.store.SearchArtifacts(ctx, f, []string{"artif", "kestr"}, len(w.all))),
		failed(w.store.Cards(ctx, f, w.all, 2*rank.MaxCards(schema.MaxRecallLimit))),
		failed(w.store.SessionTurns(ctx, live, anchors)),
		failed(w.store.RescueText(ctx, live, []string{"needl", "kestr"}, len(w.all))))
	if err != nil {
		return err
	}
	return w.read(q, seen)
}

// byIDs reads records by their ids: exactly those that the caller may see, without references to others.
func (w *leakWorld) byIDs(q leakQuery, n int) error {
	ctx, seen := watched(ctx)
	req := schema.GetRequest{Principal: q.req.Principal, ReadPolicy: q.req.ReadPolicy,
		MaxSensitivity: q.req.MaxSensitivity, Trust: q.req.Trust, Superseded: q.req.Superseded}
	r := rand.New(rand.NewPCG(*leakSeed, uint64(n)))
	for range schema.MaxGetIDs {
		req.IDs = append(req.IDs, oneOf(r, w.all...).String())
	}
	var log bytes.Buffer
	out, err := w.recaller(q, w.store, vector.PGVector{Store: w.store}, rules.New().Embedder, &log).Get(ctx, req)
	if err != nil {
		return err
	}
	read := map[string]bool{}
	for _, record := range out.Records {
		read[record.ID] = true
	}
	for _, id := range req.IDs {
		row := w.byID[id]
		if may := row != nil && q.readable(row) && (row.live() || req.Superseded); read[id] != may ||
			slices.Contains(out.Missing, id) == may {
			return fmt.Errorf("by id, %s: read %v, allowed %v", id, read[id], may)
		}
	}
	encoded, err := json.Marshal(out.Records)
	if err != nil {
		return err
	}
	w.records.Add(int64(len(out.Records)))
	for _, mark := range leakMarks.findAll(string(encoded)) {
		if !w.held(q, mark) {
			return fmt.Errorf("a record contains %s", mark)
		}
	}
	for _, id := range anyID.findAll(string(encoded)) {
		if row := w.byID[id]; row != nil && !q.readable(row) {
			return fmt.Errorf("a record names %s", id)
		}
	}
	return w.read(q, seen)
}

// held reports whether the case may read one of the memories with a mark or a hash.
func (w *leakWorld) held(q leakQuery, what string) bool {
	return slices.ContainsFunc(w.holders[what], q.readable)
}

// mayLeave checks what a statement returned. Hidden values may only be returned by the search for redacted memories, or
// as a word of the request that is sent to Postgres.
func (w *leakWorld) mayLeave(q leakQuery, l left) error {
	w.left.Add(1)
	from := l.statement
	fine := w.held(q, l.what)
	switch row := w.byID[l.what]; {
	case row != nil:
		fine = q.readable(row) || from.redacting && q.redacts(row) != "" ||
			// a successor that was retracted or archived
			from.successors && row.gone != "deleted_at" && q.reaches(row)
	case strings.HasPrefix(l.what, "sm"):
		row := w.holders["mk"+l.what[2:]]
		fine = len(row) > 0 && (from.redacting && q.redacts(row[0]) == schema.RedactedSummary || from.whole &&
			q.readable(row[0]))
	}
	if fine || from.analyses && strings.Contains(q.words(), l.what) {
		return nil
	}
	return fmt.Errorf("%s came back from: %.700s", l.what, from.text)
}

// words returns the words of a request.
func (q leakQuery) words() string {
	task := schema.Task{}
	if q.req.Task != nil {
		task = *q.req.Task
	}
	return strings.ToLower(strings.Join([]string{q.req.Query, q.req.KeywordQuery, task.Intent, task.ErrorSignature},
		" "))
}

// recaller returns the recaller of a case.
func (w *leakWorld) recaller(q leakQuery, s *store.Store, index vector.Index, embedder inference.Embedder,
	log *bytes.Buffer) *recall.Recaller {
	return &recall.Recaller{Log: slog.New(slog.NewTextHandler(log, nil)), Store: s, Index: index, Embedder: embedder,
		Now: func() time.Time { return leakNow }, Policy: func() *policy.Policy { return w.policy[q.policy] },
		Settings: recall.Settings{TrustKey: q.key, TimeoutFactor: 10, DailyDecay: 1},
		Reranking: inference.Reranking{Reranker: inference.EmbeddingReranker{Embedder: embedder}, Blend: 0.5,
			Deadline: 20 * time.Second, Summarizer: parrot{embedder}}}
}

func trustedScopes(q leakQuery) []string {
	return slices.DeleteFunc(slices.Clone(q.scopes), func(s string) bool { return s == q.req.Principal.Scope })
}

// TestNothingUnauthorisedLeaks checks, for random callers, memories and requests, that no hidden memory is loaded,
// ranked by text, embedded, sent to a reranker, tracked, returned, counted or named, by any channel, stage, supplement
// or fallback of the recaller.
func TestNothingUnauthorisedLeaks(t *testing.T) {
	t.Parallel()
	url := testkit.DatabaseURL(t)
	owner := testkit.Owner(t, url)
	w := &leakWorld{byID: map[string]*leakRow{}, tracked: make([]atomic.Int64, leakRows),
		all: []uuid.UUID{uuid.New(), uuid.Nil}}
	r := rand.New(rand.NewPCG(*leakSeed, 1<<63))
	for n := range leakRows {
		w.rows = append(w.rows, newLeakRow(r, n))
	}
	succeed(r, w.rows)
	for i := range w.rows {
		row := &w.rows[i]
		w.byID[row.id.String()] = row
		w.all = append(w.all, row.id)
	}
	workers := min(max(*leakAtOnce, 1), 32)
	around := func() *rand.Rand { return rand.New(rand.NewPCG(*leakSeed, 1<<62)) }
	w.holders = storeLeakWorld(t, owner, around(), w.rows)
	plantSpies(t, owner)
	w.twin = newLeakTwin(t, around(), w.rows)
	w.store = openWatched(t, url, workers+1)
	for _, text := range leakPolicies {
		var rules *policy.Policy
		if text != "" {
			var err error
			rules, err = policy.Parse([]byte(text))
			require.NoError(t, err)
		}
		w.policy = append(w.policy, rules)
	}
	w.allOn = recall.Stages()
	w.without = slices.Concat(recall.Channels(), recall.Stages(), leakSupplements,
		[]string{"redact", "rescue_transcripts", "rescue_artifacts"})

	first, last := *leakFirst, *leakFirst+*leakCases
	if *leakCase >= 0 {
		first, last = *leakCase, *leakCase+1
	}
	alike := w.alike(first, last)
	groups := make(chan []int, len(alike))
	for _, cases := range alike {
		groups <- cases
	}
	close(groups)
	var done, failures atomic.Int64
	var wg sync.WaitGroup
	for range workers {
		wg.Go(func() {
			for cases := range groups {
				for _, n := range cases {
					if failures.Load() > 3 {
						return
					}
					q := w.draw(n)
					if err := w.check(q, n); err != nil {
						failures.Add(1)
						encoded, _ := json.Marshal(q.req)
						t.Errorf("case %d (-leak.seed %d -leak.case %d): %v\nhostile index %v, policy %d, key %v: %s",
							n, *leakSeed, n, err, q.hostile, q.policy, q.key != nil, encoded)
					}
					if n := done.Add(1); n%5000 == 0 {
						t.Logf("%d of %d cases are done", n, last-first)
					}
				}
			}
		})
	}
	wg.Wait()
	if t.Failed() {
		return
	}
	// Only memories that were returned in full were tracked.
	tracked := func(query string) map[string]int64 {
		out := map[string]int64{}
		rows, err := owner.Query(ctx, query)
		require.NoError(t, err)
		var id string
		var n int64
		_, err = pgx.ForEachRow(rows, []any{&id, &n}, func() error { out[id] = n; return nil })
		require.NoError(t, err)
		return out
	}
	accesses := tracked(`SELECT memory_id::text, access_count FROM memory_access`)
	recorded := tracked(`SELECT x::text, count(*) FROM retrievals, unnest(memory_ids) x GROUP BY 1`)
	for i := range w.rows {
		id, want := w.rows[i].id.String(), w.tracked[i].Load()
		for what, n := range map[string]int64{"accesses": accesses[id] - leakAccesses(i), "records": recorded[id]} {
			require.LessOrEqual(t, n, want, "%s of %s", what, w.rows[i].mark)
			require.True(t, n == want || w.untracked.Load() > 0, "%s of %s: %d, not %d", what, w.rows[i].mark, n, want)
		}
		delete(recorded, id)
	}
	require.Empty(t, recorded)
	counts := map[string]int64{"results": w.full.Load(), "summaries": w.summaries.Load(), "metadata": w.stubs.Load(),
		"supplementary": w.extra.Load(), "superseded": w.superseded.Load(),
		"reads": w.reads.Load(), "left": w.left.Load(), "barred": w.barred.Load(), "compared": w.compared.Load(),
		"records": w.records.Load(), "payloads": w.payloads.Load(), "passages": w.passages.Load()}
	kinds := map[string]int64{}
	for _, name := range slices.Concat(recall.Channels(),
		[]string{layers.ChannelSignals, "source", "rationale", "transcript", "artifact", "card", "session", "summary",
			"rescue"}) {
		kinds[name] = 0
		if n, ok := w.channels.Load(name); ok {
			kinds[name] = n.(*atomic.Int64).Load()
		}
	}
	t.Logf("%d cases, %d of them degraded by a deadline: %v %v", last-first, w.degraded.Load(), counts, kinds)
	if last-first >= 200 { // with fewer cases the counts prove nothing
		for what, n := range counts {
			require.Positive(t, n, what)
		}
	}
	if last-first >= 2000 {
		for what, n := range kinds {
			require.Positive(t, n, what)
		}
	}
}
