// Package check provides the parts of validation: field errors, checks of texts and enumerations, and a strict JSON
// reader that reports duplicate names, unknown fields and wrong types. The types in package schema use them to define
// what a valid request or record is.
package check
