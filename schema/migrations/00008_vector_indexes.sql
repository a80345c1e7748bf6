-- Vector indexes: generations, indexes for any embedding model, an outbox that poison does not block.

-- +goose Up

-- One build of the advisory vector index: which model's vectors it holds. It is of the installation, not
-- of a tenant, and holds nothing of theirs. At most one is searched, at most one is being built; one that
-- is retired waits to be dropped, and is told what is deleted until then.
CREATE TABLE index_generations (
    id           uuid        PRIMARY KEY,
    index_name   text        NOT NULL CHECK (index_name <> ''),
    model        text        NOT NULL CHECK (model ~ '^[A-Za-z0-9][A-Za-z0-9._:/@+-]{0,127}$'),
    dims         integer     NOT NULL CHECK (dims BETWEEN 1 AND 16000),
    state        text        NOT NULL CHECK (state IN ('building', 'active', 'retired')),
    created_at   timestamptz NOT NULL,
    activated_at timestamptz,
    retired_at   timestamptz
);
CREATE UNIQUE INDEX index_generations_one ON index_generations (index_name, state) WHERE state IN ('building', 'active');
GRANT SELECT, INSERT, UPDATE, DELETE ON index_generations TO mneme_app;

-- A change that the index cannot be told waits longer each time, and is put aside when it has been tried
-- often enough: it stays to be seen, and blocks nothing.
ALTER TABLE index_outbox
    ADD COLUMN retry_at   timestamptz,                 -- NULL: at once
    ADD COLUMN parked_at  timestamptz,                 -- NULL: it is still tried
    ADD COLUMN last_error text NOT NULL DEFAULT '';    -- never content
CREATE INDEX index_outbox_open ON index_outbox (tenant, seq) WHERE parked_at IS NULL;
CREATE INDEX index_outbox_parked ON index_outbox (tenant, memory_id) WHERE parked_at IS NOT NULL;

-- Tenants with changes that are due. What is parked or waits calls nobody.
-- +goose StatementBegin
CREATE OR REPLACE FUNCTION mneme_outbox_tenants() RETURNS SETOF text
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path FROM CURRENT
    AS $$
    -- A loose index scan: one probe a tenant, however long its queue.
    WITH RECURSIVE t AS (
        (SELECT tenant FROM index_outbox WHERE parked_at IS NULL ORDER BY tenant LIMIT 1)
        UNION ALL
        SELECT (SELECT o.tenant FROM index_outbox o WHERE o.parked_at IS NULL AND o.tenant > t.tenant ORDER BY o.tenant LIMIT 1) FROM t WHERE t.tenant IS NOT NULL
    )
    SELECT tenant FROM t WHERE tenant IS NOT NULL;
    $$;
-- +goose StatementEnd

-- How far the index is behind, over all tenants: counts and a time, nothing of theirs.
-- +goose StatementBegin
CREATE FUNCTION mneme_outbox_lag() RETURNS TABLE (pending bigint, parked bigint, oldest timestamptz)
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path FROM CURRENT
    AS $$
    SELECT count(*) FILTER (WHERE parked_at IS NULL), count(*) FILTER (WHERE parked_at IS NOT NULL), min(created_at) FILTER (WHERE parked_at IS NULL)
    FROM index_outbox;
    $$;
-- +goose StatementEnd

-- Tenants that have memories, by name, a page at a time: what a rebuild and a check of the index go through.
-- +goose StatementBegin
CREATE FUNCTION mneme_memory_tenants(behind text, page integer) RETURNS SETOF text
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path FROM CURRENT
    AS $$
    WITH RECURSIVE t AS (
        (SELECT tenant, 1 AS n FROM memories WHERE tenant > behind ORDER BY tenant LIMIT 1)
        UNION ALL
        SELECT (SELECT m.tenant FROM memories m WHERE m.tenant > t.tenant ORDER BY m.tenant LIMIT 1), t.n + 1 FROM t WHERE t.tenant IS NOT NULL AND t.n < page
    )
    SELECT tenant FROM t WHERE tenant IS NOT NULL;
    $$;
-- +goose StatementEnd

-- How many live memories there are, over all tenants, for the progress of a rebuild.
-- +goose StatementBegin
CREATE FUNCTION mneme_live_total() RETURNS bigint
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path FROM CURRENT
    AS $$
    SELECT count(*) FROM memories WHERE live;
    $$;
-- +goose StatementEnd

-- The name of the index of a model's class. Names of models are longer than a name may be.
-- +goose StatementBegin
CREATE FUNCTION mneme_vector_index_name(model text, dims integer, tier text, typology text) RETURNS text
    LANGUAGE sql IMMUTABLE
    RETURN CASE WHEN model = 'hash-v1' AND dims = 384 THEN 'memory_embeddings_hash_v1_' || tier || '_' || typology
        ELSE 'memory_embeddings_' || left(encode(sha256(convert_to(dims || ':' || model, 'UTF8')), 'hex'), 16) || '_' || tier || '_' || typology END;
-- +goose StatementEnd

-- Makes the partial HNSW index of one class of an embedding model, or builds it anew beside the one that
-- stands, which is searched until the new one takes its name. The application's role has no rights to
-- change tables: this is the one change that it may ask for, and of the arguments nothing but a model's
-- name, a number and one of four classes gets through. Writers of embeddings wait while it builds; readers
-- do not. Returns whether it built anything.
-- +goose StatementBegin
CREATE FUNCTION mneme_build_vector_index(model text, dims integer, tier text, typology text, anew boolean) RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT
    AS $$
DECLARE
    wanted   text := mneme_vector_index_name(model, dims, tier, typology);
    building text := wanted || '_b';
    place    text := current_schema();
    vectors  text := (SELECT n.nspname FROM pg_extension e JOIN pg_namespace n ON n.oid = e.extnamespace WHERE e.extname = 'vector');
    standing boolean;
BEGIN
    IF model IS NULL OR model !~ '^[A-Za-z0-9][A-Za-z0-9._:/@+-]{0,127}$' THEN
        RAISE EXCEPTION 'not the name of an embedding model' USING ERRCODE = 'invalid_parameter_value';
    END IF;
    IF dims IS NULL OR dims NOT BETWEEN 1 AND 4000 THEN -- as many as an index of half-precision vectors can hold
        RAISE EXCEPTION 'vectors of % dimensions cannot be indexed', dims USING ERRCODE = 'invalid_parameter_value';
    END IF;
    IF (tier, typology) NOT IN (('session', 'episodic'), ('interaction', 'episodic'), ('persistent', 'semantic'), ('persistent', 'procedural')) THEN
        RAISE EXCEPTION 'no such class of memories' USING ERRCODE = 'invalid_parameter_value';
    END IF;
    -- Whoever waits long for the table has everybody wait who comes after; building may take as long as it takes.
    PERFORM set_config('lock_timeout', '20s', true), set_config('statement_timeout', '0', true);
    -- One builder at a time: the second finds what the first has made.
    PERFORM pg_advisory_xact_lock(hashtextextended('mneme.vector.' || place || wanted, 0));
    standing := EXISTS (SELECT FROM pg_class WHERE relnamespace = place::regnamespace AND relname = wanted AND relkind = 'i');
    IF standing AND NOT coalesce(anew, false) THEN
        RETURN false;
    END IF;
    -- The dimensions stand in the condition, so that vectors of another length under the same name are
    -- left out instead of being refused.
    EXECUTE format('CREATE INDEX %I ON %I.memory_embeddings USING hnsw ((embedding::%I.halfvec(%s)) %I.halfvec_cosine_ops) WITH (m = 8, ef_construction = 32)
        WHERE model = %L AND dims = %s AND tier = %L AND typology = %L', building, place, vectors, dims, vectors, model, dims, tier, typology);
    IF standing THEN
        EXECUTE format('DROP INDEX %I.%I', place, wanted);
    END IF;
    EXECUTE format('ALTER INDEX %I.%I RENAME TO %I', place, building, wanted);
    RETURN true;
END $$;
-- +goose StatementEnd

-- +goose StatementBegin
DO $$
DECLARE
    f regprocedure;
BEGIN
    FOREACH f IN ARRAY ARRAY['mneme_outbox_tenants()', 'mneme_outbox_lag()', 'mneme_memory_tenants(text, integer)', 'mneme_live_total()',
        'mneme_build_vector_index(text, integer, text, text, boolean)']::regprocedure[]
    LOOP
        EXECUTE format('REVOKE EXECUTE ON FUNCTION %s FROM PUBLIC', f);
        EXECUTE format('GRANT EXECUTE ON FUNCTION %s TO mneme_app', f);
        -- As in migration 6: a caller's temporary tables stand in for none.
        EXECUTE format('ALTER FUNCTION %s SET search_path = %I, pg_temp', f, current_schema());
    END LOOP;
END $$;
-- +goose StatementEnd

-- +goose Down
SELECT 1;
