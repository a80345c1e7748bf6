package config

import (
	"os"
	"runtime/debug"
)

// gcPercent is how much a process that recalls may allocate before a garbage collection, in percent of its live heap.
// A recall allocates about a megabyte and keeps almost nothing: with Go's default of 100, collection takes a seventh
// of its processor time. GOMEMLIMIT bounds it as before.
const gcPercent = 400

// CollectGarbageLess sets the pace of the garbage collector of a long-running process, unless GOGC does.
func CollectGarbageLess() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}
}
