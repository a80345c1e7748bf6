package transfer

import (
	"context"
	"encoding/json"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/store/pg"
)

// exportTopics reads the open topics of the selected owners after an id. Answers are not exported, because they
// repeat memories; the next refresh after an import answers the topics again. An export that is limited to some
// memories (by type, tag or another filter) has no topics.
func exportTopics(ctx context.Context, tx pgx.Tx, x ExportSelection, after uuid.UUID) ([]ExportLine, uuid.UUID, error) {
	if x.Filter.MaxSensitivity != "" || x.Filter.Narrowed("m", pg.Args{}) != "" {
		return nil, after, nil
	}
	pr := x.Filter.Principal
	rows, err := tx.Query(ctx, `
		SELECT t.id, to_jsonb(t) - '{tenant,answer,changed,held,checked_at}'::text[]
		FROM topics t
		WHERE t.tenant = @tenant AND t.id > @after AND (@all OR t.agent_id = @agent)
			AND (@project = '' OR t.project = @project) AND (@scope = '' OR t.scope = @scope)
		ORDER BY t.id
		LIMIT @limit`,
		pg.Args{"tenant": pr.Tenant, "after": after, "all": x.AllAgents, "agent": pr.Agent, "project": pr.Project,
			"scope": pr.EffectiveScope(), "limit": exportPage})
	if err != nil {
		return nil, after, err
	}
	lines, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (ExportLine, error) {
		line := ExportLine{Kind: LineTopic}
		err := row.Scan(&after, &line.Topic)
		return line, err
	})
	return lines, after, err
}

// topics inserts the topics that do not exist yet. They have no answer until the next refresh.
func (r *restoring) topics(ctx context.Context, rows []json.RawMessage) error {
	if len(rows) == 0 {
		return nil
	}
	encoded, err := json.Marshal(rows)
	if err != nil {
		return &schema.ValidationError{Fields: []schema.FieldError{{Field: "topic", Problem: "is not valid JSON"}}}
	}
	_, err = r.Tx.Exec(ctx, `
		INSERT INTO topics (tenant, id, agent_id, project, scope, policy_group, acts_for, read_policy, question,
			evidence_limit, created_at)
		SELECT @tenant, x.id, x.agent_id, x.project, x.scope, x.policy_group, x.acts_for, x.read_policy, x.question,
			x.evidence_limit, x.created_at
		FROM jsonb_to_recordset(@topics) x(id uuid, agent_id text, project text, scope text, policy_group text,
			acts_for text, read_policy text, question text, evidence_limit integer, created_at timestamptz)
		ORDER BY x.id
		ON CONFLICT DO NOTHING`, pg.Args{"tenant": r.Tenant, "topics": string(encoded)})
	return err
}
