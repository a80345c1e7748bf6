-- A report has the scope in which it is learned from, and a mark when a run has taken it in. A watermark over the times
-- of a tenant's reports lost those that were committed late, and each scope read the reports of all others.

-- +goose Up

ALTER TABLE outcome_reports
    ADD COLUMN project     text    NOT NULL DEFAULT '',
    ADD COLUMN scope       text    NOT NULL DEFAULT '',
    ADD COLUMN scope_agent text    NOT NULL DEFAULT '', -- empty: the memories that all agents of the project see
    ADD COLUMN taken       boolean NOT NULL DEFAULT false;

-- The scope is that of the group from which the memory was learned, or else that of the memory: a record that only one
-- agent has may be learned from shared episodes.
-- +goose StatementBegin
CREATE FUNCTION mneme_place_report() RETURNS trigger
    LANGUAGE plpgsql AS $$
BEGIN
    SELECT coalesce(g.project, m.project), coalesce(g.scope, m.scope),
        coalesce(g.agent_id, CASE WHEN m.visibility IN ('private', 'group') THEN m.agent_id ELSE '' END)
    INTO NEW.project, NEW.scope, NEW.scope_agent
    FROM memories m
        LEFT JOIN learned l ON l.tenant = m.tenant AND l.memory_id = m.id
        LEFT JOIN learning_groups g ON g.tenant = l.tenant AND g.id = l.group_id
    WHERE m.tenant = NEW.tenant AND m.id = NEW.memory_id;
    IF NOT FOUND THEN -- the foreign key refuses the row
        NEW.project := '';
        NEW.scope := '';
        NEW.scope_agent := '';
    END IF;
    RETURN NEW;
END $$;
-- +goose StatementEnd
CREATE TRIGGER outcome_reports_place BEFORE INSERT ON outcome_reports
    FOR EACH ROW EXECUTE FUNCTION mneme_place_report();

UPDATE outcome_reports r
SET project = coalesce(g.project, m.project), scope = coalesce(g.scope, m.scope),
    scope_agent = coalesce(g.agent_id, CASE WHEN m.visibility IN ('private', 'group') THEN m.agent_id ELSE '' END)
FROM memories m
    LEFT JOIN learned l ON l.tenant = m.tenant AND l.memory_id = m.id
    LEFT JOIN learning_groups g ON g.tenant = l.tenant AND g.id = l.group_id
WHERE m.tenant = r.tenant AND m.id = r.memory_id;

DROP INDEX outcome_reports_at;
CREATE INDEX outcome_reports_waiting ON outcome_reports (tenant, project, scope, scope_agent, at, memory_id)
    WHERE ok IS NOT NULL AND NOT taken;

-- +goose Down
SELECT 1;
