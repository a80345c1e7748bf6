// Package lifecycle has the rules for changes of memories over time: reinforcement by use and feedback, the sweep of
// faded memories, retention windows, and the selection of memories to forget. The decay of salience is in package
// memory.
package lifecycle
