// Package learn has the commands about learning: consolidate starts a run over a scope, learned shows what was learned
// and how it has worked, and plan draws a plan graph. They change nothing themselves.
package learn
