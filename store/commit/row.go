package commit

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
	"github.com/mneme/mneme/store/pg"
)

// MemoryRow is a memory as a change finds it, locked until commit.
type MemoryRow struct {
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

// RowColumns are the columns that ScanRow reads, of memories m.
const RowColumns = `m.id, m.version, m.tenant, m.agent_id, m.project, m.scope, m.policy_group, m.visibility, m.type,
	m.category, m.tier, m.typology,
	m.content, m.content_hash, m.payload, m.tags, m.who, coalesce(m.subject, ''), coalesce(m.predicate, ''),
	m.functional, m.conditions_hash,
	m.validity, m.conditions, m.valid_from, m.valid_until, m.revision_policy, m.confidence, m.importance,
	m.source_trust, m.sensitivity, m.pinned,
	m.status, m.live, m.created_at, m.deleted_at, m.archived_at, m.erased_at, m.supersedes, m.superseded_by,
	m.world_id IS NOT NULL, m.purging_at IS NOT NULL OR m.retained_at IS NOT NULL,
	m.salience, m.salience_at, m.decay_curve, m.half_life, m.min_salience, m.max_age, m.decay_floor,
	m.reinforcement_gain, m.decay_points`

// ScanRow scans RowColumns.
func ScanRow(row pgx.CollectableRow) (MemoryRow, error) {
	var m MemoryRow
	var maxAge *time.Duration
	var points []schema.DecayPoint
	o, d := &m.Owner, &m.Decay
	err := row.Scan(&m.ID, &m.Version, &o.Tenant, &o.Agent, &o.Project, &o.Scope, &o.PolicyGroup, &m.Visibility,
		&m.Type, &m.Category, &m.Tier, &m.Typology,
		&m.Content, &m.Hash, &m.Payload, &m.Tags, &m.Who, &m.Subject, &m.Predicate, &m.Functional, &m.ConditionsHash,
		&m.Validity.Mode, &m.Validity.Conditions, &m.Validity.Start, &m.Validity.End, &m.RevisionPolicy, &m.Confidence,
		&m.Importance, &m.SourceTrust,
		&m.Sensitivity, &m.Pinned, &m.Status, &m.Live, &m.CreatedAt, &m.DeletedAt, &m.ArchivedAt, &m.ErasedAt,
		&m.Supersedes, &m.SupersededBy, &m.World, &m.Over,
		&m.Salience, &m.SalienceAt, &d.Curve, &d.HalfLife, &d.MinSalience, &maxAge, &d.Floor, &d.ReinforcementGain,
		&points)
	d.Points = memory.DecayPoints(points)
	if maxAge != nil {
		d.MaxAge = *maxAge
	}
	return m, err
}

// Domain is whose retention policies hold for the row.
func (m *MemoryRow) Domain() schema.RetentionDomain {
	if m.World {
		return schema.RetainWorld
	}
	return schema.RetainMemory
}

// Holding is the owner and the visibility of the row.
func (m *MemoryRow) Holding() memory.Holding {
	return memory.Holding{Owner: m.Owner, Visibility: m.Visibility}
}

// LockRows locks those of the ids that the principal may change, in order of id so that two changes
// never wait for each other in a circle. What it may not see is missing, as what does not exist is.
func (c *Change) LockRows(ctx context.Context, p schema.Principal, ids []uuid.UUID) (map[uuid.UUID]MemoryRow, error) {
	return c.rows(ctx, p, pg.ChangeGrants(p), ids, ` ORDER BY m.id FOR UPDATE OF m`)
}

// LockReadable is LockRows for a change that does not concern what the memories say: also of those that a
// user reads and may not change.
func (c *Change) LockReadable(ctx context.Context, p schema.Principal,
	ids []uuid.UUID) (map[uuid.UUID]MemoryRow, error) {
	return c.rows(ctx, p, pg.ReadGrants(p), ids, ` ORDER BY m.id FOR UPDATE OF m`)
}

// PeekRows reads them without locking them.
func (c *Change) PeekRows(ctx context.Context, p schema.Principal, ids []uuid.UUID) (map[uuid.UUID]MemoryRow, error) {
	return c.rows(ctx, p, pg.ChangeGrants(p), ids, "")
}

func (c *Change) rows(ctx context.Context, p schema.Principal, within []string, ids []uuid.UUID,
	lock string) (map[uuid.UUID]MemoryRow, error) {
	rows, err := c.Tx.Query(ctx, `SELECT `+RowColumns+` FROM memories m WHERE m.tenant = $1 AND m.id = ANY($2)
		AND `+pg.MayRead+lock,
		c.Tenant, ids, p.Agent, p.Project, within)
	if err != nil {
		return nil, err
	}
	found, err := pgx.CollectRows(rows, ScanRow)
	if err != nil {
		return nil, err
	}
	out := make(map[uuid.UUID]MemoryRow, len(found))
	for _, m := range found {
		out[m.ID] = m
	}
	return out, nil
}

// Step is one change to a locked row: which columns it sets, and what history says of it.
type Step struct {
	Set      map[string]any // by column; names are constants of this package
	NowLive  bool           // whether the memory is live after the step
	NewText  bool           // the step replaces the content: its lexemes are counted again
	Event    schema.HistoryEvent
	Action   schema.AuditAction
	Old, New *string
	By       string
	Reason   string
	Metadata map[string]any
}

// ApplyStep carries a step out on a locked row: a version more, updated now, history, outbox and text
// statistics with it. It sends the update at once, so that what the database refuses shows here, and
// returns the new version.
func (c *Change) ApplyStep(ctx context.Context, m MemoryRow, s Step) (int, error) {
	if s.NewText && m.Live {
		if err := c.NoteLostText(ctx, []uuid.UUID{m.ID}); err != nil {
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
	args := []any{c.Tenant, m.ID, c.Now}
	var set strings.Builder
	for _, name := range columns {
		args = append(args, s.Set[name])
		fmt.Fprintf(&set, ", %s = $%d", name, len(args))
	}
	tag, err := c.Tx.Exec(ctx, `UPDATE memories SET version = version + 1, updated_at = $3`+set.String()+`
		WHERE tenant = $1 AND id = $2`, args...)
	if err != nil {
		return 0, err
	}
	if tag.RowsAffected() != 1 {
		return 0, fmt.Errorf("memory %s: %w", m.ID, pg.ErrNotFound) // unreachable: the row is locked
	}
	version := m.Version + 1
	c.History(HistoryRow{MemoryID: m.ID, Event: s.Event, Old: s.Old, New: s.New, By: s.By, Reason: s.Reason,
		Metadata: s.Metadata,
		Action:   s.Action, Version: version})
	if s.NowLive {
		c.Outbox(m.ID, version, "upsert")
	} else {
		c.Outbox(m.ID, version, "delete")
	}
	switch {
	case s.NowLive && (!m.Live || s.NewText):
		c.Counted = append(c.Counted, m.ID)
	case !s.NowLive && m.Live && !s.NewText:
		c.Uncounted = append(c.Uncounted, m.ID)
	}
	return version, nil
}

// NoteLostText notes the lexemes of live memories before their text is replaced or their row goes: finish
// could no longer read them.
func (c *Change) NoteLostText(ctx context.Context, ids []uuid.UUID) error {
	rows, err := c.Tx.Query(ctx, `SELECT tsvector_to_array(tsv) FROM memories WHERE tenant = $1 AND id = ANY($2)
		AND live`, c.Tenant, ids)
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

// LockClaims serialises writers of each of the claims: subject and predicate within the readers that
// share its truth. The unique index would let grounds through that differ and overlap. The locks are
// taken by their keys, so that no two changes wait for each other, whatever each knows of its claims.
func (c *Change) LockClaims(ctx context.Context, claims []ClaimOf) error {
	if len(claims) == 0 {
		return nil
	}
	n := len(claims)
	scopes, spaces, subjects, predicates := make([]string, n), make([]string, n), make([]string, n), make([]string, n)
	for i, cl := range claims {
		scopes[i], spaces[i], subjects[i], predicates[i] = cl.Owner.Scope, ClaimSpace(cl.Owner, cl.Visibility),
			cl.Subject, cl.Predicate
	}
	_, err := c.Tx.Exec(ctx, `SELECT pg_advisory_xact_lock(k.key) FROM (
			SELECT DISTINCT hashtextextended(concat_ws(E'\x1f', $1::text, 'claim', x.scope, x.space, lower(x.subject),
				x.predicate), hashtext(current_schema())) AS key
			FROM unnest($2::text[], $3::text[], $4::text[], $5::text[]) x(scope, space, subject, predicate)
			ORDER BY 1) k`,
		c.Tenant, scopes, spaces, subjects, predicates)
	return err
}

// ClaimSpace is the column claim_space for an owner and a visibility.
func ClaimSpace(p schema.Principal, v schema.Visibility) string {
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
// predicate in a claim space, on whatever ground, locked. Call LockClaims first.
func (c *Change) claimHolders(ctx context.Context, p schema.Principal, v schema.Visibility, subject,
	predicate string) ([]MemoryRow, error) {
	return c.holdersIn(ctx, p, v, subject, predicate, "active")
}

// Claimants returns the contested ones as well, after the active ones: while a claim is contested, a further memory
// that makes it must not settle it undecided.
func (c *Change) Claimants(ctx context.Context, p schema.Principal, v schema.Visibility, subject,
	predicate string) ([]MemoryRow, error) {
	active, err := c.claimHolders(ctx, p, v, subject, predicate)
	if err != nil {
		return nil, err
	}
	contested, err := c.holdersIn(ctx, p, v, subject, predicate, "contested")
	return append(active, contested...), err
}

// holdersIn names the status in the text of the query: each is served by an index of its own.
func (c *Change) holdersIn(ctx context.Context, p schema.Principal, v schema.Visibility, subject, predicate,
	status string) ([]MemoryRow, error) {
	rows, err := c.Tx.Query(ctx, `SELECT `+RowColumns+` FROM memories m WHERE m.tenant = $1 AND m.scope = $2
		AND m.claim_space = $3
		AND m.claim_key = mneme_claim_key($4, $5) AND m.type = 'semantic' AND m.functional AND m.live
		AND m.deleted_at IS NULL AND m.status = '`+status+`'
		ORDER BY m.id FOR UPDATE OF m`, c.Tenant, p.Scope, ClaimSpace(p, v), subject, predicate)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, ScanRow)
}

// LockScopesOf locks the scopes of those of the ids that the principal may look at, in one order, so
// that what the pipeline decides on does not change under it. Call it before LockRows: the pipeline
// takes the scope first as well.
func (c *Change) LockScopesOf(ctx context.Context, p schema.Principal, ids []uuid.UUID) error {
	scopes, err := pg.Collect[struct{ Project, Scope string }](ctx, c.Tx, `SELECT DISTINCT m.project, m.scope
		FROM memories m
		WHERE m.tenant = $1 AND m.id = ANY($2) AND `+pg.MayRead+` ORDER BY 1, 2`, c.Tenant, ids, p.Agent, p.Project,
		pg.ChangeGrants(p))
	if err != nil {
		return err
	}
	for _, s := range scopes {
		if err := c.LockScope(ctx, schema.Principal{Project: s.Project, Scope: s.Scope}); err != nil {
			return err
		}
	}
	return nil
}

// LockScope serialises writers whose decisions may bear on each other.
func (c *Change) LockScope(ctx context.Context, p schema.Principal) error {
	_, err := c.Tx.Exec(ctx, `SELECT pg_advisory_xact_lock(hashtextextended($1 || '/scope/' || $2,
		hashtext(current_schema())))`, c.Tenant, p.Project+"/"+p.Scope)
	return err
}
