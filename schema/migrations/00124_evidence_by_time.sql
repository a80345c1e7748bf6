-- With coalesce, which row-level security takes for leaky, the index of evidence served only the scope: each page read
-- all episodes of the scope. CASE is not leaky, so the time can be an index condition too.

-- +goose Up

DROP INDEX memories_evidence;
CREATE INDEX memories_evidence ON memories (tenant, project, scope,
        (CASE WHEN visibility IN ('private', 'group') THEN agent_id ELSE '' END),
        (CASE WHEN recorded_at IS NULL THEN created_at ELSE recorded_at END), id)
    WHERE live AND type = 'episodic';

-- +goose Down
SELECT 1;
