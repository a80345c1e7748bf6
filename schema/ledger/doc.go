// Package ledger defines the types of the event ledger (document 001): events with payloads by kind, requests to append
// and to read, and their validation. Package memory/views determines what an agent sees of the ledger.
package ledger
