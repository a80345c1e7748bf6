-- Duplicates: by which key each record that may have one is known.

-- +goose Up

-- What lasts of a scope, by when it last changed. The scope's agent is that of private and group memories.
CREATE INDEX memories_lasting ON memories (tenant, project, scope,
        (CASE WHEN visibility IN ('private', 'group') THEN agent_id ELSE '' END), updated_at, id)
    WHERE live AND type IN ('semantic', 'competence', 'plan_graph');

CREATE TABLE duplicate_keys (
    tenant    text    NOT NULL CHECK (tenant <> ''),
    memory_id uuid    NOT NULL,
    version   integer NOT NULL CHECK (version >= 1), -- of the memory when the key was made
    key       bytea   NOT NULL CHECK (octet_length(key) = 32),
    PRIMARY KEY (tenant, memory_id),
    FOREIGN KEY (tenant, memory_id) REFERENCES memories (tenant, id) ON DELETE CASCADE
) WITH (fillfactor = 70);
COMMENT ON TABLE duplicate_keys IS
    'The key that a live record shares with its duplicates and with nothing else. Rows that are missing are made again.';
CALL mneme_protect_table('duplicate_keys');
CREATE INDEX duplicate_keys_key ON duplicate_keys (tenant, key);

-- A key follows from the content, so it goes when the memory is no longer live.
-- +goose StatementBegin
CREATE FUNCTION mneme_drop_duplicate_key() RETURNS trigger
    LANGUAGE plpgsql AS $$
BEGIN
    DELETE FROM duplicate_keys d WHERE d.tenant = OLD.tenant AND d.memory_id = OLD.id;
    RETURN NULL;
END $$;
-- +goose StatementEnd
CALL mneme_protect_function('mneme_drop_duplicate_key()');
CREATE TRIGGER memories_drop_duplicate_key AFTER UPDATE OF deleted_at, archived_at, status ON memories
    FOR EACH ROW WHEN (OLD.live AND NOT NEW.live)
    EXECUTE FUNCTION mneme_drop_duplicate_key();

-- +goose Down
