// Package contexts builds what an agent reads before it acts (document 001, Context Builder): it reads the part of the
// ledger that the views need, recalls memories where that is asked for, and has package memory/views put them together.
// Without Temporal it is called directly, as package recall is.
package contexts
