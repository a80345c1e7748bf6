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

// Constants of the choice. The confidence of a candidate is match × fit × chance.
const (
	Threshold = 0.4 // least confidence of the best option
	leastLike = 0.7 // a candidate with a lower match is for another problem
	likeness  = 0.9 // greatest match of a signal that is only similar to the problem or the task

	fitMatched       = 1.0
	fitUnconditional = 0.9
	fitUnknown       = 0.6  // factor for each condition on a key that the situation lacks
	fitRuledOut      = 0.5  // factor of a tentative candidate whose steps a procedure has for other situations only
	fitRemoves       = 0.75 // factor in the order of options of a repair that removes data
	fitRemoved       = 0.6  // the same of a tentative one
	fitStrange       = 0.45 // the same of a repair that has helped only after calls or with values of another form
	fitMissing       = 0.8  // factor of a repair that needs a value that the situation lacks
	fitForm          = 0.9  // factor of a tentative candidate that helped only after calls of another form
	fitPartial       = 0.95 // factor of a tentative candidate after which the call failed with another error
	close            = 0.1  // with a smaller lead over the second option the choice is unsure
	unsure           = 0.75 // factor of the best option's confidence if the choice is unsure
	maxOthers        = 3
)

// Situation is the agent's situation before the work.
type Situation struct {
	Task        string
	Error       string            // as the tool printed it
	Context     map[string]string // os, project_kind, go_version and so on
	Preferences map[string]string // of the user, by the keys of Context, which takes precedence
	WorkingDir  string
	Failed      *trace.Step // the call that failed
}

// Candidate is a procedure or a plan that the caller may read. It has either Competence or Plan.
type Candidate struct {
	ID         string
	Competence *schema.CompetencePayload
	Plan       *schema.PlanGraphPayload
	Stats      evidence.Stats
	Shown      []evidence.Outcome // the outcomes in Stats, of a tentative candidate
	Tentative  bool               // it helped at least once, but is not promoted
	Elsewhere  bool               // tentative, and helped only on other systems
	OtherForm  bool               // tentative, and helped only in situations of another form
	Partial    bool               // tentative, and the call always failed with another error afterwards
	Evidence   []string           // ids of episodes
	Foreign    bool               // does not belong to the user for whom an outcome is reported
	Shared     bool               // other agents may read it
}

// Step is one step of an option, with its arguments.
type Step struct {
	Text       string
	Tool       string
	Args       json.RawMessage // parameters without a value stay in braces
	Validation string
	Optional   bool
	Missing    []string // parameters without a value: results of earlier steps, and values that the caller must give
}

// Option is a candidate with its parameters filled in for the situation.
type Option struct {
	ID           string
	Name         string
	Steps        []Step
	Confidence   float64  // [0,1]
	Missing      []string // parameters that the caller must give
	Unknown      []string // context keys of its conditions that the situation lacks
	Fallbacks    []string // alternatives, as text
	FailureModes []string
	InPlace      bool // its chance of success is at least evidence.InPlace
	Tentative    bool
	Evidence     []string

	incomplete bool // a repair that needs a value that the situation lacks
	removes    bool // a step of it removes data (removes)
	strange    bool // it has helped only after calls of another form, or with values of another kind
}

// Answer is the advice for a situation.
type Answer struct {
	Best   *Option  // nil if no option has enough confidence
	Others []Option // further options, best first
	// MissingContext lists context keys that the conditions of the options need.
	MissingContext []string
}

// Sure is the confidence at which a caller can stop looking for other help.
const Sure = 0.7

// Sure reports whether the best option has at least the confidence Sure and has helped in situations of this form.
// Otherwise there may be another one that fits better.
func (a Answer) Sure() bool { return a.Best != nil && a.Best.Confidence >= Sure && !a.Best.strange }

// Advise chooses among candidates. It leaves out candidates whose conditions contradict the situation. A candidate that
// has failed recently is not the best option. A tentative candidate never precedes a promoted one that works and needs
// no value that the situation lacks. A repair that removes data comes after one that removes none and works about as
// well. If the conditions of a promoted candidate exclude the situation, a tentative one with the same steps is still
// an option at half its confidence, because conditions are learned from few situations. The result does not depend on
// the order of the candidates.
func Advise(s Situation, candidates []Candidate) Answer {
	now := requestOf(s)
	var options []Option
	earned := now.earned(candidates)
	for _, c := range candidates {
		promoted, ruledOut := known(c, candidates, now.setting)
		if promoted {
			continue
		}
		if o, ok := now.weigh(c, earned); ok {
			if ruledOut {
				o.Confidence *= fitRuledOut
			}
			options = append(options, o)
		}
	}
	slices.SortStableFunc(options, func(a, b Option) int {
		return cmp.Or(place(b)-place(a), promoted(b)-promoted(a), cmp.Compare(b.order(), a.order()),
			strings.Compare(a.ID, b.ID))
	})
	var out Answer
	if len(options) == 0 {
		return out
	}
	best := options[0]
	if len(options) > 1 && options[1].InPlace && options[1].Tentative == best.Tentative && !options[1].removes &&
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

// request is a situation and what follows from it for every candidate.
type request struct {
	Situation
	setting         map[string]string // Context and Preferences, and what the problem and the failed call say
	problem, intent signature.Signature
	known           align.Known // the values for parameters
}

func requestOf(s Situation) request {
	context := maps.Clone(s.Preferences)
	if context == nil {
		context = map[string]string{}
	}
	maps.Copy(context, s.Context)
	problem := signature.OfError(s.Error)
	return request{
		Situation: s,
		setting:   trace.SettingOf(context, problem, s.Failed),
		problem:   problem,
		intent:    signature.OfIntent(s.Task),
		known: align.KnownOf(problem, s.Task,
			trace.Situation{Context: context, WorkingDir: s.WorkingDir, Failed: s.Failed}),
	}
}

func place(o Option) int {
	if o.InPlace {
		return 1
	}
	return 0
}

// order is the confidence by which options are ordered: a repair that removes data comes after one that removes none
// and works about as well, and one that has not helped in situations of this form after one that has.
func (o Option) order() float64 {
	out := o.Confidence
	switch {
	case o.removes && o.Tentative:
		out *= fitRemoved
	case o.removes:
		out *= fitRemoves
	}
	if o.strange {
		out *= fitStrange
	}
	return out
}

func promoted(o Option) int {
	if o.Tentative || o.incomplete || o.strange {
		return 0
	}
	return 1
}

// earned returns the weights of context keys, by the outcomes of all solutions of the problem (evidence.Earned).
func (r request) earned(candidates []Candidate) map[string]float64 {
	var all []evidence.Stats
	for _, c := range candidates {
		if c.Competence != nil && slices.ContainsFunc(c.Competence.Triggers, func(t schema.Trigger) bool {
			return r.matches(t.Signal) == 1
		}) {
			all = append(all, c.Stats)
		}
	}
	return evidence.Earned(all)
}

// known reports whether a promoted procedure has the same steps as a tentative candidate: promoted if the procedure is
// for this context, ruledOut if it is only for others.
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

// holds reports whether no condition of a procedure or a plan contradicts the context.
func (c Candidate) holds(context map[string]string) bool {
	if c.Plan != nil {
		f, _ := fit(plan.ConditionsOf(*c.Plan), context)
		return f > 0
	}
	return slices.ContainsFunc(c.Competence.Triggers, func(t schema.Trigger) bool {
		f, _ := fit(competence.Conditions(t.Conditions), context)
		return f > 0
	})
}

// promotes reports whether p is promoted and has the steps of the tentative candidate. The call that checks the result
// is a step of promoted procedures only, so it is left out of the comparison.
func promotes(p, tentative Candidate) bool {
	if p.Tentative || p.Competence == nil || tentative.Competence == nil {
		return false
	}
	steps, single := p.Competence.Recipe, align.OfRecipe(tentative.Competence.Recipe)
	last := len(steps) - 1
	return align.Same(align.OfRecipe(steps), single) || last > 0 && steps[last].Validation == competence.CallPasses &&
		align.Same(align.OfRecipe(steps[:last]), single)
}

// weigh makes an option of a candidate. It returns false if the candidate does not fit the situation. earned are the
// weights of context keys for procedures; a plan has its own.
func (r request) weigh(c Candidate, earned map[string]float64) (Option, bool) {
	out := Option{ID: c.ID, Tentative: c.Tentative, Evidence: c.Evidence}
	var procedure align.Procedure
	var conditions promote.Conditions
	match := 0.0
	switch {
	case c.Competence != nil:
		procedure = align.OfRecipe(c.Competence.Recipe)
		out.Name, out.Fallbacks, out.FailureModes = c.Competence.SkillName, c.Competence.Fallbacks, c.Competence.FailureModes
		match, conditions = r.bestTrigger(c.Competence.Triggers)
	case c.Plan != nil:
		p, err := plan.Procedure(*c.Plan)
		if err != nil {
			return out, false
		}
		procedure, conditions, earned = p, plan.ConditionsOf(*c.Plan), c.Stats.Earned
		out.Name = c.Plan.PlanID
		match = r.matches(c.Plan.Intent)
	}
	fits, unknown := fit(conditions, r.setting)
	if match < leastLike || fits == 0 || len(procedure.Steps) == 0 {
		return out, false
	}
	chance := c.Stats.ChanceWith(r.setting, earned)
	out.Unknown, out.InPlace = unknown, chance >= evidence.InPlace
	out.Confidence = c.discount(memory.ClampUnit(match * fits * chance))
	r.fillSteps(&out, c, procedure)
	if out.incomplete = r.Error != "" && len(out.Missing) > 0; out.incomplete {
		out.Confidence *= fitMissing
	}
	return out, len(out.Steps) > 0
}

// bestTrigger returns the match and the conditions of the trigger that fits best.
func (r request) bestTrigger(triggers []schema.Trigger) (match float64, conditions promote.Conditions) {
	best := 0.0
	for _, t := range triggers {
		m, when := r.matches(t.Signal), competence.Conditions(t.Conditions)
		if f, _ := fit(when, r.setting); m*f > best {
			best, match, conditions = m*f, m, when
		}
	}
	return match, conditions
}

// discount lowers a confidence by what is known of the candidate itself.
func (c Candidate) discount(confidence float64) float64 {
	if c.Tentative {
		confidence *= tentativeShare
	}
	if c.Elsewhere {
		confidence *= fitUnknown
	}
	if c.OtherForm {
		confidence *= fitForm
	}
	if c.Partial {
		confidence *= fitPartial
	}
	return confidence
}

// fillSteps adds the steps of a candidate that are taken in the situation, with their arguments.
func (r request) fillSteps(out *Option, c Candidate, procedure align.Procedure) {
	values, missing := procedure.Values(r.known)
	unknown := func(name string) bool { return slices.Contains(missing, name) }
	out.strange = c.OtherForm || procedure.Unlike(r.known)
	for i, step := range procedure.Steps {
		if !step.Takes(r.setting) {
			continue
		}
		args, without := step.Fill(values)
		if last := len(out.Steps) - 1; last >= 0 && i == len(procedure.Steps)-1 && !c.Tentative && c.Competence != nil &&
			c.Competence.Recipe[i].Validation == competence.CallPasses {
			repeats := r.Failed != nil && r.Failed.Tool == step.Tool
			out.strange = out.strange || repeats && !procedure.HasForm(step, *r.Failed)
			if repeats || slices.ContainsFunc(without, unknown) {
				// The last step repeats the call that had failed. The caller knows its arguments.
				out.Steps[last].Validation = competence.CallPasses
				continue
			}
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
		out.removes = out.removes || !step.Optional && removes(step.Tool, step.Texts(values))
	}
}

// asWritten has characters that never occur in the text of a signature. A signal with one of them is an error message
// that a person wrote into a record.
const asWritten = ":'\"ABCDEFGHIJKLMNOPQRSTUVWXYZ"

// matches returns how well a signal matches the situation, in [0,1]; 1 means the same problem or task.
func (r request) matches(signal string) float64 {
	switch {
	case signal == "":
		return 0
	case !r.problem.IsZero() && (signature.Same(r.problem, signature.Parse(signal)) ||
		strings.ContainsAny(signal, asWritten) && signature.Same(r.problem, signature.OfError(signal))):
		return 1
	case !r.intent.IsZero() && r.intent.Key() == signature.OfIntent(signal).Key():
		return 1
	}
	best := 0.0
	if r.Error != "" { // an error with other words is another error, unless it contains the whole signal
		if layers.SignalMatch(signal, r.Error) == 1 {
			best = likeness
		}
	} else if r.Task != "" {
		best = likeness * layers.SignalMatch(signal, r.Task)
	}
	return best
}

// fit returns how well the conditions fit the context, and their keys that the context lacks. It returns 0 if a
// condition does not hold.
func fit(c promote.Conditions, context map[string]string) (float64, []string) {
	if len(c) == 0 {
		return fitUnconditional, nil
	}
	out := fitMatched
	var unknown []string
	for _, key := range slices.Sorted(maps.Keys(c)) {
		v, ok := context[key]
		switch {
		case !ok && trace.IsForm(key): // the caller cannot know it
		case !ok:
			unknown = append(unknown, key)
			out *= fitUnknown
		case !slices.Contains(c[key], v):
			return 0, nil
		}
	}
	return out, unknown
}
