package recall_test

import (
	"context"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/mneme/mneme/inference"
	"github.com/mneme/mneme/inference/rules"
	"github.com/mneme/mneme/memory/rank"
	"github.com/mneme/mneme/recall"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/store"
	"github.com/mneme/mneme/store/pg"
	"github.com/mneme/mneme/store/search"
	"github.com/mneme/mneme/store/vector"
)

// statementsOf maps each channel to a part of a statement that only it sends.
var statementsOf = map[string]string{
	rank.ChannelText:   "ts_rank(x.tsv",
	rank.ChannelVector: "FROM memory_embeddings",
	rank.ChannelHints:  "memory_hint_search",
	rank.ChannelClaims: "claim_search",
	rank.ChannelGraph:  "FROM entities WHERE",
	rank.ChannelTime:   "m.validity = 'timeboxed'",
}

// faultTracer makes each statement that contains a text fail or hang before it reaches Postgres.
type faultTracer struct {
	text  string
	hangs bool
}

func (x faultTracer) TraceQueryStart(ctx context.Context, _ *pgx.Conn, d pgx.TraceQueryStartData) context.Context {
	return x.inject(ctx, d.SQL)
}

func (x faultTracer) TraceBatchStart(ctx context.Context, _ *pgx.Conn, d pgx.TraceBatchStartData) context.Context {
	for _, q := range d.Batch.QueuedQueries {
		ctx = x.inject(ctx, q.SQL)
	}
	return ctx
}

func (faultTracer) TraceBatchQuery(context.Context, *pgx.Conn, pgx.TraceBatchQueryData) {}

func (faultTracer) TraceBatchEnd(context.Context, *pgx.Conn, pgx.TraceBatchEndData) {}

func (x faultTracer) inject(ctx context.Context, sql string) context.Context {
	if !strings.Contains(strings.Join(strings.Fields(sql), " "), x.text) { // ignoring line breaks
		return ctx
	}
	if x.hangs {
		<-ctx.Done()
		return ctx
	}
	broken, cancel := context.WithCancel(ctx)
	cancel()
	return broken
}

func (faultTracer) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}

// canary returns a memory that every channel finds with canaryQuery.
func (w *world) canary() uuid.UUID {
	yesterday := time.Now().UTC().AddDate(0, 0, -1)
	id := w.put(w.p, schema.VisibilityPrivate,
		schema.Candidate{Content: "the canary sings in the mine, married as it is", Speaker: "Ann",
			OccurredAt: &yesterday})
	w.exec(`INSERT INTO entity_claims (tenant, memory_id, subject, predicate, object, functional, created_at)
		VALUES ('t', $1, 'canary', 'sings_in', 'mine', false, now())`, id)
	w.exec(`INSERT INTO entities (tenant, id, canonical_name, name, mentions, created_at, updated_at)
		VALUES ('t', $1, 'canary', 'canary', 1, now(), now())`, id)
	w.exec(`INSERT INTO memory_entity_mentions VALUES ('t', $1, $1, now())`, id)
	w.exec(`INSERT INTO memory_embeddings (tenant, id, memory_id, model, dims, embedding, tier, typology, content_hash,
		created_at)
		SELECT 't', $1, $1, 'hash-v1', 384, $2::text::vector, tier, typology, content_hash, now() FROM memories
			WHERE id = $1`, id, vectorText(w.t, "the canary sings in the mine"))
	return id
}

const canaryQuery = "where did the canary, single or married, sing yesterday?"

func vectorText(t testing.TB, text string) string {
	t.Helper()
	v, _, err := rules.New().Embedder.Embed(ctx, []string{text})
	require.NoError(t, err)
	var out strings.Builder
	for i, x := range v[0] {
		if i > 0 {
			out.WriteByte(',')
		}
		out.WriteString(strconv.FormatFloat(float64(x), 'g', -1, 32))
	}
	return "[" + out.String() + "]"
}

func TestEveryChannelFindsItsMemory(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	id := w.canary()
	out := w.recall(canaryQuery)
	require.Empty(t, out.Meta.Degraded)
	require.Equal(t, []string{id.String()}, ids(out))
	for channel := range statementsOf {
		require.Positive(t, out.Results[0].Channels[channel], channel)
		require.Equal(t, 1, out.Meta.Channels[channel], channel)
	}
	for channel := range statementsOf { // each channel can be switched off
		off, err := w.Recall(ctx, schema.RecallRequest{Principal: w.p, Query: canaryQuery, Without: []string{channel}})
		require.NoError(t, err)
		require.Equal(t, []string{id.String()}, ids(off), channel)
		require.NotContains(t, off.Results[0].Channels, channel)
		require.NotContains(t, off.Meta.Channels, channel)
	}
	primary, err := w.Recall(ctx, schema.RecallRequest{Principal: w.p, Query: canaryQuery,
		Traversal: schema.TraversalPrimary})
	require.NoError(t, err)
	require.Equal(t, []string{id.String()}, ids(primary))
	_, err = w.Recall(ctx, schema.RecallRequest{Principal: w.p, Query: canaryQuery, Traversal: "deep"})
	var invalid *schema.ValidationError
	require.ErrorAs(t, err, &invalid)
	require.Equal(t, "traversal", invalid.Fields[0].Field)
}

// Any channel may fail or hang: it is left out and named, and the others answer. The same holds for the analysis of the
// query, and with it for the channels that need its words.
func TestAnyChannelMayFailOrHang(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	id := w.canary()
	type breakage struct {
		text string // of the statement
		lost []string
	}
	cases := map[string]breakage{"analysis": {"FROM corpus_stats",
		[]string{rank.ChannelText, rank.ChannelHints, rank.ChannelClaims, rank.ChannelGraph}}}
	for channel, text := range statementsOf {
		cases[channel] = breakage{text, []string{channel}}
	}
	for name, c := range cases {
		for what, hangs := range map[string]bool{"fails": false, "hangs": true} {
			t.Run(name+" "+what, func(t *testing.T) {
				t.Parallel()
				s, err := store.Open(ctx, pg.Config{URL: w.owner.Config().ConnString(), MaxConns: 10,
					Configure: func(pc *pgxpool.Config) {
						pc.ConnConfig.Tracer = faultTracer{c.text, hangs}
					}})
				require.NoError(t, err)
				t.Cleanup(s.Close)
				r := &recall.Recaller{Store: s, Index: vector.PGVector{Store: s}, Embedder: rules.New().Embedder,
					Settings: recall.Settings{TimeoutFactor: 1}}
				out, err := r.Recall(ctx, schema.RecallRequest{Principal: w.p, Query: canaryQuery})
				// On a busy machine another channel may miss its deadline too: retry with longer deadlines.
				for err == nil && len(out.Meta.Degraded) > len(c.lost) && r.TimeoutFactor < 30 {
					r.TimeoutFactor *= 3
					out, err = r.Recall(ctx, schema.RecallRequest{Principal: w.p, Query: canaryQuery})
				}
				require.NoError(t, err)
				require.ElementsMatch(t, c.lost, out.Meta.Degraded)
				require.Equal(t, []string{id.String()}, ids(out))
				for _, channel := range c.lost {
					require.NotContains(t, out.Results[0].Channels, channel)
				}
			})
		}
	}
}

// otherModel is an embedder whose space compares meanings.
type otherModel struct{ inference.Embedder }

func (otherModel) Model() inference.EmbeddingModel {
	return inference.EmbeddingModel{Name: "other", Dimensions: 384}
}

// Vectors of words add misspelt words to what full text finds. So they are searched only if full text finds few memories
// or does not know a word.
func TestVectorsOfWordsAreSearchedIfFullTextIsNotEnough(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for i := range 50 {
		w.remember("the canary sings in mine number " + strconv.Itoa(i))
	}
	w.remember("the kestrel nests in the tower")
	known := schema.RecallRequest{Principal: w.p, Query: "which canary sings in the mine?"}
	other := func(change func(*schema.RecallRequest)) schema.RecallRequest {
		req := known
		change(&req)
		return req
	}
	for name, c := range map[string]struct {
		req      schema.RecallRequest
		trained  bool
		searched bool
	}{
		"many memories have the words": {req: known},
		"few memories have the words": {
			req: other(func(r *schema.RecallRequest) { r.Query = "kestrel" }), searched: true},
		"a word is misspelt": {
			req: other(func(r *schema.RecallRequest) { r.Query = "which canarry sings in the mine?" }), searched: true},
		"only function words": {
			req: other(func(r *schema.RecallRequest) { r.Query = "which of the" }), searched: true},
		"full text reads other words": {
			req: other(func(r *schema.RecallRequest) { r.KeywordQuery = "canary" }), searched: true},
		"full text is off": {
			req: other(func(r *schema.RecallRequest) { r.Without = []string{rank.ChannelText} }), searched: true},
		"more memories are wanted than full text found": {
			req: other(func(r *schema.RecallRequest) { r.Limit = 20 }), searched: true},
		"vectors compare meanings": {req: known, trained: true, searched: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := *w.Recaller
			var searches atomic.Int32
			r.Index = stubIndex{search: func(context.Context) ([]search.Hit, error) {
				searches.Add(1)
				return nil, nil
			}}
			if c.trained {
				r.Embedder = otherModel{r.Embedder}
			}
			out, err := r.Recall(ctx, c.req)
			require.NoError(t, err)
			require.Empty(t, out.Meta.Degraded)
			_, counted := out.Meta.Channels[rank.ChannelVector]
			require.Equal(t, c.searched, searches.Load() == 1)
			require.Equal(t, c.searched, counted, "meta.channels names the channels that were searched")
		})
	}
}
