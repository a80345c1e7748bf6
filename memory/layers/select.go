package layers

import (
	"cmp"
	"encoding/json"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/mneme/mneme/memory"
	"github.com/mneme/mneme/memory/rank"
	"github.com/mneme/mneme/schema"
)

// Names of the channel and the stages of selection.
const (
	ChannelSignals = "signals"   // procedures and plans by their purpose
	StageSelection = "selection" // the selection among them
)

// Constants of selection (document 004 §15A.11). A candidate's score is
//
//	fit × (selectBase + selectSuccess·success + selectRecency·recency)
//
// Fit is a factor, so a procedure that does not apply has score 0 even if it often worked. Observed success weighs
// three times as much as recency.
const (
	selectBase    = 0.30
	selectSuccess = 0.55
	selectRecency = 0.15

	// SelectThreshold is the minimum confidence to select a candidate. A candidate that certainly applies reaches it
	// with two successes and no failure. A candidate that worked twice in twelve never does, and neither does one that
	// is not known to apply.
	SelectThreshold = 0.5
	// clearMargin is the lead over the next candidate from which the confidence is not reduced; a tie halves it.
	clearMargin = 0.15

	fitUnconditional = 0.8 // procedures whose conditions hold come before those without conditions
	fitUnknown       = 0.5 // for each condition whose key the context does not name

	// minMatch is the minimum match of a candidate. A trigger with at least firedMatch counts as fired, and then the
	// other triggers of the memory are ignored.
	minMatch   = 0.3
	firedMatch = 0.5
	// queryMatch is the weight of a match with the query, or of a channel's score, compared with a match with the
	// intent or the error.
	queryMatch = 0.8

	untriedSuccess  = 0.2 // success rate before the first trial, above that of a solution that mostly failed
	ClaimedTrials   = 3   // a rate without counts counts as this many trials
	recencyHalfLife = 30 * 24 * time.Hour
	wilsonZ         = 1.645 // one-sided, 95 %

	maxChoices       = 10 // candidates shown
	maxMissingValues = 8  // values shown for a missing key
	maxSignalWords   = 512
)

// Situation describes the request of a selection.
type Situation struct {
	Query, Intent, ErrorSignature string
	Context                       json.RawMessage // an object of scalars; empty if nothing is known
	Now                           time.Time
}

// Solution is an authorised procedure or plan.
type Solution struct {
	ID           uuid.UUID
	Type         schema.MemoryType // competence or plan_graph
	Payload      json.RawMessage
	ReinforcedAt time.Time
	Evidence     float64 // score of the channels, [0,1]

	// Outcomes that the reader has reported by feedback, and that do not count for others.
	HeldSuccesses, HeldFailures int64
}

// Select ranks the solutions of one type that match the situation (document 004 §15A.11), by applicability of their
// conditions, observed success, and recency of reinforcement. If the first one reaches SelectThreshold, it is
// selected. Otherwise MissingContext lists the keys that would decide. Solutions that the context contradicts are
// never selected and are returned in ruledOut, even if they do not match. The result does not depend on the order of
// solutions.
func Select(s Situation, layer schema.LayerName, solutions []Solution) (out schema.Selection, ruledOut []uuid.UUID) {
	out = schema.Selection{
		Layer:          layer,
		Threshold:      SelectThreshold,
		Candidates:     []schema.Choice{},
		MissingContext: []schema.MissingKey{},
	}
	known, compared := contextOf(s.Context), contextOf(memory.ComparedContext(s.Context))
	wanted := s.wanted()
	needs := map[string]conditions{} // by candidate
	for _, solution := range solutions {
		choice, conditions := weigh(s, known, compared, wanted, solution)
		if choice.Applicability == schema.ApplicabilityContradicted {
			ruledOut = append(ruledOut, solution.ID)
		}
		if choice.Match < minMatch {
			continue
		}
		out.Candidates = append(out.Candidates, choice)
		if choice.Applicability != schema.ApplicabilityContradicted {
			needs[choice.ID] = conditions
		}
	}
	slices.SortFunc(out.Candidates, func(a, b schema.Choice) int {
		return cmp.Or(
			cmp.Compare(contradicted(a), contradicted(b)),
			cmp.Compare(b.Score, a.Score),
			cmp.Compare(b.Match, a.Match),
			cmp.Compare(a.ID, b.ID),
		)
	})
	out.Confidence = confidence(out.Candidates)
	if len(out.Candidates) > 0 && out.Confidence >= SelectThreshold {
		out.Selected = out.Candidates[0].ID
	} else {
		out.MissingContext = missingKeys(known, needs)
	}
	return out, ruledOut
}

// TrimSelection limits the candidates of a selection to the number that is shown.
func TrimSelection(s schema.Selection) schema.Selection {
	s.Candidates = s.Candidates[:min(len(s.Candidates), maxChoices)]
	return s
}

func contradicted(c schema.Choice) int {
	if c.Applicability == schema.ApplicabilityContradicted {
		return 1
	}
	return 0
}

// confidence returns the score of the first candidate, reduced by up to half if the second one is close.
func confidence(ranked []schema.Choice) float64 {
	if len(ranked) == 0 || contradicted(ranked[0]) == 1 {
		return 0
	}
	lead := ranked[0].Score
	if len(ranked) > 1 {
		lead -= ranked[1].Score
	}
	return ranked[0].Score * (0.5 + 0.5*min(1, lead/clearMargin))
}

// conditions maps each key to its admitted values.
type conditions map[string][]string

// option is one way in which a solution may apply.
type option struct {
	match      float64
	conditions conditions
	verdict    schema.Applicability
	fit        float64
	missing    []string
}

// weigh computes a solution's signals.
func weigh(
	s Situation,
	known, compared map[string]json.RawMessage,
	wanted []wantedText,
	solution Solution,
) (schema.Choice, conditions) {
	options, performance, tools := optionsOf(wanted, solution)
	var best option
	for i, o := range options {
		o.settle(known, compared)
		if i == 0 ||
			o.verdict != schema.ApplicabilityContradicted &&
				(best.verdict == schema.ApplicabilityContradicted || o.fit > best.fit) {
			best = o
		}
	}
	for _, tool := range tools {
		if memory.Canonical(known[tool]) == "false" {
			best.verdict, best.fit, best.missing = schema.ApplicabilityContradicted, 0, nil
		}
	}
	successes, failures, rate := observed(solution.known(performance))
	choice := schema.Choice{
		ID:            solution.ID.String(),
		Applicability: best.verdict,
		Match:         best.match,
		Fit:           best.fit,
		Missing:       best.missing,
		Successes:     successes,
		Failures:      failures,
		SuccessRate:   rate,
		Recency:       recency(s.Now, solution.ReinforcedAt),
		ReinforcedAt:  solution.ReinforcedAt,
	}
	choice.Score = choice.Fit * (selectBase + selectSuccess*choice.SuccessRate + selectRecency*choice.Recency)
	return choice, best.conditions
}

// known returns the outcomes that count for the reader.
func (s Solution) known(p *schema.Performance) *schema.Performance {
	if s.HeldSuccesses == 0 && s.HeldFailures == 0 {
		return p
	}
	var out schema.Performance
	if p != nil {
		out = *p
	}
	out.SuccessCount, out.FailureCount = max(0, out.SuccessCount)+s.HeldSuccesses, max(0, out.FailureCount)+s.HeldFailures
	return &out
}

// optionsOf returns the ways in which a solution may apply to the request, at least one. The triggers of a procedure
// are alternatives. Only triggers whose signal matches count. If none matches, the procedure was found by other words,
// and any trigger may apply.
func optionsOf(wanted []wantedText, solution Solution) ([]option, *schema.Performance, []string) {
	base := queryMatch * memory.ClampUnit(solution.Evidence)
	if solution.Type == schema.TypePlanGraph {
		var p schema.PlanGraphPayload
		_ = json.Unmarshal(solution.Payload, &p) // stored payloads are valid
		base = max(base, bestMatch(p.Intent, wanted), bestMatch(p.PlanID, wanted))
		return []option{{match: base, conditions: constraints(p.Constraints)}}, p.Metrics, nil
	}
	var p schema.CompetencePayload
	_ = json.Unmarshal(solution.Payload, &p)
	base = max(base, bestMatch(p.SkillName, wanted))
	var fired, all []option
	for _, trigger := range p.Triggers {
		o := option{
			match:      bestMatch(trigger.Signal, wanted),
			conditions: memory.AdmittedBy(schema.Validity{Conditions: trigger.Conditions}),
		}
		if o.match >= firedMatch {
			fired = append(fired, o)
		}
		o.match = max(o.match, base)
		all = append(all, o)
	}
	switch {
	case len(fired) > 0:
		return fired, p.Performance, p.RequiredTools
	case len(all) > 0:
		return all, p.Performance, p.RequiredTools
	}
	return []option{{match: base}}, p.Performance, p.RequiredTools
}

// constraints parses the conditions of a plan: an object, or a list of objects that must all hold. Other elements of
// a list cannot be checked and are ignored.
func constraints(raw json.RawMessage) conditions {
	var list []json.RawMessage
	if json.Unmarshal(raw, &list) != nil {
		return memory.AdmittedBy(schema.Validity{Conditions: raw})
	}
	out := conditions{}
	for _, one := range list {
		for key, values := range memory.AdmittedBy(schema.Validity{Conditions: one}) {
			if earlier, ok := out[key]; ok { // both must hold
				values = slices.DeleteFunc(slices.Clone(values), func(v string) bool {
					return !slices.Contains(earlier, v)
				})
			}
			out[key] = values
		}
	}
	return out
}

// settle decides whether the option applies. A value holds as it was given or in the form in which learned conditions
// are stored. As in memory.Holds, a key that the context does not name contradicts
// nothing, and a list admits any of its elements.
func (o *option) settle(known, compared map[string]json.RawMessage) {
	o.verdict, o.fit = schema.ApplicabilityUnconditional, o.match*fitUnconditional
	if len(o.conditions) == 0 {
		return
	}
	for _, key := range slices.Sorted(maps.Keys(o.conditions)) {
		value, ok := known[key]
		switch {
		case !ok:
			o.missing = append(o.missing, key)
		case !slices.Contains(o.conditions[key], memory.Canonical(value)) &&
			!slices.Contains(o.conditions[key], memory.Canonical(compared[key])):
			o.verdict, o.fit, o.missing = schema.ApplicabilityContradicted, 0, nil
			return
		}
	}
	unknown := float64(len(o.missing)) / float64(len(o.conditions))
	o.verdict, o.fit = schema.ApplicabilityMatched, o.match*(1-unknown*(1-fitUnknown))
	if unknown > 0 {
		o.verdict = schema.ApplicabilityUnknown
	}
}

// observed returns the known successes and failures, and the lower bound of the success rate.
func observed(p *schema.Performance) (successes, failures int64, rate float64) {
	if p == nil {
		return 0, 0, untriedSuccess
	}
	successes, failures = max(0, p.SuccessCount), max(0, p.FailureCount)
	claimed := -1.0
	switch {
	case p.SuccessRate != nil:
		claimed = *p.SuccessRate
	case p.FailureRate != nil:
		claimed = 1 - *p.FailureRate
	}
	switch {
	case successes > 0 || failures > 0:
		return successes, failures, SuccessBound(float64(successes), float64(failures))
	case claimed >= 0:
		return 0, 0, SuccessBound(ClaimedTrials*memory.ClampUnit(claimed), ClaimedTrials*(1-memory.ClampUnit(claimed)))
	}
	return 0, 0, untriedSuccess
}

// SuccessBound returns the lower end of the Wilson score interval of a success rate, one-sided at 95 %. It is 0.43 for
// two of two, 0.79 for ten of ten, 0.06 for two of twelve, and 0 without trials. Counts must not be negative.
func SuccessBound(successes, failures float64) float64 {
	n := successes + failures
	if n <= 0 {
		return 0
	}
	const z2 = wilsonZ * wilsonZ
	rate := successes / n
	centre := rate + z2/(2*n)
	spread := wilsonZ * math.Sqrt(rate*(1-rate)/n+z2/(4*n*n))
	return memory.ClampUnit(min(rate, (centre-spread)/(1+z2/n))) // rounding may raise it above the rate
}

// recency returns a value that halves every 30 days since the last reinforcement.
func recency(now, reinforced time.Time) float64 {
	if reinforced.IsZero() {
		return 0
	}
	since := max(0, now.Sub(reinforced))
	return math.Exp2(-float64(since) / float64(recencyHalfLife))
}

// missingKeys returns the keys in the conditions of candidates that the context does not name, the most useful first.
// That is the key whose value rules out the most candidates on average, if all values that candidates name, and any
// other value, are equally likely.
func missingKeys(known map[string]json.RawMessage, needs map[string]conditions) []schema.MissingKey {
	out := []schema.MissingKey{}
	named := map[string][][]string{} // by key, the values that each candidate admits
	for _, id := range slices.Sorted(maps.Keys(needs)) {
		for key, values := range needs[id] {
			if _, ok := known[key]; !ok {
				named[key] = append(named[key], values)
			}
		}
	}
	for key, admitted := range named {
		var values []string
		for _, v := range admitted {
			values = append(values, v...)
		}
		slices.Sort(values)
		values = slices.Compact(values)
		ruledOut := len(admitted) // by any other value
		for _, value := range values {
			for _, v := range admitted {
				if !slices.Contains(v, value) {
					ruledOut++
				}
			}
		}
		missing := schema.MissingKey{Key: key, Splits: float64(ruledOut) / float64((len(values)+1)*len(needs))}
		for _, value := range values[:min(len(values), maxMissingValues)] {
			missing.Values = append(missing.Values, json.RawMessage(value))
		}
		out = append(out, missing)
	}
	slices.SortFunc(out, func(a, b schema.MissingKey) int {
		return cmp.Or(cmp.Compare(b.Splits, a.Splits), cmp.Compare(a.Key, b.Key))
	})
	return out
}

func contextOf(context json.RawMessage) map[string]json.RawMessage {
	var out map[string]json.RawMessage
	_ = json.Unmarshal(context, &out) // validated
	return out
}

// ApplySelections applies the selections to the ranking. It raises the score of a candidate to that of its choice, and
// removes solutions that were ruled out. Candidates that the ranking had dropped are added from solutions.
func ApplySelections(
	ranked, solutions []rank.Evidence,
	selections []schema.Selection,
	ruledOut []uuid.UUID,
) []rank.Evidence {
	choices := map[string]schema.Choice{}
	for _, s := range selections {
		for _, c := range s.Candidates {
			choices[c.ID] = c
		}
	}
	out := make([]rank.Evidence, 0, len(ranked)+len(choices))
	seen := map[uuid.UUID]bool{}
	take := func(e rank.Evidence) {
		if seen[e.ID] || slices.Contains(ruledOut, e.ID) {
			return
		}
		seen[e.ID] = true
		if choice, ok := choices[e.ID.String()]; ok && choice.Score > e.Score {
			e.Steps = slices.Clone(e.Steps)
			e.Set(StageSelection, choice.Score, "for the task: "+string(choice.Applicability))
		}
		out = append(out, e)
	}
	for _, e := range ranked {
		take(e)
	}
	for _, e := range solutions {
		if _, ok := choices[e.ID.String()]; ok {
			take(e)
		}
	}
	rank.Rank(out)
	return out
}

// SelectedFirst moves the selected ids to the front.
func SelectedFirst(ids []string, selections []schema.Selection) []string {
	out := slices.Clone(ids)
	slices.SortStableFunc(
		out,
		func(a, b string) int { return cmp.Compare(isSelected(selections, b), isSelected(selections, a)) },
	)
	return out
}

func isSelected(selections []schema.Selection, id string) int {
	for _, s := range selections {
		if s.Selected == id {
			return 1
		}
	}
	return 0
}
