// Command tools measures whether an agent that uses Mneme repairs a failure of a real tool at the first try when it has
// seen such a failure before. Each task is a temporary directory in which a command of go, gcc, make, git, python3, npm
// or sh fails for a real reason. The set blind also uses cargo, rustc, javac, openssl and sqlite3. An actor with a catalogue of repairs tries them in random order, or does what Mneme
// advises. Only the exit code of the command that failed says whether a repair helped. Nothing needs the network.
//
// The families of dev were used while developing; those of reported have other causes, other error texts and other
// names. The other sets were written one after the other, each before it was run: its first run measures the rules as
// they were then. Families whose tools are not on this machine are left out, and the output names them.
package main
