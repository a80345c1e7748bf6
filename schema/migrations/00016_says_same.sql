-- What says the same as a memory that is to be forgotten.

-- +goose Up

-- Memories that say what a run has selected: offered with the selection, or taken with it (taken). Ids only.
CREATE TABLE forget_echoes (
    tenant    text    NOT NULL,
    run_id    uuid    NOT NULL,
    memory_id uuid    NOT NULL, -- no foreign key: force deletes the memory
    position  integer NOT NULL, -- in the order in which they were found
    tie       text    NOT NULL CHECK (tie IN ('restatement', 'source', 'derived')),
    also_says integer NOT NULL DEFAULT 0 CHECK (also_says >= 0),
    taken     boolean NOT NULL DEFAULT false,
    foreign_owner boolean NOT NULL DEFAULT false, -- another agent's, which this mode leaves alone
    PRIMARY KEY (tenant, run_id, memory_id),
    FOREIGN KEY (tenant, run_id) REFERENCES forget_runs (tenant, id) ON DELETE CASCADE
);
ALTER TABLE forget_echoes ENABLE ROW LEVEL SECURITY;
CREATE POLICY tenant_only ON forget_echoes USING (tenant = (SELECT mneme_tenant())) WITH CHECK (tenant = (SELECT mneme_tenant()));
GRANT SELECT, INSERT, UPDATE, DELETE ON forget_echoes TO mneme_app;

-- Copies that are superseded, archived or deleted. Those that are live have an index.
CREATE INDEX memories_past_hash ON memories (tenant, content_hash) WHERE NOT live AND erased_at IS NULL;

-- +goose Down
SELECT 1;
