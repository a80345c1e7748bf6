// Package ledger holds the shapes of the event ledger (document 001): an event with its payload by kind, requests to
// append and to read, and their validation. How events are seen by an agent is decided in package memory/views.
package ledger
