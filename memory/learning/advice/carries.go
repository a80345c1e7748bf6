package advice

import (
	"encoding/json"
	"slices"

	"github.com/mneme/mneme/memory/learning/align"
	"github.com/mneme/mneme/memory/learning/evidence"
	"github.com/mneme/mneme/memory/learning/plan"
	"github.com/mneme/mneme/memory/learning/signature"
	"github.com/mneme/mneme/memory/learning/trace"
	"github.com/mneme/mneme/schema"
)

// CandidateOf returns a procedure or a plan as a candidate without outcomes, and false for any other payload.
func CandidateOf(t schema.MemoryType, payload []byte) (Candidate, bool) {
	var out Candidate
	switch t {
	case schema.TypeCompetence:
		out.Competence = &schema.CompetencePayload{}
		return out, json.Unmarshal(payload, out.Competence) == nil
	case schema.TypePlanGraph:
		out.Plan = &schema.PlanGraphPayload{}
		return out, json.Unmarshal(payload, out.Plan) == nil
	}
	return out, false
}

// Carries reports whether an outcome of a procedure or a plan in a context counts for a newer version too: its steps
// are the same, and no condition of it contradicts the context.
func Carries(used, newer Candidate, context map[string]string) bool {
	return sameSteps(used, newer) && newer.holds(trace.SettingOf(context, signature.Signature{}, nil))
}

func sameSteps(a, b Candidate) bool {
	switch {
	case a.Competence != nil && b.Competence != nil:
		return align.Same(align.OfRecipe(a.Competence.Recipe), align.OfRecipe(b.Competence.Recipe)) &&
			slices.Equal(manual(a), manual(b))
	case a.Plan != nil && b.Plan != nil:
		return plan.SameGraph(*a.Plan, *b.Plan)
	}
	return false
}

// manual returns the texts of the steps without a tool, which say all that is to be done.
func manual(c Candidate) (out []string) {
	for _, s := range c.Competence.Recipe {
		if s.Tool == "" {
			out = append(out, s.Step)
		}
	}
	return out
}

// BecameOf reports whether a tentative solution has become a procedure: the last repair of the problem that helped in
// the episode, given by its attempts, has the steps of the procedure. The problem is given by its ProblemHash.
func BecameOf(attempts []trace.Attempt, problem string, procedure Candidate, context map[string]string) bool {
	if procedure.Competence == nil {
		return false
	}
	var last *trace.Attempt
	for i, a := range attempts {
		if a.Succeeded() && len(a.Done()) > 0 && evidence.ProblemHash(a.Key()) == problem &&
			(last == nil || !a.At.Before(last.At)) {
			last = &attempts[i]
		}
	}
	return last != nil && align.OfRecipe(procedure.Competence.Recipe).Replay(*last) &&
		procedure.holds(trace.SettingOf(context, signature.Signature{}, nil))
}
