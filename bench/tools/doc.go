// Command tools measures whether an agent that uses Mneme repairs a failure of a real tool at the first try when it has
// seen such a failure before. Each task is one failure of package families. An actor with a catalogue of repairs tries
// them in random order, or does what Mneme advises. Only the exit code of the command that failed says whether a repair
// helped. Nothing needs the network. Families whose tools are not on this machine are left out, and the output names
// them.
package main
