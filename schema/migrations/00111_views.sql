-- Reading the ledger for views without reading all of it (document 001): where the latest of each thing is, in which
-- order kinds are ranked, and the vectors of events.

-- +goose Up

-- The order of a stream is also the order of its times: the clock of a second writer may be behind. A reader that reads
-- part of a stream could not tell otherwise where its events belong among those of other streams.
-- Appends events of the running tenant in the order given, and returns for each its stream, its number, whether it was
-- added, and whether the event with its id is the same one. Streams are locked in the order of their names, so that two
-- callers never wait for each other. An id that another transaction appends to another stream at the same moment fails
-- with unique_violation: the caller tries again and finds it.
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
            payload, candidate_id, memory_id, session, occurred_at, recorded_at, erased_at)
        SELECT bound, f.stream, f.seq, f.id, f.agent_id, coalesce(f.policy_group, ''), f.kind, coalesce(f.turn, 0),
            f.visibility, f.sensitivity, f.payload, f.candidate_id, f.memory_id, coalesce(f.session, ''),
            f.occurred_at, f.placed_at, f.erased_at
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

-- Who sees an event of another agent is part of the index: of a million events of another group none is read. The
-- expression has only functions that are leakproof; with others, row-level security would keep the index from being used.
DROP INDEX events_open;
CREATE INDEX events_open ON events
    (tenant, stream, (CASE WHEN visibility = 'group' THEN policy_group ELSE '' END), seq)
    WHERE visibility <> 'private';
-- Salience ranks the events of one kind by their turn until no older one can be among the most salient.
CREATE INDEX events_of_agent_kind ON events (tenant, stream, agent_id, kind, turn, seq);
CREATE INDEX events_open_kind ON events
    (tenant, stream, (CASE WHEN visibility = 'group' THEN policy_group ELSE '' END), kind, turn, seq)
    WHERE visibility <> 'private';
-- An agent's reflections are read in their order, and so is what is asked of the last ones.
CREATE INDEX events_reflections ON events (tenant, stream, agent_id, seq) WHERE kind = 'agent.reflected';

-- A mark says that an event has something to say about one thing: a field of the world's state, the environment, an
-- observation in words, an input of a user. The latest mark of each thing that an agent may see leads to the events that
-- make up its scene, however many there are. Marks hold names and no values. They are written with the event and can be
-- made again from the ledger at any time (RebuildMarks in store/events).
CREATE TABLE event_marks (
    tenant      text   NOT NULL,
    stream      text   NOT NULL,
    seq         bigint NOT NULL,
    audience    text   NOT NULL COLLATE "C", -- '': every agent; 'group G'; 'agent A'
    mark        text   NOT NULL COLLATE "C", -- 'field NAME', 'tool NAME', os, directory, context, note, visit
    sensitivity text   NOT NULL COLLATE "C" CHECK (sensitivity IN ('public', 'low', 'medium', 'high', 'hyper')),
    PRIMARY KEY (tenant, stream, seq, audience, mark)
);
COMMENT ON TABLE event_marks IS
    'Which events say something about the world, and who may see them: derived from events, to find the latest.';
CREATE INDEX event_marks_latest ON event_marks (tenant, stream, audience, mark, sensitivity, seq DESC);
CALL mneme_protect_table('event_marks');
REVOKE UPDATE ON event_marks FROM mneme_app;

-- The things that a payload has something to say about. It follows SceneOf in package memory/views: a null removes a
-- field and so is the latest word on it; an empty text or name says nothing. Long names are told apart by a hash.
-- +goose StatementBegin
CREATE FUNCTION mneme_event_marks(kind text, payload jsonb) RETURNS SETOF text
    LANGUAGE sql IMMUTABLE
    AS $$
    SELECT DISTINCT m.mark
    FROM (
        SELECT CASE
            WHEN key = 'text' AND jsonb_typeof(value) = 'string' THEN CASE WHEN value <> '""' THEN 'note' END
            WHEN key = 'text' AND jsonb_typeof(value) = 'null' THEN NULL
            WHEN octet_length(key) > 200 THEN 'long field ' || md5(key)
            ELSE 'field ' || key END
        FROM jsonb_each(CASE WHEN kind = 'world.observed' AND jsonb_typeof(payload) = 'object' THEN payload END)
        WHERE key <> 'artifacts'
        UNION ALL
        SELECT CASE lower(key)
            WHEN 'os' THEN CASE WHEN value NOT IN ('""', 'null') THEN 'os' END
            WHEN 'working_dir' THEN CASE WHEN value NOT IN ('""', 'null') THEN 'directory' END
            WHEN 'context' THEN 'context' END
        FROM jsonb_each(CASE WHEN kind = 'world.environment' AND jsonb_typeof(payload) = 'object' THEN payload END)
        UNION ALL
        SELECT CASE WHEN octet_length(tool) > 200 THEN 'long tool ' || md5(tool) ELSE 'tool ' || tool END
        FROM jsonb_each(CASE WHEN kind = 'world.environment' AND jsonb_typeof(payload) = 'object' THEN payload END) v,
            jsonb_object_keys(CASE WHEN jsonb_typeof(v.value) = 'object' THEN v.value END) tool
        WHERE lower(v.key) = 'tool_versions'
        UNION ALL
        SELECT 'visit' WHERE kind = 'user.injected' AND payload IS NOT NULL) m(mark)
    WHERE m.mark IS NOT NULL
    $$;
-- +goose StatementEnd

-- Who may find the marks of an event: a private one its agent, one for a group the group and its agent.
-- +goose StatementBegin
CREATE FUNCTION mneme_event_audiences(visibility text, agent text, policy_group text) RETURNS SETOF text
    LANGUAGE sql IMMUTABLE
    AS $$
    SELECT '' WHERE visibility NOT IN ('private', 'group')
    UNION ALL SELECT 'group ' || policy_group WHERE visibility = 'group' AND policy_group <> ''
    UNION ALL SELECT 'agent ' || agent WHERE visibility IN ('private', 'group')
    $$;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE FUNCTION mneme_mark_added_events() RETURNS trigger
    LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO event_marks (tenant, stream, seq, audience, mark, sensitivity)
    SELECT a.tenant, a.stream, a.seq, v.audience, m.mark, a.sensitivity
    FROM added a
        CROSS JOIN LATERAL mneme_event_audiences(a.visibility, a.agent_id, a.policy_group) v(audience)
        CROSS JOIN LATERAL mneme_event_marks(a.kind, a.payload) m(mark)
    WHERE a.kind IN ('world.observed', 'world.environment', 'user.injected') AND a.erased_at IS NULL;
    RETURN NULL;
END $$;
-- +goose StatementEnd
CREATE TRIGGER events_marks AFTER INSERT ON events REFERENCING NEW TABLE AS added
    FOR EACH STATEMENT EXECUTE FUNCTION mneme_mark_added_events();

-- An event's vectors by embedding model, for relevance by meaning. Derived: it can be emptied and filled again.
CREATE TABLE event_vectors (
    tenant    text    NOT NULL,
    event_id  text    NOT NULL,
    model     text    NOT NULL,
    dims      integer NOT NULL,
    embedding vector  NOT NULL,
    PRIMARY KEY (tenant, event_id, model, dims),
    CONSTRAINT event_vectors_dims_of_vector CHECK (dims = vector_dims(embedding))
);
COMMENT ON TABLE event_vectors IS
    'The vector of an event by one embedding model: derived from the ledger for the relevance of events.';
CALL mneme_protect_table('event_vectors');

-- Who stores vectors holds this lock shared, who erases events holds it alone.
CREATE FUNCTION mneme_event_vectors_lock(tenant text) RETURNS bigint
    LANGUAGE sql IMMUTABLE
    RETURN hashtextextended('mneme.event_vectors.' || tenant, 0);

-- What is erased or purged leaves nothing that was derived from it.
-- +goose StatementBegin
CREATE FUNCTION mneme_forget_derived_of_event() RETURNS trigger
    LANGUAGE plpgsql AS $$
BEGIN
    PERFORM pg_advisory_xact_lock(mneme_event_vectors_lock(OLD.tenant));
    DELETE FROM event_vectors v WHERE v.tenant = OLD.tenant AND v.event_id = OLD.id;
    DELETE FROM event_marks m WHERE m.tenant = OLD.tenant AND m.stream = OLD.stream AND m.seq = OLD.seq;
    RETURN NULL;
END $$;
-- +goose StatementEnd
CREATE TRIGGER events_derived AFTER UPDATE OR DELETE ON events
    FOR EACH ROW EXECUTE FUNCTION mneme_forget_derived_of_event();

INSERT INTO event_marks (tenant, stream, seq, audience, mark, sensitivity)
SELECT e.tenant, e.stream, e.seq, v.audience, m.mark, e.sensitivity
FROM events e
    CROSS JOIN LATERAL mneme_event_audiences(e.visibility, e.agent_id, e.policy_group) v(audience)
    CROSS JOIN LATERAL mneme_event_marks(e.kind, e.payload) m(mark)
WHERE e.kind IN ('world.observed', 'world.environment', 'user.injected') AND e.erased_at IS NULL;

-- +goose Down
SELECT 1;
