-- A stream of the ledger belongs to a user, or to none. Views for another user leave it out.

-- +goose Up

ALTER TABLE event_streams ADD COLUMN scope text NOT NULL DEFAULT '';
COMMENT ON COLUMN event_streams.scope IS
    'user/NAME for the stream of a user, user/ for a stream of several users, empty for a stream of no user.';

-- A stream whose sessions are of one user becomes that user's. Streams of several users were possible before. They
-- become unreadable for users; the agent still reads them. A world belongs to no user.
UPDATE event_streams e
SET scope = s.scope
FROM (
    SELECT tenant, stream, CASE WHEN min(scope) = max(scope) THEN min(scope) ELSE 'user/' END AS scope
    FROM sessions
    WHERE scope LIKE 'user/%' AND stream NOT LIKE 'world/%'
    GROUP BY tenant, stream) s
WHERE e.tenant = s.tenant AND e.stream = s.stream;

-- The streams of a user, for erasing what they hold.
CREATE INDEX event_streams_of_user ON event_streams (tenant, scope, stream) WHERE scope <> '';

-- +goose Down
SELECT 1;
