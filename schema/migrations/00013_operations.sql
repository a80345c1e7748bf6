-- What operators see is what there is: a tenant of which nothing was ever stored has what ages as well, and a job
-- that was replayed has waited since then.

-- +goose Up

-- When a dead job was put back to be done. It is as old as it was, and has not waited all that time.
ALTER TABLE jobs ADD COLUMN revived_at timestamptz;
DROP INDEX jobs_waiting;
CREATE INDEX jobs_waiting ON jobs ((coalesce(revived_at, created_at))) WHERE state IN ('pending', 'leased', 'failed');

-- What waits in the pipeline over all tenants, since when, and what is dead. Numbers and times alone.
-- +goose StatementBegin
CREATE OR REPLACE FUNCTION mneme_job_queue(OUT waiting bigint, OUT oldest timestamptz, OUT dead bigint)
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path FROM CURRENT
    AS $$ SELECT (SELECT count(*) FROM jobs WHERE state IN ('pending', 'leased', 'failed')),
        (SELECT min(coalesce(revived_at, created_at)) FROM jobs WHERE state IN ('pending', 'leased', 'failed')),
        (SELECT count(*) FROM jobs WHERE state = 'dead') $$;
-- +goose StatementEnd

-- Names of tenants behind one, by name, so many at most: whose turn it is in a sweep. Nothing of theirs. Besides
-- those that have had memories they are those of which there is work, history or retrievals: an agent may
-- recall for years where nobody has remembered anything. A name costs one probe of each index.
-- +goose StatementBegin
CREATE OR REPLACE FUNCTION mneme_tenants(after text, most integer) RETURNS SETOF text
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path FROM CURRENT
    AS $$
        WITH RECURSIVE turn(tenant, place) AS (
            SELECT after, 0
            UNION ALL
            SELECT least((SELECT min(c.tenant) FROM corpus_stats c WHERE c.tenant > t.tenant), (SELECT min(j.tenant) FROM jobs j WHERE j.tenant > t.tenant),
                (SELECT min(r.tenant) FROM retrievals r WHERE r.tenant > t.tenant), (SELECT min(h.tenant) FROM memory_history h WHERE h.tenant > t.tenant),
                (SELECT min(s.tenant) FROM sweep_runs s WHERE s.tenant > t.tenant)), t.place + 1
            FROM turn t WHERE t.tenant IS NOT NULL AND t.place < most
        )
        SELECT t.tenant FROM turn t WHERE t.place > 0 AND t.tenant IS NOT NULL ORDER BY t.place
    $$;
-- +goose StatementEnd

-- +goose StatementBegin
DO $$
BEGIN
    -- A caller's temporary tables do not stand in for a table of a function that acts as the owner.
    EXECUTE format('ALTER FUNCTION mneme_tenants(text, integer) SET search_path = %I, pg_temp', current_schema());
    EXECUTE format('ALTER FUNCTION mneme_job_queue() SET search_path = %I, pg_temp', current_schema());
END $$;
-- +goose StatementEnd

-- +goose Down
SELECT 1;
