-- What recall looks at: importance as it is now, and vectors of every class.

-- +goose Up

-- Importance fades from the last access or, of what was never accessed, from its creation on.
CREATE OR REPLACE VIEW memory_search AS
    SELECT tenant, id, tsv, agent_id, project, scope, visibility, policy_group, type, category, tags, who, pinned,
           importance, sensitivity, occurred_at, validity, valid_from, valid_until, live, conditions, confidence, created_at
    FROM memories
    WHERE tenant = (SELECT mneme_tenant());
CREATE OR REPLACE VIEW memory_signals AS
    SELECT tenant, id, mneme_signals(type, payload) AS signals, agent_id, project, scope, visibility, policy_group, type, category, tags, who, pinned,
           importance, sensitivity, occurred_at, validity, valid_from, valid_until, live, conditions, created_at
    FROM memories
    WHERE tenant = (SELECT mneme_tenant()) AND type IN ('competence', 'plan_graph');

-- A fact or a procedure may be kept for an interaction or a session only. Such records are few, and every index
-- is one more search a question: the four classes share an index, named brief and learned.
CREATE INDEX memory_embeddings_hash_v1_brief_learned ON memory_embeddings
    USING hnsw ((embedding::halfvec(384)) halfvec_cosine_ops) WITH (m = 8, ef_construction = 32)
    WHERE model = 'hash-v1' AND dims = 384 AND tier IN ('interaction', 'session') AND typology IN ('semantic', 'procedural');

-- As in migration 8, with that class. Indexes of other models are made when a worker starts, and by the drift check.
-- +goose StatementBegin
CREATE OR REPLACE FUNCTION mneme_build_vector_index(model text, dims integer, tier text, typology text, anew boolean) RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT
    AS $$
DECLARE
    wanted   text := mneme_vector_index_name(model, dims, tier, typology);
    building text := wanted || '_b';
    place    text := current_schema();
    vectors  text := (SELECT n.nspname FROM pg_extension e JOIN pg_namespace n ON n.oid = e.extnamespace WHERE e.extname = 'vector');
    standing boolean;
    class    text := CASE WHEN tier = 'brief' THEN 'tier IN (''interaction'', ''session'') AND typology IN (''semantic'', ''procedural'')'
        ELSE format('tier = %L AND typology = %L', tier, typology) END;
BEGIN
    IF model IS NULL OR model !~ '^[A-Za-z0-9][A-Za-z0-9._:/@+-]{0,127}$' THEN
        RAISE EXCEPTION 'not the name of an embedding model' USING ERRCODE = 'invalid_parameter_value';
    END IF;
    IF dims IS NULL OR dims NOT BETWEEN 1 AND 4000 THEN -- as many as an index of half-precision vectors can hold
        RAISE EXCEPTION 'vectors of % dimensions cannot be indexed', dims USING ERRCODE = 'invalid_parameter_value';
    END IF;
    IF (tier, typology) NOT IN (('session', 'episodic'), ('interaction', 'episodic'), ('persistent', 'semantic'), ('persistent', 'procedural'),
        ('brief', 'learned')) THEN
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
        WHERE model = %L AND dims = %s AND %s', building, place, vectors, dims, vectors, model, dims, class);
    IF standing THEN
        EXECUTE format('DROP INDEX %I.%I', place, wanted);
    END IF;
    EXECUTE format('ALTER INDEX %I.%I RENAME TO %I', place, building, wanted);
    RETURN true;
END $$;
-- +goose StatementEnd
-- +goose StatementBegin
DO $$
BEGIN
    EXECUTE format('ALTER FUNCTION mneme_build_vector_index(text, integer, text, text, boolean) SET search_path = %I, pg_temp', current_schema());
END $$;
-- +goose StatementEnd

-- The words of a text as they stand in it, of its first 256 KiB: what the fallback search of a recall looks
-- through. Bytes that are not UTF-8 are passed over; other media have no words.
-- +goose StatementBegin
CREATE FUNCTION mneme_artifact_words(media_type text, content bytea) RETURNS tsvector
    LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
    AS $$
DECLARE
    body bytea := substring(content FROM 1 FOR 262144);
    cut  integer := length(body);
    said text;
BEGIN
    IF NOT (media_type LIKE 'text/%' OR media_type LIKE 'application/json%' OR media_type LIKE 'application/%+json%'
        OR media_type LIKE 'application/xml%' OR media_type LIKE 'application/%yaml%') THEN
        RETURN ''::tsvector;
    END IF;
    IF length(content) > cut THEN -- not in the middle of a character
        WHILE cut > 262140 AND get_byte(body, cut - 1) BETWEEN 128 AND 191 LOOP
            cut := cut - 1;
        END LOOP;
        IF get_byte(body, cut - 1) > 191 THEN
            cut := cut - 1;
        END IF;
        body := substring(body FROM 1 FOR cut);
    END IF;
    BEGIN
        said := convert_from(body, 'UTF8');
    EXCEPTION WHEN character_not_in_repertoire THEN
        said := regexp_replace(encode(body, 'escape'), '\\[0-7]{3}', ' ', 'g');
    END;
    RETURN strip(to_tsvector('pg_catalog.simple'::regconfig, said));
END $$;
-- +goose StatementEnd
ALTER TABLE artifacts ADD COLUMN words tsvector GENERATED ALWAYS AS (mneme_artifact_words(media_type, content)) STORED;
CREATE INDEX artifacts_words ON artifacts USING gin (tenant, words) WITH (gin_pending_list_limit = 256);

-- As memory_search: row-level security alone would keep the index from being used.
CREATE VIEW artifact_search AS
    SELECT tenant, sha256, words FROM artifacts WHERE tenant = (SELECT mneme_tenant());
GRANT SELECT ON artifact_search TO mneme_app;

-- What was learned or noted in a session, beside its turns.
CREATE INDEX memories_session_learned ON memories (tenant, agent_session_id, agent_id)
    WHERE live AND type <> 'episodic' AND agent_session_id IS NOT NULL;

-- +goose Down
SELECT 1;
