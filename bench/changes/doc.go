// Package changes generates conversations in which things change, to measure how well memory follows them.
//
// A Tenant is what one user and a few others say over some weeks. Among many statements about other things it has
// pairs, a statement and a later one that changes it; coexisting statements, where neither changes the other; and
// questions, some about things that were never said. The same seed gives the same tenants.
//
// The corpus has two halves. The development half (texts/dev) is for writing rules. The held-out half (texts/heldout)
// has other attributes, other wordings and other authors: authors of rules must not read it, nor what the bench
// prints of it with -show-heldout.
package changes
