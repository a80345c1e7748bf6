-- Recall knows how long texts are without reading them.

-- +goose Up

-- Adding the column rewrites the table.
ALTER TABLE memories ADD COLUMN bytes integer NOT NULL GENERATED ALWAYS AS (octet_length(content)) STORED;
COMMENT ON COLUMN memories.bytes IS 'The length of the content, for ranking.';

CREATE OR REPLACE VIEW memory_text AS
    SELECT tenant, id, tsv, agent_id, project, scope, visibility, policy_group, type, category, tags, who, pinned,
           importance, sensitivity, occurred_at, validity, valid_from, valid_until, live, conditions, confidence,
           created_at, bytes
    FROM memories
    WHERE tenant || '' = (SELECT mneme_tenant());
