package session_test

import (
	"os"
	"testing"

	"github.com/mneme/mneme/internal/testkit/testflag"
)

// TestMain runs fewer cases of each property than other rules get: here a case is a session of up to thousands of
// events. The flag -rapid.checks overrides the number.
func TestMain(m *testing.M) {
	testflag.Default("rapid.checks", "25")
	os.Exit(m.Run())
}
