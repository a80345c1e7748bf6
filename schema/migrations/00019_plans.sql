-- Indexes that leave the planner one plan for what names its rows by their keys, whatever its statistics say.
--
-- Of a tenant that came after the last look at a table the planner thinks that it has one row. Then every index that
-- begins with the tenant looks as good as the one that has the whole key, and the newest is taken: it reads all that
-- the tenant has, for each row that is asked for, also for each reference that is checked. So of the indexes of a
-- table that rows are looked up in by key, the key alone begins with the tenant. The others begin with their own
-- column and have the tenant behind it.

-- +goose Up

ALTER TABLE entities DROP CONSTRAINT entities_tenant_canonical_name_key;
ALTER TABLE entities ADD CONSTRAINT entities_tenant_canonical_name_key UNIQUE (canonical_name, tenant);
DROP INDEX memory_relations_target;
CREATE INDEX memory_relations_target ON memory_relations (target_id, tenant, predicate);
DROP INDEX memory_candidates_of_memory;
CREATE INDEX memory_candidates_of_memory ON memory_candidates (memory_id, tenant);
ALTER TABLE memory_candidates DROP CONSTRAINT memory_candidates_tenant_batch_id_ordinal_key;
ALTER TABLE memory_candidates ADD CONSTRAINT memory_candidates_tenant_batch_id_ordinal_key UNIQUE (batch_id, tenant, ordinal);
DROP INDEX proposals_of_batch;
CREATE INDEX proposals_of_batch ON proposals (batch_id, tenant, state);
ALTER TABLE proposals DROP CONSTRAINT proposals_tenant_candidate_id_ordinal_key;
ALTER TABLE proposals ADD CONSTRAINT proposals_tenant_candidate_id_ordinal_key UNIQUE (candidate_id, tenant, ordinal);
DROP INDEX index_outbox_of_memory;
CREATE INDEX index_outbox_of_memory ON index_outbox (memory_id, tenant, seq);
DROP INDEX jobs_of_batch;
CREATE INDEX jobs_of_batch ON jobs (batch_id, tenant, id);
-- What a call of a model costs, and what fails, is noted on the job of a candidate.
CREATE INDEX jobs_of_candidate ON jobs (candidate_id, tenant);

-- The neighbour search takes the newest claims of a subject and predicate. With the time in the index it reads as many
-- as it takes; without, it reads and sorts all of them.
DROP INDEX entity_claims_lookup;
CREATE INDEX entity_claims_lookup ON entity_claims (tenant, subject_key, predicate, created_at DESC);

-- What searches full text: no other index has the condition of memory_text, so that no plan can read all of a
-- tenant's memories for each question. memory_search, whose condition any index of memories can serve, is for rows
-- that are known by their ids.
DROP INDEX memories_text;
CREATE INDEX memories_text ON memories USING gin ((tenant || ''), tsv) WITH (gin_pending_list_limit = 256) WHERE live;
CREATE VIEW memory_text AS
    SELECT tenant, id, tsv, agent_id, project, scope, visibility, policy_group, type, category, tags, who, pinned,
           importance, sensitivity, occurred_at, validity, valid_from, valid_until, live, conditions, confidence, created_at
    FROM memories
    WHERE tenant || '' = (SELECT mneme_tenant());
GRANT SELECT ON memory_text TO mneme_app;

-- Fresh statistics when a table has grown by half. What was counted of its changes is lost when the server crashes;
-- how large its file is stays true.
-- +goose StatementBegin
CREATE OR REPLACE FUNCTION mneme_refresh_statistics() RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT
    AS $$
DECLARE
    t text;
BEGIN
    FOREACH t IN ARRAY ARRAY['memories', 'memory_embeddings', 'memory_candidates', 'proposals', 'lexeme_stats', 'jobs', 'memory_hints', 'memory_relations',
            'entity_claims', 'entities', 'entity_relations', 'index_outbox'] LOOP
        IF EXISTS (
            SELECT FROM pg_class c JOIN pg_stat_all_tables s ON s.relid = c.oid
            WHERE c.oid = t::regclass AND (s.n_mod_since_analyze >= 200 AND s.n_mod_since_analyze > c.reltuples * 0.5
                OR pg_relation_size(c.oid) / current_setting('block_size')::int > c.relpages * 1.5 + 20)
        ) AND pg_try_advisory_xact_lock(hashtextextended('mneme.analyze.' || current_schema() || t, 0)) THEN
            EXECUTE format('ANALYZE %I', t);
        END IF;
    END LOOP;
END $$;
-- +goose StatementEnd

-- A replaced function has the search path of whoever replaced it: see 00006_revision.sql.
-- +goose StatementBegin
DO $$ BEGIN
    EXECUTE format('ALTER FUNCTION mneme_refresh_statistics() SET search_path = %I, pg_temp', current_schema());
END $$;
-- +goose StatementEnd

-- +goose Down
SELECT 1;
