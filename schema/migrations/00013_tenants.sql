-- A tenant of which nothing was ever stored has what ages as well.

-- +goose Up

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
                (SELECT min(r.tenant) FROM retrievals r WHERE r.tenant > t.tenant), (SELECT min(h.tenant) FROM memory_history h WHERE h.tenant > t.tenant)), t.place + 1
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
END $$;
-- +goose StatementEnd
