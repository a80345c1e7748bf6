package recall_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/mneme/mneme/inference/rules"
	"github.com/mneme/mneme/internal/testkit"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/store"
	"github.com/mneme/mneme/store/pg"
	"github.com/mneme/mneme/store/vector"
)

// leakTwin is a copy of the world from which memories can be hidden and restored: memories that a caller may not see
// must not affect its answers. The tables are replaced by views without the hidden rows. The exceptions in
// docs/trust.md stay: how many memories contain a word or name an entity, and the confidence of edges.
type leakTwin struct {
	mu    sync.Mutex // hides one set at a time
	owner *pgx.Conn
	store *store.Store
}

// twinned are the tables of the twin, with the columns that refer to memories. Rows that refer to a memory shown
// redacted are hidden with it.
var twinned = []struct {
	table, without string
	ids            []string
}{
	{"memories", "away", []string{"id"}},
	{"memory_embeddings", "unread", []string{"memory_id"}},
	{"memory_hints", "unread", []string{"memory_id"}},
	{"entity_claims", "unread", []string{"memory_id"}},
	{"memory_entity_mentions", "unread", []string{"memory_id"}},
	{"entity_relation_sources", "unread", []string{"memory_id"}},
	{"memory_links", "unread", []string{"source_id", "target_id"}},
	{"memory_provenance", "unread", []string{"memory_id"}},
	{"memory_artifacts", "unread", []string{"memory_id"}},
}

func newLeakTwin(t testing.TB, r *rand.Rand, rows []leakRow) *leakTwin {
	t.Helper()
	url := testkit.DatabaseURL(t)
	twin := &leakTwin{owner: testkit.Owner(t, url)}
	storeLeakWorld(t, twin.owner, r, rows)
	exec := func(sql string) {
		_, err := twin.owner.Exec(ctx, sql)
		require.NoError(t, err, sql)
	}
	exec(`CREATE TABLE away (id uuid PRIMARY KEY); CREATE TABLE unread (id uuid PRIMARY KEY); GRANT
		SELECT ON away, unread TO mneme_app;
		CREATE TABLE accessed AS SELECT * FROM memory_access;
		SET session_replication_role = replica`) // accesses are restored often: their foreign keys need no check
	// An approximate index may return other rows when some are missing.
	exec(`DO $$ DECLARE i text; BEGIN FOR i IN SELECT indexname FROM pg_indexes WHERE schemaname = current_schema() AND indexdef LIKE '%hnsw%' LOOP EXECUTE 'DROP INDEX ' || quote_ident(i); END LOOP; END $$`)
	views := viewsOf(t, twin.owner)
	for _, s := range twinned {
		var hidden []string
		for _, id := range s.ids {
			hidden = append(hidden, fmt.Sprintf("NOT EXISTS (SELECT FROM %s h WHERE h.id = k.%s)", s.without, id))
		}
		exec(fmt.Sprintf(`ALTER TABLE %[1]s RENAME TO %[1]s_kept; CREATE VIEW %[1]s WITH (security_invoker = true) AS
			SELECT * FROM %[1]s_kept k WHERE %[2]s;
			GRANT SELECT ON %[1]s TO mneme_app`, s.table, strings.Join(hidden, " AND ")))
	}
	for _, v := range views {
		exec(`CREATE OR REPLACE VIEW ` + v.Name + ` AS ` + v.Definition)
	}
	var err error
	twin.store, err = store.Open(ctx, pg.Config{URL: url, MaxConns: 2})
	require.NoError(t, err)
	t.Cleanup(twin.store.Close)
	return twin
}

// unmoved runs a case in the twin with and without the memories that the caller may not see. The answers must be equal,
// including every score, count and explanation.
func (w *leakWorld) unmoved(q leakQuery) error {
	var away, unread []uuid.UUID
	for i := range w.rows {
		row := &w.rows[i]
		if !q.readable(row) {
			unread = append(unread, row.id)
			if q.redacts(row) == "" {
				away = append(away, row.id)
			}
		}
	}
	w.twin.mu.Lock()
	defer w.twin.mu.Unlock()
	with, err := w.twin.recall(w, q, nil, nil)
	if err != nil {
		return err
	}
	without, err := w.twin.recall(w, q, away, unread)
	if err != nil || len(with.Meta.Degraded)+len(without.Meta.Degraded) > 0 {
		return err
	}
	w.compared.Add(1)
	a, b := plainAnswer(with), plainAnswer(without)
	if !slices.Equal(a, b) {
		return fmt.Errorf("hidden memories affect the answer:\nwith    %s\nwithout %s", differing(a, b),
			differing(b, a))
	}
	return nil
}

func (w *leakTwin) recall(of *leakWorld, q leakQuery, away, unread []uuid.UUID) (schema.RecallResponse, error) {
	var b pgx.Batch
	b.Queue(`DELETE FROM away`)
	b.Queue(`DELETE FROM unread`)
	b.Queue(`INSERT INTO away SELECT unnest($1::uuid[])`, away)
	b.Queue(`INSERT INTO unread SELECT unnest($1::uuid[])`, unread)
	b.Queue(`DELETE FROM memory_access`)
	b.Queue(`INSERT INTO memory_access SELECT * FROM accessed`)
	if err := w.owner.SendBatch(ctx, &b).Close(); err != nil {
		return schema.RecallResponse{}, err
	}
	var log bytes.Buffer
	return of.recaller(q, w.store, vector.PGVector{Store: w.store}, rules.New().Embedder, &log).Recall(ctx, q.req)
}

// plainAnswer renders an answer without the parts that vary between runs, one part per line. Scores are rounded,
// because Postgres may add their terms in another order.
func plainAnswer(out schema.RecallResponse) []string {
	out.RetrievalID, out.Meta.TimingsMS = "", nil
	var lines []string
	for _, x := range out.Results {
		line, _ := json.Marshal(x)
		lines = append(lines, rounded(line))
	}
	slices.Sort(lines) // removes the order of equal rows
	out.Results = nil
	rest, _ := json.Marshal(out)
	return append(lines, rounded(rest))
}

var number = regexp.MustCompile(`\d+\.\d+(?:e-\d+)?`)

func rounded(line []byte) string {
	return number.ReplaceAllStringFunc(string(line), func(text string) string {
		n, err := strconv.ParseFloat(text, 64)
		if err != nil {
			return text
		}
		return fmt.Sprintf("%.9f", n)
	})
}

// differing returns the first lines that differ between two answers.
func differing(a, b []string) string {
	for i, line := range a {
		if i >= len(b) || line != b[i] {
			return fmt.Sprintf("%d: %s", i, line)
		}
	}
	return "is shorter"
}
