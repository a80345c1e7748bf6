// Package rank turns what the channels of a recall found into one ranking: how terms are planned, how evidence is
// fused, what its neighbours lend, what repeats another and what a later statement has replaced. It reads nothing;
// package recall brings texts and calls the stages in order.
package rank
