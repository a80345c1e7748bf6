package store

import (
	"time"

	"github.com/mneme/mneme/schema"
)

// Filter is the shared filter: what the asker may see, narrowed by what it asks for. Collecting,
// authorising, hydrating and listing all use this one, so that a boundary cannot hold in one place
// and leak in another.
type Filter struct {
	Principal      schema.Principal
	ReadPolicy     schema.ReadPolicy // empty means isolated
	Types          []schema.MemoryType
	Categories     []schema.Category
	Tags           []string // all of them
	Who            string
	Pinned         *bool
	ImportanceMin  float64
	Since, Until   *time.Time
	MaxSensitivity schema.Sensitivity // empty means medium
	At             time.Time          // timeboxed memories hold at this time
}

// FilterOf returns the filter that a recall request asks for.
func FilterOf(r schema.RecallRequest, at time.Time) Filter {
	return Filter{Principal: r.Principal, ReadPolicy: r.ReadPolicy, Types: r.Types, Categories: r.Categories, Tags: r.Tags, Who: r.Who,
		Pinned: r.Pinned, ImportanceMin: r.ImportanceMin, Since: r.Since, Until: r.Until, MaxSensitivity: r.MaxSensitivity, At: at}
}

// where renders the filter as conditions on the alias, which is memories or memory_search.
//
// Isolated reads the agent's own memories. Shared adds what is shared in its project, what is
// global, and, when the principal names a policy group, that group's. Group is shared for a principal
// that must name its group (requests are validated for that).
func (f Filter) where(m string, p *params) string {
	pr := f.Principal
	own := m + ".agent_id = " + p.add(pr.Agent)
	q := m + ".tenant = " + p.add(pr.Tenant) + " AND " + m + ".live"
	switch f.ReadPolicy {
	case schema.ReadShared, schema.ReadGroup:
		q += " AND (" + own +
			" OR " + m + ".visibility = 'global'" +
			" OR (" + m + ".visibility = 'shared' AND " + m + ".project = " + p.add(pr.Project) + ")" +
			" OR (" + m + ".visibility = 'group' AND " + m + ".policy_group <> '' AND " + m + ".policy_group = " + p.add(pr.PolicyGroup) + "))"
	default:
		q += " AND " + own
	}
	if pr.Project != "" {
		q += " AND " + m + ".project = " + p.add(pr.Project)
	}
	// Without an explicit scope, scoped memories stay out.
	q += " AND " + m + ".scope = " + p.add(pr.Scope)
	limit := f.MaxSensitivity
	if limit == "" {
		limit = schema.SensitivityMedium
	}
	q += " AND " + m + ".sensitivity = ANY(" + p.add(limit.AtMost()) + ")"
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
		q += " AND " + m + ".importance >= " + p.add(f.ImportanceMin)
	}
	if f.Since != nil {
		q += " AND " + m + ".occurred_at >= " + p.add(f.Since.UTC())
	}
	if f.Until != nil {
		q += " AND " + m + ".occurred_at < " + p.add(f.Until.UTC())
	}
	if !f.At.IsZero() {
		at := p.add(f.At.UTC())
		q += " AND (" + m + ".validity <> 'timeboxed' OR (coalesce(" + m + ".valid_from, '-infinity') <= " + at +
			" AND coalesce(" + m + ".valid_until, 'infinity') > " + at + "))"
	}
	return q
}
