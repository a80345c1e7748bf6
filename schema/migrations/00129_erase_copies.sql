-- Two more copies go with a memory: the figures of it in advice, and what an answer of a standing question repeats of a
-- procedure from an episode that is erased.

-- +goose Up

-- Advice holds no values of contexts.
UPDATE advice a
SET offered = (
    SELECT coalesce(jsonb_agg(o.offer #- '{stats,in}' #- '{stats,earned}' ORDER BY o.n), '[]')
    FROM jsonb_array_elements(a.offered) WITH ORDINALITY o(offer, n))
WHERE jsonb_typeof(a.offered) = 'array';

-- Advice is found by what it offered.
CREATE INDEX advice_offered ON advice USING gin ((jsonb_path_query_array(offered, '$[*].id')) jsonb_path_ops)
    WITH (gin_pending_list_limit = 256);

-- What was counted of a memory goes when it is erased or deleted. Row-level security would keep advice_offered from
-- being used, so the function acts as the owner.
-- +goose StatementBegin
CREATE OR REPLACE FUNCTION mneme_erase_outcomes() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER AS $$
BEGIN
    DELETE FROM solution_outcomes o WHERE o.tenant = OLD.tenant AND o.memory_id = OLD.id;
    DELETE FROM outcome_reports o WHERE o.tenant = OLD.tenant AND o.memory_id = OLD.id;
    UPDATE advice a
    SET offered = (
        SELECT coalesce(jsonb_agg(o.offer ORDER BY o.n), '[]')
        FROM jsonb_array_elements(a.offered) WITH ORDINALITY o(offer, n)
        WHERE o.offer->>'id' <> OLD.id::text)
    WHERE a.tenant = OLD.tenant
        AND jsonb_path_query_array(a.offered, '$[*].id') @> jsonb_build_array(OLD.id::text);
    RETURN NULL;
END $$;
-- +goose StatementEnd
CALL mneme_protect_function('mneme_erase_outcomes()');
CREATE TRIGGER memories_deleted_erase_outcomes AFTER DELETE ON memories
    FOR EACH ROW WHEN (OLD.type IN ('episodic', 'competence', 'plan_graph'))
    EXECUTE FUNCTION mneme_erase_outcomes();

-- Removes texts from the history of learned procedures and plans of the running tenant that are not erased, and from
-- what standing questions quote of them: answers are blanked, drafts are deleted. They may lose their texts only after
-- the record has lost its failure modes and its examples. Who, when, what kind of step and which version stay. Returns
-- how many rows of history it changed.
-- +goose StatementBegin
CREATE OR REPLACE FUNCTION mneme_erase_repeated(ids uuid[], at timestamptz) RETURNS bigint
    LANGUAGE sql VOLATILE SECURITY DEFINER
    AS $$
    WITH stripped AS MATERIALIZED (
        SELECT m.id
        FROM memories m JOIN learned l ON l.tenant = m.tenant AND l.memory_id = m.id
        WHERE m.tenant = mneme_tenant() AND m.id = ANY(ids) AND m.type IN ('competence', 'plan_graph')
            AND NOT m.payload ? 'failure_modes'
            AND NOT jsonb_path_exists(m.payload, 'lax $.recipe[*].args_schema."x-parameters".*.examples')
            AND NOT jsonb_path_exists(m.payload, 'lax $.inputs_schema.properties.*.examples')
    ), blanked AS (
        UPDATE topic_answers a SET parts = '[]', blanked_at = at
        WHERE a.tenant = mneme_tenant() AND a.memories && ARRAY(SELECT s.id FROM stripped s) AND a.blanked_at IS NULL
    ), dropped AS (
        DELETE FROM topic_drafts d
        WHERE d.tenant = mneme_tenant() AND d.memories && ARRAY(SELECT s.id FROM stripped s)
    ), erased AS (
        UPDATE memory_history h SET old_content = NULL, new_content = NULL, reason = '[erased]', erased_at = at,
            metadata = mneme_without_text(h.metadata)
        FROM stripped s
        WHERE h.tenant = mneme_tenant() AND h.memory_id = s.id AND h.erased_at IS NULL
            AND num_nonnulls(h.old_content, h.new_content) > 0
        RETURNING 1)
    SELECT count(*) FROM erased;
    $$;
-- +goose StatementEnd
CALL mneme_protect_function('mneme_erase_repeated(uuid[], timestamptz)');

-- +goose Down
SELECT 1;
