// Package reflecting has the activities of a reflection: what an agent saw since its last one, and the belief that it
// draws from that. The belief is drafted, checked and appended in one activity, so that it is in no history. Only ids
// and numbers go in and come out.
package reflecting
