-- A long text of Chinese, Japanese or Korean had so many pairs of characters that its tsvector was larger than Postgres
-- allows, so that the text could not be stored. Pairs are made only of the first 40,000 characters.

-- +goose Up

-- Returns a text followed by its words, if it has Chinese, Japanese or Korean characters: the words of other scripts, and
-- of each run of such characters the pairs of neighbouring ones, the first and the last. Queries are split in the same
-- way. The text itself comes first, so that a search for a whole run finds it as before. Characters after the first
-- 40,000 are found only by whole runs.
-- +goose StatementBegin
CREATE OR REPLACE FUNCTION mneme_split_words(said text) RETURNS text
    LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE AS $$
DECLARE
    -- Kana, Han, Hangul, and half-width kana
    one constant text := '[\u3041-\u3096\u309D-\u309F\u30A1-\u30FA\u30FC-\u30FF\u31F0-\u31FF\u3400-\u4DBF\u4E00-\u9FFF'
        '\uA960-\uA97F\uAC00-\uD7AF\uF900-\uFAFF\uFF66-\uFF9F\U00020000-\U0003134F]';
    runs text;
BEGIN
    IF octet_length(said) = char_length(said) OR said !~ one THEN
        RETURN said;
    END IF;
    runs := ' ' || regexp_replace(left(said, 40000), replace(one, '[', '[^') || '+', ' ', 'g');
    RETURN said || ' ' || regexp_replace(said, one || '+', ' ', 'g')
        || regexp_replace(runs, '(' || one || '{2})', '\1 ', 'g')
        || regexp_replace(regexp_replace(runs, ' (' || one || ')', ' \1 ', 'g'), '(' || one || '{2})', '\1 ', 'g');
END $$;
-- +goose StatementEnd

-- +goose Down
SELECT 1;
