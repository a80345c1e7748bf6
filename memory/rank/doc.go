// Package rank turns the results of a recall's channels into one ranking: how terms are planned, how evidence is
// fused, what neighbours add, which results repeat others and which a later statement has replaced. It reads nothing;
// package recall brings texts and calls the stages in order.
package rank
