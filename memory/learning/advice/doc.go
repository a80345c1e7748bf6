// Package advice answers what to do in a situation: the known procedure or plan that fits best, filled in, with how
// sure that is, what is not known, and what to try otherwise. The report of how it went changes the outcomes of what
// was used, and of what was not.
package advice
