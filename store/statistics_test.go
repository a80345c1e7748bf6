package store_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/pgvector/pgvector-go"
	pgxvec "github.com/pgvector/pgvector-go/pgx"
	"github.com/stretchr/testify/require"

	"github.com/mneme/mneme/inference/rules"
	"github.com/mneme/mneme/memory"
	"github.com/mneme/mneme/memory/normalize"
	"github.com/mneme/mneme/memory/rank"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/store"
	"github.com/mneme/mneme/store/pg"
	"github.com/mneme/mneme/store/pipeline"
	"github.com/mneme/mneme/store/search"
)

// The tests of this file check how many rows a statement reads when the planner's statistics are wrong. They compare
// rows, not time: EXPLAIN ANALYZE counts every row that a node returned or rejected.

const (
	knownRows = 4000 // of the tenant in the statistics
	freshRows = 2000 // of a tenant added later
)

// ignorance is one way in which the planner's statistics can be wrong. Its SQL runs after the known tenant is stored
// and after the fresh one is.
type ignorance struct {
	name          string
	before, after string
}

// plannedTables are the tables that the pipeline reads.
const plannedTables = `'memories', 'memory_embeddings', 'memory_candidates', 'proposals', 'lexeme_stats', 'corpus_stats', 'jobs', 'entity_claims',
	'memory_links', 'memory_hints', 'index_outbox', 'memory_provenance'`

const (
	ofSchema = `relnamespace = current_schema()::regnamespace AND relname IN (` + plannedTables + `)`

	// forgetStatistics removes the statistics, as restoring a dump does.
	forgetStatistics = `
		DELETE FROM pg_statistic WHERE starelid IN (SELECT oid FROM pg_class WHERE ` + ofSchema + `);
		UPDATE pg_class SET reltuples = -1, relpages = 0 WHERE ` + ofSchema + `;`

	eachTable = `DO $$ DECLARE t text; BEGIN
		FOREACH t IN ARRAY ARRAY[` + plannedTables + `] LOOP EXECUTE format('ALTER TABLE %I `
)

var ignorances = []ignorance{
	{name: "missing", after: forgetStatistics},
	{name: "stale", before: `ANALYZE`},
	// The planner assumes that any tenant has a single row.
	{name: "false", after: `
		` + eachTable + `ALTER COLUMN tenant SET (n_distinct = -1)', t); END LOOP; END $$;
		ANALYZE;
		UPDATE pg_statistic SET stakind1 = 0, stanumbers1 = NULL, stavalues1 = NULL
		WHERE staattnum = 1 AND starelid IN (SELECT oid FROM pg_class WHERE ` + ofSchema + `)`},
}

// newIgnorant returns a world with a tenant that is in the statistics and the tenant t that is not.
func newIgnorant(t *testing.T, how ignorance) *world {
	t.Helper()
	w := newUnplannedWorld(t)
	w.exec(eachTable + `SET (autovacuum_enabled = false)', t); END LOOP; END $$`)
	require.NoError(t, pgxvec.RegisterTypes(ctx, w.owner))
	// Filling an index for nearest neighbours row by row takes several times as long as building it.
	const nearest = "memory_embeddings_hash_v1_session_episodic"
	var build string
	require.NoError(t, w.owner.QueryRow(ctx, `SELECT pg_get_indexdef($1::regclass)`, nearest).Scan(&build))
	w.exec("DROP INDEX " + nearest)
	w.fillAlike("known", knownRows)
	if how.before != "" {
		w.exec(how.before)
	}
	w.fillAlike("t", freshRows)
	// Building an index updates the number of rows that the planner assumes for the table.
	const size = `SELECT relpages, reltuples FROM pg_class WHERE oid = 'memory_embeddings'::regclass`
	var pages int
	var tuples float64
	require.NoError(t, w.owner.QueryRow(ctx, size).Scan(&pages, &tuples))
	w.exec(build)
	w.exec(`UPDATE pg_class SET relpages = $1, reltuples = $2 WHERE oid = 'memory_embeddings'::regclass`, pages, tuples)
	if how.after != "" {
		w.exec(how.after)
	}
	return w
}

// alike is the n-th of many observations that differ only in their numbers.
func alike(n int) string {
	return fmt.Sprintf("Probe item %d: the service s%d listens on port %d and belongs to team %d.", n, n, 10000+n, n%37)
}

// fillAlike inserts observations with their embeddings directly, because staging thousands takes longer than the
// test.
func (w *world) fillAlike(tenant string, n int) {
	w.t.Helper()
	texts := make([]string, n)
	for i := range texts {
		texts[i] = alike(i)
	}
	vectors, _, err := rules.HashEmbedder{}.Embed(ctx, texts)
	require.NoError(w.t, err)
	w.exec(`CREATE TEMP TABLE IF NOT EXISTS alike (n int, c text, hash bytea, v vector)`)
	w.exec(`TRUNCATE pg_temp.alike`)
	rows := pgx.CopyFromSlice(n, func(i int) ([]any, error) {
		return []any{i, texts[i], normalize.Normalize(texts[i]).Hash, pgvector.NewVector(vectors[i])}, nil
	})
	_, err = w.owner.CopyFrom(ctx, pgx.Identifier{"pg_temp", "alike"}, []string{"n", "c", "hash", "v"}, rows)
	require.NoError(w.t, err)
	w.exec(`INSERT INTO memories (tenant, id, agent_id, type, category, tier, typology, content, normalized_content,
		content_hash, payload,
			confidence, importance, salience, salience_at, decay_curve, half_life, min_salience, reinforcement_gain,
			last_reinforced_at, deletion_policy,
			occurred_at, created_at, updated_at, created_by)
		SELECT $1, md5($1 || n)::uuid, 'a', 'episodic', 'fact', 'session', 'episodic', c, lower(c), hash,
		'{"kind": "episodic", "timeline": []}',
			1, 0.5, 1, now(), 'exponential', '1 day', 0, 0, now(), 'auto_prune', now(), now(), now(), 'x'
				FROM pg_temp.alike`, tenant)
	for _, sql := range []string{
		`INSERT INTO lexeme_stats SELECT m.tenant, l.lexeme, count(*) FROM memories m, unnest(m.tsv) l
			WHERE m.tenant = $1 GROUP BY 1, 2`,
		`INSERT INTO corpus_stats SELECT tenant, count(*), sum(length(tsv)) FROM memories WHERE tenant = $1 GROUP BY 1`,
		`INSERT INTO entity_claims SELECT $1, md5($1 || n)::uuid, 'service s' || n, 'listens on', 'port', false, now()
			FROM pg_temp.alike`,
		`INSERT INTO ingest_batches SELECT $1, md5($1)::uuid, 'w', 'a', '', '', '', 'private', 'controlled', true, 0.5,
			500, now()`,
		`INSERT INTO memory_candidates (tenant, id, batch_id, ordinal, state, memory_id, source_kind, content, category,
			sensitivity,
				occurred_at, created_at, extraction)
			SELECT $1, md5($1 || n)::uuid, md5($1)::uuid, n, 'staged', md5($1 || n)::uuid, 'observation', c, 'fact',
			'low',
				now(), now(), '{"facts": []}' FROM pg_temp.alike`,
		`INSERT INTO jobs (tenant, id, kind, state, phase, batch_id, candidate_id, memory_id, workflow_id, max_attempts,
			created_at, updated_at)
			SELECT tenant, id, 'ingest', 'pending', 'extract', batch_id, id, memory_id, 'w', 3, now(), now()
			FROM memory_candidates WHERE tenant = $1`,
		`INSERT INTO memory_embeddings (tenant, id, memory_id, model, dims, embedding, tier, typology, content_hash,
			created_at)
			SELECT $1, md5($1 || n)::uuid, md5($1 || n)::uuid, '` + rank.HashModel +
			`', 384, v, 'session', 'episodic', hash, now()
			FROM pg_temp.alike`,
	} {
		w.exec(sql, tenant)
	}
}

// planNode is one step in the output of EXPLAIN (ANALYZE, FORMAT JSON).
type planNode struct {
	Type     string     `json:"Node Type"`
	Relation string     `json:"Relation Name"`
	Index    string     `json:"Index Name"`
	Loops    float64    `json:"Actual Loops"`
	Rows     float64    `json:"Actual Rows"`
	Filtered float64    `json:"Rows Removed by Filter"`
	Joined   float64    `json:"Rows Removed by Join Filter"`
	Recheck  float64    `json:"Rows Removed by Index Recheck"`
	Cond     string     `json:"Index Cond"`
	Plans    []planNode `json:"Plans"`
}

// tree renders the plan, one step per line.
func (p planNode) tree(depth int) string {
	out := fmt.Sprintf("%s%s %s %s loops=%.0f rows=%.0f filtered=%.0f joined=%.0f %.160s\n", strings.Repeat(" ", depth),
		p.Type, p.Relation, p.Index, p.Loops, p.Rows, p.Filtered, p.Joined, p.Cond)
	for _, child := range p.Plans {
		out += child.tree(depth + 1)
	}
	return out
}

// read is the number of rows that a plan's scans and joins read.
func (p planNode) read() float64 {
	n := p.Loops * p.Joined
	if p.Relation != "" || p.Index != "" {
		n += p.Loops * (p.Rows + p.Filtered + p.Recheck)
	}
	for _, child := range p.Plans {
		n += child.read()
	}
	return n
}

// rowsRead runs fn and returns how many rows its statements read, and the plan that read the most.
func rowsRead(t *testing.T, s *store.Store, listen *tracer, fn func() error) (total float64, worst string) {
	t.Helper()
	sent, err := listen.of(fn)
	require.NoError(t, err)
	most := -1.0
	require.NoError(t, s.Read(ctx, "t", func(tx pgx.Tx) error {
		for _, st := range sent {
			verb := strings.ToUpper(strings.Fields(strings.TrimLeft(st.sql, "( \t\n"))[0])
			if strings.Contains(st.sql, "set_config(") { // planner settings for the following statements
				if _, err := tx.Exec(ctx, st.sql, st.args...); err != nil {
					return err
				}
				continue
			}
			if verb != "SELECT" && verb != "WITH" {
				continue
			}
			var out []struct{ Plan planNode }
			var raw json.RawMessage
			if err := tx.QueryRow(ctx, `EXPLAIN (ANALYZE, TIMING OFF, FORMAT JSON) `+st.sql,
				st.args...).Scan(&raw); err != nil {
				return fmt.Errorf("%w: %s", err, st.sql)
			}
			if err := json.Unmarshal(raw, &out); err != nil {
				return err
			}
			n := out[0].Plan.read()
			total += n
			if n > most {
				most, worst = n, st.sql+"\n"+out[0].Plan.tree(0)
			}
		}
		return nil
	}))
	return total, worst
}

func TestPipelineReadsFewRowsWithoutStatistics(t *testing.T) {
	t.Parallel()
	for _, how := range ignorances {
		t.Run(how.name, func(t *testing.T) {
			w := newIgnorant(t, how)
			t.Run("phases", func(t *testing.T) { phasesReadFewRows(t, w) })
			t.Run("neighbors", func(t *testing.T) { neighborsReadFewRows(t, w) })
		})
	}
}

// neighborsReadFewRows checks the search for neighbours of a new fact.
func neighborsReadFewRows(t *testing.T, w *world) {
	t.Helper()
	listen := &tracer{}
	s, err := store.OpenTraced(ctx, w.url, listen)
	require.NoError(t, err)
	t.Cleanup(s.Close)
	var queries []search.NeighborQuery
	for i := range 20 {
		f := fact(alike(i))
		f.Claim = memory.Claim{Subject: fmt.Sprintf("service s%d", i), Predicate: "listens on",
			Object: fmt.Sprintf("port %d", i)}
		queries = append(queries, search.NeighborQuery{Fact: f, Exclude: uuid.New(), At: time.Now(),
			Embedding: &pg.Embedding{Model: hash, Vector: embed(t, f.Content)}})
	}
	// The vectors of a small tenant are scanned once, those of a large one are searched by the index.
	for _, scan := range []int64{freshRows, 1} {
		s.ScanUpTo = scan
		var found [][]memory.Neighbor
		read, plan := rowsRead(t, s, listen, func() (err error) {
			bounded, cancel := context.WithTimeout(ctx, 3*time.Minute)
			defer cancel()
			found, err = s.Neighbors(bounded, schema.Principal{Tenant: "t", Agent: "a"}, queries)
			return err
		})
		require.Len(t, found, len(queries))
		for i := range found {
			require.NotEmpty(t, found[i])
			require.Equal(t, alike(i), found[i][0].Content)
		}
		t.Logf("scan up to %d: %.0f rows read", scan, read)
		require.LessOrEqual(t, read, float64(5*freshRows+len(queries)*400), plan)
	}
}

// tableReads is how many rows and index entries have been read from each table since it was created.
func (w *world) tableReads() map[string]int64 {
	w.t.Helper()
	rows, err := w.owner.Query(ctx, `SELECT t.relname, coalesce(t.seq_tup_read, 0) + coalesce(t.idx_tup_fetch, 0)
			+ coalesce((SELECT sum(i.idx_tup_read) FROM pg_stat_user_indexes i WHERE i.relid = t.relid), 0)::bigint
		FROM pg_stat_user_tables t WHERE t.schemaname = current_schema()`)
	require.NoError(w.t, err)
	out := map[string]int64{}
	var table string
	var n int64
	_, err = pgx.ForEachRow(rows, []any{&table, &n}, func() error { out[table] = n; return nil })
	require.NoError(w.t, err)
	return out
}

// phasesReadFewRows checks the phases of the pipeline. They read the same tables by the ids of the range. None may
// read a whole tenant for each candidate.
func phasesReadFewRows(t *testing.T, w *world) {
	t.Helper()
	const size = 200
	var texts []string
	for i := range size {
		texts = append(texts, alike(freshRows+i))
	}
	var r schema.Range
	var facts []pipeline.Decided
	var candidates []uuid.UUID
	var found [][]memory.Neighbor
	phases := []struct {
		name string
		run  func(s *store.Store) error
	}{
		{"stage", func(s *store.Store) error {
			ack, err := s.Stage(ctx, w.input(say(texts...)...))
			r = w.rangeOf(ack)
			return err
		}},
		{"lease extract", func(s *store.Store) error { return second(s.LeaseExtract(ctx, r, w.now)) }},
		{"save extractions", func(s *store.Store) error {
			var done []pipeline.Extracted
			rows, err := w.owner.Query(ctx,
				`SELECT id, content FROM memory_candidates WHERE batch_id = $1 ORDER BY ordinal`, r.BatchID)
			if err != nil {
				return err
			}
			var id uuid.UUID
			var content string
			_, err = pgx.ForEachRow(rows, []any{&id, &content}, func() error {
				f := fact("The " + content)
				f.Claim = memory.Claim{Subject: fmt.Sprintf("service s%d", len(done)), Predicate: "listens on",
					Object: content}
				part := memory.Triple{Source: f.Claim.Subject, Relationship: "part of",
					Target: fmt.Sprintf("fleet %d", len(done)), Confidence: 1}
				done = append(done, pipeline.Extracted{CandidateID: id,
					Extraction: memory.Extraction{Facts: []memory.Fact{f}, Triples: []memory.Triple{part}}})
				candidates = append(candidates, id)
				facts = append(facts, pipeline.Decided{CandidateID: id, Fact: f,
					Embedding: &pg.Embedding{Model: hash, Vector: embed(t, f.Content)},
					Proposal:  memory.Proposal{Action: schema.ActionAdd, Confidence: 1, Reason: "new"}})
				return nil
			})
			if err != nil {
				return err
			}
			return s.SaveExtractions(ctx, "t", done, w.now)
		}},
		{"extract totals", func(s *store.Store) error { return second(s.ExtractCounts(ctx, r)) }},
		{"lease decide", func(s *store.Store) error { return second(s.LeaseDecide(ctx, r, w.now)) }},
		{"neighbors", func(s *store.Store) (err error) {
			var queries []search.NeighborQuery
			for _, f := range facts[:20] {
				queries = append(queries, search.NeighborQuery{Fact: f.Fact, Exclude: f.CandidateID,
					Embedding: f.Embedding, At: w.now})
			}
			found, err = s.Neighbors(ctx, w.p, queries)
			return err
		}},
		{"save decisions", func(s *store.Store) error {
			for i := range found {
				facts[i].Offered = found[i]
			}
			return s.SaveDecisions(ctx, r, candidates, facts, w.now)
		}},
		{"decide totals", func(s *store.Store) error { _, _, err := s.DecideCounts(ctx, r); return err }},
		{"unembedded", func(s *store.Store) error { return second(s.Unembedded(ctx, r, hash)) }},
		{"write", func(s *store.Store) error {
			counts, err := s.Write(ctx, pipeline.WriteInput{Range: r, MaxRounds: 3, Now: w.now})
			require.Equal(t, size, counts.Added)
			return err
		}},
		{"link", func(s *store.Store) error {
			counts, err := s.Link(ctx, r, w.now)
			require.Equal(t, 2*size, counts.Entities)
			return err
		}},
		{"memories of the range", func(s *store.Store) error { return second(s.BatchMemories(ctx, r)) }},
		{"outbox", func(s *store.Store) error {
			ids, err := s.BatchMemories(ctx, r)
			if err != nil {
				return err
			}
			return second(s.Outbox(ctx, "t", hash, ids, 4*len(ids)))
		}},
		{"complete", func(s *store.Store) error { return s.CompleteJobs(ctx, r, w.now) }},
		{"nothing said again", func(s *store.Store) error { return second(s.SaidAgain(ctx, r, w.now)) }},
		{"said again", func(s *store.Store) error {
			again, err := s.SaidAgain(ctx, w.portoAgain(), w.now)
			require.Equal(t, 1, again)
			return err
		}},
	}
	before := w.tableReads()
	for _, phase := range phases {
		s, err := store.Open(ctx, pg.Config{URL: w.url, MaxConns: 1})
		require.NoError(t, err)
		require.NoError(t, phase.run(s), phase.name)
		s.Close() // the server adds up what was read
		time.Sleep(50 * time.Millisecond)
		after := w.tableReads()
		// An index entry and its row count as two, and the number that a vector index reads varies by a third. A bad
		// plan reads all rows for each fact: 200 times as many.
		for table, n := range after {
			require.LessOrEqual(t, n-before[table], int64(20*(freshRows+size)), "%s reads %s", phase.name,
				table)
		}
		before = after
	}
}

// A read looks up by key each memory that a record names. With false statistics it may read the tenant once.
func TestReadsLookUpWhatRecordsName(t *testing.T) {
	t.Parallel()
	const page, most = 10, freshRows + 600 // rows: the tenant, and some of each memory
	for _, how := range ignorances {
		t.Run(how.name, func(t *testing.T) {
			t.Parallel()
			w := newIgnorant(t, how)
			w.exec(`INSERT INTO memory_provenance (tenant, memory_id, position, kind, ref, created_at)
				SELECT 't', md5('t' || n)::uuid, 0, 'event', 'memory:' || md5('t' || n + 1)::uuid, now()
				FROM generate_series(0, $1 - 2) n`, freshRows)
			w.exec(`UPDATE memories m SET supersedes = md5('t' || n + 1)::uuid
				FROM generate_series(0, $1 - 1) n WHERE m.tenant = 't' AND m.id = md5('t' || n)::uuid`, page)
			ids := make([]uuid.UUID, page)
			for i := range ids {
				require.NoError(t, w.owner.QueryRow(ctx, `SELECT md5('t' || $1::int)::uuid`, i).Scan(&ids[i]))
			}
			listen := &tracer{}
			s, err := store.OpenTraced(ctx, w.url, listen)
			require.NoError(t, err)
			t.Cleanup(s.Close)
			f := pg.Filter{Principal: w.p}
			for name, read := range map[string]func() error{
				"hydrate": func() error { return second(s.Hydrate(ctx, f, ids, w.now)) },
				"records": func() error { return second(s.Records(ctx, f, ids)) },
				"get":     func() error { return second(s.Get(ctx, w.p, ids[0])) },
				"list":    func() error { return second(s.List(ctx, f, pg.Page{Limit: page})) },
			} {
				n, worst := rowsRead(t, s, listen, read)
				require.LessOrEqual(t, n, float64(most), "%s\n%s", name, worst)
			}
		})
	}
}
