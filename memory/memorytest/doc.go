// Package memorytest has values and generators that tests of the rules share.
package memorytest
