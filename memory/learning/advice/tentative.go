package advice

import (
	"cmp"
	"slices"
	"strings"

	"github.com/mneme/mneme/memory/learning/align"
	"github.com/mneme/mneme/memory/learning/competence"
	"github.com/mneme/mneme/memory/learning/evidence"
	"github.com/mneme/mneme/memory/learning/signature"
	"github.com/mneme/mneme/memory/learning/trace"
	"github.com/mneme/mneme/schema"
)

// Constants of tentative candidates.
const (
	tentativeShare = 0.75 // factor of a tentative candidate's confidence
	maxTentative   = 5
	minMark        = 3 // least length of a value that is searched in arguments
)

// Tentative makes candidates from single successes with the situation's problem, before there is enough evidence for a
// promotion. It counts only successes that the ledger witnessed and that come from trusted sources. Failed attempts
// with the same steps count against a candidate, and a candidate that helped only on other systems counts less. If a
// repair has helped and failed, those that helped in less similar situations than another one count less too. Its id
// is that of its newest episode. Values that occur in both the old error and the old arguments become parameters, so
// that the steps fit the new situation. The call that had failed is not one of the steps: the caller repeats its own.
func Tentative(s Situation, attempts []trace.Attempt) []Candidate {
	problem := signature.OfError(s.Error)
	if problem.IsZero() {
		return nil
	}
	attempts = witnessed(problem, attempts)
	slices.SortStableFunc(attempts, func(a, b trace.Attempt) int {
		return cmp.Or(b.At.Compare(a.At), strings.Compare(a.ID, b.ID))
	})
	type made struct {
		procedure align.Procedure
		from      string // the attempt that it was made from
		Candidate
	}
	var found []made
	for _, a := range attempts {
		if !a.Succeeded() || len(a.Done()) == 0 {
			continue
		}
		if at := slices.IndexFunc(found, func(m made) bool { return m.procedure.Replay(a) }); at >= 0 {
			if !slices.Contains(found[at].Evidence, a.Episode) {
				found[at].Evidence = append(found[at].Evidence, a.Episode)
			}
			continue
		}
		if len(found) == maxTentative || slices.ContainsFunc(found, func(m made) bool { return m.ID == a.Episode }) {
			continue
		}
		repair, checked := a.Repair()
		procedure, ok := single(repair, s)
		if !ok {
			continue
		}
		recipe := procedure.Recipe()
		if checked {
			recipe[len(recipe)-1].Validation = competence.CallPasses
		}
		// The signal is the situation's problem, because the attempt's error may have been cut.
		trigger := schema.Trigger{Signal: problem.Text}
		found = append(found, made{procedure, a.ID, Candidate{ID: a.Episode, Tentative: true, Evidence: []string{a.Episode},
			Competence: &schema.CompetencePayload{Kind: schema.TypeCompetence,
				SkillName: "what helped before with " + a.Problem.Text,
				Triggers:  []schema.Trigger{trigger}, Recipe: recipe}}})
	}
	slices.Reverse(attempts)
	owns, several := make([][]trace.Attempt, len(found)), false
	for i, m := range found {
		for _, a := range attempts {
			if a.ID == m.from || m.procedure.Replay(a) {
				owns[i] = append(owns[i], a)
			}
		}
		several = several || mixed(owns[i])
	}
	var kin kinship
	var closest, helped float64
	if several {
		kin = kinshipOf(s, problem, attempts)
		closest, helped = kin.nearest(slices.Concat(owns...))
	}
	var out []Candidate
	for i, m := range found {
		own := owns[i]
		counted := evidence.Independent(own, evidence.Policy{MinTrust: evidence.Default().MinTrust}).Independent
		// If a repair has helped and failed, the problem probably has several causes. Then the outcomes in the most similar
		// situations count, if there are any.
		similar := func(i int) bool { return kin.near(own[i]) == closest }
		if several && slices.ContainsFunc(counted, similar) {
			counted = slices.DeleteFunc(slices.Clone(counted), func(i int) bool { return !similar(i) })
		}
		for _, i := range counted {
			m.Shown = append(m.Shown, evidence.Shown(own[i:i+1])...)
		}
		m.Stats = evidence.Tally(m.Shown, nil)
		here := competence.Situation(s.Context)
		m.Elsewhere = here != "" && !slices.ContainsFunc(own, func(a trace.Attempt) bool {
			where := competence.Situation(a.Situation.Context)
			return a.Succeeded() && (where == here || where == "")
		})
		m.Partial = !slices.ContainsFunc(own, func(a trace.Attempt) bool { return a.Succeeded() && !a.Partial })
		m.OtherForm = s.Failed != nil && !slices.ContainsFunc(own, func(a trace.Attempt) bool {
			return a.Succeeded() && (a.Situation.Failed == nil || sameForm(*a.Situation.Failed, *s.Failed))
		})
		// The repair that helped in the most similar situation is preferred.
		if several {
			if _, near := kin.nearest(own); near < helped {
				m.OtherForm = true
			}
		}
		out = append(out, m.Candidate)
	}
	return out
}
