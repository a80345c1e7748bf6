// Package wording checks a model's wording of learned procedures. The rules learn the steps of a procedure; a model
// may name a procedure or a plan and word the steps of a procedure. The model changes nothing else, and invented
// details are refused.
package wording
