package lifecycle

import (
	"time"

	"github.com/mneme/mneme/memory"
	"github.com/mneme/mneme/schema"
)

// MaxTimes is the number of equal verdicts of a source that are considered. More of them have no more weight.
const MaxTimes = 10

// SourceVerdicts are the verdicts of a source (memory.VerdictSource) on a memory that others read too. A verdict on a
// result that was not used says nothing of the uses, so the two are separate.
type SourceVerdicts struct{ OfUses, OfUnused VerdictStreak }

// VerdictStreak is the latest verdict of a source, with the equal ones directly before it.
type VerdictStreak struct {
	Verdict schema.Verdict // empty: none
	Times   int            // number of verdicts, up to MaxTimes
	Days    int            // number of days (UTC) on which they were given
	Counted int            // number of them that count for everyone
	Moved   float64        // change of salience by them, [-1,1], as of At
	At      time.Time      // of the latest
}

// Of returns the streak that a verdict belongs to.
func (s *SourceVerdicts) Of(v schema.Verdict) *VerdictStreak {
	if v == schema.VerdictUnused {
		return &s.OfUnused
	}
	return &s.OfUses
}

// ReinforceFrom is Reinforce for a memory that others read too. said has the earlier verdicts of the source, and agreed
// is the largest number of days on which another source gave the same verdict. It also returns the source's verdicts
// with the new one.
//
// One source alone changes little for the others. Of a streak, as many verdicts count as agreed says, and at least one
// (memory.Agreed). Those of one day count once. A different verdict begins a new streak, and takes the effect of the
// earlier one back. A verdict that does not count is held: it does not change the outcomes, and it does not lower the
// salience. If the memory helped, it restores what has faded since the source's last verdict, by at most one gain. So a
// memory in use does not fade, but one source does not raise it further.
func ReinforceFrom(m Rated, v schema.Verdict, earlier *PriorVerdict, said SourceVerdicts, agreed int, now time.Time) (
	Reinforcement, SourceVerdicts, error) {
	r, err := begin(m, v, now)
	if err != nil || r.repeats(earlier) {
		return r.Reinforcement, said, err
	}
	undo, next := undoing(earlier), said
	s := next.Of(v)
	if earlier != nil && earlier.BySource {
		if other := next.Of(earlier.Verdict); other != s {
			undo = append(undo, other.withdraw(earlier.Verdict)...)
		}
	}
	before, repeated := *s, false
	if s.Verdict != v {
		undo = append(undo, s.takeBack(s.Counted)...)
		*s = VerdictStreak{Verdict: v, Days: 1}
	} else if repeated = sameDay(s.At, r.At); !repeated {
		s.Days = min(s.Days+1, MaxTimes)
	}
	s.Times, s.At = min(s.Times+1, MaxTimes), r.At
	times := max(0, memory.Agreed(s.Days, agreed)-s.Counted)
	s.Counted += times
	s.Moved = m.left(PriorVerdict{Moved: s.Moved, At: before.At}, r.fadesUntil)
	out, err := r.end(earlier, undo, times, before.At)
	if err != nil {
		return Reinforcement{}, said, err
	}
	switch {
	case times > 0:
		s.Moved += out.Moved
	case repeated:
		out.Held = schema.HeldRepeated
	default:
		out.Held = schema.HeldOneSource
	}
	if times == 0 && len(undo) == 0 && out.After > out.Before && out.Before > 0 {
		// The source's own part has faded and is restored like the rest.
		s.Moved *= out.After / out.Before
	}
	s.Moved = max(-1, min(1, s.Moved))
	return out, next, nil
}

// takeBack returns the effect of some of the verdicts that count.
func (s *VerdictStreak) takeBack(counted int) []undone {
	if counted == 0 {
		return nil
	}
	return []undone{{PriorVerdict{Verdict: s.Verdict, Moved: s.Moved * float64(counted) / float64(s.Counted),
		Counted: countedAs(s.Verdict), At: s.At}, counted}}
}

// withdraw removes one verdict, and returns its effect. It does nothing if the source has given another one since.
func (s *VerdictStreak) withdraw(v schema.Verdict) []undone {
	if s.Verdict != v {
		return nil
	}
	before := *s
	s.Times--
	s.Days = min(s.Days, s.Times)
	s.Counted = min(s.Counted, s.Days)
	undo := before.takeBack(before.Counted - s.Counted)
	for _, u := range undo {
		s.Moved -= u.Moved
	}
	if s.Times == 0 {
		*s = VerdictStreak{}
	}
	return undo
}

func sameDay(a, b time.Time) bool {
	return a.UTC().Format(time.DateOnly) == b.UTC().Format(time.DateOnly)
}
