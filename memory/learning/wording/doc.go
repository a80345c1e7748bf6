// Package wording checks a model's wording of learned procedures. The rules learn the steps of a procedure; a model
// may name the procedure and word each step. It changes nothing else, and invented details are refused.
package wording
