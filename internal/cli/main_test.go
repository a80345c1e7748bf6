package cli

import (
	"os"
	"testing"

	"github.com/mneme/mneme/internal/testkit"
)

// TestMain allows more parallel tests than there are processors: most of the time they wait for a workflow.
func TestMain(m *testing.M) {
	testkit.DefaultFlag("test.parallel", "8")
	os.Exit(m.Run())
}
