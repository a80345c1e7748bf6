// Package advising has the activities of advice: choosing what to do in a situation, and counting the outcome. Both
// change only data about advice. Other programs call package recall/advising.
package advising
