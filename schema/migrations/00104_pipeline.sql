-- The pipeline: requests that are carried out once, what came in, staging, decisions, jobs, and the index outbox.

-- +goose Up

CREATE TABLE operations (
    tenant     text        NOT NULL,
    id         text        NOT NULL CHECK (id <> ''),
    kind       text        CHECK (kind IN ('put', 'revise', 'modify', 'forget', 'recover', 'review', 'ingest',
        'candidate', 'resume', 'feedback', 'sweep')),
    digest     bytea,      -- of the request, keyed: it confirms no guess at what was erased
    result     jsonb       NOT NULL,
    created_at timestamptz NOT NULL,
    PRIMARY KEY (tenant, id)
);
COMMENT ON TABLE operations IS
    'The first result of an operation, which answers every later delivery of the same request (idempotency).';
CALL mneme_protect_table('operations');
-- Results of puts contain the caller's own ids, which erasure removes: see mneme_erase_external.
CREATE INDEX operations_of_memory ON operations USING gin ((result->'items') jsonb_path_ops)
    WHERE jsonb_path_exists(result, '$.items[*].external_id');
CREATE INDEX operations_age ON operations (tenant, created_at, id);

CREATE TABLE staged_requests (
    tenant     text        NOT NULL CHECK (tenant <> ''),
    id         text        NOT NULL CHECK (id <> ''),
    kind       text        NOT NULL
        CHECK (kind IN ('put', 'revise', 'modify', 'forget', 'recover', 'review', 'feedback')),
    body       jsonb       NOT NULL,
    created_at timestamptz NOT NULL,
    digest     bytea, -- of the body, keyed
    PRIMARY KEY (tenant, id)
);
COMMENT ON TABLE staged_requests IS
    'The body of a request that carries content, until it is carried out: activities pass its id (claim check).';
CALL mneme_protect_table('staged_requests');

-- A run drops its request when it ends. A run that was terminated cannot, so its request goes after a week. The
-- function deletes across tenants and returns only a count.
-- +goose StatementBegin
CREATE FUNCTION mneme_sweep_staged() RETURNS bigint
    LANGUAGE sql VOLATILE SECURITY DEFINER
    AS $$
    WITH swept AS (DELETE FROM staged_requests WHERE created_at < now() - interval '7 days' RETURNING 1)
    SELECT count(*) FROM swept;
    $$;
-- +goose StatementEnd
CALL mneme_protect_function('mneme_sweep_staged()');

-- ---- staging and decisions ---------------------------------------------------------------------

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
    -- which changes of facts may be applied without a person: all, the speaker's own, none
    supersede           text        NOT NULL DEFAULT 'review' CHECK (supersede IN ('auto', 'own', 'review')),
    PRIMARY KEY (tenant, id)
);
COMMENT ON TABLE ingest_batches IS
    'One accepted ingest request: the principal and the settings that its run works under.';
CALL mneme_protect_table('ingest_batches');
CREATE INDEX ingest_batches_age ON ingest_batches (tenant, created_at, id);

CREATE TABLE memory_candidates (
    tenant       text        NOT NULL,
    id           uuid        NOT NULL, -- also the id of the memory that it becomes
    batch_id     uuid        NOT NULL,
    ordinal      integer     NOT NULL CHECK (ordinal >= 0),
    state        text        NOT NULL CHECK (state IN ('staged', 'duplicate', 'recalled', 'done', 'dead')),
    memory_id    uuid        NOT NULL, -- id, or the live memory that it duplicates
    source_kind  text        NOT NULL
        CHECK (source_kind IN ('user_input', 'tool_output', 'observation', 'outcome', 'memory')),
    content      text        NOT NULL,
    category     text        NOT NULL CHECK (category IN
        ('fact', 'preference', 'decision', 'procedural', 'semantic', 'rule', 'learning', 'issue')),
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
    UNIQUE (batch_id, tenant, ordinal), -- the tenant comes second: see memory_links_target
    FOREIGN KEY (tenant, batch_id) REFERENCES ingest_batches (tenant, id)
);
COMMENT ON TABLE memory_candidates IS
    'One item of a batch in the staging area (document 004 §15.4): what was said, and how far the pipeline has come.';
CALL mneme_protect_table('memory_candidates');
-- Erasure finds the texts that a memory came from.
CREATE INDEX memory_candidates_of_memory ON memory_candidates (memory_id, tenant);

CREATE TABLE proposals (
    tenant             text        NOT NULL,
    id                 uuid        NOT NULL,
    batch_id           uuid        NOT NULL,
    candidate_id       uuid        NOT NULL,
    ordinal            integer     NOT NULL CHECK (ordinal >= 0),
    state              text        NOT NULL
        CHECK (state IN ('proposed', 'applied', 'skipped', 'blocked', 'stale', 'rejected', 'expired')),
    action             text        NOT NULL CHECK (action IN ('add', 'update', 'delete', 'none')),
    fact               jsonb       NOT NULL,
    offered            jsonb       NOT NULL DEFAULT '[]', -- [{id, version, score}], best first
    target_id          uuid,
    target_version     integer,
    change             text        NOT NULL DEFAULT 'none'
        CHECK (change IN ('none', 'supersede', 'contest', 'retract')), -- what the fact does to its target
    own                boolean     NOT NULL DEFAULT false, -- the speaker's own later statement
    also               uuid[]      NOT NULL DEFAULT '{}',  -- other memories that say the same as the target
    confidence         double precision NOT NULL CHECK (confidence BETWEEN 0 AND 1),
    reason             text        NOT NULL,
    outcome            text        NOT NULL DEFAULT '', -- why it has this state, for programs
    contradiction_risk boolean     NOT NULL DEFAULT false,
    review_needed      boolean     NOT NULL DEFAULT false,
    reviewed_by        text        NOT NULL DEFAULT '',
    review_reason      text        NOT NULL DEFAULT '',
    reviewed_at        timestamptz,
    expires_at         timestamptz, -- set when it begins to wait for a review; NULL: it waits without end
    warnings           text[]      NOT NULL DEFAULT '{}',
    memory_id          uuid,       -- what was written or was already known
    embedding          vector,     -- of the fact; emptied when it has been written
    embedding_model    text,
    rounds             integer     NOT NULL DEFAULT 1 CHECK (rounds >= 1),
    decided_at         timestamptz NOT NULL,
    written_at         timestamptz,
    PRIMARY KEY (tenant, id),
    UNIQUE (candidate_id, tenant, ordinal), -- the tenant comes second: see memory_links_target
    FOREIGN KEY (tenant, candidate_id) REFERENCES memory_candidates (tenant, id) ON DELETE CASCADE,
    CONSTRAINT proposals_change_has_a_target CHECK (action NOT IN ('update', 'delete') OR target_id IS NOT NULL)
);
COMMENT ON TABLE proposals IS
    'What a model or rule decided about one extracted fact, what became of it, and who reviewed it.';
CALL mneme_protect_table('proposals');
-- Proposals are listed newest first; those of one batch were decided at the same time. What shadow and frozen modes
-- held back was never meant to be applied.
CREATE INDEX proposals_to_review ON proposals (tenant, decided_at, id)
    WHERE state = 'blocked' AND outcome NOT IN ('shadow_mode', 'mutations_frozen');
CREATE INDEX proposals_reviewed ON proposals (tenant, decided_at, id) WHERE reviewed_at IS NOT NULL;
CREATE INDEX proposals_of_memory ON proposals (tenant, memory_id) WHERE memory_id IS NOT NULL;
CREATE INDEX proposals_of_target ON proposals (tenant, target_id) WHERE target_id IS NOT NULL;
CREATE INDEX proposals_of_batch ON proposals (batch_id, tenant, state);

-- ---- jobs --------------------------------------------------------------------------------------

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
    log          jsonb       NOT NULL DEFAULT '[]',
        -- [{attempt, phase, at, outcome, model, prompt_tokens, completion_tokens}]
    created_at   timestamptz NOT NULL,
    revived_at   timestamptz, -- when a dead job was replayed: it has waited since then, not since it was created
    updated_at   timestamptz NOT NULL,
    finished_at  timestamptz,
    PRIMARY KEY (tenant, id)
);
COMMENT ON TABLE jobs IS
    'The state of one candidate''s pipeline for operators, a projection of what Temporal runs (document 002).';
CALL mneme_protect_table('jobs');
CREATE INDEX jobs_by_state ON jobs (tenant, state, id);
-- Enqueueing a memory twice while its job is open changes nothing.
CREATE UNIQUE INDEX jobs_open ON jobs (tenant, kind, memory_id) WHERE state IN ('pending', 'leased', 'failed');
CREATE INDEX jobs_finished ON jobs (tenant, state, finished_at, id) WHERE finished_at IS NOT NULL;
CREATE INDEX jobs_dead ON jobs (finished_at) WHERE state = 'dead';
CREATE INDEX jobs_waiting ON jobs ((coalesce(revived_at, created_at))) WHERE state IN ('pending', 'leased', 'failed');
CREATE INDEX jobs_of_batch ON jobs (batch_id, tenant, id);
-- The cost of a model call, and a failure, are noted on the job of a candidate.
CREATE INDEX jobs_of_candidate ON jobs (candidate_id, tenant);

-- How many jobs of all tenants wait, since when, and how many are dead: numbers and a time, nothing else.
-- +goose StatementBegin
CREATE FUNCTION mneme_job_queue(OUT waiting bigint, OUT oldest timestamptz, OUT dead bigint)
    LANGUAGE sql STABLE SECURITY DEFINER
    AS $$ SELECT (SELECT count(*) FROM jobs WHERE state IN ('pending', 'leased', 'failed')),
        (SELECT min(coalesce(revived_at, created_at)) FROM jobs WHERE state IN ('pending', 'leased', 'failed')),
        (SELECT count(*) FROM jobs WHERE state = 'dead') $$;
-- +goose StatementEnd
CALL mneme_protect_function('mneme_job_queue()');

-- ---- the index outbox --------------------------------------------------------------------------

CREATE TABLE index_outbox (
    tenant     text        NOT NULL,
    seq        bigint      GENERATED ALWAYS AS IDENTITY,
    memory_id  uuid        NOT NULL,
    version    integer     NOT NULL,
    op         text        NOT NULL CHECK (op IN ('upsert', 'delete')),
    attempts   integer     NOT NULL DEFAULT 0,
    retry_at   timestamptz,                 -- later after each attempt; NULL: at once
    parked_at  timestamptz,                 -- put aside after enough attempts, so that it blocks nothing; NULL: tried
    last_error text        NOT NULL DEFAULT '', -- never content
    created_at timestamptz NOT NULL,
    PRIMARY KEY (tenant, seq)
);
COMMENT ON TABLE index_outbox IS
    'One change that the advisory vector index has not been told yet; the row goes when it has.';
CALL mneme_protect_table('index_outbox');
CREATE INDEX index_outbox_open ON index_outbox (tenant, seq) WHERE parked_at IS NULL;
CREATE INDEX index_outbox_parked ON index_outbox (tenant, memory_id) WHERE parked_at IS NOT NULL;
CREATE INDEX index_outbox_of_memory ON index_outbox (memory_id, tenant, seq);

-- The names of tenants with changes in the outbox that are not parked.
-- +goose StatementBegin
CREATE FUNCTION mneme_outbox_tenants() RETURNS SETOF text
    LANGUAGE sql STABLE SECURITY DEFINER
    AS $$
    -- A loose index scan: one probe per tenant, however long its queue.
    WITH RECURSIVE t AS (
        (SELECT tenant FROM index_outbox WHERE parked_at IS NULL ORDER BY tenant LIMIT 1)
        UNION ALL
        SELECT (SELECT o.tenant FROM index_outbox o WHERE o.parked_at IS NULL AND o.tenant > t.tenant
            ORDER BY o.tenant LIMIT 1)
        FROM t WHERE t.tenant IS NOT NULL
    )
    SELECT tenant FROM t WHERE tenant IS NOT NULL;
    $$;
-- +goose StatementEnd
CALL mneme_protect_function('mneme_outbox_tenants()');

-- How far the index is behind, over all tenants: counts and a time, nothing else.
-- +goose StatementBegin
CREATE FUNCTION mneme_outbox_lag() RETURNS TABLE (pending bigint, parked bigint, oldest timestamptz)
    LANGUAGE sql STABLE SECURITY DEFINER
    AS $$
    SELECT count(*) FILTER (WHERE parked_at IS NULL), count(*) FILTER (WHERE parked_at IS NOT NULL),
        min(created_at) FILTER (WHERE parked_at IS NULL)
    FROM index_outbox;
    $$;
-- +goose StatementEnd
CALL mneme_protect_function('mneme_outbox_lag()');
