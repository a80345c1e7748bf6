-- Reports that no run of learning has taken in are found by their time.

-- +goose Up

CREATE INDEX outcome_reports_at ON outcome_reports (tenant, at, memory_id);

-- +goose Down
SELECT 1;
