package lifecycle

import (
	"time"

	"github.com/mneme/mneme/memory"
	"github.com/mneme/mneme/schema"
)

// MaxTimes is the number of equal verdicts of a source that are considered. More of them have no more weight.
const MaxTimes = 10

// FromSource is what a source says of a memory that others read too (memory.JudgeOf): its latest verdict, among those
// on uses or those on results that were not used, and how often it said so in succession.
type FromSource struct {
	Verdict schema.Verdict // empty: none yet
	Times   int            // since the verdict last changed, up to MaxTimes
	Days    int            // the days (UTC) among them
	Counted int            // how many count for everyone
	Moved   float64        // the part of salience, [-1,1], that is due to them, as of At
	At      time.Time      // of the latest
}

// ReinforceFrom is Reinforce for a memory that others read too. said is what the source has said before, and agreed is
// the largest number of days on which another source gives the same verdict. It also returns what the source says now.
//
// The verdicts of one source do not alone move what others see. Those since its verdict last changed count as often as
// agreed says, and once if no one agrees (memory.Agreed); those of one day count once. A different verdict takes the
// effect of the earlier ones back. A verdict that does not count is held: it does not change the outcomes, and it does
// not lower the salience. If the memory helped, it restores what has faded since the source's last verdict, by at most
// one gain. So a memory in use stays, but one source does not lift it further.
//
// earlier has no effect to undo if that effect is in said.
func ReinforceFrom(m Rated, v schema.Verdict, earlier *PriorVerdict, said FromSource, agreed int, now time.Time) (
	Reinforcement, FromSource, error) {
	r, err := begin(m, v, now)
	if err != nil || r.repeats(earlier) {
		return r.Reinforcement, said, err
	}
	undo, repeated := undoing(earlier), false
	next := said
	if said.Verdict != v {
		if said.Counted > 0 {
			undo = append(undo, undone{PriorVerdict{Moved: said.Moved, Counted: countedAs(said.Verdict), At: said.At},
				said.Counted})
		}
		next = FromSource{Verdict: v, Days: 1}
	} else if repeated = sameDay(said.At, r.At); !repeated {
		next.Days = min(said.Days+1, MaxTimes)
	}
	next.Times, next.At = min(next.Times+1, MaxTimes), r.At
	times := max(0, memory.Agreed(next.Days, agreed)-next.Counted)
	next.Counted += times
	next.Moved = m.left(PriorVerdict{Moved: next.Moved, At: said.At}, r.fadesUntil)
	out, err := r.end(earlier, undo, times, said.At)
	if err != nil {
		return Reinforcement{}, said, err
	}
	switch {
	case times > 0:
		next.Moved = max(-1, min(1, next.Moved+out.Moved))
	case repeated:
		out.Held = schema.HeldRepeated
	default:
		out.Held = schema.HeldOneSource
	}
	if times == 0 && out.After > out.Before && out.Before > 0 { // the source's part is restored with the rest
		next.Moved = max(-1, min(1, next.Moved*out.After/out.Before))
	}
	return out, next, nil
}

func sameDay(a, b time.Time) bool {
	return a.UTC().Format(time.DateOnly) == b.UTC().Format(time.DateOnly)
}
