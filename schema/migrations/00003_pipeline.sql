-- Staging, decisions, jobs, idempotency and the index outbox.

-- +goose Up
-- One accepted ingest request: the principal and the settings that its run works under.
CREATE TABLE ingest_batches (
    tenant              text        NOT NULL CHECK (tenant <> ''),
    id                  uuid        NOT NULL,
    workflow_id         text        NOT NULL,
    agent_id            text        NOT NULL,
    project             text        NOT NULL DEFAULT '',
    scope               text        NOT NULL DEFAULT '',
    policy_group        text        NOT NULL DEFAULT '',
    visibility          text        NOT NULL CHECK (visibility IN ('private', 'group', 'shared', 'global')),
    mode                text        NOT NULL CHECK (mode IN ('shadow', 'frozen', 'controlled')),
    allow_update_delete boolean     NOT NULL,
    min_fact_confidence double precision NOT NULL CHECK (min_fact_confidence BETWEEN 0 AND 1),
    size                integer     NOT NULL CHECK (size BETWEEN 1 AND 500),
    created_at          timestamptz NOT NULL,
    PRIMARY KEY (tenant, id)
);

-- Staging area (document 004 §15.4). A candidate's id is the id of the memory it becomes.
CREATE TABLE memory_candidates (
    tenant       text        NOT NULL,
    id           uuid        NOT NULL,
    batch_id     uuid        NOT NULL,
    ordinal      integer     NOT NULL CHECK (ordinal >= 0),
    state        text        NOT NULL CHECK (state IN ('staged', 'duplicate', 'recalled', 'done', 'dead')),
    memory_id    uuid        NOT NULL, -- id, or the live memory that it duplicates
    source_kind  text        NOT NULL CHECK (source_kind IN ('user_input', 'tool_output', 'observation', 'outcome', 'memory')),
    content      text        NOT NULL,
    category     text        NOT NULL CHECK (category IN ('fact', 'preference', 'decision', 'procedural', 'semantic', 'rule', 'learning', 'issue')),
    speaker      text        NOT NULL DEFAULT '',
    session      text        NOT NULL DEFAULT '',
    sensitivity  text        NOT NULL CHECK (sensitivity IN ('public', 'low', 'medium', 'high', 'hyper')),
    tags         text[]      NOT NULL DEFAULT '{}',
    refs         jsonb       NOT NULL DEFAULT '[]',
    occurred_at  timestamptz NOT NULL,
    extraction   jsonb,      -- facts, triples and warnings; NULL until extracted
    decided_at   timestamptz,
    linked_at    timestamptz,
    created_at   timestamptz NOT NULL,
    PRIMARY KEY (tenant, id),
    UNIQUE (tenant, batch_id, ordinal),
    FOREIGN KEY (tenant, batch_id) REFERENCES ingest_batches (tenant, id)
);

CREATE TABLE proposals (
    tenant             text        NOT NULL,
    id                 uuid        NOT NULL,
    batch_id           uuid        NOT NULL,
    candidate_id       uuid        NOT NULL,
    ordinal            integer     NOT NULL CHECK (ordinal >= 0),
    state              text        NOT NULL CHECK (state IN ('proposed', 'applied', 'skipped', 'blocked', 'stale')),
    action             text        NOT NULL CHECK (action IN ('add', 'update', 'delete', 'none')),
    fact               jsonb       NOT NULL,
    offered            jsonb       NOT NULL DEFAULT '[]', -- [{id, version, score}], best first
    target_id          uuid,
    target_version     integer,
    confidence         double precision NOT NULL CHECK (confidence BETWEEN 0 AND 1),
    reason             text        NOT NULL,
    outcome            text        NOT NULL DEFAULT '', -- machine reason of the state
    contradiction_risk boolean     NOT NULL DEFAULT false,
    review_needed      boolean     NOT NULL DEFAULT false,
    warnings           text[]      NOT NULL DEFAULT '{}',
    memory_id          uuid,       -- what was written or already known
    embedding          vector,     -- of the fact; emptied when it has been written
    embedding_model    text,
    rounds             integer     NOT NULL DEFAULT 1 CHECK (rounds >= 1),
    decided_at         timestamptz NOT NULL,
    written_at         timestamptz,
    PRIMARY KEY (tenant, id),
    UNIQUE (tenant, candidate_id, ordinal),
    FOREIGN KEY (tenant, candidate_id) REFERENCES memory_candidates (tenant, id) ON DELETE CASCADE,
    CHECK (action NOT IN ('update', 'delete') OR target_id IS NOT NULL)
);
CREATE INDEX proposals_of_batch ON proposals (tenant, batch_id, state);
-- What shadow and frozen modes held back was never meant to be applied.
CREATE INDEX proposals_to_review ON proposals (tenant, decided_at) WHERE state = 'blocked' AND outcome NOT IN ('shadow_mode', 'mutations_frozen');

-- The durable projection of what Temporal runs (document 002 "Job Queue").
CREATE TABLE jobs (
    tenant       text        NOT NULL,
    id           uuid        NOT NULL,
    kind         text        NOT NULL CHECK (kind IN ('ingest')),
    state        text        NOT NULL CHECK (state IN ('pending', 'leased', 'completed', 'failed', 'dead')),
    phase        text        NOT NULL CHECK (phase IN ('extract', 'decide', 'write', 'link', 'index', 'done')),
    batch_id     uuid        NOT NULL,
    candidate_id uuid        NOT NULL,
    memory_id    uuid        NOT NULL,
    workflow_id  text        NOT NULL,
    attempts     integer     NOT NULL DEFAULT 0 CHECK (attempts >= 0),
    max_attempts integer     NOT NULL CHECK (max_attempts >= 1),
    last_error   text        NOT NULL DEFAULT '', -- never content
    log          jsonb       NOT NULL DEFAULT '[]', -- [{attempt, phase, at, outcome, model, prompt_tokens, completion_tokens}]
    created_at   timestamptz NOT NULL,
    updated_at   timestamptz NOT NULL,
    finished_at  timestamptz,
    PRIMARY KEY (tenant, id)
);
CREATE INDEX jobs_of_batch ON jobs (tenant, batch_id, id);
CREATE INDEX jobs_by_state ON jobs (tenant, state, id);
CREATE INDEX jobs_finished ON jobs (state, finished_at) WHERE finished_at IS NOT NULL;
-- Enqueueing the same memory twice while a job is open is a no-op.
CREATE UNIQUE INDEX jobs_open ON jobs (tenant, kind, memory_id) WHERE state IN ('pending', 'leased', 'failed');

-- Idempotency: the first result of an operation, for every later delivery of it.
CREATE TABLE operations (
    tenant     text        NOT NULL,
    id         text        NOT NULL CHECK (id <> ''),
    result     jsonb       NOT NULL,
    created_at timestamptz NOT NULL,
    PRIMARY KEY (tenant, id)
);

-- What the advisory vector index has not yet been told. A row goes when it has.
CREATE TABLE index_outbox (
    tenant     text        NOT NULL,
    seq        bigint      GENERATED ALWAYS AS IDENTITY,
    memory_id  uuid        NOT NULL,
    version    integer     NOT NULL,
    op         text        NOT NULL CHECK (op IN ('upsert', 'delete')),
    attempts   integer     NOT NULL DEFAULT 0,
    created_at timestamptz NOT NULL,
    PRIMARY KEY (tenant, seq)
);
CREATE INDEX index_outbox_of_memory ON index_outbox (tenant, memory_id, seq);

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

-- +goose Down
SELECT 1;
