-- Forgetting by itself, and what operators need: feedback on retrievals, decay by any curve, retention
-- windows, sweeps that ask before they take much.

-- +goose Up

-- A curve of its own: shares of the base salience by seconds since, [{"after_seconds": 0, "share": 1}, …].
-- NULL: the curve needs none.
ALTER TABLE memories
    ADD COLUMN decay_points jsonb CHECK (jsonb_typeof(decay_points) = 'array'),
    -- From the moment that a purge begins to take a tombstone apart, nobody can bring it back.
    ADD COLUMN purging_at   timestamptz CHECK (purging_at IS NULL OR deleted_at IS NOT NULL),
    -- Retention looked at a tombstone whose window was over, and a policy says that the row stays.
    ADD COLUMN retained_at  timestamptz CHECK (retained_at IS NULL OR deleted_at IS NOT NULL);

-- A sweep reads what is due of one tenant, oldest first, and nothing else.
DROP INDEX memories_decay_due;
CREATE INDEX memories_decay_due ON memories (tenant, decay_due_at, id) WHERE live AND decay_due_at IS NOT NULL;
-- Tombstones that a purge still has to look at.
DROP INDEX memories_deleted;
CREATE INDEX memories_tombstones ON memories (tenant, deleted_at, id) WHERE deleted_at IS NOT NULL AND erased_at IS NULL AND retained_at IS NULL
    AND purging_at IS NULL;
CREATE INDEX memories_purging ON memories (tenant, purging_at, id) WHERE purging_at IS NOT NULL;

-- A purge removes embeddings before it removes memories (document 002 "Retention Worker"); with this key
-- no other order is possible. Graph links have had theirs from the beginning.
ALTER TABLE memory_embeddings
    DROP CONSTRAINT memory_embeddings_tenant_memory_id_fkey,
    ADD CONSTRAINT memory_embeddings_tenant_memory_id_fkey FOREIGN KEY (tenant, memory_id) REFERENCES memories (tenant, id);

-- History says what became of what fell due, and of what was used.
ALTER TABLE memory_history DROP CONSTRAINT memory_history_action_check;
ALTER TABLE memory_history ADD CONSTRAINT memory_history_action_check CHECK (action IN ('create', 'revise', 'fork', 'merge', 'delete', 'recover', 'contest',
    'resolve', 'retract', 'modify', 'erase', 'archive', 'keep', 'purge', 'reinforce', 'penalise'));
CREATE INDEX memory_history_age ON memory_history (tenant, created_at, id);

-- What became of what a retrieval returned, each item once: what is said later corrects it.
CREATE TABLE retrieval_feedback (
    tenant       text        NOT NULL,
    retrieval_id uuid        NOT NULL,
    memory_id    uuid        NOT NULL, -- no foreign key: what was said of it outlives the memory
    verdict      text        NOT NULL CHECK (verdict IN ('succeeded', 'partly', 'failed', 'unused')),
    weight       double precision NOT NULL CHECK (weight BETWEEN -1 AND 1),
    moved        double precision NOT NULL CHECK (moved BETWEEN -1 AND 1), -- what it added to salience, as of effective_at: a correction takes back what is left of it
    counted      text        CHECK (counted IN ('success', 'failure')), -- where the memory keeps count of outcomes
    effective_at timestamptz NOT NULL,
    actor        text        NOT NULL CHECK (actor <> ''),
    corrections  integer     NOT NULL DEFAULT 0 CHECK (corrections >= 0),
    created_at   timestamptz NOT NULL,
    updated_at   timestamptz NOT NULL,
    PRIMARY KEY (tenant, retrieval_id, memory_id),
    FOREIGN KEY (tenant, retrieval_id) REFERENCES retrievals (tenant, id) ON DELETE CASCADE
);
CREATE INDEX retrieval_feedback_of_memory ON retrieval_feedback (tenant, memory_id, updated_at);
CREATE INDEX retrieval_feedback_age ON retrieval_feedback (tenant, updated_at);
CREATE INDEX retrievals_age ON retrievals (tenant, created_at, id);

-- How long what has ended is kept, where a tenant differs from the defaults (memory/lifecycle.DefaultRetention).
-- The row that says most decides.
CREATE TABLE retention_policies (
    tenant       text        NOT NULL CHECK (tenant <> ''),
    domain       text        NOT NULL CHECK (domain IN ('memory', 'world', 'history', 'jobs_completed', 'jobs_dead', 'retrievals')),
    tier         text        NOT NULL DEFAULT 'any' CHECK (tier IN ('any', 'interaction', 'session', 'persistent')),
    typology     text        NOT NULL DEFAULT 'any' CHECK (typology IN ('any', 'episodic', 'semantic', 'procedural')),
    keep         interval    CHECK (keep > interval '0'), -- NULL: for good
    on_expiry    text        NOT NULL CHECK (on_expiry IN ('purge', 'archive')),
    decay_exempt boolean     NOT NULL DEFAULT false,
    version      integer     NOT NULL DEFAULT 1 CHECK (version >= 1),
    updated_at   timestamptz NOT NULL,
    updated_by   text        NOT NULL CHECK (updated_by <> ''),
    reason       text        NOT NULL CHECK (reason <> ''),
    PRIMARY KEY (tenant, domain, tier, typology)
);
CREATE TABLE retention_policy_changes (
    tenant     text        NOT NULL,
    id         uuid        NOT NULL,
    seq        bigint      GENERATED ALWAYS AS IDENTITY,
    domain     text        NOT NULL,
    tier       text        NOT NULL,
    typology   text        NOT NULL,
    before     jsonb,      -- NULL: the default held
    after      jsonb,      -- NULL: the default holds again
    changed_by text        NOT NULL CHECK (changed_by <> ''),
    reason     text        NOT NULL CHECK (reason <> ''),
    changed_at timestamptz NOT NULL,
    PRIMARY KEY (tenant, id)
);
CREATE INDEX retention_policy_changes_of ON retention_policy_changes (tenant, seq);
CREATE TRIGGER retention_policy_changes_append_only BEFORE UPDATE OR DELETE ON retention_policy_changes
    FOR EACH ROW EXECUTE FUNCTION mneme_refuse_change();
CREATE TRIGGER retention_policy_changes_no_truncate BEFORE TRUNCATE ON retention_policy_changes
    FOR EACH STATEMENT EXECUTE FUNCTION mneme_refuse_change();

-- A sweep that would take more than its share of a tenant's memories asks here, and takes nothing of that
-- tenant until somebody has answered.
CREATE TABLE sweep_holds (
    tenant      text        NOT NULL CHECK (tenant <> ''),
    sweep       text        NOT NULL CHECK (sweep IN ('decay', 'retention')),
    would_take  bigint      NOT NULL CHECK (would_take >= 0), -- at least: counting ends where the share is passed by far
    stored      bigint      NOT NULL CHECK (stored >= 0),
    share       double precision NOT NULL CHECK (share BETWEEN 0 AND 1), -- that was passed
    asked_at    timestamptz NOT NULL,
    -- An answer admits that many more; NULL: nobody has answered.
    admitted    bigint      CHECK (admitted >= 0),
    answered_by text        NOT NULL DEFAULT '',
    reason      text        NOT NULL DEFAULT '',
    answered_at timestamptz,
    PRIMARY KEY (tenant, sweep)
);

-- What sweeps did to a tenant, one row a run that did or held something.
CREATE TABLE sweep_runs (
    tenant      text        NOT NULL CHECK (tenant <> ''),
    id          text        NOT NULL CHECK (id <> ''), -- of the run: a workflow's, with its first run id
    sweep       text        NOT NULL CHECK (sweep IN ('decay', 'retention')),
    counts      jsonb       NOT NULL DEFAULT '{}', -- by what was done
    started_at  timestamptz NOT NULL,
    updated_at  timestamptz NOT NULL,
    PRIMARY KEY (tenant, id)
);
CREATE INDEX sweep_runs_latest ON sweep_runs (tenant, sweep, started_at);

ALTER TABLE staged_requests DROP CONSTRAINT staged_requests_kind_check;
ALTER TABLE staged_requests ADD CONSTRAINT staged_requests_kind_check CHECK (kind IN ('put', 'revise', 'modify', 'forget', 'recover', 'review', 'feedback'));
ALTER TABLE operations DROP CONSTRAINT operations_kind_check;
ALTER TABLE operations ADD CONSTRAINT operations_kind_check CHECK (kind IN ('put', 'revise', 'modify', 'forget', 'recover', 'review', 'ingest', 'candidate',
    'resume', 'feedback', 'sweep'));

-- Jobs that have ended, by age; those that have not are few.
DROP INDEX jobs_finished;
CREATE INDEX jobs_finished ON jobs (tenant, state, finished_at, id) WHERE finished_at IS NOT NULL;
CREATE INDEX jobs_waiting ON jobs (created_at) WHERE state IN ('pending', 'leased', 'failed');
CREATE INDEX jobs_dead ON jobs (finished_at) WHERE state = 'dead';

-- Rows of history go by a purge alone, through the function below, and only when they are older than it
-- says; a text goes by erasure.
-- +goose StatementBegin
CREATE OR REPLACE FUNCTION mneme_only_erase() RETURNS trigger
    LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'UPDATE'
        AND NEW.reason = '[erased]' AND OLD.metadata @> NEW.metadata
        AND (OLD.erased_at IS NULL AND NEW.erased_at IS NOT NULL AND NEW.old_content IS NULL AND NEW.new_content IS NULL
            OR (NEW.erased_at, NEW.old_content, NEW.new_content) IS NOT DISTINCT FROM (OLD.erased_at, OLD.old_content, OLD.new_content))
        AND (NEW.tenant, NEW.seq, NEW.id, NEW.memory_id, NEW.event, NEW.changed_by, NEW.created_at, NEW.action, NEW.version)
            IS NOT DISTINCT FROM (OLD.tenant, OLD.seq, OLD.id, OLD.memory_id, OLD.event, OLD.changed_by, OLD.created_at, OLD.action, OLD.version)
    THEN
        RETURN NEW;
    END IF;
    IF TG_OP = 'DELETE' AND OLD.created_at < nullif(current_setting('mneme.history_before', true), '')::timestamptz THEN
        RETURN OLD;
    END IF;
    RAISE EXCEPTION '% is append-only: % refused', TG_TABLE_NAME, TG_OP USING ERRCODE = 'restrict_violation';
END $$;
-- +goose StatementEnd

-- Removes the running tenant's history from before a time, oldest first, so many rows at most, and returns
-- how many. What a memory went through stays as long as the memory must (document 003 D10): anything of a
-- world, and what is linked to an action.
-- +goose StatementBegin
CREATE FUNCTION mneme_purge_history(before timestamptz, most integer, action_links text[]) RETURNS bigint
    LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path FROM CURRENT
    AS $$
DECLARE
    n bigint;
BEGIN
    PERFORM set_config('mneme.history_before', before::text, true);
    WITH old AS (
        SELECT h.id FROM memory_history h WHERE h.tenant = mneme_tenant() AND h.created_at < before
            AND NOT EXISTS (SELECT FROM memories m WHERE m.tenant = h.tenant AND m.id = h.memory_id AND m.world_id IS NOT NULL)
            AND NOT EXISTS (SELECT FROM memory_relations r WHERE r.tenant = h.tenant AND r.source_id = h.memory_id AND r.predicate = ANY(action_links)
                UNION ALL SELECT FROM memory_relations r WHERE r.tenant = h.tenant AND r.target_id = h.memory_id AND r.predicate = ANY(action_links))
        ORDER BY h.created_at, h.id LIMIT most
    ), gone AS (DELETE FROM memory_history h USING old WHERE h.tenant = mneme_tenant() AND h.id = old.id RETURNING 1)
    SELECT count(*) INTO n FROM gone;
    PERFORM set_config('mneme.history_before', '', true);
    RETURN n;
END $$;
-- +goose StatementEnd

-- Names of tenants behind one, by name, so many at most: whose turn it is in a sweep. Nothing of theirs.
-- +goose StatementBegin
CREATE FUNCTION mneme_tenants(after text, most integer) RETURNS SETOF text
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path FROM CURRENT
    AS $$ SELECT c.tenant FROM corpus_stats c WHERE c.tenant > after ORDER BY c.tenant LIMIT most $$;
-- +goose StatementEnd

-- Of these the ones of which something has fallen due, one probe of the index a tenant, and those whose sweep
-- has asked: the question may have gone away.
-- +goose StatementBegin
CREATE FUNCTION mneme_decay_tenants(after text, most integer, at timestamptz) RETURNS SETOF text
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path FROM CURRENT
    AS $$ SELECT c.tenant FROM corpus_stats c WHERE c.tenant > after
        AND ((SELECT m.decay_due_at FROM memories m WHERE m.tenant = c.tenant AND m.live AND m.decay_due_at IS NOT NULL ORDER BY m.decay_due_at LIMIT 1) <= at
            OR EXISTS (SELECT FROM sweep_holds h WHERE h.tenant = c.tenant AND h.sweep = 'decay'))
        ORDER BY c.tenant LIMIT most $$;
-- +goose StatementEnd

-- What waits in the pipeline over all tenants, since when, and what is dead. Numbers and times alone.
-- +goose StatementBegin
CREATE FUNCTION mneme_job_queue(OUT waiting bigint, OUT oldest timestamptz, OUT dead bigint)
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path FROM CURRENT
    AS $$ SELECT (SELECT count(*) FROM jobs WHERE state IN ('pending', 'leased', 'failed')),
        (SELECT min(created_at) FROM jobs WHERE state IN ('pending', 'leased', 'failed')),
        (SELECT count(*) FROM jobs WHERE state = 'dead') $$;
-- +goose StatementEnd

-- Sweeps that wait for an answer, over all tenants.
-- +goose StatementBegin
CREATE FUNCTION mneme_sweep_holds() RETURNS TABLE (tenant text, sweep text, would_take bigint, stored bigint, share double precision, asked_at timestamptz)
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path FROM CURRENT
    AS $$ SELECT h.tenant, h.sweep, h.would_take, h.stored, h.share, h.asked_at FROM sweep_holds h WHERE h.admitted IS NULL ORDER BY 1, 2 $$;
-- +goose StatementEnd

-- +goose StatementBegin
DO $$
DECLARE
    t text;
    f text;
BEGIN
    FOREACH t IN ARRAY ARRAY['retrieval_feedback', 'retention_policies', 'retention_policy_changes', 'sweep_holds', 'sweep_runs'] LOOP
        EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', t);
        EXECUTE format('CREATE POLICY tenant_only ON %I USING (tenant = (SELECT mneme_tenant())) WITH CHECK (tenant = (SELECT mneme_tenant()))', t);
        EXECUTE format('GRANT SELECT, INSERT, UPDATE, DELETE ON %I TO mneme_app', t);
    END LOOP;
    REVOKE UPDATE, DELETE ON retention_policy_changes FROM mneme_app;
    FOREACH f IN ARRAY ARRAY['mneme_purge_history(timestamptz, integer, text[])', 'mneme_tenants(text, integer)', 'mneme_decay_tenants(text, integer, timestamptz)',
        'mneme_job_queue()', 'mneme_sweep_holds()'] LOOP
        EXECUTE format('REVOKE EXECUTE ON FUNCTION %s FROM PUBLIC', f);
        EXECUTE format('GRANT EXECUTE ON FUNCTION %s TO mneme_app', f);
        -- A caller's temporary tables do not stand in for a table of a function that acts as the owner.
        EXECUTE format('ALTER FUNCTION %s SET search_path = %I, pg_temp', f, current_schema());
    END LOOP;
END $$;
-- +goose StatementEnd

-- +goose Down
SELECT 1;
