-- UpdateFacts reads which facts of a scope were superseded or retracted, so that earlier statements do not bring them
-- back.

-- +goose Up

CREATE INDEX memories_retired ON memories (tenant, project, scope,
        (CASE WHEN visibility IN ('private', 'group') THEN agent_id ELSE '' END), updated_at, id)
    WHERE type = 'semantic' AND status IN ('superseded', 'retracted') AND deleted_at IS NULL;

-- +goose Down
SELECT 1;
