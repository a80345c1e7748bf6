package learning

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/mneme/mneme/memory/learning/evidence"
	"github.com/mneme/mneme/memory/learning/trace"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/store/commit"
	"github.com/mneme/mneme/store/pg"
)

// Limits of the attempts read of a group. The newest witnessed successes and failures are read, and fewer accounts,
// so that many accounts do not hide witnessed attempts.
const (
	witnessedAttempts = 100
	toldAttempts      = 20
)

// maxSkills is the number of procedures of a scope that a plan may be composed from.
const maxSkills = 200

// decidedColumns are the columns of learning_groups with the number of attempts at the last decision, by kind of
// record.
var decidedColumns = map[schema.MemoryType]string{
	schema.TypeCompetence: "procedures",
	schema.TypePlanGraph:  "plans",
}

// Waiting is a group with attempts that no decision has considered.
type Waiting struct {
	ID       uuid.UUID
	Kind     string // error or intent
	Attempts int64
}

// Waiting lists the groups of a scope after an id that have at least `least` attempts and wait for a decision on a
// kind of record. Only tasks have plans.
func (s *Learning) Waiting(ctx context.Context, sc Scope, kind schema.MemoryType, least int, after uuid.UUID,
	limit int) (out []Waiting, err error) {
	args := sc.args()
	args["least"], args["after"], args["limit"] = least, after, limit
	err = s.Read(ctx, sc.Tenant, func(tx pgx.Tx) error {
		out, err = commit.Rows[Waiting](ctx, tx, waitingSQL(kind)+`
			ORDER BY g.id
			LIMIT @limit`, args)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("groups that wait: %w", err)
	}
	return out, nil
}

func waitingSQL(kind schema.MemoryType) string {
	sql := `
		SELECT g.id, g.kind, g.attempts
		FROM learning_groups g
		WHERE g.tenant = @tenant AND g.project = @project AND g.scope = @scope AND g.agent_id = @agent
			AND g.id > @after AND g.attempts >= @least AND g.attempts > g.` + decidedColumns[kind]
	if kind == schema.TypePlanGraph {
		sql += ` AND g.kind = 'intent'`
	}
	return sql
}

// Reopen marks all groups of a scope for a new decision.
func (s *Learning) Reopen(ctx context.Context, sc Scope, kind schema.MemoryType, now time.Time) error {
	args := sc.args()
	column := decidedColumns[kind]
	err := commit.Write(ctx, s.DB, sc.Tenant, now, func(c *commit.Change) error {
		_, err := c.Tx.Exec(ctx, `
			UPDATE learning_groups
			SET `+column+` = 0
			WHERE tenant = @tenant AND project = @project AND scope = @scope AND agent_id = @agent AND `+column+` > 0`,
			args)
		return err
	})
	if err != nil {
		return fmt.Errorf("reopen groups: %w", err)
	}
	return nil
}

const groupAttemptsSQL = `
	SELECT DISTINCT x.memory_id
	FROM (VALUES (true, true, @witnessed::integer), (false, true, @witnessed::integer), (true, false, @told::integer),
			(false, false, @told::integer)) part(ok, witnessed, most)
		CROSS JOIN LATERAL (
			SELECT a.memory_id
			FROM learning_attempts a
				JOIN memories m ON m.tenant = @tenant AND m.id = a.memory_id AND m.live
			WHERE a.group_id = @group AND a.tenant = @tenant AND a.ok = part.ok AND a.witnessed = part.witnessed
			ORDER BY a.at DESC, a.memory_id DESC
			LIMIT part.most) x
	ORDER BY x.memory_id`

// Attempts reads the newest attempts of a group from their episodes, witnessed ones first, and returns them oldest
// first.
func (s *Learning) Attempts(ctx context.Context, sc Scope, group uuid.UUID) ([]trace.Attempt, error) {
	var ids []uuid.UUID
	err := s.Read(ctx, sc.Tenant, func(tx pgx.Tx) (err error) {
		ids, err = commit.Values[uuid.UUID](ctx, tx, groupAttemptsSQL, pg.Args{"tenant": sc.Tenant, "group": group,
			"witnessed": witnessedAttempts, "told": toldAttempts})
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("attempts of a group: %w", err)
	}
	var out []trace.Attempt
	for page := range slices.Chunk(ids, chunk) {
		episodes, err := s.Episodes(ctx, sc.Tenant, page)
		if err != nil {
			return nil, err
		}
		for _, e := range episodes {
			for _, a := range e.Attempts {
				if sc.GroupID(a.Key()) == group {
					out = append(out, a)
				}
			}
		}
		pg.Progressed(ctx)
	}
	slices.SortStableFunc(out, func(a, b trace.Attempt) int { return a.At.Compare(b.At) })
	return out, nil
}

// Known is a stored procedure or plan.
type Known struct {
	ID         uuid.UUID
	Kind       schema.MemoryType
	Key        string
	Words      []string
	Payload    json.RawMessage
	Hash       string         // of its evidence; empty if a caller put the record
	Stats      evidence.Stats // of its outcomes
	Tentative  bool
	Confidence float64
	Visibility schema.Visibility
	Version    int // of the record
	Row        int // version of the row in learned
}

// WiderThan reports whether more agents may read the record than some episodes of a scope.
func (k Known) WiderThan(sc Scope) bool {
	if sc.Agent != "" {
		return k.Visibility != schema.VisibilityPrivate
	}
	return k.Visibility == schema.VisibilityGlobal
}

// Shared reports whether all agents of the project may read the record, and the episodes of a scope.
func (k Known) Shared(sc Scope) bool {
	return sc.Agent == "" && k.Visibility == schema.VisibilityShared
}

const knownColumns = `l.memory_id AS id, l.kind, l.key, l.words, m.payload, l.evidence_hash AS hash, l.stats, l.tentative,
	m.confidence, m.visibility, m.version, l.version AS row`

const knownTables = `
	FROM learned l
		JOIN memories m ON m.tenant = @tenant AND m.id = l.memory_id AND m.live`

// KnownOf reads the stored procedures or plans of a group.
func (s *Learning) KnownOf(ctx context.Context, sc Scope, group uuid.UUID, kind schema.MemoryType) ([]Known, error) {
	return s.known(ctx, sc.Tenant, `
		SELECT `+knownColumns+knownTables+`
		WHERE l.tenant = @tenant AND l.group_id = @group AND l.kind = @kind
		ORDER BY l.memory_id`, pg.Args{"tenant": sc.Tenant, "group": group, "kind": kind})
}

// Skills reads the procedures of a scope that plans may be composed from.
func (s *Learning) Skills(ctx context.Context, sc Scope) ([]Known, error) {
	args := sc.args()
	args["limit"] = maxSkills
	return s.known(ctx, sc.Tenant, `
		SELECT `+knownColumns+knownTables+`
		WHERE l.tenant = @tenant AND l.kind = 'competence' AND m.type = 'competence' AND `+ofScope+`
		ORDER BY l.memory_id
		LIMIT @limit`, args)
}

// Lookup is a request for procedures and plans for a problem or a task.
type Lookup struct {
	Filter pg.Filter // what the principal may see
	Keys   []string  // of problems and tasks, in the form of attempts
	Words  []string  // of their signatures: memories that share most of them are returned as well
	Limit  int
}

// Find returns procedures and plans for the keys, and those that share words with them, nearest first.
func (s *Learning) Find(ctx context.Context, in Lookup) ([]Known, error) {
	args := pg.Args{"tenant": in.Filter.Principal.Tenant, "keys": in.Keys, "words": pg.TagList(in.Words),
		"limit": in.Limit}
	return s.known(ctx, in.Filter.Principal.Tenant, `
		SELECT `+knownColumns+knownTables+`
			CROSS JOIN LATERAL (
				SELECT count(*) AS shared FROM unnest(l.words) w WHERE w = ANY(@words)) n
		WHERE l.tenant = @tenant AND (l.key = ANY(@keys) OR l.words && @words) AND `+in.Filter.Where("m", args)+`
		ORDER BY l.key = ANY(@keys) DESC, n.shared DESC, l.memory_id
		LIMIT @limit`, args)
}

// List lists procedures and plans that a filter admits, after an id.
func (s *Learning) List(ctx context.Context, f pg.Filter, after uuid.UUID, limit int) ([]Known, error) {
	args := pg.Args{"tenant": f.Principal.Tenant, "after": after, "limit": pg.PageLimit(limit)}
	return s.known(ctx, f.Principal.Tenant, `
		SELECT `+knownColumns+knownTables+`
		WHERE l.tenant = @tenant AND l.memory_id > @after AND `+f.Where("m", args)+`
		ORDER BY l.memory_id
		LIMIT @limit`, args)
}

// Learned reads one procedure or plan that a filter admits. It returns pg.ErrNotFound if there is none.
func (s *Learning) Learned(ctx context.Context, f pg.Filter, id uuid.UUID) (Known, error) {
	args := pg.Args{"tenant": f.Principal.Tenant, "id": id}
	out, err := s.known(ctx, f.Principal.Tenant, `
		SELECT `+knownColumns+knownTables+`
		WHERE l.tenant = @tenant AND l.memory_id = @id AND `+f.Where("m", args), args)
	if err == nil && len(out) == 0 {
		err = fmt.Errorf("procedure or plan: %w", pg.ErrNotFound)
	}
	if err != nil {
		return Known{}, err
	}
	return out[0], nil
}

func (s *Learning) known(ctx context.Context, tenant, sql string, args pg.Args) (out []Known, err error) {
	err = s.Read(ctx, tenant, func(tx pgx.Tx) error {
		out, err = commit.Rows[Known](ctx, tx, sql, args)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("what is known: %w", err)
	}
	return out, nil
}

// EvidenceOf lists the episodes from which a procedure or plan was learned, if the principal of the filter may see
// them.
func (s *Learning) EvidenceOf(ctx context.Context, f pg.Filter, id uuid.UUID) (out []string, err error) {
	args := pg.Args{"tenant": f.Principal.Tenant, "id": id}
	err = s.Read(ctx, f.Principal.Tenant, func(tx pgx.Tx) error {
		out, err = commit.Values[string](ctx, tx, `
			SELECT m.id::text
			FROM memory_links r
				JOIN memories m ON m.tenant = @tenant AND m.id = r.target_id AND m.live AND m.type = 'episodic'
			WHERE r.tenant = @tenant AND r.source_id = @id AND r.predicate = 'derived_from' AND `+f.Visible("m", args)+`
			ORDER BY m.occurred_at, m.id`, args)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("evidence of what was learned: %w", err)
	}
	return out, nil
}
