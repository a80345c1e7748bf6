// Package layers lays ranked results out as a task needs them, within a budget, and chooses which procedure or plan
// fits a situation. Ranking itself is in package rank.
package layers
