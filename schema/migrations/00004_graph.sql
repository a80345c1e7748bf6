-- The entity graph (document 002 "Graph Entity Persistence").

-- +goose Up
CREATE TABLE entities (
    tenant         text        NOT NULL,
    id             uuid        NOT NULL,
    canonical_name text        NOT NULL CHECK (canonical_name <> ''), -- lower-cased, spaces collapsed
    name           text        NOT NULL,
    mentions       bigint      NOT NULL DEFAULT 0 CHECK (mentions >= 0),
    created_at     timestamptz NOT NULL,
    updated_at     timestamptz NOT NULL,
    PRIMARY KEY (tenant, id),
    UNIQUE (tenant, canonical_name)
);

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
CREATE INDEX entity_relations_target ON entity_relations (tenant, target_id);

CREATE TABLE memory_entity_mentions (
    tenant     text        NOT NULL,
    memory_id  uuid        NOT NULL,
    entity_id  uuid        NOT NULL,
    created_at timestamptz NOT NULL,
    PRIMARY KEY (tenant, memory_id, entity_id),
    FOREIGN KEY (tenant, memory_id) REFERENCES memories (tenant, id),
    FOREIGN KEY (tenant, entity_id) REFERENCES entities (tenant, id)
);
CREATE INDEX memory_entity_mentions_of_entity ON memory_entity_mentions (tenant, entity_id);

-- What memories state: subject, predicate and object. A later statement about the same subject and
-- predicate finds the earlier one here.
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
CREATE INDEX entity_claims_lookup ON entity_claims (tenant, subject_key, predicate);

-- +goose Down
SELECT 1;
