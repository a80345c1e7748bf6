-- Users of one agent are kept apart by the scope user/<name>. Memories, batches and retrievals have a scope; here
-- forget runs and those who brought an artifact get one.

-- +goose Up
ALTER TABLE forget_runs ADD COLUMN scope text NOT NULL DEFAULT '';

ALTER TABLE artifact_holders ADD COLUMN scope text NOT NULL DEFAULT '';
ALTER TABLE artifact_holders DROP CONSTRAINT artifact_holders_pkey;
ALTER TABLE artifact_holders ADD PRIMARY KEY (tenant, sha256, agent_id, scope);

-- +goose Down
SELECT 1;
