-- A purge that would take too much of history asks by itself: an answer about memories is none about history. It
-- goes through history once a run. And no text stays beside no memory: nobody could forget it.

-- +goose Up

-- What recall had handed out, what came again of a memory that was gone, and what was evaluated in shadow mode by jobs
-- that are gone: none of it is kept any more, and here goes what was.
WITH bare AS (
    UPDATE memory_candidates c SET content = '', extraction = CASE WHEN c.extraction IS NOT NULL THEN '{"facts": []}'::jsonb END, refs = '[]', speaker = '', session = '', tags = '{}'
    WHERE NOT EXISTS (SELECT FROM memories m WHERE m.tenant = c.tenant AND m.id = c.memory_id)
        AND NOT EXISTS (SELECT FROM jobs j WHERE j.tenant = c.tenant AND j.memory_id = c.memory_id)
        AND (c.content <> '' OR c.extraction <> '{"facts": []}' OR c.refs <> '[]' OR c.speaker <> '' OR c.session <> '' OR c.tags <> '{}')
    RETURNING c.tenant, c.id
)
UPDATE proposals p SET fact = jsonb_build_object('content', '', 'category', p.fact->'category', 'confidence', p.fact->'confidence'), reason = '', review_reason = '',
    warnings = '{}', embedding = NULL, embedding_model = NULL,
    state = CASE WHEN p.state IN ('proposed', 'stale', 'blocked') THEN 'skipped' ELSE p.state END,
    outcome = CASE WHEN p.state IN ('proposed', 'stale', 'blocked') THEN 'forgotten' ELSE p.outcome END
FROM bare b WHERE p.tenant = b.tenant AND p.candidate_id = b.id;

ALTER TABLE sweep_holds DROP CONSTRAINT sweep_holds_sweep_check;
ALTER TABLE sweep_holds ADD CONSTRAINT sweep_holds_sweep_check CHECK (sweep IN ('decay', 'retention', 'history'));
-- Until now one question stood for both, so it is not known what was answered.
DELETE FROM sweep_holds WHERE sweep = 'retention';

-- mneme_purge_history from a place on, so that what stays is not read by each batch again; that of the last row
-- removed comes back. The one without a place is for workers that are older.
-- +goose StatementBegin
CREATE FUNCTION mneme_purge_history(before timestamptz, most integer, action_links text[], after_at timestamptz, after_id uuid,
        OUT removed bigint, OUT last_at timestamptz, OUT last_id uuid)
    LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path FROM CURRENT
    AS $$
BEGIN
    PERFORM set_config('mneme.history_before', before::text, true);
    WITH old AS (
        SELECT h.id FROM memory_history h WHERE h.tenant = mneme_tenant() AND h.created_at < before AND (h.created_at, h.id) > (after_at, after_id)
            AND NOT EXISTS (SELECT FROM memories m WHERE m.tenant = h.tenant AND m.id = h.memory_id AND m.world_id IS NOT NULL)
            AND NOT EXISTS (SELECT FROM memory_relations r WHERE r.tenant = h.tenant AND r.source_id = h.memory_id AND r.predicate = ANY(action_links)
                UNION ALL SELECT FROM memory_relations r WHERE r.tenant = h.tenant AND r.target_id = h.memory_id AND r.predicate = ANY(action_links))
        ORDER BY h.created_at, h.id LIMIT most
    ), gone AS (DELETE FROM memory_history h USING old WHERE h.tenant = mneme_tenant() AND h.id = old.id RETURNING h.created_at, h.id),
    last AS (SELECT created_at, id FROM gone ORDER BY created_at DESC, id DESC LIMIT 1)
    SELECT (SELECT count(*) FROM gone), (SELECT created_at FROM last), (SELECT id FROM last) INTO removed, last_at, last_id;
    PERFORM set_config('mneme.history_before', '', true);
END $$;
-- +goose StatementEnd
-- +goose StatementBegin
DO $$ BEGIN
    REVOKE EXECUTE ON FUNCTION mneme_purge_history(timestamptz, integer, text[], timestamptz, uuid) FROM PUBLIC;
    GRANT EXECUTE ON FUNCTION mneme_purge_history(timestamptz, integer, text[], timestamptz, uuid) TO mneme_app;
    -- A caller's temporary tables do not stand in for a table of a function that acts as the owner.
    EXECUTE format('ALTER FUNCTION mneme_purge_history(timestamptz, integer, text[], timestamptz, uuid) SET search_path = %I, pg_temp', current_schema());
END $$;
-- +goose StatementEnd

-- +goose Down
SELECT 1;
