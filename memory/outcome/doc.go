// Package outcome puts the outcomes of requests into words. It is the one place for these words: the command line, and
// whatever else answers people, takes them from here. It decides no outcome, and does not change the codes and fields
// for programs, which are in package schema.
package outcome
