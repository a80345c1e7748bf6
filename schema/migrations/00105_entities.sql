-- Entities and claims: the graph of who and what memories name (document 002 "Graph Entity Persistence"), and what they
-- state as subject, predicate and object.

-- +goose Up

CREATE TABLE entities (
    tenant         text        NOT NULL,
    id             uuid        NOT NULL,
    canonical_name text        NOT NULL CHECK (canonical_name <> ''), -- in lower case, with single spaces
    name           text        NOT NULL,
    mentions       bigint      NOT NULL DEFAULT 0 CHECK (mentions >= 0),
    created_at     timestamptz NOT NULL,
    updated_at     timestamptz NOT NULL,
    PRIMARY KEY (tenant, id),
    -- The tenant comes second: see memory_links_target.
    CONSTRAINT entities_canonical_name_tenant_key UNIQUE (canonical_name, tenant)
);
COMMENT ON TABLE entities IS
    'A person, place or thing that memories of a tenant name, once per name.';
CALL mneme_protect_table('entities');

CREATE TABLE entity_relations (
    tenant       text        NOT NULL,
    source_id    uuid        NOT NULL,
    relationship text        NOT NULL CHECK (relationship <> ''),
    target_id    uuid        NOT NULL,
    mentions     bigint      NOT NULL DEFAULT 0 CHECK (mentions >= 0),
    confidence   double precision NOT NULL CHECK (confidence BETWEEN 0 AND 1),
    created_at   timestamptz NOT NULL,
    updated_at   timestamptz NOT NULL,
    PRIMARY KEY (tenant, source_id, relationship, target_id),
    FOREIGN KEY (tenant, source_id) REFERENCES entities (tenant, id) ON DELETE CASCADE,
    FOREIGN KEY (tenant, target_id) REFERENCES entities (tenant, id) ON DELETE CASCADE
);
COMMENT ON TABLE entity_relations IS
    'A relation from one entity to another, as memories state it: an edge of the graph that recall follows.';
CALL mneme_protect_table('entity_relations');
-- The best edges of a node are read without reading all edges of a hub.
CREATE INDEX entity_relations_source ON entity_relations (tenant, source_id, confidence DESC);
CREATE INDEX entity_relations_target ON entity_relations (tenant, target_id, confidence DESC);

CREATE TABLE entity_relation_sources (
    tenant       text NOT NULL,
    memory_id    uuid NOT NULL,
    source_id    uuid NOT NULL,
    relationship text NOT NULL,
    target_id    uuid NOT NULL,
    PRIMARY KEY (tenant, memory_id, source_id, relationship, target_id),
    FOREIGN KEY (tenant, memory_id) REFERENCES memories (tenant, id),
    FOREIGN KEY (tenant, source_id, relationship, target_id)
        REFERENCES entity_relations (tenant, source_id, relationship, target_id) ON DELETE CASCADE
);
COMMENT ON TABLE entity_relation_sources IS
    'That a memory states a relation between entities, so that forgetting it takes back exactly that statement.';
CALL mneme_protect_table('entity_relation_sources');
CREATE INDEX entity_relation_sources_of ON entity_relation_sources (tenant, source_id, relationship, target_id);

CREATE TABLE memory_entity_mentions (
    tenant     text        NOT NULL,
    memory_id  uuid        NOT NULL,
    entity_id  uuid        NOT NULL,
    created_at timestamptz NOT NULL,
    PRIMARY KEY (tenant, memory_id, entity_id),
    FOREIGN KEY (tenant, memory_id) REFERENCES memories (tenant, id),
    FOREIGN KEY (tenant, entity_id) REFERENCES entities (tenant, id)
);
COMMENT ON TABLE memory_entity_mentions IS
    'That a memory names an entity: recall goes from an entity to its latest memories.';
CALL mneme_protect_table('memory_entity_mentions');
CREATE INDEX memory_entity_mentions_of_entity ON memory_entity_mentions (tenant, entity_id, memory_id);

-- ---- claims ------------------------------------------------------------------------------------

-- The words of a claim: subject, predicate, object.
-- +goose StatementBegin
CREATE FUNCTION mneme_claim_text(subject text, predicate text, object text) RETURNS tsvector
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN to_tsvector(mneme_text_config('en'),
        left(subject, 500) || ' ' || replace(left(predicate, 500), '_', ' ') || ' ' || left(object, 1000));
-- +goose StatementEnd

CREATE TABLE entity_claims (
    tenant     text        NOT NULL,
    memory_id  uuid        NOT NULL,
    subject    text        NOT NULL,
    predicate  text        NOT NULL,
    object     text        NOT NULL,
    functional boolean     NOT NULL,
    created_at timestamptz NOT NULL,
    subject_key text       NOT NULL GENERATED ALWAYS AS (lower(subject)) STORED, -- see memories
    PRIMARY KEY (tenant, memory_id, subject, predicate),
    FOREIGN KEY (tenant, memory_id) REFERENCES memories (tenant, id) ON DELETE CASCADE
);
COMMENT ON TABLE entity_claims IS
    'A claim that a memory makes: a later claim about the same subject and predicate finds the earlier one here.';
CALL mneme_protect_table('entity_claims');
-- A claim that has nothing but its own text is found by the text channel.
CREATE INDEX entity_claims_text ON entity_claims
    USING gin (tenant, mneme_claim_text(subject, predicate, object)) WITH (gin_pending_list_limit = 256)
    WHERE predicate <> 'states';
-- The neighbour search takes the newest claims about a subject. With the time in the index it reads as many as it
-- takes; without, it would read and sort all of them.
CREATE INDEX entity_claims_lookup ON entity_claims (tenant, subject_key, predicate, created_at DESC);
