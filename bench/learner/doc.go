// Package learner is the memory of a simulated agent, behind an interface: by the rules of learning alone, in this
// process, or by a deployment. It also records what the agent does, as events of the ledger.
package learner
