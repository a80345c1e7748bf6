// Package place has the temporary directory of a task, and the programs of this machine that run in it. It can be
// copied and put back, so that a repair that did not help can be undone.
package place
