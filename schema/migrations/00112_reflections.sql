-- Reflections in the ledger (document 001, Layer 3): what an agent saw since its last one is found by index, a belief is
-- appended only on evidence that is there, and erasing evidence empties the beliefs that rest on nothing else.

-- +goose Up

CREATE INDEX events_beliefs ON events (tenant, agent_id, stream, seq) WHERE kind = 'agent.reflected';
CREATE INDEX events_open_reflections ON events (tenant, stream, seq)
    WHERE kind = 'agent.reflected' AND visibility <> 'private';
CREATE INDEX events_cited ON events USING gin ((payload -> 'based_on')) WHERE kind = 'agent.reflected';

-- Keeps the running tenant's events with these ids as they are until the transaction ends: an erasure waits for it. A
-- reflection is appended in the same transaction, so that an erasure that comes later finds it.
-- +goose StatementBegin
CREATE FUNCTION mneme_hold_events(ids text[]) RETURNS void
    LANGUAGE plpgsql VOLATILE SECURITY DEFINER
    AS $$
DECLARE
    place record;
BEGIN
    FOR place IN
        SELECT i.stream, i.seq, i.recorded_at
        FROM event_ids i
        WHERE i.tenant = mneme_tenant() AND i.id = ANY(ids)
        ORDER BY i.stream, i.seq
    LOOP
        PERFORM FROM events e
        WHERE e.tenant = mneme_tenant() AND e.stream = place.stream AND e.seq = place.seq
            AND e.recorded_at = place.recorded_at
        FOR SHARE;
    END LOOP;
END $$;
-- +goose StatementEnd
CALL mneme_protect_function('mneme_hold_events(text[])');

-- Empties the running tenant's events with these ids: payload, session label and references go, and so does the digest,
-- which would confirm a guess. The skeleton stays: stream, number, agent, kind and times. A belief that no event
-- supports any more is emptied too, because it may repeat what they said. Returns how many events it changed.
-- +goose StatementBegin
CREATE OR REPLACE FUNCTION mneme_empty_events(ids text[]) RETURNS bigint
    LANGUAGE plpgsql VOLATILE SECURITY DEFINER
    AS $$
DECLARE
    gone    text[] := ids;
    emptied bigint := 0;
    n       bigint;
BEGIN
    LOOP
        WITH place AS MATERIALIZED (
            SELECT i.id, i.stream, i.seq, i.recorded_at
            FROM event_ids i
            WHERE i.tenant = mneme_tenant() AND i.id = ANY(gone)
        ), forgotten AS (
            UPDATE event_ids i SET digest = NULL FROM place p
            WHERE i.tenant = mneme_tenant() AND i.id = p.id AND i.digest IS NOT NULL
        ), erased AS (
            UPDATE events e
            SET payload = NULL, session = '', candidate_id = NULL, memory_id = NULL,
                erased_at = coalesce(e.erased_at, now())
            FROM place p
            WHERE e.tenant = mneme_tenant() AND e.stream = p.stream AND e.seq = p.seq
                AND e.recorded_at = p.recorded_at
                AND (e.erased_at IS NULL OR e.memory_id IS NOT NULL OR e.candidate_id IS NOT NULL OR e.session <> '')
            RETURNING 1)
        SELECT count(*) INTO n FROM erased;
        emptied := emptied + n;

        -- A statement of its own: it sees a belief for which the one before had to wait (mneme_hold_events).
        SELECT array_agg(b.id) INTO gone
        FROM (
            SELECT *
            FROM events
            WHERE kind = 'agent.reflected' AND payload -> 'based_on' ?| gone
            OFFSET 0) b -- by events_cited, also where the planner knows nothing of the table
        WHERE b.tenant = mneme_tenant() AND b.erased_at IS NULL
            AND NOT EXISTS (
                SELECT
                FROM jsonb_array_elements_text(b.payload -> 'based_on') cited(id)
                    JOIN event_ids i ON i.tenant = mneme_tenant() AND i.id = cited.id
                    JOIN events e ON e.tenant = i.tenant AND e.stream = i.stream AND e.seq = i.seq
                        AND e.recorded_at = i.recorded_at
                WHERE e.erased_at IS NULL);
        EXIT WHEN gone IS NULL;
    END LOOP;
    RETURN emptied;
END $$;
-- +goose StatementEnd
CALL mneme_protect_function('mneme_empty_events(text[])');

-- +goose Down
SELECT 1;
