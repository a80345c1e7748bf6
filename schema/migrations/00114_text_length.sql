-- Full-text search knows the lengths of texts, for ranking.

-- +goose Up

-- The length of a text is known without reading it.
CREATE OR REPLACE VIEW memory_text AS
    SELECT tenant, id, tsv, agent_id, project, scope, visibility, policy_group, type, category, tags, who, pinned,
           importance, sensitivity, occurred_at, validity, valid_from, valid_until, live, conditions, confidence,
           created_at, octet_length(content) AS bytes
    FROM memories
    WHERE tenant || '' = (SELECT mneme_tenant());
