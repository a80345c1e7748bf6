package testkit

import "flag"

// DefaultFlag sets a flag of the test binary, such as test.parallel, unless the command line sets it. It is for
// TestMain.
func DefaultFlag(name, value string) {
	flag.Parse()
	given := false
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == name })
	if !given {
		_ = flag.Set(name, value)
	}
}
