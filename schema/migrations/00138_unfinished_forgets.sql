-- A confirmed run of Forget whose workflow was terminated stays confirmed. An operator looks for such runs.

-- +goose Up
CREATE INDEX forget_runs_unfinished ON forget_runs (tenant, confirmed_at, id) WHERE state = 'confirmed';

-- +goose Down
SELECT 1;
