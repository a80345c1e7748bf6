// Package learn has the commands about learning: consolidate starts a run over a scope, learned shows procedures and
// plans and how they have worked, and plan draws a plan graph. They change nothing themselves.
package learn
