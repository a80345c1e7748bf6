// Package compress decides which old episodes of a thread become a summary, writes one by extraction, and checks any
// summary, whoever wrote it: what loses names, numbers or outcomes of its sources is refused.
package compress
