package advice

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/mneme/mneme/memory"
	"github.com/mneme/mneme/memory/layers"
	"github.com/mneme/mneme/memory/learning/align"
	"github.com/mneme/mneme/memory/learning/competence"
	"github.com/mneme/mneme/memory/learning/evidence"
	"github.com/mneme/mneme/memory/learning/plan"
	"github.com/mneme/mneme/memory/learning/promote"
	"github.com/mneme/mneme/memory/learning/signature"
	"github.com/mneme/mneme/memory/learning/trace"
	"github.com/mneme/mneme/schema"
)

// Constants of the choice. A candidate's score is match × fit × chance.
const (
	Threshold = 0.4 // confidence from which on one candidate is advised
	leastLike = 0.7 // the lowest match; a candidate below it is about another problem
	likeness  = 0.9 // factor for a match by similarity, compared with the same problem

	fitMatched       = 1.0
	fitUnconditional = 0.9
	fitUnknown       = 0.6 // for each key that conditions name and the situation does not
	fitRuledOut      = 0.5 // of what helped once, where a procedure with the same steps is for other situations
	close            = 0.1 // the choice is unsure if the lead over the next candidate is smaller
	unsure           = 0.75
	maxOthers        = 3
)

// Situation is what the agent knows before it begins.
type Situation struct {
	Task        string
	Error       string            // as it was reported
	Context     map[string]string // os, project_kind, go_version and so on
	Preferences map[string]string // the user's preferences, by the same keys; the context overrides them
	WorkingDir  string
	Failed      *trace.Step // the call that failed
}

// Candidate is a procedure or a plan that the asker may see.
type Candidate struct {
	ID         string
	Competence *schema.CompetencePayload // one of the two
	Plan       *schema.PlanGraphPayload
	Stats      evidence.Stats
	Shown      []evidence.Outcome // of a tentative candidate: the outcomes that its stats count
	Tentative  bool               // it helped, but is not promoted
	Elsewhere  bool               // it is tentative and helped only on other systems
	Evidence   []string           // ids of episodes
}

// Step is what to do, with its arguments.
type Step struct {
	Text       string
	Tool       string
	Args       json.RawMessage // parameters without a value stay in braces
	Validation string
	Optional   bool
	Missing    []string // parameters without a value yet: those of earlier results, and those that the caller must give
}

// Option is a candidate with its values for the situation.
type Option struct {
	ID           string
	Name         string
	Steps        []Step
	Confidence   float64  // [0,1]
	Missing      []string // parameters that the caller must give
	Unknown      []string // context keys of its conditions that the situation lacks
	Fallbacks    []string // in words
	FailureModes []string
	InPlace      bool // it has worked lately
	Tentative    bool
	Evidence     []string
}

// Answer is the advice for a situation.
type Answer struct {
	Best   *Option  // nil if none is certain enough; Others has the candidates
	Others []Option // the next ones, best first
	// MissingContext lists the context keys that would help to choose.
	MissingContext []string
}

// Sure is the confidence at which no further candidates need to be searched for.
const Sure = 0.7

// Sure reports whether one candidate is so likely to help that no further ones need to be searched for.
func (a Answer) Sure() bool { return a.Best != nil && a.Best.Confidence >= Sure }

// Advise chooses among candidates. A candidate that the situation contradicts is not advised at all, and one that has
// failed lately is not advised first. A tentative candidate never comes before a promoted one that works lately. Where
// the conditions of a promoted one exclude the situation, a tentative one with the same steps is still weighed:
// conditions are learned from few situations.
// Equal input gives equal output, whatever its order.
func Advise(s Situation, candidates []Candidate) Answer {
	context := maps.Clone(s.Preferences)
	if context == nil {
		context = map[string]string{}
	}
	maps.Copy(context, s.Context)
	problem, intent := signature.OfError(s.Error), signature.OfIntent(s.Task)
	values := align.KnownOf(problem, s.Task,
		trace.Situation{Context: context, WorkingDir: s.WorkingDir, Failed: s.Failed})
	var options []Option
	earned := earnedBy(s, candidates, problem, intent)
	for _, c := range candidates {
		promoted, ruledOut := known(c, candidates, context)
		if promoted {
			continue
		}
		if o, ok := weigh(s, c, context, problem, intent, values, earned); ok {
			if ruledOut {
				o.Confidence *= fitRuledOut
			}
			options = append(options, o)
		}
	}
	slices.SortStableFunc(options, func(a, b Option) int {
		return cmp.Or(place(b)-place(a), promoted(b)-promoted(a), cmp.Compare(b.Confidence, a.Confidence),
			strings.Compare(a.ID, b.ID))
	})
	var out Answer
	if len(options) == 0 {
		return out
	}
	best := options[0]
	if len(options) > 1 && options[1].InPlace && options[1].Tentative == best.Tentative &&
		best.Confidence-options[1].Confidence < close {
		best.Confidence *= unsure
	}
	rest := options[1:]
	if best.InPlace && best.Confidence >= Threshold {
		out.Best = &best
	} else {
		rest = options
	}
	out.Others = rest[:min(len(rest), maxOthers)]
	for _, o := range options[:min(len(options), maxOthers+1)] {
		for _, key := range o.Unknown {
			if !slices.Contains(out.MissingContext, key) {
				out.MissingContext = append(out.MissingContext, key)
			}
		}
	}
	return out
}

func place(o Option) int {
	if o.InPlace {
		return 1
	}
	return 0
}

func promoted(o Option) int {
	if o.Tentative {
		return 0
	}
	return 1
}

// earnedBy returns the weights that context keys have earned from the outcomes of all solutions of a problem.
func earnedBy(s Situation, candidates []Candidate, problem, intent signature.Signature) map[string]float64 {
	var all []evidence.Stats
	for _, c := range candidates {
		if c.Competence != nil && slices.ContainsFunc(c.Competence.Triggers, func(t schema.Trigger) bool {
			return matches(t.Signal, s, problem, intent) == 1
		}) {
			all = append(all, c.Stats)
		}
	}
	return evidence.Earned(all)
}

// known reports whether a promoted procedure for the context has the steps of a tentative candidate, and otherwise
// whether one for other contexts has.
func known(c Candidate, candidates []Candidate, context map[string]string) (promoted, ruledOut bool) {
	for _, p := range candidates {
		if !c.Tentative || !promotes(p, c) {
			continue
		}
		if p.holds(context) {
			return true, false
		}
		ruledOut = true
	}
	return false, ruledOut
}

// holds reports whether the known keys of a context do not contradict the conditions of a procedure.
func (c Candidate) holds(context map[string]string) bool {
	return slices.ContainsFunc(c.Competence.Triggers, func(t schema.Trigger) bool {
		f, _ := fit(competence.Conditions(t.Conditions), context)
		return f > 0
	})
}

// promotes reports whether a promoted procedure has the steps of a tentative one. Only the promoted one has the
// checking call as a step.
func promotes(p, tentative Candidate) bool {
	if p.Tentative || p.Competence == nil || tentative.Competence == nil {
		return false
	}
	steps, single := p.Competence.Recipe, align.OfRecipe(tentative.Competence.Recipe)
	last := len(steps) - 1
	return align.Same(align.OfRecipe(steps), single) || last > 0 && steps[last].Validation == competence.CallPasses &&
		align.Same(align.OfRecipe(steps[:last]), single)
}

func weigh(
	s Situation,
	c Candidate,
	context map[string]string,
	problem, intent signature.Signature,
	known align.Known,
	earned map[string]float64,
) (Option, bool) {
	out := Option{ID: c.ID, Tentative: c.Tentative, Evidence: c.Evidence}
	var procedure align.Procedure
	var conditions promote.Conditions
	match := 0.0
	switch {
	case c.Competence != nil:
		procedure = align.OfRecipe(c.Competence.Recipe)
		out.Name, out.Fallbacks, out.FailureModes = c.Competence.SkillName, c.Competence.Fallbacks, c.Competence.FailureModes
		best := 0.0
		for _, t := range c.Competence.Triggers {
			m, when := matches(t.Signal, s, problem, intent), competence.Conditions(t.Conditions)
			if f, _ := fit(when, context); m*f > best {
				best, match, conditions = m*f, m, when
			}
		}
	case c.Plan != nil:
		p, err := plan.Procedure(*c.Plan)
		if err != nil {
			return out, false
		}
		procedure, conditions, earned = p, plan.ConditionsOf(*c.Plan), c.Stats.Earned
		out.Name = c.Plan.PlanID
		match = matches(c.Plan.Intent, s, problem, intent)
	}
	fits, unknown := fit(conditions, context)
	if match < leastLike || fits == 0 || len(procedure.Steps) == 0 {
		return out, false
	}
	out.Unknown, out.InPlace = unknown, c.Stats.ChanceWith(context, earned) >= evidence.InPlace
	out.Confidence = memory.ClampUnit(match * fits * c.Stats.ChanceWith(context, earned))
	if c.Tentative {
		out.Confidence *= tentativeShare
	}
	if c.Elsewhere {
		out.Confidence *= fitUnknown
	}
	values, missing := procedure.Values(known)
	for i, step := range procedure.Steps {
		if !step.Takes(context) {
			continue
		}
		args, without := step.Fill(values)
		unknown := func(name string) bool { return slices.Contains(missing, name) }
		if last := len(out.Steps) - 1; slices.ContainsFunc(without, unknown) && last >= 0 &&
			i == len(procedure.Steps)-1 && !c.Tentative && c.Competence != nil &&
			c.Competence.Recipe[i].Validation == competence.CallPasses {
			// The call that checks is the one that had failed: the caller has it, and runs it again.
			out.Steps[last].Validation = competence.CallPasses
			continue
		}
		for _, name := range without {
			if unknown(name) && !slices.Contains(out.Missing, name) {
				out.Missing = append(out.Missing, name)
			}
		}
		o := Step{Text: step.String(), Tool: step.Tool, Args: args, Optional: step.Optional, Missing: without}
		if c.Competence != nil {
			o.Text, o.Validation = c.Competence.Recipe[i].Step, c.Competence.Recipe[i].Validation
		}
		out.Steps = append(out.Steps, o)
	}
	return out, len(out.Steps) > 0
}

// asWritten lists characters that the text of a signature never has. A signal that has one is the original text of an
// error.
const asWritten = ":'\"ABCDEFGHIJKLMNOPQRSTUVWXYZ"

// matches returns how well a signal matches the situation: 1 for the same problem or task.
func matches(signal string, s Situation, problem, intent signature.Signature) float64 {
	switch {
	case signal == "":
		return 0
	case !problem.IsZero() && (signature.Same(problem, signature.Parse(signal)) ||
		strings.ContainsAny(signal, asWritten) && signature.Same(problem, signature.OfError(signal))):
		return 1
	case !intent.IsZero() && intent.Key() == signature.OfIntent(signal).Key():
		return 1
	}
	best := 0.0
	if s.Error != "" { // an error in other words is another error, unless it contains the signal
		if layers.SignalMatch(signal, s.Error) == 1 {
			best = likeness
		}
	} else if s.Task != "" {
		best = likeness * layers.SignalMatch(signal, s.Task)
	}
	return best
}

// fit returns how well conditions fit the situation, 0 if they do not hold, and the keys that are not known.
func fit(c promote.Conditions, context map[string]string) (float64, []string) {
	if len(c) == 0 {
		return fitUnconditional, nil
	}
	out := fitMatched
	var unknown []string
	for _, key := range slices.Sorted(maps.Keys(c)) {
		v, ok := context[key]
		switch {
		case !ok:
			unknown = append(unknown, key)
			out *= fitUnknown
		case !slices.Contains(c[key], v):
			return 0, nil
		}
	}
	return out, unknown
}
