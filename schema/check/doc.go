// Package check holds what validation is made of: the errors of fields, the checks of texts and enumerations, and a
// strict reader of JSON that finds repeated names, unknown fields and values of another type. What a request or a
// record must fulfil is said at its type, in package schema.
package check
