package topics

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/schema/topics"
	"github.com/mneme/mneme/store/commit"
	"github.com/mneme/mneme/store/pg"
)

// row is a topic as it is stored.
type row struct {
	ID            uuid.UUID
	AgentID       string
	Project       string
	Scope         string
	PolicyGroup   string
	ActsFor       string
	ReadPolicy    schema.ReadPolicy
	Question      string
	EvidenceLimit int
	Answer        int
	Changed       int
	Held          string
	CheckedAt     *time.Time
	CreatedAt     time.Time
}

const columns = `t.id, t.agent_id, t.project, t.scope, t.policy_group, t.acts_for, t.read_policy, t.question,
	t.evidence_limit, t.answer, t.changed, t.held, t.checked_at, t.created_at`

// topic is the row without its answer.
func (r row) topic(tenant string) topics.Topic {
	p := schema.Principal{Tenant: tenant, Agent: r.AgentID, Project: r.Project, Scope: r.Scope,
		PolicyGroup: r.PolicyGroup}
	if r.ActsFor != "" {
		p.Scope, p.User = "", r.ActsFor
	}
	out := topics.Topic{ID: r.ID.String(), Principal: p, ReadPolicy: r.ReadPolicy, Question: r.Question,
		Evidence: r.EvidenceLimit, CreatedAt: r.CreatedAt, Freshness: topics.NeverAnswered, Held: r.Held,
		CheckedAt: r.CheckedAt}
	return out
}

// ofOwner is the condition that a topic is the principal's. Its arguments are those of owner.
const ofOwner = `t.tenant = @tenant AND t.agent_id = @agent AND t.project = @project AND t.scope = @scope
	AND t.policy_group = @policy_group`

func owner(p schema.Principal) pg.Args {
	return pg.Args{"tenant": p.Tenant, "agent": p.Agent, "project": p.Project, "scope": p.EffectiveScope(),
		"policy_group": p.PolicyGroup}
}

// AddTopic opens a topic and returns it. If the owner has an open topic with the same question, it returns that
// one.
func (s *Topics) AddTopic(ctx context.Context, req topics.TopicRequest, now time.Time) (out topics.Topic, err error) {
	if err := req.Validate(); err != nil {
		return topics.Topic{}, err
	}
	err = commit.Write(ctx, s.DB, req.Principal.Tenant, now, func(c *commit.Change) error {
		args := owner(req.Principal)
		args["read_policy"], args["question"] = cmp.Or(req.ReadPolicy, schema.ReadIsolated), req.Question
		find := func() error {
			rows, err := c.Tx.Query(ctx, `SELECT `+columns+` FROM topics t WHERE `+ofOwner+`
				AND t.read_policy = @read_policy AND t.question = @question`, args)
			if err != nil {
				return err
			}
			found, err := pgx.CollectExactlyOneRow(rows, pgx.RowToStructByName[row])
			out = found.topic(c.Tenant)
			return err
		}
		if err := find(); err != pgx.ErrNoRows { //nolint:errorlint // pgx returns it unwrapped
			return err
		}
		var open int
		if err := c.Tx.QueryRow(ctx, `SELECT count(*) FROM topics t WHERE `+ofOwner, owner(req.Principal)).
			Scan(&open); err != nil {
			return err
		}
		if open >= topics.MaxPerOwner {
			return &schema.ValidationError{Fields: []schema.FieldError{{Field: "question",
				Problem: fmt.Sprintf("cannot be kept open: the maximum of %d topics is reached", open)}}}
		}
		insert := owner(req.Principal)
		insert["id"], insert["acts_for"] = uuid.Must(uuid.NewV7()), req.Principal.User
		insert["read_policy"], insert["question"] = args["read_policy"], req.Question
		insert["evidence"], insert["now"] = cmp.Or(req.Evidence, topics.DefaultEvidence), c.Now
		if _, err := c.Tx.Exec(ctx, `
			INSERT INTO topics (tenant, id, agent_id, project, scope, policy_group, acts_for, read_policy, question,
				evidence_limit, created_at)
			VALUES (@tenant, @id, @agent, @project, @scope, @policy_group, @acts_for, @read_policy, @question,
			@evidence,
				@now)
			ON CONFLICT DO NOTHING`, insert); err != nil {
			return err
		}
		return find()
	})
	if err != nil {
		return topics.Topic{}, fmt.Errorf("add topic: %w", err)
	}
	return out, nil
}

// RemoveTopic closes a topic of the operation's principal and deletes its answers. It returns pg.ErrNotFound if the
// principal has no such topic.
func (s *Topics) RemoveTopic(ctx context.Context, op schema.Operation, id uuid.UUID, now time.Time) error {
	return commit.Write(ctx, s.DB, op.Principal.Tenant, now, func(c *commit.Change) error {
		args := owner(op.Principal)
		args["id"] = id
		tag, err := c.Tx.Exec(ctx, `DELETE FROM topics t WHERE `+ofOwner+` AND t.id = @id`, args)
		if err != nil {
			return fmt.Errorf("remove topic: %w", err)
		}
		if tag.RowsAffected() == 0 {
			return fmt.Errorf("topic: %w", pg.ErrNotFound)
		}
		c.RecordRemoval(pg.NewID(), schema.RemovedTopics, op, 1, 0)
		return nil
	})
}

// RemoveTopicsOf closes all topics of the operation's user, of every agent, and deletes their answers. It returns their
// number.
func (s *Topics) RemoveTopicsOf(ctx context.Context, op schema.Operation, now time.Time) (n int, err error) {
	op = op.OfEveryAgent()
	err = commit.Write(ctx, s.DB, op.Principal.Tenant, now, func(c *commit.Change) error {
		tag, err := c.Tx.Exec(ctx, `DELETE FROM topics WHERE tenant = @tenant AND scope = @scope`,
			pg.Args{"tenant": op.Principal.Tenant, "scope": schema.UserScope(op.Principal.User)})
		if n = int(tag.RowsAffected()); n > 0 {
			c.RecordRemoval(pg.NewID(), schema.RemovedTopics, op, n, 0)
		}
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("remove topics of a user: %w", err)
	}
	return n, nil
}

// Seeing returns the filter for what a topic's principal may see now. It is called for every topic whose answers
// are read.
type Seeing func(t topics.Topic) pg.Filter

// ListTopics lists topics of the principal after an id, in the order in which they were opened.
func (s *Topics) ListTopics(ctx context.Context, p schema.Principal, after uuid.UUID, limit int,
	see Seeing) ([]topics.Topic, error) {
	args := owner(p)
	args["after"], args["limit"] = after, pg.PageLimit(limit)
	out, err := s.read(ctx, p.Tenant, ofOwner+` AND t.id > @after ORDER BY t.id LIMIT @limit`, args, see)
	if err != nil {
		return nil, fmt.Errorf("list topics: %w", err)
	}
	return out, nil
}

// Topic reads a topic of the principal. It includes the current answer if the principal may see all memories of its
// evidence. If the principal has no such topic, it returns pg.ErrNotFound.
func (s *Topics) Topic(ctx context.Context, p schema.Principal, id uuid.UUID, see Seeing) (topics.Topic, error) {
	args := owner(p)
	args["id"] = id
	out, err := s.read(ctx, p.Tenant, ofOwner+` AND t.id = @id`, args, see)
	if err != nil {
		return topics.Topic{}, fmt.Errorf("read topic: %w", err)
	}
	if len(out) == 0 {
		return topics.Topic{}, fmt.Errorf("topic: %w", pg.ErrNotFound)
	}
	return out[0], nil
}

// TopicByID reads a topic of any owner without its answer, for a refresh.
func (s *Topics) TopicByID(ctx context.Context, tenant string, id uuid.UUID) (topics.Topic, error) {
	out, err := s.read(ctx, tenant, `t.tenant = @tenant AND t.id = @id`, pg.Args{"tenant": tenant, "id": id}, nil)
	if err != nil {
		return topics.Topic{}, fmt.Errorf("read topic: %w", err)
	}
	if len(out) == 0 {
		return topics.Topic{}, fmt.Errorf("topic: %w", pg.ErrNotFound)
	}
	return out[0], nil
}

// read reads the topics that meet a condition. If see is nil, it leaves out their answers.
func (s *Topics) read(ctx context.Context, tenant, where string, args pg.Args, see Seeing) ([]topics.Topic, error) {
	var out []topics.Topic
	err := s.Read(ctx, tenant, func(tx pgx.Tx) error {
		rows, err := tx.Query(ctx, `SELECT `+columns+` FROM topics t WHERE `+where, args)
		if err != nil {
			return err
		}
		found, err := pgx.CollectRows(rows, pgx.RowToStructByName[row])
		if err != nil {
			return err
		}
		for _, r := range found {
			t := r.topic(tenant)
			if see != nil && r.Answer > 0 {
				answers, err := readAnswers(ctx, tx, t, see(t), r.Answer, 1)
				if err != nil {
					return err
				}
				if len(answers) == 1 {
					judge(&t, r, answers[0])
				}
			}
			out = append(out, t)
		}
		return nil
	})
	return out, err
}

// judge sets the answer of a topic and its freshness.
func judge(t *topics.Topic, r row, a shown) {
	t.Answer, t.Freshness = &a.TopicAnswer, topics.Fresh
	t.Changed = max(r.Changed, a.changed)
	if t.Changed > 0 || a.BlankedAt != nil || a.Withheld {
		t.Freshness = topics.Stale
		t.Changed = max(1, t.Changed)
	}
}

// OpenTopics lists the topics of all owners of a tenant after an id, for a sweep.
func (s *Topics) OpenTopics(ctx context.Context, tenant string, after uuid.UUID, limit int) ([]uuid.UUID, error) {
	var out []uuid.UUID
	err := s.Read(ctx, tenant, func(tx pgx.Tx) error {
		rows, err := tx.Query(ctx, `
			SELECT id
			FROM topics
			WHERE tenant = @tenant AND id > @after
			ORDER BY id
			LIMIT @limit`, pg.Args{"tenant": tenant, "after": after, "limit": limit})
		if err != nil {
			return err
		}
		out, err = pgx.CollectRows(rows, pgx.RowTo[uuid.UUID])
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("list open topics: %w", err)
	}
	return out, nil
}

// TopicTenants lists at most limit tenants with a topic after the given one, by name.
func (s *Topics) TopicTenants(ctx context.Context, after string, limit int) ([]string, error) {
	return s.TenantNames(ctx, `SELECT mneme_topic_tenants(@after, @limit)`, pg.Args{"after": after, "limit": limit})
}
