-- Statistics that no plan uses are not made, and tables whose rows are changed over and over are analysed when they
-- have grown: analysing them took a twelfth of the time that Postgres spent on a batch.

-- +goose Up

-- Columns that no condition compares. Vectors are sorted to be counted, as are the values of the vector indexes.
ALTER TABLE memories
    ALTER COLUMN content SET STATISTICS 0,
    ALTER COLUMN normalized_content SET STATISTICS 0,
    ALTER COLUMN payload SET STATISTICS 0,
    ALTER COLUMN object SET STATISTICS 0;
ALTER TABLE memory_embeddings ALTER COLUMN embedding SET STATISTICS 0;
ALTER INDEX memory_embeddings_hash_v1_session_episodic ALTER COLUMN 1 SET STATISTICS 0;
ALTER INDEX memory_embeddings_hash_v1_interaction_episodic ALTER COLUMN 1 SET STATISTICS 0;
ALTER INDEX memory_embeddings_hash_v1_persistent_semantic ALTER COLUMN 1 SET STATISTICS 0;
ALTER INDEX memory_embeddings_hash_v1_persistent_procedural ALTER COLUMN 1 SET STATISTICS 0;
ALTER INDEX memory_embeddings_hash_v1_brief_learned ALTER COLUMN 1 SET STATISTICS 0;
ALTER TABLE memory_candidates
    ALTER COLUMN content SET STATISTICS 0,
    ALTER COLUMN refs SET STATISTICS 0,
    ALTER COLUMN extraction SET STATISTICS 0;
ALTER TABLE proposals
    ALTER COLUMN fact SET STATISTICS 0,
    ALTER COLUMN offered SET STATISTICS 0,
    ALTER COLUMN reason SET STATISTICS 0,
    ALTER COLUMN warnings SET STATISTICS 0,
    ALTER COLUMN embedding SET STATISTICS 0;

-- A row that goes through the pipeline is changed several times. So it is growth that counts, and changes only where
-- they are more than twice the rows.
-- +goose StatementBegin
CREATE OR REPLACE FUNCTION mneme_refresh_statistics() RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    AS $$
DECLARE
    t text;
BEGIN
    FOREACH t IN ARRAY ARRAY['memories', 'memory_embeddings', 'memory_candidates', 'proposals', 'lexeme_stats', 'jobs',
            'memory_hints', 'memory_links', 'entity_claims', 'entities', 'entity_relations', 'index_outbox'] LOOP
        IF EXISTS (
            SELECT FROM pg_class c JOIN pg_stat_all_tables s ON s.relid = c.oid
            WHERE c.oid = t::regclass AND (
                s.n_mod_since_analyze >= 200
                    AND (s.n_live_tup > c.reltuples * 1.5 OR s.n_mod_since_analyze > c.reltuples * 2)
                OR pg_relation_size(c.oid) / current_setting('block_size')::int > c.relpages * 1.5 + 20)
        ) AND pg_try_advisory_xact_lock(hashtextextended('mneme.analyze.' || current_schema() || t, 0)) THEN
            EXECUTE format('ANALYZE %I', t);
        END IF;
    END LOOP;
END $$;
-- +goose StatementEnd
CALL mneme_protect_function('mneme_refresh_statistics()');

-- +goose Down
SELECT 1;
