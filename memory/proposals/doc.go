// Package proposals has the rules for proposed changes of memory: which neighbours a decision gets, which answers are
// accepted, and whether a proposal is written, skipped, blocked or reviewed by a person. It makes no proposals and
// writes none: they come from package inference, and package store/commit writes them.
package proposals
