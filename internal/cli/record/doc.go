// Package record has the commands of the ledger: append, read and erase events, and the context that an agent gets
// from them. Memories are in package memories.
package record
