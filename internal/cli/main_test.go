package cli

import (
	"os"
	"testing"

	"github.com/mneme/mneme/internal/testkit"
)

// TestMain lets more tests run at the same time than there are processors: most of their time they wait for
// a workflow.
func TestMain(m *testing.M) {
	testkit.DefaultFlag("test.parallel", "8")
	os.Exit(m.Run())
}
