-- What is left of an erased event says who erased it and why.

-- +goose Up

ALTER TABLE events ADD COLUMN receipt jsonb; -- by, reason, run; NULL: not erased, or nothing was said
COMMENT ON COLUMN events.receipt IS 'Who erased the event, why, and in which run. The first receipt stays.';

-- +goose StatementBegin
CREATE OR REPLACE FUNCTION mneme_only_erase_event() RETURNS trigger
    LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'UPDATE' AND NEW.session = '' AND NEW.candidate_id IS NULL AND NEW.memory_id IS NULL
        AND NEW.payload IS NULL AND NEW.erased_at IS NOT NULL
        AND (OLD.receipt IS NULL OR NEW.receipt = OLD.receipt)
        AND (NEW.tenant, NEW.stream, NEW.seq, NEW.id, NEW.agent_id, NEW.policy_group, NEW.kind, NEW.turn,
                NEW.visibility, NEW.sensitivity, NEW.occurred_at, NEW.recorded_at)
            IS NOT DISTINCT FROM (OLD.tenant, OLD.stream, OLD.seq, OLD.id, OLD.agent_id, OLD.policy_group, OLD.kind,
                OLD.turn, OLD.visibility, OLD.sensitivity, OLD.occurred_at, OLD.recorded_at)
    THEN
        RETURN NEW;
    END IF;
    IF TG_OP = 'DELETE'
        AND OLD.recorded_at < nullif(current_setting('mneme.events_before', true), '')::timestamptz
    THEN
        RETURN OLD;
    END IF;
    RAISE EXCEPTION '% is append-only: % refused', TG_TABLE_NAME, TG_OP USING ERRCODE = 'restrict_violation';
END $$;
-- +goose StatementEnd

-- Empties the running tenant's events with these ids: payload, session label and references go, and so does the digest,
-- which would confirm a guess. The skeleton stays, with the receipt that the transaction has set as mneme.receipt. A
-- belief that no event supports any more is emptied too, because it may repeat what they said. Returns how many events
-- it changed.
-- +goose StatementBegin
CREATE OR REPLACE FUNCTION mneme_empty_events(ids text[]) RETURNS bigint
    LANGUAGE plpgsql VOLATILE SECURITY DEFINER
    AS $$
DECLARE
    gone    text[] := ids;
    emptied bigint := 0;
    n       bigint;
    given   jsonb := nullif(current_setting('mneme.receipt', true), '')::jsonb;
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
                erased_at = coalesce(e.erased_at, now()), receipt = coalesce(e.receipt, given)
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

-- Appends events, as before. A restored event that was erased has its receipt.
-- +goose StatementBegin
CREATE OR REPLACE FUNCTION mneme_append_events(batch jsonb)
    RETURNS TABLE (ordinal bigint, stream text, seq bigint, added boolean, same boolean)
    LANGUAGE plpgsql VOLATILE
    AS $$
#variable_conflict use_column
DECLARE
    bound text := mneme_tenant();
    names text[];
BEGIN
    SELECT array_agg(DISTINCT e->>'stream' ORDER BY e->>'stream') INTO names FROM jsonb_array_elements(batch) e;
    INSERT INTO event_streams (tenant, stream, last_seq, created_at, updated_at)
    SELECT bound, n, 0, now(), now() FROM unnest(names) n ORDER BY n
    ON CONFLICT DO NOTHING;
    PERFORM FROM event_streams s WHERE s.tenant = bound AND s.stream = ANY(names) ORDER BY s.stream FOR UPDATE;
    RETURN QUERY
    WITH given AS MATERIALIZED (
        SELECT g.*, row_number() OVER (PARTITION BY g.id ORDER BY g.n) AS copy
        FROM ROWS FROM (jsonb_to_recordset(batch) AS (stream text, id text, agent_id text, policy_group text, kind text,
            turn integer, visibility text, sensitivity text, payload jsonb, candidate_id uuid, memory_id uuid,
            session text, occurred_at timestamptz, recorded_at timestamptz, erased_at timestamptz, digest text,
            receipt jsonb))
            WITH ORDINALITY
            AS g(stream, id, agent_id, policy_group, kind, turn, visibility, sensitivity, payload, candidate_id,
                memory_id, session, occurred_at, recorded_at, erased_at, digest, receipt, n)
    ), known AS MATERIALIZED (
        SELECT g.n, k.stream, k.seq, k.digest
        FROM given g
            CROSS JOIN LATERAL (
                SELECT i.stream, i.seq, i.digest FROM event_ids i WHERE i.tenant = bound AND i.id = g.id OFFSET 0) k
    ), fresh AS MATERIALIZED (
        SELECT g.*, h.last_seq + row_number() OVER (PARTITION BY g.stream ORDER BY g.n) AS seq,
            greatest(h.newest, max(g.recorded_at) OVER (PARTITION BY g.stream ORDER BY g.n)) AS placed_at
        FROM given g
            CROSS JOIN LATERAL (
                SELECT s.last_seq, CASE WHEN s.last_seq > 0 THEN s.updated_at END AS newest
                FROM event_streams s
                WHERE s.tenant = bound AND s.stream = g.stream
                OFFSET 0) h
        WHERE g.copy = 1 AND NOT EXISTS (SELECT FROM known k WHERE k.n = g.n)
    ), ids AS (
        INSERT INTO event_ids (tenant, id, stream, seq, digest, recorded_at)
        SELECT bound, f.id, f.stream, f.seq, decode(f.digest, 'hex'), f.placed_at FROM fresh f
    ), appended AS (
        INSERT INTO events (tenant, stream, seq, id, agent_id, policy_group, kind, turn, visibility, sensitivity,
            payload, candidate_id, memory_id, session, occurred_at, recorded_at, erased_at, receipt)
        SELECT bound, f.stream, f.seq, f.id, f.agent_id, coalesce(f.policy_group, ''), f.kind, coalesce(f.turn, 0),
            f.visibility, f.sensitivity, f.payload, f.candidate_id, f.memory_id, coalesce(f.session, ''),
            f.occurred_at, f.placed_at, f.erased_at, f.receipt
        FROM fresh f
    ), heads AS (
        UPDATE event_streams s
        SET last_seq = f.last_seq, updated_at = f.updated_at
        FROM (
            SELECT fresh.stream, max(fresh.seq) AS last_seq, max(fresh.placed_at) AS updated_at
            FROM fresh
            GROUP BY fresh.stream) f
        WHERE s.tenant = bound AND s.stream = f.stream
    )
    SELECT g.n, coalesce(k.stream, f.stream), coalesce(k.seq, f.seq), k.n IS NULL AND g.copy = 1,
        coalesce(k.digest, decode(f.digest, 'hex')) IS NOT DISTINCT FROM decode(g.digest, 'hex')
            OR k.n IS NOT NULL AND k.digest IS NULL
    FROM given g
        LEFT JOIN known k ON k.n = g.n
        LEFT JOIN fresh f ON f.id = g.id
    ORDER BY g.n;
END $$;
-- +goose StatementEnd

-- +goose Down
SELECT 1;
