package telemetry

import (
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// How long a lap takes follows from how many tenants there are and what they take to read.
func TestALapOfManyTenants(t *testing.T) {
	t.Parallel()
	tenants := func(n, unread int, took time.Duration) map[string]reading {
		out := map[string]reading{}
		for i := range n {
			out["r"+strconv.Itoa(i)] = reading{took: took, tried: time.Now()}
		}
		for i := range unread {
			out["u"+strconv.Itoa(i)] = reading{}
		}
		return out
	}
	c := collector{Reading: Reading{Every: time.Minute}}
	for _, test := range []struct {
		n, unread int
		took      time.Duration
		want      time.Duration
	}{
		{0, 0, 0, time.Minute},
		{0, 500, 0, time.Minute}, // nothing is known yet
		{50, 0, 300 * time.Millisecond, time.Minute},
		{100, 0, 300 * time.Millisecond, time.Minute},
		{101, 0, 300 * time.Millisecond, 2 * time.Minute},
		{20_000, 0, 30 * time.Millisecond, 20 * time.Minute},
		{10, 19_990, 30 * time.Millisecond, 20 * time.Minute}, // one not read yet takes what the others take
		{1, 0, readDeadline, time.Minute},
	} {
		require.Equal(t, test.want, lap(tenants(test.n, test.unread, test.took), c.Every, c.budget()), "%+v", test)
	}
}
