package advice

import (
	"fmt"
	"path"
	"slices"
	"strings"
	"unicode"

	"github.com/mneme/mneme/memory/learning/signature"
	"github.com/mneme/mneme/memory/learning/trace"
)

// features returns what the situation of a problem shows apart from the problem itself: the options of the call that
// failed, the values of the error, numbers of one digit by their place, the extensions of files, and the marks in
// names, such as the separator in 'a;b;c'. Two causes of one error often differ in one of them.
func features(problem signature.Signature, failed *trace.Step) map[string]bool {
	out := map[string]bool{}
	if failed != nil {
		for name, v := range failed.Args {
			for word := range strings.FieldsSeq(v.Text) {
				option, _, _ := strings.Cut(word, "=")
				if strings.HasPrefix(option, "-") && len(option) > 1 {
					out["option "+name+" "+option] = true
				}
			}
		}
	}
	for i, v := range problem.Values {
		if v.Kind == signature.Number && len(v.Text) == 1 {
			out[fmt.Sprintf("digit %d %s", i, v.Text)] = true
		}
	}
	for _, v := range slices.Concat(problem.Values, problem.Other) {
		if ext := path.Ext(v.Text); v.Kind == signature.Path && len(ext) > 1 {
			out["extension "+ext] = true
		}
		if v.Kind == signature.Line || v.Kind == signature.Number {
			continue // equal by chance
		}
		out["value "+v.Text] = true
		if v.Kind == signature.Name {
			for _, r := range v.Text {
				if !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.IsSpace(r) && !strings.ContainsRune("_-./", r) {
					out["mark "+string(r)] = true
				}
			}
		}
	}
	return out
}

// kinship compares the present situation with those of earlier attempts at its problem, by the features that recur. A
// feature of a single session, such as the name of a file, tells nothing.
type kinship struct {
	now    map[string]bool
	recurs map[string]bool
}

func kinshipOf(s Situation, problem signature.Signature, attempts []trace.Attempt) kinship {
	out := kinship{now: features(problem, s.Failed), recurs: map[string]bool{}}
	in := map[string]map[string]bool{} // sessions by feature
	for f := range out.now {
		in[f] = map[string]bool{"": true}
	}
	for _, a := range attempts {
		for f := range features(a.Problem, a.Situation.Failed) {
			if in[f] == nil {
				in[f] = map[string]bool{}
			}
			in[f][a.Episode] = true
			out.recurs[f] = len(in[f]) > 1
		}
	}
	return out
}

// near returns how much of the features that recur an attempt shares with the present situation, in [0,1].
func (k kinship) near(a trace.Attempt) float64 {
	shared, all := 0, 0
	then := features(a.Problem, a.Situation.Failed)
	for f := range k.now {
		if k.recurs[f] {
			all++
			if then[f] {
				shared++
			}
		}
	}
	for f := range then {
		if k.recurs[f] && !k.now[f] {
			all++
		}
	}
	if all == 0 {
		return 1
	}
	return float64(shared) / float64(all)
}

// nearest returns the greatest nearness of attempts, and that of those which helped.
func (k kinship) nearest(attempts []trace.Attempt) (all, helped float64) {
	for _, a := range attempts {
		near := k.near(a)
		all = max(all, near)
		if a.Succeeded() {
			helped = max(helped, near)
		}
	}
	return all, helped
}

// mixed reports whether some attempts helped and others did not.
func mixed(attempts []trace.Attempt) bool {
	return slices.ContainsFunc(attempts, trace.Attempt.Succeeded) && slices.ContainsFunc(attempts, trace.Attempt.Failed)
}
