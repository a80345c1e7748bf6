package workflows_test

import (
	"flag"
	"os"
	"testing"
)

// TestMain lets more tests wait at the same time than there are processors: most of their time they
// wait for Temporal to notice that something is gone.
func TestMain(m *testing.M) {
	flag.Parse()
	given := false
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == "test.parallel" })
	if !given {
		_ = flag.Set("test.parallel", "12")
	}
	os.Exit(m.Run())
}
