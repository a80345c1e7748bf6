// Package second holds the texts of the second half, told in unusual ways. Package changes makes
// conversations of them.
package second
