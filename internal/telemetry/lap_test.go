package telemetry

import (
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// The duration of a lap depends on the number of tenants and on the time to read one.
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
		{0, 500, 0, time.Minute}, // no tenant has been read
		{50, 0, 300 * time.Millisecond, time.Minute},
		{100, 0, 300 * time.Millisecond, time.Minute},
		{101, 0, 300 * time.Millisecond, 2 * time.Minute},
		{20_000, 0, 30 * time.Millisecond, 20 * time.Minute},
		{10, 19_990, 30 * time.Millisecond, 20 * time.Minute}, // an unread tenant counts like the others
		{1, 0, readDeadline, time.Minute},
	} {
		require.Equal(t, test.want, lap(tenants(test.n, test.unread, test.took), c.Every, c.budget()), "%+v", test)
	}
}
