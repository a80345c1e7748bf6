// Package api is Mneme's contract for programs that talk to it through Temporal: the names of workflows, updates,
// queries, signals and search attributes, the builders of workflow ids, the Nexus service, and the inputs and results
// of workflows. Requests and results of operations on memories are in package schema.
//
// It imports nothing of Mneme but schema, and not the Temporal SDK, so that others can import it without the program.
// Package client starts workflows by it; a client in another language uses the same names and shapes as JSON.
package api
