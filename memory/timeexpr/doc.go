// Package timeexpr reads the times that a question names, such as "last week", as windows. Package frame reads the
// times in statements.
package timeexpr
