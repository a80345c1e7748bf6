package store_test

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/mneme/mneme/memory"
	"github.com/mneme/mneme/memory/learning/advice"
	"github.com/mneme/mneme/memory/lifecycle"
	"github.com/mneme/mneme/memory/rank"
	"github.com/mneme/mneme/memory/timeexpr"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/store"
	"github.com/mneme/mneme/store/advising"
	"github.com/mneme/mneme/store/pg"
	"github.com/mneme/mneme/store/pipeline"
	"github.com/mneme/mneme/store/read"
	"github.com/mneme/mneme/store/search"
	"github.com/mneme/mneme/store/sweeping"
	"github.com/mneme/mneme/store/transfer"
)

// fillSQL inserts 100,000 memories of two agents with their dependent rows. There are fewer embeddings, because
// building their index takes longest.
//
// No trigger runs: checking every foreign key would take half of the time. Every claim has another object. If they
// were the same, a forget would follow them as restatements through the whole tree of derived memories.
const fillSQL = `
	BEGIN;
	SET LOCAL synchronous_commit = off;
	SET LOCAL maintenance_work_mem = '256MB';
	SET LOCAL session_replication_role = replica;
	DROP INDEX memory_embeddings_hash_v1_session_episodic;
	INSERT INTO memories (tenant, id, agent_id, type, category, tier, typology, content, normalized_content, content_hash, payload, subject, predicate, confidence, importance, salience,
		salience_at, decay_curve, half_life, min_salience, reinforcement_gain, last_reinforced_at, deletion_policy, occurred_at, created_at, updated_at, created_by, agent_session_id)
	SELECT CASE WHEN g % 50 = 0 THEN 't2' ELSE 't' END, lpad(to_hex(g), 32, '0')::uuid, CASE WHEN g % 3 = 0 THEN 'b' ELSE 'a' END, 'episodic', 'fact', 'session', 'episodic',
		c, c, sha256(c::bytea), '{"kind": "episodic", "timeline": []}', 'subject' || g % 20000, 'likes', 1, 0.5, 1, now(), 'exponential', '1 day', 0, 0, now(), 'auto_prune', now(), now() + g * interval '1 s', now(), 'x', 's' || g / 200
	FROM (SELECT g, format('word%s met word%s about topic%s and rare%s', g % 977, g % 1013, g % 37, g) AS c FROM generate_series(1, 100000) g) x;
	INSERT INTO lexeme_stats SELECT m.tenant, l.lexeme, count(*) FROM memories m, unnest(m.tsv) l GROUP BY 1, 2;
	INSERT INTO corpus_stats SELECT tenant, count(*), sum(length(tsv)) FROM memories GROUP BY 1;
	INSERT INTO memory_history (tenant, id, memory_id, event, changed_by, reason, created_at) SELECT tenant, id, id, 'created', 'x', 'y', now() FROM memories;
	INSERT INTO index_outbox (tenant, memory_id, version, op, created_at) SELECT tenant, id, 1, 'upsert', now() FROM memories;
	INSERT INTO memory_versions SELECT tenant, id, 0, created_at - interval '1 day', created_at, to_jsonb(m) - '{tsv,normalized_content}'::text[] FROM memories m WHERE right(id::text, 1) IN ('0', '1', '2', '7');
	INSERT INTO memory_links (tenant, source_id, predicate, target_id, created_at)
		SELECT m.tenant, m.id, 'derived_from', n.id, now() FROM memories m JOIN memories n ON n.tenant = m.tenant AND n.id = lpad(to_hex(('x' || right(m.id::text, 8))::bit(32)::integer / 2), 32, '0')::uuid
		WHERE m.id <> n.id;
	INSERT INTO memory_access SELECT tenant, id, 1, now() FROM memories WHERE right(id::text, 1) < '8';
	INSERT INTO entity_claims SELECT tenant, id, subject, predicate, 'tea ' || right(id::text, 5), false, now() FROM memories;
	INSERT INTO memory_hints (tenant, memory_id, position, source, hint, created_at)
		SELECT tenant, id, 0, 'rules', 'What is the home of ' || subject || ' and its ' || split_part(content, ' ', 1) || '?', now() FROM memories WHERE right(id::text, 1) IN ('0', '5', 'a');
	INSERT INTO entities SELECT 't', lpad(to_hex(g), 32, '0')::uuid, 'subject' || g, 'subject' || g, 5, now(), now() FROM generate_series(0, 9999) g;
	INSERT INTO memory_entity_mentions SELECT m.tenant, m.id, lpad(to_hex(substr(m.subject, 8)::int / CASE WHEN right(m.id::text, 1) = '7' THEN 20000 ELSE 2 END), 32, '0')::uuid, now() FROM memories m WHERE m.tenant = 't';
	INSERT INTO entity_relations SELECT 't', lpad(to_hex(g % 10000), 32, '0')::uuid, 'r' || g / 10000, lpad(to_hex(CASE WHEN g < 10000 THEN 0 ELSE (g * 7) % 10000 END), 32, '0')::uuid, 3, 0.8, now(), now()
		FROM generate_series(0, 29999) g;
	INSERT INTO entity_relation_sources SELECT 't', m.id, r.source_id, r.relationship, r.target_id
		FROM (SELECT *, row_number() OVER (ORDER BY source_id, target_id) AS n FROM entity_relations) r JOIN memories m ON m.tenant = 't' AND m.id = lpad(to_hex(3 * r.n + 1), 32, '0')::uuid;
	INSERT INTO memories (tenant, id, agent_id, type, category, tier, typology, content, normalized_content, content_hash, payload, confidence, importance, salience,
		salience_at, decay_curve, half_life, min_salience, reinforcement_gain, last_reinforced_at, deletion_policy, occurred_at, created_at, updated_at, created_by)
	SELECT 't', lpad(to_hex(200000 + g), 32, '0')::uuid, CASE WHEN g % 3 = 0 THEN 'b' ELSE 'a' END, 'competence', 'procedural', 'persistent', 'procedural', 'how' || g, 'how' || g, sha256(('how' || g)::bytea),
		jsonb_build_object('kind', 'competence', 'skill_name', 'skill', 'recipe', '[]'::jsonb, 'triggers', jsonb_build_array(jsonb_build_object('signal', format('error%s of part%s', g % 500, g)))),
		1, 0.5, 1, now(), 'exponential', '1 day', 0, 0, now(), 'auto_prune', now(), now(), now(), 'x' FROM generate_series(1, 3000) g;
	UPDATE memories SET validity = 'timeboxed', valid_from = occurred_at WHERE right(id::text, 2) = '33';
	INSERT INTO memories (tenant, id, agent_id, type, category, tier, typology, content, normalized_content, content_hash, payload, confidence, importance, salience, salience_at,
		decay_curve, half_life, min_salience, reinforcement_gain, last_reinforced_at, deletion_policy, occurred_at, created_at, updated_at, created_by, decay_due_at, deleted_at, purging_at)
	SELECT 't', lpad(to_hex(300000 + g), 32, '0')::uuid, 'a', 'episodic', 'fact', 'session', 'episodic', 'due' || g, 'due' || g, sha256(('due' || g)::bytea), '{"kind": "episodic", "timeline": []}',
		1, 0.5, 1, now() - interval '9 days', 'exponential', '1 day', 0.5, 0, now(), 'auto_prune', now(), now() - interval '9 days', now(), 'x',
		CASE WHEN g <= 1000 THEN now() - g * interval '1 s' END, CASE WHEN g > 1000 THEN now() - interval '60 days' END, CASE WHEN g > 1500 THEN now() END FROM generate_series(1, 2000) g;
	INSERT INTO retrievals (tenant, id, agent_id, query_hash, memory_ids, took_ms, created_at)
		SELECT 't', lpad(to_hex(g), 32, '0')::uuid, 'a', '\x00', '{}', 1, now() - g * interval '1 hour' FROM generate_series(1, 20000) g;
	INSERT INTO ingest_batches SELECT tenant, lpad(to_hex(b), 32, '0')::uuid, 'w', 'a', '', '', '', 'private', 'controlled', true, 0.5, 500, now()
		FROM generate_series(1, 250) b, (VALUES ('t'), ('t2')) v(tenant);
	INSERT INTO memory_candidates (tenant, id, batch_id, ordinal, state, memory_id, source_kind, content, category, sensitivity, occurred_at, created_at, extraction)
		SELECT tenant, id, lpad(to_hex(1 + n / 500), 32, '0')::uuid, n % 500, 'staged', id, 'observation', content, category, sensitivity, now(), now(), '{"facts": []}'
		FROM (SELECT m.*, row_number() OVER (PARTITION BY tenant) - 1 AS n FROM memories m) m;
	INSERT INTO jobs (tenant, id, kind, state, phase, batch_id, candidate_id, memory_id, workflow_id, max_attempts, created_at, updated_at)
		SELECT tenant, id, 'ingest', CASE ordinal WHEN 7 THEN 'dead' ELSE 'pending' END, 'extract', batch_id, id, memory_id, 'w', 3, now(), now() FROM memory_candidates;
	INSERT INTO proposals (tenant, id, batch_id, candidate_id, ordinal, state, action, fact, confidence, reason, outcome, target_id, target_version, contradiction_risk, decided_at)
		SELECT tenant, id, batch_id, id, 0, CASE WHEN ordinal = 9 THEN 'blocked' ELSE 'applied' END, 'update', '{"content": "x"}', 1, 'r', 'updates_not_allowed', memory_id, 1, ordinal = 9, now() - ordinal * interval '1 s'
		FROM memory_candidates;
	INSERT INTO artifacts (tenant, sha256, media_type, size, content, agent_id, created_at)
		SELECT 't', sha256(c::bytea), 'text/plain', length(c), c::bytea, 'a', now() FROM (SELECT format('word%s and rare%s', g % 977, g) AS c FROM generate_series(3, 15000, 3) g) x;
	INSERT INTO memory_artifacts SELECT 't', lpad(to_hex(g), 32, '0')::uuid, sha256(format('word%s and rare%s', g % 977, g)::bytea) FROM generate_series(3, 15000, 3) g WHERE g % 50 <> 0;
	INSERT INTO verdict_sources (tenant, memory_id, agent_id, used, verdict, times, days, counted, moved, at)
		SELECT m.tenant, m.id, 'b' || n, true, 'failed', 1, 1, 1, 0, now() FROM memories m, generate_series(1, 10) n WHERE m.type = 'competence';
	UPDATE memories SET visibility = 'shared' WHERE content = 'how1';
	INSERT INTO memory_provenance (tenant, memory_id, position, kind, ref, created_at) SELECT tenant, id, 0, 'event', 'e' || id, now() FROM memories;
	INSERT INTO memory_embeddings (tenant, id, memory_id, model, dims, embedding, tier, typology, content_hash, created_at)
		SELECT m.tenant, m.id, m.id, 'hash-v1', 384, v.v, 'session', 'episodic', m.content_hash, now()
		FROM (SELECT *, row_number() OVER (ORDER BY id) n FROM memories LIMIT 8000) m JOIN LATERAL
			(SELECT array_agg(random() - 0.5)::vector v FROM generate_series(1, 384) WHERE m.n > 0) v ON true;
	CREATE INDEX memory_embeddings_hash_v1_session_episodic ON memory_embeddings
		USING hnsw ((embedding::halfvec(384)) halfvec_cosine_ops) WITH (m = 8, ef_construction = 32)
		WHERE model = 'hash-v1' AND tier = 'session' AND typology = 'episodic';
	COMMIT;`

// TestQueriesUseIndexesAtSize explains every statement of the store's readers and the pipeline's phases, with the
// role and the settings of the application.
func TestQueriesUseIndexesAtSize(t *testing.T) {
	t.Parallel()
	w := newUnplannedWorld(t)
	start := time.Now()
	w.exec(fillSQL)
	w.exec(`ANALYZE`)
	t.Logf("loaded in %v", time.Since(start).Round(100*time.Millisecond))
	listen := &tracer{}
	s, err := store.OpenTraced(ctx, w.url, listen)
	require.NoError(t, err)
	t.Cleanup(s.Close)

	id := uuid.MustParse("00000000-0000-0000-0000-000000000007")
	r := schema.Range{Tenant: "t", BatchID: uuid.MustParse("00000000-0000-0000-0000-000000000003"), From: 10, To: 20}
	isolated := pg.Filter{Principal: w.p}
	shared := pg.Filter{Principal: w.p, ReadPolicy: schema.ReadShared}
	important := isolated
	important.ImportanceMin, important.Now = 0.4, time.Now()
	vec := &pg.Embedding{Model: hash, Vector: embed(t, "word5")}
	claim := fact("subject7 likes rare70")
	claim.Claim = memory.Claim{Subject: "subject7", Predicate: "likes", Object: "coffee"}
	functional := lives("Subject7 lives in Rome", "Subject7", "Rome")
	parent, adding := w.source("a talk about subject seven",
		idea{fact: functional, action: schema.ActionAdd, offered: []uuid.UUID{id}})
	require.NotEqual(t, uuid.Nil, parent)
	big := []string{"memories", "memory_history", "index_outbox", "entity_claims", "memory_candidates", "jobs",
		"memory_embeddings", "lexeme_stats",
		"memory_versions", "memory_links", "proposals", "memory_provenance", "memory_hints", "entities",
		"entity_relations", "memory_entity_mentions", "entity_relation_sources"}
	then := time.Now().Add(-time.Hour)
	past := isolated
	past.AsOf, past.Context, past.At = &then, []byte(`{"k": "v"}`), then
	preference, ghent := w.created(likes(t, "", "go", always)), w.explicit("I live in Ghent.")
	var blocked uuid.UUID
	require.NoError(t, w.owner.QueryRow(ctx,
		`SELECT id FROM proposals WHERE tenant = 't' AND state = 'blocked' LIMIT 1`).Scan(&blocked))
	item := w.review(blocked.String())
	w.exec(`UPDATE memories SET status = 'contested' WHERE id IN ($1, $2)`, nth(5020), nth(5040))
	w.exec(`INSERT INTO memory_links (tenant, source_id, predicate, target_id, created_at)
		VALUES ('t', $1, 'contradicts', $2, now())`, nth(5040), nth(5020))
	soft := w.selects(w.forgets("", schema.Selector{IDs: []string{nth(5020).String(), nth(5021).String()}}))
	erase := w.selects(w.forgets(schema.ForgetErase, onlyNamed(nth(5023))))
	for _, run := range []schema.ForgetPreview{soft, erase} {
		_, err = w.confirm(run, w.token(run))
		require.NoError(t, err)
	}
	graphIndexes := []string{"memory_access_pkey", "entities_canonical_name_tenant_key", "entity_relations_source",
		"entity_relations_target", "memory_entity_mentions_of_entity", "memories_pkey"}
	hour := []timeexpr.TimeWindow{{Start: time.Now(), End: time.Now().Add(time.Hour), Kind: timeexpr.WindowSpan}}
	type planned struct {
		run  func() error
		want []string // indexes that must each be used by some statement
	}
	cases := map[string]planned{
		"put": {func() error { return second(s.Put(ctx, w.putInput(likes(t, "", "rust", always)))) },
			[]string{"memories_active_fact", "memories_live_hash"}},
		"revise": {func() error {
			return second(s.Revise(ctx, w.reviseInput(w.revision(schema.ReviseSupersede,
				same(likes(t, "", "zig", always)), schema.Target{ID: preference.String(), IfVersion: 1}))))
		}, []string{"memories_pkey", "memories_active_fact"}},
		"modify": {func() error {
			return second(s.Modify(ctx, w.modifyInput(schema.Patch{ID: nth(10).String(), Tags: &[]string{"x"}})))
		}, []string{"memories_pkey"}},
		"recover": {func() error { return second(s.Recover(ctx, w.recoverInput(schema.Target{ID: nth(11).String()}))) },
			[]string{"memories_pkey"}},
		"forget, by query": {func() error {
			return second(s.SelectForget(ctx, w.modification(),
				w.forgets("", schema.Selector{Query: "rare345 word12", IncludeDerived: true}), w.now))
		}, []string{"memories_text", "memory_links_target"}},
		"erase, everywhere": {func() error {
			return second(s.SelectForget(ctx, w.modification(),
				w.forgets(schema.ForgetErase, named(nth(3000), preference)), w.now))
		}, []string{"memory_links_target", "memory_links_pkey", "proposals_of_memory", "memory_candidates_of_memory",
			"memories_live_hash", "memories_past_hash",
			"entity_claims_lookup", "memories_text"}},
		"forget, a batch": {func() error {
			err := second(s.ForgetBatch(ctx, "t", uuid.MustParse(soft.RunID), 500, w.now))
			require.Equal(t, 1, w.count("memories", `id = $1 AND status = 'active'`, nth(5040)), "its contest has ended")
			return err
		}, []string{"memories_pkey", "memory_links_target"}},
		"erase, a batch": {func() error {
			return second(s.ForgetBatch(ctx, "t", uuid.MustParse(erase.RunID), 500, w.now))
		}, []string{"memories_pkey", "memory_versions_pkey"}},
		"forget, status": {func() error { return second(s.ForgetStatus(ctx, w.p, uuid.MustParse(erase.RunID))) }, nil},
		"reviews": {func() error {
			return second(s.ListReviews(ctx, w.p, pipeline.ReviewFilter{State: schema.ReviewsWaiting},
				pg.Page{Limit: 20}))
		}, []string{"proposals_to_review"}},
		"reviews decided": {func() error {
			return second(s.ListReviews(ctx, w.p, pipeline.ReviewFilter{State: schema.ReviewsDecided},
				pg.Page{Limit: 20}))
		}, []string{"proposals_reviewed"}},
		"review":         {func() error { return second(s.GetReview(ctx, w.p, blocked)) }, []string{"proposals_pkey"}},
		"contradictions": {func() error { return second(s.Contradictions(ctx, w.p, pg.Page{Limit: 20})) }, nil},
		"open review": {func() error { return second(s.OpenReview(ctx, "t", r.BatchID, time.Hour, w.now)) },
			[]string{"proposals_of_batch"}},
		"expire": {func() error {
			return second(s.ExpireProposals(ctx, pipeline.ExpireInput{Tenant: "t", BatchID: r.BatchID, Before: w.now,
				Policy: w.policy, Now: w.now}))
		}, []string{"proposals_of_batch"}},
		"decide a proposal": {func() error {
			return second(s.DecideProposal(ctx, w.decisionKey(), w.decision(item, schema.DecisionApprove)))
		}, []string{"proposals_pkey", "memories_pkey"}},
		"words in languages": {func() error {
			return second(s.Analyse(ctx, "t", search.Wording{Query: "word12 caf\u00e9"})) // an accent has two forms
		}, []string{"memories_languages", "lexeme_stats_pkey"}},
		"text": {func() error { return second(s.SearchText(ctx, isolated, "word12 rare345", 150)) },
			[]string{"memories_text"}},
		"text, common": {func() error { return second(s.SearchText(ctx, isolated, "topic3 topic4 word7", 150)) },
			[]string{"memories_text"}},
		"text, shared": {func() error { return second(s.SearchText(ctx, shared, "word12 rare345", 150)) },
			[]string{"memories_text"}},
		"text, planned once": {func() error {
			for range 10 { // a large and busy tenant is a literal in the last statements
				if _, err := s.SearchText(ctx, isolated, "word12 rare345", 150); err != nil {
					return err
				}
			}
			return nil
		}, []string{"memories_text"}},
		"text, common, planned once": {func() error {
			for range 10 {
				if _, err := s.SearchText(ctx, shared, "topic3 topic4 word7", 150); err != nil {
					return err
				}
			}
			return nil
		}, []string{"memories_text"}},
		"text, important": {func() error { return second(s.SearchText(ctx, important, "word12 rare345", 150)) },
			[]string{"memories_text", "memory_access_pkey"}},
		"vector, important": {func() error {
			return second(s.SearchVector(ctx, important, *vec, 150))
		}, []string{"memory_embeddings_hash_v1_session_episodic", "memory_access_pkey"}},
		"authorize, important": {func() error {
			return second(s.Authorize(ctx, important, []uuid.UUID{id, uuid.New()}))
		}, []string{"memories_pkey", "memory_access_pkey"}},
		"list, important": {func() error { return second(s.List(ctx, important, pg.Page{})) },
			[]string{"memories_pkey", "memory_access_pkey"}},
		"vector": {func() error { return second(s.SearchVector(ctx, isolated, *vec, 150)) },
			[]string{"memory_embeddings_hash_v1_session_episodic"}},
		"vector, planned once": {func() error {
			for range 10 { // a busy tenant is a literal in the last statements
				if _, err := s.SearchVector(ctx, isolated, *vec, 150); err != nil {
					return err
				}
			}
			return nil
		}, []string{"memory_embeddings_hash_v1_session_episodic"}},
		"authorize": {func() error { return second(s.Authorize(ctx, shared, []uuid.UUID{id, uuid.New()})) },
			[]string{"memories_pkey"}},
		"hints": {func() error {
			return second(s.SearchHints(ctx, isolated, question(t, s, isolated, "where is the home of subject7"), 150))
		}, []string{"memory_hints_text", "memories_pkey"}},
		"hints, shared": {func() error {
			return second(s.SearchHints(ctx, shared, question(t, s, shared, "where is the home of subject7"), 150))
		}, []string{"memory_hints_text", "memories_pkey"}},
		"claims": {func() error {
			return second(s.SearchClaims(ctx, isolated, question(t, s, isolated, "does subject7 like tea"), 150))
		}, []string{"entity_claims_text", "memories_pkey"}},
		"hints and claims, planned once": {func() error {
			for range 10 {
				asked := question(t, s, isolated, "does subject7 like the home of subject8")
				if _, err := s.SearchHints(ctx, isolated, asked, 150); err != nil {
					return err
				}
				if _, err := s.SearchClaims(ctx, isolated, asked, 150); err != nil {
					return err
				}
			}
			return nil
		}, []string{"memory_hints_text", "entity_claims_text", "memories_pkey"}},
		"graph": {func() error {
			return second(s.SearchGraph(ctx, isolated, question(t, s, isolated, "who likes subject7"), 150))
		}, graphIndexes},
		"graph, a hub": {func() error {
			return second(s.SearchGraph(ctx, shared, question(t, s, shared, "who likes subject0"), 150))
		}, graphIndexes},
		"time": {func() error { return second(s.SearchTime(ctx, isolated, hour, 150)) },
			[]string{"memories_occurred", "memories_timeboxed"}},
		"time, shared": {func() error { return second(s.SearchTime(ctx, shared, hour, 150)) },
			[]string{"memories_occurred", "memories_timeboxed"}},
		"session turns": {func() error {
			return second(s.SessionTurns(ctx, shared, []rank.Anchor{{ID: id, Place: id, Radius: 4},
				{ID: nth(9), Place: nth(9), Radius: 1}}))
		}, []string{"memories_session"}},
		"signals": {func() error {
			return second(s.SearchSignals(ctx, isolated, []string{"error7 in part1234", "skill"}, 150))
		}, []string{"memories_signals"}},
		"signals, shared": {func() error {
			return second(s.SearchSignals(ctx, shared, []string{"error7 in part1234"}, 150))
		}, []string{"memories_signals"}},
		"solutions": {func() error {
			return second(s.Solutions(ctx, shared, []uuid.UUID{nth(200001), nth(200002)}))
		}, []string{"memories_pkey", "verdict_sources_pkey"}},
		"advice, by problem": {func() error {
			return second(s.ForProblem(ctx, shared, "error7 of part507"))
		}, []string{"memories_problem_keys"}},
		"advice, solutions": {func() error {
			return second(s.SolutionsWith(ctx, shared, []uuid.UUID{nth(200001), nth(200002)}))
		}, []string{"memories_pkey", "solution_outcomes_pkey", "memory_links_pkey"}},
		"advice, by what failed": {func() error {
			return second(s.EpisodesWith(ctx, shared, []string{"cache", "mismatch"}, ""))
		}, []string{"memories_failures"}},
		"advice, kept and reported": {func() error {
			given := advising.Advice{ID: uuid.New(), Principal: w.p,
				Offered: []advising.Offer{{ID: nth(200001).String()}}}
			if err := s.SaveAdvice(ctx, given, w.now); err != nil {
				return err
			}
			return second(s.Count(ctx, shared, given.ID, advice.Report{Used: nth(200001).String(), Outcome: "success"},
				w.now))
		}, []string{"advice_age", "advice_pkey", "memories_pkey", "solution_outcomes_pkey"}},
		"feedback on what others read": {func() error {
			recalled := search.Retrieval{ID: uuid.New(), Principal: w.p, MemoryIDs: []uuid.UUID{nth(200001)}}
			if err := s.TrackRetrieval(ctx, recalled, w.now); err != nil {
				return err
			}
			return second(s.Feedback(ctx, w.feedbackInput(recalled.ID, says(nth(200001), schema.VerdictUnused))))
		}, []string{"retrievals_pkey", "retrieval_feedback_pkey", "verdict_sources_pkey"}},
		"sources": {func() error { return second(s.Sources(ctx, shared, []uuid.UUID{nth(10), nth(11)})) },
			[]string{"memory_links_pkey"}},
		"rationale": {func() error { return second(s.Rationale(ctx, shared, []uuid.UUID{nth(10), nth(11)})) },
			[]string{"memory_links_pkey", "memory_links_target"}},
		"artifacts": {func() error { return second(s.Artifacts(ctx, shared, []uuid.UUID{nth(10), nth(11)})) }, nil},
		"session notes": {func() error { return second(s.SessionNotes(ctx, shared, []uuid.UUID{nth(7), nth(400)})) },
			[]string{"memories_session_learned", "memories_pkey"}},
		"records by id": {func() error { return second(s.Records(ctx, shared, []uuid.UUID{nth(7), nth(8)})) },
			[]string{"memories_pkey", "memory_history_of"}},
		"payloads": {func() error { return second(s.Payloads(ctx, shared, []uuid.UUID{nth(7), nth(8)})) },
			[]string{"memories_pkey"}},
		"artifacts by words": {func() error {
			return second(s.SearchArtifacts(ctx, shared, []string{"rare7", "word1"}, 10))
		}, []string{"artifacts_words"}},
		"cards": {func() error {
			return second(s.Cards(ctx, isolated, []uuid.UUID{nth(10), nth(11), nth(12)}, 6))
		}, []string{"entity_claims_lookup", "memory_entity_mentions_pkey"}},
		"rescue": {func() error { return second(s.RescueText(ctx, isolated, []string{"rare3", "word9"}, 10)) },
			[]string{"memories_text"}},
		"hydrate": {func() error { return second(s.Hydrate(ctx, shared, []uuid.UUID{id, uuid.New()}, w.now)) },
			[]string{"memories_pkey"}},
		"get": {func() error { return second(s.Get(ctx, w.p, id)) }, []string{"memories_pkey"}},
		"list": {func() error { return second(s.List(ctx, isolated, pg.Page{})) },
			[]string{"memories_pkey"}},
		"list, next page": {func() error { return second(s.List(ctx, shared, pg.Page{Before: id.String()})) },
			[]string{"memories_pkey"}},
		"history": {func() error {
			return second(s.HistoryAt(ctx, schema.Principal{Tenant: "t", Agent: "a"}, id, read.HistoryPage{}))
		}, []string{"memory_history_of"}},
		"history, next": {func() error {
			return second(s.HistoryAt(ctx, w.p, id, read.HistoryPage{After: id.String(), Limit: 5}))
		}, []string{"memory_history_of"}},
		"get, as of": {func() error { return second(s.GetAsOf(ctx, w.p, id, then)) },
			[]string{"memories_pkey", "memory_versions_pkey"}},
		"list, as of": {func() error { return second(s.List(ctx, past, pg.Page{Before: id.String()})) },
			[]string{"memories_pkey", "memory_versions_pkey"}},
		"text, in a context": {func() error {
			f := isolated
			f.Context, f.At = past.Context, then
			return second(s.SearchText(ctx, f, "word12 rare345", 150))
		}, []string{"memories_text"}},
		"lineage": {func() error { return second(s.Lineage(ctx, w.p, id, 6)) },
			[]string{"memory_links_pkey", "memory_links_target", "memories_superseded_by"}},
		"export": {func() error {
			first := errors.New("one page is enough")
			_, err := s.Export(ctx, transfer.ExportSelection{Filter: isolated}, w.now,
				func(line transfer.ExportLine) error {
					if line.Kind == transfer.LineMemory {
						return first
					}
					return nil
				})
			if errors.Is(err, first) {
				return nil
			}
			return err
		}, []string{"memories_pkey", "memory_history_of", "memory_versions_pkey"}},
		"outbox": {func() error { return second(s.Outbox(ctx, "t", hash, nil, 500)) },
			[]string{"index_outbox_open"}},
		"outbox of some": {func() error { return second(s.Outbox(ctx, "t", hash, []uuid.UUID{id}, 500)) },
			[]string{"index_outbox_of_memory"}},
		"jobs": {func() error { return second(s.Jobs(ctx, "t", pipeline.JobFilter{})) },
			[]string{"jobs_pkey"}},
		"jobs by state": {func() error { return second(s.Jobs(ctx, "t", pipeline.JobFilter{State: schema.JobDead})) },
			[]string{"jobs_by_state"}},
		"jobs of a batch": {func() error { return second(s.Jobs(ctx, "t", pipeline.JobFilter{BatchID: r.BatchID})) },
			[]string{"jobs_of_batch"}},
		"neighbors": {func() error {
			return second(s.Neighbors(ctx, w.p,
				[]search.NeighborQuery{{Fact: claim, Embedding: vec}, {Fact: fact("word9 rare90"), Embedding: vec}}))
		}, []string{"memories_live_hash", "memories_text", "entity_claims_lookup",
			"memory_embeddings_hash_v1_persistent_semantic"}},
		"neighbors, by attribute": {func() error { // no memory has the fact's own words
			found, err := s.Neighbors(ctx, w.p, []search.NeighborQuery{{Fact: fact("I moved to Antwerp.")}})
			require.Equal(t, [][]string{{ghent.String()}}, [][]string{ids(found[0])})
			return err
		}, []string{"memories_text"}},
		"stage": {func() error {
			return second(s.Stage(ctx, w.input(say("something new", "word8 met word8 about topic8 and rare8")...)))
		}, []string{"memories_live_hash"}},
		"lease extract": {func() error { return second(s.LeaseExtract(ctx, r, w.now)) }, nil},
		"lease decide":  {func() error { return second(s.LeaseDecide(ctx, r, w.now)) }, nil},
		"write": {func() error {
			return second(s.Write(ctx, pipeline.WriteInput{Range: r, MaxRounds: 3, Now: w.now}))
		}, nil},
		"write a claim": {func() error {
			return second(s.Write(ctx, pipeline.WriteInput{Range: adding, MaxRounds: 3, Now: w.now}))
		}, []string{"memories_active_fact", "memories_pkey"}},
		"unembedded": {func() error { return second(s.Unembedded(ctx, r, hash)) }, nil},
		"link":       {func() error { return second(s.Link(ctx, r, w.now)) }, nil},
		"batch":      {func() error { return second(s.BatchMemories(ctx, r)) }, nil},
		"begin a sweep": {func() error { return second(s.BeginSweep(ctx, "t", schema.SweepDecay, 1, time.Now())) },
			[]string{"memories_decay_due"}},
		"decay": {func() error {
			return second(s.DecayBatch(ctx, sweeping.DecayInput{Tenant: "t", Run: "plan", Until: time.Now(), Limit: 500,
				Now: time.Now()}))
		}, []string{"memories_decay_due", "memories_pkey"}},
		"decay, outlook": {func() error { return second(s.DecayOutlook(ctx, "t", time.Now())) },
			[]string{"memories_decay_due"}},
		"begin a purge": {func() error { return second(s.BeginSweep(ctx, "t", schema.SweepRetention, 1, time.Now())) },
			[]string{"memories_tombstones"}},
		"purge":          {func() error { return purges(s, lifecycle.PurgeExpire) }, []string{"memories_tombstones"}},
		"purge, links":   {func() error { return purges(s, lifecycle.PurgeGraphLinks) }, []string{"memories_purging"}},
		"purge, vectors": {func() error { return purges(s, lifecycle.PurgeEmbeddings) }, []string{"memories_purging"}},
		"purge, rows": {func() error { // copies of the pipeline, dependents, the rows
			for {
				b, err := s.Purge(ctx, purge(lifecycle.PurgeTombstones))
				if err != nil || !b.More {
					return err
				}
			}
		}, []string{"memories_purging", "memory_versions_pkey", "memory_links_pkey", "memory_links_target",
			"memory_provenance_pkey", "memory_hints_pkey",
			"memory_candidates_of_memory", "proposals_of_memory", "proposals_of_target"}},
		"purge, jobs":    {func() error { return purges(s, lifecycle.PurgeJobsDead) }, []string{"jobs_finished"}},
		"purge, recalls": {func() error { return purges(s, lifecycle.PurgeRetrievals) }, []string{"retrievals_age"}},
		"purge, ingest":  {func() error { return purges(s, lifecycle.PurgeIngest) }, []string{"ingest_batches_age"}},
		"purge, forgets": {func() error { return purges(s, lifecycle.PurgeForgetRuns) },
			[]string{"forget_echoes_pkey"}},
		"purge, keys": {func() error { return purges(s, lifecycle.PurgeOperations) }, []string{"operations_age"}},
		"purge, versions": {func() error { return purges(s, lifecycle.PurgeVersions) },
			[]string{"memory_versions_age"}},
		"purge, preview": {func() error { return second(s.PreviewPurge(ctx, "t", 1, time.Now())) },
			[]string{"memories_tombstones", "memory_history_age", "jobs_finished"}},
		"track": {func() error {
			return s.TrackRetrieval(ctx, search.Retrieval{ID: uuid.New(), Principal: w.p,
				MemoryIDs: []uuid.UUID{id}}, w.now)
		}, []string{"memories_pkey"}},
	}
	for _, name := range slices.Sorted(maps.Keys(cases)) { // in this order forgets run before purges, which need them
		c := cases[name]
		t.Run(name, func(t *testing.T) {
			sent, err := listen.of(c.run)
			require.NoError(t, err)
			var plans strings.Builder
			generic := false
			for _, st := range sent {
				if strings.Contains(st.sql, "'plan_cache_mode'") {
					generic = fmt.Sprint(st.args[len(st.args)-1]) == "force_generic_plan"
					continue
				}
				verb := strings.Fields(strings.TrimLeft(st.sql, "( \t\n"))[0]
				switch strings.ToUpper(verb) {
				case "SELECT", "INSERT", "UPDATE", "DELETE", "WITH":
				default:
					continue
				}
				plan := explain(t, s, st, generic)
				for _, table := range big {
					for line := range strings.Lines(plan) {
						require.False(t, strings.Contains(line, "Seq Scan on "+table+" "),
							"sequential scan of %s:\n%s\n%s", table, st.sql, plan)
					}
				}
				plans.WriteString(plan)
			}
			for _, index := range c.want {
				require.Contains(t, plans.String(), index)
			}
		})
	}
}
