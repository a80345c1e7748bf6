// Package advice answers what to do in a situation: the best-fitting known procedure or plan with its parameters, how
// certain it is, what is not known, and what else to try. The report on the outcome changes the counts of the
// solution that was used and of the others.
package advice
