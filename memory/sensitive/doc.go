// Package sensitive finds what a text gives away: secrets, identifiers, contact data. It orders sensitivities; what
// may be shown is decided by package policy.
package sensitive
