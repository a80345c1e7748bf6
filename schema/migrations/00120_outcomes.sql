-- One record of outcomes: those that agents report are kept one by one, so that an outcome that an episode shows as well
-- counts once, and that what was reported of a solution before its promotion counts after it.

-- +goose Up

ALTER TABLE advice ADD COLUMN problem text NOT NULL DEFAULT ''; -- hash of what was asked about

CREATE TABLE outcome_reports (
    tenant    text        NOT NULL,
    memory_id uuid        NOT NULL, -- what was followed or passed over: a procedure, a plan, or an episode
    advice_id uuid        NOT NULL,
    used      text        NOT NULL DEFAULT '', -- of the report: one advice may be reported for each of its options
    problem   text        NOT NULL DEFAULT '',
    agent_id  text        NOT NULL DEFAULT '',
    session   text        NOT NULL DEFAULT '', -- in which it was; empty: not said
    context   jsonb       NOT NULL DEFAULT '{}',
    ok        boolean,                         -- NULL: something else was done
    at        timestamptz NOT NULL,
    PRIMARY KEY (tenant, memory_id, advice_id, used),
    FOREIGN KEY (tenant, memory_id) REFERENCES memories (tenant, id) ON DELETE CASCADE
);
COMMENT ON TABLE outcome_reports IS
    'Outcomes that agents reported, the newest 100 of each memory. What they come to is in learned and solution_outcomes.';
CALL mneme_protect_table('outcome_reports');

-- A session that was handed in whole, when it was over, is an account of it: the ledger did not see it happen.
ALTER TABLE session_episodes ADD COLUMN handed boolean NOT NULL DEFAULT false;

-- Where a memory had figures in both tables, what was reported counted for advice.
UPDATE learned l
SET stats = o.stats, version = l.version + 1
FROM solution_outcomes o
WHERE o.tenant = l.tenant AND o.memory_id = l.memory_id;
DELETE FROM solution_outcomes o
USING learned l
WHERE l.tenant = o.tenant AND l.memory_id = o.memory_id;
COMMENT ON TABLE solution_outcomes IS
    'How a procedure or a plan without a row in learned works: what it claims, and what was reported since.';

-- +goose StatementBegin
CREATE OR REPLACE FUNCTION mneme_erase_outcomes() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER AS $$
BEGIN
    DELETE FROM solution_outcomes o WHERE o.tenant = OLD.tenant AND o.memory_id = OLD.id;
    DELETE FROM outcome_reports o WHERE o.tenant = OLD.tenant AND o.memory_id = OLD.id;
    RETURN NULL;
END $$;
-- +goose StatementEnd
CALL mneme_protect_function('mneme_erase_outcomes()');

-- +goose Down
SELECT 1;
