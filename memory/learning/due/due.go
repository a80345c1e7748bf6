package due

import (
	"slices"
	"time"
)

// Rule has the amount of new evidence that starts a run, and the quiet time before it.
type Rule struct {
	Least int           // independent new episodes; 0: no run starts by itself
	Quiet time.Duration // time without a new episode
}

// MaxQuietTimes is the number of quiet times after which a scope that is never quiet is due, counted from when it had
// enough evidence.
const MaxQuietTimes = 10

// DefaultRule returns a rule with as many independent episodes as a promotion needs successes. A person who pauses for
// less than five minutes is probably still working on the same task.
func DefaultRule() Rule { return Rule{Least: 3, Quiet: 5 * time.Minute} }

// MinTrust is the trust in a source below which its episodes do not count, as for a promotion.
const MinTrust = 0.5

// Episode is new evidence, without its content.
type Episode struct {
	Agent   string
	Session string // empty: no session
	Origin  string // principal or import that submitted it
	Same    string // equal for episodes with the same words
	Trust   float64
	At      time.Time // when it was stored
}

// Independent returns the number of independent episodes: a session counts once, all episodes of one origin without a
// session count once, and an episode that repeats another word for word does not count.
func Independent(episodes []Episode) int { return len(independent(episodes)) }

// independent returns the episodes that Independent counts: the first of those that depend on each other.
func independent(episodes []Episode) (out []Episode) {
	seen := map[string]bool{}
	for _, e := range episodes {
		source := "session:" + e.Agent + "\x00" + e.Session
		if e.Session == "" {
			source = "origin:" + e.Origin
			if e.Origin == "" {
				source += e.Agent
			}
		}
		same := "same:" + e.Same
		if !(e.Trust >= MinTrust) || seen[source] || e.Same != "" && seen[same] { // negated so that NaN counts as low
			continue
		}
		seen[source], seen[same] = true, true
		out = append(out, e)
	}
	return out
}

// Verdict is the result of Judge.
type Verdict struct {
	New    int           // independent episodes that no run has taken in
	Enough bool          // there are as many as the rule asks for
	Wait   time.Duration // until the scope has been quiet for long enough; 0: it is due now if there are enough
	Since  time.Time     // when the episode came that made it enough; zero if there is not enough
	DueAt  time.Time     // when the scope is due; zero if there is not enough
}

// Judge applies the rule to the unread episodes of a scope. A scope with enough evidence is due after a quiet time, or
// MaxQuietTimes quiet times after it had enough. A time in the future, from another clock, counts as now, so that a run
// never waits longer than that.
func (r Rule) Judge(episodes []Episode, now time.Time) Verdict {
	sorted := slices.SortedStableFunc(slices.Values(episodes), func(a, b Episode) int { return a.At.Compare(b.At) })
	counted := independent(sorted)
	out := Verdict{New: len(counted), Enough: r.Least > 0 && len(counted) >= r.Least}
	if !out.Enough {
		return out
	}
	out.Since = counted[r.Least-1].At
	last := sorted[len(sorted)-1].At
	if last.After(now) {
		last = now
	}
	since := out.Since
	if since.After(now) {
		since = now
	}
	out.DueAt = last.Add(r.Quiet)
	if most := since.Add(MaxQuietTimes * r.Quiet); most.Before(out.DueAt) {
		out.DueAt = most
	}
	out.Wait = max(0, out.DueAt.Sub(now))
	return out
}
