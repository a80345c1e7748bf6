-- Sessions: the work of one agent on one stream of the ledger. All of it but the names follows from the events, and can
-- be dropped and computed again.

-- +goose Up

CREATE TABLE sessions (
    tenant      text        NOT NULL,
    id          uuid        NOT NULL, -- follows from agent, user and session
    workflow_id text        NOT NULL CHECK (workflow_id <> ''), -- of the runs that take its events in
    agent_id    text        NOT NULL CHECK (agent_id <> ''),
    scope       text        NOT NULL DEFAULT '',
    session     text        NOT NULL CHECK (session <> ''),
    stream      text        NOT NULL,
    state       text        NOT NULL CHECK (state IN ('open', 'closed')),
    first_seq   bigint      NOT NULL CHECK (first_seq > 0),  -- of the episode that is open, or was last
    last_seq    bigint      NOT NULL CHECK (last_seq >= 0),  -- the newest event that was taken in
    events      integer     NOT NULL DEFAULT 0 CHECK (events >= 0), -- of that episode, as its agent sees them
    ended_seq   bigint,     -- the event with which the agent ended it
    working     jsonb,      -- the state of the work; NULL: it is closed, or must be computed again
    changed_seq bigint      NOT NULL DEFAULT 0, -- the event that changed it last
    opened_at   timestamptz NOT NULL,
    updated_at  timestamptz NOT NULL, -- when an event was taken in last
    closed_at   timestamptz,
    PRIMARY KEY (tenant, id)
) WITH (fillfactor = 70);
COMMENT ON TABLE sessions IS
    'A session of an agent: how far its stream was taken in, and the state of its work while it is open.';
CALL mneme_protect_table('sessions');
CREATE UNIQUE INDEX sessions_workflow ON sessions (tenant, workflow_id);
CREATE INDEX sessions_stream ON sessions (tenant, stream);
CREATE INDEX sessions_open ON sessions (tenant, updated_at) WHERE state = 'open';
CREATE INDEX sessions_closed ON sessions (tenant, closed_at) WHERE state = 'closed';

CREATE TABLE session_episodes (
    tenant     text        NOT NULL,
    session_id uuid        NOT NULL,
    first_seq  bigint      NOT NULL CHECK (first_seq > 0),
    last_seq   bigint      NOT NULL CHECK (last_seq >= first_seq),
    events     integer     NOT NULL CHECK (events > 0),
    memory_id  uuid,       -- the episodic record; NULL: the policy wrote none
    outcome    text        NOT NULL CHECK (outcome IN ('success', 'failure', 'partial')),
    closed     text        NOT NULL CHECK (closed IN ('finished', 'idle')),
    closed_at  timestamptz NOT NULL,
    PRIMARY KEY (tenant, session_id, first_seq),
    FOREIGN KEY (tenant, session_id) REFERENCES sessions (tenant, id) ON DELETE CASCADE
);
COMMENT ON TABLE session_episodes IS
    'The parts of a stream of which a session made an episode each time that it was closed.';
CALL mneme_protect_table('session_episodes');

-- +goose Down
SELECT 1;
