// Package policy has the rules that a deployment writes: how candidates and records are classified, and which memories
// may be shown to whom. It parses and evaluates the rules; its callers read and reload the file.
package policy
