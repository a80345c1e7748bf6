package store_test

import (
	"flag"
	"os"
	"testing"
)

// TestMain draws fewer cases of each property than the rules in memory/ are given: here a case is a dozen
// transactions, and every run of the suite draws others. -rapid.checks asks for as many as it says.
func TestMain(m *testing.M) {
	flag.Parse()
	given := false
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == "rapid.checks" })
	if !given {
		_ = flag.Set("rapid.checks", "40")
	}
	os.Exit(m.Run())
}
