-- Two parts of removing a person: a step that erases events is carried out once, and a removal of topics and artifacts
-- leaves a record.

-- +goose Up

-- The rows that exist satisfy the shorter list of before, so they are not read again.
ALTER TABLE operations DROP CONSTRAINT operations_kind_check;
ALTER TABLE operations ADD CONSTRAINT operations_kind_check CHECK (kind IN ('put', 'revise', 'modify', 'forget',
    'recover', 'review', 'ingest', 'candidate', 'resume', 'feedback', 'sweep', 'erase_events')) NOT VALID;

CREATE TABLE removals (
    tenant     text        NOT NULL CHECK (tenant <> ''),
    id         uuid        NOT NULL,
    kind       text        NOT NULL CHECK (kind IN ('topics', 'artifacts')),
    agent_id   text        NOT NULL DEFAULT '', -- empty: of every agent of the user
    scope      text        NOT NULL DEFAULT '',
    removed    integer     NOT NULL CHECK (removed >= 0),
    kept       integer     NOT NULL DEFAULT 0 CHECK (kept >= 0), -- still stored for memories, other users or agents
    removed_by text        NOT NULL CHECK (removed_by <> ''),
    reason     text        NOT NULL DEFAULT '',
    removed_at timestamptz NOT NULL,
    PRIMARY KEY (tenant, id)
);
COMMENT ON TABLE removals IS
    'One removal of topics or artifacts: who removed how many, when and why. It has nothing of what was removed.';
CALL mneme_protect_table('removals');
CREATE INDEX removals_age ON removals (tenant, removed_at, id);
CREATE INDEX removals_scope ON removals (tenant, scope, id);

-- +goose Down
SELECT 1;
