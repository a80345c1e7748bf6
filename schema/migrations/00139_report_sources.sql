-- Who reported an outcome, so that the reports of one source cannot move a solution that others follow.

-- +goose Up

ALTER TABLE outcome_reports
    ADD COLUMN user_key text    NOT NULL DEFAULT '',    -- evidence.UserKey; empty: the agent itself
    ADD COLUMN based    boolean NOT NULL DEFAULT false; -- counted in base, or shown by an episode that is
COMMENT ON TABLE outcome_reports IS
    'The newest 100 outcomes that each source reported of a memory, counted in learned and solution_outcomes.';

-- The reports of an agent, and those of users, on a memory.
CREATE INDEX outcome_reports_agent ON outcome_reports (tenant, memory_id, agent_id);
CREATE INDEX outcome_reports_users ON outcome_reports (tenant, memory_id) WHERE user_key <> '';

-- The outcomes without the reports that are not based. NULL: stats has all reports.
ALTER TABLE learned ADD COLUMN base jsonb;
ALTER TABLE solution_outcomes ADD COLUMN base jsonb;

-- +goose Down
SELECT 1;
