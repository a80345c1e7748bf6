// Package sessions holds the activities of sessions: they open a session, append events to the ledger and take them in,
// close the session into an episode, and append events for workflows of others. What a session keeps is stored by
// package store/sessions; the order of the steps is that of the workflow Session. Errors never carry what events say.
package sessions
