package workflows_test

import (
	"os"
	"testing"

	"github.com/mneme/mneme/internal/testkit"
	"github.com/mneme/mneme/workflows"
)

// TestMain lets more tests wait at the same time than there are processors: most of their time they
// wait for Temporal to notice that something is gone.
func TestMain(m *testing.M) {
	testkit.DefaultFlag("test.parallel", "12")
	workflows.ShortSessions(500)
	os.Exit(m.Run())
}
