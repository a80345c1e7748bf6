// Package advising has the activities of advice: choosing what to do in a situation, and counting the outcome. They
// change only data about advice. Programs that reach Postgres call package recall/advising instead.
package advising
