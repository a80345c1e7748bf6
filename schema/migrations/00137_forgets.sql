-- Two parts of forgetting: reasons of decisions go from the history of every memory that they may quote, and an operator
-- finds runs that were lost.

-- +goose Up

-- A confirmed run of Forget whose workflow was terminated stays confirmed.
CREATE INDEX forget_runs_unfinished ON forget_runs (tenant, confirmed_at, id) WHERE state = 'confirmed';

-- Removes the reasons of the decisions about memories from the history of the other memories that the same decisions
-- have made or changed: there, a model's or a reviewer's words about one memory are in the history of another. The texts
-- of the others stay. Returns the memory of each row that it changed.
-- +goose StatementBegin
CREATE FUNCTION mneme_erase_decisions(ids uuid[], others uuid[]) RETURNS uuid[]
    LANGUAGE sql VOLATILE SECURITY DEFINER
    AS $$
    WITH decided AS (
        SELECT DISTINCT metadata->>'proposalId' AS id FROM memory_history
        WHERE tenant = mneme_tenant() AND memory_id = ANY(ids) AND metadata ? 'proposalId'
    ), erased AS (
        UPDATE memory_history h SET reason = '[erased]', metadata = mneme_without_text(h.metadata)
        FROM decided d
        WHERE h.tenant = mneme_tenant() AND h.memory_id = ANY(others) AND h.metadata->>'proposalId' = d.id
            AND h.reason <> '[erased]'
        RETURNING h.memory_id)
    SELECT coalesce(array_agg(memory_id), '{}') FROM erased;
    $$;
-- +goose StatementEnd
CALL mneme_protect_function('mneme_erase_decisions(uuid[], uuid[])');

-- +goose Down
SELECT 1;
