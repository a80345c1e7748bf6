-- A record that is put may have an old time of its last change, as from an import. The search for duplicates read by
-- that time, so such a record came before what the last run had read, and was never compared.

-- +goose Up

-- What lasts of a scope, by when it was recorded or, if that is later, by when it last changed.
DROP INDEX memories_lasting;
CREATE INDEX memories_lasting ON memories (tenant, project, scope,
        (CASE WHEN visibility IN ('private', 'group') THEN agent_id ELSE '' END),
        (CASE WHEN recorded_at > updated_at THEN recorded_at ELSE updated_at END), id)
    WHERE live AND type IN ('semantic', 'competence', 'plan_graph');

-- +goose Down
SELECT 1;
