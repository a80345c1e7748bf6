-- Who may do what: row-level security on the tenant, and the application's grants.

-- +goose Up
-- +goose StatementBegin
DO $$
DECLARE
    t text;
BEGIN
    FOREACH t IN ARRAY ARRAY[
        'memories', 'memory_access', 'memory_embeddings', 'memory_relations', 'memory_provenance',
        'memory_history', 'events', 'lexeme_stats', 'corpus_stats',
        'ingest_batches', 'memory_candidates', 'proposals', 'jobs', 'operations', 'index_outbox', 'retrievals',
        'entities', 'entity_relations', 'memory_entity_mentions', 'entity_claims']
    LOOP
        EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', t);
        -- The sub-select is evaluated once a statement, not once a row.
        EXECUTE format('CREATE POLICY tenant_only ON %I USING (tenant = (SELECT mneme_tenant())) WITH CHECK (tenant = (SELECT mneme_tenant()))', t);
        EXECUTE format('GRANT SELECT, INSERT, UPDATE, DELETE ON %I TO mneme_app', t);
    END LOOP;
    -- The role of an append-only table cannot even try.
    REVOKE UPDATE, DELETE ON memory_history, events FROM mneme_app;
END $$;
-- +goose StatementEnd

-- What the full-text channel reads: ids and lexemes, no content. Under row-level security Postgres
-- will not use an index for an operator that is not leakproof, and @@ is not; a view owned by the
-- migrator, with the same tenant condition built in, lets the planner use the GIN index.
CREATE VIEW memory_search AS
    SELECT tenant, id, tsv, agent_id, project, scope, visibility, policy_group, type, category, tags, who, pinned,
           importance, sensitivity, occurred_at, validity, valid_from, valid_until, live
    FROM memories
    WHERE tenant = (SELECT mneme_tenant());
GRANT SELECT ON memory_search TO mneme_app;

-- Tenants with work waiting in the outbox. The one place where the application sees across tenants:
-- names of tenants, nothing of theirs.
-- +goose StatementBegin
CREATE FUNCTION mneme_outbox_tenants() RETURNS SETOF text
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path FROM CURRENT
    AS $$
    -- A loose index scan: one probe a tenant, however long its queue.
    WITH RECURSIVE t AS (
        (SELECT tenant FROM index_outbox ORDER BY tenant LIMIT 1)
        UNION ALL
        SELECT (SELECT o.tenant FROM index_outbox o WHERE o.tenant > t.tenant ORDER BY o.tenant LIMIT 1) FROM t WHERE t.tenant IS NOT NULL
    )
    SELECT tenant FROM t WHERE tenant IS NOT NULL;
    $$;
-- +goose StatementEnd
REVOKE EXECUTE ON FUNCTION mneme_outbox_tenants() FROM PUBLIC;
GRANT EXECUTE ON FUNCTION mneme_outbox_tenants() TO mneme_app;

-- Fresh statistics for the planner when a table has grown by half. Autovacuum looks once a minute;
-- a first import fills the tables in less, and until then every plan is a guess. One caller at a
-- time; the others go on.
-- +goose StatementBegin
CREATE FUNCTION mneme_refresh_statistics() RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT
    AS $$
DECLARE
    t text;
BEGIN
    FOREACH t IN ARRAY ARRAY['memories', 'memory_embeddings', 'memory_candidates', 'proposals', 'lexeme_stats', 'jobs'] LOOP
        IF EXISTS (
            SELECT FROM pg_class c JOIN pg_stat_all_tables s ON s.relid = c.oid
            WHERE c.oid = t::regclass AND s.n_mod_since_analyze >= 200 AND s.n_mod_since_analyze > c.reltuples * 0.5
        ) AND pg_try_advisory_xact_lock(hashtextextended('mneme.analyze.' || current_schema() || t, 0)) THEN
            EXECUTE format('ANALYZE %I', t);
        END IF;
    END LOOP;
END $$;
-- +goose StatementEnd
REVOKE EXECUTE ON FUNCTION mneme_refresh_statistics() FROM PUBLIC;
GRANT EXECUTE ON FUNCTION mneme_refresh_statistics() TO mneme_app;

-- So that the application can tell whether the schema is as new as itself.
GRANT SELECT ON goose_db_version TO mneme_app;

-- +goose Down
SELECT 1;
