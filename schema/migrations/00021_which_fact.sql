-- History says by its hash which fact a proposal came from. A hash of a short text can be guessed: it goes with
-- the texts.

-- +goose Up

-- +goose StatementBegin
CREATE OR REPLACE FUNCTION mneme_without_text(metadata jsonb) RETURNS jsonb
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN metadata - '{fact,factHash,content,reason,rationale,evidence,refs}'::text[];
-- +goose StatementEnd

-- +goose Down

-- +goose StatementBegin
CREATE OR REPLACE FUNCTION mneme_without_text(metadata jsonb) RETURNS jsonb
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN metadata - '{fact,content,reason,rationale,evidence,refs}'::text[];
-- +goose StatementEnd
