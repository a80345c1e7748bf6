-- The artifacts of a user are removed, and counted, by their scope.

-- +goose Up

CREATE INDEX artifact_holders_scope ON artifact_holders (tenant, scope);

-- +goose Down
SELECT 1;
