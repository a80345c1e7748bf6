-- A purge of history looks at a page of rows at a time, whatever stays: of a tenant with much history of worlds, one
-- statement went through all of it before.

-- +goose Up

-- mneme_purge_history over the next rows behind a place, so many (look) at most. It removes at most so many (most) of
-- them, and returns the place behind which the next page begins and whether there is more. The one without look is for
-- workers that are older.
-- +goose StatementBegin
CREATE FUNCTION mneme_purge_history(before timestamptz, most integer, action_links text[], after_at timestamptz, after_id uuid, look integer,
        OUT removed bigint, OUT last_at timestamptz, OUT last_id uuid, OUT more boolean)
    LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path FROM CURRENT
    AS $$
BEGIN
    PERFORM set_config('mneme.history_before', before::text, true);
    WITH page AS MATERIALIZED (
        SELECT h.id, h.created_at, h.memory_id FROM memory_history h
        WHERE h.tenant = mneme_tenant() AND h.created_at < before AND (h.created_at, h.id) > (after_at, after_id)
        ORDER BY h.created_at, h.id LIMIT look
    ), old AS MATERIALIZED (
        SELECT p.id, p.created_at FROM page p
        WHERE NOT EXISTS (SELECT FROM memories m WHERE m.tenant = mneme_tenant() AND m.id = p.memory_id AND m.world_id IS NOT NULL)
            AND NOT EXISTS (
                SELECT FROM memory_relations r WHERE r.tenant = mneme_tenant() AND r.source_id = p.memory_id AND r.predicate = ANY(action_links)
                UNION ALL
                SELECT FROM memory_relations r WHERE r.tenant = mneme_tenant() AND r.target_id = p.memory_id AND r.predicate = ANY(action_links))
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
-- +goose StatementBegin
DO $$
DECLARE
    f text := 'mneme_purge_history(timestamptz, integer, text[], timestamptz, uuid, integer)';
BEGIN
    EXECUTE format('REVOKE EXECUTE ON FUNCTION %s FROM PUBLIC', f);
    EXECUTE format('GRANT EXECUTE ON FUNCTION %s TO mneme_app', f);
    -- A caller's temporary tables do not stand in for a table of a function that acts as the owner.
    EXECUTE format('ALTER FUNCTION %s SET search_path = %I, pg_temp', f, current_schema());
END $$;
-- +goose StatementEnd

-- +goose Down
SELECT 1;
