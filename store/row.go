package store

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
	"github.com/mneme/mneme/schema"
)

// memoryRow is a memory as a change finds it, locked until commit.
type memoryRow struct {
	ID             uuid.UUID
	Version        int
	Owner          schema.Principal // whose it is
	Visibility     schema.Visibility
	Type           schema.MemoryType
	Category       schema.Category
	Tier           schema.Tier
	Typology       schema.Typology
	Content        string
	Hash           []byte
	Payload        json.RawMessage
	Tags           []string
	Who            string
	Subject        string
	Predicate      string
	Functional     bool
	ConditionsHash string
	Validity       schema.Validity
	RevisionPolicy schema.RevisionPolicy
	Confidence     float64
	Importance     float64
	SourceTrust    float64
	Sensitivity    schema.Sensitivity
	Pinned         bool
	Salience       float64 // as of SalienceAt
	SalienceAt     time.Time
	Decay          memory.Decay
	Status         schema.Status
	Live           bool
	CreatedAt      time.Time
	DeletedAt      *time.Time
	ArchivedAt     *time.Time
	ErasedAt       *time.Time
	Supersedes     *uuid.UUID
	SupersededBy   *uuid.UUID
	World          bool // it has a world_id
	Over           bool // its retention window was found to be over
}

const rowColumns = `m.id, m.version, m.tenant, m.agent_id, m.project, m.scope, m.policy_group, m.visibility, m.type, m.category, m.tier, m.typology,
	m.content, m.content_hash, m.payload, m.tags, m.who, coalesce(m.subject, ''), coalesce(m.predicate, ''), m.functional, m.conditions_hash,
	m.validity, m.conditions, m.valid_from, m.valid_until, m.revision_policy, m.confidence, m.importance, m.source_trust, m.sensitivity, m.pinned,
	m.status, m.live, m.created_at, m.deleted_at, m.archived_at, m.erased_at, m.supersedes, m.superseded_by,
	m.world_id IS NOT NULL, m.purging_at IS NOT NULL OR m.retained_at IS NOT NULL,
	m.salience, m.salience_at, m.decay_curve, m.half_life, m.min_salience, m.max_age, m.decay_floor, m.reinforcement_gain, m.decay_points`

func scanRow(row pgx.CollectableRow) (memoryRow, error) {
	var m memoryRow
	var maxAge *time.Duration
	var points []schema.DecayPoint
	o, d := &m.Owner, &m.Decay
	err := row.Scan(&m.ID, &m.Version, &o.Tenant, &o.Agent, &o.Project, &o.Scope, &o.PolicyGroup, &m.Visibility, &m.Type, &m.Category, &m.Tier, &m.Typology,
		&m.Content, &m.Hash, &m.Payload, &m.Tags, &m.Who, &m.Subject, &m.Predicate, &m.Functional, &m.ConditionsHash,
		&m.Validity.Mode, &m.Validity.Conditions, &m.Validity.Start, &m.Validity.End, &m.RevisionPolicy, &m.Confidence, &m.Importance, &m.SourceTrust,
		&m.Sensitivity, &m.Pinned, &m.Status, &m.Live, &m.CreatedAt, &m.DeletedAt, &m.ArchivedAt, &m.ErasedAt, &m.Supersedes, &m.SupersededBy, &m.World, &m.Over,
		&m.Salience, &m.SalienceAt, &d.Curve, &d.HalfLife, &d.MinSalience, &maxAge, &d.Floor, &d.ReinforcementGain, &points)
	d.Points = memory.DecayPoints(points)
	if maxAge != nil {
		d.MaxAge = *maxAge
	}
	return m, err
}

// domain is whose retention policies hold for the row.
func (m *memoryRow) domain() schema.RetentionDomain {
	if m.World {
		return schema.RetainWorld
	}
	return schema.RetainMemory
}

// holding is whose the row is, and who sees it.
func (m *memoryRow) holding() memory.Holding {
	return memory.Holding{Owner: m.Owner, Visibility: m.Visibility}
}

// lockRows locks those of the ids that the principal may change, in order of id so that two changes
// never wait for each other in a circle. What it may not see is missing, as what does not exist is.
func (c *change) lockRows(ctx context.Context, p schema.Principal, ids []uuid.UUID) (map[uuid.UUID]memoryRow, error) {
	return c.rows(ctx, p, changes(p), ids, ` ORDER BY m.id FOR UPDATE OF m`)
}

// lockSeen is lockRows for a change that is no statement about what the memories say: also of those that a
// user reads and may not change.
func (c *change) lockSeen(ctx context.Context, p schema.Principal, ids []uuid.UUID) (map[uuid.UUID]memoryRow, error) {
	return c.rows(ctx, p, sees(p), ids, ` ORDER BY m.id FOR UPDATE OF m`)
}

// peekRows reads them without locking them.
func (c *change) peekRows(ctx context.Context, p schema.Principal, ids []uuid.UUID) (map[uuid.UUID]memoryRow, error) {
	return c.rows(ctx, p, changes(p), ids, "")
}

func (c *change) rows(ctx context.Context, p schema.Principal, within []string, ids []uuid.UUID, lock string) (map[uuid.UUID]memoryRow, error) {
	rows, err := c.tx.Query(ctx, `SELECT `+rowColumns+` FROM memories m WHERE m.tenant = $1 AND m.id = ANY($2) AND `+mayLookAt+lock,
		c.tenant, ids, p.Agent, p.Project, within)
	if err != nil {
		return nil, err
	}
	found, err := pgx.CollectRows(rows, scanRow)
	if err != nil {
		return nil, err
	}
	out := make(map[uuid.UUID]memoryRow, len(found))
	for _, m := range found {
		out[m.ID] = m
	}
	return out, nil
}

// step is one change to a locked row: which columns it sets, and what history says of it.
type step struct {
	Set      map[string]any // by column; names are constants of this package
	NowLive  bool           // whether the memory is live after the step
	NewText  bool           // the step replaces the content: its lexemes are counted anew
	Event    schema.HistoryEvent
	Action   schema.AuditAction
	Old, New *string
	By       string
	Reason   string
	Metadata map[string]any
}

// take carries a step out on a locked row: a version more, updated now, history, outbox and text
// statistics with it. It sends the update at once, so that what the database refuses shows here, and
// returns the new version.
func (c *change) take(ctx context.Context, m memoryRow, s step) (int, error) {
	if s.NewText && m.Live {
		if err := c.loseText(ctx, []uuid.UUID{m.ID}); err != nil {
			return 0, err
		}
	}
	if payload, ok := s.Set["payload"].(string); ok {
		if err := schema.ValidatePayload(m.Type, json.RawMessage(payload)); err != nil {
			return 0, err
		}
	}
	if s.NewText {
		c.rehint(m, s.Set)
	}
	columns := make([]string, 0, len(s.Set))
	for name := range s.Set {
		columns = append(columns, name)
	}
	slices.Sort(columns) // one statement for one kind of step
	args := []any{c.tenant, m.ID, c.now}
	var set strings.Builder
	for _, name := range columns {
		args = append(args, s.Set[name])
		fmt.Fprintf(&set, ", %s = $%d", name, len(args))
	}
	tag, err := c.tx.Exec(ctx, `UPDATE memories SET version = version + 1, updated_at = $3`+set.String()+` WHERE tenant = $1 AND id = $2`, args...)
	if err != nil {
		return 0, err
	}
	if tag.RowsAffected() != 1 {
		return 0, fmt.Errorf("memory %s: %w", m.ID, ErrNotFound) // unreachable: the row is locked
	}
	version := m.Version + 1
	c.history(historyRow{MemoryID: m.ID, Event: s.Event, Old: s.Old, New: s.New, By: s.By, Reason: s.Reason, Metadata: s.Metadata,
		Action: s.Action, Version: version})
	if s.NowLive {
		c.outbox(m.ID, version, "upsert")
	} else {
		c.outbox(m.ID, version, "delete")
	}
	switch {
	case s.NowLive && (!m.Live || s.NewText):
		c.counted = append(c.counted, m.ID)
	case !s.NowLive && m.Live && !s.NewText:
		c.uncounted = append(c.uncounted, m.ID)
	}
	return version, nil
}

// loseText notes the lexemes of live memories before their text is replaced or their row goes: finish
// could no longer read them.
func (c *change) loseText(ctx context.Context, ids []uuid.UUID) error {
	rows, err := c.tx.Query(ctx, `SELECT tsvector_to_array(tsv) FROM memories WHERE tenant = $1 AND id = ANY($2) AND live`, c.tenant, ids)
	if err != nil {
		return err
	}
	var lexemes []string
	_, err = pgx.ForEachRow(rows, []any{&lexemes}, func() error {
		c.lost = append(c.lost, lexemes...)
		c.lostDocs++
		return nil
	})
	return err
}

// lockClaims serialises writers of each of the claims: subject and predicate within the readers that
// share its truth. The unique index would let grounds through that differ and overlap. The locks are
// taken by their keys, so that no two changes wait for each other, whatever each knows of its claims.
func (c *change) lockClaims(ctx context.Context, claims []claimOf) error {
	if len(claims) == 0 {
		return nil
	}
	n := len(claims)
	scopes, spaces, subjects, predicates := make([]string, n), make([]string, n), make([]string, n), make([]string, n)
	for i, cl := range claims {
		scopes[i], spaces[i], subjects[i], predicates[i] = cl.owner.Scope, claimSpace(cl.owner, cl.visibility), cl.subject, cl.predicate
	}
	_, err := c.tx.Exec(ctx, `SELECT pg_advisory_xact_lock(k.key) FROM (
			SELECT DISTINCT hashtextextended(concat_ws(E'\x1f', $1::text, 'claim', x.scope, x.space, lower(x.subject), x.predicate), hashtext(current_schema())) AS key
			FROM unnest($2::text[], $3::text[], $4::text[], $5::text[]) x(scope, space, subject, predicate) ORDER BY 1) k`,
		c.tenant, scopes, spaces, subjects, predicates)
	return err
}

// claimSpace is the column claim_space for an owner and a visibility.
func claimSpace(p schema.Principal, v schema.Visibility) string {
	switch v {
	case schema.VisibilityGroup:
		return "group:" + p.Project + ":" + p.PolicyGroup
	case schema.VisibilityShared:
		return "shared:" + p.Project
	case schema.VisibilityGlobal:
		return "global"
	default:
		return "private:" + p.Project + ":" + p.Agent
	}
}

// claimHolders returns the active memories that make a functional claim about the subject and
// predicate in a claim space, on whatever ground, locked. Call lockClaims first.
func (c *change) claimHolders(ctx context.Context, p schema.Principal, v schema.Visibility, subject, predicate string) ([]memoryRow, error) {
	return c.holdersIn(ctx, p, v, subject, predicate, "active")
}

// claimants returns the contested ones as well, behind the active ones: while it is open what holds, a
// further memory that makes the claim would have the last word without anybody deciding.
func (c *change) claimants(ctx context.Context, p schema.Principal, v schema.Visibility, subject, predicate string) ([]memoryRow, error) {
	active, err := c.claimHolders(ctx, p, v, subject, predicate)
	if err != nil {
		return nil, err
	}
	contested, err := c.holdersIn(ctx, p, v, subject, predicate, "contested")
	return append(active, contested...), err
}

// holdersIn names the status in the text of the query: each is served by an index of its own.
func (c *change) holdersIn(ctx context.Context, p schema.Principal, v schema.Visibility, subject, predicate, status string) ([]memoryRow, error) {
	rows, err := c.tx.Query(ctx, `SELECT `+rowColumns+` FROM memories m WHERE m.tenant = $1 AND m.scope = $2 AND m.claim_space = $3
		AND m.claim_key = mneme_claim_key($4, $5) AND m.type = 'semantic' AND m.functional AND m.live AND m.deleted_at IS NULL AND m.status = '`+status+`'
		ORDER BY m.id FOR UPDATE OF m`, c.tenant, p.Scope, claimSpace(p, v), subject, predicate)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, scanRow)
}

// lockScopesOf locks the scopes of those of the ids that the principal may look at, in one order, so
// that what the pipeline decides on does not change under it. Call it before lockRows: the pipeline
// takes the scope first as well.
func (c *change) lockScopesOf(ctx context.Context, p schema.Principal, ids []uuid.UUID) error {
	scopes, err := collect[struct{ Project, Scope string }](ctx, c.tx, `SELECT DISTINCT m.project, m.scope FROM memories m
		WHERE m.tenant = $1 AND m.id = ANY($2) AND `+mayLookAt+` ORDER BY 1, 2`, c.tenant, ids, p.Agent, p.Project, changes(p))
	if err != nil {
		return err
	}
	for _, s := range scopes {
		if err := c.lockScope(ctx, schema.Principal{Project: s.Project, Scope: s.Scope}); err != nil {
			return err
		}
	}
	return nil
}

// lockScope serialises writers whose decisions may bear on each other.
func (c *change) lockScope(ctx context.Context, p schema.Principal) error {
	_, err := c.tx.Exec(ctx, `SELECT pg_advisory_xact_lock(hashtextextended($1 || '/scope/' || $2, hashtext(current_schema())))`, c.tenant, p.Project+"/"+p.Scope)
	return err
}
