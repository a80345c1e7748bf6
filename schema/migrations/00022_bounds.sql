-- Every table has a bound: what only grew has a retention window, an index for its purge and, where rows are
-- append-only, a function that deletes what is old enough and nothing else. Events know the memory that they are
-- about, so that erasure finds them.

-- +goose Up

ALTER TABLE retention_policies DROP CONSTRAINT retention_policies_domain_check;
ALTER TABLE retention_policies ADD CONSTRAINT retention_policies_domain_check CHECK (domain IN (
    'memory', 'world', 'history', 'jobs_completed', 'jobs_dead', 'retrievals', 'ingest', 'forget_runs', 'events', 'operations', 'artifacts'));

-- One index for each purge statement.
CREATE INDEX ingest_batches_age ON ingest_batches (tenant, created_at, id);
CREATE INDEX forget_runs_age ON forget_runs (tenant, created_at, id);
CREATE INDEX operations_age ON operations (tenant, created_at, id);
CREATE INDEX memory_versions_age ON memory_versions (tenant, until, memory_id, version);
CREATE INDEX artifacts_age ON artifacts (tenant, created_at, sha256);
CREATE INDEX retention_policy_changes_age ON retention_policy_changes (tenant, changed_at);

-- What kind of source a memory came from, from the moment that its candidate is purged. Selections by source kind
-- read the candidate before that.
CREATE TABLE memory_source_kinds (
    tenant      text NOT NULL,
    memory_id   uuid NOT NULL,
    source_kind text NOT NULL CHECK (source_kind IN ('user_input', 'tool_output', 'observation', 'outcome', 'memory')),
    PRIMARY KEY (tenant, memory_id),
    FOREIGN KEY (tenant, memory_id) REFERENCES memories (tenant, id) ON DELETE CASCADE
);
ALTER TABLE memory_source_kinds ENABLE ROW LEVEL SECURITY;
CREATE POLICY tenant_only ON memory_source_kinds
    USING (tenant = (SELECT mneme_tenant())) WITH CHECK (tenant = (SELECT mneme_tenant()));
GRANT SELECT, INSERT, UPDATE, DELETE ON memory_source_kinds TO mneme_app;

-- The memory that an event became, or was found to repeat. NULL: it was erased, or never was.
ALTER TABLE events ADD COLUMN memory_id uuid;
DROP TRIGGER events_append_only ON events;
UPDATE events e SET memory_id = c.memory_id
FROM memory_candidates c WHERE c.tenant = e.tenant AND c.id = e.candidate_id;
-- What was erased before erasure reached events.
UPDATE events e SET session = '', candidate_id = NULL, memory_id = NULL
WHERE e.memory_id IS NOT NULL
    AND NOT EXISTS (SELECT FROM jobs j WHERE j.tenant = e.tenant AND j.memory_id = e.memory_id)
    AND NOT EXISTS (SELECT FROM memories m WHERE m.tenant = e.tenant AND m.id = e.memory_id AND m.erased_at IS NULL);
CREATE INDEX events_age ON events (tenant, recorded_at, id);
CREATE INDEX events_of_memory ON events (tenant, memory_id) WHERE memory_id IS NOT NULL;

-- Events stay as they are, but for two things: erasure removes the label and the references of one, and a purge
-- deletes one that is older than the time that the function below names.
-- +goose StatementBegin
CREATE FUNCTION mneme_only_erase_event() RETURNS trigger
    LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'UPDATE' AND NEW.session = '' AND NEW.candidate_id IS NULL AND NEW.memory_id IS NULL
        AND (NEW.tenant, NEW.seq, NEW.id, NEW.agent_id, NEW.kind, NEW.occurred_at, NEW.recorded_at)
            IS NOT DISTINCT FROM (OLD.tenant, OLD.seq, OLD.id, OLD.agent_id, OLD.kind, OLD.occurred_at, OLD.recorded_at)
    THEN
        RETURN NEW;
    END IF;
    IF TG_OP = 'DELETE' AND OLD.recorded_at < nullif(current_setting('mneme.events_before', true), '')::timestamptz THEN
        RETURN OLD;
    END IF;
    RAISE EXCEPTION '% is append-only: % refused', TG_TABLE_NAME, TG_OP USING ERRCODE = 'restrict_violation';
END $$;
-- +goose StatementEnd
CREATE TRIGGER events_append_only BEFORE UPDATE OR DELETE ON events
    FOR EACH ROW EXECUTE FUNCTION mneme_only_erase_event();

-- Deletes the running tenant's events from before a time, oldest first, so many at most, and returns how many.
-- +goose StatementBegin
CREATE FUNCTION mneme_purge_events(before timestamptz, most integer) RETURNS bigint
    LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path FROM CURRENT
    AS $$
DECLARE
    n bigint;
BEGIN
    PERFORM set_config('mneme.events_before', before::text, true);
    WITH old AS (
        SELECT e.id FROM events e WHERE e.tenant = mneme_tenant() AND e.recorded_at < before
        ORDER BY e.recorded_at, e.id LIMIT most),
    gone AS (DELETE FROM events e USING old WHERE e.tenant = mneme_tenant() AND e.id = old.id RETURNING 1)
    SELECT count(*) INTO n FROM gone;
    PERFORM set_config('mneme.events_before', '', true);
    RETURN n;
END $$;
-- +goose StatementEnd

-- Removes session labels and references from the running tenant's events of memories that are erased or gone, so
-- many at most (NULL: all), and returns how many.
-- +goose StatementBegin
CREATE FUNCTION mneme_erase_events(ids uuid[], most integer) RETURNS bigint
    LANGUAGE sql VOLATILE SECURITY DEFINER SET search_path FROM CURRENT
    AS $$
    WITH about AS (
        SELECT e.id FROM events e WHERE e.tenant = mneme_tenant() AND e.memory_id = ANY(ids) ORDER BY e.id LIMIT most),
    erased AS (UPDATE events e SET session = '', candidate_id = NULL, memory_id = NULL
        FROM about WHERE e.tenant = mneme_tenant() AND e.id = about.id RETURNING 1)
    SELECT count(*) FROM erased;
    $$;
-- +goose StatementEnd

-- The audit of retention policies goes with history: rows of before a time, and no others.
-- +goose StatementBegin
CREATE FUNCTION mneme_only_purge_change() RETURNS trigger
    LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'DELETE' AND OLD.changed_at < nullif(current_setting('mneme.changes_before', true), '')::timestamptz THEN
        RETURN OLD;
    END IF;
    RAISE EXCEPTION '% is append-only: % refused', TG_TABLE_NAME, TG_OP USING ERRCODE = 'restrict_violation';
END $$;
-- +goose StatementEnd
DROP TRIGGER retention_policy_changes_append_only ON retention_policy_changes;
CREATE TRIGGER retention_policy_changes_append_only BEFORE UPDATE OR DELETE ON retention_policy_changes
    FOR EACH ROW EXECUTE FUNCTION mneme_only_purge_change();
-- +goose StatementBegin
CREATE FUNCTION mneme_purge_policy_changes(earliest timestamptz, most integer) RETURNS bigint
    LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path FROM CURRENT
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

-- Whose turn it is in a sweep, as before, and besides tenants of which only what has a window since now is left.
-- +goose StatementBegin
CREATE OR REPLACE FUNCTION mneme_tenants(after text, most integer) RETURNS SETOF text
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path FROM CURRENT
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
                (SELECT min(e.tenant) FROM events e WHERE e.tenant > t.tenant),
                (SELECT min(f.tenant) FROM forget_runs f WHERE f.tenant > t.tenant),
                (SELECT min(a.tenant) FROM artifacts a WHERE a.tenant > t.tenant),
                (SELECT min(p.tenant) FROM retention_policy_changes p WHERE p.tenant > t.tenant)), t.place + 1
            FROM turn t WHERE t.tenant IS NOT NULL AND t.place < most
        )
        SELECT t.tenant FROM turn t WHERE t.place > 0 AND t.tenant IS NOT NULL ORDER BY t.place
    $$;
-- +goose StatementEnd

-- +goose StatementBegin
DO $$
DECLARE
    f text;
BEGIN
    FOREACH f IN ARRAY ARRAY['mneme_purge_events(timestamptz, integer)', 'mneme_erase_events(uuid[], integer)',
        'mneme_purge_policy_changes(timestamptz, integer)', 'mneme_tenants(text, integer)'] LOOP
        EXECUTE format('REVOKE EXECUTE ON FUNCTION %s FROM PUBLIC', f);
        EXECUTE format('GRANT EXECUTE ON FUNCTION %s TO mneme_app', f);
        -- A caller's temporary tables do not stand in for a table of a function that acts as the owner.
        EXECUTE format('ALTER FUNCTION %s SET search_path = %I, pg_temp', f, current_schema());
    END LOOP;
END $$;
-- +goose StatementEnd

-- +goose Down
SELECT 1;
