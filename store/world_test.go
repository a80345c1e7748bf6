package store_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/mneme/mneme/inference"
	"github.com/mneme/mneme/inference/rules"
	"github.com/mneme/mneme/internal/testkit"
	"github.com/mneme/mneme/memory"
	"github.com/mneme/mneme/memory/policy"
	"github.com/mneme/mneme/memory/proposals"
	"github.com/mneme/mneme/memory/rank"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/store"
	"github.com/mneme/mneme/store/pg"
	"github.com/mneme/mneme/store/pipeline"
)

var (
	ctx  = context.Background()
	hash = inference.EmbeddingModel{Name: rank.HashModel, Dimensions: 384}
)

// world is a separate schema for one test, with one principal.
type world struct {
	*store.Store
	t      testing.TB
	url    string
	owner  *pgx.Conn
	p      schema.Principal
	policy proposals.WritePolicy
	vis    schema.Visibility
	now    time.Time
}

func newWorld(t testing.TB) *world {
	t.Helper()
	return worldAt(t, testkit.DatabaseURL(t))
}

// newUnplannedWorld is for tests of the planner's choices: its database never had rows or statistics.
func newUnplannedWorld(t testing.TB) *world {
	t.Helper()
	return worldAt(t, testkit.FreshDatabaseURL(t))
}

func worldAt(t testing.TB, url string) *world {
	t.Helper()
	return &world{Store: testkit.OpenStore(t, url), t: t, url: url, owner: testkit.Owner(t, url),
		p: schema.Principal{Tenant: "t", Agent: "a"},
		policy: proposals.WritePolicy{Mode: schema.ModeControlled, AllowUpdateDelete: true,
			Supersede: proposals.SupersedeAuto, MinFactConfidence: 0.5},
		vis: schema.VisibilityPrivate,
		now: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)}
}

func (w *world) input(candidates ...schema.Candidate) pipeline.StageInput {
	return pipeline.StageInput{OperationID: uuid.NewString(), WorkflowID: "wf", MaxAttempts: 3, Now: w.now,
		Policy:  w.policy,
		Request: schema.IngestRequest{Principal: w.p, Visibility: w.vis, Candidates: candidates}}
}

func (w *world) stage(candidates ...schema.Candidate) (schema.IngestAck, schema.Range) {
	w.t.Helper()
	ack, err := w.Stage(ctx, w.input(candidates...))
	require.NoError(w.t, err)
	return ack, w.rangeOf(ack)
}

func (w *world) rangeOf(ack schema.IngestAck) schema.Range {
	return schema.Range{Tenant: w.p.Tenant, BatchID: uuid.MustParse(ack.BatchID), From: 0, To: len(ack.MemoryIDs)}
}

func say(texts ...string) []schema.Candidate {
	out := make([]schema.Candidate, len(texts))
	for i, text := range texts {
		out[i] = schema.Candidate{Content: text}
	}
	return out
}

// memory stages one memory and returns its id.
func (w *world) memory(content string) uuid.UUID {
	w.t.Helper()
	ack, _ := w.stage(say(content)...)
	return uuid.MustParse(ack.MemoryIDs[0])
}

func fact(content string) memory.Fact {
	return memory.Fact{Content: content, Category: schema.CategoryFact, Confidence: 0.9}
}

func lives(content, who, where string) memory.Fact {
	f := fact(content)
	f.Claim = memory.Claim{Subject: who, Predicate: "lives_in", Object: where, Functional: true}
	return f
}

// idea is a fact with its proposed action. The target and the others are offered as candidates.
type idea struct {
	fact    memory.Fact
	action  schema.Action
	target  uuid.UUID
	offered []uuid.UUID
	vector  []float32
	change  memory.Change
	also    []uuid.UUID // memories that say the same as the target
}

// decided runs extraction and decision for a candidate with the given ideas.
func (w *world) decided(r schema.Range, candidate uuid.UUID, ideas ...idea) {
	w.t.Helper()
	facts := make([]memory.Fact, len(ideas))
	for i, d := range ideas {
		facts[i] = d.fact
	}
	require.NoError(w.t, w.SaveExtractions(ctx, w.p.Tenant,
		[]pipeline.Extracted{{CandidateID: candidate, Extraction: memory.Extraction{Facts: facts}}}, w.now))
	w.decide(r, candidate, ideas...)
}

func (w *world) decide(r schema.Range, candidate uuid.UUID, ideas ...idea) {
	w.t.Helper()
	out := make([]pipeline.Decided, len(ideas))
	for i, d := range ideas {
		out[i] = pipeline.Decided{CandidateID: candidate, Ordinal: i, Fact: d.fact,
			Proposal: memory.Proposal{Action: d.action, Confidence: 0.8, Reason: "because", Change: d.change}}
		if d.target != uuid.Nil {
			out[i].Proposal.TargetID = d.target.String()
			d.offered = append(d.offered, d.target)
		}
		for _, id := range d.also {
			out[i].Proposal.Also = append(out[i].Proposal.Also, id.String())
			d.offered = append(d.offered, id)
		}
		for _, id := range d.offered {
			out[i].Offered = append(out[i].Offered, w.neighbor(id))
		}
		if d.vector != nil {
			out[i].Embedding = &pg.Embedding{Model: hash, Vector: d.vector}
		}
	}
	require.NoError(w.t, w.SaveDecisions(ctx, r, []uuid.UUID{candidate}, out, w.now))
}

func (w *world) neighbor(id uuid.UUID) memory.Neighbor {
	w.t.Helper()
	m := w.get(id)
	return memory.Neighbor{ID: m.ID, Version: m.Version, Content: m.Content, Score: 0.5}
}

// source stages a parent and runs the pipeline for its ideas up to the write.
func (w *world) source(content string, ideas ...idea) (parent uuid.UUID, r schema.Range) {
	w.t.Helper()
	ack, r := w.stage(say(content)...)
	require.Empty(w.t, ack.Deduped)
	parent = uuid.MustParse(ack.MemoryIDs[0])
	w.decided(r, parent, ideas...)
	return parent, r
}

func (w *world) write(r schema.Range) schema.WriteCounts {
	w.t.Helper()
	counts, err := w.Write(ctx, pipeline.WriteInput{Range: r, MaxRounds: 3, Now: w.now})
	require.NoError(w.t, err)
	return counts
}

func (w *world) get(id uuid.UUID) schema.MemoryRecord {
	w.t.Helper()
	m, err := w.Get(ctx, w.p, id, policy.UpTo(schema.SensitivityHyper))
	require.NoError(w.t, err)
	return m
}

func (w *world) history(id uuid.UUID) []schema.HistoryEntry {
	w.t.Helper()
	return testkit.History(w.t, w.Store, w.p, id)
}

func (w *world) outcomes(r schema.Range) []schema.FactOutcome {
	w.t.Helper()
	out, err := w.FactOutcomes(ctx, w.p.Tenant, r.BatchID)
	require.NoError(w.t, err)
	return out
}

// failing makes every insert, update and delete of a table fail while fn runs.
func (w *world) failing(table string, fn func()) {
	w.t.Helper()
	w.exec(`CREATE OR REPLACE FUNCTION test_fail() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'broken by the test'; END $$`)
	w.exec(`CREATE TRIGGER aaa_broken BEFORE INSERT OR UPDATE OR DELETE ON ` + table +
		` FOR EACH ROW EXECUTE FUNCTION test_fail()`)
	fn()
	w.exec(`DROP TRIGGER aaa_broken ON ` + table)
}

// awaitWaiter waits until another session waits for a lock of the owner's transaction.
func (w *world) awaitWaiter() {
	w.t.Helper()
	watch := testkit.Owner(w.t, w.url)
	waiting, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	require.NoError(w.t, testkit.Eventually(waiting, func() error {
		var held bool
		err := watch.QueryRow(waiting,
			`SELECT EXISTS (SELECT FROM pg_stat_activity WHERE $1 = ANY(pg_blocking_pids(pid)))`,
			int32(w.owner.PgConn().PID())).Scan(&held)
		if err == nil && !held {
			err = errors.New("no transaction waits")
		}
		return err
	}))
}

func (w *world) exec(sql string, args ...any) {
	w.t.Helper()
	_, err := w.owner.Exec(ctx, sql, args...)
	require.NoError(w.t, err)
}

func (w *world) count(table, where string, args ...any) int {
	w.t.Helper()
	var n int
	require.NoError(w.t, w.owner.QueryRow(ctx, `SELECT count(*) FROM `+table+` WHERE `+where, args...).Scan(&n))
	return n
}

// forget soft-deletes a memory directly in the database.
func (w *world) forget(id uuid.UUID) {
	w.t.Helper()
	w.exec(`UPDATE memories SET deleted_at = now(), version = version + 1 WHERE id = $1`, id)
}

// touch increments the version of a memory.
func (w *world) touch(id uuid.UUID) {
	w.t.Helper()
	w.exec(`UPDATE memories SET version = version + 1 WHERE id = $1`, id)
}

// snapshot digests every table, so that two snapshots show whether anything changed.
func (w *world) snapshot() map[string]string {
	w.t.Helper()
	rows, err := w.owner.Query(ctx,
		`SELECT c.relname::text FROM pg_class c WHERE c.relnamespace = current_schema()::regnamespace
			AND c.relkind = 'r'`)
	require.NoError(w.t, err)
	tables, err := pgx.CollectRows(rows, pgx.RowTo[string])
	require.NoError(w.t, err)
	out := map[string]string{}
	for _, table := range tables {
		var digest string
		require.NoError(w.t,
			w.owner.QueryRow(ctx,
				`SELECT count(*) || ' ' || coalesce(md5(string_agg(x::text, ',' ORDER BY x::text)), '') FROM `+table+
					` x`).Scan(&digest))
		out[table] = digest
	}
	return out
}

// breaking makes every write to a table fail while fn runs.
func (w *world) breaking(table string, fn func()) {
	w.t.Helper()
	w.exec(`ALTER TABLE ` + table + ` ADD CONSTRAINT broken CHECK (false) NOT VALID`)
	fn()
	w.exec(`ALTER TABLE ` + table + ` DROP CONSTRAINT broken`)
}

// embed returns the offline embedder's vector.
func embed(t testing.TB, text string) []float32 {
	t.Helper()
	v, _, err := rules.New().Embedder.Embed(ctx, []string{text})
	require.NoError(t, err)
	return v[0]
}

// requireExactStats recounts the text statistics from the live rows.
func (w *world) requireExactStats() {
	w.t.Helper()
	var wrong []string
	require.NoError(w.t, w.owner.QueryRow(ctx, `
		WITH truth AS (SELECT m.tenant, l.lexeme, count(*) AS docs FROM memories m, unnest(m.tsv) l WHERE m.live
		GROUP BY 1, 2)
		SELECT coalesce(array_agg(format('%s: %s counted, %s live', coalesce(s.lexeme, t.lexeme), s.docs, t.docs)),
		'{}')
		FROM truth t FULL JOIN lexeme_stats s USING (tenant, lexeme)
			WHERE coalesce(s.docs, 0) <> coalesce(t.docs, 0)`).Scan(&wrong))
	require.Empty(w.t, wrong, "lexeme_stats")
	require.NoError(w.t, w.owner.QueryRow(ctx, `
		WITH truth AS (SELECT tenant, count(*) AS docs, sum(length(tsv)) AS lexemes FROM memories WHERE live GROUP BY 1)
		SELECT coalesce(array_agg(format('%s and %s counted, %s and %s live', s.docs, s.lexemes, t.docs, t.lexemes)),
		'{}')
		FROM truth t FULL JOIN corpus_stats s USING (tenant)
		WHERE coalesce(s.docs, 0) <> coalesce(t.docs, 0)
			OR coalesce(s.lexemes, 0) <> coalesce(t.lexemes, 0)`).Scan(&wrong))
	require.Empty(w.t, wrong, "corpus_stats")
}

var otherModel = inference.EmbeddingModel{Name: "other", Dimensions: 8}
