// Package plan turns promoted solutions with three or more steps into plan graphs. Nodes have templates and guards.
// Data edges connect a step with the steps whose results it uses, control edges give the order. The package also
// composes plans of stored procedures, and expands, sorts and draws plans. All functions terminate for graphs with
// cycles or parallel edges.
package plan
