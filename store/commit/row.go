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

// MemoryRow is a memory as a change reads it, locked until commit.
type MemoryRow struct {
	ID             uuid.UUID
	Version        int
	Owner          schema.Principal `db:"-"`
	Visibility     schema.Visibility
	Type           schema.MemoryType
	Category       schema.Category
	Tier           schema.Tier
	Typology       schema.Typology
	Content        string
	Hash           []byte `db:"content_hash"`
	Payload        json.RawMessage
	Tags           []string
	Who            string
	Subject        string
	Predicate      string
	Functional     bool
	Validity       schema.Validity `db:"-"`
	RevisionPolicy schema.RevisionPolicy
	Confidence     float64
	Importance     float64
	SourceTrust    float64
	Sensitivity    schema.Sensitivity
	Pinned         bool
	Salience       float64 // as of SalienceAt
	SalienceAt     time.Time
	Decay          memory.Decay `db:"-"`
	Status         schema.Status
	Live           bool
	CreatedAt      time.Time
	DeletedAt      *time.Time
	ArchivedAt     *time.Time
	ErasedAt       *time.Time
	Supersedes     *uuid.UUID
	World          bool // it has a world_id
	Over           bool `db:"window_over"` // its retention window is over
}

// RowColumns are the columns of memories m that ScanRow reads.
const RowColumns = `
	m.id, m.version, m.tenant, m.agent_id, m.project, m.scope, m.policy_group, m.visibility,
	m.type, m.category, m.tier, m.typology,
	m.content, m.content_hash, m.payload, m.tags, m.who,
	coalesce(m.subject, '') AS subject, coalesce(m.predicate, '') AS predicate, m.functional,
	m.validity, m.conditions, m.valid_from, m.valid_until,
	m.revision_policy, m.confidence, m.importance, m.source_trust, m.sensitivity, m.pinned,
	m.status, m.live, m.created_at, m.deleted_at, m.archived_at, m.erased_at, m.supersedes,
	m.world_id IS NOT NULL AS world,
	m.purging_at IS NOT NULL OR m.retained_at IS NOT NULL AS window_over,
	m.salience, m.salience_at,
	m.decay_curve, m.half_life, m.min_salience, m.max_age, m.decay_floor, m.reinforcement_gain, m.decay_points`

// scannedRow has the columns of RowColumns: a MemoryRow, and the columns of its parts.
type scannedRow struct {
	MemoryRow

	Tenant      string
	Agent       string `db:"agent_id"`
	Project     string
	Scope       string
	PolicyGroup string

	ValidityMode schema.ValidityMode `db:"validity"`
	Conditions   json.RawMessage
	ValidFrom    *time.Time
	ValidUntil   *time.Time

	DecayCurve        schema.DecayCurve
	HalfLife          time.Duration
	MinSalience       float64
	MaxAge            *time.Duration
	DecayFloor        float64
	ReinforcementGain float64
	DecayPoints       []schema.DecayPoint
}

// ScanRow scans RowColumns.
func ScanRow(row pgx.CollectableRow) (MemoryRow, error) {
	r, err := pgx.RowToStructByName[scannedRow](row)
	m := r.MemoryRow
	m.Owner = schema.Principal{Tenant: r.Tenant, Agent: r.Agent, Project: r.Project, Scope: r.Scope,
		PolicyGroup: r.PolicyGroup}
	m.Validity = schema.Validity{Mode: r.ValidityMode, Conditions: r.Conditions, Start: r.ValidFrom,
		End: r.ValidUntil}
	m.Decay = memory.Decay{Curve: r.DecayCurve, HalfLife: r.HalfLife, MinSalience: r.MinSalience,
		Floor: r.DecayFloor, ReinforcementGain: r.ReinforcementGain, Points: memory.DecayPoints(r.DecayPoints)}
	if r.MaxAge != nil {
		m.Decay.MaxAge = *r.MaxAge
	}
	return m, err
}

// Domain returns the domain whose retention policies apply to the row.
func (m *MemoryRow) Domain() schema.RetentionDomain {
	if m.World {
		return schema.RetainWorld
	}
	return schema.RetainMemory
}

// Holding returns the owner and the visibility of the row.
func (m *MemoryRow) Holding() memory.Holding {
	return memory.Holding{Owner: m.Owner, Visibility: m.Visibility}
}

// LockRows locks the rows among the ids that the principal may change, in order of id so that two changes do not
// deadlock. A hidden memory is missing, like one that does not exist.
func (c *Change) LockRows(ctx context.Context, p schema.Principal, ids []uuid.UUID) (map[uuid.UUID]MemoryRow, error) {
	return c.rows(ctx, p, pg.ChangeGrants(p), ids, forUpdate)
}

// LockReadable is LockRows for a change that does not alter the content of memories. It also locks memories that a
// user may read but not change.
func (c *Change) LockReadable(ctx context.Context, p schema.Principal,
	ids []uuid.UUID) (map[uuid.UUID]MemoryRow, error) {
	return c.rows(ctx, p, pg.ReadGrants(p), ids, forUpdate)
}

// PeekRows is LockRows without the locks.
func (c *Change) PeekRows(ctx context.Context, p schema.Principal, ids []uuid.UUID) (map[uuid.UUID]MemoryRow, error) {
	return c.rows(ctx, p, pg.ChangeGrants(p), ids, "")
}

// forUpdate ends a statement that locks the memories m that it reads, in order of id.
const forUpdate = `
	ORDER BY m.id
	FOR UPDATE OF m`

func (c *Change) rows(ctx context.Context, p schema.Principal, grants []string, ids []uuid.UUID,
	lock string) (map[uuid.UUID]MemoryRow, error) {
	rows, err := c.Tx.Query(ctx, `SELECT `+RowColumns+`
		FROM memories m
		WHERE m.tenant = @tenant AND m.id = ANY(@ids) AND `+mayRead+lock,
		pg.Args{
			"tenant":  c.Tenant,
			"ids":     ids,
			"agent":   p.Agent,
			"project": p.Project,
			"grants":  grants,
		})
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

// Step is one change to a locked row: the columns that it sets, and its history entry.
type Step struct {
	Set      map[string]any // by column; names are constants of this package
	NowLive  bool           // whether the memory is live after the step
	NewText  bool           // the step replaces the content, so its lexemes are counted again
	Event    schema.HistoryEvent
	Action   schema.AuditAction
	Old, New *string
	By       string
	Reason   string
	Metadata map[string]any
}

// ApplyStep applies a step to a locked row and returns its new version. It also changes the history, the outbox and
// the text statistics. The update is sent at once, so that an error of the database is returned here.
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
	args := pg.Args{"tenant": c.Tenant, "id": m.ID, "now": c.Now}
	var set strings.Builder
	for _, name := range columns {
		args[name] = s.Set[name]
		fmt.Fprintf(&set, ", %s = @%s", name, name)
	}
	tag, err := c.Tx.Exec(ctx, `
		UPDATE memories
		SET version = version + 1, updated_at = @now`+set.String()+`
		WHERE tenant = @tenant AND id = @id`, args)
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

// NoteLostText records the lexemes of live memories before their text is replaced or their row is deleted, because
// finish can no longer read them.
func (c *Change) NoteLostText(ctx context.Context, ids []uuid.UUID) error {
	texts, err := Values[[]string](ctx, c.Tx, `
		SELECT tsvector_to_array(tsv)
		FROM memories
		WHERE tenant = @tenant AND id = ANY(@ids) AND live`,
		pg.Args{"tenant": c.Tenant, "ids": ids})
	for _, lexemes := range texts {
		c.lost = append(c.lost, lexemes...)
		c.lostDocs++
	}
	return err
}

// LockClaims serialises the writers of each claim: a subject and predicate within a claim space. The unique index
// is not enough, because it admits conditions that differ and overlap. The locks are taken in the order of their
// keys, so that two changes do not deadlock.
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
	_, err := c.Tx.Exec(ctx, `
		SELECT pg_advisory_xact_lock(k.key)
		FROM (
			SELECT DISTINCT hashtextextended(
				concat_ws(E'\x1f', @tenant::text, 'claim', x.scope, x.space, lower(x.subject), x.predicate),
				hashtext(current_schema())) AS key
			FROM unnest(@scopes::text[], @spaces::text[], @subjects::text[], @predicates::text[])
				x(scope, space, subject, predicate)
			ORDER BY 1) k`,
		pg.Args{
			"tenant":     c.Tenant,
			"scopes":     scopes,
			"spaces":     spaces,
			"subjects":   subjects,
			"predicates": predicates,
		})
	return err
}

// ClaimSpace returns the column claim_space for an owner and a visibility.
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

// claimHolders locks and returns the active memories in a claim space that make a functional claim about the
// subject and predicate, under any conditions. Call LockClaims first.
func (c *Change) claimHolders(ctx context.Context, p schema.Principal, v schema.Visibility, subject,
	predicate string) ([]MemoryRow, error) {
	return c.holdersIn(ctx, p, v, subject, predicate, "active")
}

// Claimants returns the active memories that make a claim, and after them the contested ones: a further memory with
// the claim must not settle the contest.
func (c *Change) Claimants(ctx context.Context, p schema.Principal, v schema.Visibility, subject,
	predicate string) ([]MemoryRow, error) {
	active, err := c.claimHolders(ctx, p, v, subject, predicate)
	if err != nil {
		return nil, err
	}
	contested, err := c.holdersIn(ctx, p, v, subject, predicate, "contested")
	return append(active, contested...), err
}

// holdersIn writes the status into the query as a literal, because each status has its own index.
func (c *Change) holdersIn(ctx context.Context, p schema.Principal, v schema.Visibility, subject, predicate,
	status string) ([]MemoryRow, error) {
	rows, err := c.Tx.Query(ctx, `SELECT `+RowColumns+`
		FROM memories m
		WHERE m.tenant = @tenant
			AND m.scope = @scope
			AND m.claim_space = @claim_space
			AND m.claim_key = mneme_claim_key(@subject, @predicate)
			AND m.type = 'semantic'
			AND m.functional
			AND m.live
			AND m.deleted_at IS NULL
			AND m.status = '`+status+`'`+forUpdate,
		pg.Args{
			"tenant":      c.Tenant,
			"scope":       p.Scope,
			"claim_space": ClaimSpace(p, v),
			"subject":     subject,
			"predicate":   predicate,
		})
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, ScanRow)
}

// LockScopesOf locks the scopes of the memories among the ids that the principal may see, in order. Then the
// memories that the pipeline decides on do not change during the change. Call it before LockRows, because the
// pipeline locks the scope first.
func (c *Change) LockScopesOf(ctx context.Context, p schema.Principal, ids []uuid.UUID) error {
	scopes, err := Rows[struct{ Project, Scope string }](ctx, c.Tx, `
		SELECT DISTINCT m.project, m.scope
		FROM memories m
		WHERE m.tenant = @tenant AND m.id = ANY(@ids) AND `+mayRead+`
		ORDER BY 1, 2`,
		pg.Args{
			"tenant":  c.Tenant,
			"ids":     ids,
			"agent":   p.Agent,
			"project": p.Project,
			"grants":  pg.ChangeGrants(p),
		})
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

// LockScope serialises writers whose decisions may affect each other.
func (c *Change) LockScope(ctx context.Context, p schema.Principal) error {
	_, err := c.Tx.Exec(ctx, `
		SELECT pg_advisory_xact_lock(hashtextextended(@tenant || '/scope/' || @scope, hashtext(current_schema())))`,
		pg.Args{"tenant": c.Tenant, "scope": p.Project + "/" + p.Scope})
	return err
}
