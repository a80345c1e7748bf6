// Package record has the commands of the ledger: append, read and erase events, and the context that an agent gets of
// them. Memories drawn from experience are in package memories.
package record
