-- Workers of the version before migration 22 insert events without the memory that they are about. A trigger adds it,
-- so that erasure finds these events too.

-- +goose Up

-- Such a worker inserts the candidate first, in the same transaction. A candidate without a text is kept nowhere: its
-- event refers to nothing.
-- +goose StatementBegin
CREATE FUNCTION mneme_memory_of_event() RETURNS trigger
    LANGUAGE plpgsql AS $$
BEGIN
    SELECT c.memory_id INTO NEW.memory_id FROM memory_candidates c
    WHERE c.tenant = NEW.tenant AND c.id = NEW.candidate_id AND c.content <> '';
    IF NOT FOUND THEN
        NEW.candidate_id := NULL;
    END IF;
    RETURN NEW;
END $$;
-- +goose StatementEnd
CREATE TRIGGER events_memory BEFORE INSERT ON events
    FOR EACH ROW WHEN (NEW.memory_id IS NULL AND NEW.candidate_id IS NOT NULL) EXECUTE FUNCTION mneme_memory_of_event();

-- What came in since migration 22: the memory, or nothing where it was erased meanwhile.
ALTER TABLE events DISABLE TRIGGER events_append_only;
WITH late AS (
    SELECT e.tenant, e.id, c.memory_id,
        EXISTS (SELECT FROM jobs j WHERE j.tenant = c.tenant AND j.memory_id = c.memory_id)
        OR EXISTS (SELECT FROM memories m WHERE m.tenant = c.tenant AND m.id = c.memory_id AND m.erased_at IS NULL) AS kept
    FROM events e JOIN memory_candidates c ON c.tenant = e.tenant AND c.id = e.candidate_id
    WHERE e.memory_id IS NULL
)
UPDATE events e SET memory_id = CASE WHEN late.kept THEN late.memory_id END,
    candidate_id = CASE WHEN late.kept THEN e.candidate_id END, session = CASE WHEN late.kept THEN e.session ELSE '' END
FROM late WHERE e.tenant = late.tenant AND e.id = late.id;
ALTER TABLE events ENABLE TRIGGER events_append_only;

-- +goose Down
SELECT 1;
