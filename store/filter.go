package store

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
	Principal      schema.Principal
	Scopes         []string          // to be seen beside the principal's own: what a clearance has granted
	OwnScope       bool              // of a principal that acts for a user: what is the user's, without what belongs to no scope
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
	// Superseded lets in what was superseded, beside what is live. Search indexes hold none of it: it is for
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
	return Filter{Now: now, Principal: r.Principal, Scopes: c.Scopes, ReadPolicy: r.ReadPolicy, Types: r.Types, Categories: r.Categories, Tags: r.Tags, Who: r.Who,
		Pinned: r.Pinned, ImportanceMin: r.ImportanceMin, Since: r.Since, Until: r.Until, MaxSensitivity: cmp.Or(c.Limit, sensitive.DefaultLimit), At: at, During: during, Context: plainJSON(r.Context)}
}

// plainJSON writes JSON anew, without what Go reads and Postgres refuses, such as half a surrogate pair.
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

// where renders the filter as conditions on the alias, which is memories, memory_search or memory_text.
func (f Filter) where(m string, p *params) string {
	return f.state(m) + " AND " + f.visible(m, p) + f.narrowed(m, p)
}

// state renders in which state a memory must be.
func (f Filter) state(m string) string {
	if !f.Superseded {
		return m + ".live"
	}
	return "(" + m + ".live OR " + m + ".status = 'superseded' AND " + m + ".deleted_at IS NULL AND " + m + ".archived_at IS NULL)"
}

// cleared is how sensitive what a look at single memories shows may be: as its clearance says, or as
// sensitive.DefaultLimit for whom none is given.
func cleared(c []policy.Clearance) []schema.Sensitivity {
	if len(c) == 0 {
		return upTo("")
	}
	return upTo(c[0].Limit)
}

// wasLive is the generated column live, for versions: they do not keep what follows from the rest.
const wasLive = `m.deleted_at IS NULL AND m.archived_at IS NULL AND m.status IN ('active', 'contested')`

// visible renders what the asker may see at all, whatever it asks for.
//
// Isolated reads the agent's own memories. Shared adds what is shared in its project, what is
// global, and, when the principal names a policy group, that group's. Group is shared for a principal
// that must name its group (requests are validated for that).
func (f Filter) visible(m string, p *params) string {
	return f.reachable(m, p) + " AND " + m + ".sensitivity = ANY(" + p.add(upTo(f.MaxSensitivity)) + ")"
}

// upTo lists the sensitivities that a limit admits.
func upTo(limit schema.Sensitivity) []schema.Sensitivity {
	return cmp.Or(limit, sensitive.DefaultLimit).AtMost()
}

// reachable renders what the asker may see when sensitivity is left out of account.
func (f Filter) reachable(m string, p *params) string {
	pr := f.Principal
	q := m + ".tenant = " + p.add(pr.Tenant)
	switch f.ReadPolicy {
	case schema.ReadShared, schema.ReadGroup:
		q += " AND " + sharedWith(m, p.add(pr.Agent), p.add(pr.Project), p.add([]string{pr.PolicyGroup})) // the scope is below
	default:
		q += " AND " + m + ".agent_id = " + p.add(pr.Agent)
	}
	if pr.Project != "" {
		q += " AND " + m + ".project = " + p.add(pr.Project)
	}
	// Without an explicit scope, scoped memories stay out.
	if scopes := f.InScopes(); len(scopes) > 1 {
		return q + " AND " + m + ".scope = ANY(" + p.add(scopes) + ")"
	}
	return q + " AND " + m + ".scope = " + p.add(pr.EffectiveScope())
}

// InScopes are the scopes that the filter admits.
func (f Filter) InScopes() []string {
	if f.OwnScope {
		return []string{f.Principal.EffectiveScope()}
	}
	return append(f.Principal.ReadScopes(), f.Scopes...)
}

// sharedWith renders that a memory is an agent's own or shared with it, whatever its state and sensitivity:
// memory.MayLook, or memory.MayChange. The agent, its project and what sees or changes returns are given as they
// stand in the statement. Everything that reads, changes or forgets memories of others by their ids uses it.
func sharedWith(m, agent, project, within string) string {
	return "((" + m + ".agent_id = " + agent + " OR " + m + ".visibility = 'global'" +
		" OR " + m + ".visibility = 'shared' AND " + m + ".project = " + project +
		" OR " + m + ".visibility = 'group' AND " + m + ".policy_group <> '' AND " + m + ".policy_group = (" + within + "::text[])[1])" +
		" AND " + ofUser(m+".scope", within) + ")"
}

// ofUser renders that a scope is one that the principal may reach. An agent reaches all of them; who acts for
// a user is held to those that sees or changes lists.
func ofUser(scope, within string) string {
	return "(cardinality(" + within + "::text[]) = 1 OR " + scope + " = ANY((" + within + "::text[])[2:]))"
}

// sees is the principal's policy group, followed by the scopes that it may read where it acts for a user. It is one
// parameter, so that no statement can have the one without the other.
func sees(p schema.Principal) []string {
	if p.User == "" {
		return []string{p.PolicyGroup}
	}
	return append([]string{p.PolicyGroup}, p.ReadScopes()...)
}

// changes is sees for a statement that changes what it finds: a user's memories are the user's to change, and no
// others.
func changes(p schema.Principal) []string {
	if p.User == "" {
		return []string{p.PolicyGroup}
	}
	return []string{p.PolicyGroup, p.EffectiveScope()}
}

// userScope is the scope to which a principal that acts for a user is held, and empty for an agent.
func userScope(p schema.Principal) string {
	if p.User == "" {
		return ""
	}
	return p.EffectiveScope()
}

// narrowed renders what the asker asks for, as further conditions.
func (f Filter) narrowed(m string, p *params) string {
	q := ""
	if len(f.Types) > 0 {
		q += " AND " + m + ".type = ANY(" + p.add(f.Types) + ")"
	}
	if len(f.Categories) > 0 {
		q += " AND " + m + ".category = ANY(" + p.add(f.Categories) + ")"
	}
	if len(f.Tags) > 0 {
		q += " AND " + m + ".tags @> " + p.add(f.Tags)
	}
	if f.Who != "" {
		q += " AND lower(" + m + ".who) = lower(" + p.add(f.Who) + ")"
	}
	if f.Pinned != nil {
		q += " AND " + m + ".pinned = " + p.add(*f.Pinned)
	}
	if f.ImportanceMin > 0 {
		// Importance only fades: the stored value rules most memories out before their access is looked up.
		least := p.add(f.ImportanceMin)
		q += " AND " + m + ".importance >= " + least + " AND " + f.importanceNow(m, p) + " >= " + least
	}
	if f.Since != nil {
		q += " AND " + m + ".occurred_at >= " + p.add(f.Since.UTC())
	}
	if f.Until != nil {
		q += " AND " + m + ".occurred_at < " + p.add(f.Until.UTC())
	}
	// As memory.Holds has it: what is unknown does not exclude.
	if !f.At.IsZero() {
		at := p.add(f.At.UTC())
		q += " AND ((" + m + ".valid_from IS NULL OR " + m + ".valid_from <= " + at + ") AND (" + m + ".valid_until IS NULL OR " + m + ".valid_until > " + at + ")"
		for _, w := range f.During {
			q += " OR (" + m + ".valid_from IS NULL OR " + m + ".valid_from < " + p.add(w.End.UTC()) + ") AND (" + m + ".valid_until IS NULL OR " + m + ".valid_until > " + p.add(w.Start.UTC()) + ")"
		}
		q += ")"
	}
	if len(f.Context) > 0 {
		q += " AND (" + m + ".conditions IS NULL OR mneme_applies(" + m + ".conditions, " + p.add(string(f.Context)) + "::jsonb))"
	}
	return q
}

// mayLookAt is sharedWith for a single memory: an owner may look at what was superseded. $3 is the agent, $4
// the project, $5 what sees returns or, in a statement that changes what it finds, what changes returns.
var mayLookAt = visibleAs("m")

// visibleAs is mayLookAt for the memory or batch of another alias.
func visibleAs(alias string) string { return sharedWith(alias, "$3", "$4", "$5") }
