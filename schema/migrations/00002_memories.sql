-- The memory record and what commits with it.

-- +goose Up
CREATE TABLE memories (
    -- identity
    tenant               text        NOT NULL CHECK (tenant <> ''),
    id                   uuid        NOT NULL,
    agent_id             text        NOT NULL CHECK (agent_id <> ''),
    project              text        NOT NULL DEFAULT '',
    scope                text        NOT NULL DEFAULT '',
    visibility           text        NOT NULL DEFAULT 'private' CHECK (visibility IN ('private', 'group', 'shared', 'global')),
    policy_group         text        NOT NULL DEFAULT '',
    version              integer     NOT NULL DEFAULT 1 CHECK (version >= 1),
    -- kind
    type                 text        NOT NULL CHECK (type IN ('episodic', 'working', 'semantic', 'competence', 'plan_graph')),
    category             text        NOT NULL CHECK (category IN ('fact', 'preference', 'decision', 'procedural', 'semantic', 'rule', 'learning', 'issue')),
    tier                 text        NOT NULL CHECK (tier IN ('interaction', 'session', 'persistent')),
    typology             text        NOT NULL CHECK (typology IN ('episodic', 'semantic', 'procedural')),
    -- content
    content              text        NOT NULL,
    normalized_content   text        NOT NULL,
    content_hash         bytea       NOT NULL CHECK (octet_length(content_hash) = 32),
    payload              jsonb       NOT NULL DEFAULT '{}',
    tags                 text[]      NOT NULL DEFAULT '{}',
    language             text        NOT NULL DEFAULT 'en',
    who                  text        NOT NULL DEFAULT '',
    tsv                  tsvector    GENERATED ALWAYS AS (to_tsvector(mneme_text_config(language), who || ' ' || content)) STORED,
    -- the claim of a semantic memory; functional predicates have one object at a time
    subject              text,
    predicate            text,
    object               jsonb,
    functional           boolean     NOT NULL DEFAULT false,
    conditions_hash      text        NOT NULL DEFAULT '',
    -- worth
    confidence           double precision NOT NULL CHECK (confidence BETWEEN 0 AND 1),
    importance           double precision NOT NULL CHECK (importance BETWEEN 0 AND 1),
    salience             double precision NOT NULL CHECK (salience BETWEEN 0 AND 1),
    salience_at          timestamptz NOT NULL,
    -- lifecycle
    decay_curve          text        NOT NULL CHECK (decay_curve IN ('exponential', 'linear', 'custom')),
    half_life            interval    NOT NULL CHECK (half_life > interval '0'),
    min_salience         double precision NOT NULL CHECK (min_salience BETWEEN 0 AND 1),
    max_age              interval    CHECK (max_age > interval '0'),
    reinforcement_gain   double precision NOT NULL CHECK (reinforcement_gain BETWEEN 0 AND 1),
    last_reinforced_at   timestamptz NOT NULL,
    pinned               boolean     NOT NULL DEFAULT false,
    deletion_policy      text        NOT NULL CHECK (deletion_policy IN ('auto_prune', 'manual_only', 'never')),
    decay_due_at         timestamptz,
    -- truth
    status               text        NOT NULL DEFAULT 'active' CHECK (status IN ('active', 'contested', 'superseded', 'retracted')),
    validity             text        NOT NULL DEFAULT 'global' CHECK (validity IN ('global', 'conditional', 'timeboxed')),
    conditions           jsonb,
    valid_from           timestamptz,
    valid_until          timestamptz CHECK (valid_until > valid_from),
    supersedes           uuid,
    superseded_by        uuid,
    revision_policy      text        NOT NULL DEFAULT 'replace' CHECK (revision_policy IN ('replace', 'fork', 'contest')),
    -- trust
    sensitivity          text        NOT NULL DEFAULT 'low' CHECK (sensitivity IN ('public', 'low', 'medium', 'high', 'hyper')),
    key_id               text,
    source_trust         double precision NOT NULL DEFAULT 1 CHECK (source_trust BETWEEN 0 AND 1),
    -- life
    occurred_at          timestamptz NOT NULL,
    created_at           timestamptz NOT NULL,
    updated_at           timestamptz NOT NULL,
    created_by           text        NOT NULL,
    deleted_at           timestamptz,
    archived_at          timestamptz,
    superseded_at        timestamptz,
    -- anchors
    world_id             text,
    world_version        text,
    agent_session_id     text,
    agent_interaction_id text,
    embedding_id         uuid,

    -- Known and neither forgotten, archived nor replaced.
    live boolean NOT NULL GENERATED ALWAYS AS
        (deleted_at IS NULL AND archived_at IS NULL AND status IN ('active', 'contested')) STORED,
    -- Who shares the truth of a claim: the readers that the visibility admits. Private claims of
    -- two agents may differ without either learning of the other.
    claim_space text NOT NULL GENERATED ALWAYS AS (
        CASE visibility
            WHEN 'private' THEN 'private:' || project || ':' || agent_id
            WHEN 'group'   THEN 'group:' || project || ':' || policy_group
            WHEN 'shared'  THEN 'shared:' || project
            ELSE 'global'
        END) STORED,
    -- A column, not an expression in the index: under row-level security Postgres will not use an
    -- index for a function that is not leakproof, and lower() is not.
    subject_key text GENERATED ALWAYS AS (lower(subject)) STORED,

    PRIMARY KEY (tenant, id)
);

-- The hash comes early: with the principal first, the planner takes this index for the principal's
-- every search as long as it has no statistics.
CREATE UNIQUE INDEX memories_live_hash ON memories (tenant, content_hash, agent_id, project, scope, visibility) WHERE live;
CREATE UNIQUE INDEX memories_active_fact ON memories (tenant, scope, claim_space, subject_key, predicate, conditions_hash)
    WHERE type = 'semantic' AND functional AND live AND status = 'active';
CREATE INDEX memories_decay_due ON memories (decay_due_at) WHERE live AND decay_due_at IS NOT NULL;
-- A short pending list: writing costs a third, and a search reads at most these 256 kB beside the index.
CREATE INDEX memories_text ON memories USING gin (tenant, tsv) WITH (gin_pending_list_limit = 256) WHERE live;

-- Access tracking, apart from the row that recall reads.
CREATE TABLE memory_access (
    tenant           text        NOT NULL,
    memory_id        uuid        NOT NULL,
    access_count     bigint      NOT NULL DEFAULT 0,
    last_accessed_at timestamptz NOT NULL,
    PRIMARY KEY (tenant, memory_id),
    FOREIGN KEY (tenant, memory_id) REFERENCES memories (tenant, id) ON DELETE CASCADE
) WITH (fillfactor = 70);

CREATE TABLE memory_embeddings (
    tenant     text        NOT NULL,
    id         uuid        NOT NULL,
    memory_id  uuid        NOT NULL,
    model      text        NOT NULL,
    dims       integer     NOT NULL CHECK (dims = vector_dims(embedding)),
    embedding  vector      NOT NULL,
    -- repeated so that the partial HNSW indexes can select on them
    tier       text        NOT NULL CHECK (tier IN ('interaction', 'session', 'persistent')),
    typology   text        NOT NULL CHECK (typology IN ('episodic', 'semantic', 'procedural')),
    content_hash bytea     NOT NULL,
    created_at timestamptz NOT NULL,
    PRIMARY KEY (tenant, memory_id, model),
    FOREIGN KEY (tenant, memory_id) REFERENCES memories (tenant, id) ON DELETE CASCADE
);

-- One index a class and embedding space. The parameters trade a little recall of an approximate,
-- advisory channel for writes that keep up with batch ingestion (docs/benchmarks.md).
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

CREATE TABLE memory_relations (
    tenant     text        NOT NULL,
    source_id  uuid        NOT NULL,
    predicate  text        NOT NULL CHECK (predicate IN ('derived_from', 'supersedes', 'contradicts', 'supports')),
    target_id  uuid        NOT NULL,
    weight     double precision NOT NULL DEFAULT 1 CHECK (weight BETWEEN 0 AND 1),
    created_at timestamptz NOT NULL,
    PRIMARY KEY (tenant, source_id, predicate, target_id),
    FOREIGN KEY (tenant, source_id) REFERENCES memories (tenant, id) ON DELETE CASCADE,
    FOREIGN KEY (tenant, target_id) REFERENCES memories (tenant, id) ON DELETE CASCADE
);
CREATE INDEX memory_relations_target ON memory_relations (tenant, target_id, predicate);

CREATE TABLE memory_provenance (
    tenant      text        NOT NULL,
    memory_id   uuid        NOT NULL,
    position    smallint    NOT NULL CHECK (position >= 0),
    kind        text        NOT NULL CHECK (kind IN ('event', 'artifact', 'tool_call', 'observation', 'outcome', 'human', 'retrieval')),
    ref         text        NOT NULL,
    hash        text        NOT NULL DEFAULT '',
    created_at  timestamptz NOT NULL,
    PRIMARY KEY (tenant, memory_id, position),
    FOREIGN KEY (tenant, memory_id) REFERENCES memories (tenant, id) ON DELETE CASCADE
);

-- No foreign key: history outlives the record (a shadow proposal never has one).
CREATE TABLE memory_history (
    tenant      text        NOT NULL,
    seq         bigint      GENERATED ALWAYS AS IDENTITY,
    id          uuid        NOT NULL,
    memory_id   uuid        NOT NULL,
    event       text        NOT NULL CHECK (event IN ('created', 'modified', 'deleted', 'recovered', 'none')),
    old_content text,
    new_content text,
    changed_by  text        NOT NULL CHECK (changed_by <> ''),
    reason      text        NOT NULL CHECK (reason <> ''),
    metadata    jsonb       NOT NULL DEFAULT '{}',
    created_at  timestamptz NOT NULL,
    PRIMARY KEY (tenant, id)
);
CREATE INDEX memory_history_of ON memory_history (tenant, memory_id, seq);
CREATE TRIGGER memory_history_append_only BEFORE UPDATE OR DELETE ON memory_history
    FOR EACH ROW EXECUTE FUNCTION mneme_refuse_change();
CREATE TRIGGER memory_history_no_truncate BEFORE TRUNCATE ON memory_history
    FOR EACH STATEMENT EXECUTE FUNCTION mneme_refuse_change();

-- The append-only ledger of what came in (document 001). The text stays with the candidate and the
-- memory, so that forgetting has no copy to chase here.
CREATE TABLE events (
    tenant       text        NOT NULL,
    seq          bigint      GENERATED ALWAYS AS IDENTITY,
    id           uuid        NOT NULL,
    agent_id     text        NOT NULL,
    kind         text        NOT NULL CHECK (kind <> ''),
    candidate_id uuid,
    session      text        NOT NULL DEFAULT '',
    occurred_at  timestamptz NOT NULL,
    recorded_at  timestamptz NOT NULL,
    PRIMARY KEY (tenant, id)
);
CREATE INDEX events_of_agent ON events (tenant, agent_id, seq);
CREATE TRIGGER events_append_only BEFORE UPDATE OR DELETE ON events
    FOR EACH ROW EXECUTE FUNCTION mneme_refuse_change();
CREATE TRIGGER events_no_truncate BEFORE TRUNCATE ON events
    FOR EACH STATEMENT EXECUTE FUNCTION mneme_refuse_change();

-- Document frequencies of the live memories, for BM25. Kept in the transaction that changes a
-- memory, as its last statement and in lexeme order, so that writers neither wait long nor deadlock.
CREATE TABLE lexeme_stats (
    tenant text   NOT NULL,
    lexeme text   NOT NULL,
    docs   bigint NOT NULL,
    PRIMARY KEY (tenant, lexeme)
) WITH (fillfactor = 70);
CREATE TABLE corpus_stats (
    tenant  text   PRIMARY KEY,
    docs    bigint NOT NULL,
    lexemes bigint NOT NULL -- sum over documents of distinct lexemes
) WITH (fillfactor = 50);

-- +goose Down
SELECT 1;
