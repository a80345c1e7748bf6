package search

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/store/pg"
)

// A tenant that keeps searching is busy. If more tenants search than may be busy at a time, none is, because each
// search would prepare its own statement.
func TestFewTenantsAreBusy(t *testing.T) {
	var b busyTenants
	for range busyFrom - 1 {
		require.False(t, b.search("one"))
	}
	require.True(t, b.search("one"))
	require.True(t, b.search("one"))
	for range 3 * busyFrom {
		for i := range busyMost + 1 {
			require.False(t, b.search(fmt.Sprint("tenant ", i)[:6]+fmt.Sprint(i)))
		}
	}
	require.False(t, b.search("one"), "others replaced it")
}

// Only a plain name is written into a statement.
func TestOnlyPlainTenantNamesAreInlined(t *testing.T) {
	for _, tenant := range []string{"", "o'neill", `a\b`, "a b", "@f_at", "ü", fmt.Sprintf("%065d", 0)} {
		var s Search
		for range 2 * busyFrom {
			args := pg.Args{}
			how, named, limit := s.nearestPlan(tenant, 7, args)
			require.Equal(t, pg.PlanForValues, how)
			require.Equal(t, "@tenant @limit", named+" "+limit)
			require.Equal(t, pg.Args{"tenant": tenant, "limit": 7}, args)
		}
	}
	var s Search
	for range busyFrom - 1 {
		s.nearestPlan("acme:eu-1", 7, pg.Args{})
	}
	args := pg.Args{}
	how, named, limit := s.nearestPlan("acme:eu-1", 7, args)
	require.Equal(t, pg.PlanOnce, how)
	require.Equal(t, "'acme:eu-1' 7", named+" "+limit)
	require.Empty(t, args)
}

// A search by words of a tenant that is not both large and busy names no tenant besides the filter's.
func TestOnlyLargeBusyTenantsAreLiterals(t *testing.T) {
	f := pg.Filter{Principal: schema.Principal{Tenant: "acme"}}
	small, large := Question{}, Question{}
	large.corpus.Docs = planOnceUpTo + 1
	require.Equal(t, pg.PlanOnce, small.planning())
	require.Equal(t, pg.PlanForValues, large.planning())
	require.Empty(t, small.ofTenant("m", f)+large.ofTenant("m", f))
	large.busy = true
	require.Equal(t, pg.PlanOnce, large.planning())
	require.Equal(t, " AND m.tenant = 'acme'", large.ofTenant("m", f))
}
