-- Indexes that leave the planner one plan, whatever its statistics say of a tenant.

-- +goose Up

-- The neighbour search takes the newest claims of a subject and predicate. With the time in the index it reads as many
-- as it takes; without, it reads and sorts all of them.
DROP INDEX entity_claims_lookup;
CREATE INDEX entity_claims_lookup ON entity_claims (tenant, subject_key, predicate, created_at DESC);

-- Full text is asked through memory_search. As long as its condition on the tenant could be served by any index that
-- begins with the tenant, a tenant that the planner took for a few rows was read whole for every question. No other
-- index has this expression.
DROP INDEX memories_text;
CREATE INDEX memories_text ON memories USING gin ((tenant || ''), tsv) WITH (gin_pending_list_limit = 256) WHERE live;
CREATE OR REPLACE VIEW memory_search AS
    SELECT tenant, id, tsv, agent_id, project, scope, visibility, policy_group, type, category, tags, who, pinned,
           importance, sensitivity, occurred_at, validity, valid_from, valid_until, live, conditions, confidence
    FROM memories
    WHERE tenant || '' = (SELECT mneme_tenant());

-- +goose Down
SELECT 1;
