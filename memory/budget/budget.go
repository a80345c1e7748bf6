package budget

import (
	"fmt"
	"time"
)

// Day is what a tenant has used of its budget on one day.
type Day struct {
	Limit    int64 // tokens; 0: no limit
	Settled  int64 // of calls that were made, as the endpoint counted them
	Reserved int64 // of calls under way, and of attempts that ended without settling
}

// Used is what counts against the limit.
func (d Day) Used() int64 { return d.Settled + d.Reserved }

// Admits reports whether a call that may use the given number of tokens fits.
func (d Day) Admits(tokens int64) bool {
	return d.Limit <= 0 || tokens <= d.Limit-d.Used()
}

// DayOf is the day that a time counts for. Days begin at midnight UTC.
func DayOf(at time.Time) time.Time {
	return at.UTC().Truncate(24 * time.Hour)
}

// bytesPerToken is a low estimate, so that a reservation is rather too high than too low.
const bytesPerToken = 3

// Estimate is how many tokens a call may use: those of its prompt, estimated from its size, and those of the longest
// answer.
func Estimate(promptBytes, answerTokens int) int64 {
	return int64((max(promptBytes, 0)+bytesPerToken-1)/bytesPerToken) + int64(max(answerTokens, 0))
}

// ExceededError says that a call does not fit into what is left of a day's budget. No retry of the day can help.
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
