// Package timeexpr reads the times that a question names, such as "last week", as windows. What a statement says
// of its own time is read by package frame.
package timeexpr
