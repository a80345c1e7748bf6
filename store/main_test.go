package store_test

import (
	"os"
	"testing"

	"github.com/mneme/mneme/internal/testkit"
)

// TestMain draws fewer cases of each property than the rules in memory/ are given: here a case is a dozen
// transactions, and every run of the suite draws others. -rapid.checks asks for as many as it says.
func TestMain(m *testing.M) {
	testkit.DefaultFlag("rapid.checks", "40")
	os.Exit(m.Run())
}
