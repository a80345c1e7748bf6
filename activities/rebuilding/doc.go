// Package rebuilding has the activity of a rebuild: it compares a page of data derived from the ledger with the
// ledger, and rebuilds what differs. Requests and results hold ids and counts, never content. Packages store/sessions
// and store/events decide what is derived and how.
package rebuilding
