-- What each source says of a memory that others read, so that the verdicts of one source cannot move what others see.

-- +goose Up

CREATE TABLE verdict_sources (
    tenant    text             NOT NULL,
    memory_id uuid             NOT NULL,
    agent_id  text             NOT NULL,
    user_key  text             NOT NULL DEFAULT '', -- evidence.UserKey; empty: the agent with all its users
    used      boolean          NOT NULL,            -- the verdicts on uses; false: those on results that were not used
    verdict   text             NOT NULL CHECK (verdict IN ('succeeded', 'partly', 'failed', 'unused')),
    times     integer          NOT NULL CHECK (times BETWEEN 1 AND 10),       -- in succession
    days      integer          NOT NULL CHECK (days BETWEEN 1 AND times),     -- among them
    counted   integer          NOT NULL CHECK (counted BETWEEN 0 AND days),   -- for everyone
    moved     double precision NOT NULL CHECK (moved BETWEEN -1 AND 1),       -- of the salience, as of at
    at        timestamptz      NOT NULL,
    PRIMARY KEY (tenant, memory_id, agent_id, user_key, used),
    FOREIGN KEY (tenant, memory_id) REFERENCES memories (tenant, id) ON DELETE CASCADE
);
COMMENT ON TABLE verdict_sources IS
    'What each source says of a memory that others read, the newest 1,000 of each memory.';
CALL mneme_protect_table('verdict_sources');

-- The effect of such a verdict is kept with its source, which takes it back.
ALTER TABLE retrieval_feedback ADD COLUMN by_source boolean NOT NULL DEFAULT false;

-- What was counted of a memory goes when it is erased or deleted.
-- +goose StatementBegin
CREATE OR REPLACE FUNCTION mneme_erase_outcomes() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER AS $$
BEGIN
    DELETE FROM solution_outcomes o WHERE o.tenant = OLD.tenant AND o.memory_id = OLD.id;
    DELETE FROM outcome_reports o WHERE o.tenant = OLD.tenant AND o.memory_id = OLD.id;
    DELETE FROM verdict_sources v WHERE v.tenant = OLD.tenant AND v.memory_id = OLD.id;
    UPDATE advice a
    SET offered = (
        SELECT coalesce(jsonb_agg(o.offer ORDER BY o.n), '[]')
        FROM jsonb_array_elements(a.offered) WITH ORDINALITY o(offer, n)
        WHERE o.offer->>'id' <> OLD.id::text)
    WHERE a.tenant = OLD.tenant
        AND jsonb_path_query_array(a.offered, '$[*].id') @> jsonb_build_array(OLD.id::text);
    RETURN NULL;
END $$;
-- +goose StatementEnd
CALL mneme_protect_function('mneme_erase_outcomes()');

-- +goose Down
SELECT 1;
