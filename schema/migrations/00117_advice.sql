-- Advice: procedures by the problem that they are for, episodes by what failed in them, what was advised, and how it went.

-- +goose Up

-- A problem as its words: without the places of its values, punctuation and case.
-- +goose StatementBegin
CREATE FUNCTION mneme_problem_key(signal text) RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN md5(btrim(regexp_replace(regexp_replace(lower(left(signal, 2000)), '<[a-z]+>', ' ', 'g'),
        '[^[:alnum:]]+', ' ', 'g')));
-- +goose StatementEnd

-- +goose StatementBegin
CREATE FUNCTION mneme_problem_keys(type text, payload jsonb) RETURNS text[]
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN CASE WHEN type = 'competence' THEN
        (SELECT array_agg(mneme_problem_key(t->>'signal')) FROM jsonb_path_query(payload, '$.triggers[*]') t) END;
-- +goose StatementEnd

-- The words of what failed in an episode.
-- +goose StatementBegin
CREATE FUNCTION mneme_failures(type text, payload jsonb) RETURNS tsvector
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN CASE WHEN type = 'episodic' THEN to_tsvector('pg_catalog.simple'::regconfig, regexp_replace(left(
        (SELECT string_agg(e->>'summary', ' ')
         FROM jsonb_path_query(payload, '$.timeline[*] ? (@.event_kind == "tool.failed")') e), 100000),
        '[^[:alnum:]]+', ' ', 'g')) END;
-- +goose StatementEnd

CREATE INDEX memories_problem_keys ON memories
    USING gin (tenant, mneme_problem_keys(type, payload)) WITH (gin_pending_list_limit = 256)
    WHERE live AND type = 'competence';
CREATE INDEX memories_failures ON memories
    USING gin (tenant, mneme_failures(type, payload)) WITH (gin_pending_list_limit = 256)
    WHERE live AND type = 'episodic';

-- Views, as memory_signals: the condition on the tenant is the first that an index serves.
CREATE VIEW memory_problems AS
    SELECT tenant, id, mneme_problem_keys(type, payload) AS keys, agent_id, project, scope, visibility, policy_group,
           type, sensitivity, source_trust, valid_from, valid_until, live, last_reinforced_at
    FROM memories
    WHERE tenant = (SELECT mneme_tenant()) AND type = 'competence';
GRANT SELECT ON memory_problems TO mneme_app;

CREATE VIEW memory_failures AS
    SELECT tenant, id, mneme_failures(type, payload) AS failures, agent_id, project, scope, visibility, policy_group,
           type, sensitivity, source_trust, valid_from, valid_until, live, occurred_at
    FROM memories
    WHERE tenant = (SELECT mneme_tenant()) AND type = 'episodic';
GRANT SELECT ON memory_failures TO mneme_app;

CREATE TABLE solution_outcomes (
    tenant     text        NOT NULL,
    memory_id  uuid        NOT NULL,
    stats      jsonb       NOT NULL, -- evidence.Stats
    updated_at timestamptz NOT NULL,
    PRIMARY KEY (tenant, memory_id),
    FOREIGN KEY (tenant, memory_id) REFERENCES memories (tenant, id) ON DELETE CASCADE
) WITH (fillfactor = 70);
COMMENT ON TABLE solution_outcomes IS
    'How one procedure, plan or tentative solution works, by what was reported since it was first followed or passed over.';
CALL mneme_protect_table('solution_outcomes');

CREATE TABLE advice (
    tenant     text        NOT NULL CHECK (tenant <> ''),
    id         uuid        NOT NULL,
    agent_id   text        NOT NULL CHECK (agent_id <> ''),
    project    text        NOT NULL DEFAULT '',
    scope      text        NOT NULL DEFAULT '',
    offered    jsonb       NOT NULL, -- ids with their evidence.Stats, best first; no content
    reports    jsonb       NOT NULL DEFAULT '{}', -- by the memory that was followed: the outcome and what it changed
    situation  text        NOT NULL DEFAULT '', -- in which outcomes are counted apart
    created_at timestamptz NOT NULL,
    PRIMARY KEY (tenant, id)
);
COMMENT ON TABLE advice IS
    'What was advised once, so that a report can say how it went. It is deleted after thirty days.';
CALL mneme_protect_table('advice');
CREATE INDEX advice_age ON advice (tenant, created_at);

-- What was counted of a memory goes when it is erased.
-- +goose StatementBegin
CREATE FUNCTION mneme_erase_outcomes() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER AS $$
BEGIN
    DELETE FROM solution_outcomes o WHERE o.tenant = OLD.tenant AND o.memory_id = OLD.id;
    RETURN NULL;
END $$;
-- +goose StatementEnd
CALL mneme_protect_function('mneme_erase_outcomes()');
CREATE TRIGGER memories_erase_outcomes AFTER UPDATE OF erased_at ON memories
    FOR EACH ROW WHEN (OLD.erased_at IS NULL AND NEW.erased_at IS NOT NULL)
    EXECUTE FUNCTION mneme_erase_outcomes();

-- +goose Down
SELECT 1;
