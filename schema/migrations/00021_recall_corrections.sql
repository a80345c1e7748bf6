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

-- +goose Down
SELECT 1;
