// Package memorytest has values and generators for tests of the rules. It needs no database and no clock. Servers and
// worker processes for tests are in internal/testkit.
package memorytest
