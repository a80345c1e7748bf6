package advice

import (
	"cmp"
	"slices"
	"strings"

	"github.com/mneme/mneme/memory/learning/align"
	"github.com/mneme/mneme/memory/learning/evidence"
	"github.com/mneme/mneme/memory/learning/signature"
	"github.com/mneme/mneme/memory/learning/trace"
)

// Constants of Tried.
const (
	unlikely   = evidence.Prior // chance of an untried solution; a failed one is reported while its chance is lower
	maxDidNot  = 10             // attempts that Tried returns; the least promising ones are kept
	maxWeighed = 40             // newest failed attempts to consider
)

// DidNotHelp is an attempt at the problem that failed.
type DidNotHelp struct {
	Steps   []Step
	Chance  float64 // probability that it helps now, in [0,1]
	Episode string  // the newest episode in which it failed
}

// Tried returns failed attempts at the situation's problem that probably do not help now, the most promising first. A
// failure counts less after each session in which something else was tried. A failure in another context counts in
// proportion to how well outcomes there have predicted outcomes here. The outcomes of solutions show which context
// keys matter. Only attempts that the ledger witnessed and that come from trusted sources count.
func Tried(s Situation, attempts []trace.Attempt, solutions ...Candidate) []DidNotHelp {
	problem := signature.OfError(s.Error)
	if problem.IsZero() {
		return nil
	}
	attempts = witnessed(problem, attempts)
	type made struct {
		procedure align.Procedure
		episode   string
		stats     evidence.Stats
	}
	var found []made
	weighed := 0
	for _, a := range slices.Backward(attempts) {
		if !a.Failed() || !a.Checked || weighed == maxWeighed {
			continue
		}
		weighed++
		if slices.ContainsFunc(found, func(m made) bool { return m.procedure.Replay(a) }) {
			continue
		}
		if procedure, ok := single(a, s); ok {
			found = append(found, made{procedure: procedure, episode: a.Episode})
		}
	}
	known := align.KnownOf(problem, s.Task, trace.Situation{Context: s.Context, WorkingDir: s.WorkingDir,
		Failed: s.Failed})
	var all []evidence.Stats
	for i, m := range found {
		found[i].stats = statsOf(m.procedure, attempts)
		all = append(all, found[i].stats)
	}
	for _, p := range solutions {
		all = append(all, p.Stats)
	}
	earned := evidence.Earned(all)
	var out []DidNotHelp
	for _, m := range found {
		chance := m.stats.ChanceWith(trace.SettingOf(s.Context, problem, s.Failed), earned)
		values, missing := m.procedure.Values(known)
		if chance >= unlikely || len(missing) > 0 {
			continue
		}
		one := DidNotHelp{Chance: chance, Episode: m.episode}
		for _, step := range m.procedure.Steps {
			args, without := step.Fill(values)
			one.Steps = append(one.Steps, Step{Text: step.String(), Tool: step.Tool, Args: args, Missing: without})
		}
		out = append(out, one)
	}
	slices.SortStableFunc(out, func(a, b DidNotHelp) int { return cmp.Compare(b.Chance, a.Chance) })
	return out[max(0, len(out)-maxDidNot):]
}

// statsOf counts the outcomes of a procedure in attempts, which are in order of time.
func statsOf(p align.Procedure, attempts []trace.Attempt) evidence.Stats {
	var stats evidence.Stats
	for len(attempts) > 0 {
		n := 1
		for n < len(attempts) && attempts[n].Episode == attempts[0].Episode {
			n++
		}
		session, tried := attempts[:n], false
		for _, a := range session {
			if p.Replay(a) {
				stats.ObserveIn(a.Setting(), a.Succeeded(), a.At)
				tried = true
			}
		}
		if !tried {
			stats.PassIn(session[0].Setting())
		}
		attempts = attempts[n:]
	}
	return stats
}

// witnessed returns the attempts at a problem that count as evidence, in order of time.
func witnessed(problem signature.Signature, attempts []trace.Attempt) []trace.Attempt {
	attempts = slices.DeleteFunc(slices.Clone(attempts), func(a trace.Attempt) bool {
		return !a.Source.Witnessed || !(a.Source.Trust >= evidence.Default().MinTrust) ||
			!signature.Same(a.Problem, problem) || !a.Succeeded() && !a.Failed()
	})
	slices.SortStableFunc(attempts, func(a, b trace.Attempt) int {
		return cmp.Or(a.At.Compare(b.At), strings.Compare(a.Episode, b.Episode), strings.Compare(a.ID, b.ID))
	})
	return attempts
}
