// Package plan makes plan graphs of promoted solutions with three or more steps: nodes with templates and guards, data
// edges where a step takes the result of another, control edges for the order. It composes plans of known procedures,
// expands them, orders and draws them; none of it loops on a graph with a cycle or with parallel edges.
package plan
