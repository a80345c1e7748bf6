-- Learning from episodes: which attempts concern which problem, how far each scope was read, what was drafted, and the
-- outcomes of what was learned.

-- +goose Up

-- New episodes of a scope, oldest first. The scope's agent is that of private and group memories; the others have none.
-- The time is when the store learned of the episode: an import may bring one that was made long ago.
CREATE INDEX memories_evidence ON memories (tenant, project, scope,
        (CASE WHEN visibility IN ('private', 'group') THEN agent_id ELSE '' END),
        (coalesce(recorded_at, created_at)), id)
    WHERE live AND type = 'episodic';
-- The procedures and plans of a tenant.
CREATE INDEX memories_procedural ON memories (tenant, id) WHERE live AND type IN ('competence', 'plan_graph');
-- The part of the ledger that an episode was made of.
CREATE INDEX session_episodes_memory ON session_episodes (memory_id, tenant) WHERE memory_id IS NOT NULL;

CREATE TABLE learning_watermarks (
    tenant        text        NOT NULL CHECK (tenant <> ''),
    agent_id      text        NOT NULL DEFAULT '', -- empty: the memories that all agents of the project see
    project       text        NOT NULL DEFAULT '',
    scope         text        NOT NULL DEFAULT '',
    workflow      text        NOT NULL CHECK (workflow <> ''),
    at            timestamptz NOT NULL, -- the newest episode that was read
    memory_id     uuid        NOT NULL,
    evidence_hash text        NOT NULL DEFAULT '', -- of the page that was read last
    run_at        timestamptz NOT NULL,
    PRIMARY KEY (tenant, agent_id, project, scope, workflow)
) WITH (fillfactor = 50);
COMMENT ON TABLE learning_watermarks IS
    'How far one workflow of learning has read the evidence of a scope. It moves in the transaction of what it wrote.';
CALL mneme_protect_table('learning_watermarks');

CREATE TABLE learning_groups (
    tenant     text        NOT NULL CHECK (tenant <> ''),
    id         uuid        NOT NULL, -- follows from scope and key
    agent_id   text        NOT NULL DEFAULT '',
    project    text        NOT NULL DEFAULT '',
    scope      text        NOT NULL DEFAULT '',
    kind       text        NOT NULL CHECK (kind IN ('error', 'intent')),
    attempts   bigint      NOT NULL DEFAULT 0, -- that were ever added
    procedures bigint      NOT NULL DEFAULT 0, -- attempts when ExtractCompetence last decided
    plans      bigint      NOT NULL DEFAULT 0, -- attempts when ExtractPlans last decided
    updated_at timestamptz NOT NULL,
    PRIMARY KEY (tenant, id)
) WITH (fillfactor = 70);
COMMENT ON TABLE learning_groups IS
    'One problem or one task of a scope: how many attempts at it are known, and at how many each workflow decided.';
CALL mneme_protect_table('learning_groups');
CREATE INDEX learning_groups_procedures ON learning_groups (tenant, project, scope, agent_id, id)
    WHERE attempts > procedures;
CREATE INDEX learning_groups_plans ON learning_groups (tenant, project, scope, agent_id, id)
    WHERE attempts > plans;

CREATE TABLE learning_attempts (
    tenant    text        NOT NULL,
    memory_id uuid        NOT NULL, -- the episode
    ordinal   smallint    NOT NULL CHECK (ordinal >= 0), -- of the attempt in it; 0: the episode was read
    group_id  uuid,
    ok        boolean,
    witnessed boolean     NOT NULL DEFAULT false, -- the ledger recorded it as it happened
    at        timestamptz NOT NULL,
    PRIMARY KEY (tenant, memory_id, ordinal),
    CHECK ((ordinal = 0) = (group_id IS NULL)),
    FOREIGN KEY (tenant, memory_id) REFERENCES memories (tenant, id) ON DELETE CASCADE
);
COMMENT ON TABLE learning_attempts IS
    'Which episode holds attempts at which problem or task. It has no content: the episode and its events are read.';
CALL mneme_protect_table('learning_attempts');
CREATE INDEX learning_attempts_group ON learning_attempts (group_id, ok, witnessed, at, memory_id, tenant)
    WHERE group_id IS NOT NULL;

CREATE TABLE learning_drafts (
    tenant     text        NOT NULL,
    group_id   uuid        NOT NULL,
    kind       text        NOT NULL CHECK (kind IN ('competence', 'plan_graph')),
    attempts   bigint      NOT NULL, -- of the group when it was decided
    deltas     jsonb       NOT NULL,
    memories   uuid[]      NOT NULL, -- the episodes that they rest on
    created_at timestamptz NOT NULL,
    PRIMARY KEY (tenant, group_id, kind),
    FOREIGN KEY (tenant, group_id) REFERENCES learning_groups (tenant, id) ON DELETE CASCADE
);
COMMENT ON TABLE learning_drafts IS
    'What was decided on a group and is not written yet. It goes with any of the episodes that it rests on.';
CALL mneme_protect_table('learning_drafts');
CREATE INDEX learning_drafts_of_memory ON learning_drafts USING gin (tenant, memories)
    WITH (gin_pending_list_limit = 256);

CREATE TABLE learned (
    tenant        text        NOT NULL,
    memory_id     uuid        NOT NULL, -- a competence or plan_graph record
    kind          text        NOT NULL CHECK (kind IN ('competence', 'plan_graph')),
    group_id      uuid        NOT NULL, -- of its problem or task in its scope (learning_groups; it may be gone)
    key           text        NOT NULL CHECK (key <> ''), -- error:WORDS or intent:WORDS, as signatures have them
    words         text[]      NOT NULL DEFAULT '{}', -- of the signature, for problems that are near
    evidence_hash text        NOT NULL DEFAULT '',   -- empty: it was not learned but put
    stats         jsonb       NOT NULL DEFAULT '{}', -- evidence.Stats
    tentative     boolean     NOT NULL DEFAULT false, -- a record that was put and never tried
    version       integer     NOT NULL DEFAULT 1 CHECK (version >= 1), -- of this row, for compare and swap
    updated_at    timestamptz NOT NULL,
    PRIMARY KEY (tenant, memory_id),
    FOREIGN KEY (tenant, memory_id) REFERENCES memories (tenant, id) ON DELETE CASCADE
) WITH (fillfactor = 70);
COMMENT ON TABLE learned IS
    'What a procedure or a plan is for, and how it has worked so far. Rows that are missing are made from the records.';
CALL mneme_protect_table('learned');
CREATE INDEX learned_key ON learned (key, tenant);
CREATE INDEX learned_group ON learned (group_id, tenant);
CREATE INDEX learned_words ON learned USING gin (tenant, words) WITH (gin_pending_list_limit = 256);

-- What repeats an episode goes with it, in the transaction that forgets it; what is kept of an erased record goes too.
-- +goose StatementBegin
CREATE FUNCTION mneme_forget_learning() RETURNS trigger
    LANGUAGE plpgsql AS $$
BEGIN
    IF OLD.type = 'episodic' THEN
        DELETE FROM learning_drafts d WHERE d.tenant = OLD.tenant AND d.memories @> ARRAY[OLD.id];
        IF NEW.erased_at IS NOT NULL THEN
            DELETE FROM learning_attempts a WHERE a.tenant = OLD.tenant AND a.memory_id = OLD.id;
        END IF;
    ELSIF NEW.erased_at IS NOT NULL THEN
        DELETE FROM learned l WHERE l.tenant = OLD.tenant AND l.memory_id = OLD.id;
    END IF;
    RETURN NULL;
END $$;
-- +goose StatementEnd
CREATE TRIGGER memories_forget_learning AFTER UPDATE OF deleted_at, erased_at ON memories
    FOR EACH ROW WHEN (OLD.type IN ('episodic', 'competence', 'plan_graph')
        AND (OLD.deleted_at IS NULL AND NEW.deleted_at IS NOT NULL OR OLD.erased_at IS NULL AND NEW.erased_at IS NOT NULL))
    EXECUTE FUNCTION mneme_forget_learning();
-- +goose StatementBegin
CREATE FUNCTION mneme_drop_drafts() RETURNS trigger
    LANGUAGE plpgsql AS $$
BEGIN
    DELETE FROM learning_drafts d WHERE d.tenant = OLD.tenant AND d.memories @> ARRAY[OLD.id];
    RETURN NULL;
END $$;
-- +goose StatementEnd
CREATE TRIGGER memories_deleted_drop_drafts AFTER DELETE ON memories
    FOR EACH ROW WHEN (OLD.type = 'episodic') EXECUTE FUNCTION mneme_drop_drafts();

-- +goose Down
SELECT 1;
