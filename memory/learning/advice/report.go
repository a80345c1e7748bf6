package advice

import (
	"slices"
	"time"

	"github.com/mneme/mneme/memory/learning/evidence"
	"github.com/mneme/mneme/memory/learning/signature"
	"github.com/mneme/mneme/schema"
)

// Report is the outcome of work for which advice was given.
type Report struct {
	Used    string         // the candidate that was followed; empty if none was
	Outcome schema.Outcome // if empty, it follows from Steps
	Steps   []StepOutcome
	Context map[string]string
	Agent   string
	User    string // evidence.UserKey of the agent's user for whom the work was done; may be empty
	Session string // the session of the work; may be empty
	At      time.Time
	// Successor is a memory with the same steps that is in the place of Used now. The outcome counts for both.
	Successor string
	// Shown lists those of both for which an episode has already counted this outcome, so it is not counted again.
	Shown []string
}

// about reports whether the outcome of the report is that of a candidate.
func (r Report) about(id string) bool { return id != "" && (id == r.Used || id == r.Successor) }

// StepOutcome is the outcome of one step.
type StepOutcome struct {
	OK      bool
	Skipped bool
	Error   string
}

// Change is the effect of a report on one candidate.
type Change struct {
	ID          string
	Stats       evidence.Stats
	Counted     schema.Outcome // the outcome that Stats now include: success, failure or empty
	FailureMode string         // the failed step and its error; empty if no step failed
}

// Apply returns the effect of a report on the candidates that were offered. The candidate that was followed gets the
// outcome; the others get an occurrence without a trial. A partial outcome does not count, nor does a report without an
// outcome in which a step was skipped.
func Apply(r Report, offered []Candidate) []Change {
	outcome := r.Counted()
	var out []Change
	for _, c := range offered {
		change := Change{ID: c.ID, Stats: c.Stats.Clone()}
		switch {
		case !r.about(c.ID):
			change.Stats.IdleIn(r.contextFor(c))
		case slices.Contains(r.Shown, c.ID):
		case outcome == schema.OutcomeSuccess || outcome == schema.OutcomeFailure:
			change.Counted = outcome
			change.Stats.ObserveIn(r.contextFor(c), outcome == schema.OutcomeSuccess, r.At)
		}
		if c.ID == r.Used {
			change.FailureMode = r.failureMode(c)
		}
		out = append(out, change)
	}
	return out
}

// contextFor returns the context of the report as far as it may be kept with a candidate. What a user's context says is
// not kept with a memory that others read: only values count that are known there.
func (r Report) contextFor(c Candidate) map[string]string {
	if c.Foreign {
		return c.Stats.Known(r.Context)
	}
	return r.Context
}

// Of returns the outcome of a report for a candidate, and false if none is to be counted.
func (r Report) Of(c Candidate) (evidence.Outcome, bool) {
	outcome := r.Counted()
	out := evidence.Outcome{Agent: r.Agent, Session: r.Session, Context: r.contextFor(c),
		OK: outcome == schema.OutcomeSuccess, Idle: !r.about(c.ID), At: r.At}
	if c.Foreign {
		out.Session, out.User = "", r.User
	}
	return out, out.Idle || out.OK || outcome == schema.OutcomeFailure
}

// Counted returns the outcome that the report gives or that follows from its steps, or empty if neither is known.
func (r Report) Counted() schema.Outcome {
	if r.Outcome != "" {
		return r.Outcome
	}
	return r.fromSteps()
}

func (r Report) fromSteps() schema.Outcome {
	if len(r.Steps) == 0 {
		return ""
	}
	for _, s := range r.Steps {
		switch {
		case s.Skipped:
			return ""
		case !s.OK:
			return schema.OutcomeFailure
		}
	}
	return schema.OutcomeSuccess
}

func (r Report) failureMode(c Candidate) string {
	for i, s := range r.Steps {
		if s.OK || s.Skipped || c.Competence == nil || i >= len(c.Competence.Recipe) {
			continue
		}
		if e := signature.OfError(s.Error); !e.IsZero() {
			return c.Competence.Recipe[i].Tool + " may fail: " + e.Text
		}
	}
	return ""
}
