-- What a model was asked while learning, so that the same evidence costs nothing a second time.

-- +goose Up

CREATE TABLE model_answers (
    tenant    text        NOT NULL CHECK (tenant <> ''),
    memory_id uuid        NOT NULL, -- the episode or the fact that was asked about
    other     uuid        NOT NULL, -- the other fact of a pair; the same memory if there is none
    purpose   text        NOT NULL CHECK (purpose IN ('facts', 'conflicts', 'duplicates')),
    question  bytea       NOT NULL CHECK (octet_length(question) = 32), -- hash of what was asked
    answer    text        NOT NULL DEFAULT 'shown'
        CHECK (answer IN ('shown', 'both', 'excludes', 'unsure', 'same', 'differs')),
    at        timestamptz NOT NULL,
    PRIMARY KEY (tenant, memory_id, purpose, other),
    FOREIGN KEY (tenant, memory_id) REFERENCES memories (tenant, id) ON DELETE CASCADE,
    FOREIGN KEY (tenant, other) REFERENCES memories (tenant, id) ON DELETE CASCADE
) WITH (fillfactor = 70);
COMMENT ON TABLE model_answers IS
    'Verdicts of a model on facts, and which episodes it was shown. Rows that are missing are asked for again.';
CALL mneme_protect_table('model_answers');
CREATE INDEX model_answers_other ON model_answers (tenant, other);

-- A question follows from the content, so it goes when a memory that it is about is no longer live.
-- +goose StatementBegin
CREATE FUNCTION mneme_drop_model_answers() RETURNS trigger
    LANGUAGE plpgsql AS $$
BEGIN
    DELETE FROM model_answers a WHERE a.tenant = OLD.tenant AND a.memory_id = OLD.id;
    DELETE FROM model_answers a WHERE a.tenant = OLD.tenant AND a.other = OLD.id;
    RETURN NULL;
END $$;
-- +goose StatementEnd
CALL mneme_protect_function('mneme_drop_model_answers()');
CREATE TRIGGER memories_drop_model_answers AFTER UPDATE OF deleted_at, archived_at, status ON memories
    FOR EACH ROW WHEN (OLD.live AND NOT NEW.live)
    EXECUTE FUNCTION mneme_drop_model_answers();

-- +goose Down
SELECT 1;
