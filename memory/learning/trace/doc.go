// Package trace extracts attempts at a problem or a task from a session's events or its episode. An attempt has its
// steps, situation, outcome and source. A session has several attempts if a first fix did not help. The package keeps
// a bounded part of each session. It does not evaluate the attempts.
package trace
