package store_test

import (
	"os"
	"testing"

	"github.com/mneme/mneme/internal/testkit/testflag"
)

// TestMain runs fewer cases of each property than the rules in memory/ get: here a case is a dozen transactions. The
// flag -rapid.checks overrides the number.
func TestMain(m *testing.M) {
	testflag.Default("rapid.checks", "20")
	os.Exit(m.Run())
}
