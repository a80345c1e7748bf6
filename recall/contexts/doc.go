// Package contexts builds the context that an agent reads before it acts (document 001, Context Builder): it reads
// the part of the ledger that the views need, recalls memories if requested, and package memory/views puts them
// together. Programs without Temporal call it directly, like package recall.
package contexts
