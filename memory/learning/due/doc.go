// Package due decides when a scope is consolidated without being asked: when it has enough new evidence, followed by a
// quiet time. It gets the evidence from package store/learning. The workflows in workflows/learn wait and start the
// consolidation.
package due
