// Package trace reads from a session, as its events or as its episode, what can be learned from it: attempts at a
// problem or a task, each with the steps taken, the situation, the outcome and who vouches for it. Several attempts
// come from one session where a first fix did not help. It keeps a bounded part of every session, and judges nothing.
package trace
