package search

import (
	"sync"
	"time"
)

// tenantCache holds a value for each tenant until a time. The zero value is ready.
type tenantCache[V any] struct {
	mu    sync.Mutex
	known map[string]cached[V]
}

type cached[V any] struct {
	value V
	until time.Time
}

// cachedTenants is the number of tenants of a cache. If more are added, it starts again.
const cachedTenants = 10_000

func (c *tenantCache[V]) get(tenant string, now time.Time) (V, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	found, ok := c.known[tenant]
	return found.value, ok && now.Before(found.until)
}

func (c *tenantCache[V]) put(tenant string, value V, until time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.known == nil || len(c.known) >= cachedTenants {
		c.known = map[string]cached[V]{}
	}
	c.known[tenant] = cached[V]{value, until}
}
