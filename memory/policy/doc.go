// Package policy holds the rules that a deployment writes: how what is handed in is classified, and what of it may be
// shown to whom. It parses and evaluates them; reading the file and reloading it is done by its callers.
package policy
