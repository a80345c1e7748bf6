package recall

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/mneme/mneme/inference"
	"github.com/mneme/mneme/memory/normalize"
	"github.com/mneme/mneme/memory/policy"
	"github.com/mneme/mneme/memory/question"
	"github.com/mneme/mneme/memory/rank"
	"github.com/mneme/mneme/memory/timeexpr"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/store"
	"github.com/mneme/mneme/store/pg"
	"github.com/mneme/mneme/store/search"
	"github.com/mneme/mneme/store/vector"
)

const (
	slowRecall    = time.Second     // logged with its stages
	trackDeadline = 2 * time.Second // the longest that an answer waits for its tracking
)

// Recaller answers recall requests. It is safe for concurrent use.
type Recaller struct {
	Store    *store.Store
	Index    vector.Index
	Embedder inference.Embedder
	Log      *slog.Logger
	Now      func() time.Time      // the clock; time.Now when nil
	Policy   func() *policy.Policy // for its trust rules; nil, or a nil policy, means the defaults

	Settings

	Reranking inference.Reranking // the zero value leaves reranking out

	// Untracked records neither retrievals nor accesses: the reads of a background job must not keep memories
	// alive.
	Untracked bool

	// Observe, if set, is called for every recall with the meta of the answer, the duration, and the error. After
	// an error meta is empty. It is called before the answer is returned and must not keep meta.
	Observe func(meta schema.RecallMeta, took time.Duration, err error)
}

// Settings are the settings of a deployment that apply to every recall.
type Settings struct {
	// Without names channels and stages that are switched off for every request. Benchmarks use it, and deployments
	// without an embedder. A request can switch off more.
	Without []string
	With    []string // names stages to switch on that are off by default (docs/recall.md)

	// TrustKey is the key with which trust contexts are signed, of policy.MinTrustKey bytes or more. Without a key, the
	// trust context of a request is accepted without a signature.
	TrustKey []byte

	// TimeoutFactor multiplies the deadlines of channels and stages, for a slow database or a busy machine; 0 means 1. The
	// reranker has a separate deadline.
	TimeoutFactor float64

	// DailyDecay is the share of its importance that a memory keeps for each day without access, (0,1]; 0 is
	// memory.DefaultDailyDecay.
	DailyDecay float64
}

// Recall returns memories that help with the query, best first. It fails on an invalid request
// (*schema.ValidationError) or if Postgres is unavailable; a failing channel only degrades it.
func (r *Recaller) Recall(ctx context.Context, req schema.RecallRequest) (schema.RecallResponse, error) {
	return r.RecallAs(ctx, uuid.Must(uuid.NewV7()), req)
}

// RecallAs is Recall with a retrieval id chosen by the caller. A caller that may repeat the call, such as an
// activity, uses the same id, and the access is tracked once.
func (r *Recaller) RecallAs(
	ctx context.Context,
	id uuid.UUID,
	req schema.RecallRequest,
) (schema.RecallResponse, error) {
	if r.Observe == nil {
		return r.recallAs(ctx, id, req)
	}
	start := time.Now()
	response, err := r.recallAs(ctx, id, req)
	r.Observe(response.Meta, time.Since(start), err)
	return response, err
}

func (r *Recaller) recallAs(
	ctx context.Context,
	id uuid.UUID,
	req schema.RecallRequest,
) (schema.RecallResponse, error) {
	if err := req.Validate(); err != nil {
		return schema.RecallResponse{}, err
	}
	if err := checkSwitches(req); err != nil {
		return schema.RecallResponse{}, err
	}
	req.Tags = normalize.NormalizeTags(req.Tags) // the form in which tags are stored
	start := r.now()
	clearance := r.trustRules().Clear(req, r.TrustKey, start)
	windows := timeexpr.Begun(timeexpr.ParseTimes(req.Query, start), start)
	q := &query{
		Recaller:   r,
		req:        req,
		limit:      ClampLimit(req.Limit),
		filter:     pg.FilterOf(req, clearance, start, windows),
		clearance:  clearance,
		id:         id,
		windows:    windows,
		asked:      question.Read(firstBytes(req.Query, maxAskedBytes)),
		clauses:    sync.OnceValue(func() []question.Question { return readClauses(req.Query) }),
		beginnings: sync.OnceValue(func() []string { return rank.RescueWords(req.Query) }),
		meta: schema.RecallMeta{
			Trust:     clearance.Meta(),
			TimingsMS: map[string]float64{},
			Channels:  map[string]int{},
			Degraded:  []string{},
		},
	}

	q.filter.DailyDecay = r.DailyDecay
	response, err := q.answer(ctx, start)
	if err != nil {
		return schema.RecallResponse{}, err
	}
	if req.IDsOnly {
		response = response.WithoutContent()
	}
	return response, nil
}

// answer runs the phases of a recall in order. The results that later phases need are return values.
func (q *query) answer(ctx context.Context, start time.Time) (schema.RecallResponse, error) {
	found, err := q.authorize(ctx, q.collect(ctx))
	if err != nil {
		return schema.RecallResponse{}, err
	}
	ranked := q.shape(ctx, found)
	q.meta.Relevance, q.meta.Floor = ranked.relevance.best, ranked.relevance.floor
	read, err := q.assemble(ctx, ranked)
	if err != nil {
		return schema.RecallResponse{}, err
	}
	results := q.withRedacted(ctx, read.results, ranked.relevance.blend)
	known := read.found || len(results) > 0
	results, extra := q.expand(ctx, supplementing{
		results:     q.fit(results, ranked.selections, read.budget),
		selections:  ranked.selections,
		budget:      read.budget,
		summaryTime: ranked.summaryTime,
	})
	if !known && !ranked.relevance.unknown {
		extra = q.rescue(ctx)
	}
	q.meta.Unknown = !known && len(extra) == 0 && len(q.meta.Degraded) == 0 // what failed might have found it
	q.track(ctx, q.readInFull(results), start)
	q.explain(results)
	q.explain(extra)
	q.addPayloads(results, extra, ranked.selections, read.payloads)
	took := q.now().Sub(start)
	q.meta.TimingsMS["total"] = milliseconds(took)
	if took > slowRecall && q.Log != nil {
		q.Log.Warn("slow recall", "retrieval_id", q.id, "timings_ms", q.meta.TimingsMS, "degraded", q.meta.Degraded)
	}
	return schema.RecallResponse{
		RetrievalID: q.id.String(),
		Results:     append(results, extra...),
		Layers:      q.layers(results, ranked.selections),
		Selections:  ranked.selections,
		Meta:        q.meta,
	}, nil
}

func (r *Recaller) now() time.Time {
	if r.Now != nil {
		return r.Now()
	}
	return time.Now()
}

// maxAskedBytes is the length up to which a query is read as a question. A longer query is a text to find memories
// about; only its beginning is read.
const maxAskedBytes = 2_000

func firstBytes(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return strings.ToValidUTF8(s[:n], "")
}

// ClampLimit returns the number of results that a request with a limit gets at most (document 002 Phase 1).
func ClampLimit(limit int) int {
	if limit == 0 {
		return schema.DefaultRecallLimit
	}
	return min(max(limit, 1), schema.MaxRecallLimit)
}

// query holds the request of one recall and its meta. The results of the phases are their return values.
type query struct {
	*Recaller
	req        schema.RecallRequest
	limit      int
	filter     pg.Filter
	clearance  policy.Clearance
	id         uuid.UUID
	mu         sync.Mutex // guards meta while channels run
	meta       schema.RecallMeta
	asked      question.Question          // what the query asks for
	clauses    func() []question.Question // the clauses of the question; read when first needed
	beginnings func() []string            // of the words of the query (rank.RescueWords); read when first needed
	windows    []timeexpr.TimeWindow      // times that the query names, without those in the future

	together func(search.Question) *search.Structured // hints, claims and the graph, while channels run
}

// within returns a context with the deadline of a channel or a stage, multiplied by TimeoutFactor.
func (q *query) within(ctx context.Context, deadline time.Duration) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, time.Duration(cmp.Or(q.TimeoutFactor, 1)*float64(deadline)))
}

// off reports whether a channel or stage is switched off.
func (q *query) off(name string) bool {
	return slices.Contains(q.Without, name) || slices.Contains(q.req.Without, name) || q.optional(name)
}

// authorize drops every candidate that the principal may not see, adds features to the others, and fuses the
// channels' scores of them. It fuses after dropping, so no score depends on a memory that the principal may not
// see. It fails closed. All that reads content comes later (document 002 Phase 3).
func (q *query) authorize(ctx context.Context, found collected) (collected, error) {
	defer q.timed("authorize")()
	features, err := q.Store.Authorize(ctx, q.filter, idsOf(found.evidence))
	if err != nil {
		return collected{}, err
	}
	out := make([]rank.Evidence, 0, len(features))
	for _, e := range found.evidence {
		if known, ok := features[e.ID]; ok {
			e.Features = known
			out = append(out, e)
		}
	}
	q.recount(out)
	found.evidence = rank.Fuse(out, found.trust)
	return found, nil
}

func idsOf(evidence []rank.Evidence) []uuid.UUID {
	ids := make([]uuid.UUID, len(evidence))
	for i, e := range evidence {
		ids[i] = e.ID
	}
	return ids
}

// assembled holds the rows that were read in full, and the rest of the token budget.
type assembled struct {
	results  []schema.RecallResult
	payloads map[uuid.UUID]json.RawMessage // of results, if requested
	budget   int                           // tokens that texts may use; 0: no bound
	found    bool                          // there are rows, even if the budget has no room for any of them
}

// assemble reads the best candidates through the filter again, and cuts to the limit. It reads more than the limit,
// and reads again if rows were deleted since they were authorised, so that the page is full if there are enough
// rows (document 002 Phase 5).
func (q *query) assemble(ctx context.Context, found shaped) (assembled, error) {
	defer q.timed("hydrate")()
	evidence := found.evidence
	type placed struct {
		place int
		row   schema.RecallResult
	}
	var read []placed
	places := make(map[uuid.UUID]int, len(evidence))
	for i, e := range evidence {
		places[e.ID] = i
	}
	for round := 0; round < maxHydrations && len(evidence) > 0; round++ {
		var page []rank.Evidence
		page, evidence = q.page(evidence, found.selections)
		rows, err := q.Store.Hydrate(ctx, q.readable(), idsOf(page), q.now())
		if err != nil {
			return assembled{}, err
		}
		for _, e := range page {
			if row, ok := rows[e.ID]; ok { // otherwise it was forgotten since it was authorised
				read = append(read, placed{places[e.ID], q.result(e, row)})
			}
		}
		if len(rows) == len(page) || !q.layered() && len(read) >= q.limit {
			break
		}
	}
	slices.SortFunc(read, func(a, b placed) int { return cmp.Compare(a.place, b.place) })
	results := make([]schema.RecallResult, 0, len(read))
	for _, p := range read {
		results = append(results, p.row)
	}
	if !q.layered() {
		results = results[:min(len(results), q.limit)]
	}
	payloads, budget := q.readPayloads(ctx, results, found.selections)
	return assembled{results: q.fit(results, found.selections, budget), payloads: payloads, budget: budget,
		found: len(results) > 0}, nil
}

// maxHydrations is how often a recall reads rows to fill its page.
const maxHydrations = 3

// result adds the recall's scores and reasons to a row.
func (q *query) result(e rank.Evidence, row schema.RecallResult) schema.RecallResult {
	row.Score, row.Channels, row.Currentness = e.Score, e.Channels, e.Currentness
	if row.Channels == nil {
		row.Channels = map[string]float64{} // a neighbour that no channel found
	}
	if e.SupersededBy != uuid.Nil {
		row.SupersededBy = e.SupersededBy.String()
	}
	if e.Newer != uuid.Nil {
		row.Newer = e.Newer.String()
	}
	row.HeldUntil, row.Relevance = e.HeldUntil(), e.Relevance
	if row.Currentness == "" {
		row.Currentness = schema.CurrentnessCurrent
	}
	if q.req.Explain {
		row.Explain = e.Explained()
	}
	row.Passage = q.passage(row.Content)
	return row
}

// track records the retrieval and the access to the returned memories.
func (q *query) track(ctx context.Context, results []schema.RecallResult, start time.Time) {
	if q.Untracked {
		return
	}
	defer q.timed("track")()
	ctx, cancel := q.within(ctx, trackDeadline)
	defer cancel()
	ids := make([]uuid.UUID, len(results))
	for i, row := range results {
		ids[i] = uuid.MustParse(row.ID)
	}
	now := q.now()
	err := q.Store.TrackRetrieval(
		ctx,
		search.Retrieval{ID: q.id, Principal: q.req.Principal, MemoryIDs: ids,
			Degraded: q.meta.Degraded, Took: now.Sub(start)},
		now,
	)
	if err != nil {
		q.degrade("track", err)
	}
}

// degrade notes that a channel or stage was left out.
func (q *query) degrade(stage string, err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.meta.Degraded = append(q.meta.Degraded, stage)
	if q.Log != nil && !errors.Is(err, context.Canceled) {
		q.Log.Warn("recall degraded", "retrieval_id", q.id, "stage", stage, "error", err)
	}
}

// timed starts the clock of a stage and returns the function that stops it.
func (q *query) timed(stage string) func() {
	start := q.now()
	return func() {
		took := q.now().Sub(start)
		q.mu.Lock()
		defer q.mu.Unlock()
		q.meta.TimingsMS[stage] += milliseconds(took) // a stage may have two parts
	}
}

func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
