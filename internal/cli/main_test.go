package cli

import (
	"os"
	"testing"

	"github.com/mneme/mneme/internal/testkit/testflag"
)

// TestMain allows more parallel tests than there are processors: most of the time they wait for a workflow.
func TestMain(m *testing.M) {
	testflag.Default("test.parallel", "8")
	os.Exit(m.Run())
}
