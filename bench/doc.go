// Command bench measures Mneme and baselines in the same run and prints the figures as tables.
//
// It uses the stack that `make up` started, in separate schemas that it drops at the end, and a worker inside this
// process on a separate task queue.
//
// main.go has the flags and the list of measurements (parts). Each measurement is a method of bench, in the file with
// its name or that of its group: revise.go has revise and forget, sweep.go has decay and retention. corpus.go and
// natural.go make the texts, inprocess.go runs the pipeline without Temporal, and report.go prints tables. The
// questions of the measurement changes are in package changes.
package main
