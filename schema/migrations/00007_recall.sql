-- The read path in full: sessions in order, hints, claims, time and the graph.

-- +goose Up

-- What was said next to it: the turns of one session in their order.
CREATE INDEX memories_session ON memories (tenant, agent_session_id, agent_id, occurred_at, id)
    WHERE live AND typology = 'episodic' AND agent_session_id IS NOT NULL;

-- Prospective hints: questions that a memory answers, written with it (document 002 Phase 2). They find
-- it for whoever asks in other words than it is told in.
CREATE TABLE memory_hints (
    tenant     text        NOT NULL,
    memory_id  uuid        NOT NULL,
    position   smallint    NOT NULL CHECK (position BETWEEN 0 AND 4),
    source     text        NOT NULL CHECK (source IN ('rules', 'model')),
    hint       text        NOT NULL CHECK (char_length(hint) BETWEEN 10 AND 300),
    created_at timestamptz NOT NULL,
    tsv        tsvector    NOT NULL GENERATED ALWAYS AS (to_tsvector(mneme_text_config('en'), hint)) STORED,
    PRIMARY KEY (tenant, memory_id, position),
    FOREIGN KEY (tenant, memory_id) REFERENCES memories (tenant, id) ON DELETE CASCADE
);
CREATE INDEX memory_hints_text ON memory_hints USING gin (tenant, tsv) WITH (gin_pending_list_limit = 256);
ALTER TABLE memory_hints ENABLE ROW LEVEL SECURITY;
CREATE POLICY tenant_only ON memory_hints USING (tenant = (SELECT mneme_tenant())) WITH CHECK (tenant = (SELECT mneme_tenant()));
GRANT SELECT, INSERT, UPDATE, DELETE ON memory_hints TO mneme_app;

-- What the hint channel reads: see memory_search.
CREATE VIEW memory_hint_search AS
    SELECT tenant, memory_id, tsv FROM memory_hints WHERE tenant = (SELECT mneme_tenant());
GRANT SELECT ON memory_hint_search TO mneme_app;

-- The words of a claim's path: subject, predicate, object.
-- +goose StatementBegin
CREATE FUNCTION mneme_claim_text(subject text, predicate text, object text) RETURNS tsvector
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN to_tsvector(mneme_text_config('en'), left(subject, 500) || ' ' || replace(left(predicate, 500), '_', ' ') || ' ' || left(object, 1000));
-- +goose StatementEnd
-- A statement of nothing but its own text is the text channel's.
CREATE INDEX entity_claims_text ON entity_claims USING gin (tenant, mneme_claim_text(subject, predicate, object)) WHERE predicate <> 'states';
CREATE VIEW claim_search AS
    SELECT tenant, memory_id, mneme_claim_text(subject, predicate, object) AS tsv
    FROM entity_claims WHERE tenant = (SELECT mneme_tenant()) AND predicate <> 'states';
GRANT SELECT ON claim_search TO mneme_app;

-- What happened in a span of time. The agent stands behind the time: one index for whoever reads its own
-- memories and whoever reads what others share.
CREATE INDEX memories_occurred ON memories (tenant, occurred_at, agent_id) WHERE live;
CREATE INDEX memories_timeboxed ON memories (tenant, valid_from, valid_until) WHERE live AND validity = 'timeboxed';

-- The best edges of a node, and the latest memories that name it, without reading all of a hub's.
CREATE INDEX entity_relations_source ON entity_relations (tenant, source_id, confidence DESC);
DROP INDEX entity_relations_target;
CREATE INDEX entity_relations_target ON entity_relations (tenant, target_id, confidence DESC);
DROP INDEX memory_entity_mentions_of_entity;
CREATE INDEX memory_entity_mentions_of_entity ON memory_entity_mentions (tenant, entity_id, memory_id);

CREATE OR REPLACE VIEW memory_search AS
    SELECT tenant, id, tsv, agent_id, project, scope, visibility, policy_group, type, category, tags, who, pinned,
           importance, sensitivity, occurred_at, validity, valid_from, valid_until, live, conditions, confidence
    FROM memories
    WHERE tenant = (SELECT mneme_tenant());

-- +goose Down
SELECT 1;
