// Package learner has the interface of a simulated agent's memory. A memory is either the rules of learning in this
// process, or a deployment. The package also records the agent's actions as events of the ledger.
package learner
