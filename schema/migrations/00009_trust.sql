-- Trust-aware retrieval: what may be told of a memory to whom its content may not be shown.

-- +goose Up

ALTER TABLE memories ADD COLUMN safe_summary text NOT NULL DEFAULT ''; -- empty: there is none

-- What the search for safe summaries reads: none of the content. A view for the same reason as
-- memory_search, over the few memories that have one.
CREATE VIEW memory_summaries AS
    SELECT tenant, id, to_tsvector(mneme_text_config(language), safe_summary) AS tsv, agent_id, project, scope, visibility, policy_group, type, category,
           sensitivity, occurred_at, valid_from, valid_until, live
    FROM memories
    WHERE tenant = (SELECT mneme_tenant()) AND safe_summary <> '';
GRANT SELECT ON memory_summaries TO mneme_app;

CREATE INDEX memories_summary ON memories USING gin (tenant, to_tsvector(mneme_text_config(language), safe_summary)) WHERE live AND safe_summary <> '';
-- Newest first among those that a limit usually stands before.
CREATE INDEX memories_sensitive ON memories (tenant, id) WHERE live AND sensitivity IN ('high', 'hyper');

-- +goose Down
SELECT 1;
