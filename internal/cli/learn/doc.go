// Package learn has the commands about learning: consolidate starts a run over a scope, learned shows procedures and
// plans with their outcomes, and plan draws a plan graph. The commands themselves write nothing.
package learn
