-- Live content is unique among memories of one type: an occurrence, which fades, and the fact drawn from it, which
-- lasts, may say the same in the same words.

-- +goose Up
CREATE UNIQUE INDEX memories_live_hash_of_type ON memories (tenant, content_hash, agent_id, project, scope, visibility, type) WHERE live;
DROP INDEX memories_live_hash;
ALTER INDEX memories_live_hash_of_type RENAME TO memories_live_hash;

-- +goose Down
SELECT 1;
