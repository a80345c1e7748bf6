package config

import (
	"os"
	"runtime/debug"
)

// gcPercent is how much a process that recalls may allocate until garbage is collected, in percent of what it holds. A
// recall allocates about a megabyte and keeps next to nothing: with Go's 100, collecting takes a seventh of its
// processor time. GOMEMLIMIT bounds it as before.
const gcPercent = 400

// CollectGarbageLess sets the pace of the garbage collector of a long-running process, unless GOGC does.
func CollectGarbageLess() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}
}
