// Package families has kinds of failures of real tools, and the repairs that an actor knows. Each task is a
// temporary directory in which a command of go, gcc, make, git, python3, npm, cargo, javac or another tool fails for a
// real reason.
//
// The families of dev were used while developing; those of reported have other causes, other error texts and other
// names. The other sets were written one after the other, each before it was run: its first run measures the rules as
// they were then.
package families
