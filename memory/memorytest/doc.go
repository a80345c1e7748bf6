// Package memorytest has values and generators for tests of the rules.
package memorytest
