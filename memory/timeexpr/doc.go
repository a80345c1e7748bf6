// Package timeexpr reads the times that a question names, such as "last week", as windows. Relative dates in
// statements are resolved in inference/rules (dates.go); dates as values are read in memory/frame (value.go).
package timeexpr
