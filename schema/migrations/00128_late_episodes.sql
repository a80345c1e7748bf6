-- A run of learning reads the episodes of a scope by the time at which they were recorded. An episode that a worker
-- wrote whose clock is behind, and one that grew after it was read, had a time that no later run reads.

-- +goose Up

-- An episode that is new or has grown is recorded after what the last run of its scope has read, and the attempts in a
-- grown one are read again. The rows of the attempts that were read stay: an erasure finds its groups by them.
-- +goose StatementBegin
CREATE FUNCTION mneme_place_episode() RETURNS trigger
    LANGUAGE plpgsql AS $$
DECLARE
    recorded timestamptz := coalesce(NEW.recorded_at, NEW.created_at);
    mark     timestamptz := (
        SELECT w.at + interval '1 microsecond'
        FROM learning_watermarks w
        WHERE w.tenant = NEW.tenant AND w.project = NEW.project AND w.scope = NEW.scope AND w.workflow = 'attempts'
            AND w.agent_id = CASE WHEN NEW.visibility IN ('private', 'group') THEN NEW.agent_id ELSE '' END);
BEGIN
    IF TG_OP = 'UPDATE' THEN
        DELETE FROM learning_attempts a WHERE a.tenant = NEW.tenant AND a.memory_id = NEW.id AND a.ordinal = 0;
        NEW.recorded_at := greatest(recorded, NEW.updated_at, mark);
        NEW.updated_at := NEW.recorded_at; -- of the version: it must not be read as of a time before it was recorded
    ELSIF mark > recorded THEN
        NEW.recorded_at := mark;
    END IF;
    RETURN NEW;
END $$;
-- +goose StatementEnd
CREATE TRIGGER memories_place_episode BEFORE INSERT ON memories
    FOR EACH ROW WHEN (NEW.type = 'episodic') EXECUTE FUNCTION mneme_place_episode();
CREATE TRIGGER memories_place_grown_episode BEFORE UPDATE OF payload ON memories
    FOR EACH ROW WHEN (NEW.type = 'episodic' AND NEW.erased_at IS NULL AND NEW.payload IS DISTINCT FROM OLD.payload)
    EXECUTE FUNCTION mneme_place_episode();

-- +goose Down
SELECT 1;
