package lifecycle

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"time"

	"github.com/google/uuid"

	"github.com/mneme/mneme/memory"
	"github.com/mneme/mneme/memory/layers"
	"github.com/mneme/mneme/memory/revision"
	"github.com/mneme/mneme/schema"
)

// verdictWeights are the weights of verdicts, as shares of the profile's gain (document 004 §15.6: a record is
// reinforced when it was retrieved and contributed to success, and penalised when it was retrieved and not used, or
// contributed to failure). A failure undoes a success. An unused result weighs a quarter of a failure, because the
// question may be the cause.
var verdictWeights = map[schema.Verdict]float64{
	schema.VerdictSucceeded: 1, schema.VerdictPartly: 0.5, schema.VerdictFailed: -1, schema.VerdictUnused: -0.25,
}

// confidenceTrials is the number of outcomes as which a procedure's initial confidence counts, the same as for a
// claimed rate in selection.
const confidenceTrials = layers.ClaimedTrials

// Counters of outcomes. A partial success is in neither: if it counted as a half, a procedure that never finished could
// get a high rate.
const (
	CountedSuccess = "success"
	CountedFailure = "failure"
)

// ItemVerdict is the verdict of feedback on one memory.
type ItemVerdict struct {
	MemoryID uuid.UUID
	Verdict  schema.Verdict
	Returned bool // the retrieval that the feedback refers to returned it
	Fill     bool // does not replace an earlier verdict
}

// Verdicts returns the verdict of a request on each memory that it names or the retrieval returned: first the memories
// that the request names, in its order, then the others, in the retrieval's order. The request must be validated.
func Verdicts(r schema.FeedbackRequest, returned []uuid.UUID) []ItemVerdict {
	was, done := make(map[uuid.UUID]bool, len(returned)), map[uuid.UUID]bool{}
	for _, id := range returned {
		was[id] = true
	}
	out := make([]ItemVerdict, 0, len(r.Items))
	for _, item := range r.Items {
		id, err := uuid.Parse(item.MemoryID)
		if err != nil || done[id] {
			continue
		}
		done[id] = true
		out = append(out, ItemVerdict{MemoryID: id, Verdict: r.VerdictOf(item), Returned: was[id]})
	}
	rest := r.Rest()
	for _, id := range returned {
		if rest == "" || done[id] {
			continue
		}
		done[id] = true
		out = append(out, ItemVerdict{MemoryID: id, Verdict: rest, Returned: true, Fill: r.AllOthersUnused})
	}
	return out
}

// Rated is the current state of a memory for feedback.
type Rated struct {
	Type       schema.MemoryType
	Payload    json.RawMessage
	Confidence float64 // [0,1]
	Pinned     bool
	CreatedAt  time.Time
	Decay      memory.Decay
	Salience   float64 // [0,1], as of SalienceAt
	SalienceAt time.Time
}

// PriorVerdict is an earlier verdict on the same memory and retrieval.
type PriorVerdict struct {
	Verdict schema.Verdict
	Moved   float64   // change of salience, [-1,1], as of At
	Counted string    // CountedSuccess, CountedFailure or ""
	At      time.Time // when it took effect

	BySource bool // its effect is kept in the SourceVerdicts of its source; see ReinforceFrom
}

// Reinforcement is the effect of feedback on a memory.
type Reinforcement struct {
	// Status is reinforced, penalised or corrected, or unchanged: then only Before and After are set.
	Status          schema.FeedbackStatus
	Before          float64   // present salience
	After           float64   // salience after the feedback
	revision.Fading           // stored values after the feedback: Salience is as of SalienceAt, which may be before At
	At              time.Time // when it takes effect

	Weight     float64 // weight of the verdict, [-1,1]
	Moved      float64 // change of salience, [-1,1], as of At
	Counted    string
	Reinforced bool            // it helped: At becomes the time of the last reinforcement
	Confidence float64         // after, [0,1]
	Payload    json.RawMessage // after; nil means unchanged
	Outcomes   *Outcomes       // of a procedure or a plan, after

	Held schema.ReportHeld // why it does not count for others; see ReinforceFrom
}

// Outcomes has the numbers of successes and failures of a procedure or a plan.
type Outcomes struct{ Successes, Failures int64 }

// Reinforce computes the effect of a verdict on a memory at a time (document 004 §11, §15.6, §15A.7). earlier is the
// previous verdict on the same memory and retrieval, or nil. The same verdict again changes nothing. A different one
// corrects it: the remaining effect of the previous verdict and its count are undone, and then the new verdict applies
// from now on, as if it were the first.
//
// Salience moves by ReinforcementGain × weight from its present value. The change takes effect now, even if the
// retrieval was long ago, but not before SalienceAt, so that a memory does not fade twice if the clock was set back. A
// pinned memory does not fade, so its salience stays as of the time of the pin.
//
// A positive verdict restarts the curve at that moment. A negative verdict keeps the memory on its curve, which is
// lowered in proportion, or raised if the verdict corrects a worse one. If it restarted a curve that falls at its
// end, such as a linear one, a memory that has just failed would be due later.
//
// The undo is exact if salience was not raised in between, and always on an exponential curve, which has no memory.
// On other curves a rise restarts the curve, and a pinned or deleted memory does not fade: then the error is smaller
// than the effect.
//
// Procedures and plans also count their outcomes: a success or a failure in performance or metrics, with the rates
// and the time of the last use. Their confidence follows (document 004 §8): see observe. Counts replace a rate that
// was claimed without counts.
func Reinforce(m Rated, v schema.Verdict, earlier *PriorVerdict, now time.Time) (Reinforcement, error) {
	r, err := begin(m, v, now)
	if err != nil || r.repeats(earlier) {
		return r.Reinforcement, err
	}
	return r.end(earlier, undoing(earlier), 1, time.Time{})
}

// reinforcing is the computation of a Reinforcement.
type reinforcing struct {
	Reinforcement
	m           Rated
	verdict     schema.Verdict
	now         time.Time
	fadesUntil  time.Time // a pinned memory does not fade after it
	performance tally
}

// undone is an effect that is taken back.
type undone struct {
	PriorVerdict
	times int // number of outcomes that were counted
}

// undoing returns the effect of an earlier verdict, unless that is kept with its source.
func undoing(earlier *PriorVerdict) []undone {
	if earlier == nil || earlier.BySource {
		return nil
	}
	return []undone{{*earlier, 1}}
}

func begin(m Rated, v schema.Verdict, now time.Time) (r reinforcing, err error) {
	weight, ok := verdictWeights[v]
	if !ok {
		return r, fmt.Errorf("a verdict that is not known")
	}
	at := m.SalienceAt
	if now.After(at) {
		at = now
	}
	fadesUntil := at
	if m.Pinned {
		fadesUntil = m.SalienceAt
	}
	r = reinforcing{m: m, verdict: v, now: now, fadesUntil: fadesUntil, Reinforcement: Reinforcement{
		Before:     m.Decay.Salience(m.Salience, fadesUntil.Sub(m.SalienceAt)),
		At:         at,
		Weight:     weight,
		Confidence: m.Confidence,
	}}
	if r.performance, err = performanceOf(m); err != nil {
		return reinforcing{}, err
	}
	if r.counts() {
		r.Outcomes = &Outcomes{r.performance.Successes, r.performance.Failures}
	}
	return r, nil
}

// counts reports whether the memory counts outcomes.
func (r *reinforcing) counts() bool { return r.performance.where != "" }

// repeats reports whether the verdict is the same as the earlier one on the same retrieval. Then it changes nothing.
func (r *reinforcing) repeats(earlier *PriorVerdict) bool {
	if earlier == nil || earlier.Verdict != r.verdict {
		return false
	}
	r.Status, r.After = schema.FeedbackUnchanged, r.Before
	return true
}

// end takes effects back and then counts the verdict a number of times. A verdict that helped, and neither counts nor
// takes anything back, restores what has faded since the given time.
func (r *reinforcing) end(earlier *PriorVerdict, undo []undone, times int, since time.Time) (Reinforcement, error) {
	m, out := r.m, &r.Reinforcement
	base := out.Before
	for _, u := range undo {
		base = max(memory.ClampUnit(base-m.left(u.PriorVerdict, r.fadesUntil)), memory.ClampUnit(m.Decay.Floor))
	}
	out.After = m.Decay.Reinforce(base, out.Weight*float64(times))
	out.Moved = out.After - base
	if times == 0 && len(undo) == 0 && out.Weight > 0 && !since.IsZero() {
		faded := m.Decay.Salience(m.Salience, min(since.Sub(m.SalienceAt), r.fadesUntil.Sub(m.SalienceAt)))
		out.After = max(base, min(faded, m.Decay.Reinforce(base, out.Weight)))
	}
	out.Salience, out.SalienceAt = out.After, r.fadesUntil
	if helped := out.Weight > 0 && out.After >= out.Before; !helped {
		if base, ok := m.onCurve(*out); ok {
			out.Salience, out.SalienceAt = base, m.SalienceAt
		}
	}
	if due, ok := m.Decay.DueAt(out.Salience, out.SalienceAt, m.CreatedAt, m.Pinned); ok {
		if due.Before(r.now) {
			due = r.now // it became due by this verdict
		}
		out.DueAt = &due
	}
	out.Status, out.Reinforced = schema.FeedbackPenalised, out.Weight > 0
	switch {
	case earlier != nil:
		out.Status = schema.FeedbackCorrected
	case out.Reinforced:
		out.Status = schema.FeedbackReinforced
	}
	if !r.counts() {
		return *out, nil
	}
	for _, u := range undo {
		for range u.times {
			r.performance.takeBack(u.Counted, &out.Confidence)
		}
	}
	if times > 0 {
		out.Counted = countedAs(r.verdict)
	}
	for range times {
		r.performance.count(out.Counted, &out.Confidence)
	}
	changed := r.performance.Outcomes != *out.Outcomes
	*out.Outcomes = r.performance.Outcomes
	var err error
	if used := r.verdict != schema.VerdictUnused; used || changed {
		out.Payload, err = r.performance.payload(changed, used, out.At)
	}
	return *out, err
}

// countedAs returns the counter of a verdict, or "".
func countedAs(v schema.Verdict) string {
	switch v {
	case schema.VerdictSucceeded:
		return CountedSuccess
	case schema.VerdictFailed:
		return CountedFailure
	}
	return ""
}

// onCurve returns the base, as of SalienceAt, with which the memory has the salience After on its present curve. It
// returns false if there is none, because the salience is at the floor or the base would be above 1.
func (m Rated) onCurve(r Reinforcement) (float64, bool) {
	if r.After == r.Before {
		return m.Salience, true
	}
	if r.Before <= memory.ClampUnit(m.Decay.Floor) {
		return 0, false
	}
	base := m.Salience * (r.After / r.Before)
	return base, base <= 1
}

// left returns the remaining part of an earlier verdict's change at a time. It fades like the salience, which is
// proportional to its base on every curve.
func (m Rated) left(s PriorVerdict, at time.Time) float64 {
	if !at.After(s.At) { // as under a pin
		return s.Moved
	}
	begun := m.SalienceAt
	if s.At.Before(begun) {
		begun = s.At // the curve was restarted since; assume that it was restarted at that time
	}
	was := m.Decay.Share(s.At.Sub(begun))
	if was == 0 {
		return 0
	}
	return s.Moved * m.Decay.Share(at.Sub(begun)) / was
}

// tally has the outcomes in a payload. Unknown members are kept.
type tally struct {
	Outcomes
	where   string // member of the payload with the outcomes
	members map[string]json.RawMessage
	stats   map[string]json.RawMessage
}

// performanceOf reads the outcomes of a procedure or a plan; other memories have none.
func performanceOf(m Rated) (t tally, err error) {
	switch m.Type {
	case schema.TypeCompetence:
		t.where = "performance"
	case schema.TypePlanGraph:
		t.where = "metrics"
	default:
		return t, nil
	}
	if err := json.Unmarshal(m.Payload, &t.members); err != nil {
		return t, fmt.Errorf("payload: %w", err)
	}
	var known schema.Performance
	if raw := t.members[t.where]; len(raw) > 0 {
		if err := cmp.Or(json.Unmarshal(raw, &t.stats), json.Unmarshal(raw, &known)); err != nil {
			return t, fmt.Errorf("payload.%s: %w", t.where, err)
		}
	}
	if t.stats == nil {
		t.stats = map[string]json.RawMessage{}
	}
	t.Outcomes = Outcomes{max(0, known.SuccessCount), max(0, known.FailureCount)}
	return t, nil
}

// of returns the count that an outcome belongs to, and its value for the confidence; nil if it has none.
func (o *Outcomes) of(counted string) (*int64, float64) {
	switch counted {
	case CountedSuccess:
		return &o.Successes, 1
	case CountedFailure:
		return &o.Failures, 0
	}
	return nil, 0
}

func (o *Outcomes) count(counted string, confidence *float64) {
	n, outcome := o.of(counted)
	if n == nil || *n == math.MaxInt64 {
		return
	}
	*confidence = observe(*confidence, o.trials(), outcome)
	*n++
}

// takeBack undoes count. A count that was set to 0 since is not changed.
func (o *Outcomes) takeBack(counted string, confidence *float64) {
	n, outcome := o.of(counted)
	if n == nil || *n == 0 {
		return
	}
	*n--
	*confidence = forget(*confidence, o.trials(), outcome)
}

func (o *Outcomes) trials() float64 { return float64(o.Successes) + float64(o.Failures) }

// observe returns a confidence after one more outcome, 1 for a success and 0 for a failure, given the number of trials
// before. It is the success rate with additive smoothing, in which the initial confidence counts as confidenceTrials
// outcomes: (3 × first + successes) / (3 + trials). So it stays in [0,1], changes by at most a quarter, and less with
// more trials. It does not depend on the order of outcomes and can be undone.
func observe(confidence, trials, outcome float64) float64 {
	seen := confidenceTrials + trials
	return memory.ClampUnit((memory.ClampUnit(confidence)*seen + outcome) / (seen + 1))
}

// forget undoes observe. trials is the number without the outcome.
func forget(confidence, trials, outcome float64) float64 {
	seen := confidenceTrials + trials
	return memory.ClampUnit((memory.ClampUnit(confidence)*(seen+1) - outcome) / seen)
}

// payload returns the payload with the current outcomes.
func (t tally) payload(changed, used bool, at time.Time) (json.RawMessage, error) {
	set := map[string]any{}
	switch {
	case !changed:
	case t.trials() > 0:
		set["success_count"], set["failure_count"] = t.Successes, t.Failures
		set["success_rate"], set["failure_rate"] = float64(t.Successes)/t.trials(), float64(t.Failures)/t.trials()
	default: // the only outcome was taken back: no rate was observed
		for _, name := range []string{"success_count", "failure_count", "success_rate", "failure_rate"} {
			delete(t.stats, name)
		}
	}
	var last time.Time
	_ = json.Unmarshal(t.stats["last_used_at"], &last) // stored payloads are valid
	if used && at.After(last) {
		set["last_used_at"] = at.UTC()
	}
	for name, value := range set {
		encoded, err := json.Marshal(value)
		if err != nil {
			return nil, fmt.Errorf("payload.%s.%s: %w", t.where, name, err)
		}
		t.stats[name] = encoded
	}
	stats, err := json.Marshal(t.stats)
	if err != nil {
		return nil, fmt.Errorf("payload.%s: %w", t.where, err)
	}
	t.members[t.where] = stats
	return json.Marshal(t.members)
}
