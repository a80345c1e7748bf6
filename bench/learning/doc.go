// Command learning measures whether an agent that uses Mneme does the second occurrence of a problem better than the
// first. A simulated agent faces a stream of tasks from problem families whose right procedure depends on the context,
// changes midway for some, and fails at random. What it does without memory, with raw episodes, with Mneme, and with
// perfect knowledge, all within the same number of steps a task, is printed as tables and written as curves.
//
// There are two sets of families, with other errors and other commands: one to develop with, and one to report.
package main
