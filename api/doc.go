// Package api defines Mneme's interface for programs that use it through Temporal: the names of workflows, updates,
// queries, signals and search attributes, the functions that build workflow ids, the Nexus service, and the inputs and
// results of workflows. Requests and results of operations on memories are in package schema.
//
// Of Mneme's packages it imports only schema, and it does not import the Temporal SDK, so that importing it is cheap.
// Package client uses it to start workflows. A client in another language uses the same names and JSON.
package api
