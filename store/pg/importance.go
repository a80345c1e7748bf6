package pg

import (
	"math"

	"github.com/mneme/mneme/memory"
)

// Bounds that keep importance in SQL away from numbers too small for a double, which are an error in Postgres
// and 0 in Go.
const (
	negligibleImportance = "1e-100"
	deepestDecay         = 300 // the exponent, base e, after which importance does not fade further
)

// ImportanceNow renders memory.Importance of the alias, which has the columns id, importance, pinned and
// created_at. A memory that was never accessed fades from its creation on.
//
// The access is read by its primary key, once a memory: no plan depends on what is known of the table.
func (f Filter) ImportanceNow(m string, p *Params) string {
	tenant, rate := p.Add(f.Principal.Tenant), memory.DailyDecay(f.DailyDecay)
	access := `SELECT a.last_accessed_at FROM memory_access a WHERE a.tenant = ` + tenant + ` AND a.memory_id = ` + m +
		`.id`
	now := "now()"
	switch {
	case f.AsOf != nil:
		now = p.Add(f.AsOf.UTC()) + "::timestamptz"
		access += ` AND a.last_accessed_at <= ` + now
	case !f.Now.IsZero():
		now = p.Add(f.Now.UTC()) + "::timestamptz"
	}
	days := `extract(epoch FROM ` + now + ` - coalesce((` + access + `), ` + m + `.created_at))::float8 / 86400`
	left := `exp(-least(` + p.Add(-math.Log(rate)) + `::float8 * greatest(0, ` + days + `), ` + p.Add(deepestDecay) +
		`::float8))`
	return `(CASE WHEN ` + m + `.pinned THEN 1 WHEN ` + m + `.importance < ` + negligibleImportance + ` THEN 0 ELSE ` +
		m + `.importance * ` + left + ` END)`
}
