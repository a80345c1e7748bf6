// Package compress decides which old episodes of a thread become a summary, writes summaries by extraction, and checks
// every summary, including those of a model: a summary that loses names, numbers or outcomes of its sources is refused.
// It reads and stores nothing.
package compress
