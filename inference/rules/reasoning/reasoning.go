package reasoning

import (
	"context"
	"slices"
	"strings"

	"github.com/mneme/mneme/inference"
	"github.com/mneme/mneme/memory/normalize"
	"github.com/mneme/mneme/memory/sensitive"
	"github.com/mneme/mneme/memory/views"
	"github.com/mneme/mneme/schema/ledger"
)

// Reasoner reflects by rules. The zero value is ready and safe for concurrent use.
//
// Every rule makes findings: a sentence with its events and its importance. The belief is the most important
// findings, in the order in which they ended. If no rule finds anything, it reports the last event.
type Reasoner struct{}

var _ inference.Reasoner = Reasoner{}

const (
	maxFindings   = 4   // sentences of a belief
	maxQuote      = 120 // characters that are quoted of one event
	maxOfOneRule  = 2   // sentences that one rule contributes
	recursAtLeast = 3   // minimum number of events in which a word recurs
)

// finding is a sentence of a belief.
type finding struct {
	text   string
	weight float64
	places []int // of the events that it is based on, in order
}

// rules are applied in this order. Of equally important findings, the one of the earlier rule comes first.
var rules = []func([]ledger.Event) []finding{verdicts, demands, outcomes, failures, decisions, clues, beliefs}

// Reflect implements inference.Reasoner. It uses no model and fails only when ctx is done.
func (Reasoner) Reflect(
	ctx context.Context,
	_ string,
	span []ledger.Event,
) (inference.Belief, inference.Usage, error) {
	if err := ctx.Err(); err != nil {
		return inference.Belief{}, inference.Usage{}, err
	}
	var found []finding
	for _, rule := range rules {
		of := rule(span)
		found = append(found, of[max(0, len(of)-maxOfOneRule):]...) // the latest
	}
	slices.SortStableFunc(found, func(a, b finding) int { return int(1000*b.weight) - int(1000*a.weight) })
	found = found[:min(len(found), maxFindings)]
	if len(found) < maxFindings {
		found = append(found, recurring(span)...)
	}
	if len(found) == 0 {
		found = last(span)
	}
	slices.SortStableFunc(found, func(a, b finding) int { return a.end() - b.end() })
	return belief(span, found), inference.Usage{}, nil
}

// end returns the place of the last event of a finding.
func (f finding) end() int { return f.places[len(f.places)-1] }

func belief(span []ledger.Event, found []finding) inference.Belief {
	var texts []string
	var places []int
	for _, f := range found {
		texts = append(texts, f.text)
		places = append(places, f.places...)
	}
	slices.Sort(places)
	places = slices.Compact(places)
	var out inference.Belief
	for _, place := range places[max(0, len(places)-inference.MaxCitations):] {
		out.BasedOn = append(out.BasedOn, span[place].ID)
	}
	out.Text, _ = normalize.CutChars(strings.Join(texts, " "), inference.MaxBeliefChars)
	return out
}

// quote returns the text of an event on one line, shortened, with a full stop, and without secrets, because every agent
// sees a belief unless the request narrows its visibility.
func quote(e ledger.Event) string {
	text, _ := sensitive.Mask(strings.ToValidUTF8(views.Text(e), "\uFFFD"))
	text, cut := normalize.CutChars(normalize.Collapse(text), maxQuote)
	if text == "" || cut || strings.ContainsAny(text[len(text)-1:], ".!?") {
		return text
	}
	return text + "."
}

// of makes a finding from each event of the given kinds that has a text.
func of(span []ledger.Event, weight float64, lead func(ledger.Event) string, kinds ...string) []finding {
	var out []finding
	for i, e := range span {
		if said := quote(e); said != "" && slices.Contains(kinds, e.Kind) {
			out = append(out, finding{lead(e) + said, weight, []int{i}})
		}
	}
	return out
}

func verdicts(span []ledger.Event) []finding {
	final := of(span, 1, func(ledger.Event) string { return "Final verdict: " }, ledger.KindVerdictFinal)
	if len(final) > 0 {
		return final
	}
	return of(span, 0.90, func(e ledger.Event) string { return "Verdict of " + e.Agent + ": " },
		ledger.KindJudgeVerdict)
}

func demands(span []ledger.Event) []finding {
	return of(span, 0.95, func(ledger.Event) string { return "A user said: " }, ledger.KindUserInjected)
}

func outcomes(span []ledger.Event) []finding {
	return of(span, 0.92, func(ledger.Event) string { return "The run ended: " }, ledger.KindOutcome)
}

func clues(span []ledger.Event) []finding {
	return of(span, 0.80, func(e ledger.Event) string { return e.Agent + " found: " }, ledger.KindClueFound)
}

func beliefs(span []ledger.Event) []finding {
	return of(span, 0.30, func(e ledger.Event) string { return e.Agent + " believes: " }, ledger.KindAgentReflected)
}

// decides are words that make a thought or a speech a decision.
var decides = []string{"decide", "decided", "decision", "chose", "choose", "agreed", "promise", "promised", "must",
	"never", "always", "instead", "because", "from now on", "conclude", "concluded", "the cause", "turns out"}

func decisions(span []ledger.Event) []finding {
	var out []finding
	for _, f := range of(span, 0.70, func(e ledger.Event) string { return e.Agent + ": " },
		ledger.KindAgentSpoke, ledger.KindAgentThought) {
		said := " " + strings.Join(words(views.Text(span[f.end()])), " ") + " "
		if slices.ContainsFunc(decides, func(cue string) bool { return strings.Contains(said, " "+cue+" ") }) {
			out = append(out, f)
		}
	}
	return out
}
