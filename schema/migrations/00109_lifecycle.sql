-- The end of memories and of what is kept about them: retention, sweeps, forgetting, erasure and purges.

-- +goose Up

-- ---- retention ---------------------------------------------------------------------------------

-- Defaults are in memory/lifecycle.DefaultRetention. Of the rows that fit, the most specific one decides.
CREATE TABLE retention_policies (
    tenant       text        NOT NULL CHECK (tenant <> ''),
    domain       text        NOT NULL CHECK (domain IN ('memory', 'world', 'history', 'jobs_completed', 'jobs_dead',
        'retrievals', 'ingest', 'forget_runs', 'events', 'operations', 'artifacts')),
    tier         text        NOT NULL DEFAULT 'any' CHECK (tier IN ('any', 'interaction', 'session', 'persistent')),
    typology     text        NOT NULL DEFAULT 'any' CHECK (typology IN ('any', 'episodic', 'semantic', 'procedural')),
    keep         interval    CHECK (keep > interval '0'), -- NULL: without end
    on_expiry    text        NOT NULL CHECK (on_expiry IN ('purge', 'archive')),
    decay_exempt boolean     NOT NULL DEFAULT false,
    version      integer     NOT NULL DEFAULT 1 CHECK (version >= 1),
    updated_at   timestamptz NOT NULL,
    updated_by   text        NOT NULL CHECK (updated_by <> ''),
    reason       text        NOT NULL CHECK (reason <> ''),
    PRIMARY KEY (tenant, domain, tier, typology)
);
COMMENT ON TABLE retention_policies IS
    'How long a tenant keeps what has ended, and whether its expiry purges or archives, where that is not the default.';
CALL mneme_protect_table('retention_policies');

CREATE TABLE retention_policy_changes (
    tenant     text        NOT NULL,
    id         uuid        NOT NULL,
    seq        bigint      GENERATED ALWAYS AS IDENTITY,
    domain     text        NOT NULL,
    tier       text        NOT NULL,
    typology   text        NOT NULL,
    before     jsonb,      -- NULL: the default
    after      jsonb,      -- NULL: the default again
    changed_by text        NOT NULL CHECK (changed_by <> ''),
    reason     text        NOT NULL CHECK (reason <> ''),
    changed_at timestamptz NOT NULL,
    PRIMARY KEY (tenant, id)
);
COMMENT ON TABLE retention_policy_changes IS
    'One change of a retention policy, with who made it and why; append-only.';
CALL mneme_protect_table('retention_policy_changes');
REVOKE UPDATE, DELETE ON retention_policy_changes FROM mneme_app;
CREATE INDEX retention_policy_changes_of ON retention_policy_changes (tenant, seq);
CREATE INDEX retention_policy_changes_age ON retention_policy_changes (tenant, changed_at);

-- These changes are purged together with history: rows that are older than the time that mneme_purge_policy_changes
-- sets, and no others.
-- +goose StatementBegin
CREATE FUNCTION mneme_only_purge_change() RETURNS trigger
    LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'DELETE'
        AND OLD.changed_at < nullif(current_setting('mneme.changes_before', true), '')::timestamptz
    THEN
        RETURN OLD;
    END IF;
    RAISE EXCEPTION '% is append-only: % refused', TG_TABLE_NAME, TG_OP USING ERRCODE = 'restrict_violation';
END $$;
-- +goose StatementEnd
CREATE TRIGGER retention_policy_changes_append_only BEFORE UPDATE OR DELETE ON retention_policy_changes
    FOR EACH ROW EXECUTE FUNCTION mneme_only_purge_change();
CREATE TRIGGER retention_policy_changes_no_truncate BEFORE TRUNCATE ON retention_policy_changes
    FOR EACH STATEMENT EXECUTE FUNCTION mneme_refuse_change();

-- ---- sweeps ------------------------------------------------------------------------------------

CREATE TABLE sweep_holds (
    tenant      text        NOT NULL CHECK (tenant <> ''),
    sweep       text        NOT NULL CHECK (sweep IN ('decay', 'retention', 'history')),
    would_take  bigint      NOT NULL CHECK (would_take >= 0), -- at least; counting stops well above the share
    stored      bigint      NOT NULL CHECK (stored >= 0),
    share       double precision NOT NULL CHECK (share BETWEEN 0 AND 1), -- the limit that was exceeded
    asked_at    timestamptz NOT NULL,
    admitted    bigint      CHECK (admitted >= 0), -- how many more the answer admits; NULL: no answer yet
    answered_by text        NOT NULL DEFAULT '',
    reason      text        NOT NULL DEFAULT '',
    answered_at timestamptz,
    PRIMARY KEY (tenant, sweep)
);
COMMENT ON TABLE sweep_holds IS
    'The question of a sweep that would take too large a share of a tenant; it takes nothing until a person answers.';
CALL mneme_protect_table('sweep_holds');

-- The questions without an answer, over all tenants.
-- +goose StatementBegin
CREATE FUNCTION mneme_sweep_holds() RETURNS TABLE
    (tenant text, sweep text, would_take bigint, stored bigint, share double precision, asked_at timestamptz)
    LANGUAGE sql STABLE SECURITY DEFINER
    AS $$ SELECT h.tenant, h.sweep, h.would_take, h.stored, h.share, h.asked_at FROM sweep_holds h
        WHERE h.admitted IS NULL ORDER BY 1, 2 $$;
-- +goose StatementEnd
CALL mneme_protect_function('mneme_sweep_holds()');

CREATE TABLE sweep_runs (
    tenant      text        NOT NULL CHECK (tenant <> ''),
    id          text        NOT NULL CHECK (id <> ''), -- the workflow id with its first run id
    sweep       text        NOT NULL CHECK (sweep IN ('decay', 'retention')),
    counts      jsonb       NOT NULL DEFAULT '{}', -- by what was done
    started_at  timestamptz NOT NULL,
    updated_at  timestamptz NOT NULL,
    PRIMARY KEY (tenant, id)
);
COMMENT ON TABLE sweep_runs IS
    'What one run of a decay or retention sweep did to a tenant, or held back.';
CALL mneme_protect_table('sweep_runs');
CREATE INDEX sweep_runs_latest ON sweep_runs (tenant, sweep, started_at);

-- ---- forgetting --------------------------------------------------------------------------------

CREATE TABLE forget_runs (
    tenant       text        NOT NULL CHECK (tenant <> ''),
    id           uuid        NOT NULL,
    workflow_id  text        NOT NULL,
    agent_id     text        NOT NULL,
    scope        text        NOT NULL DEFAULT '',
    mode         text        NOT NULL CHECK (mode IN ('soft', 'force', 'erase')),
    state        text        NOT NULL CHECK (state IN ('preview', 'confirmed', 'done', 'expired', 'cancelled')),
    total        integer     NOT NULL CHECK (total >= 0),
    digest       bytea       NOT NULL, -- over ids and versions, in order
    reason       text        NOT NULL DEFAULT '',
    requested_by text        NOT NULL,
    confirmed_by text        NOT NULL DEFAULT '',
    expires_at   timestamptz NOT NULL,
    confirmed_at timestamptz,
    finished_at  timestamptz,
    receipt      jsonb       NOT NULL DEFAULT '{}', -- counts by place
    created_at   timestamptz NOT NULL,
    PRIMARY KEY (tenant, id)
);
COMMENT ON TABLE forget_runs IS
    'One run of Forget: what it selected, whether it was confirmed, and what it removed.';
CALL mneme_protect_table('forget_runs');
CREATE INDEX forget_runs_age ON forget_runs (tenant, created_at, id);

CREATE TABLE forget_items (
    tenant    text    NOT NULL,
    run_id    uuid    NOT NULL,
    ordinal   integer NOT NULL CHECK (ordinal >= 0),
    memory_id uuid    NOT NULL, -- no foreign key: force deletes the memory
    version   integer NOT NULL,
    outcome   text    NOT NULL DEFAULT '', -- empty while it waits; then forgotten, or why not
    PRIMARY KEY (tenant, run_id, ordinal),
    FOREIGN KEY (tenant, run_id) REFERENCES forget_runs (tenant, id) ON DELETE CASCADE
);
COMMENT ON TABLE forget_items IS
    'One memory that a run of Forget selected, at the version that was confirmed, and its outcome.';
CALL mneme_protect_table('forget_items');
CREATE INDEX forget_items_waiting ON forget_items (tenant, run_id, ordinal) WHERE outcome = '';
CREATE INDEX forget_items_of_memory ON forget_items (tenant, memory_id);

CREATE TABLE forget_echoes (
    tenant    text    NOT NULL,
    run_id    uuid    NOT NULL,
    memory_id uuid    NOT NULL, -- no foreign key: force deletes the memory
    position  integer NOT NULL, -- in the order in which they were found
    tie       text    NOT NULL CHECK (tie IN ('restatement', 'source', 'derived')),
    also_says integer NOT NULL DEFAULT 0 CHECK (also_says >= 0),
    taken     boolean NOT NULL DEFAULT false, -- forgotten with the selection, not only offered
    foreign_owner boolean NOT NULL DEFAULT false, -- another agent's, which this mode leaves alone
    PRIMARY KEY (tenant, run_id, memory_id),
    FOREIGN KEY (tenant, run_id) REFERENCES forget_runs (tenant, id) ON DELETE CASCADE
);
COMMENT ON TABLE forget_echoes IS
    'A memory that says the same as one that a run of Forget selected, by id only.';
CALL mneme_protect_table('forget_echoes');

-- ---- erasure: functions for what the application may not change itself -------------------------

-- The metadata of a history row without its texts. A hash goes with them: that of a short text can be guessed.
-- +goose StatementBegin
CREATE FUNCTION mneme_without_text(metadata jsonb) RETURNS jsonb
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN metadata - '{fact,factHash,content,reason,rationale,evidence,refs}'::text[];
-- +goose StatementEnd

-- Removes texts and reasons from the history of memories of the running tenant that are erased or gone. Who, when, what
-- kind of step and which version stay. Returns how many rows it changed.
-- +goose StatementBegin
CREATE FUNCTION mneme_erase_history(ids uuid[], at timestamptz) RETURNS bigint
    LANGUAGE sql VOLATILE SECURITY DEFINER
    AS $$
    WITH erased AS (
        UPDATE memory_history SET old_content = NULL, new_content = NULL, reason = '[erased]', erased_at = at,
            metadata = mneme_without_text(metadata)
        WHERE tenant = mneme_tenant() AND memory_id = ANY(ids) AND erased_at IS NULL
            AND NOT EXISTS (SELECT FROM memories m
                WHERE m.tenant = mneme_tenant() AND m.id = memory_history.memory_id AND m.erased_at IS NULL)
        RETURNING 1)
    SELECT count(*) FROM erased;
    $$;
-- +goose StatementEnd
CALL mneme_protect_function('mneme_erase_history(uuid[], timestamptz)');

-- Removes the reasons of proposals from the history of the sources that they were made from: there, a model's words
-- about one memory are in the history of another. Rows that hold a text of their own stay.
-- +goose StatementBegin
CREATE FUNCTION mneme_erase_reasons(sources uuid[], proposals text[], at timestamptz) RETURNS bigint
    LANGUAGE sql VOLATILE SECURITY DEFINER
    AS $$
    WITH erased AS (
        UPDATE memory_history SET reason = '[erased]', erased_at = at, metadata = mneme_without_text(metadata)
        WHERE tenant = mneme_tenant() AND memory_id = ANY(sources) AND metadata->>'proposalId' = ANY(proposals)
            AND old_content IS NULL AND new_content IS NULL AND erased_at IS NULL
        RETURNING 1)
    SELECT count(*) FROM erased;
    $$;
-- +goose StatementEnd
CALL mneme_protect_function('mneme_erase_reasons(uuid[], text[], timestamptz)');

-- Removes reason and evidence of the revisions that made memories from the history of what they revised: those words
-- belong to the new memory. The texts of the revised ones stay.
-- +goose StatementBegin
CREATE FUNCTION mneme_erase_evidence(made uuid[], revised uuid[]) RETURNS bigint
    LANGUAGE sql VOLATILE SECURITY DEFINER
    AS $$
    WITH making AS (
        SELECT DISTINCT metadata->>'operationId' AS id FROM memory_history
        WHERE tenant = mneme_tenant() AND memory_id = ANY(made) AND event = 'created' AND metadata ? 'revision'
    ), erased AS (
        UPDATE memory_history h SET reason = '[erased]', metadata = mneme_without_text(h.metadata)
        FROM making
        WHERE h.tenant = mneme_tenant() AND h.memory_id = ANY(revised)
            AND h.metadata ? 'revision' AND h.metadata->>'operationId' = making.id
            AND (h.reason <> '[erased]' OR h.metadata ? 'evidence')
        RETURNING 1)
    SELECT count(*) FROM erased;
    $$;
-- +goose StatementEnd
CALL mneme_protect_function('mneme_erase_evidence(uuid[], uuid[])');

-- Removes the callers' own ids of memories from the results of puts. Row-level security would keep operations_of_memory
-- from being used, so the function acts as the owner, with the same condition on the tenant.
-- +goose StatementBegin
CREATE FUNCTION mneme_erase_external(ids uuid[]) RETURNS bigint
    LANGUAGE sql VOLATILE SECURITY DEFINER
    AS $$
    WITH naming AS (
        SELECT DISTINCT o.id
        FROM unnest(ids) x(id) JOIN operations o
            ON o.result->'items' @> jsonb_build_array(jsonb_build_object('id', x.id))
        WHERE jsonb_path_exists(o.result, '$.items[*].external_id') AND o.tenant = mneme_tenant()
    ), erased AS (
        UPDATE operations o SET result = jsonb_set(o.result, '{items}', (
            SELECT jsonb_agg(CASE WHEN e.item->>'id' = ANY(ids::text[]) THEN e.item - 'external_id' ELSE e.item END
                ORDER BY e.n)
            FROM jsonb_array_elements(o.result->'items') WITH ORDINALITY e(item, n)))
        FROM naming WHERE o.tenant = mneme_tenant() AND o.id = naming.id
        RETURNING 1)
    SELECT count(*) FROM erased;
    $$;
-- +goose StatementEnd
CALL mneme_protect_function('mneme_erase_external(uuid[])');

-- ---- purges of append-only tables --------------------------------------------------------------

-- Deletes history of the running tenant from before a time. It reads a page of at most so many rows (look) that come
-- after a place, and deletes at most so many of them (most). It returns the place after which the next page begins, and
-- whether there is more. The history of a memory stays as long as the memory must (document 003 D10): anything of a
-- world, and what has a relation to an action.
-- +goose StatementBegin
CREATE FUNCTION mneme_purge_history(
        before timestamptz, most integer, action_links text[], after_at timestamptz, after_id uuid, look integer,
        OUT removed bigint, OUT last_at timestamptz, OUT last_id uuid, OUT more boolean)
    LANGUAGE plpgsql VOLATILE SECURITY DEFINER
    AS $$
BEGIN
    PERFORM set_config('mneme.history_before', before::text, true);
    WITH page AS MATERIALIZED (
        SELECT h.id, h.created_at, h.memory_id FROM memory_history h
        WHERE h.tenant = mneme_tenant() AND h.created_at < before AND (h.created_at, h.id) > (after_at, after_id)
        ORDER BY h.created_at, h.id LIMIT look
    ), old AS MATERIALIZED (
        SELECT p.id, p.created_at FROM page p
        WHERE NOT EXISTS (SELECT FROM memories m
                WHERE m.tenant = mneme_tenant() AND m.id = p.memory_id AND m.world_id IS NOT NULL)
            AND NOT EXISTS (
                SELECT FROM memory_links r
                WHERE r.tenant = mneme_tenant() AND r.source_id = p.memory_id AND r.predicate = ANY(action_links)
                UNION ALL
                SELECT FROM memory_links r
                WHERE r.tenant = mneme_tenant() AND r.target_id = p.memory_id AND r.predicate = ANY(action_links))
        ORDER BY p.created_at, p.id LIMIT most
    ), gone AS (
        DELETE FROM memory_history h USING old WHERE h.tenant = mneme_tenant() AND h.id = old.id RETURNING h.id
    ), ends AS (
        SELECT o.created_at, o.id FROM old o WHERE (SELECT count(*) FROM old) >= most
        UNION ALL
        SELECT p.created_at, p.id FROM page p WHERE (SELECT count(*) FROM old) < most
    ), last AS (SELECT e.created_at, e.id FROM ends e ORDER BY e.created_at DESC, e.id DESC LIMIT 1)
    SELECT (SELECT count(*) FROM gone), (SELECT l.created_at FROM last l), (SELECT l.id FROM last l),
        (SELECT count(*) FROM page) >= look OR (SELECT count(*) FROM old) >= most
    INTO removed, last_at, last_id, more;
    PERFORM set_config('mneme.history_before', '', true);
END $$;
-- +goose StatementEnd
CALL mneme_protect_function('mneme_purge_history(timestamptz, integer, text[], timestamptz, uuid, integer)');

-- Deletes the running tenant's policy changes from before a time, oldest first, at most so many, and returns how many.
-- +goose StatementBegin
CREATE FUNCTION mneme_purge_policy_changes(earliest timestamptz, most integer) RETURNS bigint
    LANGUAGE plpgsql VOLATILE SECURITY DEFINER
    AS $$
DECLARE
    n bigint;
BEGIN
    PERFORM set_config('mneme.changes_before', earliest::text, true);
    WITH old AS (
        SELECT c.id FROM retention_policy_changes c WHERE c.tenant = mneme_tenant() AND c.changed_at < earliest
        ORDER BY c.changed_at LIMIT most),
    gone AS (
        DELETE FROM retention_policy_changes c USING old WHERE c.tenant = mneme_tenant() AND c.id = old.id RETURNING 1)
    SELECT count(*) INTO n FROM gone;
    PERFORM set_config('mneme.changes_before', '', true);
    RETURN n;
END $$;
-- +goose StatementEnd
CALL mneme_protect_function('mneme_purge_policy_changes(timestamptz, integer)');

-- ---- the sweeps' rounds, over all tenants ------------------------------------------------------

-- The names of tenants after a name, in order, at most so many: those that have had memories, and those of which
-- anything else with a retention window is left, such as retrievals of an agent that never stored a memory. Each name
-- costs one probe of each index.
-- +goose StatementBegin
CREATE FUNCTION mneme_tenants(after text, most integer) RETURNS SETOF text
    LANGUAGE sql STABLE SECURITY DEFINER
    AS $$
        WITH RECURSIVE turn(tenant, place) AS (
            SELECT after, 0
            UNION ALL
            SELECT least(
                (SELECT min(c.tenant) FROM corpus_stats c WHERE c.tenant > t.tenant),
                (SELECT min(j.tenant) FROM jobs j WHERE j.tenant > t.tenant),
                (SELECT min(r.tenant) FROM retrievals r WHERE r.tenant > t.tenant),
                (SELECT min(h.tenant) FROM memory_history h WHERE h.tenant > t.tenant),
                (SELECT min(s.tenant) FROM sweep_runs s WHERE s.tenant > t.tenant),
                (SELECT min(b.tenant) FROM ingest_batches b WHERE b.tenant > t.tenant),
                (SELECT min(o.tenant) FROM operations o WHERE o.tenant > t.tenant),
                (SELECT min(e.tenant) FROM event_ids e WHERE e.tenant > t.tenant),
                (SELECT min(f.tenant) FROM forget_runs f WHERE f.tenant > t.tenant),
                (SELECT min(a.tenant) FROM artifacts a WHERE a.tenant > t.tenant),
                (SELECT min(p.tenant) FROM retention_policy_changes p WHERE p.tenant > t.tenant)), t.place + 1
            FROM turn t WHERE t.tenant IS NOT NULL AND t.place < most
        )
        SELECT t.tenant FROM turn t WHERE t.place > 0 AND t.tenant IS NOT NULL ORDER BY t.place
    $$;
-- +goose StatementEnd
CALL mneme_protect_function('mneme_tenants(text, integer)');

-- Those of the tenants of which a memory has fallen due, at one probe of the index per tenant, and those whose decay
-- sweep has asked a question, which may not be needed any more.
-- +goose StatementBegin
CREATE FUNCTION mneme_decay_tenants(after text, most integer, at timestamptz) RETURNS SETOF text
    LANGUAGE sql STABLE SECURITY DEFINER
    AS $$ SELECT c.tenant FROM corpus_stats c WHERE c.tenant > after
        AND ((SELECT m.decay_due_at FROM memories m WHERE m.tenant = c.tenant AND m.live AND m.decay_due_at IS NOT NULL
                ORDER BY m.decay_due_at LIMIT 1) <= at
            OR EXISTS (SELECT FROM sweep_holds h WHERE h.tenant = c.tenant AND h.sweep = 'decay'))
        ORDER BY c.tenant LIMIT most $$;
-- +goose StatementEnd
CALL mneme_protect_function('mneme_decay_tenants(text, integer, timestamptz)');

-- ---- statistics of the planner -----------------------------------------------------------------

-- Analyses tables that have grown by half. Autovacuum looks once a minute; a first import fills the tables in less, and
-- until then every plan is a guess. A crash of the server loses the count of changes, but not the size of a table's
-- file. One caller at a time does it; the others go on.
-- +goose StatementBegin
CREATE FUNCTION mneme_refresh_statistics() RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    AS $$
DECLARE
    t text;
BEGIN
    FOREACH t IN ARRAY ARRAY['memories', 'memory_embeddings', 'memory_candidates', 'proposals', 'lexeme_stats', 'jobs',
            'memory_hints', 'memory_links', 'entity_claims', 'entities', 'entity_relations', 'index_outbox'] LOOP
        IF EXISTS (
            SELECT FROM pg_class c JOIN pg_stat_all_tables s ON s.relid = c.oid
            WHERE c.oid = t::regclass AND (s.n_mod_since_analyze >= 200 AND s.n_mod_since_analyze > c.reltuples * 0.5
                OR pg_relation_size(c.oid) / current_setting('block_size')::int > c.relpages * 1.5 + 20)
        ) AND pg_try_advisory_xact_lock(hashtextextended('mneme.analyze.' || current_schema() || t, 0)) THEN
            EXECUTE format('ANALYZE %I', t);
        END IF;
    END LOOP;
END $$;
-- +goose StatementEnd
CALL mneme_protect_function('mneme_refresh_statistics()');
