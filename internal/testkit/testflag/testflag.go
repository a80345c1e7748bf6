// Package testflag sets flags of test binaries. It imports nothing of ours, so that tests of pure packages can use it.
package testflag

import "flag"

// Default sets a flag of the test binary, such as test.parallel, unless the command line sets it. It is for TestMain.
func Default(name, value string) {
	flag.Parse()
	given := false
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == name })
	if !given {
		_ = flag.Set(name, value)
	}
}
