package store_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/mneme/mneme/internal/testkit"
	"github.com/mneme/mneme/memory"
	"github.com/mneme/mneme/memory/normalize"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/store/pipeline"
)

// columnsWith lists the columns of any type in which some row contains the word.
func (w *world) columnsWith(word string) []string {
	w.t.Helper()
	rows, err := w.owner.Query(ctx,
		`SELECT c.relname::text, a.attname::text FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid
		WHERE c.relnamespace = current_schema()::regnamespace AND c.relkind = 'r' AND a.attnum > 0
			AND NOT a.attisdropped`)
	require.NoError(w.t, err)
	var columns [][2]string
	for rows.Next() {
		var c [2]string
		require.NoError(w.t, rows.Scan(&c[0], &c[1]))
		columns = append(columns, c)
	}
	require.NoError(w.t, rows.Err())
	require.Greater(w.t, len(columns), 200)
	out := []string{}
	for _, c := range columns {
		var n int
		require.NoError(w.t, w.owner.QueryRow(ctx, `SELECT count(*) FROM "`+c[0]+`" WHERE lower("`+c[1]+
			`"::text) LIKE ANY($1)`,
			// bytea is shown as hex
			[]string{"%" + strings.ToLower(word) + "%", fmt.Sprintf("%%%x%%", word),
				fmt.Sprintf("%%%x%%", strings.ToLower(word))}).Scan(&n))
		if n > 0 {
			out = append(out, c[0]+"."+c[1])
		}
	}
	return out
}

func TestEraseLeavesNoWordAndKeepsTheAudit(t *testing.T) {
	t.Parallel()
	for _, mode := range []schema.ForgetMode{schema.ForgetForce, schema.ForgetErase} {
		t.Run(string(mode), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			claim := memory.Fact{Content: "The XyzzyCanary lives in Lisbon now", Category: schema.CategoryFact,
				Confidence: 0.9,
				Claim: memory.Claim{Subject: "XyzzyCanary", Predicate: "lives_in", Object: "Lisbon",
					Functional: true}}
			ack, r := w.stage(schema.Candidate{Content: "I am the XyzzyCanary of Lisbon",
				SourceKind: schema.SourceUserInput, Speaker: "XyzzyCanary", Tags: []string{"XyzzyCanary"},
				Session: "talk of XyzzyCanary",
				Refs:    []schema.Ref{{Kind: "event", Ref: "ref-XyzzyCanary"}}},
				schema.Candidate{Content: "Bob lives in Porto"})
			parent, bystander := uuid.MustParse(ack.MemoryIDs[0]), uuid.MustParse(ack.MemoryIDs[1])
			require.NoError(t, w.SaveExtractions(ctx, "t", []pipeline.Extracted{{CandidateID: parent,
				Extraction: memory.Extraction{Facts: []memory.Fact{claim},
					Triples: []memory.Triple{triple("XyzzyCanary", "knows", "Bob"),
						triple("XyzzyCanary", "is", "XyzzyCanary")}}}}, w.now))
			w.decide(r, parent, idea{fact: claim, action: schema.ActionAdd, vector: axis()})
			require.Equal(t, 1, w.write(r).Added)
			w.link(r)
			w.exec(`UPDATE memory_links SET reason = 'because of XyzzyCanary'`)
			// A proposal about it from another source waits for review; its reason quotes the memory.
			derived := w.derived(parent)
			w.policy.AllowUpdateDelete = false
			_, r2 := w.source("Somebody moved to Faro",
				idea{fact: fact("Somebody lives in Faro"), action: schema.ActionUpdate, target: derived})
			w.exec(`UPDATE proposals SET reason = 'replaces what XyzzyCanary said' WHERE batch_id = $1`, r2.BatchID)
			w.write(r2)
			w.exec(`INSERT INTO artifacts (tenant, sha256, media_type, size, content, agent_id, created_at)
				SELECT 't', sha256(b), 'text/plain', octet_length(b), b, 'a', now()
				FROM (VALUES ('XyzzyCanary in bytes'::bytea), ('shared bytes'::bytea)) v(b)`)
			w.exec(`INSERT INTO memory_artifacts SELECT 't', $1, sha256 FROM artifacts`, parent)
			w.exec(`INSERT INTO memory_artifacts VALUES ('t', $1, sha256('shared bytes'))`, bystander)
			w.exec(`INSERT INTO staged_requests
				VALUES ('t', 'old', 'modify', jsonb_build_object('id', $1::text, 'content', 'XyzzyCanary'), $2)`,
				parent.String(), w.now.Add(-2*time.Hour))
			w.exec(`UPDATE memories SET payload = payload || '{"environment": {"note": "XyzzyCanary"}}',
				external_id = 'XyzzyCanary-1', agent_interaction_id = 'XyzzyCanary-2', version = version + 1 WHERE id = $1`, parent)
			require.Greater(t, len(w.columnsWith("XyzzyCanary")), 15, "many columns contain the word")

			sel := named(parent)
			sel.IncludeDerived = true
			receipt := w.forgetAll(w.forgets(mode, sel))
			require.Equal(t, 2, receipt.Forgotten)
			_, err := w.SweepLexemes(ctx, "t", w.now)
			require.NoError(t, err)
			require.Empty(t, w.columnsWith("XyzzyCanary"))
			for _, place := range []string{"memories", "memory_history", "memory_candidates", "proposals",
				"memory_embeddings", "memory_provenance", "memory_versions",
				"entities", "entity_claims", "artifacts", "staged_requests", "memory_relations"} {
				require.NotZero(t, receipt.Removed[place], place)
			}
			require.Equal(t, 1, receipt.Removed["artifacts"], "an artifact that another memory refers to stays")
			w.requireExactStats()
			w.requireExactEdges()

			// The history still has the events and their actors.
			for _, id := range []uuid.UUID{parent, derived} {
				rows := w.count("memory_history",
					"memory_id = $1 AND event = 'deleted' AND changed_by = 'operator:bob' AND reason = 'no longer "+
						"wanted' AND old_content IS NULL", id)
				require.Equal(t, 1, rows)
				require.Equal(t, 1, w.count("memory_history",
					"memory_id = $1 AND event = 'created' AND erased_at IS NOT NULL AND changed_by <> ''", id))
			}
			require.Equal(t, "Bob lives in Porto", w.get(bystander).Content)
			require.Equal(t, 1, w.count("proposals", "state = 'skipped' AND outcome = 'forgotten'"),
				"no proposal waits to replace a removed memory")
			if mode == schema.ForgetForce {
				require.Zero(t, w.count("memories", "id IN ($1, $2)", parent, derived))
				return
			}
			m := w.get(parent)
			require.NotNil(t, m.ErasedAt)
			require.NotNil(t, m.DeletedAt)
			require.Empty(t, m.Content)
			require.JSONEq(t, "{}", string(m.Payload))
			require.Equal(t, 1, w.count("memory_links",
				"predicate = 'derived_from' AND source_id = $1 AND target_id = $2 AND reason = ''", derived, parent),
				"the lineage is kept")
			require.Zero(t, w.count("memories", "content_hash = $2 AND id = $1", parent,
				normalize.Normalize("I am the XyzzyCanary of Lisbon").Hash))
			require.Zero(t, w.count("memories", "content_hash = $2 AND id = $1", parent, normalize.Normalize("").Hash))

			// It can be learned again. A second erasure of the empty row has no effect.
			again := w.memory("I am the XyzzyCanary of Lisbon")
			require.NotEqual(t, parent, again)
			receipt = w.forgetAll(w.forgets(mode, named(parent)))
			require.Equal(t, map[string]int{"erased": 1}, receipt.Skipped)
		})
	}
}

// derived returns the one memory that was derived from another.
func (w *world) derived(parent uuid.UUID) uuid.UUID {
	w.t.Helper()
	var id uuid.UUID
	require.NoError(w.t,
		w.owner.QueryRow(ctx, `SELECT source_id FROM memory_links WHERE predicate = 'derived_from' AND target_id = $1`,
			parent).Scan(&id))
	return id
}

// A fact is erased without its source. The extraction of the source loses the words of the fact and keeps its
// position.
func TestEraseOfAFactWithoutItsSource(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	parent, r := w.source("Somebody said two things",
		idea{fact: fact("The XyzzyCanary sings"), action: schema.ActionAdd},
		idea{fact: fact("Bob is asleep"), action: schema.ActionAdd})
	require.Equal(t, 2, w.write(r).Added)
	var id uuid.UUID
	require.NoError(t, w.owner.QueryRow(ctx,
		`SELECT id FROM memories WHERE content = 'The XyzzyCanary sings'`).Scan(&id))
	w.forgetAll(w.forgets(schema.ForgetErase, onlyNamed(id)))
	_, err := w.SweepLexemes(ctx, "t", w.now)
	require.NoError(t, err)
	require.Empty(t, w.columnsWith("XyzzyCanary"))
	require.Equal(t, "Somebody said two things", w.get(parent).Content)
	out := w.outcomes(r)
	require.Len(t, out, 2)
	require.Empty(t, out[0].Content)
	require.Equal(t, "Bob is asleep", out[1].Content)
}

// An embedding computed while its memory was erased is not stored.
func TestLateEmbeddingOfAnErasedMemory(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	id := w.memory("the first")
	entries, err := w.Outbox(ctx, "t", hash, nil, 10)
	require.NoError(t, err)
	tx, err := w.owner.Begin(ctx) // in place of an erasure that has not committed yet
	require.NoError(t, err)
	_, err = tx.Exec(ctx,
		`UPDATE memories SET deleted_at = now(), erased_at = now(), content = '', version = 2 WHERE id = $1`, id)
	require.NoError(t, err)
	kept := make(chan error, 1)
	go func() {
		kept <- w.KeepEmbeddings(ctx, "t", hash, entries, map[uuid.UUID][]float32{id: axis()}, w.now)
	}()
	watcher := testkit.Owner(t, w.url)
	for {
		var waiting bool
		require.NoError(t, watcher.QueryRow(ctx,
			`SELECT EXISTS (SELECT FROM pg_stat_activity WHERE wait_event_type = 'Lock'
				AND query LIKE '%memory_embeddings%'
			AND pg_blocking_pids(pid) @> ARRAY[$1::int])`, int(w.owner.PgConn().PID())).Scan(&waiting))
		if waiting {
			break
		}
	}
	require.NoError(t, tx.Commit(ctx))
	require.NoError(t, <-kept)
	require.Zero(t, w.count("memory_embeddings", "true"))
}

// A sweep visits a vocabulary of any size and removes only lexemes that no row uses.
func TestSweepOfManyLexemes(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.memory("Tea is served hot.")
	held := w.count("lexeme_stats", "true")
	w.exec(`INSERT INTO lexeme_stats SELECT 't', 'unused' || g, 0 FROM generate_series(1, 12345) g`)
	w.exec(`INSERT INTO lexeme_stats VALUES ('t2', 'unused', 0)`)
	n, err := w.SweepLexemes(ctx, "t", w.now)
	require.NoError(t, err)
	require.Equal(t, 12345, n)
	require.Equal(t, held, w.count("lexeme_stats", "tenant = 't'"))
	require.Equal(t, 1, w.count("lexeme_stats", "tenant = 't2'"))
	n, err = w.SweepLexemes(ctx, "t", w.now)
	require.NoError(t, err)
	require.Zero(t, n)
	w.requireExactStats()
}

func TestForgetRemoved(t *testing.T) {
	t.Parallel()
	for mode, want := range map[schema.ForgetMode]bool{schema.ForgetSoft: false, schema.ForgetErase: true,
		schema.ForgetForce: true} {
		t.Run(string(mode), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			preview := w.selects(w.forgets(mode, named(w.memory("Tea is served hot."))))
			run := uuid.MustParse(preview.RunID)
			removed, err := w.ForgetRemoved(ctx, "t", run)
			require.NoError(t, err)
			require.False(t, removed, "nothing has gone yet")
			_, err = w.confirm(preview, w.token(preview))
			require.NoError(t, err)
			_, err = w.ForgetBatch(ctx, "t", run, 10, w.now)
			require.NoError(t, err)
			removed, err = w.ForgetRemoved(ctx, "t", run)
			require.NoError(t, err)
			require.Equal(t, want, removed)
		})
	}
}
