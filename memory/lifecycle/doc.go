// Package lifecycle holds what happens to memories over time: reinforcement by use and feedback, the sweep of what has
// faded, retention windows, and which memories a request to forget takes. How salience decays is in package memory.
package lifecycle
