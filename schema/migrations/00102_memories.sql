-- The memory record: one row for each memory, its former versions, its history, its access counts, and the statistics
-- of its words.

-- +goose Up

-- The key of a claim's subject and predicate, which are longer than an index row may be. The length of the subject
-- keeps apart two claims whose texts are the same when joined.
-- +goose StatementBegin
CREATE FUNCTION mneme_claim_key(subject text, predicate text) RETURNS bytea
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN sha256(convert_to(length(lower(subject)) || ':' || lower(subject) || predicate, 'UTF8'));
-- +goose StatementEnd

-- What a procedure or plan is for, as lexemes: its name, intent and trigger signals. Words are split at every character
-- that is neither a letter nor a digit, so that setup_project and the parts of a path are words too. NULL for other
-- types of memory.
-- +goose StatementBegin
CREATE FUNCTION mneme_signals(type text, payload jsonb) RETURNS tsvector
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN CASE WHEN type IN ('competence', 'plan_graph') THEN to_tsvector('pg_catalog.english'::regconfig,
        regexp_replace(left(concat_ws(' ', payload->>'skill_name', payload->>'intent',
            (SELECT string_agg(t->>'signal', ' ') FROM jsonb_path_query(payload, '$.triggers[*]') t)), 100000),
        '[^[:alnum:]]+', ' ', 'g')) END;
-- +goose StatementEnd

CREATE TABLE memories (
    -- identity
    tenant               text        NOT NULL CHECK (tenant <> ''),
    id                   uuid        NOT NULL,
    external_id          text        CHECK (external_id <> ''), -- the id in the caller's system, if it is not a UUID
    agent_id             text        NOT NULL CHECK (agent_id <> ''),
    project              text        NOT NULL DEFAULT '',
    scope                text        NOT NULL DEFAULT '',
    visibility           text        NOT NULL DEFAULT 'private'
        CHECK (visibility IN ('private', 'group', 'shared', 'global')),
    policy_group         text        NOT NULL DEFAULT '',
    version              integer     NOT NULL DEFAULT 1 CHECK (version >= 1),
    -- kind
    type                 text        NOT NULL
        CHECK (type IN ('episodic', 'working', 'semantic', 'competence', 'plan_graph')),
    category             text        NOT NULL CHECK (category IN
        ('fact', 'preference', 'decision', 'procedural', 'semantic', 'rule', 'learning', 'issue')),
    tier                 text        NOT NULL CHECK (tier IN ('interaction', 'session', 'persistent')),
    typology             text        NOT NULL CHECK (typology IN ('episodic', 'semantic', 'procedural')),
    -- content
    content              text        NOT NULL,
    normalized_content   text        NOT NULL,
    content_hash         bytea       NOT NULL CHECK (octet_length(content_hash) = 32),
    safe_summary         text        NOT NULL DEFAULT '', -- for readers who may not see the content; empty: none
    payload              jsonb       NOT NULL DEFAULT '{}',
    tags                 text[]      NOT NULL DEFAULT '{}',
    language             text        NOT NULL DEFAULT 'en',
    who                  text        NOT NULL DEFAULT '',
    tsv                  tsvector    GENERATED ALWAYS AS
        (to_tsvector(mneme_text_config(language), who || ' ' || content)) STORED,
    -- the claim of a semantic memory; a functional predicate has one object at a time
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
    -- of a custom curve: shares of the base salience by seconds since, [{"after_seconds": 0, "share": 1}, …]
    decay_points         jsonb       CHECK (jsonb_typeof(decay_points) = 'array'),
    decay_floor          double precision NOT NULL DEFAULT 0 CHECK (decay_floor BETWEEN 0 AND 1),
    half_life            interval    NOT NULL CHECK (half_life > interval '0'),
    min_salience         double precision NOT NULL CHECK (min_salience BETWEEN 0 AND 1),
    max_age              interval    CHECK (max_age > interval '0'),
    reinforcement_gain   double precision NOT NULL CHECK (reinforcement_gain BETWEEN 0 AND 1),
    last_reinforced_at   timestamptz NOT NULL,
    pinned               boolean     NOT NULL DEFAULT false,
    deletion_policy      text        NOT NULL CHECK (deletion_policy IN ('auto_prune', 'manual_only', 'never')),
    decay_due_at         timestamptz,
    -- truth
    status               text        NOT NULL DEFAULT 'active'
        CHECK (status IN ('active', 'contested', 'superseded', 'retracted')),
    validity             text        NOT NULL DEFAULT 'global'
        CHECK (validity IN ('global', 'conditional', 'timeboxed')),
    conditions           jsonb,
    valid_from           timestamptz,
    valid_until          timestamptz,
    supersedes           uuid,
    superseded_by        uuid,
    revision_policy      text        NOT NULL DEFAULT 'replace'
        CHECK (revision_policy IN ('replace', 'fork', 'contest')),
    -- trust
    sensitivity          text        NOT NULL DEFAULT 'low'
        CHECK (sensitivity IN ('public', 'low', 'medium', 'high', 'hyper')),
    key_id               text,
    source_trust         double precision NOT NULL DEFAULT 1 CHECK (source_trust BETWEEN 0 AND 1),
    -- life
    occurred_at          timestamptz NOT NULL,
    created_at           timestamptz NOT NULL,
    recorded_at          timestamptz, -- when the store learned of it, if that was after created_at
    updated_at           timestamptz NOT NULL,
    created_by           text        NOT NULL,
    superseded_at        timestamptz,
    archived_at          timestamptz,
    deleted_at           timestamptz,
    erased_at            timestamptz, -- when its texts were removed
    purging_at           timestamptz, -- when a purge began to remove its parts: it cannot be recovered any more
    retained_at          timestamptz, -- when retention found its window over, and a policy said that the row stays
    -- anchors
    world_id             text,
    world_version        text,
    agent_session_id     text,
    agent_interaction_id text,
    embedding_id         uuid,

    -- Known, and neither forgotten nor archived nor replaced.
    live boolean NOT NULL GENERATED ALWAYS AS
        (deleted_at IS NULL AND archived_at IS NULL AND status IN ('active', 'contested')) STORED,
    -- Who shares the truth of a claim: the readers that its visibility admits. Private claims of two agents may differ,
    -- and neither agent learns of the other.
    claim_space text NOT NULL GENERATED ALWAYS AS (
        CASE visibility
            WHEN 'private' THEN 'private:' || project || ':' || agent_id
            WHEN 'group'   THEN 'group:' || project || ':' || policy_group
            WHEN 'shared'  THEN 'shared:' || project
            ELSE 'global'
        END) STORED,
    -- A column, not an expression in an index: under row-level security Postgres uses no index for a function that is
    -- not leakproof, and lower() is not.
    subject_key text  GENERATED ALWAYS AS (lower(subject)) STORED,
    claim_key   bytea GENERATED ALWAYS AS (mneme_claim_key(subject, predicate)) STORED,

    PRIMARY KEY (tenant, id),
    CONSTRAINT memories_window_has_a_length CHECK (valid_until > valid_from),
    CONSTRAINT memories_not_its_own_successor CHECK (superseded_by <> id AND supersedes <> id),
    CONSTRAINT memories_erased_is_deleted CHECK (erased_at IS NULL OR deleted_at IS NOT NULL),
    CONSTRAINT memories_purging_is_deleted CHECK (purging_at IS NULL OR deleted_at IS NOT NULL),
    CONSTRAINT memories_retained_is_deleted CHECK (retained_at IS NULL OR deleted_at IS NOT NULL),
    -- A CHECK passes when it is NULL, hence IS NOT DISTINCT FROM.
    CONSTRAINT memories_payload_of_type CHECK (erased_at IS NOT NULL OR payload->>'kind' IS NOT DISTINCT FROM type)
);
COMMENT ON TABLE memories IS
    'One memory: content, worth, lifecycle, truth and trust. It is the authority; everything else is derived from it.';
CALL mneme_protect_table('memories');

-- One active functional fact per scope, readers, subject, predicate and conditions.
CREATE UNIQUE INDEX memories_active_fact ON memories (tenant, scope, claim_space, claim_key, conditions_hash)
    WHERE type = 'semantic' AND functional AND live AND status = 'active';
-- Import looks for foreign ids, lineage for successors.
CREATE UNIQUE INDEX memories_external ON memories (tenant, external_id) WHERE external_id IS NOT NULL;
CREATE INDEX memories_superseded_by ON memories (tenant, superseded_by) WHERE superseded_by IS NOT NULL;
-- Contradictions are listed with both sides.
CREATE INDEX memories_contested ON memories (tenant, id) WHERE status = 'contested' AND deleted_at IS NULL;
-- The turns of a session in their order.
CREATE INDEX memories_session ON memories (tenant, agent_session_id, agent_id, occurred_at, id)
    WHERE live AND typology = 'episodic' AND agent_session_id IS NOT NULL;
-- Events of a span of time. The agent comes after the time, so that one index serves readers of their own memories and
-- readers of shared ones.
CREATE INDEX memories_occurred ON memories (tenant, occurred_at, agent_id) WHERE live;
CREATE INDEX memories_timeboxed ON memories (tenant, valid_from, valid_until) WHERE live AND validity = 'timeboxed';
-- Full-text indexes have a short pending list (256 kB): every search reads what is in it one by one.
CREATE INDEX memories_summary ON memories
    USING gin (tenant, to_tsvector(mneme_text_config(language), safe_summary)) WITH (gin_pending_list_limit = 256)
    WHERE live AND safe_summary <> '';
-- The memories that most readers may not see.
CREATE INDEX memories_sensitive ON memories (tenant, id) WHERE live AND sensitivity IN ('high', 'hyper');
CREATE INDEX memories_signals ON memories
    USING gin (tenant, mneme_signals(type, payload)) WITH (gin_pending_list_limit = 256)
    WHERE live AND type IN ('competence', 'plan_graph');
-- A decay sweep reads what is due of one tenant, oldest first, and nothing else.
CREATE INDEX memories_decay_due ON memories (tenant, decay_due_at, id) WHERE live AND decay_due_at IS NOT NULL;
-- Tombstones that a purge still has to look at, and those that it has begun to remove.
CREATE INDEX memories_tombstones ON memories (tenant, deleted_at, id)
    WHERE deleted_at IS NOT NULL AND erased_at IS NULL AND retained_at IS NULL AND purging_at IS NULL;
CREATE INDEX memories_purging ON memories (tenant, purging_at, id) WHERE purging_at IS NOT NULL;
-- Live content is unique among memories of one type: an episode, which fades, and the fact drawn from it, which lasts,
-- may have the same words. The hash comes early: with the agent first, the planner takes this index for every search
-- of that agent as long as it has no statistics.
CREATE UNIQUE INDEX memories_live_hash ON memories (tenant, content_hash, agent_id, project, scope, visibility, type)
    WHERE live;
-- Copies that are superseded, archived or deleted.
CREATE INDEX memories_past_hash ON memories (tenant, content_hash) WHERE NOT live AND erased_at IS NULL;
-- No other index has this expression, so that no plan of a search by words reads all memories of a tenant: see
-- memory_text.
CREATE INDEX memories_text ON memories USING gin ((tenant || ''), tsv) WITH (gin_pending_list_limit = 256) WHERE live;
-- What was learned or noted in a session, apart from its turns.
CREATE INDEX memories_session_learned ON memories (tenant, agent_session_id, agent_id)
    WHERE live AND type <> 'episodic' AND agent_session_id IS NOT NULL;

-- ---- former versions ---------------------------------------------------------------------------

CREATE TABLE memory_versions (
    tenant    text        NOT NULL,
    memory_id uuid        NOT NULL,
    version   integer     NOT NULL,
    since     timestamptz NOT NULL,
    until     timestamptz NOT NULL,
    record    jsonb       NOT NULL, -- the row, without its generated columns
    PRIMARY KEY (tenant, memory_id, version),
    FOREIGN KEY (tenant, memory_id) REFERENCES memories (tenant, id) ON DELETE CASCADE
);
COMMENT ON TABLE memory_versions IS
    'A former version of a memory, whole, from the moment that it is replaced: what reads as of a past time return.';
CALL mneme_protect_table('memory_versions');
-- The trigger below writes them, and erasure deletes them.
REVOKE UPDATE ON memory_versions FROM mneme_app;
CREATE INDEX memory_versions_age ON memory_versions (tenant, until, memory_id, version);

-- Keeps every version that a statement replaces, so that no code of the application can forget to.
-- +goose StatementBegin
CREATE FUNCTION mneme_keep_version() RETURNS trigger
    LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO memory_versions (tenant, memory_id, version, since, until, record)
    SELECT o.tenant, o.id, o.version, greatest(o.updated_at, o.recorded_at), n.updated_at,
        to_jsonb(o) - '{tsv,normalized_content,claim_space,subject_key,claim_key,live}'::text[]
    FROM replaced o JOIN replacing n ON n.tenant = o.tenant AND n.id = o.id
    WHERE n.version <> o.version AND n.erased_at IS NULL;
    RETURN NULL;
END $$;
-- +goose StatementEnd
CREATE TRIGGER memories_keep_version AFTER UPDATE ON memories
    REFERENCING OLD TABLE AS replaced NEW TABLE AS replacing
    FOR EACH STATEMENT EXECUTE FUNCTION mneme_keep_version();

-- A change takes its time before it waits for its locks, so that a later version may come with an earlier time. The
-- times of versions never go back.
-- +goose StatementBegin
CREATE FUNCTION mneme_not_before_the_last() RETURNS trigger
    LANGUAGE plpgsql AS $$
BEGIN
    NEW.updated_at := greatest(OLD.updated_at, OLD.recorded_at);
    RETURN NEW;
END $$;
-- +goose StatementEnd
CREATE TRIGGER memories_versions_in_time BEFORE UPDATE ON memories
    FOR EACH ROW WHEN (NEW.version <> OLD.version AND NEW.updated_at < greatest(OLD.updated_at, OLD.recorded_at))
    EXECUTE FUNCTION mneme_not_before_the_last();

-- ---- episodes only grow, and what is erased stays erased ---------------------------------------

-- Whether one JSON array begins with all elements of another.
-- +goose StatementBegin
CREATE FUNCTION mneme_begins_with(longer jsonb, shorter jsonb) RETURNS boolean
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN CASE
        WHEN shorter IS NULL THEN true
        WHEN longer IS NULL OR jsonb_typeof(longer) <> 'array' OR jsonb_typeof(shorter) <> 'array'
            THEN longer IS NOT DISTINCT FROM shorter
        ELSE jsonb_array_length(longer) >= jsonb_array_length(shorter)
            AND NOT EXISTS (SELECT FROM jsonb_array_elements(shorter) WITH ORDINALITY s(e, n)
                WHERE longer->(n::integer - 1) <> s.e)
    END;
-- +goose StatementEnd

-- Episodes are append-only (document 004 §5 and §15A.2). The timeline, the tool graph and the list of artifacts may
-- grow, and new properties may be added. Nothing else may change, and nothing may go except by erasure.
-- +goose StatementBegin
CREATE FUNCTION mneme_episode_only_grows() RETURNS trigger
    LANGUAGE plpgsql AS $$
BEGIN
    IF NEW.type <> OLD.type OR NEW.content <> OLD.content
        OR NOT mneme_begins_with(NEW.payload->'timeline', OLD.payload->'timeline')
        OR NOT mneme_begins_with(NEW.payload->'tool_graph', OLD.payload->'tool_graph')
        OR NOT mneme_begins_with(NEW.payload->'artifacts', OLD.payload->'artifacts')
        OR EXISTS (SELECT FROM jsonb_each(OLD.payload - '{timeline,tool_graph,artifacts}'::text[]) o
            WHERE NEW.payload->o.key IS DISTINCT FROM o.value)
    THEN
        RAISE EXCEPTION 'an episodic memory is append-only' USING ERRCODE = 'restrict_violation';
    END IF;
    RETURN NEW;
END $$;
-- +goose StatementEnd
CREATE TRIGGER memories_episode_only_grows BEFORE UPDATE OF type, content, payload ON memories
    FOR EACH ROW WHEN (OLD.type = 'episodic' AND NEW.erased_at IS NULL) EXECUTE FUNCTION mneme_episode_only_grows();
CREATE TRIGGER memories_stay_erased BEFORE UPDATE ON memories
    FOR EACH ROW WHEN (OLD.erased_at IS NOT NULL) EXECUTE FUNCTION mneme_refuse_change();

-- ---- history -----------------------------------------------------------------------------------

CREATE TABLE memory_history (
    tenant      text        NOT NULL,
    seq         bigint      GENERATED ALWAYS AS IDENTITY,
    id          uuid        NOT NULL,
    memory_id   uuid        NOT NULL, -- no foreign key: history outlives the memory
    event       text        NOT NULL CHECK (event IN ('created', 'modified', 'deleted', 'recovered', 'none')),
    action      text        CHECK (action IN ('create', 'revise', 'fork', 'merge', 'delete', 'recover', 'contest',
        'resolve', 'retract', 'modify', 'erase', 'archive', 'keep', 'purge', 'reinforce', 'penalise')),
    version     integer,     -- of the memory, after the step; NULL when nothing changed
    old_content text,
    new_content text,
    changed_by  text        NOT NULL CHECK (changed_by <> ''),
    reason      text        NOT NULL CHECK (reason <> ''),
    metadata    jsonb       NOT NULL DEFAULT '{}',
    created_at  timestamptz NOT NULL,
    erased_at   timestamptz, -- when its texts were removed
    PRIMARY KEY (tenant, id)
);
COMMENT ON TABLE memory_history IS
    'One step in the life of a memory, or one that was considered and not taken, with actor and reason; append-only.';
CALL mneme_protect_table('memory_history');
REVOKE UPDATE, DELETE ON memory_history FROM mneme_app;
CREATE INDEX memory_history_of ON memory_history (tenant, memory_id, seq);
CREATE INDEX memory_history_age ON memory_history (tenant, created_at, id);

-- The two changes that history admits: erasure removes texts, or the reason of a step that has words of another memory,
-- and a purge deletes rows that are older than the time that mneme_purge_history sets.
-- +goose StatementBegin
CREATE FUNCTION mneme_only_erase() RETURNS trigger
    LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'UPDATE'
        AND NEW.reason = '[erased]' AND OLD.metadata @> NEW.metadata
        AND (OLD.erased_at IS NULL AND NEW.erased_at IS NOT NULL
                AND NEW.old_content IS NULL AND NEW.new_content IS NULL
            OR (NEW.erased_at, NEW.old_content, NEW.new_content)
                IS NOT DISTINCT FROM (OLD.erased_at, OLD.old_content, OLD.new_content))
        AND (NEW.tenant, NEW.seq, NEW.id, NEW.memory_id, NEW.event, NEW.changed_by, NEW.created_at, NEW.action,
                NEW.version)
            IS NOT DISTINCT FROM (OLD.tenant, OLD.seq, OLD.id, OLD.memory_id, OLD.event, OLD.changed_by, OLD.created_at,
                OLD.action, OLD.version)
    THEN
        RETURN NEW;
    END IF;
    IF TG_OP = 'DELETE'
        AND OLD.created_at < nullif(current_setting('mneme.history_before', true), '')::timestamptz
    THEN
        RETURN OLD;
    END IF;
    RAISE EXCEPTION '% is append-only: % refused', TG_TABLE_NAME, TG_OP USING ERRCODE = 'restrict_violation';
END $$;
-- +goose StatementEnd
CREATE TRIGGER memory_history_append_only BEFORE UPDATE OR DELETE ON memory_history
    FOR EACH ROW EXECUTE FUNCTION mneme_only_erase();
CREATE TRIGGER memory_history_no_truncate BEFORE TRUNCATE ON memory_history
    FOR EACH STATEMENT EXECUTE FUNCTION mneme_refuse_change();

-- ---- access and statistics ---------------------------------------------------------------------

CREATE TABLE memory_access (
    tenant           text        NOT NULL,
    memory_id        uuid        NOT NULL,
    access_count     bigint      NOT NULL DEFAULT 0,
    last_accessed_at timestamptz NOT NULL,
    PRIMARY KEY (tenant, memory_id),
    FOREIGN KEY (tenant, memory_id) REFERENCES memories (tenant, id) ON DELETE CASCADE
) WITH (fillfactor = 70);
COMMENT ON TABLE memory_access IS
    'How often and when recall last returned a memory, apart from the row that recall reads.';
CALL mneme_protect_table('memory_access');

-- Both tables of statistics change in the transaction that changes a memory, as its last statement and in the order of
-- the lexemes, so that writers neither wait long nor deadlock.
CREATE TABLE lexeme_stats (
    tenant text   NOT NULL,
    lexeme text   NOT NULL,
    docs   bigint NOT NULL,
    PRIMARY KEY (tenant, lexeme)
) WITH (fillfactor = 70);
COMMENT ON TABLE lexeme_stats IS
    'How many live memories of a tenant contain a lexeme: the document frequencies of the BM25-like ranking.';
CALL mneme_protect_table('lexeme_stats');

CREATE TABLE corpus_stats (
    tenant  text   PRIMARY KEY,
    docs    bigint NOT NULL,
    lexemes bigint NOT NULL -- the sum over memories of their distinct lexemes
) WITH (fillfactor = 50);
COMMENT ON TABLE corpus_stats IS
    'How many live memories a tenant has and how long they are, for the BM25-like ranking.';
CALL mneme_protect_table('corpus_stats');
