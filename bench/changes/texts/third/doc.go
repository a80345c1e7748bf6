// Package third holds the texts of the third half, told in plain ways. Package changes makes
// conversations of them.
package third
