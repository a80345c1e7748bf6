// Package second holds the texts of the second half, in unusual wordings. Package changes makes conversations of them.
package second
