-- Vectors: the embeddings of memories, their indexes in Postgres, and the builds of the advisory vector index.

-- +goose Up

CREATE TABLE memory_embeddings (
    tenant     text        NOT NULL,
    id         uuid        NOT NULL,
    memory_id  uuid        NOT NULL,
    model      text        NOT NULL,
    dims       integer     NOT NULL,
    embedding  vector      NOT NULL,
    -- repeated, so that the partial HNSW indexes can select on them
    tier       text        NOT NULL CHECK (tier IN ('interaction', 'session', 'persistent')),
    typology   text        NOT NULL CHECK (typology IN ('episodic', 'semantic', 'procedural')),
    content_hash bytea     NOT NULL,
    created_at timestamptz NOT NULL,
    PRIMARY KEY (tenant, memory_id, model),
    CONSTRAINT memory_embeddings_dims_of_vector CHECK (dims = vector_dims(embedding)),
    -- No cascade: a purge removes embeddings before memories (document 002 "Retention Worker").
    FOREIGN KEY (tenant, memory_id) REFERENCES memories (tenant, id)
);
COMMENT ON TABLE memory_embeddings IS
    'The vector of a memory by one embedding model, from which the advisory index can be rebuilt.';
CALL mneme_protect_table('memory_embeddings');

-- One index for each class of memories and embedding model. The parameters give up a little recall of an approximate,
-- advisory channel for writes that keep up with batch ingestion (docs/reference/benchmarks.md). These are of the model
-- that is always there; the function below makes those of other models.
CREATE INDEX memory_embeddings_hash_v1_session_episodic ON memory_embeddings
    USING hnsw ((embedding::halfvec(384)) halfvec_cosine_ops) WITH (m = 8, ef_construction = 32)
    WHERE model = 'hash-v1' AND tier = 'session' AND typology = 'episodic';
CREATE INDEX memory_embeddings_hash_v1_interaction_episodic ON memory_embeddings
    USING hnsw ((embedding::halfvec(384)) halfvec_cosine_ops) WITH (m = 8, ef_construction = 32)
    WHERE model = 'hash-v1' AND tier = 'interaction' AND typology = 'episodic';
CREATE INDEX memory_embeddings_hash_v1_persistent_semantic ON memory_embeddings
    USING hnsw ((embedding::halfvec(384)) halfvec_cosine_ops) WITH (m = 8, ef_construction = 32)
    WHERE model = 'hash-v1' AND tier = 'persistent' AND typology = 'semantic';
CREATE INDEX memory_embeddings_hash_v1_persistent_procedural ON memory_embeddings
    USING hnsw ((embedding::halfvec(384)) halfvec_cosine_ops) WITH (m = 8, ef_construction = 32)
    WHERE model = 'hash-v1' AND tier = 'persistent' AND typology = 'procedural';
-- Facts and procedures that are kept for an interaction or a session only. They are few, and every index is one more
-- search for each question: the four classes share an index, named brief and learned.
CREATE INDEX memory_embeddings_hash_v1_brief_learned ON memory_embeddings
    USING hnsw ((embedding::halfvec(384)) halfvec_cosine_ops) WITH (m = 8, ef_construction = 32)
    WHERE model = 'hash-v1' AND dims = 384
        AND tier IN ('interaction', 'session') AND typology IN ('semantic', 'procedural');

-- The name of the index of one class of a model. Names of models may be longer than names of indexes.
-- +goose StatementBegin
CREATE FUNCTION mneme_vector_index_name(model text, dims integer, tier text, typology text) RETURNS text
    LANGUAGE sql IMMUTABLE
    RETURN CASE WHEN model = 'hash-v1' AND dims = 384 THEN 'memory_embeddings_hash_v1_' || tier || '_' || typology
        ELSE 'memory_embeddings_' || left(encode(sha256(convert_to(dims || ':' || model, 'UTF8')), 'hex'), 16)
            || '_' || tier || '_' || typology END;
-- +goose StatementEnd

-- Makes the partial HNSW index of one class of an embedding model, or builds it again next to the present one, which is
-- searched until the new one takes its name. The application's role may not change tables: this is the one change that
-- it may ask for, and of the arguments nothing but a model's name, a number and one of five classes gets through.
-- Writers of embeddings wait while it builds, readers do not. Returns whether it built anything.
-- +goose StatementBegin
CREATE FUNCTION mneme_build_vector_index(model text, dims integer, tier text, typology text, rebuild boolean)
    RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER
    AS $$
DECLARE
    wanted   text := mneme_vector_index_name(model, dims, tier, typology);
    building text := wanted || '_b';
    place    text := current_schema();
    vectors  text := (SELECT n.nspname FROM pg_extension e JOIN pg_namespace n ON n.oid = e.extnamespace
        WHERE e.extname = 'vector');
    standing boolean;
    class    text := CASE WHEN tier = 'brief'
        THEN 'tier IN (''interaction'', ''session'') AND typology IN (''semantic'', ''procedural'')'
        ELSE format('tier = %L AND typology = %L', tier, typology) END;
BEGIN
    IF model IS NULL OR model !~ '^[A-Za-z0-9][A-Za-z0-9._:/@+-]{0,127}$' THEN
        RAISE EXCEPTION 'not the name of an embedding model' USING ERRCODE = 'invalid_parameter_value';
    END IF;
    IF dims IS NULL OR dims NOT BETWEEN 1 AND 4000 THEN -- the most that an index of half-precision vectors can hold
        RAISE EXCEPTION 'vectors of % dimensions cannot be indexed', dims USING ERRCODE = 'invalid_parameter_value';
    END IF;
    IF (tier, typology) NOT IN (('session', 'episodic'), ('interaction', 'episodic'), ('persistent', 'semantic'),
        ('persistent', 'procedural'), ('brief', 'learned')) THEN
        RAISE EXCEPTION 'no such class of memories' USING ERRCODE = 'invalid_parameter_value';
    END IF;
    -- While this waits for the table, everyone who comes after waits too, so it waits a short time only. The build
    -- itself has no limit.
    PERFORM set_config('lock_timeout', '20s', true), set_config('statement_timeout', '0', true);
    -- One builder at a time: the second finds what the first has made.
    PERFORM pg_advisory_xact_lock(hashtextextended('mneme.vector.' || place || wanted, 0));
    standing := EXISTS (SELECT FROM pg_class
        WHERE relnamespace = place::regnamespace AND relname = wanted AND relkind = 'i');
    IF standing AND NOT coalesce(rebuild, false) THEN
        RETURN false;
    END IF;
    -- The dimensions are in the condition, so that vectors of another length under the same name are left out instead
    -- of being refused.
    EXECUTE format('CREATE INDEX %I ON %I.memory_embeddings
        USING hnsw ((embedding::%I.halfvec(%s)) %I.halfvec_cosine_ops) WITH (m = 8, ef_construction = 32)
        WHERE model = %L AND dims = %s AND %s', building, place, vectors, dims, vectors, model, dims, class);
    IF standing THEN
        EXECUTE format('DROP INDEX %I.%I', place, wanted);
    END IF;
    EXECUTE format('ALTER INDEX %I.%I RENAME TO %I', place, building, wanted);
    RETURN true;
END $$;
-- +goose StatementEnd
CALL mneme_protect_function('mneme_build_vector_index(text, integer, text, text, boolean)');

-- ---- builds of the advisory index --------------------------------------------------------------

-- It belongs to the installation, not to a tenant, and holds nothing of a tenant's. At most one generation is searched
-- and at most one is being built. A retired one waits to be dropped, and is told of deletions until then.
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
COMMENT ON TABLE index_generations IS
    'One build of the advisory vector index: which model''s vectors it holds, and whether it is searched.';
GRANT SELECT, INSERT, UPDATE, DELETE ON index_generations TO mneme_app;
CREATE UNIQUE INDEX index_generations_one ON index_generations (index_name, state)
    WHERE state IN ('building', 'active');

-- The names of tenants that have memories, in order, a page at a time: a rebuild and a check of the index go through
-- them.
-- +goose StatementBegin
CREATE FUNCTION mneme_memory_tenants(after text, page integer) RETURNS SETOF text
    LANGUAGE sql STABLE SECURITY DEFINER
    AS $$
    WITH RECURSIVE t AS (
        (SELECT tenant, 1 AS n FROM memories WHERE tenant > after ORDER BY tenant LIMIT 1)
        UNION ALL
        SELECT (SELECT m.tenant FROM memories m WHERE m.tenant > t.tenant ORDER BY m.tenant LIMIT 1), t.n + 1
        FROM t WHERE t.tenant IS NOT NULL AND t.n < page
    )
    SELECT tenant FROM t WHERE tenant IS NOT NULL;
    $$;
-- +goose StatementEnd
CALL mneme_protect_function('mneme_memory_tenants(text, integer)');

-- How many live memories there are, over all tenants, for the progress of a rebuild.
-- +goose StatementBegin
CREATE FUNCTION mneme_live_total() RETURNS bigint
    LANGUAGE sql STABLE SECURITY DEFINER
    AS $$
    SELECT count(*) FROM memories WHERE live;
    $$;
-- +goose StatementEnd
CALL mneme_protect_function('mneme_live_total()');
