package memories

import (
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"

	"github.com/mneme/mneme/api"
	"github.com/mneme/mneme/schema"
)

// A build prints its error at the end.
func TestTheEndOfALongErrorIsRead(t *testing.T) {
	t.Parallel()
	log := strings.Repeat("compiling one more file\n", 100_000)
	for _, c := range []struct {
		text string
		most int
		want string
		cut  bool
	}{
		{"", 10, "", false},
		{"0123456789", 10, "0123456789", false},
		{"01234567890", 10, "1234567890", true},
		{"first\n012345678\n", 10, "012345678\n", true},
		{"first\n0123456\n", 10, "0123456\n", true},
		{"é\xff" + strings.Repeat("x", 9) + "\n", 10, "xxxxxxxxx\n", true},
		{log + "cannot open x\n", 30, "cannot open x\n", true},
		{log + strings.Repeat("x", 50), 30, strings.Repeat("x", 30), true},
	} {
		for _, in := range []string{"at once", "byte by byte"} {
			if in == "byte by byte" && len(c.text) > 1000 {
				continue
			}
			reader := iotest.DataErrReader(strings.NewReader(c.text))
			if in == "byte by byte" {
				reader = iotest.OneByteReader(strings.NewReader(c.text))
			}
			got, cut, err := readEnd(reader, c.most)
			require.NoError(t, err)
			require.Equal(t, c.want, got, "%.20q %s", c.text, in)
			require.Equal(t, c.cut, cut, "%.20q %s", c.text, in)
		}
	}
	_, _, err := readEnd(iotest.ErrReader(iotest.ErrTimeout), 10)
	require.ErrorIs(t, err, iotest.ErrTimeout)
}

// A reporter is told if an outcome counts only in its own advice, and why.
func TestTextOfAHeldReport(t *testing.T) {
	t.Parallel()
	require.Empty(t, heldText(api.ReportResult{Status: schema.ReportCounted, CountsFor: schema.ReachAll}))
	for held, want := range map[schema.ReportHeld]string{
		schema.HeldOneSource: "another one", schema.HeldRepeated: "once"} {
		said := heldText(api.ReportResult{Status: schema.ReportCounted, CountsFor: schema.ReachOwn, Held: held})
		require.Contains(t, said, "your own advice")
		require.Contains(t, said, want)
	}
}
