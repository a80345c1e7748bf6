-- Full text finds Chinese, Japanese and Korean words. Postgres reads a run of their characters as one word, so that
-- only a text with the same run was found.

-- +goose Up

-- Returns a text followed by its words, if it has Chinese, Japanese or Korean characters: the words of other scripts, and
-- of each run of such characters the pairs of neighbouring ones, the first and the last. Queries are split in the same
-- way. The text itself comes first, so that a search for a whole run finds it as before.
-- +goose StatementBegin
CREATE FUNCTION mneme_split_words(said text) RETURNS text
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
    runs := ' ' || regexp_replace(said, replace(one, '[', '[^') || '+', ' ', 'g');
    RETURN said || ' ' || regexp_replace(said, one || '+', ' ', 'g')
        || regexp_replace(runs, '(' || one || '{2})', '\1 ', 'g')
        || regexp_replace(regexp_replace(runs, ' (' || one || ')', ' \1 ', 'g'), '(' || one || '{2})', '\1 ', 'g');
END $$;
-- +goose StatementEnd
COMMENT ON FUNCTION mneme_split_words IS
    'A text for to_tsvector: Chinese, Japanese and Korean also in pairs of characters.';

-- A generated column gets a new expression only by being made again. This rewrites the table.
DROP VIEW memory_text;
DROP VIEW memory_search;
ALTER TABLE memories DROP COLUMN tsv;
ALTER TABLE memories ADD COLUMN tsv tsvector GENERATED ALWAYS AS
    (to_tsvector(mneme_text_config(language), mneme_split_words(who || ' ' || content))) STORED;
CREATE INDEX memories_text ON memories USING gin ((tenant || ''), tsv) WITH (gin_pending_list_limit = 256) WHERE live;

CREATE VIEW memory_search AS
    SELECT tenant, id, tsv, agent_id, project, scope, visibility, policy_group, type, category, tags, who, pinned,
           importance, sensitivity, occurred_at, validity, valid_from, valid_until, live, conditions, confidence,
           created_at
    FROM memories
    WHERE tenant = (SELECT mneme_tenant());
GRANT SELECT ON memory_search TO mneme_app;

CREATE VIEW memory_text AS
    SELECT tenant, id, tsv, agent_id, project, scope, visibility, policy_group, type, category, tags, who, pinned,
           importance, sensitivity, occurred_at, validity, valid_from, valid_until, live, conditions, confidence,
           created_at, bytes
    FROM memories
    WHERE tenant || '' = (SELECT mneme_tenant());
GRANT SELECT ON memory_text TO mneme_app;

-- The statistics of tenants whose memories now have more words.
CREATE TEMPORARY TABLE split_tenants ON COMMIT DROP AS
    SELECT DISTINCT tenant
    FROM memories
    WHERE live AND mneme_split_words(who || ' ' || content) <> who || ' ' || content;
DELETE FROM lexeme_stats WHERE tenant IN (SELECT tenant FROM split_tenants);
INSERT INTO lexeme_stats (tenant, lexeme, docs)
    SELECT m.tenant, l.lexeme, count(*)
    FROM memories m, unnest(m.tsv) l
    WHERE m.live AND m.tenant IN (SELECT tenant FROM split_tenants)
    GROUP BY 1, 2;
UPDATE corpus_stats c
SET lexemes = s.lexemes
FROM (
    SELECT tenant, sum(length(tsv)) AS lexemes
    FROM memories
    WHERE live AND tenant IN (SELECT tenant FROM split_tenants)
    GROUP BY tenant
) s
WHERE c.tenant = s.tenant;
ANALYZE memories (tsv);

-- +goose Down
SELECT 1;
