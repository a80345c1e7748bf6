-- Learned procedures and plans have values of single episodes as examples of their parameters. These values go with any
-- episode of the group, also from the history of the record.

-- +goose Up

-- Removes texts from the history of learned procedures and plans of the running tenant that are not erased. History may
-- lose its texts only after the record has lost its failure modes and its examples. Who, when, what kind of step and
-- which version stay. Returns how many rows it changed.
-- +goose StatementBegin
CREATE OR REPLACE FUNCTION mneme_erase_repeated(ids uuid[], at timestamptz) RETURNS bigint
    LANGUAGE sql VOLATILE SECURITY DEFINER
    AS $$
    WITH erased AS (
        UPDATE memory_history h SET old_content = NULL, new_content = NULL, reason = '[erased]', erased_at = at,
            metadata = mneme_without_text(h.metadata)
        WHERE h.tenant = mneme_tenant() AND h.memory_id = ANY(ids) AND h.erased_at IS NULL
            AND num_nonnulls(h.old_content, h.new_content) > 0
            AND EXISTS (SELECT FROM memories m JOIN learned l ON l.tenant = m.tenant AND l.memory_id = m.id
                WHERE m.tenant = mneme_tenant() AND m.id = h.memory_id AND m.type IN ('competence', 'plan_graph')
                    AND NOT m.payload ? 'failure_modes'
                    AND NOT jsonb_path_exists(m.payload, 'lax $.recipe[*].args_schema."x-parameters".*.examples')
                    AND NOT jsonb_path_exists(m.payload, 'lax $.inputs_schema.properties.*.examples'))
        RETURNING 1)
    SELECT count(*) FROM erased;
    $$;
-- +goose StatementEnd
CALL mneme_protect_function('mneme_erase_repeated(uuid[], timestamptz)');

-- +goose Down
SELECT 1;
