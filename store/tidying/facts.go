package tidying

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/mneme/mneme/memory"
	"github.com/mneme/mneme/memory/learning/facts"
	"github.com/mneme/mneme/memory/learning/promote"
	"github.com/mneme/mneme/memory/learning/trace"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/schema/ledger"
	"github.com/mneme/mneme/store/commit"
	"github.com/mneme/mneme/store/pg"
)

// MaxStatements is the number of the newest episodes, and of the newest facts, that one run compares.
const MaxStatements = 5_000

// Known is a stored fact, in the version that was read.
type Known struct {
	facts.Fact
	Version  int
	Validity schema.Validity
	owner    owned
}

// WiderThan reports whether more agents, or others, may read the fact than one of the statements.
func (k Known) WiderThan(said []Statement) bool {
	return slices.ContainsFunc(said, func(s Statement) bool {
		return memory.Narrower(s.owner.Visibility, k.owner.Visibility) ||
			k.owner.Visibility == schema.VisibilityGroup && s.owner.Visibility == schema.VisibilityGroup &&
				s.owner.PolicyGroup != k.owner.PolicyGroup
	})
}

// knownPage lists the facts of a scope, last changed first, with the number of people who support each.
const knownPage = `
	SELECT m.id, m.version, m.agent_id, m.policy_group, m.visibility, m.content, m.who, m.validity, m.conditions,
		m.valid_from, m.valid_until, m.confidence, m.source_trust, m.occurred_at, m.pinned,
		(SELECT count(DISTINCT coalesce(nullif(o.who, ''), o.agent_id))
			FROM memory_links r
			JOIN memories o ON o.tenant = r.tenant
				AND o.id = CASE WHEN r.source_id = m.id THEN r.target_id ELSE r.source_id END
			WHERE r.tenant = m.tenant AND (r.source_id = m.id AND r.predicate = 'derived_from'
				OR r.target_id = m.id AND r.predicate = 'supports')) AS sources
	FROM memories m
	WHERE ` + inScope + ` AND ` + mergeable + ` AND m.type = 'semantic' AND NOT m.tags @> '{summary}'
	ORDER BY ` + changedAt + ` DESC, m.id DESC
	LIMIT @limit`

// KnownFacts returns the last changed facts of a scope.
func (t *Tidying) KnownFacts(ctx context.Context, s Scope) ([]Known, error) {
	var out []Known
	err := t.Read(ctx, s.Tenant, func(tx pgx.Tx) error {
		rows, err := commit.Rows[struct {
			owned
			ID          uuid.UUID
			Version     int
			Content     string
			Who         string
			Validity    schema.ValidityMode
			Conditions  json.RawMessage
			ValidFrom   *time.Time
			ValidUntil  *time.Time
			Confidence  float64
			SourceTrust float64
			OccurredAt  time.Time
			Pinned      bool
			Sources     int
		}](ctx, tx, knownPage, s.args(pg.Args{"limit": MaxStatements}))
		for _, r := range rows {
			validity := schema.Validity{Mode: r.Validity, Conditions: r.Conditions, Start: r.ValidFrom,
				End: r.ValidUntil}
			out = append(out, Known{Version: r.Version, Validity: validity, owner: r.owned, Fact: facts.Fact{
				ID: r.ID.String(), Text: r.Content, Who: r.Who, Conditions: conditionsOf(validity),
				Confidence: r.Confidence, Trust: r.SourceTrust, Sources: max(1, r.Sources), At: r.OccurredAt,
				Pinned: r.Pinned}})
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read facts: %w", err)
	}
	return out, nil
}

// MaxRetired is the number of the last retired facts that one run reads.
const MaxRetired = 1_000

// retiredPage lists the superseded and retracted facts of a scope, last changed first. Its index is memories_retired.
const retiredPage = `
	SELECT m.content, m.who, m.validity, m.conditions, m.valid_from, m.valid_until,
		coalesce(m.superseded_at, m.updated_at) AS at,
		(SELECT s.occurred_at FROM memories s WHERE s.tenant = @tenant AND s.id = m.superseded_by) AS until
	FROM memories m
	WHERE ` + inScope + ` AND m.type = 'semantic' AND m.status IN ('superseded', 'retracted') AND m.deleted_at IS NULL
		AND m.world_id IS NULL AND NOT m.tags @> '{summary}'
	ORDER BY m.updated_at DESC, m.id DESC
	LIMIT @limit`

// RetiredFacts returns the facts of a scope that were superseded or retracted last.
func (t *Tidying) RetiredFacts(ctx context.Context, s Scope) (out []facts.Retired, err error) {
	err = t.Read(ctx, s.Tenant, func(tx pgx.Tx) error {
		rows, err := commit.Rows[struct {
			Content    string
			Who        string
			Validity   schema.ValidityMode
			Conditions json.RawMessage
			ValidFrom  *time.Time
			ValidUntil *time.Time
			At         time.Time
			Until      *time.Time
		}](ctx, tx, retiredPage, s.args(pg.Args{"limit": MaxRetired}))
		for _, r := range rows {
			retired := facts.Retired{Text: r.Content, Who: r.Who, At: r.At, Conditions: conditionsOf(schema.Validity{
				Mode: r.Validity, Conditions: r.Conditions, Start: r.ValidFrom, End: r.ValidUntil})}
			if r.Until != nil {
				retired.Until = *r.Until
			}
			out = append(out, retired)
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read retired facts: %w", err)
	}
	return out, nil
}

// conditionsOf returns the conditions of a validity in the form that the rules compare.
func conditionsOf(v schema.Validity) promote.Conditions {
	var out promote.Conditions
	for key, values := range memory.AdmittedBy(v) {
		if out == nil {
			out = promote.Conditions{}
		}
		for _, value := range values {
			var text string
			if json.Unmarshal([]byte(value), &text) != nil {
				text = value
			}
			out[key] = append(out[key], text)
		}
	}
	return out
}

// ValidityOf returns the validity of a statement with conditions.
func ValidityOf(c promote.Conditions) (schema.Validity, error) {
	if len(c) == 0 {
		return schema.Validity{Mode: schema.ValidGlobal}, nil
	}
	members := map[string]any{}
	for key, values := range c {
		if members[key] = values; len(values) == 1 {
			members[key] = values[0]
		}
	}
	conditions, err := json.Marshal(members)
	return schema.Validity{Mode: schema.ValidConditional, Conditions: conditions}, err
}

// Statement is a statement of an episode.
type Statement struct {
	facts.Observation
	Version int
	owner   owned
}

// statementsPage lists the episodes of a scope with their contents, newest first.
const statementsPage = `
	SELECT m.id, m.version, m.agent_id, m.policy_group, m.visibility, coalesce(m.agent_session_id, '') AS session,
		m.occurred_at, m.payload, m.content, m.who, m.source_trust, ` + pg.RecordedAt + ` AS at
	FROM memories m
	WHERE ` + inScope + ` AND m.live AND m.type = 'episodic'
		AND (` + pg.RecordedAt + `, m.id) < (@before_at, @before_id)
	ORDER BY ` + pg.RecordedAt + ` DESC, m.id DESC
	LIMIT @limit`

// Statements returns the statements of a page of episodes, newest episode first, and the end of the page.
func (t *Tidying) Statements(ctx context.Context, s Scope, before Place, limit int) (said []Statement, next Place,
	more bool, err error) {
	next = before
	err = t.Read(ctx, s.Tenant, func(tx pgx.Tx) error {
		rows, err := commit.Rows[struct {
			owned
			ID          uuid.UUID
			Version     int
			Session     string
			OccurredAt  time.Time
			Payload     json.RawMessage
			Content     string
			Who         string
			SourceTrust float64
			At          time.Time
		}](ctx, tx, statementsPage, s.args(pg.Args{"before_at": before.At, "before_id": before.ID, "limit": limit}))
		more = len(rows) == limit
		for _, r := range rows {
			next = Place{At: r.At, ID: r.ID}
			var p schema.EpisodicPayload
			if err := json.Unmarshal(r.Payload, &p); err != nil {
				return fmt.Errorf("episode %s: %w", r.ID, err)
			}
			where := trace.ContextOf(p.Environment)
			for _, e := range withContent(p, r.Content, r.Who, r.OccurredAt).Timeline {
				who, text := speaks(s, e, r.AgentID, r.Who)
				if text == "" {
					continue
				}
				said = append(said, Statement{Version: r.Version, owner: r.owned, Observation: facts.Observation{
					ID: r.ID.String(), Text: text, Who: who, Context: where, At: e.T, Stored: r.At,
					Source: trace.Source{Agent: r.AgentID, Session: r.Session, Origin: who, Trust: r.SourceTrust}}})
			}
		}
		return err
	})
	if err != nil {
		return nil, next, false, fmt.Errorf("read statements: %w", err)
	}
	return said, next, more, nil
}

// speaks returns the speaker and the text of an event, if a person or an agent said it. The result of a tool is not
// a statement, and the thought of an agent was not said.
func speaks(s Scope, e schema.TimelineEvent, agent, who string) (speaker, text string) {
	_, text, found := strings.Cut(e.Summary, ": ") // without the label
	if !found {
		return "", ""
	}
	switch {
	case e.EventKind == ledger.KindAgentSpoke:
		return "agent:" + agent, text
	case e.EventKind != ledger.KindUserInjected:
		return "", ""
	case who != "":
		return who, text
	}
	if user, ok := strings.CutPrefix(s.Scope, "user/"); ok {
		return user, text
	}
	return "user", text
}

// Fresh returns the episodes that are not yet among the sources of a fact.
func (t *Tidying) Fresh(ctx context.Context, tenant, fact string, episodes []string) ([]string, error) {
	var out []string
	err := t.Read(ctx, tenant, func(tx pgx.Tx) error {
		known, err := commit.Values[string](ctx, tx, `
			SELECT ref
			FROM memory_provenance
			WHERE tenant = @tenant AND memory_id = @fact AND ref = ANY(@episodes)
			UNION
			SELECT target_id::text
			FROM memory_links
			WHERE tenant = @tenant AND source_id = @fact AND predicate = 'derived_from'
			UNION
			SELECT source_id::text
			FROM memory_links
			WHERE tenant = @tenant AND target_id = @fact AND predicate = 'supports'`,
			pg.Args{"tenant": tenant, "fact": fact, "episodes": episodes})
		for _, id := range episodes {
			if !slices.Contains(known, id) {
				out = append(out, id)
			}
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read evidence of a fact: %w", err)
	}
	return out, nil
}
