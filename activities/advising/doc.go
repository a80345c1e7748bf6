// Package advising holds the activities of advice: choosing what to do in a situation, and counting how it went.
// Both change only what is kept about advice. Others call package recall/advising.
package advising
