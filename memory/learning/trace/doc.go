// Package trace reads attempts at a problem or a task from a session's events or its episode: each with the steps
// taken, the situation, the outcome and who reported it. A session has several attempts if a first fix did not help.
// The package keeps a bounded part of every session, and judges nothing.
package trace
