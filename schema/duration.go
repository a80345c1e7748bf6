package schema

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// isoDuration is an ISO 8601 duration of lengths that do not depend on a calendar.
var isoDuration = regexp.MustCompile(`^P(?:(\d+)W|(?:(\d+)D)?(?:T(?:(\d+)H)?(?:(\d+)M)?(?:(\d+)S)?)?)$`)

// parseSeconds reads a duration in whole seconds: ISO 8601 (P90D, PT1H30M) or Go's form (2160h0m0s).
func parseSeconds(s string) (int64, bool) {
	if len(s) > 64 {
		return 0, false
	}
	if m := isoDuration.FindStringSubmatch(s); m != nil && strings.ContainsAny(s, "0123456789") && !strings.HasSuffix(s, "T") {
		var total int64
		for i, unit := range []int64{7 * 86400, 86400, 3600, 60, 1} {
			if m[i+1] == "" {
				continue
			}
			n, err := strconv.ParseInt(m[i+1], 10, 64)
			if err != nil || n > MaxDurationSeconds {
				return 0, false
			}
			total += n * unit
		}
		return total, total <= MaxDurationSeconds
	}
	d, err := time.ParseDuration(s)
	if err != nil || d%time.Second != 0 {
		return 0, false
	}
	return int64(d / time.Second), true
}

// formatSeconds writes a duration as ISO 8601 has it.
func formatSeconds(n int64) string { return fmt.Sprintf("PT%dS", n) }
