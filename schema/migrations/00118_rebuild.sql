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

-- +goose Down
SELECT 1;
