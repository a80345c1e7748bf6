# shellcheck shell=bash

# meeting PACKAGE: prints the names of its tests that start goroutines. They are found by searching the source, so that
# no list has to be maintained. Tests that kill whole processes (kill_test.go, restart_test.go) are excluded, because
# they are slow and do not test for races.
meeting() {
	awk '/^func / { name = ""; if ($0 ~ /^func Test[A-Za-z0-9_]+\(t \*testing\.T\)/) { split($2, part, "("); name = part[1] } }
		FILENAME ~ /(kill|restart)_test\.go$/ { next }
		name != "" && /wg\.Go\(|go func\(|inParallel\(|atOnce\(/ && !seen[name]++ { print name }' "$1"/*_test.go
}
