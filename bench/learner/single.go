package learner

import (
	"fmt"
	"slices"

	"github.com/mneme/mneme/api"
	"github.com/mneme/mneme/memory/learning/advice"
	"github.com/mneme/mneme/memory/learning/trace"
)

// Constants of a reader of single episodes.
const (
	nearest = 3   // episodes that are read
	agreed  = 0.7 // confidence if all of them agree
)

// single answers from the most similar episodes with the same problem: those whose situation has most in common with
// the current one, the newest first. It does not count how often a repair helped. Repairs that failed in these episodes
// are the ones that did not help.
func (m *Rules) single(s advice.Situation, attempts []trace.Attempt) (api.AdviseResponse, error) {
	m.next++
	out := api.AdviseResponse{AdviceID: fmt.Sprintf("advice-%d", m.next)}
	m.asked[out.AdviceID] = asked{}
	attempts = slices.Clone(attempts) // the newest first
	slices.SortStableFunc(attempts, func(a, b trace.Attempt) int { return common(s, b) - common(s, a) })
	var options []api.AdviceOption
	var read, failed []string // episodes
	var near []trace.Attempt
	for _, a := range attempts {
		if !slices.Contains(failed, a.Episode) && len(failed) < nearest {
			failed = append(failed, a.Episode)
		}
		if slices.Contains(failed, a.Episode) {
			near = append(near, a)
		}
		if !a.Succeeded() || len(read) == nearest || slices.Contains(read, a.Episode) {
			continue
		}
		answer := advice.Advise(s, advice.Tentative(s, []trace.Attempt{a}))
		found := answer.Others
		if answer.Best != nil {
			found = []advice.Option{*answer.Best}
		}
		for _, f := range found {
			o, err := option(f)
			if err != nil {
				return out, err
			}
			read, options = append(read, a.Episode), append(options, o)
		}
	}
	if len(options) > 0 {
		same := func(o api.AdviceOption) bool { return fmt.Sprint(o.Steps) == fmt.Sprint(options[0].Steps) }
		if len(options) == nearest && same(options[1]) && same(options[2]) {
			options[0].Confidence = agreed
		}
		out.Best, out.Others = &options[0], options[1:]
	}
	for _, t := range advice.Tried(s, near) {
		steps, err := stepsOf(t.Steps)
		if err != nil {
			return out, err
		}
		out.DidNotHelp = append(out.DidNotHelp, api.DidNotHelp{Steps: steps, Chance: t.Chance, Episode: t.Episode})
	}
	return out, nil
}

// common returns the number of keys of the context with the same value.
func common(s advice.Situation, a trace.Attempt) (n int) {
	for key, v := range s.Context {
		if a.Situation.Context[key] == v {
			n++
		}
	}
	return n
}
