-- Standing questions with the history of their answers, and token budgets of learning.

-- +goose Up

CREATE TABLE topics (
    tenant          text        NOT NULL CHECK (tenant <> ''),
    id              uuid        NOT NULL,
    agent_id        text        NOT NULL CHECK (agent_id <> ''),
    project         text        NOT NULL DEFAULT '',
    scope           text        NOT NULL DEFAULT '',
    policy_group    text        NOT NULL DEFAULT '',
    acts_for        text        NOT NULL DEFAULT '', -- the agent's user; scope is then user/<name>
    read_policy     text        NOT NULL CHECK (read_policy IN ('isolated', 'shared', 'group')),
    question        text        NOT NULL CHECK (question <> ''),
    evidence_limit  integer     NOT NULL CHECK (evidence_limit BETWEEN 1 AND 30),
    answer          integer     NOT NULL DEFAULT 0 CHECK (answer >= 0), -- number of the current answer; 0: none yet
    changed         integer     NOT NULL DEFAULT 0 CHECK (changed >= 0), -- memories of the evidence, at the last check
    held            text        NOT NULL DEFAULT '', -- why the last refresh did not answer
    checked_at      timestamptz,
    created_at      timestamptz NOT NULL,
    PRIMARY KEY (tenant, id)
);
COMMENT ON TABLE topics IS
    'One standing question of an agent or of one of its users, and how its current answer compares with the evidence.';
CALL mneme_protect_table('topics');
CREATE UNIQUE INDEX topics_of_owner
    ON topics (tenant, agent_id, project, scope, policy_group, read_policy, md5(question));

CREATE TABLE topic_answers (
    tenant            text        NOT NULL,
    topic_id          uuid        NOT NULL,
    number            integer     NOT NULL CHECK (number >= 1),
    parts             jsonb       NOT NULL, -- sentences with the memories that they cite; []: nothing known, or blanked
    memories          uuid[]      NOT NULL, -- the evidence, and the version that each had
    versions          integer[]   NOT NULL CHECK (cardinality(versions) = cardinality(memories)),
    evidence_hash     text        NOT NULL,
    written_by        text        NOT NULL CHECK (written_by <> ''),
    fallback          text        NOT NULL DEFAULT '',
    prompt_tokens     bigint      NOT NULL DEFAULT 0,
    completion_tokens bigint      NOT NULL DEFAULT 0,
    as_of             timestamptz NOT NULL,
    created_at        timestamptz NOT NULL,
    blanked_at        timestamptz,
    PRIMARY KEY (tenant, topic_id, number),
    FOREIGN KEY (tenant, topic_id) REFERENCES topics (tenant, id) ON DELETE CASCADE
);
COMMENT ON TABLE topic_answers IS
    'One answer of a standing question, append-only: it never changes, but is blanked with a memory that it was made of.';
CALL mneme_protect_table('topic_answers');
REVOKE UPDATE ON topic_answers FROM mneme_app;
CREATE INDEX topic_answers_of_memory ON topic_answers USING gin (tenant, memories)
    WITH (gin_pending_list_limit = 256) WHERE blanked_at IS NULL;

CREATE TABLE topic_drafts (
    tenant            text        NOT NULL,
    topic_id          uuid        NOT NULL,
    parts             jsonb       NOT NULL,
    memories          uuid[]      NOT NULL,
    versions          integer[]   NOT NULL CHECK (cardinality(versions) = cardinality(memories)),
    evidence_hash     text        NOT NULL,
    written_by        text        NOT NULL CHECK (written_by <> ''),
    fallback          text        NOT NULL DEFAULT '',
    prompt_tokens     bigint      NOT NULL DEFAULT 0,
    completion_tokens bigint      NOT NULL DEFAULT 0,
    as_of             timestamptz NOT NULL,
    created_at        timestamptz NOT NULL,
    PRIMARY KEY (tenant, topic_id),
    FOREIGN KEY (tenant, topic_id) REFERENCES topics (tenant, id) ON DELETE CASCADE
);
COMMENT ON TABLE topic_drafts IS
    'The answer of a standing question that is written but not yet published, at most one a question.';
CALL mneme_protect_table('topic_drafts');
CREATE INDEX topic_drafts_of_memory ON topic_drafts USING gin (tenant, memories) WITH (gin_pending_list_limit = 256);

-- What repeats a memory goes with it, in the transaction that forgets or erases it: answers are blanked, drafts are
-- deleted. The trigger runs as the owner, because the application may not change answers.
-- +goose StatementBegin
CREATE FUNCTION mneme_blank_topics() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER AS $$
BEGIN
    UPDATE topic_answers a
    SET parts = '[]', blanked_at = coalesce(NEW.erased_at, NEW.deleted_at, now())
    WHERE a.tenant = OLD.tenant AND a.memories @> ARRAY[OLD.id] AND a.blanked_at IS NULL;
    DELETE FROM topic_drafts d
    WHERE d.tenant = OLD.tenant AND d.memories @> ARRAY[OLD.id];
    RETURN NULL;
END $$;
-- +goose StatementEnd
CALL mneme_protect_function('mneme_blank_topics()');
CREATE TRIGGER memories_blank_topics AFTER UPDATE OF deleted_at, erased_at ON memories
    FOR EACH ROW WHEN (OLD.deleted_at IS NULL AND NEW.deleted_at IS NOT NULL
        OR OLD.erased_at IS NULL AND NEW.erased_at IS NOT NULL)
    EXECUTE FUNCTION mneme_blank_topics();
CREATE TRIGGER memories_deleted_blank_topics AFTER DELETE ON memories
    FOR EACH ROW EXECUTE FUNCTION mneme_blank_topics();

-- Lists tenants with a standing question, after one, by name.
-- +goose StatementBegin
CREATE FUNCTION mneme_topic_tenants(after text, most integer) RETURNS SETOF text
    LANGUAGE sql STABLE SECURITY DEFINER AS $$
    WITH RECURSIVE names AS (
        (SELECT tenant FROM topics WHERE tenant > after ORDER BY tenant LIMIT 1)
        UNION ALL
        SELECT (SELECT t.tenant FROM topics t WHERE t.tenant > n.tenant ORDER BY t.tenant LIMIT 1)
        FROM names n
        WHERE n.tenant IS NOT NULL
    )
    SELECT tenant FROM names WHERE tenant IS NOT NULL LIMIT most
$$;
-- +goose StatementEnd
CALL mneme_protect_function('mneme_topic_tenants(text, integer)');

CREATE TABLE token_budgets (
    tenant   text   NOT NULL CHECK (tenant <> ''),
    day      date   NOT NULL,
    settled  bigint NOT NULL DEFAULT 0 CHECK (settled >= 0),
    reserved bigint NOT NULL DEFAULT 0 CHECK (reserved >= 0), -- of calls under way, and of attempts that never settled
    refused  bigint NOT NULL DEFAULT 0 CHECK (refused >= 0),  -- calls that did not fit
    PRIMARY KEY (tenant, day)
) WITH (fillfactor = 50);
COMMENT ON TABLE token_budgets IS
    'The tokens of models that a tenant''s learning used on one day (UTC).';
CALL mneme_protect_table('token_budgets');

CREATE TABLE token_reservations (
    tenant     text        NOT NULL,
    key        text        NOT NULL CHECK (key <> ''), -- of one attempt at one call
    day        date        NOT NULL,
    purpose    text        NOT NULL CHECK (purpose <> ''),
    tokens     bigint      NOT NULL CHECK (tokens >= 0),
    settled    bigint      CHECK (settled >= 0),
    created_at timestamptz NOT NULL,
    PRIMARY KEY (tenant, key)
);
COMMENT ON TABLE token_reservations IS
    'The tokens that one attempt at a call reserved, and what it used; without the latter, the reservation counts.';
CALL mneme_protect_table('token_reservations');
CREATE INDEX token_reservations_age ON token_reservations (tenant, day);

-- +goose Down
SELECT 1;
