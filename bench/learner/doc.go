// Package learner is the memory of a simulated agent, behind an interface: either the rules of learning in this
// process, or a deployment. It also records what the agent does, as events of the ledger.
package learner
