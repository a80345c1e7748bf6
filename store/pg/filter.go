package pg

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/mneme/mneme/memory"
	"github.com/mneme/mneme/memory/policy"
	"github.com/mneme/mneme/memory/sensitive"
	"github.com/mneme/mneme/memory/timeexpr"
	"github.com/mneme/mneme/schema"
)

// Filter is the shared filter: the memories that a principal may see, narrowed by the conditions of a request.
// Searching, authorising, hydrating and listing all use it, so that the same boundary applies everywhere.
type Filter struct {
	Principal schema.Principal
	Scopes    []string // readable in addition to the principal's own: granted by a clearance
	// for a principal that acts for a user: only the user's memories, without those that belong to no scope
	OwnScope       bool
	ReadPolicy     schema.ReadPolicy // empty means isolated
	Types          []schema.MemoryType
	Categories     []schema.Category
	Tags           []string // a memory must have all of them
	Who            string
	Pinned         *bool
	ImportanceMin  float64 // compared with the faded importance
	Since, Until   *time.Time
	MaxSensitivity schema.Sensitivity // empty means medium

	// At is the time that the question is about (validity). Timeboxed memories that are not valid then are
	// excluded. The zero time ignores validity windows.
	At time.Time
	// During are times that the question names: memories valid at some time in one of them are admitted as well.
	// Without At they have no effect.
	During []timeexpr.TimeWindow
	// Context is a JSON object that describes the situation. Conditional memories whose conditions contradict it
	// are excluded. A key that only one side has does not count. Values may be written in other ways: "Linux" or
	// "go1.26" (memory.ComparedContext).
	Context json.RawMessage
	// Superseded admits superseded memories in addition to live ones. It is for reading by id, because search
	// indexes do not have them.
	Superseded bool
	// Now is the time for which importance is computed; zero means the database's clock.
	Now time.Time
	// DailyDecay is the share of its importance that a memory keeps each day; 0 means memory.DefaultDailyDecay.
	DailyDecay float64
	// AsOf admits what was stored at that time (record time); nil means now. Only listings support it: a search
	// would need every past text in the index.
	AsOf *time.Time
}

// FilterOf returns the filter of a recall request within a clearance. It is about now and the times that the query
// names, unless the request names another time.
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

// plainJSON encodes JSON again, without parts that Go accepts and Postgres rejects, such as half a surrogate pair.
func plainJSON(data json.RawMessage) json.RawMessage {
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.UseNumber() // a number of twenty digits stays exact
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

// Where renders the filter as conditions on the alias of memories, memory_search or memory_text. The names of the
// arguments begin with f_.
func (f Filter) Where(m string, to Arguments) string {
	return f.State(m) + " AND " + f.Visible(m, to) + f.Narrowed(m, to)
}

// State renders the condition on a memory's state.
func (f Filter) State(m string) string {
	if !f.Superseded {
		return m + ".live"
	}
	return fmt.Sprintf(
		"(%[1]s.live OR %[1]s.status = 'superseded' AND %[1]s.deleted_at IS NULL AND %[1]s.archived_at IS NULL)", m)
}

// ClearedSensitivities lists the sensitivities that a read of single memories may return: those of the clearance,
// or without one up to sensitive.DefaultLimit.
func ClearedSensitivities(c []policy.Clearance) []schema.Sensitivity {
	if len(c) == 0 {
		return SensitivitiesUpTo("")
	}
	return SensitivitiesUpTo(c[0].Limit)
}

// WasLive computes the generated column live for versions, which have no generated columns.
const WasLive = `m.deleted_at IS NULL AND m.archived_at IS NULL AND m.status IN ('active', 'contested')`

// Visible renders the condition that the principal may see a memory at all, whatever the request.
//
// Isolated admits the agent's own memories. Shared adds memories shared in its project, global ones and, if the
// principal has a policy group, those of the group. Group is Shared for a principal that must have a group
// (validation of requests checks this).
func (f Filter) Visible(m string, to Arguments) string {
	c := conditions{args: to.named()}
	f.reachable(&c)
	c.add("{m}.sensitivity = ANY(@f_sensitivities)", "f_sensitivities", SensitivitiesUpTo(f.MaxSensitivity))
	return c.render(m, to)
}

// SensitivitiesUpTo lists the sensitivities that a limit admits.
func SensitivitiesUpTo(limit schema.Sensitivity) []schema.Sensitivity {
	return cmp.Or(limit, sensitive.DefaultLimit).AtMost()
}

// Reachable renders the condition of Visible without sensitivity.
func (f Filter) Reachable(m string, to Arguments) string {
	c := conditions{args: to.named()}
	f.reachable(&c)
	return c.render(m, to)
}

func (f Filter) reachable(c *conditions) {
	pr := f.Principal
	c.add("{m}.tenant = @f_tenant", "f_tenant", pr.Tenant)
	switch f.ReadPolicy {
	case schema.ReadShared, schema.ReadGroup:
		c.add(SharedWith("{m}", "@f_agent", "@f_project", "@f_group"), "f_agent", pr.Agent)
		c.args.set("f_project", pr.Project)
		c.args.set("f_group", []string{pr.PolicyGroup})
	default:
		c.add("{m}.agent_id = @f_agent", "f_agent", pr.Agent)
	}
	if pr.Project != "" {
		c.add("{m}.project = @f_project", "f_project", pr.Project)
	}
	// Without an explicit scope, scoped memories are excluded.
	if scopes := f.InScopes(); len(scopes) > 1 {
		c.add("{m}.scope = ANY(@f_scopes)", "f_scopes", scopes)
	} else {
		c.add("{m}.scope = @f_scope", "f_scope", pr.EffectiveScope())
	}
}

// conditions are joined with AND. The memory is {m} until its alias is known.
type conditions struct {
	text strings.Builder
	args Args
}

// add adds a condition with an argument.
func (c *conditions) add(condition, name string, value any) {
	if c.text.Len() > 0 {
		c.text.WriteString(" AND ")
	}
	c.text.WriteString(condition)
	c.args.set(name, value)
}

// render returns the conditions for an alias, and adds their arguments to a statement.
func (c *conditions) render(m string, to Arguments) string {
	return to.take(strings.ReplaceAll(c.text.String(), "{m}", m), c.args)
}

// InScopes returns the scopes that the filter admits.
func (f Filter) InScopes() []string {
	if f.OwnScope {
		return []string{f.Principal.EffectiveScope()}
	}
	return append(f.Principal.ReadScopes(), f.Scopes...)
}

// SharedWith renders the condition that a memory is an agent's own or shared with it, whatever its state and
// sensitivity: memory.MayLook, or memory.MayChange. agent, project and within are the statement's placeholders;
// within is the result of ReadGrants or ChangeGrants. It is used wherever memories of others are read, changed or
// forgotten by id.
func SharedWith(m, agent, project, within string) string {
	return fmt.Sprintf(sharedWith, m, agent, project, within, OfUser(m+".scope", within))
}

// sharedWith is the format of SharedWith: alias, agent, project, grants, and a condition on the scope.
const sharedWith = `((%[1]s.agent_id = %[2]s
	OR %[1]s.visibility = 'global'
	OR %[1]s.visibility = 'shared' AND %[1]s.project = %[3]s
	OR %[1]s.visibility = 'group' AND %[1]s.policy_group <> '' AND %[1]s.policy_group = (%[4]s::text[])[1])
	AND %[5]s)`

// SourceShown renders the condition that a source of memory_provenance, given by its alias, names no memory that exists
// and that may does not admit. A memory that was purged hides nothing.
func SourceShown(source string, may func(alias string) string) string {
	const named = `'^memory:[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$'`
	ref := source + ".ref"
	// Each OFFSET 0 keeps a part to itself, so that one row is looked up by its key. Row-level security keeps an
	// expression that may fail out of the condition of an index, and with false statistics the planner may prefer an
	// index for may. NOT EXISTS may become a join with all memories.
	return `(
			SELECT src.id
			FROM (
				SELECT CASE WHEN ` + ref + ` ~ ` + named + ` THEN substr(` + ref + `, 8)::uuid END AS id
				OFFSET 0
			) named
			CROSS JOIN LATERAL (
				SELECT * FROM memories WHERE tenant = ` + source + `.tenant AND id = named.id OFFSET 0
			) src
			WHERE NOT ` + may("src") + `) IS NULL`
}

// OfUser renders the condition that the principal may reach a scope. An agent reaches all scopes. A principal that
// acts for a user reaches those in ReadGrants or ChangeGrants.
func OfUser(scope, within string) string {
	return "(cardinality(" + within + "::text[]) = 1 OR " + scope + " = ANY((" + within + "::text[])[2:]))"
}

// ReadGrants returns the principal's policy group, followed by the scopes that it may read if it acts for a user.
// They are one parameter, so that no statement can use one without the other.
func ReadGrants(p schema.Principal) []string {
	if p.User == "" {
		return []string{p.PolicyGroup}
	}
	return append([]string{p.PolicyGroup}, p.ReadScopes()...)
}

// ChangeGrants is ReadGrants for a statement that changes memories: a user may change only the user's own.
func ChangeGrants(p schema.Principal) []string {
	if p.User == "" {
		return []string{p.PolicyGroup}
	}
	return []string{p.PolicyGroup, p.EffectiveScope()}
}

// UserScope returns the scope of a principal that acts for a user; it is empty for an agent.
func UserScope(p schema.Principal) string {
	if p.User == "" {
		return ""
	}
	return p.EffectiveScope()
}

// Narrowed renders the request's conditions: empty, or beginning with AND.
func (f Filter) Narrowed(m string, to Arguments) string {
	c := conditions{args: to.named()}
	if len(f.Types) > 0 {
		c.add("{m}.type = ANY(@f_types)", "f_types", f.Types)
	}
	if len(f.Categories) > 0 {
		c.add("{m}.category = ANY(@f_categories)", "f_categories", f.Categories)
	}
	if len(f.Tags) > 0 {
		c.add("{m}.tags @> @f_tags", "f_tags", f.Tags)
	}
	if f.Who != "" {
		c.add("lower({m}.who) = lower(@f_who)", "f_who", f.Who)
	}
	if f.Pinned != nil {
		c.add("{m}.pinned = @f_pinned", "f_pinned", *f.Pinned)
	}
	if f.ImportanceMin > 0 {
		// Importance only fades, so the stored value excludes most memories before their access is read.
		c.add("{m}.importance >= @f_importance AND "+f.ImportanceNow("{m}", c.args)+" >= @f_importance",
			"f_importance", f.ImportanceMin)
	}
	if f.Since != nil {
		c.add("{m}.occurred_at >= @f_since", "f_since", f.Since.UTC())
	}
	if f.Until != nil {
		c.add("{m}.occurred_at < @f_until", "f_until", f.Until.UTC())
	}
	if !f.At.IsZero() {
		f.holds(&c)
	}
	if len(f.Context) > 0 {
		text := "mneme_applies({m}.conditions, @f_context::jsonb)"
		if compared := memory.ComparedContext(f.Context); compared != nil {
			text += " OR mneme_applies({m}.conditions, @f_compared::jsonb)"
			c.args.set("f_compared", string(compared))
		}
		c.add("({m}.conditions IS NULL OR "+text+")", "f_context", string(f.Context))
	}
	if c.text.Len() == 0 {
		return ""
	}
	return " AND " + c.render(m, to)
}

// holds adds the condition of memory.Holds at the time of the filter or during one of its times. Unknown bounds
// exclude nothing.
func (f Filter) holds(c *conditions) {
	text := "({m}.valid_from IS NULL OR {m}.valid_from <= @f_at)" +
		" AND ({m}.valid_until IS NULL OR {m}.valid_until > @f_at)"
	for i, w := range f.During {
		start, end := fmt.Sprint("f_start_", i), fmt.Sprint("f_end_", i)
		text += " OR ({m}.valid_from IS NULL OR {m}.valid_from < @" + end + ")" +
			" AND ({m}.valid_until IS NULL OR {m}.valid_until > @" + start + ")"
		c.args.set(start, w.Start.UTC())
		c.args.set(end, w.End.UTC())
	}
	c.add("("+text+")", "f_at", f.At.UTC())
}
