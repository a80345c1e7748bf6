package budget

import (
	"fmt"
	"time"
)

// Day is the use of a tenant's budget on one day.
type Day struct {
	Limit    int64 // tokens; 0 means no limit
	Settled  int64 // tokens of completed calls, as counted by the endpoint
	Reserved int64 // tokens of running calls, and of attempts that ended without settling
}

// Used returns the tokens that count against the limit.
func (d Day) Used() int64 { return d.Settled + d.Reserved }

// Admits reports whether a call that may use the given number of tokens fits.
func (d Day) Admits(tokens int64) bool {
	return d.Limit <= 0 || tokens <= d.Limit-d.Used()
}

// DayOf returns the start of the budget day of a time. Days begin at midnight UTC.
func DayOf(at time.Time) time.Time {
	return at.UTC().Truncate(24 * time.Hour)
}

// bytesPerToken is a low estimate, so that reservations are more often too high than too low.
const bytesPerToken = 3

// Estimate returns how many tokens a call may use: those of its prompt, estimated from its size, and those of the
// longest allowed answer.
func Estimate(promptBytes, answerTokens int) int64 {
	return int64((max(promptBytes, 0)+bytesPerToken-1)/bytesPerToken) + int64(max(answerTokens, 0))
}

// ExceededError reports that a call exceeds the rest of a day's budget. Retries on the same day cannot succeed.
type ExceededError struct {
	Day    time.Time
	Limit  int64
	Used   int64
	Wanted int64
}

// Error implements error.
func (e *ExceededError) Error() string {
	return fmt.Sprintf("the token budget of %s is used up: %d of %d used, %d wanted", e.Day.Format(time.DateOnly),
		e.Used, e.Limit, e.Wanted)
}
