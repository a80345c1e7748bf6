package workflows_test

import (
	"os"
	"testing"

	"github.com/mneme/mneme/internal/testkit/testflag"
	"github.com/mneme/mneme/workflows"
)

// TestMain allows more parallel tests than there are processors: most of the time they wait for Temporal to detect that
// a worker is gone.
func TestMain(m *testing.M) {
	testflag.Default("test.parallel", "8")
	workflows.ShortSessions(500)
	os.Exit(m.Run())
}
