package trace

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/mneme/mneme/memory/learning/signature"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/schema/ledger"
)

// Session finds the attempts in the events of one session, which must be added in ledger order. It keeps at most 1,000
// calls and ignores further ones. Create it with NewSession.
type Session struct {
	meta     Meta
	calls    []call
	byID     map[string]int
	intent   string
	reported string // error report of the user
	env      *schema.Environment
	outcome  schema.Outcome
	working  working
	at       time.Time
}

// Meta has the data of a session that is not in its events.
type Meta struct {
	Episode     string // the id of its episode
	Source      Source
	Sensitivity schema.Sensitivity
}

type call struct {
	step     Step
	started  time.Time
	finished bool
	working  working // when the call began
}

// NewSession returns a session without events.
func NewSession(meta Meta) *Session { return &Session{meta: meta, byID: map[string]int{}} }

// Add adds the next event.
func (s *Session) Add(e ledger.Event) {
	if e.OccurredAt.After(s.at) {
		s.at = e.OccurredAt.UTC()
	}
	switch e.Kind {
	case ledger.KindRunStarted, ledger.KindUserInjected:
		s.said(e)
	case ledger.KindEnvironment:
		if env, ok := ledger.Payload[schema.Environment](e); ok {
			s.merge(env)
		}
	case ledger.KindWorkingUpdated:
		if s.meta.Source.Agent == "" || e.Agent == s.meta.Source.Agent {
			s.working.update(e)
		}
	case ledger.KindToolCalled:
		s.working.blocked = false
		c, ok := ledger.Payload[ledger.ToolCall](e)
		if _, known := s.byID[c.CallID]; !ok || c.CallID == "" || known || len(s.calls) >= maxCalls {
			return
		}
		s.byID[c.CallID] = len(s.calls)
		s.calls = append(s.calls, call{started: e.OccurredAt, working: s.working, step: Step{ID: c.CallID, Tool: c.Tool,
			Args: ArgsOf(c.Args), DependsOn: c.DependsOn}})
	case ledger.KindToolReturned, ledger.KindToolFailed:
		r, ok := ledger.Payload[ledger.ToolResult](e)
		at, known := s.byID[r.CallID]
		if !ok || !known || s.calls[at].finished {
			return
		}
		c := &s.calls[at]
		c.finished = true
		c.step.Took = time.Duration(r.DurationMS) * time.Millisecond
		if took := e.OccurredAt.Sub(c.started); c.step.Took <= 0 && took > 0 {
			c.step.Took = took
		}
		c.step.Results = resultsOf(r.Result)
		if e.Kind == ledger.KindToolFailed {
			c.step.fail(r.Error, r.Result)
		}
	case ledger.KindOutcome:
		if o, ok := ledger.Payload[ledger.Outcome](e); ok {
			s.outcome = o.Outcome
		}
	}
}

// fail records the error of a failed step. If the error text does not look like an error, the output is used.
func (s *Step) fail(problem string, result json.RawMessage) {
	s.Failed = true
	s.Error = signature.OfError(problem)
	if !signature.LooksLikeError(problem) {
		var printed []string
		leaves(decoded(result), maxResults, func(_ string, v Scalar) { printed = append(printed, v.Text) })
		if text := strings.Join(printed, "\n"); signature.LooksLikeError(text) || s.Error.IsZero() {
			s.Error = signature.OfError(text)
		}
	}
}

func (s *Session) said(e ledger.Event) {
	var p struct{ Intent, Task, Goal, Text string }
	if len(e.Payload) == 0 || json.Unmarshal(e.Payload, &p) != nil {
		return
	}
	for _, text := range []string{p.Intent, p.Task, p.Goal, p.Text} {
		switch {
		case strings.TrimSpace(text) == "":
		case signature.LooksLikeError(text):
			if s.reported == "" && len(s.calls) == 0 {
				s.reported = text
			}
		case s.intent == "":
			s.intent = text
		}
	}
}

func (s *Session) merge(env schema.Environment) {
	if s.env == nil {
		s.env = &schema.Environment{ToolVersions: map[string]string{}}
	}
	if env.OS != "" {
		s.env.OS = env.OS
	}
	if env.WorkingDir != "" {
		s.env.WorkingDir = env.WorkingDir
	}
	maps.Copy(s.env.ToolVersions, env.ToolVersions)
	old, _ := decoded(s.env.Context).(map[string]any)
	members, _ := decoded(env.Context).(map[string]any)
	if old == nil {
		old = members
	} else {
		maps.Copy(old, members)
	}
	s.env.Context, _ = json.Marshal(old) // decoded from JSON: no error
}

// OfEpisode returns the attempts of an episode whose events no longer exist. The timeline has errors cut to one line,
// so Session gives better results while the events exist.
func OfEpisode(meta Meta, p schema.EpisodicPayload) []Attempt {
	s := NewSession(meta)
	s.outcome = p.Outcome
	if p.Environment != nil {
		s.merge(*p.Environment)
	}
	events := make(map[string]schema.TimelineEvent, len(p.Timeline))
	for _, e := range p.Timeline {
		events[e.Ref] = e
		if e.T.After(s.at) {
			s.at = e.T
		}
		if e.EventKind == ledger.KindRunStarted || e.EventKind == ledger.KindUserInjected {
			_, text, _ := strings.Cut(e.Summary, ": ")
			payload, _ := json.Marshal(ledger.Text{Text: text}) // a string: no error
			s.said(ledger.Event{Payload: payload})
		}
	}
	for _, node := range p.ToolGraph[:min(len(p.ToolGraph), maxCalls)] {
		step := Step{ID: node.ID, Tool: node.Tool, Args: ArgsOf(node.Args), DependsOn: node.DependsOn}
		e, known := events[node.ResultRef]
		_, text, _ := strings.Cut(e.Summary, ": ")
		if known && e.EventKind == ledger.KindToolFailed {
			step.Failed, step.Error = true, signature.OfRecord(text)
		} else if text != "" {
			step.Results = map[string]string{"": text}
		}
		s.byID[node.ID] = len(s.calls)
		s.calls = append(s.calls, call{step: step, finished: node.ResultRef != ""})
	}
	return s.Attempts()
}

// Attempts returns the attempts, in order.
//
// A problem is the user's report or, without one, the first call that fails. An attempt at it ends in one of these
// ways:
//
//   - The same error occurs again: the attempt has failed.
//   - The call that had failed runs again without an error: the attempt has succeeded. This is also so if it fails with
//     another error, unless the first error occurs again later, which means that it was only hidden.
//   - The call fails with another error and the agent undoes the steps: the attempt has failed.
//   - The session ends: the attempt has the outcome of the session and is not checked.
//
// After a problem was solved, the next failure is another problem. A session without a problem is one attempt at its
// task.
//
// The agent's reports about its work also count. The constraints under which an attempt began are part of its
// situation. A session without an outcome has failed if the agent reports at the end that it is blocked. The questions
// that are open at the end belong to the last attempt.
func (s *Session) Attempts() []Attempt {
	var calls []Step
	under := map[string]working{}
	for _, c := range s.calls {
		if c.finished {
			calls = append(calls, c.step)
			under[c.step.ID] = c.working
		}
	}
	outcome := s.outcome
	if outcome == "" && s.working.blocked {
		outcome = schema.OutcomeFailure
	}
	base := Attempt{Episode: s.meta.Episode, Source: s.meta.Source, At: s.at, Intent: s.intent,
		Sensitivity: s.meta.Sensitivity}
	base.Situation.Context, base.Situation.WorkingDir = contextOf(s.env)
	f := finder{base: base, calls: calls, under: under}
	problem := signature.OfError(s.reported)
	from := 0
	if s.reported == "" {
		from = f.firstFailure(0)
		if from < 0 {
			f.emit(signature.Signature{}, nil, calls, outcome, false)
			return f.leave(s.working.questions)
		}
		if before := calls[:from]; s.outcome == schema.OutcomeSuccess && len(before) > 0 {
			// The task continued after a failure: the calls for the task are a separate attempt.
			f.emit(signature.Signature{}, nil, calls, outcome, false)
		}
		problem = calls[from].Error
		from++
	}
	for !problem.IsZero() {
		next := f.solve(problem, from, outcome)
		if next < 0 {
			break
		}
		if next = f.firstFailure(next); next < 0 {
			break
		}
		problem, from = calls[next].Error, next+1
	}
	return f.leave(s.working.questions)
}

// leave assigns the questions that are open at the end to the last attempt, unless its success was checked.
func (f *finder) leave(questions []string) []Attempt {
	if last := len(f.out) - 1; last >= 0 && !(f.out[last].Checked && f.out[last].Succeeded()) {
		f.out[last].Open = questions
	}
	return f.out
}

type finder struct {
	base  Attempt
	calls []Step
	under map[string]working // the agent's reports about its work, by call
	out   []Attempt
}

func (f *finder) firstFailure(from int) int {
	for i := from; i < len(f.calls); i++ {
		if f.calls[i].Failed && !f.calls[i].Error.IsZero() {
			return i
		}
	}
	return -1
}

// solve emits the attempts at a problem that existed before the call with index from. It returns the index from which
// to search for the next problem, or -1.
func (f *finder) solve(problem signature.Signature, from int, outcome schema.Outcome) int {
	var failed *Step
	if from > 0 {
		failed = &f.calls[from-1]
	}
	start := from
	// A step of a repair may report the same problem as the call that had failed. Or the agent has changed that call, and
	// goes on with another one.
	var other *Step
	for i := from; i < len(f.calls); i++ {
		c := f.calls[i]
		if other != nil && sameCall(*other, c) {
			failed, problem, other = other, other.Error, failed
		}
		switch {
		case c.Failed && signature.Same(c.Error, problem) && failed != nil && !sameCall(*failed, c):
			f.emit(problem, failed, f.calls[start:i], schema.OutcomeFailure, true)
			other, start = &f.calls[i], i+1
		case c.Failed && signature.Same(c.Error, problem):
			f.emit(problem, failed, f.calls[start:i], schema.OutcomeFailure, true)
			failed, start = &f.calls[i], i+1
			if !f.undone(i + 1) {
				problem = c.Error // with the current values
			}
		case !c.Failed && failed != nil && sameCall(*failed, c):
			f.emit(problem, failed, f.calls[start:i+1], schema.OutcomeSuccess, true)
			return i + 1
		case c.Failed && failed != nil && sameCall(*failed, c) && f.undone(i+1):
			f.emit(problem, failed, f.calls[start:i], schema.OutcomeFailure, true)
			start = i + 1
		case c.Failed && failed != nil && sameCall(*failed, c) && !c.Error.IsZero() && !f.comesBack(problem, i+1):
			passed := c // the call passed as far as this problem is concerned
			passed.Failed, passed.Error = false, signature.Signature{}
			before := len(f.out)
			f.emit(problem, failed, append(slices.Clone(f.calls[start:i]), passed), schema.OutcomeSuccess, true)
			for n := range f.out[before:] {
				f.out[before+n].Partial = true
			}
			return i
		}
	}
	f.emit(problem, failed, f.calls[start:], outcome, false)
	return -1
}

// undone reports whether the call with index from takes back the calls before it.
func (f *finder) undone(from int) bool { return from < len(f.calls) && f.calls[from].undo() }

// comesBack reports whether a call with index from or later fails with the problem.
func (f *finder) comesBack(problem signature.Signature, from int) bool {
	return slices.ContainsFunc(f.calls[from:], func(c Step) bool {
		return c.Failed && signature.Same(c.Error, problem)
	})
}

func (f *finder) emit(
	problem signature.Signature,
	failed *Step,
	steps []Step,
	outcome schema.Outcome,
	checked bool,
) {
	if outcome == schema.OutcomeFailure && len(steps) > 0 && !slices.ContainsFunc(steps, func(s Step) bool {
		return !s.undo()
	}) {
		return // going back is no try
	}
	a := f.base
	a.Problem, a.Outcome, a.Checked, a.Situation.Failed = problem, outcome, checked, failed
	a.Steps = withoutUndone(steps, outcome == schema.OutcomeSuccess && checked)
	if len(steps) > 0 {
		w := f.under[steps[0].ID]
		a.Bound, a.Situation.Context = w.bound, w.bind(a.Situation.Context)
	}
	if len(a.Done()) == 0 && len(steps) == 0 || len(steps) > MaxSteps || a.Key() == "" {
		return
	}
	a.ID = a.Episode + "#" + strconv.Itoa(len(f.out)+1)
	f.out = append(f.out, a)
}

// sameCall reports whether two calls are of one tool with the same arguments.
func sameCall(a, b Step) bool { return a.Tool == b.Tool && maps.Equal(a.Args, b.Args) }
