package lifecycle

import (
	"encoding/binary"
	"hash/fnv"
	"time"
)

// The delays between attempts (document 002 "Retry Backoff"): one second, doubled each time up to thirty, plus up to
// half a second of jitter, so that operations that failed together are not retried together.
const (
	RetryBase      = time.Second
	RetryMost      = 30 * time.Second
	RetryJitterMax = 500 * time.Millisecond
)

// RetryDelay returns the delay after a failed attempt, counted from 1. The jitter depends on the key of the operation:
// the same key and attempt always give the same delay.
func RetryDelay(attempt int, key string) time.Duration {
	return RetryBackoff(attempt) + RetryJitter(attempt, key)
}

// RetryBackoff returns the delay without its jitter.
func RetryBackoff(attempt int) time.Duration {
	shift := max(0, attempt-1)
	if shift >= 5 {
		return RetryMost
	}
	return RetryBase << shift
}

// RetryJitter returns the jitter of a delay, from 0 to RetryJitterMax inclusive.
func RetryJitter(attempt int, key string) time.Duration {
	h := fnv.New64a()
	_, _ = h.Write([]byte(key)) // never fails
	_, _ = h.Write(binary.BigEndian.AppendUint64(nil, uint64(attempt)))
	sum := h.Sum64()
	sum ^= sum >> 33 // FNV gives similar keys similar sums
	sum *= 0xff51afd7ed558ccd
	sum ^= sum >> 33
	return time.Duration(sum%uint64(RetryJitterMax/time.Millisecond+1)) * time.Millisecond
}
