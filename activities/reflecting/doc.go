// Package reflecting has the activities of a reflection: finding the events that an agent saw since its last one, and
// making a belief from them. The belief is drafted, checked and appended in one activity, so that its text is in no
// workflow history.
// Requests and results hold only ids and numbers.
package reflecting
