// Package changes generates conversations in which facts change, to measure how well memory follows the changes.
//
// A Tenant has the statements of one user and a few others over some weeks. Among many unrelated statements it has
// pairs (a statement and a later one that changes it), coexisting statements, where neither changes the other, and
// questions, some of them about something never said. The same seed gives the same tenants.
//
// The corpus has two halves. The development half (texts/dev) is for writing rules. The held-out half (texts/heldout)
// has other attributes, other wordings and other authors: authors of rules must not read it, nor what the bench
// prints of it with -show-heldout.
package changes
