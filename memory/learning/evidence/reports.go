package evidence

import (
	"cmp"
	"maps"
	"slices"

	"github.com/mneme/mneme/memory"
)

// newest is the number of a source's results that are considered. Each later result leaves 0.8 of the weight of an
// earlier one, so older results have little effect.
const newest = 10

// Reports are the reports on one solution, by their time, and who follows it.
//
// A source is an agent if other agents follow the solution, and otherwise a user of the agent. The latest results of a
// source, since its result last changed, count as often as another source has the same latest result, and at least
// once. If no other source has it, that one does not count either if it alone decides whether the solution is in place.
// Earlier results count as far as another source has had the same results. The results of one session count once, or
// those of one day if there is no session. So one source alone changes little for the others.
//
// An agent's own reports, without a user, on a solution that only it follows all count. So do a reader's own reports in
// the advice for that reader.
type Reports struct {
	List   []Outcome             // oldest first
	Shared bool                  // other agents follow the solution
	Tally  func([]Outcome) Stats // counts some of the reports and all other outcomes; nil if these are unknown
}

// Public says for each report whether it counts for everyone who follows the solution.
func (r Reports) Public() []bool {
	if !r.Shared {
		return r.agreed(func(Outcome) bool { return true }, byUser, true)
	}
	within := map[string][]bool{}
	for _, o := range r.List {
		if within[o.Agent] == nil {
			within[o.Agent] = r.within(o.Agent)
		}
	}
	ofAgents := make([]bool, len(r.List))
	for i, o := range r.List {
		ofAgents[i] = within[o.Agent][i]
	}
	return r.agreedOf(ofAgents, byAgent, false)
}

// For says for each report whether it counts in the advice for a reader: those that count for everyone, those that
// count among the users of the reader's agent, and the reader's own.
func (r Reports) For(who Reader) []bool {
	out, within := r.Public(), r.within(who.Agent)
	for i, o := range r.List {
		out[i] = out[i] || within[i] || o.Agent == who.Agent && o.User == who.User
	}
	return out
}

// Counted returns the outcomes with the reports that count.
func (r Reports) Counted(counts []bool) Stats { return r.Tally(r.picked(counts)) }

func (r Reports) picked(counts []bool) (out []Outcome) {
	for i, o := range r.List {
		if counts[i] {
			out = append(out, o)
		}
	}
	return out
}

// With returns the reports that no episode shows, counted together with the outcomes in episodes.
func (r Reports) With(shown []Outcome) Reports {
	r.List = Unshown(shown, r.List)
	r.Tally = func(reported []Outcome) Stats { return inOrder(shown, reported) }
	return r
}

// On returns the reports counted after other outcomes, which include the reports that are Based.
func (r Reports) On(base Stats) Reports {
	r.Tally = func(reported []Outcome) Stats {
		out := base.Clone()
		out.Add(slices.DeleteFunc(slices.Clone(reported), func(o Outcome) bool { return o.Based }))
		return out
	}
	return r
}

// Repeats reports whether the source of a report has reported the same in the same session before, or on the same day
// if there is no session.
func (r Reports) Repeats(i int) bool {
	now := turnOf(i, r.List[i])
	return slices.ContainsFunc(r.List[:i], func(o Outcome) bool {
		return o.Agent == r.List[i].Agent && o.User == r.List[i].User && turnOf(i, o) == now
	})
}

// Reader is an agent, or one of its users, that is advised.
type Reader struct {
	Agent string
	User  string // its UserKey; empty for the agent itself
}

func byAgent(o Outcome) string { return o.Agent }
func byUser(o Outcome) string  { return o.User }

// within says for each report whether it counts among the users of an agent.
func (r Reports) within(agent string) []bool {
	return r.agreed(func(o Outcome) bool { return o.Agent == agent }, byUser, true)
}

func (r Reports) agreed(of func(Outcome) bool, source func(Outcome) string, owner bool) []bool {
	among := make([]bool, len(r.List))
	for i, o := range r.List {
		among[i] = of(o)
	}
	return r.agreedOf(among, source, owner)
}

// agreedOf applies the rule of Reports to some of the reports. With owner, all reports of the source without a name
// count.
func (r Reports) agreedOf(among []bool, source func(Outcome) string, owner bool) []bool {
	sources := map[string]*voice{}
	out := make([]bool, len(r.List))
	for i, o := range r.List {
		if !among[i] {
			continue
		}
		name := source(o)
		if sources[name] == nil {
			sources[name] = &voice{}
		}
		sources[name].add(i, o)
		out[i] = owner && name == ""
	}
	for name, v := range sources {
		if owner && name == "" {
			continue
		}
		others := make([]*voice, 0, len(sources))
		for key, w := range sources {
			if key != name {
				others = append(others, w)
			}
		}
		for _, i := range v.counted(others) {
			out[i] = true
		}
	}
	for _, name := range slices.Sorted(maps.Keys(sources)) {
		if v := sources[name]; !owner || name != "" {
			r.hold(out, v, sources)
		}
	}
	return out
}

// hold removes the latest results of a source, and the occurrences in which it tried something else, from the
// selection. It does so for those that no other source has, if they decide whether the solution is in place.
func (r Reports) hold(out []bool, v *voice, sources map[string]*voice) {
	var alone []turn
	for _, of := range []func(*voice) []turn{(*voice).run, (*voice).passes} {
		mine, confirmed := of(v), false
		for _, w := range sources {
			theirs := of(w)
			confirmed = confirmed || w != v && len(mine) > 0 && len(theirs) > 0 && theirs[0].result == mine[0].result
		}
		if !confirmed {
			alone = append(alone, mine...)
		}
	}
	if len(alone) == 0 {
		return
	}
	without := slices.Clone(out)
	for _, t := range alone {
		without[t.at] = false
	}
	if r.decides(out, without, r.List[alone[0].at].Context) {
		copy(out, without)
	}
}

// decides reports whether the difference of two selections decides that the solution is in place.
func (r Reports) decides(with, without []bool, context map[string]string) bool {
	if r.Tally == nil {
		return false
	}
	a, b := r.Counted(with), r.Counted(without)
	return a.All.InPlace() != b.All.InPlace() || (a.ChanceIn(context) >= InPlace) != (b.ChanceIn(context) >= InPlace)
}

// result is what a report says.
type result int

const (
	failed result = iota
	succeeded
	other // something else was tried
)

func resultOf(o Outcome) result {
	switch {
	case o.Idle:
		return other
	case o.OK:
		return succeeded
	}
	return failed
}

// turn is one result of a source.
type turn struct {
	at int // index of the report
	result
	occasion string
}

func turnOf(at int, o Outcome) turn {
	return turn{at, resultOf(o), cmp.Or(o.Session, o.At.UTC().Format("2006-01-02"))}
}

// voice has the results of one source, oldest first, and the occurrences since then in which it tried something else.
type voice struct {
	results []turn
	idle    []turn
}

func (v *voice) add(i int, o Outcome) {
	t := turnOf(i, o)
	same := func(u turn) bool { return u.occasion == t.occasion && u.result == t.result }
	if o.Idle {
		if !slices.ContainsFunc(v.idle, same) {
			v.idle = append(v.idle, t)
		}
		return
	}
	v.idle = nil
	if !slices.ContainsFunc(v.run(), same) {
		v.results = append(v.results, t)
	}
}

// run returns the latest results: those since the result last changed.
func (v *voice) run() []turn {
	n := len(v.results)
	for n > 0 && v.results[n-1].result == v.results[len(v.results)-1].result {
		n--
	}
	return v.results[n:]
}

func (v *voice) passes() []turn { return v.idle }

// earlier returns the results before the latest ones, among the newest.
func (v *voice) earlier() []turn {
	all := v.results[max(0, len(v.results)-newest):]
	return all[:max(0, len(all)-len(v.run()))]
}

// had returns how many of the newest results are a result.
func (v *voice) had(what result) (n int) {
	for _, t := range v.results[max(0, len(v.results)-newest):] {
		if t.result == what {
			n++
		}
	}
	return n
}

// counted returns the indexes of the reports that count, given the other sources.
func (v *voice) counted(others []*voice) (out []int) {
	first := func(turns []turn, n int) {
		for _, t := range turns[:n] {
			out = append(out, t.at)
		}
	}
	run, runs, idles := v.run(), 0, 0
	most := map[result]int{}
	for _, w := range others {
		if theirs := w.run(); len(run) > 0 && len(theirs) > 0 && theirs[0].result == run[0].result {
			runs = max(runs, len(theirs))
		}
		idles = max(idles, len(w.idle))
		for _, what := range []result{failed, succeeded} {
			most[what] = max(most[what], w.had(what))
		}
	}
	first(run, memory.Agreed(len(run), runs))
	first(v.idle, memory.Agreed(len(v.idle), idles))
	earlier := v.earlier()
	own := map[result]int{}
	for _, t := range earlier {
		own[t.result]++
	}
	// The newest of them, so that the share of successes among them is that of the source.
	agreed := min(own[failed], most[failed]) + min(own[succeeded], most[succeeded])
	for _, t := range slices.Backward(earlier[len(earlier)-agreed:]) {
		if most[t.result] > 0 {
			most[t.result]--
			out = append(out, t.at)
		}
	}
	return out
}
