package pg

import (
	"fmt"
	"math"

	"github.com/mneme/mneme/memory"
)

// ImportanceNow renders memory.Importance of the alias m, which needs the columns id, importance, pinned and
// created_at. A memory without access fades from its creation on.
//
// The access is read by its primary key, once for each memory, so that the plan does not depend on the table's
// statistics. Importance below 1e-100 counts as 0, and the exponent is at most 300: smaller numbers are an error in
// Postgres and 0 in Go.
func (f Filter) ImportanceNow(m string, to Arguments) string {
	args := to.named()
	args.set("f_tenant", f.Principal.Tenant)
	args.set("f_fading", -math.Log(memory.DailyDecay(f.DailyDecay))) // the exponent of one day, base e
	now, accessed := "now()", ""
	switch {
	case f.AsOf != nil:
		now, accessed = "@f_as_of::timestamptz", " AND a.last_accessed_at <= @f_as_of::timestamptz"
		args.set("f_as_of", f.AsOf.UTC())
	case !f.Now.IsZero():
		now = "@f_now::timestamptz"
		args.set("f_now", f.Now.UTC())
	}
	return to.take(fmt.Sprintf(importanceNow, m, now, accessed), args)
}

// importanceNow is the format of ImportanceNow: alias, time, and a condition on the access.
const importanceNow = `
	(CASE
		WHEN %[1]s.pinned THEN 1
		WHEN %[1]s.importance < 1e-100 THEN 0
		ELSE %[1]s.importance * exp(-least(300, @f_fading::float8 * greatest(0,
			extract(epoch FROM %[2]s - coalesce((
				SELECT a.last_accessed_at
				FROM memory_access a
				WHERE a.tenant = @f_tenant AND a.memory_id = %[1]s.id%[3]s), %[1]s.created_at))::float8 / 86400)))
	END)`
