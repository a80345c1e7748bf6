package session_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mneme/mneme/memory/learning/signature"
	"github.com/mneme/mneme/memory/learning/trace"
	"github.com/mneme/mneme/memory/session"
	"github.com/mneme/mneme/schema/ledger"
)

// The timeline keeps the line of a tool's output that gives the cause of a failure, so that the problem has the same
// signature when only the episode is left.
func TestTimelineKeepsCauseOfFailure(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ printed, cause, otherLines string }{
		"go": {"# example.com/app/cmd\ncmd/main.go:5:2: \"os\" imported and not used",
			`cmd/main.go:5:2: "os" imported and not used`, " ↵ path example.com/app/cmd"},
		"make": {"cc -c -o a.o a.c\nMakefile:4: *** missing separator.  Stop.",
			"Makefile:4: *** missing separator. Stop.", " ↵ path a.o ↵ path a.c"},
		"python": {"Traceback (most recent call last):\n  File \"/src/a.py\", line 1, in <module>\n    " +
			"import billing\n" +
			"ModuleNotFoundError: No module named 'billing'", "ModuleNotFoundError: No module named 'billing'",
			" ↵ frame /src/a.py"},
		"git": {"remote: error: refusing to update checked out branch: refs/heads/main\nTo ../depot\n",
			"remote: error: refusing to update checked out branch: refs/heads/main", " ↵ path ../depot"},
		"a secret in another line": {"error: no such host 'h'\nexport DB_PASSWORD=\"abc12345\"\nfor 'ana'",
			"error: no such host 'h'", ""},
		"one line": {"no", "no", ""},
	} {
		s := new(story).call("1", "sh", `{"cmd":"build"}`).failed("1", c.printed)
		s.call("2", "sh", `{"cmd":"fix"}`).returned("2", `"ok"`).call("3", "sh", `{"cmd":"build"}`).returned("3",
			`"ok"`)
		payload := s.episode(t, session.Finished).Payload
		var failed string
		for _, e := range payload.Timeline {
			if e.EventKind == ledger.KindToolFailed {
				failed = e.Summary
			}
		}
		require.Equal(t, "sh failed: "+c.cause+c.otherLines, failed, name)
		attempts := trace.OfEpisode(trace.Meta{Episode: "e"}, payload)
		require.NotEmpty(t, attempts, name)
		problem := attempts[len(attempts)-1].Problem
		require.True(t, signature.Same(signature.OfError(c.printed), problem), name)
		if !strings.Contains(name, "secret") {
			require.Equal(t, signature.OfError(c.printed).Other, problem.Other, name)
		}
	}
}

// If the error gives no cause, the timeline takes it from the output.
func TestTimelineTakesCauseFromOutput(t *testing.T) {
	t.Parallel()
	s := new(story).call("1", "sh", `{}`).
		add(ledger.KindToolFailed,
			`{"call_id":"1","error":"exit status 2","result":"x\nfatal: no such remote 'origin'\ny"}`)
	var failed string
	for _, e := range s.episode(t, session.Finished).Payload.Timeline {
		failed = e.Summary
	}
	require.Equal(t, "sh failed: fatal: no such remote 'origin'", failed)
}
