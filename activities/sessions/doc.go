// Package sessions has the activities of sessions: they open a session, append events to the ledger and update the
// session, close the session into an episode, and append events for workflows of other programs. Package
// store/sessions stores sessions; the workflow Session sets the order of the steps. Errors never carry the content of
// events.
package sessions
