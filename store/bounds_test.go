package store_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/mneme/mneme/memory"
	"github.com/mneme/mneme/memory/lifecycle"
	"github.com/mneme/mneme/memory/session"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/schema/ledger"
	"github.com/mneme/mneme/store/advising"
	"github.com/mneme/mneme/store/budgets"
	"github.com/mneme/mneme/store/events"
	"github.com/mneme/mneme/store/pipeline"
	"github.com/mneme/mneme/store/sessions"
	"github.com/mneme/mneme/store/sweeping"
)

// bound says why a table does not grow without limit under a constant load.
type bound int

const (
	// steady: expired rows are removed. The table has no more rows in the last quarter of the year than before it.
	steady bound = iota
	// perMemory: a bounded number of rows per memory, which are removed with it.
	perMemory
	// few: a number that does not depend on the load.
	few
)

// bounds lists every table. A new table fails the test until it has an entry. docs/forgetting.md has the same list.
var bounds = map[string]bound{
	"memories": steady, "memory_history": steady, "memory_versions": steady, "memory_candidates": steady,
	"proposals":      steady,
	"ingest_batches": steady, "jobs": steady, "operations": steady, "events": steady, "event_ids": steady,
	"event_streams": steady, "sessions": steady, "session_episodes": steady, "retrievals": steady,
	"retrieval_feedback": steady,
	"removals":           steady, "forget_runs": steady, "forget_items": steady, "forget_echoes": steady, "sweep_runs": steady,
	"retention_policy_changes": steady,
	"artifacts":                steady, "artifact_holders": steady, "staged_requests": steady, "index_outbox": steady,
	"lexeme_stats": steady,
	"entities":     steady, "entity_relations": steady,

	"memory_access": perMemory, "memory_embeddings": perMemory, "memory_links": perMemory,
	"memory_provenance": perMemory,
	"memory_hints":      perMemory, "memory_artifacts": perMemory, "memory_entity_mentions": perMemory,
	"entity_relation_sources": perMemory,
	"entity_claims":           perMemory, "memory_source_kinds": perMemory,

	"event_marks": steady, "event_vectors": steady, "token_budgets": steady, "token_reservations": steady,

	"learning_attempts": perMemory, "learned": perMemory, "solution_outcomes": perMemory, "outcome_reports": perMemory,
	"verdict_sources": perMemory,
	"duplicate_keys":  perMemory, "model_answers": perMemory,
	"advice": steady, "learning_watermarks": few, "learning_groups": few, "learning_drafts": few,

	"topics": few, "topic_answers": few, "topic_drafts": few,
	"corpus_stats": few, "retention_policies": few, "sweep_holds": few, "tenant_secrets": few, "index_generations": few,
	"goose_db_version": steady, // one row for each migration
}

// The same fortnight is repeated for a year, with sweeps and purges every fourth or fifth day, less often than by the
// schedules. At the end, no table has more rows than after its longest window had passed once.
func TestEveryTableIsBoundedOverAYear(t *testing.T) {
	t.Parallel()
	y := &steadyYear{world: newWorld(t)}
	y.now = time.Now().UTC().Truncate(time.Second).Add(-380 * day) // requests are swept by the database's clock
	rows, err := y.owner.Query(ctx, `SELECT table_name::text FROM information_schema.tables
		WHERE table_schema = current_schema() AND table_type = 'BASE TABLE'
			AND table_name !~ '^events_([0-9_]+|rest)$'`)
	require.NoError(t, err)
	y.tables, err = pgx.CollectRows(rows, pgx.RowTo[string])
	require.NoError(t, err)
	for _, table := range y.tables {
		require.Contains(t, bounds, table, "%s is a new table: add it to bounds and to docs/forgetting.md",
			table)
	}
	require.Len(t, y.tables, len(bounds), "a table was removed")

	// The longest window is half a year, so that tables have reached their size by day 200.
	filled, later := map[string]int{}, map[string]int{}
	for n := range 27 {
		y.fortnight(n)
		switch at := n * 14; { // before the sweeps and purges of the fortnight
		case at > 285:
			y.measure(later)
		case at > 200:
			y.measure(filled)
		}
		for _, days := range []time.Duration{4, 5, 5} {
			y.now = y.now.Add(days * day)
			y.keepUp()
		}
	}
	memories := later["memories"]
	for _, table := range y.tables {
		t.Logf("%-26s %4d until day 285, %4d after", table, filled[table], later[table])
		require.Positive(t, max(filled[table], mayBeEmpty(bounds[table])), "the load adds no rows to %s", table)
		switch bounds[table] {
		case steady:
			require.LessOrEqual(t, later[table], filled[table]+filled[table]/10+1, "%s grows", table)
		case perMemory:
			require.LessOrEqual(t, later[table], 10*memories, table)
		case few:
			require.LessOrEqual(t, later[table], 40, table)
		}
	}
}

// mayBeEmpty reports, as 1 or 0, whether a table may be empty: tables of kind few may.
func mayBeEmpty(b bound) int {
	if b == few {
		return 1
	}
	return 0
}

// steadyYear is a tenant with the same load every fortnight.
type steadyYear struct {
	*world
	tables []string
	pinned uuid.UUID
}

// measure records the most rows that each table had. It does not count the empty rows of erased memories, which are
// kept permanently.
func (y *steadyYear) measure(most map[string]int) {
	y.t.Helper()
	for _, table := range y.tables {
		where := "true"
		if table == "memories" {
			where = "erased_at IS NULL"
		}
		most[table] = max(most[table], y.count(table, where))
	}
}

// fortnight applies the load of two weeks.
func (y *steadyYear) fortnight(n int) {
	y.t.Helper()
	name := fmt.Sprintf("Quill%03d", n)
	knows := memory.Triple{Source: name, Relationship: "knows", Target: "Alice", Confidence: 1}

	// The pipeline: a memory with a key, links and a vector; the same memory again; a fact that waits for review and
	// expires; a job that is parked; a batch in shadow mode.
	y.linked(name+" knows Alice and brought the blue folder.", knows)
	keyed := schema.Candidate{Content: name + " handed the report in.", SourceKind: schema.SourceUserInput,
		Session:        "s" + name,
		IdempotencyKey: "key-" + name}
	ack, r := y.stage(keyed)
	y.decided(r, uuid.MustParse(ack.MemoryIDs[0]))
	again, _ := y.stage(keyed)
	require.Equal(y.t, ack.MemoryIDs, again.MemoryIDs)
	if y.pinned == uuid.Nil {
		y.pinned = y.explicit("critical: The pass to the archive is changed every week.")
	}
	fades, waits := y.source(name+" wants the archive moved.",
		idea{fact: fact(name + " says that the pass is void."), action: schema.ActionDelete, target: y.pinned})
	require.Equal(y.t, schema.WriteCounts{Blocked: 1}, y.write(waits))
	_, err := y.OpenReview(ctx, y.p.Tenant, waits.BatchID, 14*day, y.now)
	require.NoError(y.t, err)
	_, dead := y.stage(say(name + " wrote what cannot be read.")...)
	_, err = y.MarkRangeDead(ctx, dead, "extract", "broken", y.now)
	require.NoError(y.t, err)
	y.policy.Mode = schema.ModeShadow
	y.stage(schema.Candidate{Content: name + " is only looked at.", SourceKind: schema.SourceToolOutput})
	y.policy.Mode = schema.ModeControlled

	// Recall and feedback; a modification; artifacts with and without a memory; a request whose run is terminated.
	y.feedback(y.retrieved(fades), says(fades, schema.VerdictSucceeded))
	tags := []string{"week" + name}
	require.Equal(y.t, schema.PatchUpdated, y.modifyOne(schema.Patch{ID: y.pinned.String(), Tags: &tags}).Status)
	_, err = y.PutArtifact(ctx, y.p, strings.NewReader("lost "+name), "text/plain", "", y.now)
	require.NoError(y.t, err)
	shown, err := y.PutArtifact(ctx, y.p, strings.NewReader("shown "+name), "text/plain", "", y.now)
	require.NoError(y.t, err)
	m := record(y.t,
		`{"id": %q, "type": "episodic", "confidence": 1, "payload": {"kind": "episodic", "timeline": [{"t": "2026-01-01T00:00:00Z",
		"event_kind": "note", "ref": "evt://1", "summary": %q}], "artifacts": [%q]}}`, uuid.NewString(),
		name+" showed a picture", shown.Address)
	y.created(m)
	require.NoError(y.t, y.Accept(ctx, schema.OperationRef{Tenant: y.p.Tenant, ID: "later" + name}, "put",
		schema.PutRequest{}, y.now))

	// A session that becomes an episode.
	key := sessionKey("ann", name, "run/"+name)
	key.Principal.Tenant = y.p.Tenant
	_, err = y.Store.Append(ctx, events.AppendInput{Tenant: y.p.Tenant,
		Events: []ledger.Event{said("session"+name, "run/"+name, "ann", ledger.KindAgentThought)}, Now: y.now})
	require.NoError(y.t, err)
	_, err = y.TakeIn(ctx, key, y.now)
	require.NoError(y.t, err)
	closed, err := y.CloseSession(ctx, sessions.CloseInput{Key: key, Why: session.Idle, Policy: y.policy, Now: y.now})
	require.NoError(y.t, err)
	require.NotNil(y.t, closed.MemoryID)

	// Data derived from events; a topic that is answered twice, and its token cost.
	seen := said("seen"+name, "run/"+name, "ann", ledger.KindWorldObserved)
	_, err = y.Store.Append(ctx, events.AppendInput{Tenant: y.p.Tenant, Events: []ledger.Event{seen}, Now: y.now})
	require.NoError(y.t, err)
	require.NoError(y.t, y.PutVectors(ctx, y.p.Tenant, hash, []string{seen.ID},
		[][]float32{make([]float32, hash.Dimensions)}, y.now))
	topic := y.asks(y.p, "Who knows Alice?")
	draft, _ := y.drafts(topic, y.pinned, fades)
	y.publishes(topic, draft)
	require.NoError(y.t, y.RemoveTopic(ctx, y.by(), y.opened("Who knows "+name+"?"), y.now))
	// What learning stores about a memory and about the problem that the memory solves.
	require.NoError(y.t, y.SaveAdvice(ctx, advising.Advice{ID: uuid.New(), Principal: y.p}, y.now))
	for _, sql := range []string{
		`INSERT INTO learning_attempts (tenant, memory_id, ordinal, at) SELECT tenant, id, 0, now() FROM memories
			WHERE tenant = $1 AND id = $2`,
		`INSERT INTO solution_outcomes (tenant, memory_id, stats, updated_at) SELECT tenant, id, '{}', now()
			FROM memories WHERE tenant = $1 AND id = $2`,
		`INSERT INTO outcome_reports (tenant, memory_id, advice_id, at) SELECT tenant, id, gen_random_uuid(), now()
			FROM memories WHERE tenant = $1 AND id = $2`,
		`INSERT INTO verdict_sources (tenant, memory_id, agent_id, used, verdict, times, days, counted, moved, at)
			SELECT tenant, id, 'b', true, 'failed', 1, 1, 1, -0.1, now() FROM memories WHERE tenant = $1 AND id = $2`,
		`INSERT INTO duplicate_keys (tenant, memory_id, version, key) SELECT tenant, id, 1, sha256('x') FROM memories
			WHERE tenant = $1 AND id = $2`,
		`INSERT INTO model_answers (tenant, memory_id, other, purpose, question, at)
			SELECT tenant, id, id, 'facts', sha256('x'), now() FROM memories WHERE tenant = $1 AND id = $2`,
		`INSERT INTO learned (tenant, memory_id, kind, group_id, key, updated_at)
			SELECT tenant, id, 'competence', id, 'error:x', now()
			FROM memories WHERE tenant = $1 AND id = $2`,
	} {
		_, err = y.owner.Exec(ctx, sql, y.p.Tenant, fades)
		require.NoError(y.t, err)
	}
	require.NoError(y.t, y.ReserveTokens(ctx, budgets.Reservation{Tenant: y.p.Tenant, Key: name, Purpose: "topic",
		Tokens: 30}, y.now))

	// Forgetting in each mode, and a policy that alternates between two values.
	for i, mode := range []schema.ForgetMode{schema.ForgetSoft, schema.ForgetForce, schema.ForgetErase} {
		text := fmt.Sprintf("%s lives in house number %d.", name, i)
		source, facts := y.told(name, text, add(lives(text, name+fmt.Sprint(i), "house")))
		require.NotEqual(y.t, source, facts[0])
		y.forgetAll(y.forgets(mode, named(facts[0])))
	}
	_, err = y.SetRetention(ctx, y.p.Tenant,
		schema.RetentionPolicy{Domain: schema.RetainRetrievals, Tier: schema.Any, Typology: schema.Any,
			KeepSeconds: int64(20+n%2) * 86_400, OnExpiry: schema.ExpiryPurge, UpdatedBy: "ops", Reason: "a test"}, nil,
		nil, y.now)
	require.NoError(y.t, err)
}

// keepUp does what the schedules and the ends of runs do.
func (y *steadyYear) keepUp() {
	y.t.Helper()
	for _, batch := range y.batches(`SELECT DISTINCT batch_id FROM proposals WHERE state = 'blocked'
		AND expires_at <= $1`) {
		_, err := y.ExpireProposals(ctx, pipeline.ExpireInput{Tenant: y.p.Tenant, BatchID: batch, Before: y.now,
			Policy: y.policy, Now: y.now})
		require.NoError(y.t, err)
	}
	for _, batch := range y.batches(`SELECT DISTINCT batch_id FROM jobs WHERE state NOT IN ('completed', 'dead')
		AND created_at <= $1`) {
		require.NoError(y.t, y.CompleteJobs(ctx, schema.Range{Tenant: y.p.Tenant, BatchID: batch, To: 10}, y.now))
	}
	for { // sends pending changes to the index
		entries, err := y.Outbox(ctx, y.p.Tenant, hash, nil, 100)
		require.NoError(y.t, err)
		if len(entries) == 0 {
			break
		}
		require.NoError(y.t, y.SettleOutbox(ctx, y.p.Tenant, entries, y.now))
	}
	_, err := y.SweepStaged(ctx)
	require.NoError(y.t, err)
	y.sweepDecay(fmt.Sprintf("decay %s", y.now), 500)
	for _, step := range lifecycle.PurgeSteps {
		var after schema.HistoryCursor
		for more := true; more; {
			b, err := y.Purge(ctx, sweeping.PurgeInput{Tenant: y.p.Tenant, Run: fmt.Sprintf("purge %s", y.now),
				Step: step, After: after,
				Limit: 7, At: y.now, Now: y.now})
			require.NoError(y.t, err)
			require.LessOrEqual(y.t, b.Removed, 7, "%s: a batch is capped", step)
			after, more = b.Next, b.More
		}
	}
	require.NoError(y.t, y.SweepPurgedLexemes(ctx, y.p.Tenant, y.now))
}

func (y *steadyYear) batches(query string) []uuid.UUID {
	y.t.Helper()
	rows, err := y.owner.Query(ctx, query, y.now)
	require.NoError(y.t, err)
	out, err := pgx.CollectRows(rows, pgx.RowTo[uuid.UUID])
	require.NoError(y.t, err)
	return out
}
