package pg

import (
	"bytes"
	"cmp"
	"encoding/json"
	"time"

	"github.com/mneme/mneme/memory/policy"
	"github.com/mneme/mneme/memory/sensitive"
	"github.com/mneme/mneme/memory/timeexpr"
	"github.com/mneme/mneme/schema"
)

// Filter is the shared filter: what the asker may see, narrowed by what it asks for. Collecting,
// authorising, hydrating and listing all use this one, so that a boundary cannot hold in one place
// and leak in another.
type Filter struct {
	Principal schema.Principal
	Scopes    []string // readable in addition to the principal's own: granted by a clearance
	// of a principal that acts for a user: what is the user's, without what belongs to no scope
	OwnScope       bool
	ReadPolicy     schema.ReadPolicy // empty means isolated
	Types          []schema.MemoryType
	Categories     []schema.Category
	Tags           []string // all of them
	Who            string
	Pinned         *bool
	ImportanceMin  float64 // of what importance has faded to
	Since, Until   *time.Time
	MaxSensitivity schema.Sensitivity // empty means medium

	// At is the time that the question is about (validity): timeboxed memories that do not hold then
	// stay out. The zero time leaves windows out of account.
	At time.Time
	// During are times that the question names: what held at some time in one of them is an answer as well.
	// Without At they say nothing.
	During []timeexpr.TimeWindow
	// Context is a JSON object of what is known of the situation: conditional memories whose
	// conditions it contradicts stay out. A key that either side does not name decides nothing.
	Context json.RawMessage
	// Superseded admits superseded memories in addition to live ones. Search indexes hold none of it: it is for
	// reading by id.
	Superseded bool
	// Now is the time for which importance is computed; the zero time is the database's clock.
	Now time.Time
	// DailyDecay is the share of its importance that a memory keeps a day; 0 means memory.DefaultDailyDecay.
	DailyDecay float64
	// AsOf is the time at which it was believed (record time); nil means now. Only listings know the
	// past: searching it would need every text that ever was in the index.
	AsOf *time.Time
}

// FilterOf returns the filter that a recall request asks for, within a clearance. It is about now, and about
// the times that its query names, unless the request names another time.
func FilterOf(r schema.RecallRequest, c policy.Clearance, now time.Time, named []timeexpr.TimeWindow) Filter {
	at, during := now, named
	if r.ValidAt != nil {
		at, during = *r.ValidAt, nil
	}
	return Filter{Now: now, Principal: r.Principal, Scopes: c.Scopes, ReadPolicy: r.ReadPolicy, Types: r.Types,
		Categories: r.Categories, Tags: r.Tags, Who: r.Who,
		Pinned: r.Pinned, ImportanceMin: r.ImportanceMin, Since: r.Since, Until: r.Until,
		MaxSensitivity: cmp.Or(c.Limit, sensitive.DefaultLimit), At: at, During: during,
		Context: plainJSON(r.Context)}
}

// plainJSON encodes JSON again, without what Go reads and Postgres refuses, such as half a surrogate pair.
func plainJSON(data json.RawMessage) json.RawMessage {
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.UseNumber() // an id of twenty digits stays what it is
	var value any
	if len(data) == 0 || decoder.Decode(&value) != nil {
		return nil
	}
	out, err := json.Marshal(value)
	if err != nil {
		return nil // unreachable: it was decoded
	}
	return out
}

// Where renders the filter as conditions on the alias, which is memories, memory_search or memory_text.
func (f Filter) Where(m string, p *Params) string {
	return f.State(m) + " AND " + f.Visible(m, p) + f.Narrowed(m, p)
}

// State renders in which state a memory must be.
func (f Filter) State(m string) string {
	if !f.Superseded {
		return m + ".live"
	}
	return "(" + m + ".live OR " + m + ".status = 'superseded' AND " + m + ".deleted_at IS NULL AND " + m +
		".archived_at IS NULL)"
}

// ClearedSensitivities lists the sensitivities that a read of single memories may return: as the clearance says, or
// up to sensitive.DefaultLimit without one.
func ClearedSensitivities(c []policy.Clearance) []schema.Sensitivity {
	if len(c) == 0 {
		return SensitivitiesUpTo("")
	}
	return SensitivitiesUpTo(c[0].Limit)
}

// WasLive is the generated column live, for versions: they do not keep what follows from the rest.
const WasLive = `m.deleted_at IS NULL AND m.archived_at IS NULL AND m.status IN ('active', 'contested')`

// Visible renders what the asker may see at all, whatever it asks for.
//
// Isolated reads the agent's own memories. Shared adds what is shared in its project, what is
// global, and, when the principal names a policy group, that group's. Group is shared for a principal
// that must name its group (requests are validated for that).
func (f Filter) Visible(m string, p *Params) string {
	return f.Reachable(m, p) + " AND " + m + ".sensitivity = ANY(" + p.Add(SensitivitiesUpTo(f.MaxSensitivity)) + ")"
}

// SensitivitiesUpTo lists the sensitivities that a limit admits.
func SensitivitiesUpTo(limit schema.Sensitivity) []schema.Sensitivity {
	return cmp.Or(limit, sensitive.DefaultLimit).AtMost()
}

// Reachable renders what the asker may see when sensitivity is left out of account.
func (f Filter) Reachable(m string, p *Params) string {
	pr := f.Principal
	q := m + ".tenant = " + p.Add(pr.Tenant)
	switch f.ReadPolicy {
	case schema.ReadShared, schema.ReadGroup:
		// the scope is below
		q += " AND " + SharedWith(m, p.Add(pr.Agent), p.Add(pr.Project), p.Add([]string{pr.PolicyGroup}))
	default:
		q += " AND " + m + ".agent_id = " + p.Add(pr.Agent)
	}
	if pr.Project != "" {
		q += " AND " + m + ".project = " + p.Add(pr.Project)
	}
	// Without an explicit scope, scoped memories stay out.
	if scopes := f.InScopes(); len(scopes) > 1 {
		return q + " AND " + m + ".scope = ANY(" + p.Add(scopes) + ")"
	}
	return q + " AND " + m + ".scope = " + p.Add(pr.EffectiveScope())
}

// InScopes are the scopes that the filter admits.
func (f Filter) InScopes() []string {
	if f.OwnScope {
		return []string{f.Principal.EffectiveScope()}
	}
	return append(f.Principal.ReadScopes(), f.Scopes...)
}

// SharedWith renders that a memory is an agent's own or shared with it, whatever its state and sensitivity:
// memory.MayLook, or memory.MayChange. The agent, its project and what ReadGrants or ChangeGrants returns are given
// as the statement's placeholders. Everything that reads, changes or forgets memories of others by their ids uses it.
func SharedWith(m, agent, project, within string) string {
	return "((" + m + ".agent_id = " + agent + " OR " + m + ".visibility = 'global'" +
		" OR " + m + ".visibility = 'shared' AND " + m + ".project = " + project +
		" OR " + m + ".visibility = 'group' AND " + m + ".policy_group <> '' AND " + m + ".policy_group = (" + within +
		"::text[])[1])" +
		" AND " + OfUser(m+".scope", within) + ")"
}

// OfUser renders that a scope is one that the principal may reach. An agent reaches all of them; a principal that
// acts for a user is limited to those that ReadGrants or ChangeGrants lists.
func OfUser(scope, within string) string {
	return "(cardinality(" + within + "::text[]) = 1 OR " + scope + " = ANY((" + within + "::text[])[2:]))"
}

// ReadGrants returns the principal's policy group, followed by the scopes that it may read where it acts for a user. It
// is one parameter, so that no statement can have the one without the other.
func ReadGrants(p schema.Principal) []string {
	if p.User == "" {
		return []string{p.PolicyGroup}
	}
	return append([]string{p.PolicyGroup}, p.ReadScopes()...)
}

// ChangeGrants is ReadGrants for a statement that changes what it finds: a user's memories are the user's to change,
// and no others.
func ChangeGrants(p schema.Principal) []string {
	if p.User == "" {
		return []string{p.PolicyGroup}
	}
	return []string{p.PolicyGroup, p.EffectiveScope()}
}

// UserScope is the scope to which a principal that acts for a user is held, and empty for an agent.
func UserScope(p schema.Principal) string {
	if p.User == "" {
		return ""
	}
	return p.EffectiveScope()
}

// Narrowed renders what the asker asks for, as further conditions.
func (f Filter) Narrowed(m string, p *Params) string {
	q := ""
	if len(f.Types) > 0 {
		q += " AND " + m + ".type = ANY(" + p.Add(f.Types) + ")"
	}
	if len(f.Categories) > 0 {
		q += " AND " + m + ".category = ANY(" + p.Add(f.Categories) + ")"
	}
	if len(f.Tags) > 0 {
		q += " AND " + m + ".tags @> " + p.Add(f.Tags)
	}
	if f.Who != "" {
		q += " AND lower(" + m + ".who) = lower(" + p.Add(f.Who) + ")"
	}
	if f.Pinned != nil {
		q += " AND " + m + ".pinned = " + p.Add(*f.Pinned)
	}
	if f.ImportanceMin > 0 {
		// Importance only fades: the stored value rules most memories out before their access is looked up.
		least := p.Add(f.ImportanceMin)
		q += " AND " + m + ".importance >= " + least + " AND " + f.ImportanceNow(m, p) + " >= " + least
	}
	if f.Since != nil {
		q += " AND " + m + ".occurred_at >= " + p.Add(f.Since.UTC())
	}
	if f.Until != nil {
		q += " AND " + m + ".occurred_at < " + p.Add(f.Until.UTC())
	}
	// As memory.Holds has it: what is unknown does not exclude.
	if !f.At.IsZero() {
		at := p.Add(f.At.UTC())
		q += " AND ((" + m + ".valid_from IS NULL OR " + m + ".valid_from <= " + at + ") AND (" + m +
			".valid_until IS NULL OR " + m + ".valid_until > " + at + ")"
		for _, w := range f.During {
			q += " OR (" + m + ".valid_from IS NULL OR " + m + ".valid_from < " + p.Add(w.End.UTC()) + ") AND (" + m +
				".valid_until IS NULL OR " + m + ".valid_until > " + p.Add(w.Start.UTC()) + ")"
		}
		q += ")"
	}
	if len(f.Context) > 0 {
		q += " AND (" + m + ".conditions IS NULL OR mneme_applies(" + m + ".conditions, " + p.Add(string(f.Context)) +
			"::jsonb))"
	}
	return q
}

// MayRead is SharedWith for a single memory: an owner may look at what was superseded. $3 is the agent, $4
// the project, $5 what ReadGrants returns or, in a statement that changes what it finds, what ChangeGrants returns.
var MayRead = MayReadAs("m")

// MayReadAs is MayRead for the memory or batch of another alias.
func MayReadAs(alias string) string { return SharedWith(alias, "$3", "$4", "$5") }
