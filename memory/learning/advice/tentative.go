package advice

import (
	"cmp"
	"maps"
	"path"
	"slices"
	"strings"
	"unicode"

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
// with the same steps count against a candidate, and a candidate that helped only on other systems counts less. Its id
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
		procedure, ok := align.Learn([]trace.Attempt{elsewhere(repair, s), repair})
		if !ok {
			continue
		}
		recipe := procedure.Recipe()
		if checked {
			recipe[len(recipe)-1].Validation = competence.CallPasses
		}
		// The signal is the situation's problem, because the attempt's error may have been cut.
		trigger := schema.Trigger{Signal: problem.Text}
		found = append(found, made{procedure, Candidate{ID: a.Episode, Tentative: true, Evidence: []string{a.Episode},
			Competence: &schema.CompetencePayload{Kind: schema.TypeCompetence,
				SkillName: "what helped before with " + a.Problem.Text,
				Triggers:  []schema.Trigger{trigger}, Recipe: recipe}}})
	}
	slices.Reverse(attempts)
	var out []Candidate
	for _, m := range found {
		var own []trace.Attempt
		for _, a := range attempts {
			if m.procedure.Replay(a) {
				own = append(own, a)
			}
		}
		counted := evidence.Independent(own, evidence.Policy{MinTrust: evidence.Default().MinTrust})
		for _, i := range counted.Independent {
			m.Shown = append(m.Shown, evidence.Shown(own[i:i+1])...)
		}
		m.Stats = evidence.Tally(m.Shown, nil)
		here := competence.Situation(s.Context)
		m.Elsewhere = here != "" && !slices.ContainsFunc(own, func(a trace.Attempt) bool {
			where := competence.Situation(a.Situation.Context)
			return a.Succeeded() && (where == here || where == "")
		})
		out = append(out, m.Candidate)
	}
	return out
}

// elsewhere returns a copy of an attempt with other names and paths, as if the problem had occurred in another project.
// align.Learn, given both, keeps what they share as constants and makes parameters of the rest. Words of the call that
// failed, and values of other lines of its error, vary if they are not those of the present situation.
func elsewhere(a trace.Attempt, now Situation) trace.Attempt {
	marks := map[string]string{}
	mark := func(text string) {
		for _, part := range append(strings.Split(text, "/"), text) {
			// An element of a path that the present error has as well, such as lib, does not vary.
			if len(part) >= minMark && strings.ContainsFunc(part, unicode.IsLetter) &&
				(part == text || !hasWord(now.Error, part)) {
				marks[part] = marked(part)
			}
		}
		// A command may have the directory without the file. Its elements may be too short for marks of their own.
		if dir := path.Dir(text); strings.Contains(text, "/") && len(dir) >= minMark {
			marks[dir] = marked(dir)
		}
	}
	for _, v := range slices.Concat(a.Problem.Values, signature.OfError(a.Intent).Values) {
		if v.Kind == signature.Path || v.Kind == signature.Name || v.Kind == signature.URL || v.Kind == signature.ID {
			mark(v.Text)
		}
	}
	for _, w := range varied(a.Situation.Failed, now.Failed) {
		mark(w)
	}
	for _, v := range a.Problem.Other {
		// A value that contains one of those above varies with it.
		if !strings.Contains(now.Error, v.Text) && replaceWords(v.Text, longestFirst(marks), marks) == v.Text {
			mark(v.Text)
		}
	}
	if a.Situation.WorkingDir != "" {
		marks[a.Situation.WorkingDir] = marked(a.Situation.WorkingDir)
	}
	old := longestFirst(marks)
	replace := func(text string) string { return replaceWords(text, old, marks) }
	out := a
	out.ID += "'"
	if out.Problem = signature.OfError(replace(a.Problem.Line)); !signature.Same(out.Problem, a.Problem) {
		// Some names are words of the error message: with other names it would be another problem. They stay.
		maps.DeleteFunc(marks, func(old, _ string) bool {
			return !signature.Same(signature.OfError(replaceWords(a.Problem.Line, []string{old}, marks)), a.Problem)
		})
		old = longestFirst(marks)
		if out.Problem = signature.OfError(replace(a.Problem.Line)); !signature.Same(out.Problem, a.Problem) {
			return a
		}
	}
	// Problem.Values also has values of lines other than Problem.Line.
	out.Problem.Values = slices.Clone(a.Problem.Values)
	for i := range out.Problem.Values {
		out.Problem.Values[i].Text = replace(out.Problem.Values[i].Text)
	}
	out.Problem.Other = slices.Clone(a.Problem.Other)
	for i := range out.Problem.Other {
		out.Problem.Other[i].Text = replace(out.Problem.Other[i].Text)
	}
	out.Intent = replace(a.Intent)
	out.Situation.WorkingDir = replace(a.Situation.WorkingDir)
	if a.Situation.Failed != nil {
		failed := replaced(*a.Situation.Failed, replace)
		out.Situation.Failed = &failed
	}
	out.Steps = nil
	for i, s := range a.Steps {
		out.Steps = append(out.Steps, replaced(s, replace))
		for _, text := range firstReturned(a, i) {
			if _, known := marks[text]; known {
				continue
			}
			marks[text] = marked(text)
			old = append(old, text)
			slices.SortStableFunc(old, func(x, y string) int { return len(y) - len(x) })
		}
		out.Steps[i].Results = make(map[string]string, len(s.Results))
		for at, text := range s.Results {
			if by, ok := marks[text]; ok {
				text = by
			}
			out.Steps[i].Results[at] = text
		}
	}
	return out
}

// varied returns the words of a call that failed that the present call does not have in the same place. Calls with
// another number of words are not compared.
func varied(old, now *trace.Step) (out []string) {
	if old == nil || now == nil || old.Tool != now.Tool {
		return nil
	}
	for _, arg := range slices.Sorted(maps.Keys(old.Args)) {
		before, after := align.Words(old.Args[arg].Text), align.Words(now.Args[arg].Text)
		for i, w := range before {
			if len(before) == len(after) && w != after[i] {
				out = append(out, w)
			}
		}
	}
	return out
}

func longestFirst(marks map[string]string) []string {
	return slices.SortedFunc(maps.Keys(marks), func(x, y string) int {
		return cmp.Or(len(y)-len(x), strings.Compare(x, y))
	})
}

// firstReturned returns the results of a step that an argument of a later step contains and that did not occur before:
// the argument's value came from the result. Results with spaces are left out.
func firstReturned(a trace.Attempt, step int) (out []string) {
	known := []string{a.Problem.Line, a.Intent, a.Situation.WorkingDir}
	if a.Situation.Failed != nil {
		known = append(known, textsOf(*a.Situation.Failed)...)
	}
	for _, s := range a.Steps[:step+1] {
		known = append(known, textsOf(s)...)
	}
	var later []string
	for _, s := range a.Steps[step+1:] {
		later = append(later, textsOf(s)...)
	}
	for _, at := range slices.Sorted(maps.Keys(a.Steps[step].Results)) {
		text := a.Steps[step].Results[at]
		has := func(in string) bool { return hasWord(in, text) }
		if len(text) >= minMark && !strings.ContainsFunc(text, unicode.IsSpace) && marked(text) != text &&
			!slices.ContainsFunc(known, has) && slices.ContainsFunc(later, has) {
			out = append(out, text)
		}
	}
	return out
}

// textsOf returns the arguments of a step that are strings, in the order of their names.
func textsOf(s trace.Step) (out []string) {
	for _, at := range slices.Sorted(maps.Keys(s.Args)) {
		if s.Args[at].Type == "string" {
			out = append(out, s.Args[at].Text)
		}
	}
	return out
}

func replaced(s trace.Step, replace func(string) string) trace.Step {
	args := make(map[string]trace.Scalar, len(s.Args))
	for name, v := range s.Args {
		if v.Type == "string" {
			v.Text = replace(v.Text)
		}
		args[name] = v
	}
	s.Args = args
	return s
}

// marked returns another text of the same shape: it adds letters to each element of a path.
func marked(text string) string {
	parts := strings.Split(text, "/")
	for i, p := range parts {
		end := strings.IndexFunc(p, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) })
		if end < 0 {
			continue
		}
		for end < len(p) && p[end] != '.' {
			end++
		}
		parts[i] = p[:end] + "qx" + p[end:]
	}
	return strings.Join(parts, "/")
}

// hasWord reports whether a text has a word.
func hasWord(text, word string) bool {
	return strings.Contains(text, word) && replaceWords(text, []string{word}, map[string]string{word: ""}) != text
}

// replaceWords replaces whole words, in the order of old. The letters before a name in an option such as -DNAME, or in
// the name of a library such as libNAME, do not make it part of a longer word.
func replaceWords(text string, old []string, by map[string]string) string {
	var out strings.Builder
	touches := func(i int) bool {
		return i >= 0 && i < len(text) &&
			(text[i] >= 0x80 || unicode.IsLetter(rune(text[i])) || unicode.IsDigit(rune(text[i])))
	}
	for i := 0; i < len(text); {
		n := slices.IndexFunc(old, func(w string) bool {
			return strings.HasPrefix(text[i:], w) && (!touches(i-1) || align.Affixed(text, i)) &&
				!touches(i+len(w))
		})
		if n < 0 {
			out.WriteByte(text[i])
			i++
			continue
		}
		out.WriteString(by[old[n]])
		i += len(old[n])
	}
	return out.String()
}
