package promote

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"github.com/mneme/mneme/memory/learning/align"
	"github.com/mneme/mneme/memory/learning/evidence"
	"github.com/mneme/mneme/memory/learning/trace"
)

// Constants of the gate.
const (
	// SameSolution is the least similarity of two attempts with the same solution.
	SameSolution = 0.7
	explains     = 0.75 // share of the held-out successes that the procedure must explain
	maxFolds     = 5
	maxHeldOut   = 40  // newest successes used for cross-validation
	maxGuessed   = 2   // parameters that the caller must give
	leastRate    = 0.6 // success rate of attempts that followed the procedure; later ones weigh more
)

// Reasons of refusals. They are counted and matched: never reword one.
const (
	FewSources   = "too_few_independent_successes"
	NothingSame  = "no_common_steps"
	NotExplained = "held_out_not_explained"
	OftenFails   = "often_fails"
	NotBound     = "values_of_unknown_origin"
	TooShort     = "too_few_steps"
)

// Refusal is a solution that is not promoted, with the reason.
type Refusal struct {
	Key       string
	Reason    string
	Attempts  int            // attempts with the solution
	Counted   int            // independent attempts
	LeftOut   map[string]int // other attempts, by the reason why they do not count
	Explained float64        // share of the held-out successes that were explained
	Outline   string         // the first steps, for people
}

// Candidate is a solution that passed the gate.
type Candidate struct {
	Key        string
	Procedure  align.Procedure
	Conditions Conditions
	Attempts   []trace.Attempt // the successes that it was made from
	Against    []trace.Attempt // failed attempts that followed the procedure
	Track      evidence.Track  // of both, in chronological order
	Count      evidence.Count
	Evidence   []string // ids of the episodes
	Helped     []string // ids of all episodes in which the solution helped, also of those that do not count as evidence
	Hash       string   // hash of the evidence and of the attempts that gave the conditions
}

// Outcomes returns the outcomes of the attempts.
func (c Candidate) Outcomes() []evidence.Outcome {
	return slices.Concat(evidence.Shown(c.Attempts), evidence.Shown(c.Against))
}

// Solutions returns the reliable solutions of a group, the best supported first, and refusals for the others.
func Solutions(g *Group, p evidence.Policy) (out []Candidate, refused []Refusal) {
	successes := inOrder(g.Successes)
	clusters := align.Clusters(successes, SameSolution)
	for c, members := range clusters {
		var own, others []trace.Attempt
		for _, i := range members {
			own = append(own, successes[i])
		}
		for d, rest := range clusters {
			if d != c && len(rest) >= leastFails {
				for _, i := range rest {
					others = append(others, successes[i])
				}
			}
		}
		candidate, why := judge(g, own, others, p)
		if why.Reason != "" {
			why.Key, why.Attempts = g.Key, len(own)
			why.Outline = outline(own[0])
			refused = append(refused, why)
			continue
		}
		out = append(out, candidate)
	}
	return out, refused
}

func judge(g *Group, own, others []trace.Attempt, p evidence.Policy) (Candidate, Refusal) {
	count := evidence.Independent(own, p)
	why := Refusal{Counted: len(count.Independent), LeftOut: count.LeftOut}
	refuse := func(reason string) (Candidate, Refusal) {
		why.Reason = reason
		return Candidate{}, why
	}
	if !count.Enough(p) {
		return refuse(FewSources)
	}
	var counted []trace.Attempt
	for _, i := range count.Independent {
		counted = append(counted, own[i])
	}
	procedure, ok := align.Learn(counted)
	if !ok {
		return refuse(NothingSame)
	}
	if procedure.Guessed() > maxGuessed {
		return refuse(NotBound)
	}
	if why.Explained = heldOut(counted); why.Explained < explains {
		return refuse(NotExplained)
	}
	var against []trace.Attempt
	for _, a := range g.Failures {
		if procedure.Replay(a) {
			against = append(against, a)
		}
	}
	against = evidence.Against(against, own, p)
	out := Candidate{Key: g.Key, Procedure: procedure, Attempts: counted, Count: count}
	// Failures before the first success may be from before a change, so they are no evidence for conditions.
	since := slices.DeleteFunc(slices.Clone(against), func(a trace.Attempt) bool { return a.At.Before(counted[0].At) })
	var compared []trace.Attempt
	out.Conditions, compared = conditions(counted, beforeChange(counted, since), others)
	for _, a := range inOrder(against) {
		if out.Conditions == nil || out.Conditions.Hold(a.Setting()) {
			out.Against = append(out.Against, a)
		}
	}
	for _, a := range inOrder(slices.Concat(counted, out.Against)) {
		out.Track.Observe(a.Succeeded(), a.At)
	}
	if out.Track.Rate() < leastRate || !out.Track.InPlace() {
		return refuse(OftenFails)
	}
	var ids []string
	for _, a := range slices.Concat(counted, against) {
		ids = append(ids, a.ID)
		if !slices.Contains(out.Evidence, a.Episode) {
			out.Evidence = append(out.Evidence, a.Episode)
		}
	}
	for _, a := range compared {
		ids = append(ids, a.ID)
	}
	for _, a := range own {
		if !slices.Contains(out.Helped, a.Episode) {
			out.Helped = append(out.Helped, a.Episode)
		}
	}
	slices.Sort(out.Evidence)
	out.Hash = evidence.HashOf(ids)
	return out, Refusal{}
}

// conditions returns the conditions that separate successes from failures, and the attempts of other solutions that
// were compared. First, successes of other solutions count like failures. If this separates the situations, each
// solution gets its own situations.
func conditions(own, failures, others []trace.Attempt) (Conditions, []trace.Attempt) {
	if all := slices.Concat(failures, others); len(others) > 0 {
		if c := Apart(contexts(own), contexts(all)); c != nil {
			return c, others
		}
	}
	return Apart(contexts(own), contexts(failures)), nil
}

// beforeChange returns the failures before a change after which the solution no longer works, if such a change is
// likely, and otherwise all failures. Failures after the change are no evidence for conditions.
func beforeChange(successes, failures []trace.Attempt) []trace.Attempt {
	all := inOrder(slices.Concat(successes, failures))
	good, bad := 0, 0
	explained, most, at := 0.0, 0.0, -1
	for i := len(all) - 1; i > 0; i-- {
		if all[i].Succeeded() {
			good++
		} else {
			bad++
		}
		if !all[i-1].At.Before(all[i].At) {
			continue // there is no change between attempts at the same time
		}
		gain := math.Exp(speaks(len(successes)-good, len(failures)-bad, good, bad))
		explained += gain
		if good < bad && gain > most {
			most, at = gain, i
		}
	}
	if at < 0 || explained < float64(len(all)) {
		return failures
	}
	return slices.DeleteFunc(slices.Clone(failures), func(a trace.Attempt) bool { return !a.At.Before(all[at].At) })
}

// heldOut returns the share of the successes that are explained by a procedure made from other successes.
func heldOut(attempts []trace.Attempt) float64 {
	attempts = attempts[max(0, len(attempts)-maxHeldOut):]
	folds := min(maxFolds, len(attempts))
	if folds < 2 {
		return 0
	}
	explained := 0
	for f := range folds {
		var rest, held []trace.Attempt
		for i, a := range attempts {
			if i%folds == f {
				held = append(held, a)
			} else {
				rest = append(rest, a)
			}
		}
		procedure, ok := align.Learn(rest)
		for _, a := range held {
			if ok && procedure.Replay(a) {
				explained++
			}
		}
	}
	return float64(explained) / float64(len(attempts))
}

func inOrder(attempts []trace.Attempt) []trace.Attempt {
	out := slices.Clone(attempts)
	slices.SortStableFunc(out, func(a, b trace.Attempt) int {
		return cmp.Or(a.At.Compare(b.At), strings.Compare(a.ID, b.ID))
	})
	return out
}

func outline(a trace.Attempt) string {
	p, ok := align.Learn([]trace.Attempt{a})
	if !ok {
		return ""
	}
	var parts []string
	for _, s := range p.Steps[:min(len(p.Steps), 3)] {
		parts = append(parts, s.String())
	}
	return strings.Join(parts, "; ")
}
