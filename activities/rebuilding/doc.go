// Package rebuilding has the activity of a rebuild: a page of what is derived from the ledger is compared with it, and
// made again where it differs. Ids and counts go in and come out, never content. It does not decide what is derived, or
// how: packages store/sessions and store/events do.
package rebuilding
