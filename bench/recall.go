package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/dustin/go-humanize"
	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/pgvector/pgvector-go"
	pgxvec "github.com/pgvector/pgvector-go/pgx"

	"github.com/mneme/mneme/memory/intake"
	"github.com/mneme/mneme/recall"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/store/vector"
)

// recall measures the read path, and the bare SQL queries that any read path needs.
func (b *bench) recall(ctx context.Context) error {
	var before, rows [][]string
	last := map[string]point{} // by corpus
	for _, field := range strings.Split(b.sizes, ",") {
		size, err := strconv.Atoi(field)
		if err != nil {
			return errors.New("-sizes must be numbers")
		}
		for _, c := range b.corpora(size) {
			at, room, err := b.recallOver(ctx, c)
			if err != nil {
				return err
			}
			before = append(before, append([]string{c.name}, room...))
			if last := last[c.name]; last.size > 0 {
				rows = append(rows, []string{c.name, fmt.Sprintf("%d to %d", last.size, size),
					exponent(last, at, func(p point) time.Duration { return p.recall }),
					exponent(last, at, func(p point) time.Duration { return p.text })})
			}
			last[c.name] = at
		}
	}
	if b.answers != "" {
		return nil
	}
	table("What memories take, and the process that recalls", []string{"corpus", "memories", "rows",
		"text index", "vectors", "vector index", "all tables", "bytes a memory", "heap of the process"}, before)
	if len(rows) > 0 {
		table("Growth of the median with the number of memories, one client (exponent: 0 flat, 1 linear)",
			[]string{"corpus", "memories", "recall", "bare SQL full-text query"}, rows)
	}
	return nil
}

// point is the median time of a recall, and of the bare full-text query, over a number of memories.
type point struct {
	size         int
	recall, text time.Duration
}

func exponent(a, b point, of func(point) time.Duration) string {
	return fmt.Sprintf("%.2f", math.Log(float64(of(b))/float64(of(a)))/math.Log(float64(b.size)/float64(a.size)))
}

// room returns the disk space of a site and the heap of the process.
func (b *bench) room(ctx context.Context, s site, size int) ([]string, error) {
	runtime.GC()
	var mem runtime.MemStats
	runtime.ReadMemStats(&mem)
	type tableSizes struct{ Rows, Text, Vectors, Graph, All uint64 }
	var sizes tableSizes
	err := b.owner(ctx, s.url, func(conn *pgx.Conn) error {
		rows, err := conn.Query(ctx, `
			SELECT
				pg_table_size('memories') AS rows,
				pg_relation_size('memories_text') AS text,
				pg_table_size('memory_embeddings') AS vectors,
				pg_relation_size('memory_embeddings_hash_v1_session_episodic') AS graph,
				(SELECT sum(pg_total_relation_size(c.oid))
					FROM pg_class c
					WHERE c.relkind = 'r' AND c.relnamespace = current_schema()::regnamespace)::bigint AS all`)
		if err != nil {
			return err
		}
		sizes, err = pgx.CollectExactlyOneRow(rows, pgx.RowToStructByName[tableSizes])
		return err
	})
	out := []string{fmt.Sprint(size)}
	for _, n := range []uint64{sizes.Rows, sizes.Text, sizes.Vectors, sizes.Graph, sizes.All} {
		out = append(out, humanize.IBytes(n))
	}
	return append(out, humanize.Comma(int64(sizes.All)/int64(size)), humanize.IBytes(mem.HeapAlloc)), err
}

// tenants measures the recall of one tenant among a thousand, and that of the same tenant alone.
func (b *bench) tenants(ctx context.Context) error {
	const many = 1000
	var rows [][]string
	for _, tenants := range []int{1, many} {
		s, drop, err := b.newSite(ctx)
		if err != nil {
			return err
		}
		defer drop()
		if err := b.load(ctx, s, inSessions(observations(b.ofTenant*tenants)), tenants); err != nil {
			return err
		}
		recaller := &recall.Recaller{Store: s.Store, Index: vector.PGVector{Store: s.Store}, Embedder: b.brain.Embedder}
		r := rand.New(rand.NewPCG(3, 4))
		queries := make([]string, b.queries)
		for i := range queries {
			queries[i] = question(r, b.ofTenant)
		}
		for _, clients := range []int{1, 8} {
			run := func(i int) error {
				resp, err := recaller.Recall(ctx, schema.RecallRequest{Principal: principal, Query: queries[i]})
				if err == nil && len(resp.Meta.Degraded) > 0 {
					err = fmt.Errorf("degraded: %v", resp.Meta.Degraded)
				}
				return err
			}
			if _, _, err := measure(clients, min(20, b.queries), run); err != nil {
				return err
			}
			d, took, err := measure(clients, b.queries, run)
			if err != nil {
				return err
			}
			rows = append(rows, []string{fmt.Sprint(tenants), fmt.Sprint(clients), ms(d.at(.5)),
				ms(d.at(.95)), ms(d.at(.99)), fmt.Sprintf("%.0f/s", float64(len(d))/took.Seconds())})
		}
	}
	table(fmt.Sprintf("Recall of one tenant with %d memories, alone and among others with as many each", b.ofTenant),
		[]string{"tenants", "clients", "p50", "p95", "p99", "rate"}, rows)
	return nil
}

// inSessions spreads observations over sessions of 25 turns.
func inSessions(corpus []schema.Candidate) []schema.Candidate {
	for i := range corpus {
		corpus[i].Session = fmt.Sprint("session ", i/25)
	}
	return corpus
}

// recallSite returns a site with the memories of a corpus.
func (b *bench) recallSite(ctx context.Context, c corpus) (site, func(), error) {
	if b.site == "" {
		s, drop, err := b.newSite(ctx)
		if err == nil {
			if err = b.load(ctx, s, c.memories, 1); err != nil {
				drop()
			}
		}
		return s, drop, err
	}
	name := fmt.Sprintf("%s_%s_%d", b.site, strings.Fields(c.name)[0], len(c.memories))
	s, drop, err := b.siteIn(ctx, name)
	if err != nil {
		return s, drop, err
	}
	stats, err := s.Stats(ctx, principal.Tenant)
	if err == nil && len(stats.Memories) == 0 {
		err = b.load(ctx, s, c.memories, 1)
	}
	if err != nil {
		drop()
	}
	return s, s.Close, err
}

func (b *bench) recallOver(ctx context.Context, c corpus) (at point, room []string, err error) {
	size, queries := len(c.memories), c.questions
	at.size = size
	s, drop, err := b.recallSite(ctx, c)
	if err != nil {
		return at, nil, err
	}
	defer drop()
	if b.answers != "" {
		return at, nil, b.writeAnswers(ctx, s, c)
	}
	pc, err := pgxpool.ParseConfig(s.url)
	if err != nil {
		return at, nil, err
	}
	pc.AfterConnect = pgxvec.RegisterTypes
	pool, err := pgxpool.NewWithConfig(ctx, pc)
	if err != nil {
		return at, nil, err
	}
	defer pool.Close()

	vectors, _, err := b.brain.Embedder.Embed(ctx, queries)
	if err != nil {
		return at, nil, err
	}
	recaller := &recall.Recaller{Store: s.Store, Index: vector.PGVector{Store: s.Store}, Embedder: b.brain.Embedder}
	model := b.brain.Embedder.Model()
	bare := min(b.queries, 40, max(8, 4_000_000/size)) // it takes seconds over a million
	stages := &stageTimes{of: map[string]durations{}}
	var degraded atomic.Int32 // recalls that left a channel or stage out for its deadline
	things := []struct {
		name  string
		calls int
		run   func(i int) error
	}{
		{"recall (all channels, authorised, shaped, hydrated, tracked)", b.queries, func(i int) error {
			resp, err := recaller.Recall(ctx, schema.RecallRequest{Principal: principal, Query: queries[i]})
			if len(resp.Meta.Degraded) > 0 {
				degraded.Add(1)
			}
			stages.add(resp.Meta.TimingsMS)
			return err
		}},
		{"bare SQL full-text query (websearch, ts_rank, top 10)", bare, func(i int) error {
			return drain(pool.Query(ctx, `
				SELECT id, content
				FROM memories
				WHERE tenant = $1 AND live
					AND tsv @@ replace(plainto_tsquery('english', $2)::text, '&', '|')::tsquery
				ORDER BY ts_rank(tsv, replace(plainto_tsquery('english', $2)::text, '&', '|')::tsquery) DESC
				LIMIT 10`, principal.Tenant, queries[i]))
		}},
		{"bare SQL vector query (HNSW, top 10)", b.queries, func(i int) error {
			return drain(pool.Query(ctx, fmt.Sprintf(`
				SELECT m.id, m.content
				FROM memory_embeddings e
				JOIN memories m ON m.tenant = e.tenant AND m.id = e.memory_id
				WHERE e.tenant = $1 AND model = '%[2]s' AND e.tier = 'session' AND e.typology = 'episodic'
				ORDER BY embedding::halfvec(%[1]d) <=> $2::vector::halfvec(%[1]d)
				LIMIT 10`, model.Dimensions, model.Name), principal.Tenant, pgvector.NewVector(vectors[i])))
		}},
	}
	var rows, byStage [][]string
	for _, clients := range b.clients {
		for i, t := range things {
			if _, _, err := measure(clients, min(20, t.calls), t.run); err != nil { // warm-up
				return at, nil, err
			}
			stages.reset()
			degraded.Store(0)
			name := fmt.Sprintf("%s-%d-%d", strings.Fields(c.name)[0], size, clients)
			stopProfile, err := b.startProfile(i == 0, name)
			if err != nil {
				return at, nil, err
			}
			before := b.processorTime(ctx, s)
			d, took, err := measure(clients, t.calls, t.run)
			if err != nil {
				return at, nil, err
			}
			here, there := b.processorTime(ctx, s).perCall(before, len(d))
			stopProfile()
			if i > 0 {
				here, there = "-", "-"
			}
			switch {
			case clients == b.clients[0] && i == 0:
				at.recall = d.at(.5)
			case clients == b.clients[0] && i == 1:
				at.text = d.at(.5)
			}
			byStage = append(byStage, stages.rows(clients)...)
			rows = append(rows, []string{t.name, fmt.Sprint(clients), ms(d.at(.5)), ms(d.at(.95)),
				ms(d.at(.99)), fmt.Sprintf("%.0f/s", float64(len(d))/took.Seconds()),
				here, there, fmt.Sprint(degraded.Load())})
		}
	}
	table(fmt.Sprintf("Recall over %d memories, %s, %d queries (%d of the bare full-text one)",
		size, c.name, b.queries, bare),
		[]string{"what", "clients", "p50", "p95", "p99", "rate", "processor: this process", "Postgres", "degraded"},
		rows)
	table(fmt.Sprintf("Channels and stages of those recalls over %d memories, %s", size, c.name),
		[]string{"channel or stage", "clients", "p50", "p95", "p99"}, byStage)
	room, err = b.room(ctx, s, size)
	return at, room, err
}

// stageTimes are the times of each channel and stage over several recalls.
type stageTimes struct {
	mu sync.Mutex
	of map[string]durations
}

func (s *stageTimes) add(timingsMS map[string]float64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for name, took := range timingsMS {
		s.of[name] = append(s.of[name], time.Duration(took*float64(time.Millisecond)))
	}
}

func (s *stageTimes) reset() { s.of = map[string]durations{} }

// rows returns the stages that take a tenth of a millisecond or more, the slowest first.
func (s *stageTimes) rows(clients int) [][]string {
	names := slices.SortedFunc(maps.Keys(s.of), func(a, b string) int {
		return cmp.Compare(s.of[b].at(.5), s.of[a].at(.5))
	})
	var out [][]string
	for _, name := range names {
		if d := s.of[name]; d.at(.95) >= time.Millisecond/10 {
			out = append(out, []string{name, fmt.Sprint(clients), ms(d.at(.5)), ms(d.at(.95)), ms(d.at(.99))})
		}
	}
	return out
}

func drain(rows pgx.Rows, err error) error {
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
	}
	return rows.Err()
}

// load fills a site by COPY, as its owner, and builds the derived data that the pipeline would have maintained. The
// candidates are divided among a number of tenants.
func (b *bench) load(ctx context.Context, s site, candidates []schema.Candidate, tenants int) error {
	tenant := func(i int) string { // one after the other, the principal's first
		if at := i * tenants / len(candidates); at > 0 {
			return fmt.Sprint("tenant ", at)
		}
		return principal.Tenant
	}
	now := time.Now().UTC()
	model := b.brain.Embedder.Model()
	return b.owner(ctx, s.url, func(conn *pgx.Conn) error {
		if err := pgxvec.RegisterTypes(ctx, conn); err != nil {
			return err
		}
		texts := make([]string, len(candidates))
		ids := make([]uuid.UUID, len(candidates))
		for i, c := range candidates {
			texts[i], ids[i] = c.Content, uuid.Must(uuid.NewV7())
		}
		vectors, _, err := b.brain.Embedder.Embed(ctx, texts)
		if err != nil {
			return err
		}
		if _, err := conn.Exec(ctx, `DROP INDEX memory_embeddings_hash_v1_session_episodic`); err != nil {
			return err
		}
		intake := func(i int) intake.Intake { return intake.Admit(candidates[i], schema.Principal{}, "", nil) }
		_, err = conn.CopyFrom(ctx, pgx.Identifier{s.schema, "memories"},
			[]string{"tenant", "id", "agent_id", "project", "type", "category", "tier", "typology",
				"content", "normalized_content", "content_hash", "who",
				"confidence", "importance", "salience", "salience_at", "decay_curve", "half_life",
				"min_salience", "reinforcement_gain", "last_reinforced_at",
				"deletion_policy", "occurred_at", "created_at", "updated_at", "created_by", "agent_session_id",
				"payload"},
			pgx.CopyFromSlice(len(candidates), func(i int) ([]any, error) {
				in, c := intake(i), candidates[i]
				cl := in.Classification
				at := now
				if c.OccurredAt != nil {
					at = *c.OccurredAt
				}
				return []any{tenant(i), ids[i], principal.Agent, principal.Project, cl.Type, cl.Category,
					cl.Tier, cl.Typology, in.Text.Storage,
					in.Text.Normalized, in.Text.Hash, c.Speaker, 1.0, cl.Importance, 1.0, now, cl.Decay.Curve,
					cl.Decay.HalfLife, cl.Decay.MinSalience,
					cl.Decay.ReinforcementGain, now, cl.DeletionPolicy, at, now, now, "bench",
					pgtype.Text{String: c.Session, Valid: c.Session != ""},
					schema.EpisodicPayload{Kind: cl.Type,
						Timeline: []schema.TimelineEvent{{T: at, EventKind: string(c.SourceKind), Ref: "bench"}}}}, nil
			}))
		if err != nil {
			return err
		}
		_, err = conn.CopyFrom(ctx, pgx.Identifier{s.schema, "memory_embeddings"},
			[]string{"tenant", "id", "memory_id", "model", "dims", "embedding", "tier", "typology",
				"content_hash", "created_at"},
			pgx.CopyFromSlice(len(candidates), func(i int) ([]any, error) {
				in := intake(i)
				return []any{tenant(i), uuid.Must(uuid.NewV7()), ids[i], model.Name, model.Dimensions,
					pgvector.NewVector(vectors[i]),
					in.Classification.Tier, in.Classification.Typology, in.Text.Hash, now}, nil
			}))
		if err != nil {
			return err
		}
		for _, sql := range []string{
			`INSERT INTO memory_provenance (tenant, memory_id, position, kind, ref, created_at)
				SELECT tenant, id, 0, 'event', 'bench', now() FROM memories`,
			`INSERT INTO lexeme_stats SELECT m.tenant, l.lexeme, count(*) FROM memories m, unnest(m.tsv) l
				GROUP BY 1, 2`,
			`INSERT INTO corpus_stats SELECT tenant, count(*), sum(length(tsv)) FROM memories GROUP BY 1`,
			// a graph that fits into memory is built several times as fast
			fmt.Sprintf(`SET maintenance_work_mem = '%dGB'`, 1+len(candidates)/250_000),
			`CREATE INDEX memory_embeddings_hash_v1_session_episodic ON memory_embeddings
				USING hnsw ((embedding::halfvec(384)) halfvec_cosine_ops) WITH (m = 8, ef_construction = 32)
				WHERE model = 'hash-v1' AND tier = 'session' AND typology = 'episodic'`,
			`VACUUM ANALYZE memories`, `VACUUM ANALYZE memory_embeddings`, `ANALYZE lexeme_stats`,
		} {
			if _, err := conn.Exec(ctx, sql); err != nil {
				return err
			}
		}
		return nil
	})
}
