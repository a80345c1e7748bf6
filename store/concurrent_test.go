package store_test

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/require"

	"github.com/mneme/mneme/internal/testkit"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/store/pg"
)

// TestConcurrentOperations lets eight callers, of two agents, run every kind of operation on a few memories and
// claims at the same time. No operation fails, no invariant is violated, and each operation delivered again returns
// its first result and changes nothing.
//
// The operations of the callers follow from the seed, which a failure shows and MNEME_TEST_SEED sets; their order
// does not.
func TestConcurrentOperations(t *testing.T) {
	t.Parallel()
	seed := rand.Uint64()
	if s := os.Getenv("MNEME_TEST_SEED"); s != "" {
		var err error
		seed, err = strconv.ParseUint(s, 10, 64)
		require.NoError(t, err)
	}
	t.Logf("MNEME_TEST_SEED=%d", seed)
	a := newArena(t)
	const callers, steps = 8, 10
	var wg sync.WaitGroup
	failures := make(chan error, callers)
	begin := make(chan struct{})
	for i := range callers {
		c := &caller{arena: a, Rand: rand.New(rand.NewPCG(seed, uint64(i))), p: a.agents[i%len(a.agents)]}
		wg.Go(func() {
			<-begin
			for step := range steps {
				if what, err := c.step(); err != nil {
					var refused *pgconn.PgError
					if errors.As(err, &refused) {
						err = fmt.Errorf("%w: %s", err, refused.Detail)
					}
					failures <- fmt.Errorf("caller %d, step %d, %s: %w", i, step, what, err)
					return
				}
			}
		})
	}
	close(begin)
	wg.Wait()
	close(failures)
	for err := range failures {
		require.NoError(t, err)
	}
	testkit.CheckInvariants(t, a.owner)

	before := a.snapshot()
	for _, d := range a.delivered {
		again, err := d.deliver()
		require.NoError(t, err, d.what)
		if d.result != nil {
			require.Equal(t, d.result, again, d.what)
		}
	}
	require.Equal(t, before, a.snapshot())
	a.requireRoundTrip()
}

// arena is the state that the callers share.
type arena struct {
	*world
	agents  []schema.Principal
	clock   atomic.Int64
	working map[string][]string // record ids that are put repeatedly, by agent
	grown   map[string][]string

	mu        sync.Mutex
	ids       []uuid.UUID // of memories in any state
	delivered []delivery
}

// delivery is an operation that was carried out and can be delivered a second time.
type delivery struct {
	what    string
	deliver func() (any, error)
	result  any // nil if a second delivery answers that there is nothing to do
}

func newArena(t *testing.T) *arena {
	w := newWorld(t)
	a := &arena{world: w, working: map[string][]string{}, grown: map[string][]string{}}
	for _, agent := range []string{"a", "b"} {
		a.agents = append(a.agents, schema.Principal{Tenant: w.p.Tenant, Agent: agent, Project: "p"})
		a.working[agent], a.grown[agent] = []string{uuid.NewString(), uuid.NewString()}, []string{uuid.NewString()}
	}
	w.p = a.agents[0]
	for i, vis := range []schema.Visibility{schema.VisibilityPrivate, schema.VisibilityShared,
		schema.VisibilityShared} {
		w.vis = vis
		a.ids = append(a.ids, w.memory(notes[i]), w.created(claims(people[i%len(people)], places[i], "")))
	}
	return a
}

// There are few words, so that callers state the same facts.
var (
	people  = []string{"Ana", "Bob"}
	places  = []string{"Lisbon", "Porto", "Rome"}
	grounds = []string{`{"mode":"global"}`, `{"mode":"global"}`, `{"mode":"conditional","conditions":{"k":1}}`,
		`{"mode":"conditional","conditions":{"k":2}}`,
		`{"mode":"timeboxed","start":"2026-01-01T00:00:00Z","end":"2026-03-01T00:00:00Z"}`,
		`{"mode":"timeboxed","start":"2026-02-01T00:00:00Z"}`}
	notes = []string{"The office has a green door.", "The kettle is never empty.", "The meeting is on Monday.",
		"The key is under the mat."}
)

// tick advances the clock with every operation. The order of times is not the order in which locks are taken.
func (a *arena) tick() time.Time { return a.world.now.Add(time.Duration(a.clock.Add(1)) * time.Second) }

// addIDs adds the ids of memories to a.ids.
func (a *arena) addIDs(ids ...string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, s := range ids {
		if id, err := uuid.Parse(s); err == nil && !slices.Contains(a.ids, id) {
			a.ids = append(a.ids, id)
		}
	}
}

func (a *arena) keepDelivery(d delivery) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.delivered = append(a.delivered, d)
}

// caller is one of the concurrent callers.
type caller struct {
	*arena
	*rand.Rand
	p schema.Principal
}

func one[T any](c *caller, of []T) T { return of[c.IntN(len(of))] }

// chance is true n times in a hundred.
func (c *caller) chance(n int) bool { return c.IntN(100) < n }

func (c *caller) operation() schema.OperationRef {
	return schema.OperationRef{Tenant: c.p.Tenant, ID: uuid.NewString(), WorkflowID: "wf"}
}

func (c *caller) asks(reason string) schema.Operation {
	return schema.Operation{Principal: c.p, Reason: reason}
}

// pick chooses memories and prefers later ones.
func (c *caller) pick(n int) []uuid.UUID {
	c.mu.Lock()
	defer c.mu.Unlock()
	latest := c.ids[max(0, len(c.ids)-12):]
	var out []uuid.UUID
	for range n {
		if id := one(c, latest); !slices.Contains(out, id) {
			out = append(out, id)
		}
	}
	return out
}

// pickLive chooses a memory that is live and visible to the caller. It returns the zero record if there is none.
func (c *caller) pickLive() (schema.MemoryRecord, error) {
	known, err := c.List(ctx, pg.Filter{Principal: c.p}, pg.Page{})
	if err != nil || len(known) == 0 {
		return schema.MemoryRecord{}, err
	}
	return one(c, known), nil
}

// version returns a version that the caller saw, which is sometimes not the current one.
func (c *caller) version(id uuid.UUID) (int, error) {
	m, err := c.Get(ctx, c.p, id)
	if errors.Is(err, pg.ErrNotFound) {
		return 1, nil
	}
	if c.chance(10) {
		m.Version++
	}
	return m.Version, err
}

// carry delivers an operation, sometimes twice concurrently, and keeps it for a repeated delivery.
func carry[R any](c *caller, what string, fn func() (R, error)) (R, error) {
	result, err := fn, error(nil)
	first, second := *new(R), *new(R)
	if c.chance(20) {
		var wg sync.WaitGroup
		var other error
		wg.Go(func() { second, other = result() })
		first, err = result()
		wg.Wait()
		if err = cmp.Or(err, other); err == nil && !sameJSON(first, second) {
			err = fmt.Errorf("two deliveries, two results: %+v and %+v", first, second)
		}
	} else {
		first, err = result()
	}
	if err == nil {
		c.keepDelivery(delivery{what: what, result: first, deliver: func() (any, error) { return fn() }})
	}
	return first, err
}

func sameJSON(a, b any) bool {
	x, errA := json.Marshal(a)
	y, errB := json.Marshal(b)
	return errA == nil && errB == nil && string(x) == string(y)
}
