# shellcheck shell=bash

# meeting PACKAGE: the names of its tests that start goroutines of their own, found by their text, so that no list of
# them grows old. Tests that kill whole processes (kill_test.go, restart_test.go) are slow, and about something else.
meeting() {
	awk '/^func / { name = ""; if ($0 ~ /^func Test[A-Za-z0-9_]+\(t \*testing\.T\)/) { split($2, part, "("); name = part[1] } }
		FILENAME ~ /(kill|restart)_test\.go$/ { next }
		name != "" && /wg\.Go\(|go func\(|inParallel\(|atOnce\(/ && !seen[name]++ { print name }' "$1"/*_test.go
}
