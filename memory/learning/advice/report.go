package advice

import (
	"time"

	"github.com/mneme/mneme/memory/learning/evidence"
	"github.com/mneme/mneme/memory/learning/signature"
	"github.com/mneme/mneme/schema"
)

// Report says how it went.
type Report struct {
	Used    string         // the candidate that was followed; empty: something else was done
	Outcome schema.Outcome // empty: it follows from the steps
	Steps   []StepOutcome
	Context map[string]string
	Agent   string
	Session string // in which it was done; empty: not said
	At      time.Time
	// Shown says that an episode has shown the outcome already: it is not counted for the second time.
	Shown bool
}

// StepOutcome is how one step went.
type StepOutcome struct {
	OK      bool
	Skipped bool
	Error   string
}

// Change is what a report says of one candidate.
type Change struct {
	ID          string
	Stats       evidence.Stats
	Counted     schema.Outcome // success, failure or empty
	FailureMode string         // a step that failed, and why; empty: none
}

// Apply says what a report changes of the candidates that were offered: of the one that was followed its outcomes; the
// others have seen an occurrence without a trial. A partial outcome, and one where steps were skipped and nothing is
// said of the whole, count as neither.
func Apply(r Report, offered []Candidate) []Change {
	outcome := r.Counted()
	var out []Change
	for _, c := range offered {
		change := Change{ID: c.ID, Stats: c.Stats.Clone()}
		switch {
		case c.ID != r.Used:
			change.Stats.IdleIn(r.Context)
		case r.Shown:
		case outcome == schema.OutcomeSuccess || outcome == schema.OutcomeFailure:
			change.Counted = outcome
			change.Stats.ObserveIn(r.Context, outcome == schema.OutcomeSuccess, r.At)
		}
		if c.ID == r.Used {
			change.FailureMode = r.failureMode(c)
		}
		out = append(out, change)
	}
	return out
}

// Of is what the report says of a candidate. It is false where the report says nothing that counts.
func (r Report) Of(id string) (evidence.Outcome, bool) {
	outcome := r.Counted()
	out := evidence.Outcome{Agent: r.Agent, Session: r.Session, Context: r.Context,
		OK: outcome == schema.OutcomeSuccess, Idle: id != r.Used, At: r.At}
	return out, out.Idle || out.OK || outcome == schema.OutcomeFailure
}

// Counted is the outcome that the report says, or that follows from its steps; empty where nothing is known.
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
