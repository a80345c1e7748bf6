-- Recall: prospective hints, the views that its channels search, and what a retrieval returned and was worth.

-- +goose Up

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
COMMENT ON TABLE memory_hints IS
    'A question that a memory answers, written with it, for those who ask in other words (document 002 Phase 2).';
CALL mneme_protect_table('memory_hints');
CREATE INDEX memory_hints_text ON memory_hints USING gin (tenant, tsv) WITH (gin_pending_list_limit = 256);

-- ---- what the channels search ------------------------------------------------------------------

-- Ids, lexemes and what the filter needs, never content. Under row-level security Postgres uses no index for an
-- operator that is not leakproof, and @@ is not. These views belong to the migrations' owner and have the condition on
-- the tenant built in, so that the planner may use the GIN indexes.

-- For rows whose ids are known: any index of memories can serve the condition.
CREATE VIEW memory_search AS
    SELECT tenant, id, tsv, agent_id, project, scope, visibility, policy_group, type, category, tags, who, pinned,
           importance, sensitivity, occurred_at, validity, valid_from, valid_until, live, conditions, confidence,
           created_at
    FROM memories
    WHERE tenant = (SELECT mneme_tenant());
GRANT SELECT ON memory_search TO mneme_app;

-- For full-text search: only memories_text can serve the condition, so that no plan reads all memories of a tenant.
CREATE VIEW memory_text AS
    SELECT tenant, id, tsv, agent_id, project, scope, visibility, policy_group, type, category, tags, who, pinned,
           importance, sensitivity, occurred_at, validity, valid_from, valid_until, live, conditions, confidence,
           created_at
    FROM memories
    WHERE tenant || '' = (SELECT mneme_tenant());
GRANT SELECT ON memory_text TO mneme_app;

-- For procedures and plans, by what they are for.
CREATE VIEW memory_signals AS
    SELECT tenant, id, mneme_signals(type, payload) AS signals, agent_id, project, scope, visibility, policy_group,
           type, category, tags, who, pinned, importance, sensitivity, occurred_at, validity, valid_from, valid_until,
           live, conditions, created_at
    FROM memories
    WHERE tenant = (SELECT mneme_tenant()) AND type IN ('competence', 'plan_graph');
GRANT SELECT ON memory_signals TO mneme_app;

-- For safe summaries: none of the content.
CREATE VIEW memory_summaries AS
    SELECT tenant, id, to_tsvector(mneme_text_config(language), safe_summary) AS tsv, agent_id, project, scope,
           visibility, policy_group, type, category, sensitivity, occurred_at, valid_from, valid_until, live
    FROM memories
    WHERE tenant = (SELECT mneme_tenant()) AND safe_summary <> '';
GRANT SELECT ON memory_summaries TO mneme_app;

CREATE VIEW memory_hint_search AS
    SELECT tenant, memory_id, tsv FROM memory_hints WHERE tenant = (SELECT mneme_tenant());
GRANT SELECT ON memory_hint_search TO mneme_app;

CREATE VIEW claim_search AS
    SELECT tenant, memory_id, mneme_claim_text(subject, predicate, object) AS tsv
    FROM entity_claims WHERE tenant = (SELECT mneme_tenant()) AND predicate <> 'states';
GRANT SELECT ON claim_search TO mneme_app;

CREATE VIEW artifact_search AS
    SELECT tenant, sha256, words FROM artifacts WHERE tenant = (SELECT mneme_tenant());
GRANT SELECT ON artifact_search TO mneme_app;

-- Whether a conditional memory applies in a context: no condition is contradicted. A key that the context does not have
-- decides nothing. A condition that is a list admits each of its elements.
-- +goose StatementBegin
CREATE FUNCTION mneme_applies(conditions jsonb, context jsonb) RETURNS boolean
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN conditions IS NULL OR context IS NULL OR NOT EXISTS (
        SELECT FROM jsonb_each(conditions) c
        WHERE context ? c.key
            AND NOT CASE jsonb_typeof(c.value)
                WHEN 'array' THEN EXISTS (SELECT FROM jsonb_array_elements(c.value) admitted
                    WHERE admitted.value = context->c.key)
                ELSE c.value = context->c.key END);
-- +goose StatementEnd

-- ---- retrievals and feedback -------------------------------------------------------------------

CREATE TABLE retrievals (
    tenant      text        NOT NULL,
    id          uuid        NOT NULL,
    agent_id    text        NOT NULL,
    project     text        NOT NULL DEFAULT '',
    scope       text        NOT NULL DEFAULT '',
    query_hash  bytea       NOT NULL, -- the query itself may be as private as what it asks for
    memory_ids  uuid[]      NOT NULL,
    degraded    text[]      NOT NULL DEFAULT '{}',
    took_ms     double precision NOT NULL,
    created_at  timestamptz NOT NULL,
    PRIMARY KEY (tenant, id)
);
COMMENT ON TABLE retrievals IS
    'One recall: who asked, which memories were returned, and what was degraded.';
CALL mneme_protect_table('retrievals');
CREATE INDEX retrievals_age ON retrievals (tenant, created_at, id);

CREATE TABLE retrieval_feedback (
    tenant       text        NOT NULL,
    retrieval_id uuid        NOT NULL,
    memory_id    uuid        NOT NULL, -- no foreign key: feedback outlives the memory
    verdict      text        NOT NULL CHECK (verdict IN ('succeeded', 'partly', 'failed', 'unused')),
    weight       double precision NOT NULL CHECK (weight BETWEEN -1 AND 1),
    -- what it added to salience as of effective_at; a correction takes back what is left of that
    moved        double precision NOT NULL CHECK (moved BETWEEN -1 AND 1),
    counted      text        CHECK (counted IN ('success', 'failure')), -- where the memory counts outcomes
    effective_at timestamptz NOT NULL,
    actor        text        NOT NULL CHECK (actor <> ''),
    corrections  integer     NOT NULL DEFAULT 0 CHECK (corrections >= 0),
    created_at   timestamptz NOT NULL,
    updated_at   timestamptz NOT NULL,
    PRIMARY KEY (tenant, retrieval_id, memory_id),
    FOREIGN KEY (tenant, retrieval_id) REFERENCES retrievals (tenant, id) ON DELETE CASCADE
);
COMMENT ON TABLE retrieval_feedback IS
    'What one returned memory of a retrieval was worth, once per memory; later feedback corrects the row.';
CALL mneme_protect_table('retrieval_feedback');
CREATE INDEX retrieval_feedback_of_memory ON retrieval_feedback (tenant, memory_id, updated_at);
CREATE INDEX retrieval_feedback_age ON retrieval_feedback (tenant, updated_at);
