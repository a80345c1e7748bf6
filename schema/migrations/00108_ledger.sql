-- The ledger (document 001): events in streams, append-only, without gaps. All that an agent is shown of what happened
-- is a view of these rows.

-- +goose Up

CREATE TABLE event_streams (
    tenant     text        NOT NULL,
    stream     text        NOT NULL CHECK (stream ~ '^(world|run|conversation)/.'),
    last_seq   bigint      NOT NULL CHECK (last_seq >= 0), -- of the newest event, also after that is purged
    created_at timestamptz NOT NULL,
    updated_at timestamptz NOT NULL,
    PRIMARY KEY (tenant, stream)
) WITH (fillfactor = 50);
COMMENT ON TABLE event_streams IS
    'One stream of the ledger and its newest sequence number. Its row is locked to append, so that numbers have no gaps.';
CALL mneme_protect_table('event_streams');

-- A partitioned table has no unique key without the column that it is partitioned by. This table keeps ids unique.
CREATE TABLE event_ids (
    tenant      text        NOT NULL,
    id          text        NOT NULL CHECK (id <> ''),
    stream      text        NOT NULL,
    seq         bigint      NOT NULL,
    digest      bytea,      -- of the event as it was handed in; NULL: it was erased
    recorded_at timestamptz NOT NULL,
    PRIMARY KEY (tenant, id)
);
COMMENT ON TABLE event_ids IS
    'Where the event with an id is in the ledger: appending it again finds it, and adds nothing.';
CALL mneme_protect_table('event_ids');
REVOKE UPDATE, DELETE ON event_ids FROM mneme_app;

CREATE TABLE events (
    tenant       text        NOT NULL,
    stream       text        NOT NULL,
    seq          bigint      NOT NULL CHECK (seq > 0),
    id           text        NOT NULL CHECK (id <> ''),
    agent_id     text        NOT NULL CHECK (agent_id <> ''),
    policy_group text        NOT NULL DEFAULT '',
    kind         text        NOT NULL CHECK (kind <> ''),
    turn         integer     NOT NULL DEFAULT 0 CHECK (turn >= 0),
    visibility   text        NOT NULL CHECK (visibility IN ('private', 'group', 'shared', 'global')),
    sensitivity  text        NOT NULL CHECK (sensitivity IN ('public', 'low', 'medium', 'high', 'hyper')),
    payload      jsonb,      -- an object; NULL: there was none, or it was erased
    candidate_id uuid,       -- what was handed in to be remembered has its text there
    memory_id    uuid,       -- the memory that it became or repeated; NULL: erased, or there never was one
    session      text        NOT NULL DEFAULT '',
    occurred_at  timestamptz NOT NULL,
    recorded_at  timestamptz NOT NULL,
    erased_at    timestamptz,
    PRIMARY KEY (tenant, stream, seq, recorded_at)
) PARTITION BY RANGE (recorded_at);
COMMENT ON TABLE events IS
    'One thing that happened, in the append-only ledger (document 001), partitioned by month of recording.';
CALL mneme_protect_table('events');
REVOKE UPDATE, DELETE ON events FROM mneme_app;
-- The latest events that an agent sees are read from two indexes: its own, and those that others may see.
CREATE INDEX events_of_agent ON events (tenant, stream, agent_id, seq);
CREATE INDEX events_open ON events (tenant, stream, seq) WHERE visibility <> 'private';
CREATE INDEX events_age ON events (tenant, recorded_at, stream, seq);
CREATE INDEX events_of_memory ON events (tenant, memory_id) WHERE memory_id IS NOT NULL;

-- What belongs to no month: events of a restored export, and of a time for which no partition was made yet.
CREATE TABLE events_rest PARTITION OF events DEFAULT;

-- Binds a partition to the tenant like its parent. The application has no right to it but through the parent.
-- +goose StatementBegin
CREATE PROCEDURE mneme_protect_event_partition(part regclass, holds text)
    LANGUAGE plpgsql AS $$
BEGIN
    EXECUTE format('ALTER TABLE %s ENABLE ROW LEVEL SECURITY', part);
    EXECUTE format('CREATE POLICY tenant_only ON %s USING (tenant = (SELECT mneme_tenant()))
        WITH CHECK (tenant = (SELECT mneme_tenant()))', part);
    EXECUTE format('COMMENT ON TABLE %s IS %L', part, holds);
END $$;
-- +goose StatementEnd
REVOKE EXECUTE ON PROCEDURE mneme_protect_event_partition(regclass, text) FROM PUBLIC;
CALL mneme_protect_event_partition('events_rest', 'Events of the ledger whose month has no partition.');

-- Makes the partitions of a time's month and of the two months after it, and returns how many it made.
-- +goose StatementBegin
CREATE FUNCTION mneme_make_event_partitions(at timestamptz) RETURNS integer
    LANGUAGE plpgsql VOLATILE SECURITY DEFINER
    AS $$
DECLARE
    month timestamp := date_trunc('month', at AT TIME ZONE 'UTC');
    name  text;
    made  integer := 0;
BEGIN
    -- One caller at a time; the others go on.
    IF NOT pg_try_advisory_xact_lock(hashtextextended('mneme.event_partitions.' || current_schema(), 0)) THEN
        RETURN 0;
    END IF;
    FOR i IN 1..3 LOOP
        name := 'events_' || to_char(month, 'YYYY_MM');
        IF to_regclass(format('%I', name)) IS NULL THEN
            BEGIN
                EXECUTE format('CREATE TABLE %I PARTITION OF events FOR VALUES FROM (%L) TO (%L)',
                    name, month::text || '+00', (month + interval '1 month')::text || '+00');
                CALL mneme_protect_event_partition(name::regclass,
                    'Events of the ledger that were recorded in ' || to_char(month, 'FMMonth YYYY') || '.');
                made := made + 1;
            EXCEPTION WHEN check_violation THEN
                NULL; -- events of this month are in events_rest, where they stay
            END;
        END IF;
        month := month + interval '1 month';
    END LOOP;
    RETURN made;
END $$;
-- +goose StatementEnd
CALL mneme_protect_function('mneme_make_event_partitions(timestamptz)');
SELECT mneme_make_event_partitions(now());

-- Drops the partitions of months that ended before a time and hold no event of any tenant any more, and returns how
-- many. Dropping an empty partition frees its indexes, which deleting rows does not.
-- +goose StatementBegin
CREATE FUNCTION mneme_drop_event_partitions(before timestamptz) RETURNS integer
    LANGUAGE plpgsql VOLATILE SECURITY DEFINER
    AS $$
DECLARE
    part    record;
    filled  boolean;
    dropped integer := 0;
BEGIN
    FOR part IN
        SELECT c.oid::regclass AS name, to_date(right(c.relname, 7), 'YYYY_MM') + interval '1 month' AS ended
        FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
        WHERE i.inhparent = 'events'::regclass AND c.relname ~ '^events_[0-9]{4}_[0-9]{2}$'
        ORDER BY c.relname
    LOOP
        CONTINUE WHEN part.ended AT TIME ZONE 'UTC' >= before;
        EXECUTE format('SELECT EXISTS (SELECT FROM %s)', part.name) INTO filled;
        CONTINUE WHEN filled;
        EXECUTE format('LOCK TABLE %s IN ACCESS EXCLUSIVE MODE', part.name);
        EXECUTE format('SELECT EXISTS (SELECT FROM %s)', part.name) INTO filled;
        CONTINUE WHEN filled;
        EXECUTE format('DROP TABLE %s', part.name);
        dropped := dropped + 1;
    END LOOP;
    RETURN dropped;
END $$;
-- +goose StatementEnd
CALL mneme_protect_function('mneme_drop_event_partitions(timestamptz)');

-- Appends events of the running tenant in the order given, and returns for each its stream, its number, whether it was
-- added, and whether the event with its id is the same one. Streams are locked in the order of their names, so that two
-- callers never wait for each other. An id that another transaction appends to another stream at the same moment fails
-- with unique_violation: the caller tries again and finds it.
-- +goose StatementBegin
CREATE FUNCTION mneme_append_events(batch jsonb)
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
            session text, occurred_at timestamptz, recorded_at timestamptz, erased_at timestamptz, digest text))
            WITH ORDINALITY
            AS g(stream, id, agent_id, policy_group, kind, turn, visibility, sensitivity, payload, candidate_id,
                memory_id, session, occurred_at, recorded_at, erased_at, digest, n)
    ), known AS MATERIALIZED (
        SELECT g.n, k.stream, k.seq, k.digest
        FROM given g
            CROSS JOIN LATERAL (
                SELECT i.stream, i.seq, i.digest FROM event_ids i WHERE i.tenant = bound AND i.id = g.id OFFSET 0) k
    ), fresh AS MATERIALIZED (
        SELECT g.*, h.last_seq + row_number() OVER (PARTITION BY g.stream ORDER BY g.n) AS seq
        FROM given g
            CROSS JOIN LATERAL (
                SELECT s.last_seq FROM event_streams s WHERE s.tenant = bound AND s.stream = g.stream OFFSET 0) h
        WHERE g.copy = 1 AND NOT EXISTS (SELECT FROM known k WHERE k.n = g.n)
    ), ids AS (
        INSERT INTO event_ids (tenant, id, stream, seq, digest, recorded_at)
        SELECT bound, f.id, f.stream, f.seq, decode(f.digest, 'hex'), f.recorded_at FROM fresh f
    ), appended AS (
        INSERT INTO events (tenant, stream, seq, id, agent_id, policy_group, kind, turn, visibility, sensitivity,
            payload, candidate_id, memory_id, session, occurred_at, recorded_at, erased_at)
        SELECT bound, f.stream, f.seq, f.id, f.agent_id, coalesce(f.policy_group, ''), f.kind, coalesce(f.turn, 0),
            f.visibility, f.sensitivity, f.payload, f.candidate_id, f.memory_id, coalesce(f.session, ''),
            f.occurred_at, f.recorded_at, f.erased_at
        FROM fresh f
    ), heads AS (
        UPDATE event_streams s
        SET last_seq = f.last_seq, updated_at = f.updated_at
        FROM (
            SELECT fresh.stream, max(fresh.seq) AS last_seq, max(fresh.recorded_at) AS updated_at
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

-- The two changes that the ledger admits: erasure empties an event, and a purge deletes events that are older than the
-- time that mneme_purge_events sets.
-- +goose StatementBegin
CREATE FUNCTION mneme_only_erase_event() RETURNS trigger
    LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'UPDATE' AND NEW.session = '' AND NEW.candidate_id IS NULL AND NEW.memory_id IS NULL
        AND NEW.payload IS NULL AND NEW.erased_at IS NOT NULL
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
CREATE TRIGGER events_append_only BEFORE UPDATE OR DELETE ON events
    FOR EACH ROW EXECUTE FUNCTION mneme_only_erase_event();
CREATE TRIGGER events_no_truncate BEFORE TRUNCATE ON events
    FOR EACH STATEMENT EXECUTE FUNCTION mneme_refuse_change();

-- Empties the running tenant's events with these ids: payload, session label and references go, and so does the digest,
-- which would confirm a guess. The skeleton stays: stream, number, agent, kind and times. Returns how many it changed.
-- +goose StatementBegin
CREATE FUNCTION mneme_empty_events(ids text[]) RETURNS bigint
    LANGUAGE sql VOLATILE SECURITY DEFINER
    AS $$
    WITH place AS MATERIALIZED (
        SELECT i.id, i.stream, i.seq, i.recorded_at
        FROM event_ids i
        WHERE i.tenant = mneme_tenant() AND i.id = ANY(ids)
    ), forgotten AS (
        UPDATE event_ids i SET digest = NULL FROM place p
        WHERE i.tenant = mneme_tenant() AND i.id = p.id AND i.digest IS NOT NULL
    ), erased AS (
        UPDATE events e
        SET payload = NULL, session = '', candidate_id = NULL, memory_id = NULL, erased_at = coalesce(e.erased_at, now())
        FROM place p
        WHERE e.tenant = mneme_tenant() AND e.stream = p.stream AND e.seq = p.seq AND e.recorded_at = p.recorded_at
            AND (e.erased_at IS NULL OR e.memory_id IS NOT NULL OR e.candidate_id IS NOT NULL OR e.session <> '')
        RETURNING 1)
    SELECT count(*) FROM erased;
    $$;
-- +goose StatementEnd
-- Empties the running tenant's events about memories that are erased or gone, at most so many (NULL: all). Returns how
-- many it changed.
-- +goose StatementBegin
CREATE FUNCTION mneme_erase_events(ids uuid[], most integer) RETURNS bigint
    LANGUAGE sql VOLATILE SECURITY DEFINER
    AS $$
    WITH about AS (
        SELECT e.id FROM events e WHERE e.tenant = mneme_tenant() AND e.memory_id = ANY(ids) ORDER BY e.id LIMIT most)
    SELECT mneme_empty_events(array(SELECT id FROM about))
    $$;
-- +goose StatementEnd
CALL mneme_protect_function('mneme_empty_events(text[])');
CALL mneme_protect_function('mneme_erase_events(uuid[], integer)');

-- Deletes those of the running tenant's events at these places that were recorded before a time. Returns how many.
-- +goose StatementBegin
CREATE FUNCTION mneme_purge_events(streams text[], seqs bigint[], before timestamptz) RETURNS bigint
    LANGUAGE plpgsql VOLATILE SECURITY DEFINER
    AS $$
DECLARE
    n bigint;
BEGIN
    PERFORM set_config('mneme.events_before', before::text, true);
    WITH gone AS (
        DELETE FROM events e
        USING unnest(streams, seqs) old(stream, seq)
        WHERE e.tenant = mneme_tenant() AND e.stream = old.stream AND e.seq = old.seq AND e.recorded_at < before
        RETURNING e.id
    ), forgotten AS (
        DELETE FROM event_ids i USING gone WHERE i.tenant = mneme_tenant() AND i.id = gone.id)
    SELECT count(*) INTO n FROM gone;
    PERFORM set_config('mneme.events_before', '', true);
    RETURN n;
END $$;
-- +goose StatementEnd
CALL mneme_protect_function('mneme_purge_events(text[], bigint[], timestamptz)');

-- An event stays as long as a memory names it as evidence.
CREATE INDEX memory_provenance_event ON memory_provenance (ref, tenant) WHERE kind = 'event';

-- +goose Down
SELECT 1;
