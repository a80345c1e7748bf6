// Command learning measures whether an agent that uses Mneme handles the second occurrence of a problem better than the
// first. A simulated agent faces a stream of tasks from problem families. The right procedure of a family depends on
// the context, changes midway in some families, and fails at random. The command prints tables and writes curves of the
// results without memory, with raw episodes, with Mneme, and with perfect knowledge, all with the same number of steps
// for each task.
//
// There are two sets of families, with other errors and other commands: one to develop with, and one to report.
package main
