// Package proposals has the rules for proposed changes of memory: which neighbours a decision gets, which answers are
// accepted, and whether a proposal is written, skipped, blocked or reviewed by a person.
package proposals
