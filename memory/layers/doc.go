// Package layers arranges ranked results by layer within a budget, and selects the procedure or plan that fits a
// situation. Package rank does the ranking.
package layers
