// Package client starts Mneme's workflows from Go: it builds their ids and options, sends updates, and converts
// failures of runs to the errors of package schema. It also registers search attributes, the Nexus endpoint and
// schedules. It imports no activities, store or workflows. Its subpackage inprocess recalls without Temporal.
//
// Import it under a name that does not clash with the Temporal client, as in
//
//	import mneme "github.com/mneme/mneme/client"
package client
