-- What a memory rests on and how memories relate: provenance, kinds of sources, relations, and artifacts.

-- +goose Up

CREATE TABLE memory_provenance (
    tenant      text        NOT NULL,
    memory_id   uuid        NOT NULL,
    position    smallint    NOT NULL CHECK (position >= 0),
    kind        text        NOT NULL CHECK (kind IN
        ('event', 'artifact', 'tool_call', 'observation', 'outcome', 'human', 'retrieval')),
    ref         text        NOT NULL,
    hash        text        NOT NULL DEFAULT '',
    at          timestamptz, -- when the evidence was given, if known
    created_at  timestamptz NOT NULL,
    PRIMARY KEY (tenant, memory_id, position),
    FOREIGN KEY (tenant, memory_id) REFERENCES memories (tenant, id) ON DELETE CASCADE
);
COMMENT ON TABLE memory_provenance IS
    'One piece of evidence that a memory rests on, in the order given.';
CALL mneme_protect_table('memory_provenance');

-- Selections by source kind read the candidate as long as it is there, and this table after its purge.
CREATE TABLE memory_source_kinds (
    tenant      text NOT NULL,
    memory_id   uuid NOT NULL,
    source_kind text NOT NULL CHECK (source_kind IN ('user_input', 'tool_output', 'observation', 'outcome', 'memory')),
    PRIMARY KEY (tenant, memory_id),
    FOREIGN KEY (tenant, memory_id) REFERENCES memories (tenant, id) ON DELETE CASCADE
);
COMMENT ON TABLE memory_source_kinds IS
    'What kind of source a memory came from, kept from the moment that its candidate is purged.';
CALL mneme_protect_table('memory_source_kinds');

CREATE TABLE memory_links (
    tenant     text        NOT NULL,
    source_id  uuid        NOT NULL,
    predicate  text        NOT NULL CHECK (predicate ~ '^[a-z][a-z0-9_]{0,63}$'),
    target_id  uuid        NOT NULL,
    weight     double precision NOT NULL DEFAULT 1 CHECK (weight BETWEEN 0 AND 1),
    created_at timestamptz NOT NULL,
    reason     text        NOT NULL DEFAULT '', -- in the words of a person or a rule
    PRIMARY KEY (tenant, source_id, predicate, target_id),
    CONSTRAINT memory_links_not_to_itself CHECK (source_id <> target_id),
    FOREIGN KEY (tenant, source_id) REFERENCES memories (tenant, id) ON DELETE CASCADE,
    FOREIGN KEY (tenant, target_id) REFERENCES memories (tenant, id) ON DELETE CASCADE
);
COMMENT ON TABLE memory_links IS
    'A directed relation from one memory to another: derived_from, supersedes, contradicts, supports or a name given.';
CALL mneme_protect_table('memory_links');
-- The planner expects one row of a tenant that is newer than its statistics. Then every index that begins with the
-- tenant looks as good as the one that has the whole key, and the newest index is taken: it reads all rows of the
-- tenant for each row that is looked up, and for each foreign key that is checked. So in a table whose rows are looked
-- up by key, only the key begins with the tenant. Other indexes begin with their own column, followed by the tenant.
CREATE INDEX memory_links_target ON memory_links (target_id, tenant, predicate);

-- ---- artifacts ---------------------------------------------------------------------------------

-- The words of the first 256 KiB of a text, unstemmed: what the fallback search of a recall looks through. Bytes that
-- are not UTF-8 are skipped. Other media have no words.
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
    IF length(content) > cut THEN -- do not cut a character in two
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

CREATE TABLE artifacts (
    tenant     text        NOT NULL CHECK (tenant <> ''),
    sha256     bytea       NOT NULL,
    media_type text        NOT NULL,
    size       bigint      NOT NULL,
    content    bytea       NOT NULL,
    words      tsvector    GENERATED ALWAYS AS (mneme_artifact_words(media_type, content)) STORED,
    agent_id   text        NOT NULL, -- the first that stored it
    created_at timestamptz NOT NULL,
    PRIMARY KEY (tenant, sha256),
    CONSTRAINT artifacts_address_of_content CHECK (octet_length(sha256) = 32 AND sha256 = sha256(content)),
    CONSTRAINT artifacts_size_of_content CHECK (size = octet_length(content))
);
COMMENT ON TABLE artifacts IS
    'A large thing that episodes refer to, addressed by the SHA-256 of its bytes (document 004 §15.3).';
CALL mneme_protect_table('artifacts');
REVOKE UPDATE ON artifacts FROM mneme_app;
ALTER TABLE artifacts ALTER COLUMN content SET STORAGE EXTERNAL; -- parts are read without decompressing the whole
CREATE INDEX artifacts_words ON artifacts USING gin (tenant, words) WITH (gin_pending_list_limit = 256);
CREATE INDEX artifacts_age ON artifacts (tenant, created_at, sha256);

CREATE TABLE memory_artifacts (
    tenant    text  NOT NULL,
    memory_id uuid  NOT NULL,
    sha256    bytea NOT NULL,
    PRIMARY KEY (tenant, memory_id, sha256),
    FOREIGN KEY (tenant, memory_id) REFERENCES memories (tenant, id) ON DELETE CASCADE,
    FOREIGN KEY (tenant, sha256) REFERENCES artifacts (tenant, sha256)
);
COMMENT ON TABLE memory_artifacts IS
    'That a memory refers to an artifact: who may read the memory may read the artifact.';
CALL mneme_protect_table('memory_artifacts');
CREATE INDEX memory_artifacts_of ON memory_artifacts (tenant, sha256);

CREATE TABLE artifact_holders (
    tenant   text  NOT NULL,
    sha256   bytea NOT NULL,
    agent_id text  NOT NULL CHECK (agent_id <> ''),
    scope    text  NOT NULL DEFAULT '', -- user/<name> keeps users of one agent apart
    PRIMARY KEY (tenant, sha256, agent_id, scope),
    FOREIGN KEY (tenant, sha256) REFERENCES artifacts (tenant, sha256) ON DELETE CASCADE
);
COMMENT ON TABLE artifact_holders IS
    'That an agent stored an artifact in a scope: it may read the bytes back even if no memory refers to them.';
CALL mneme_protect_table('artifact_holders');
