package recall_test

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"log/slog"
	"maps"
	"math/rand/v2"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/mneme/mneme/inference"
	"github.com/mneme/mneme/inference/rules"
	"github.com/mneme/mneme/internal/testkit"
	"github.com/mneme/mneme/memory"
	"github.com/mneme/mneme/recall"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/store"
	"github.com/mneme/mneme/store/vector"
)

// Each case is one request, numbered, so that one that fails can be asked again alone:
//
//	go test ./recall -run TestNothingUnauthorisedLeaks -leak.cases 100000 -timeout 0
//	go test ./recall -run TestNothingUnauthorisedLeaks -leak.seed 7 -leak.case 4711
var (
	leakCases  = flag.Int("leak.cases", 300, "random requests")
	leakSeed   = flag.Uint64("leak.seed", 1, "of the rows and the requests")
	leakCase   = flag.Int("leak.case", -1, "only this one")
	leakAtOnce = flag.Int("leak.workers", 2*runtime.GOMAXPROCS(0), "requests at once, up to 32")
)

const leakRows = 240

var leakKey = []byte("a key of thirty-two bytes or more")

// leakPolicies are what a deployment may say of trust.
var leakPolicies = []string{"", `trust:
  environments: {kiosk: low, office: hyper, "*": high}
  above_limit: {medium: metadata, high: summary, hyper: summary}`, `trust:
  above_limit: {low: summary, medium: summary, high: metadata, hyper: metadata}`}

type leakWorld struct {
	rows    []leakRow
	byID    map[string]*leakRow
	byMark  map[string]*leakRow
	all     []uuid.UUID
	store   *store.Store
	policy  []*memory.Policy
	allOn   []string // every stage there is
	without []string // every channel and stage there is

	tracked                                                            []atomic.Int64 // by row: how often it was returned in full
	full, summaries, stubs, extra, reads, barred, superseded, degraded atomic.Int64
}

// leakQuery is a case: a request, what the deployment says, and what the model grants it.
type leakQuery struct {
	req      schema.RecallRequest
	policy   int
	key      []byte
	hostile  bool
	limit    schema.Sensitivity // content up to here
	scopes   []string
	redacted map[schema.Sensitivity]schema.Redaction
}

// draw makes up a case, and says in plain words what trust it comes to.
func (w *leakWorld) draw(n int) leakQuery {
	r := rand.New(rand.NewPCG(*leakSeed, uint64(n)))
	q := leakQuery{policy: r.IntN(len(w.policy)), hostile: r.IntN(2) == 0}
	some := w.rows[r.IntN(len(w.rows))]
	req := &q.req
	req.Principal, req.Limit = leakPrincipal(r), oneOf(r, 0, 3, 10, schema.MaxRecallLimit)
	if r.IntN(3) == 0 {
		req.Principal = some.p
	}
	req.ReadPolicy = oneOf[schema.ReadPolicy](r, "", "isolated", "shared", "shared", "group")
	if req.ReadPolicy == schema.ReadGroup && req.Principal.PolicyGroup == "" {
		req.Principal.PolicyGroup = "h"
	}
	req.Query = oneOf(r, "needle", some.mark, some.content, "where is the needle "+some.mark, "what does Alice keep", "Boris and the "+oneOf(r, leakTopics...),
		"needle last week", "needle in May 2026", "sm"+some.mark[2:], oneOf(r, leakTopics...), "zyzzyva", "*'\"&|!:")
	req.KeywordQuery = oneOf(r, "", "", "", "needle")
	req.MaxSensitivity = oneOf(r, append(ladder, "", "", "hyper", "hyper")...)
	switch r.IntN(8) {
	case 0:
		req.Types = []schema.MemoryType{oneOf(r, leakTypes...)}
	case 1:
		req.Categories = []schema.Category{some.category, "issue"}
	case 2:
		req.Tags = []string{oneOf(r, "X", "y")}
	case 3:
		req.Who = oneOf(r, "alice", "Boris")
	case 4:
		pinned := r.IntN(2) == 0
		req.Pinned = &pinned
	case 5:
		req.ImportanceMin = oneOf(r, 0.4, 0.8)
	}
	if r.IntN(6) == 0 {
		since, until := leakNow.AddDate(0, 0, -30), leakNow.AddDate(0, 0, -2)
		req.Since, req.Until = &since, &until
	}
	if r.IntN(4) == 0 {
		req.Context = json.RawMessage(oneOf(r, `{"os":"linux"}`, `{"os":"windows","x":1}`))
	}
	if r.IntN(6) == 0 {
		at := leakNow.AddDate(0, 0, oneOf(r, -20, 6, 20))
		req.ValidAt = &at
	}
	req.Expand, req.Explain, req.Layers, req.Superseded = r.IntN(2) == 0, r.IntN(2) == 0, r.IntN(4) == 0, r.IntN(4) == 0
	if r.IntN(5) == 0 {
		req.Task = &schema.Task{Intent: oneOf(r, "needle", "skill_"+some.mark), ErrorSignature: oneOf(r, "", "needle "+some.mark), BudgetTokens: oneOf(r, 0, 200)}
	}
	req.With = w.allOn
	if r.IntN(2) == 0 {
		req.With = nil
	}
	for range r.IntN(5) {
		req.Without = append(req.Without, oneOf(r, w.without...))
	}
	w.drawTrust(r, &q)
	return q
}

func (w *leakWorld) drawTrust(r *rand.Rand, q *leakQuery) {
	req := &q.req
	low := func(levels ...schema.Sensitivity) schema.Sensitivity { // the lowest that is set
		out := schema.Sensitivity("hyper")
		for _, l := range levels {
			if l != "" && rung(l) < rung(out) {
				out = l
			}
		}
		return out
	}
	environment := func(name string) schema.Sensitivity {
		if q.policy != 1 {
			return ""
		}
		return map[string]schema.Sensitivity{"kiosk": "low", "office": "hyper"}[name]
	}
	elsewhere := schema.Sensitivity("")
	if q.policy == 1 {
		elsewhere = "high"
	}
	in := func(name string) schema.Sensitivity {
		return low(func() schema.Sensitivity {
			if known := environment(name); known != "" {
				return known
			}
			return elsewhere
		}())
	}

	claim := schema.TrustContext{Authenticated: r.IntN(3) > 0, MaxSensitivity: oneOf(r, append(ladder, "", "", "hyper")...), Environment: oneOf(r, "", "kiosk", "office", "elsewhere")}
	if r.IntN(3) == 0 {
		claim.Scopes = []string{"s"}
	}
	said, authenticated := claim, claim.Authenticated
	if r.IntN(4) == 0 {
		said, claim, authenticated = schema.TrustContext{}, schema.TrustContext{}, false
	} else {
		req.Trust = &said
	}
	q.scopes = claim.Scopes
	asked := req.MaxSensitivity
	if asked == "" {
		asked = claim.MaxSensitivity
	}
	limit := low(claim.MaxSensitivity, in(claim.Environment))
	if r.IntN(3) == 0 {
		q.key = leakKey
		switch r.IntN(5) {
		case 0, 1: // signed for this principal, and claimed in full
			if claim.MaxSensitivity == "" {
				claim.MaxSensitivity = "medium"
			}
			token, err := memory.SignTrust(leakKey, req.Principal, claim, leakNow.Add(time.Minute))
			if err != nil {
				panic(err)
			}
			said = schema.TrustContext{Token: token}
			req.Trust = &said
			if asked = req.MaxSensitivity; asked == "" {
				asked = claim.MaxSensitivity
			}
			limit = low(claim.MaxSensitivity, in(claim.Environment))
		case 2, 3, 4: // not signed, by another key, too late, or for another
			p, key, expires := req.Principal, leakKey, leakNow.Add(time.Minute)
			switch r.IntN(4) {
			case 0:
				p.Agent += "x"
			case 1:
				key = []byte("another key of thirty-two bytes or more")
			case 2:
				expires = leakNow
			case 3:
				p.Scope += "s"
			}
			if req.Trust != nil && r.IntN(2) == 0 {
				said.Token, _ = memory.SignTrust(key, p, claim, expires)
			}
			authenticated, q.scopes = false, nil
			limit = low(limit, in(""))
		}
	}
	if asked == "" {
		asked = "medium"
	}
	q.limit = low(asked, limit)
	if !authenticated {
		q.limit = low(q.limit, "medium")
	}
	q.redacted = map[schema.Sensitivity]schema.Redaction{}
	rules := []map[schema.Sensitivity]schema.Redaction{nil, {"medium": "metadata", "high": "summary", "hyper": "summary"},
		{"low": "summary", "medium": "summary", "high": "metadata", "hyper": "metadata"}}[q.policy]
	for level, how := range rules {
		if rung(level) > rung(q.limit) && (level != "hyper" || authenticated) {
			q.redacted[level] = how
		}
	}
}

// readable says whether a case may read a memory's content at all; what was superseded may be told of what
// succeeded it, where it is asked for.
func (q leakQuery) readable(r *leakRow) bool {
	state := r.live() || r.gone == "" && r.status == schema.StatusSuperseded
	return state && rung(r.sensitivity) <= rung(q.limit) && reaches(*r, q.req, q.scopes)
}

// answers says whether a memory may be an answer of a case, in full.
func (q leakQuery) answers(r *leakRow) bool { return r.live() && q.readable(r) && meets(*r, q.req) }

// redacts says how a memory may be shown that is above the limit.
func (q leakQuery) redacts(r *leakRow) schema.Redaction {
	req := q.req
	if !r.live() || !reaches(*r, req, q.scopes) || !shownMeets(*r, req) || !holds(*r, leakNow) || len(req.Tags) > 0 || req.Who != "" || req.Pinned != nil || req.ImportanceMin > 0 {
		return ""
	}
	return q.redacted[r.sensitivity]
}

// everything is an index that has forgotten about tenants, and about what it was asked.
type everything struct {
	vector.PGVector
	hits []store.Hit
}

func (e everything) Search(context.Context, store.Filter, store.Embedding, int) ([]store.Hit, error) {
	return slices.Clone(e.hits), nil
}

// listener hears what is sent to the embedder and the reranker.
type listener struct {
	inference.Embedder
	heard func(texts []string)
}

func (l listener) Embed(ctx context.Context, texts []string) ([][]float32, inference.Usage, error) {
	l.heard(texts)
	return l.Embedder.Embed(ctx, texts)
}

var leakMarks = regexp.MustCompile(`mk\d{4}`)
var summaryMarks = regexp.MustCompile(`sm\d{4}`)
var anyID = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`)

// run carries out a case, and returns what is wrong.
func (w *leakWorld) run(q leakQuery) error {
	ctx, seen := watched(ctx)
	var mu sync.Mutex
	var sent []string
	embedder := listener{rules.New().Embedder, func(texts []string) { mu.Lock(); defer mu.Unlock(); sent = append(sent, texts...) }}
	var index vector.Index = vector.PGVector{Store: w.store}
	if q.hostile {
		hits := make([]store.Hit, 0, len(w.all))
		for i, id := range w.all {
			hits = append(hits, store.Hit{ID: id, Score: 1 / float64(1+i%7)})
		}
		index = everything{hits: hits}
	}
	var log bytes.Buffer
	recaller := &recall.Recaller{Log: slog.New(slog.NewTextHandler(&log, nil)), Store: w.store, Index: index, Embedder: embedder, Now: func() time.Time { return leakNow }, TrustKey: q.key,
		Policy: func() *memory.Policy { return w.policy[q.policy] }, Reranking: inference.Reranking{Reranker: inference.EmbeddingReranker{Embedder: embedder}, Blend: 0.5}}
	out, err := recaller.Recall(ctx, q.req)
	if err != nil {
		return err
	}
	if len(out.Meta.Degraded) > 0 { // a busy machine misses deadlines: what is left must be right all the same
		w.degraded.Add(1)
		for line := range strings.Lines(log.String()) {
			if !strings.Contains(line, "deadline exceeded") {
				return fmt.Errorf("degraded: %s", line)
			}
		}
	}
	if out.Meta.Trust.MaxSensitivity != q.limit || !slices.Equal(out.Meta.Trust.Scopes, trustedScopes(q)) {
		return fmt.Errorf("cleared up to %s in %v, not up to %s in %v", out.Meta.Trust.MaxSensitivity, out.Meta.Trust.Scopes, q.limit, q.scopes)
	}
	// Sent to a model.
	for _, text := range sent {
		if text == q.req.Query || text == q.req.KeywordQuery {
			continue
		}
		for _, mark := range leakMarks.FindAllString(text, -1) {
			if row := w.byMark[mark]; row == nil || !q.readable(row) {
				return fmt.Errorf("a model was sent %s", mark)
			}
		}
	}
	// Loaded, or ranked by text.
	for id, columns := range seen.reads {
		row := w.byID[id]
		for column := range columns {
			if row == nil || !(q.readable(row) || column == "memories.safe_summary" && q.redacts(row) == schema.RedactedSummary) {
				return fmt.Errorf("%s of %s was read", column, id)
			}
			w.reads.Add(1)
		}
	}
	return w.judge(q, out)
}

func trustedScopes(q leakQuery) []string {
	return slices.DeleteFunc(slices.Clone(q.scopes), func(s string) bool { return s == q.req.Principal.Scope })
}

// judge holds an answer against the model.
func (w *leakWorld) judge(q leakQuery, out schema.RecallResponse) error {
	named := map[string]bool{out.RetrievalID: true}
	returned := map[string]bool{}
	for _, x := range out.Results {
		row := w.byID[x.ID]
		switch {
		case x.Supplementary:
			w.extra.Add(1)
			named[x.ID] = true // what it tells is judged by its words, below
			continue
		case row == nil:
			return fmt.Errorf("%s is no memory", x.ID)
		case x.Redacted != "":
			if q.redacts(row) != x.Redacted || x.Redacted == schema.RedactedSummary && !row.summary || x.Sensitivity != row.sensitivity {
				return fmt.Errorf("%s was shown as %s, and may be shown as %q", row.mark, x.Redacted, q.redacts(row))
			}
			bare := schema.RecallResult{ID: x.ID, Content: x.Content, Type: row.kind, Category: row.category, Score: x.Score, Channels: x.Channels, CreatedAt: x.CreatedAt,
				OccurredAt: x.OccurredAt, Tags: []string{}, Redacted: x.Redacted, Sensitivity: row.sensitivity}
			if fmt.Sprint(bare) != fmt.Sprint(x) || x.Redacted == schema.RedactedMetadata && x.Content != "" {
				return fmt.Errorf("%s shows more than it may", row.mark)
			}
			if x.Redacted == schema.RedactedSummary {
				w.summaries.Add(1)
			} else {
				w.stubs.Add(1)
			}
		default:
			may := q.answers(row)
			if row.status == schema.StatusSuperseded && q.req.Superseded {
				may = q.readable(row) && meets(*row, q.req)
				w.superseded.Add(1)
			}
			if !may {
				return fmt.Errorf("%s was shown", row.mark)
			}
			w.full.Add(1)
			w.tracked[slices.IndexFunc(w.rows, func(r leakRow) bool { return r.id == row.id })].Add(1)
		}
		if returned[x.ID] {
			return fmt.Errorf("%s was shown twice", x.ID)
		}
		returned[x.ID] = true
	}
	// Whatever else an answer holds, now or later: no word and no id of what may not be seen.
	encoded, err := json.Marshal(out)
	if err != nil {
		return err
	}
	text := strings.ReplaceAll(string(encoded), `"query":`, "")
	for _, mark := range leakMarks.FindAllString(text, -1) {
		if row := w.byMark[mark]; row == nil || !q.readable(row) {
			return fmt.Errorf("the answer speaks of %s", mark)
		}
	}
	for _, mark := range summaryMarks.FindAllString(text, -1) {
		if row := w.byMark["mk"+mark[2:]]; row == nil || q.redacts(row) != schema.RedactedSummary {
			return fmt.Errorf("the answer speaks of the summary of %s", mark)
		}
	}
	for _, id := range anyID.FindAllString(text, -1) {
		if row := w.byID[id]; !named[id] && (row == nil || !q.readable(row) && q.redacts(row) == "") || row != nil && !q.readable(row) && q.redacts(row) == "" {
			return fmt.Errorf("the answer names %s", id)
		}
	}
	for name, n := range out.Meta.Channels {
		visible := 0
		for i := range w.rows {
			if row := &w.rows[i]; q.readable(row) {
				visible++
			}
		}
		if n > visible {
			return fmt.Errorf("meta counts %d of %s where %d may be seen", n, name, visible)
		}
	}
	return nil
}

// same holds the filter in SQL against the model: what is authorised, and what is listed, is exactly that.
func (w *leakWorld) same(q leakQuery) error {
	f := store.FilterOf(q.req, memory.Clearance{Limit: q.limit, Scopes: q.scopes}, leakNow, memory.Begun(memory.ParseTimes(q.req.Query, leakNow), leakNow))
	f.Tags = memory.NormalizeTags(f.Tags)
	sheets, err := w.store.Authorize(ctx, f, w.all)
	if err != nil {
		return err
	}
	got := map[uuid.UUID]bool{}
	for id := range sheets {
		got[id] = true
	}
	listed, err := w.store.List(ctx, f, store.Page{Limit: 500})
	if err != nil {
		return err
	}
	shown := map[uuid.UUID]bool{}
	for _, m := range listed {
		shown[uuid.MustParse(m.ID)] = true
	}
	want := map[uuid.UUID]bool{}
	f.Superseded = false
	for i := range w.rows {
		if q.answers(&w.rows[i]) {
			want[w.rows[i].id] = true
		} else {
			w.barred.Add(1)
		}
	}
	if !maps.Equal(got, want) || !maps.Equal(shown, want) {
		return fmt.Errorf("%d are authorised and %d listed where the model has %d", len(got), len(shown), len(want))
	}
	return nil
}

// TestNothingUnauthorisedLeaks: for random askers, memories and requests, nothing that the asker may not see
// is loaded, ranked by text, embedded, sent to a reranker, tracked, returned, counted or named, by any
// channel, stage, supplement or fallback that the recaller has.
func TestNothingUnauthorisedLeaks(t *testing.T) {
	t.Parallel()
	url := testkit.DatabaseURL(t)
	owner := testkit.Owner(t, url)
	w := &leakWorld{byID: map[string]*leakRow{}, byMark: map[string]*leakRow{}, tracked: make([]atomic.Int64, leakRows), all: []uuid.UUID{uuid.New(), uuid.Nil}}
	r := rand.New(rand.NewPCG(*leakSeed, 1<<63))
	for n := range leakRows {
		w.rows = append(w.rows, newLeakRow(r, n))
	}
	for i := range w.rows {
		row := &w.rows[i]
		w.byID[row.id.String()], w.byMark[row.mark] = row, row
		w.all = append(w.all, row.id)
	}
	storeLeakWorld(t, owner, r, w.rows)
	plantSpies(t, owner)
	w.store = openWatched(t, url)
	for _, text := range leakPolicies {
		var policy *memory.Policy
		if text != "" {
			var err error
			policy, err = memory.ParsePolicy([]byte(text))
			require.NoError(t, err)
		}
		w.policy = append(w.policy, policy)
	}
	w.allOn = recall.Stages()
	w.without = slices.Concat(recall.Channels(), recall.Stages())

	first, last := 0, *leakCases
	if *leakCase >= 0 {
		first, last = *leakCase, *leakCase+1
	}
	var next atomic.Int64
	next.Store(int64(first))
	var failures atomic.Int64
	var wg sync.WaitGroup
	for range min(max(*leakAtOnce, 1), 32) {
		wg.Go(func() {
			for {
				n := int(next.Add(1)) - 1
				if n >= last || failures.Load() > 3 {
					return
				}
				q := w.draw(n)
				err := w.run(q)
				if err == nil && n%8 == 0 {
					err = w.same(q)
				}
				if err != nil {
					failures.Add(1)
					encoded, _ := json.Marshal(q.req)
					t.Errorf("case %d (-leak.seed %d -leak.case %d): %v\nhostile index %v, policy %d, key %v: %s", n, *leakSeed, n, err, q.hostile, q.policy, q.key != nil, encoded)
				}
			}
		})
	}
	wg.Wait()
	if t.Failed() {
		return
	}
	// Only what was returned in full was tracked.
	got := map[string]int64{}
	rows, err := owner.Query(ctx, `SELECT memory_id::text, access_count FROM memory_access`)
	require.NoError(t, err)
	defer rows.Close()
	for rows.Next() {
		var id string
		var n int64
		require.NoError(t, rows.Scan(&id, &n))
		got[id] = n
	}
	require.NoError(t, rows.Err())
	for i := range w.rows {
		require.Equal(t, w.tracked[i].Load(), got[w.rows[i].id.String()], "accesses of %s", w.rows[i].mark)
	}
	t.Logf("%d cases: %d results, %d summaries, %d redacted to metadata, %d supplementary, %d superseded; %d reads of content, %d rows barred; %d degraded by a deadline", last-first,
		w.full.Load(), w.summaries.Load(), w.stubs.Load(), w.extra.Load(), w.superseded.Load(), w.reads.Load(), w.barred.Load(), w.degraded.Load())
	if last-first >= 200 { // or else it says nothing
		for what, n := range map[string]int64{"results": w.full.Load(), "summaries": w.summaries.Load(), "metadata": w.stubs.Load(), "supplements": w.extra.Load(),
			"reads": w.reads.Load(), "barred": w.barred.Load()} {
			require.Positive(t, n, what)
		}
	}
}
