// Package heldout holds the texts of the held-out half, which authors of rules do not read. Package changes makes
// conversations of them.
package heldout
