// Package wording checks how a model words what was learned. The rules learn the steps of a procedure; a model may name
// the procedure and say each step in words. It changes nothing else, and what it invents is refused.
package wording
