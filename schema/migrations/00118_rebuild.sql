-- Rebuilding what sessions derive from the ledger needs to know as whom they read it: the policy group decides which
-- events an agent sees.

-- +goose Up

ALTER TABLE sessions ADD COLUMN principal jsonb; -- that opened it last; NULL: opened before this migration
ALTER TABLE session_episodes ADD COLUMN principal jsonb; -- that closed it

UPDATE sessions
SET principal = jsonb_build_object('tenant', tenant, 'agent', agent_id, 'scope', scope);
UPDATE session_episodes e
SET principal = s.principal || coalesce((
    SELECT jsonb_build_object('project', m.project, 'policy_group', m.policy_group)
    FROM memories m
    WHERE m.tenant = e.tenant AND m.id = e.memory_id), '{}')
FROM sessions s
WHERE s.tenant = e.tenant AND s.id = e.session_id;

-- How sessions and the ledger are, over all tenants: counts and times. The number of events is an estimate of the
-- planner's, for counting them would read them. Events in no month's partition make its partition impossible.
-- +goose StatementBegin
CREATE FUNCTION mneme_ledger_state() RETURNS TABLE
    (open_sessions bigint, oldest_session timestamptz, events bigint, unplaced boolean)
    LANGUAGE sql STABLE SECURITY DEFINER
    AS $$
    SELECT (SELECT count(*) FROM sessions s WHERE s.state = 'open'),
        (SELECT min(s.updated_at) FROM sessions s WHERE s.state = 'open'),
        (SELECT coalesce(sum(greatest(0, c.reltuples)), 0)::bigint
            FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
            WHERE i.inhparent = 'events'::regclass),
        EXISTS (SELECT FROM events_rest)
    $$;
-- +goose StatementEnd
CALL mneme_protect_function('mneme_ledger_state()');

-- +goose Down
SELECT 1;
