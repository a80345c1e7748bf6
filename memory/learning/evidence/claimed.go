package evidence

import (
	"math"

	"github.com/mneme/mneme/schema"
)

// claimed is the number of outcomes assumed for a success rate without counts.
const claimed = 3

// Claimed returns the outcomes that a record claims without observations. They weigh at most like about five outcomes.
func Claimed(p *schema.Performance) Stats {
	var out Stats
	if p == nil {
		return out
	}
	good, bad := float64(max(0, p.SuccessCount)), float64(max(0, p.FailureCount))
	out.All.Successes, out.All.Failures = max(0, p.SuccessCount), max(0, p.FailureCount)
	if n := good + bad; n == 0 {
		switch {
		case p.SuccessRate != nil:
			good = claimed * min(1, max(0, *p.SuccessRate))
			bad = claimed - good
		case p.FailureRate != nil:
			bad = claimed * min(1, max(0, *p.FailureRate))
			good = claimed - bad
		}
	}
	if n := good + bad; n > 0 {
		weight := (1 - math.Pow(keep, n)) / (1 - keep) / n
		out.All.Good, out.All.Bad = good*weight, bad*weight
	}
	if p.LastUsedAt != nil {
		out.All.LastAt = p.LastUsedAt.UTC()
	}
	return out
}

// Then returns the outcomes followed by others at an unknown time, the successes first.
func (s Stats) Then(successes, failures int64) Stats {
	out := s.Clone()
	for range successes {
		out.All.Observe(true, s.All.LastAt)
	}
	for range failures {
		out.All.Observe(false, s.All.LastAt)
	}
	return out
}

// Fill sets the outcomes in a record's performance to those of the track.
func (t Track) Fill(p *schema.Performance) {
	p.SuccessCount, p.FailureCount, p.SuccessRate, p.FailureRate = t.Successes, t.Failures, nil, nil
	if n := float64(t.Successes + t.Failures); n > 0 {
		good, bad := float64(t.Successes)/n, float64(t.Failures)/n
		p.SuccessRate, p.FailureRate = &good, &bad
	}
	if !t.LastAt.IsZero() {
		last := t.LastAt.UTC()
		p.LastUsedAt = &last
	}
}
