// Package sensitive finds secrets, identifiers and contact data in texts, and orders sensitivities. Package policy
// decides what may be shown.
package sensitive
