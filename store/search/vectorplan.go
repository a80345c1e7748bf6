package search

import (
	"cmp"
	"regexp"
	"strconv"
	"sync"

	"github.com/hashicorp/golang-lru/v2/simplelru"

	"github.com/mneme/mneme/store/pg"
)

// Bounds of busyTenants. Each connection keeps a plan of about 200 kB for each busy tenant.
const (
	busyMost = 8 // tenants
	busyFrom = 5 // searches after which a tenant is busy

	// Searches by words have three statements for each number of words.
	busyByWordsMost = 2
)

// plainTenant matches tenants that may be literals in a statement.
var plainTenant = regexp.MustCompile(`^[A-Za-z0-9_.:/-]{1,64}$`)

// busyTenants tracks the tenants that search most at present. The plan of a vector search depends on the tenant:
// the vectors of a small tenant are compared one by one, and those of a large tenant by their index. Planning takes
// longer than searching, so a busy tenant is a literal in its statements, which are planned once on each
// connection. Postgres plans them again when the statistics of the table change. The zero value is ready.
type busyTenants struct {
	most     int // tenants; 0: busyMost
	mu       sync.Mutex
	searches *simplelru.LRU[string, int]
}

// search counts a search and reports whether the tenant is busy. If more than most tenants search in turn, none
// is busy.
func (b *busyTenants) search(tenant string) bool {
	if !plainTenant.MatchString(tenant) {
		return false
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.searches == nil {
		b.searches, _ = simplelru.NewLRU[string, int](cmp.Or(b.most, busyMost), nil) // fails only for a size below 1
	}
	n, _ := b.searches.Get(tenant)
	n = min(n+1, busyFrom)
	b.searches.Add(tenant, n)
	return n == busyFrom
}

// nearestPlan returns how a search for a tenant's nearest vectors is planned, and how its statement refers to the
// tenant and the limit. A plan for any limit would expect far more rows than requested and sort all of them.
func (s *Search) nearestPlan(tenant string, limit int, args pg.Args) (how pg.Planning, tenantArg, limitArg string) {
	if s.busy.search(tenant) {
		return pg.PlanOnce, pg.QuoteLiteral(tenant), strconv.Itoa(limit)
	}
	args["tenant"], args["limit"] = tenant, limit
	return pg.PlanForValues, "@tenant", "@limit"
}
