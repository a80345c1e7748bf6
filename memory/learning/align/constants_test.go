package align_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mneme/mneme/memory/learning/align"
	"github.com/mneme/mneme/memory/learning/signature"
	"github.com/mneme/mneme/memory/learning/trace"
)

// A value that was the same in two or three occurrences, in the error too, may have been so by chance. In more
// occurrences, and in a copy of one, it is a constant.
func TestEqualValueOfTheErrorIsAParameterWhileOccurrencesAreFew(t *testing.T) {
	attempt := func(n int, part string) trace.Attempt {
		a := fix(n, "linux", fmt.Sprintf("sed -i 's/%s/my_%[1]s/' list%d.x && builder tie", part, n))
		a.Episode = fmt.Sprint("episode", n)
		a.Problem = signature.OfError(fmt.Sprintf("list%d.x:3: error: the part '%s' is not tied", n, part))
		return a
	}
	attempts := []trace.Attempt{attempt(11, "tide"), attempt(22, "tide"), attempt(33, "tide")}
	for _, few := range [][]trace.Attempt{attempts[:2], attempts} {
		p, ok := align.Learn(few)
		require.True(t, ok)
		require.Equal(t, "sed -i 's/{name}/my_{name}/' {path} && builder tie", p.Steps[0].Args["cmd"].String())
		require.True(t, p.Replay(attempt(44, "moon")))
	}
	p, ok := align.Learn(append(attempts, attempt(44, "tide")))
	require.True(t, ok)
	require.Equal(t, "sed -i 's/tide/my_tide/' {path} && builder tie", p.Steps[0].Args["cmd"].String())
	again := attempts[0]
	p, ok = align.Learn([]trace.Attempt{attempts[0], again})
	require.True(t, ok)
	require.True(t, p.Steps[0].Args["cmd"].Constant(), "one occurrence")
}
