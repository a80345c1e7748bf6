-- Procedures and plans are found by what they are for.

-- +goose Up

-- What a procedure or plan is for, as lexemes: trigger signals, intent and name. Words are cut at whatever
-- is no letter and no digit, so that setup_project and an error with a path in it are words, too. It is NULL
-- for any other memory.
-- +goose StatementBegin
CREATE FUNCTION mneme_signals(type text, payload jsonb) RETURNS tsvector
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN CASE WHEN type IN ('competence', 'plan_graph') THEN to_tsvector('pg_catalog.english'::regconfig, regexp_replace(
        left(concat_ws(' ', payload->>'skill_name', payload->>'intent',
            (SELECT string_agg(t->>'signal', ' ') FROM jsonb_path_query(payload, '$.triggers[*]') t)), 100000),
        '[^[:alnum:]]+', ' ', 'g')) END;
-- +goose StatementEnd
CREATE INDEX memories_signals ON memories USING gin (tenant, mneme_signals(type, payload))
    WHERE live AND type IN ('competence', 'plan_graph');

-- As memory_search, for procedures and plans: row-level security alone would keep the index from being used.
CREATE VIEW memory_signals AS
    SELECT tenant, id, mneme_signals(type, payload) AS signals, agent_id, project, scope, visibility, policy_group, type, category, tags, who, pinned,
           importance, sensitivity, occurred_at, validity, valid_from, valid_until, live, conditions
    FROM memories
    WHERE tenant = (SELECT mneme_tenant()) AND type IN ('competence', 'plan_graph');
GRANT SELECT ON memory_signals TO mneme_app;

-- +goose Down
SELECT 1;
